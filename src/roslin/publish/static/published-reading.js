// A typed query: Plaine & Easie as the editor of the page takes it apart, or note names. Other notations, and the rest
// of Plaine & Easie, need Roslin itself.
import { duration, headerParts, midiOf, parse, quartersOf } from "./editor-text.js";
import { written } from "./editor.js";
import { _ } from "./words.js";

const QUARTER = 40320, LETTERS = "CDEFGAB", SEMITONES = [0, 2, 4, 5, 7, 9, 11];
const KNOWN = /^(?:[\s{}tr?!]|;\s*\d+|=\s?\d*|[%@$].*)$/;
const NAME = /^([A-Ha-h])(is|es|s|#|♯|b|♭)?(\d)?('*)$/;
const OTHER_NAMES = { "‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "−": "-", "\u00a0": " " };

export class Refusal extends Error {
  constructor(reason, { expected = "", found = "", column = 0 } = {}) {
    super(reason);
    this.problem = { reason, expected, found, line: 0, column };
  }
}

// { notation, pae, columns, notes, bars, clef, signature, metre }
export function readQuery(typed, notation = "auto") {
  const text = typed.replace(/[‘’“”–−\u00a0]/g, sign => OTHER_NAMES[sign]).replace(/[\r\n]/g, " ");
  const tokens = text.trim().split(/\s+/), areNames = tokens.every(token => NAME.test(token)) && !/^\s*[A-G]+\s*$/.test(text);
  if (notation === "abc" || notation === "jsonl" || /\||^\s*[KMLXT]:/.test(text)) {
    throw new Refusal(_("this page reads Plaine & Easie and note names"), { found: text.trim().slice(0, 12) });
  }
  if (notation === "names" || (notation === "auto" && areNames)) {
    if (!areNames) {
      const wrong = tokens.find(token => !NAME.test(token));
      throw new Refusal(_("not a note name"), { expected: "c d e", found: wrong, column: text.indexOf(wrong) + 1 });
    }
    return { ...fromPae(named(tokens)), notation: "names" };
  }
  return { ...fromPae(text), notation: "pae" };
}

// Note names as Plaine & Easie, each in the octave that is nearest to the note before.
function named(tokens) {
  let last = 65;
  const notes = tokens.map(token => {
    const [, name, sign, octave, marks] = NAME.exec(token);
    const isH = name.toLowerCase() === "h", up = sign === "is" || sign === "#" || sign === "♯" ? 1 : sign ? -1 : 0;
    const within = SEMITONES[LETTERS.indexOf(isH ? "B" : name.toUpperCase())] + up;
    let pitch = octave ? 12 * (Number(octave) + 1) + within : marks ? 48 + 12 * marks.length + within : null;
    if (pitch === null) pitch = [48, 60, 72, 36, 84, 24].map(base => base + within).reduce((a, b) => (Math.abs(b - last) < Math.abs(a - last) ? b : a));
    return { pitch: last = pitch, duration: 1 };
  });
  return `%G-2 ${written(notes)}`;
}

// How long a bar is, in ticks.
function barTicks(metre) {
  const [, over, under] = /(\d+)\/(\d+)/.exec(metre) ?? [0, 4, 4];
  return Math.round((4 * QUARTER * over) / under);
}

function fromPae(text) {
  const { header, atoms, events } = parse(text);
  const strange = atoms.find(atom => atom.kind === "raw" && !KNOWN.test(atom.text));
  if (strange) {
    throw new Refusal(_("this page cannot read this sign"), { expected: "Plaine & Easie", found: strange.text, column: strange.at + 1 });
  }
  const notes = [], bars = [], byAtom = new Map(events.map(event => [event.atom, event])), sounding = new Map();
  let now = 0, before = 0, bar = barTicks(headerParts(header).metre);
  for (const atom of atoms) {
    if (atom.kind === "bar" && now > 0) bars.push(now);
    if (atom.text[0] === "@") bar = barTicks(atom.text);
    if (atom.text[0] === "=") now += bar * (Number(atom.text.slice(1)) || 1);
    const event = byAtom.get(atom);
    if (!event) continue;
    const ticks = Math.round(QUARTER * duration(event, events)), small = event.length === null ? 0 : QUARTER * quartersOf(event.length);
    if (event.kind === "note") {
      const step = LETTERS.indexOf(event.letter) + 7 * event.octave, pitch = midiOf(event), held = event.isTied && sounding.get(pitch);
      if (held && !event.grace) held.duration += ticks;
      else {
        const isGrace = Boolean(event.grace), length = event.chord ? notes[notes.length - 1]?.duration ?? 0 : ticks;
        notes.push({ onset: event.chord ? before : now, duration: isGrace ? small : length, step, sharps: event.alter, pitch, isGrace, column: atom.at + 1 });
        if (event.tie) sounding.set(pitch, notes[notes.length - 1]);
      }
      if (!event.tie) sounding.delete(pitch);
    }
    if (!event.chord) [before, now] = [now, now + ticks];
  }
  if (!notes.some(note => !note.isGrace)) {
    throw new Refusal(_("no note was found"), { expected: "'4CDE", found: text.trim().slice(0, 12), column: 1 });
  }
  // As in a note table: at one onset grace notes first, then the others from high to low.
  notes.sort((a, b) => a.onset - b.onset || b.isGrace - a.isGrace || (a.isGrace ? 0 : b.pitch - a.pitch));
  const { clef, key, metre } = headerParts(header);
  return { pae: text, columns: notes.map(note => note.column), notes, bars, clef, signature: key, metre };
}
