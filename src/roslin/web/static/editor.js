// The editor of the query: notes of the drawing are chosen and changed, by mouse, touch, keyboard and buttons. The text
// is the one truth of what is entered: every edit changes it in its place (editor-edits.js), and the server draws it.
// Text in another notation is taken over in Plaine & Easie at the first edit, as the server writes it.
//
// Other ways in use this much of it:
//
//   editor.setNotes([{ pitch: 60, duration: 1 }, { pitch: null, duration: 0.5 }])
//       writes notes in place of what is there; undo brings that back. Pitches are MIDI numbers, null for a rest;
//       durations are quarters, and the nearest value that one note can have is written (a whole note to a 32nd).
//   editor.play(pitch, length)
//       one more note, behind the chosen one or at the end; the length is that of the code: "4", "8."
//   editor.notes()
//       the notes as the server read them: [{ onset, duration, pitch, name, is_grace, voice }], in quarters
//   editor.addEventListener("change", ...)
//       after every reading, also of typed text; `event.detail` is { text, notes }

import { startDrawing } from "./editor-drawing.js";
import * as edits from "./editor-edits.js";
import { midiOf, parse, quartersOf, signatures, withSignatures } from "./editor-text.js";
import { _ } from "./words.js";

const VALUES = ["1", "2.", "2", "4.", "4", "8.", "8", "6.", "6", "3"];
const ACCIDENTALS = { 1: "♯", 2: "𝄪", "-1": "♭", "-2": "𝄫", 0: "" };

const byId = id => document.getElementById(id);

// The value whose length is nearest by ratio: an eighth is as far from a quarter as a quarter from a half.
export function nearestValue(duration) {
  const apart = value => Math.abs(Math.log(quartersOf(value) / duration));
  return VALUES.reduce((best, value) => (apart(value) < apart(best) ? value : best));
}

// Notes as text in Plaine & Easie.
export function written(notes) {
  return notes.reduce((text, { pitch, duration }, number) =>
    edits.insert(text, number - 1, { pitch, length: nearestValue(duration) }).text, "");
}

const LENGTHS = () => ({
  0: _("long"), 9: _("breve"), 1: _("whole"), 2: _("half"), 4: _("quarter"), 8: _("eighth"), 6: _("sixteenth"),
  3: _("thirty-second"), 5: _("sixty-fourth"), 7: _("hundred twenty-eighth"),
});

function inWords(event) {
  const name = event.kind === "rest" ? _("rest") : `${event.letter}${ACCIDENTALS[event.alter]}${event.octave}`;
  if (event.length === null) return name;
  const length = LENGTHS()[event.length[0]];
  const words = [name, event.length.endsWith(".") ? _("dotted {length}", { length }) : length];
  if (event.group) words.push(_("in a group of {count}", { count: event.group.number?.text.slice(1) || 3 }));
  if (event.tie) words.push(_("tied to the next"));
  return words.join(", ");
}

// Each takes the text and the number of the chosen note, and gives the text and the number of the note chosen then.
const COMMANDS = {
  higher: (text, number) => edits.step(text, number, 1),
  lower: (text, number) => edits.step(text, number, -1),
  "octave-higher": (text, number) => edits.octave(text, number, 1),
  "octave-lower": (text, number) => edits.octave(text, number, -1),
  sharp: (text, number) => edits.accidental(text, number, 1),
  flat: (text, number) => edits.accidental(text, number, -1),
  natural: (text, number) => edits.accidental(text, number, 0),
  dot: edits.dot,
  rest: edits.toggleRest,
  tie: edits.toggleTie,
  triplet: edits.toggleTriplet,
  bar: edits.toggleBar,
  upbeat: edits.barsFrom,
  before: (text, number) => edits.insertCopy(text, number, true),
  after: (text, number) => edits.insertCopy(text, number, false),
  delete: edits.remove,
};
for (const digit of "124863") COMMANDS[`length-${digit}`] = (text, number) => edits.length(text, number, digit);
for (const letter of "ABCDEFG") {
  COMMANDS[`letter-${letter}`] = (text, number) =>
    edits.insert(text, number, { letter, length: parse(text).events[number].length ?? "4" });
}
const SOUNDING = ["higher", "lower", "octave-higher", "octave-lower", "sharp", "flat", "natural", "before", "after"];

const KEYS = {
  ArrowUp: "higher", ArrowDown: "lower", "#": "sharp", x: "sharp", b: "flat", n: "natural", ".": "dot", r: "rest", "-": "rest",
  "+": "tie", t: "triplet", "/": "bar", u: "upbeat", Insert: "after", i: "after", I: "before", Delete: "delete", Backspace: "delete",
};
for (const digit of "124863") KEYS[digit] = `length-${digit}`;
for (const letter of "ABCDEFG") KEYS[letter] = `letter-${letter}`;

