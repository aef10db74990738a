// The editor of the query, as other ways in see it. The text field is the one truth of what is entered; the editor
// writes into it in Plaine & Easie and tells when the server has read it.
//
//   editor.setNotes([{ pitch: 60, duration: 1 }, { pitch: null, duration: 0.5 }])
//       writes notes in place of what is there; undo brings that back. Pitches are MIDI numbers, null for a rest;
//       durations are quarters, and the nearest value that one note can have is written (a dotted half to a 32nd).
//   editor.notes()
//       the notes as the server read them: [{ onset, duration, pitch, name, is_grace, voice }], in quarters
//   editor.addEventListener("change", ...)
//       after every reading, also of typed text; `event.detail` is { text, notes }

import { noteText, octaveMarks } from "./piano.js";

const VALUES = [["1", 4], ["2.", 3], ["2", 2], ["4.", 1.5], ["4", 1], ["8.", 0.75], ["8", 0.5], ["6.", 0.375], ["6", 0.25], ["3", 0.125]];

// The value whose length is nearest by ratio: an eighth is as far from a quarter as a quarter from a half.
export function nearestValue(duration) {
  const apart = length => Math.abs(Math.log(length / duration));
  return VALUES.reduce((best, value) => (apart(value[1]) < apart(best[1]) ? value : best))[0];
}

// Notes as text in Plaine & Easie.
export function written(notes) {
  let text = "";
  const last = {};
  for (const { pitch, duration } of notes) {
    const length = nearestValue(duration);
    if (pitch === null) {
      text += `${length === last.length ? "" : length}-`;
    } else {
      text += noteText(pitch, length, text, last);
      last.octave = octaveMarks(pitch);
    }
    last.length = length;
  }
  return text;
}

export function startEditor(entry) {
  const editor = new EventTarget();
  let notes = [];
  entry.onRead(answer => {
    notes = answer ? answer.notes : [];
    editor.dispatchEvent(new CustomEvent("change", { detail: { text: entry.text.value, notes } }));
  });
  editor.setNotes = given => entry.set(written(given));
  editor.notes = () => notes;
  return editor;
}
