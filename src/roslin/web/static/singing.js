// Sing, whistle or tap it. Sound becomes notes while it sounds (pitch.js, segments.js), notes get their values when it
// ends (rhythm.js), and the editor takes them. Taps become a rhythm, which is searched for as such. Sound is neither
// kept nor sent.

import { drawHeard, nameOf } from "./heard.js";
import { openMicrophone } from "./microphone.js";
import { HOP, PitchTracker } from "./pitch.js";
import { quantise, tapped } from "./rhythm.js";
import { segment } from "./segments.js";
import { _, ngettext } from "./words.js";

const EVERY = 120; // milliseconds between two drawings
const LONGEST = 60; // seconds; whoever forgets to stop is not listened to for ever
const ON_STAFF = 71; // the middle line: where whistles and low voices are written, by whole octaves
const TAPPED_PITCH = 71;
const FEWEST_TAPS = 4; // three notes are the shortest rhythm
const AS_RHYTHM = { compare: "rhythm", place: "start" }; // a rhythm alone says little: melodies must begin with it

const byId = id => document.getElementById(id);

// Notes as the editor takes them, moved by octaves so that most lie on a staff.
export function asQuery(notes) {
  const pitches = notes.map(note => note.pitch).sort((a, b) => a - b), middle = pitches[pitches.length >> 1];
  const octaves = 12 * Math.round((ON_STAFF - middle) / 12);
  return quantise(notes).flatMap(({ pitch, quarters, rest }) => [
    { pitch: pitch + octaves, duration: quarters },
    ...(rest ? [{ pitch: null, duration: rest }] : []),
  ]);
}

export function startSinging(editor) {
  const sing = byId("sing"), tap = byId("tap"), panel = byId("listening"), area = byId("tap-area");
  const state = byId("sing-state"), names = byId("heard-names"), message = byId("sing-message");
  const find = document.querySelector(".find");
  let microphone = null, tracker = null, timer = 0, taps = null;
  let before = null; // how melodies were compared before a rhythm was tapped

  function say(text, isBad = false) {
    message.className = isBad ? "message bad" : "message";
    message.textContent = text;
  }

  function label(button, isOn) {
    button.setAttribute("aria-pressed", String(isOn));
    button.textContent = isOn ? button.dataset.on : button.dataset.off;
  }

  function showHeard() {
    if (!tracker) return;
    const notes = segment(tracker.frames);
    drawHeard(byId("heard"), tracker.frames, notes);
    names.textContent = notes.map(note => nameOf(note.pitch)).join(" ");
    if (tracker.frames.pitch.length * HOP > LONGEST) finish();
  }

  async function listen() {
    say("");
    sing.disabled = true;
    try {
      window.roslinPlayer?.stop();
      tracker = null;
      microphone = await openMicrophone((samples, rate) => {
        tracker ||= new PitchTracker(rate);
        tracker.push(samples);
      });
      timer = setInterval(showHeard, EVERY);
      panel.hidden = false;
      byId("heard").replaceChildren();
      names.textContent = "";
      state.textContent = state.dataset.listening;
      label(sing, true);
    } catch (error) {
      say(error.message, true);
    } finally {
      sing.disabled = false;
    }
  }

  function close() {
    clearInterval(timer);
    microphone?.close();
    microphone = null;
    panel.hidden = true;
    label(sing, false);
  }

  function finish() {
    const notes = tracker ? segment(tracker.frames) : [];
    close();
    if (!notes.length) {
      say(_("No notes were heard. Sing closer to the microphone, on “la” or “da”, or whistle."), true);
      return;
    }
    write(asQuery(notes));
    const heard = ngettext("One note was heard.", "{count} notes were heard.", notes.length);
    say(`${heard} ${_("Correct them if necessary. Press Enter to search.")}`);
  }

  // Notes stand in the editor, in sight, and Enter searches.
  function write(notes) {
    editor.setNotes(notes);
    find.focus({ preventScroll: true });
    byId("preview").scrollIntoView({ block: "nearest" });
  }

  const modes = () => Object.fromEntries(Object.keys(AS_RHYTHM).map(id => [id, byId(id).value]));

  function setModes(values) {
    for (const [id, value] of Object.entries(values)) byId(id).value = value;
  }

  function beginTaps() {
    close();
    say("");
    taps = [];
    area.hidden = false;
    area.replaceChildren(area.dataset.hint);
    label(tap, true);
    area.focus();
  }

  function endTaps() {
    const times = taps;
    taps = null;
    area.hidden = true;
    label(tap, false);
    if (times.length < FEWEST_TAPS) {
      say(_("Tap at least {count} times, in the rhythm of the melody.", { count: FEWEST_TAPS }), true);
      return;
    }
    before ??= modes();
    setModes(AS_RHYTHM);
    write(tapped(times).map(duration => ({ pitch: TAPPED_PITCH, duration })));
    const said = _("{count} notes were tapped. Press Enter to find melodies that begin with this rhythm. Pitches are ignored.", { count: times.length - 1 });
    say(said);
  }

  function takeTap(event) {
    event.preventDefault();
    taps.push(event.timeStamp / 1000);
    area.textContent = "● ".repeat(taps.length).trim();
  }

  sing.addEventListener("click", () => {
    if (taps) endTaps();
    if (microphone) finish();
    else listen();
  });
  tap.addEventListener("click", () => (taps ? endTaps() : beginTaps()));
  area.addEventListener("pointerdown", takeTap);
  area.addEventListener("keydown", event => {
    if (event.key === " ") event.repeat ? event.preventDefault() : takeTap(event);
    else if (event.key === "Enter") {
      event.preventDefault();
      endTaps();
    }
  });
  addEventListener("keydown", event => {
    if (event.key === "Escape" && microphone) {
      close();
      sing.focus();
    }
  });
  // A melody with more than one pitch is compared as before.
  editor.addEventListener("change", ({ detail: { notes } }) => {
    const isRhythm = notes.every(note => note.pitch === notes[0].pitch);
    if (before === null || isRhythm) return;
    setModes(before);
    before = null;
  });
}
