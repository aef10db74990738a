// A small synthesiser: plays the notes of a figure, and lights up each note of its drawing while it sounds.
// A figure carries data-notes, rows of [row of the note table, start, duration, MIDI pitch], times in seconds.
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
    button.querySelector(".word").textContent = isPlaying ? "Stop" : "Play";
  }

  function stop() {
    if (!playing) return;
    clearInterval(playing.timer);
    playing.out.gain.value = 0;
    playing.out.disconnect();
    playing.marked.forEach(element => element.classList.remove("sounding"));
    label(playing.button, false);
    playing = null;
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
    const notes = JSON.parse(figure.dataset.notes);
    const drawn = new Map();
    for (const element of figure.querySelectorAll("[data-note]")) {
      const row = Number(element.dataset.note);
      drawn.set(row, [...(drawn.get(row) || []), element]);
    }
    const out = audio.createGain();
    out.gain.value = 0.8;
    out.connect(audio.destination);
    const length = notes.reduce((end, note) => Math.max(end, note[1] + note[2]), 0);
    const job = { notes, drawn, out, button, length, next: 0, marked: new Set(), timer: 0, began: 0 };
    playing = job;
    label(button, true);
    audio.resume().then(() => {
      if (playing !== job) return;
      job.began = audio.currentTime + LEAD;
      job.timer = setInterval(() => step(job), EVERY);
    });
  }

  for (const button of document.querySelectorAll("figure.melody button.play")) {
    if (!("AudioContext" in window)) break;
    button.hidden = false;
    button.addEventListener("click", () => {
      if (playing && playing.button === button) stop();
      else play(button.closest("figure"), button);
    });
  }
  addEventListener("keydown", event => { if (event.key === "Escape") stop(); });
})();
