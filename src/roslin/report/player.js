// A small synthesiser: plays the notes of a figure, and lights up each note of its drawing while it sounds.
// A figure carries data-notes, rows of [row of the note table, start, duration, MIDI pitch], times in seconds. A button
// may say data-from, the second at which it starts, and data-stop, its word while it plays. Pages that add figures later
// call `roslinPlayer.reveal()`; `note` sounds a single pitch. A figure that begins or stops to sound is the detail of an event
// of the document, "roslin:play" or "roslin:stop".
(() => {
  "use strict";
  const AHEAD = 0.3;     // how far ahead notes are handed to the sound card, in seconds
  const EVERY = 50;      // how often that happens, in milliseconds
  const LEAD = 0.08;     // a moment before the first note, so that it is not cut
  const HARMONICS = [0, 1, 0.45, 0.28, 0.12, 0.06];
  let audio = null;
  let playing = null;

  function voice(at, duration, pitch, out) {
    const tone = audio.createOscillator();
    const gain = audio.createGain();
    const wave = new Float32Array(HARMONICS);
    tone.setPeriodicWave(audio.createPeriodicWave(new Float32Array(wave.length), wave));
    tone.frequency.value = 440 * 2 ** ((pitch - 69) / 12);
    const end = at + Math.max(duration * 0.96, 0.04);
    gain.gain.setValueAtTime(0, at);
    gain.gain.linearRampToValueAtTime(0.25, at + 0.012);
    gain.gain.exponentialRampToValueAtTime(0.06, end);
    gain.gain.linearRampToValueAtTime(0, end + 0.03);
    tone.connect(gain).connect(out);
    tone.start(at);
    tone.stop(end + 0.05);
  }

  function label(button, isPlaying) {
    button.setAttribute("aria-pressed", String(isPlaying));
    button.querySelector(".sign").textContent = isPlaying ? "■" : "▶";
    const word = button.querySelector(".word");
    button.dataset.word = button.dataset.word || word.textContent;
    word.textContent = isPlaying ? button.dataset.stop || "Stop" : button.dataset.word;
  }

  function stop() {
    if (!playing) return;
    clearInterval(playing.timer);
    playing.out.gain.value = 0;
    playing.out.disconnect();
    playing.marked.forEach(element => element.classList.remove("sounding"));
    label(playing.button, false);
    const { timer, figure } = playing;
    playing = null;
    if (timer) document.dispatchEvent(new CustomEvent("roslin:stop", { detail: figure }));
  }

  function step(job) {
    const now = audio.currentTime - job.began;
    while (job.next < job.notes.length && job.notes[job.next][1] < now + AHEAD) {
      const [, start, duration, pitch] = job.notes[job.next++];
      voice(job.began + start, duration, pitch, job.out);
    }
    const marked = new Set();
    for (const [row, start, duration] of job.notes) {
      if (start > now) break;
      if (now < start + duration) (job.drawn.get(row) || []).forEach(element => marked.add(element));
    }
    job.marked.forEach(element => marked.has(element) || element.classList.remove("sounding"));
    marked.forEach(element => element.classList.add("sounding"));
    job.marked = marked;
    if (now > job.length) stop();
  }

  function play(figure, button) {
    stop();
    audio = audio || new AudioContext();
    const from = Number(button.dataset.from || 0);
    const notes = JSON.parse(figure.dataset.notes)
      .filter(note => note[1] >= from)
      .map(([row, start, ...rest]) => [row, start - from, ...rest]);
    const drawn = new Map();
    for (const element of figure.querySelectorAll("[data-note]")) {
      const row = Number(element.dataset.note);
      drawn.set(row, [...(drawn.get(row) || []), element]);
    }
    const out = audio.createGain();
    out.gain.value = 0.8;
    out.connect(audio.destination);
    const length = notes.reduce((end, note) => Math.max(end, note[1] + note[2]), 0);
    const job = { notes, drawn, out, figure, button, length, next: 0, marked: new Set(), timer: 0, began: 0 };
    playing = job;
    label(button, true);
    audio.resume().then(() => {
      if (playing !== job) return;
      job.began = audio.currentTime + LEAD;
      job.timer = setInterval(() => step(job), EVERY);
      document.dispatchEvent(new CustomEvent("roslin:play", { detail: figure }));
    });
  }

  function note(pitch, duration = 0.5) {
    if (!("AudioContext" in window)) return;
    audio = audio || new AudioContext();
    const at = () => voice(audio.currentTime + 0.01, duration, pitch, audio.destination);
    if (audio.state === "suspended") audio.resume().then(at);
    else at();
  }

  // Drawings that are aligned with one another are not broken: where they are wider than their place, a cue says so.
  function showCues() {
    for (const cue of document.querySelectorAll(".cue")) {
      const place = cue.parentElement;
      cue.hidden = place.scrollWidth <= place.clientWidth;
    }
  }

  function reveal() {
    showCues();
    if (!("AudioContext" in window)) return;
    for (const button of document.querySelectorAll("figure.melody button.play")) {
      button.hidden = button.closest("figure").dataset.notes === "[]";
    }
  }

  document.addEventListener("click", event => {
    const button = event.target.closest("figure.melody button.play");
    if (!button) return;
    if (playing && playing.button === button) stop();
    else play(button.closest("figure"), button);
  });
  addEventListener("keydown", event => { if (event.key === "Escape") stop(); });
  addEventListener("resize", showCues);
  window.roslinPlayer = { note, reveal, stop, state: () => (audio ? audio.state : "none") };
  reveal();
})();
