// The drawings and sounds of the trial. The server sends each once, in the list to sort; wherever else one is shown, it is
// a copy with ids of its own. A figure is a melody, which player.js plays from its notes, or holds a picture or a sound.
import { _, candidate } from "./trial-text.js";

let copies = 0;

export function original(k) {
  return document.querySelector(k === "query" ? "#query figure" : `#candidates [data-candidate="${k}"] figure`);
}

export function copyOf(k) {
  const figure = original(k).cloneNode(true);
  const mark = `copy${++copies}-`;
  for (const element of figure.querySelectorAll("[id]")) element.id = mark + element.id;
  for (const element of figure.querySelectorAll("use")) {
    element.setAttribute("href", `#${mark}${element.getAttribute("href").slice(1)}`);
  }
  for (const element of figure.querySelectorAll(".sounding")) element.classList.remove("sounding");
  label(figure, k);
  return figure;
}

// Buttons and drawing named in the reader's language.
export function label(figure, k) {
  for (const button of figure.querySelectorAll("button.play")) {
    button.setAttribute("aria-label", _("Listen to {name}", { name: candidate(k) }));
    button.setAttribute("aria-pressed", "false");
    button.dataset.word = _("Listen");
    button.dataset.stop = _("Stop");
    button.querySelector(".sign").textContent = "▶";
    button.querySelector(".word").textContent = _("Listen");
  }
  for (const title of figure.querySelectorAll("svg > title")) title.textContent = _("Notation of {name}", { name: candidate(k) });
  figure.querySelector("img")?.setAttribute("alt", candidate(k));
}

// Start or stop the sound of the first figure in an element.
export function play(element) {
  const figure = element?.querySelector("figure");
  const sound = figure?.querySelector("audio");
  if (!sound) figure?.querySelector("button.play:not([hidden])")?.click();
  else if (sound.paused) sound.play();
  else sound.pause();
}

// `heard(k, ms)` is called when the query or a candidate has stopped, with how long it sounded; one sound at a time.
// Returns what stops the sound at once.
export function watchSounds(heard) {
  let sounding = null;
  const end = source => {
    if (!sounding || sounding.source !== source) return;
    const { k, began } = sounding;
    sounding = null;
    heard(k, Math.round(performance.now() - began));
  };
  const begin = source => {
    end(sounding?.source);
    const place = source.closest("#query, [data-candidate]"); // now: what is shown there may change while it sounds
    if (!place) return;
    const name = place.id === "query" ? "query" : place.dataset.candidate;
    sounding = { source, k: name === "query" ? name : Number(name), began: performance.now() };
  };
  document.addEventListener("roslin:play", event => begin(event.detail));
  document.addEventListener("roslin:stop", event => end(event.detail));
  document.addEventListener("play", event => {
    for (const other of document.querySelectorAll("audio")) if (other !== event.target) other.pause();
    begin(event.target);
    event.target.addEventListener("pause", () => end(event.target), { once: true }); // also when it has left the page
  }, true);
  const stop = () => {
    window.roslinPlayer?.stop();
    if (!sounding) return;
    sounding.source.pause?.();
    end(sounding.source);
  };
  addEventListener("pagehide", stop);
  return stop;
}

// A drawing larger than its place can be scrolled; then it can be reached by keyboard too.
export function watchSizes() {
  const check = entries => {
    for (const { target } of entries) {
      if (target.scrollHeight > target.clientHeight + 1) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  };
  const observer = new ResizeObserver(check);
  const watch = root => root.querySelectorAll(".drawing").forEach(each => observer.observe(each));
  watch(document);
  new MutationObserver(changes => changes.forEach(({ addedNodes }) =>
    addedNodes.forEach(node => node.nodeType === 1 && watch(node)))).observe(document.body, { subtree: true, childList: true });
}
