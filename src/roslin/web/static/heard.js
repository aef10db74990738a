// What is heard, drawn while it sounds: time from left to right, the pitch as a thin line, each note as a bar with its
// name. The last seconds are shown.

import { HOP } from "./pitch.js";
import { isVoiced } from "./segments.js";
import { _ } from "./words.js";

const NAMES = [_("C"), _("C♯"), _("D"), _("E♭"), _("E"), _("F"), _("F♯"), _("G"), _("G♯"), _("A"), _("B♭"), _("B")];
const SECOND = 80, HEIGHT = 150; // pixels
const TOGETHER = 1; // semitones; a greater jump from frame to frame is no line
const LEAST_SPAN = 12; // semitones from top to bottom
const MARGIN = 2; // semitones above and below the notes

export const nameOf = pitch => NAMES[((pitch % 12) + 12) % 12];

function shape(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text) made.textContent = text;
  return made;
}

export function drawHeard(svg, frames, notes) {
  const width = svg.clientWidth, now = frames.start + frames.pitch.length * HOP, begin = Math.max(now - width / SECOND, 0);
  const seen = notes.filter(note => note.offset > begin), pitches = seen.map(note => note.heard);
  const lowest = Math.min(...pitches), highest = Math.max(...pitches);
  const spare = Math.max(LEAST_SPAN - (highest - lowest), 2 * MARGIN) / 2;
  const bottom = seen.length ? lowest - spare : 60, top = seen.length ? highest + spare : 60 + LEAST_SPAN;
  const x = time => (time - begin) * SECOND, y = pitch => ((top - pitch) / (top - bottom)) * HEIGHT;
  const drawn = [];
  const high = HEIGHT / (top - bottom);
  for (const note of seen) {
    const left = x(note.onset), above = y(note.heard) - high / 2, long = Math.max(x(note.offset) - left - 1, 2);
    drawn.push(shape("rect", { class: "note", x: left, y: above, width: long, height: high, rx: 3 }));
    drawn.push(shape("text", { x: left + 2, y: above - 3 }, nameOf(note.pitch)));
  }
  const voiced = isVoiced(frames), first = Math.max(Math.round((begin - frames.start) / HOP), 0);
  let line = "";
  for (let k = first; k < voiced.length; k++) {
    if (!voiced[k]) continue;
    const goesOn = k > first && voiced[k - 1] && Math.abs(frames.pitch[k] - frames.pitch[k - 1]) < TOGETHER;
    line += `${goesOn ? "L" : "M"}${x(frames.start + k * HOP).toFixed(1)} ${y(frames.pitch[k]).toFixed(1)}`;
  }
  if (line) drawn.push(shape("path", { class: "sung", d: line }));
  svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  svg.replaceChildren(...drawn);
}
