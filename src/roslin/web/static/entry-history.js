// What stood in the field, step by step, however it came there: typed, played, edited in the notation, taken from a file.
// One history for all of them, so that nothing that was typed is ever lost.

const PAUSE = 1000; // milliseconds; what is typed without such a pause is one step

export class History {
  constructor(first) {
    this.states = [first];
    this.place = 0;
    this.typedAt = -Infinity;
  }

  get now() { return this.states[this.place]; }
  get canUndo() { return this.place > 0; }
  get canRedo() { return this.place < this.states.length - 1; }

  // A state is { text, notation, chosen }. What could be redone is gone.
  add(state, isTyped = false) {
    if (state.text === this.now.text && state.notation === this.now.notation) {
      this.now.chosen = state.chosen;
      return;
    }
    const goesOn = isTyped && performance.now() - this.typedAt < PAUSE;
    this.states.splice(this.place + 1);
    if (goesOn && this.place > 0) this.states[this.place] = state;
    else this.place = this.states.push(state) - 1;
    this.typedAt = isTyped ? performance.now() : -Infinity;
  }

  undo() { return this.move(-1); }
  redo() { return this.move(1); }

  move(steps) {
    this.place = Math.min(Math.max(this.place + steps, 0), this.states.length - 1);
    this.typedAt = -Infinity;
    return this.now;
  }
}