export function startEditor(entry) {
  const editor = new EventTarget();
  const status = byId("editor-status"), toolbar = byId("editor-tools"), signs = byId("editor-signatures");
  const key = byId("editor-key"), metre = byId("editor-metre"), area = byId("preview-drawing");
  let known = { typed: "", text: "" }; // what is typed, and the same as a line of Plaine & Easie
  let answer = null; // what the server read last
  let waiting = Promise.resolve();

  // The line to edit; null while the server has not read what is typed.
  function line() {
    if (!entry.text.value.trim()) return "";
    return entry.text.value === known.typed ? known.text : null;
  }

  const events = () => parse(line() ?? "").events;

  // What is typed may not be read yet; what cannot be read makes way, and undo brings it back. Where the server does not
  // answer nothing is changed: the text may be good.
  function withLine(use) {
    const text = line();
    if (text !== null) use(text);
    else {
      waiting = waiting.then(async () => {
        let outcome = "overtaken";
        while (line() === null && outcome === "overtaken") outcome = await entry.read();
        if (outcome !== "unanswered") use(line() ?? "");
      });
    }
  }

  function put(text, chosen) {
    known = { typed: text, text };
    drawing.outdate();
    entry.set(text, "auto", chosen);
    show();
  }

  function choose(number) {
    entry.chosen = number;
    show();
  }

  function show() {
    const all = events(), chosen = all[entry.chosen];
    toolbar.hidden = !chosen;
    signs.hidden = !all.length;
    if (chosen) {
      const place = entry.chosen + 1;
      status.textContent = _("{note}, {place} of {count}", { note: inWords(chosen), place, count: all.length });
      for (const button of toolbar.querySelectorAll("[data-edit^=length-]")) {
        button.setAttribute("aria-pressed", String(button.dataset.edit === `length-${chosen.length?.[0]}`));
      }
    } else status.textContent = all.length ? _("Choose a note to change it.") : "";
    showSignatures();
    drawing.show(entry.chosen);
  }

  function showSignatures() {
    const now = signatures(line() ?? "");
    for (const [select, value] of [[key, now.key], [metre, now.metre]]) {
      if (![...select.options].some(option => option.value === value)) select.add(new Option(value, value));
      select.value = value;
    }
  }

  function command(name) {
    withLine(text => {
      if (entry.chosen < 0 || !parse(text).events[entry.chosen]) return;
      const { text: next, chosen } = COMMANDS[name](text, entry.chosen);
      put(next, chosen);
      const event = events()[chosen];
      if (event?.kind === "note" && (SOUNDING.includes(name) || name.startsWith("letter"))) {
        window.roslinPlayer?.note(midiOf(event));
      }
    });
  }

  function move(steps) {
    const last = events().length - 1;
    if (last < 0) return;
    if (entry.chosen < 0) choose(steps < 0 ? last : 0);
    else choose(Math.min(Math.max(entry.chosen + steps, 0), last));
  }

  function onKey(event) {
    if (event.altKey || event.metaKey) return;
    const isOctave = event.ctrlKey || event.shiftKey;
    if (event.ctrlKey && !event.key.startsWith("Arrow")) return;
    if (event.key === "ArrowLeft") move(-1);
    else if (event.key === "ArrowRight") move(1);
    else if (event.key === "Home") move(-Infinity);
    else if (event.key === "End") move(Infinity);
    else if (event.key === "Escape") choose(-1);
    else if (event.key === "Enter") entry.text.form.requestSubmit();
    else if (isOctave && event.key === "ArrowUp") command("octave-higher");
    else if (isOctave && event.key === "ArrowDown") command("octave-lower");
    else if (event.key in KEYS && entry.chosen >= 0) command(KEYS[event.key]);
    else return;
    event.preventDefault();
  }

  // Inside the buttons the arrow keys go from one to the next, as in every tool bar.
  function onToolbarKey(event) {
    const buttons = [...toolbar.querySelectorAll("button")], at = buttons.indexOf(event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (to === undefined || at < 0) return;
    event.preventDefault();
    const next = buttons[(to + buttons.length) % buttons.length];
    buttons.forEach(button => { button.tabIndex = button === next ? 0 : -1; });
    next.focus();
  }

  const drawing = startDrawing(area, {
    choose,
    drag: steps => withLine(text => {
      const { text: next, chosen } = edits.step(text, entry.chosen, steps);
      put(next, chosen);
      window.roslinPlayer?.note(midiOf(events()[chosen]));
    }),
  });

  entry.onRead(read => {
    answer = read;
    known = read?.pae ? { typed: entry.text.value, text: read.pae } : { typed: "", text: "" };
    drawing.drawn(events(), read ? read.columns : []);
    show();
    editor.dispatchEvent(new CustomEvent("change", { detail: { text: entry.text.value, notes: editor.notes() } }));
  });
  area.addEventListener("keydown", onKey);
  area.addEventListener("focus", () => { if (area.matches(":focus-visible") && entry.chosen < 0) move(-1); });
  toolbar.addEventListener("keydown", onToolbarKey);
  toolbar.addEventListener("click", event => {
    const name = event.target.closest("[data-edit]")?.dataset.edit;
    if (name === "previous") move(-1);
    else if (name === "next") move(1);
    else if (name === "done") choose(-1);
    else if (name) command(name);
  });
  key.addEventListener("change", () => withLine(text => put(withSignatures(text, { key: key.value }), entry.chosen)));
  metre.addEventListener("change", () => withLine(text => put(withSignatures(text, { metre: metre.value }), entry.chosen)));

  editor.setNotes = notes => put(written(notes), -1);
  editor.notes = () => (answer ? answer.notes : []);
  editor.play = (pitch, length) => withLine(text => {
    const count = parse(text).events.length, isChosen = entry.chosen >= 0 && entry.chosen < count;
    const { text: next, chosen } = edits.insert(text, isChosen ? entry.chosen : count, { pitch, length });
    put(next, isChosen ? chosen : -1);
  });
  return editor;
}
