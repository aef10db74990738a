// A piano that writes Plaine & Easie. Mouse, touch, computer keys and MIDI keyboards play it; every note has the chosen
// length, because a page cannot know the beat that a player has in mind.

import { _ } from "./words.js";

const WHITE = [0, 2, 4, 5, 7, 9, 11];
const NAMES = [
  _("C"), _("C sharp"), _("D"), _("E flat"), _("E"), _("F"), _("F sharp"), _("G"), _("G sharp"), _("A"), _("B flat"), _("B"),
];
const WRITTEN = ["C", "xC", "D", "bE", "E", "F", "xF", "G", "xG", "A", "bB", "B"];
const LETTERS = "awsedftgyhujkolp"; // from the first C upwards
const SPAN = 24; // semitones above the first C
const LOWEST = 36, HIGHEST = 84; // where the first C may be

const byId = id => document.getElementById(id);

// Octave marks: ' is the octave of middle C, '' the one above, a comma the one below.
export function octaveMarks(pitch) {
  const octave = Math.floor(pitch / 12) - 4;
  return octave > 0 ? "'".repeat(octave) : ",".repeat(1 - octave);
}

// One note as text. Signs hold on in the code: octave and length are left out where they are those of the note before,
// and a natural is written out when an accidental or a key signature stands before it.
export function noteText(pitch, length, before, last) {
  const sign = WRITTEN[pitch % 12], octave = octaveMarks(pitch);
  const needsNatural = sign.length === 1 && /[xb$]/.test(before);
  return (octave === last.octave ? "" : octave) + (length === last.length ? "" : length) + (needsNatural ? "n" : "") + sign;
}

export function startPiano(entry) {
  const keys = byId("keys"), piano = byId("piano");
  let first = 60;
  const after = new Map(); // text that the piano wrote, and the length and octave that hold on after it

  const length = () => document.querySelector("input[name=length]:checked").value + (byId("dotted").checked ? "." : "");

  // A pitch, or null for a rest. Text in another notation makes way.
  function append(pitch) {
    const isOther = ["abc", "jsonl"].includes(entry.notation.value) || /^\s*(X:|K:|\{)/.test(entry.text.value);
    const before = isOther ? "" : entry.text.value, now = length();
    const holds = after.get(before) || {};
    const token = pitch === null ? `${now === holds.length ? "" : now}-` : noteText(pitch, now, before, holds);
    entry.set(before + token);
    after.set(before + token, { length: now, octave: pitch === null ? holds.octave : octaveMarks(pitch) });
  }

  function press(pitch) {
    window.roslinPlayer?.note(pitch);
    append(pitch);
    const key = keys.querySelector(`[data-pitch="${pitch}"]`);
    if (key) {
      key.classList.add("down");
      setTimeout(() => key.classList.remove("down"), 160);
    }
  }

  function focusKey(pitch) {
    const key = keys.querySelector(`[data-pitch="${pitch}"]`);
    if (!key) return;
    keys.querySelectorAll(".key").forEach(other => { other.tabIndex = other === key ? 0 : -1; });
    key.focus();
  }

  function draw() {
    keys.replaceChildren();
    for (let pitch = first; pitch <= first + SPAN; pitch++) {
      const key = document.createElement("button");
      key.type = "button";
      key.className = `key ${WHITE.includes(pitch % 12) ? "white" : "black"}`;
      key.dataset.pitch = pitch;
      key.tabIndex = pitch === first ? 0 : -1;
      key.setAttribute("aria-label", `${NAMES[pitch % 12]} ${Math.floor(pitch / 12) - 1}`);
      const letter = document.createElement("span");
      letter.className = "letter";
      letter.setAttribute("aria-hidden", "true");
      letter.textContent = (LETTERS[pitch - first] || "").toUpperCase();
      key.append(letter);
      keys.append(key);
    }
  }

  function move(octaves) {
    first = Math.min(Math.max(first + 12 * octaves, LOWEST), HIGHEST);
    draw();
  }

  keys.addEventListener("pointerdown", event => {
    const key = event.target.closest(".key");
    if (!key || event.button) return;
    event.preventDefault();
    focusKey(key.dataset.pitch);
    press(Number(key.dataset.pitch));
  });
  keys.addEventListener("click", event => {
    const key = event.target.closest(".key");
    if (key && event.detail === 0) press(Number(key.dataset.pitch)); // Enter, Space, or a screen reader
  });
  piano.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !event.target.closest("#keys")) return;
    const pitch = Number(event.target.closest(".key")?.dataset.pitch ?? first);
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowUp: 12, ArrowDown: -12, Home: first - pitch, End: first + SPAN - pitch };
    const letter = LETTERS.indexOf(event.key.toLowerCase());
    if (event.key in steps) focusKey(pitch + steps[event.key]);
    else if (event.key === "Backspace") entry.takeBack();
    else if (event.key === "-" || event.key === "r") append(null);
    else if (event.key.length === 1 && letter >= 0) { if (!event.repeat) press(first + letter); }
    else return;
    event.preventDefault();
  });
  byId("rest").addEventListener("click", () => append(null));
  byId("lower").addEventListener("click", () => move(-1));
  byId("higher").addEventListener("click", () => move(1));
  connectMidi(byId("midi"), press);
  draw();
}

// A keyboard is asked for only when somebody wants one: the browser may ask for permission.
function connectMidi(button, press) {
  if (!navigator.requestMIDIAccess) return;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      const access = await navigator.requestMIDIAccess();
      const listen = () => access.inputs.forEach(input => {
        input.onmidimessage = ({ data: [status, pitch, strength] }) => {
          if ((status & 0xf0) === 0x90 && strength) press(pitch);
        };
      });
      listen();
      access.onstatechange = listen;
      button.textContent = access.inputs.size ? _("MIDI keyboard is on") : _("Connect a MIDI keyboard now");
    } catch {
      button.textContent = _("The browser does not allow MIDI");
      button.disabled = true;
    }
  });
}
