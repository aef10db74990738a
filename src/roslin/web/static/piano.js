// A piano that writes Plaine & Easie. Mouse, touch, computer keys and MIDI keyboards play it; every note has the chosen
// length, because a page cannot know the beat that a player has in mind.

import { _ } from "./words.js";

const WHITE = [0, 2, 4, 5, 7, 9, 11];
const NAMES = [
  _("C"), _("C sharp"), _("D"), _("E flat"), _("E"), _("F"), _("F sharp"), _("G"), _("G sharp"), _("A"), _("B flat"), _("B"),
];
// Physical keys from the first C upwards, by their letters on an English keyboard: rows of keys, wherever the letters are.
const LETTERS = "awsedftgyhujkolp";
const WIDTH = 34; // pixels that a finger needs for a white key
const LEAST_WHITE = 7, MOST_WHITE = 15;
const LOWEST = 36, HIGHEST = 84; // where the first C may be

const byId = id => document.getElementById(id);

export function startPiano(entry, editor) {
  const keys = byId("keys"), piano = byId("piano");
  let first = 60, span = 0;
  let printed = new Map(); // what stands on the keys, where the browser tells

  const length = () => document.querySelector("input[name=length]:checked").value + (byId("dotted").checked ? "." : "");
  const append = pitch => editor.play(pitch, length());

  // Semitones above the first C: as many white keys as have room, and two octaves at most.
  function spanThatFits() {
    const room = Math.floor((keys.clientWidth || MOST_WHITE * WIDTH) / WIDTH);
    const white = Math.min(Math.max(room, LEAST_WHITE), MOST_WHITE);
    keys.style.setProperty("--white-keys", white);
    return 12 * Math.floor((white - 1) / 7) + WHITE[(white - 1) % 7];
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

  // In a window of another size there are other keys: whoever stands on one stays there.
  function draw() {
    const focused = keys.contains(document.activeElement) ? Number(document.activeElement.dataset.pitch) : null;
    span = spanThatFits();
    keys.replaceChildren();
    for (let pitch = first; pitch <= first + span; pitch++) {
      const key = document.createElement("button");
      key.type = "button";
      key.className = `key ${WHITE.includes(pitch % 12) ? "white" : "black"}`;
      key.dataset.pitch = pitch;
      key.tabIndex = pitch === first ? 0 : -1;
      key.setAttribute("aria-label", `${NAMES[pitch % 12]} ${Math.floor(pitch / 12) - 1}`);
      const letter = document.createElement("span");
      letter.className = "letter";
      letter.setAttribute("aria-hidden", "true");
      const sign = (LETTERS[pitch - first] || "").toUpperCase();
      letter.textContent = (printed.get(`Key${sign}`) ?? sign).toUpperCase();
      key.append(letter);
      keys.append(key);
    }
    if (focused !== null) focusKey(Math.min(Math.max(focused, first), first + span));
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
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowUp: 12, ArrowDown: -12, Home: first - pitch, End: first + span - pitch };
    const letter = event.code?.startsWith("Key") ? LETTERS.indexOf(event.code.slice(3).toLowerCase()) : -1;
    if (event.key in steps) focusKey(pitch + steps[event.key]);
    else if (event.key === "Backspace") entry.takeBack();
    else if (letter >= 0) { if (!event.repeat) press(first + letter); }
    else if (event.key === "-" || event.key === "r") append(null);
    else return;
    event.preventDefault();
  });
  byId("rest").addEventListener("click", () => append(null));
  byId("lower").addEventListener("click", () => move(-1));
  byId("higher").addEventListener("click", () => move(1));
  connectMidi(byId("midi"), press);
  new ResizeObserver(() => { if (spanThatFits() !== span) draw(); }).observe(keys);
  draw();
  navigator.keyboard?.getLayoutMap?.().then(map => { printed = map; draw(); }, () => {});
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
