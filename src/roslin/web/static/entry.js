// The query as text: the one truth of what is entered. Piano, editor, file and examples write into it; a moment after
// every change the server reads it, and the page shows the notation, or where it went wrong.

import { History } from "./entry-history.js";
import { _, language, ngettext, root } from "./words.js";

const WAIT = 250; // milliseconds after the last change
const TOO_MANY_REQUESTS = 429;
const NARROW = 544; // pixels; a drawing that has less room is engraved for a telephone

const byId = id => document.getElementById(id);

// What was read otherwise than it was written.
export function asList(lines) {
  const list = document.createElement("ul");
  list.className = "deviations";
  for (const line of lines) list.append(Object.assign(document.createElement("li"), { textContent: line }));
  return list;
}

export function startEntry() {
  const text = byId("q"), notation = byId("notation"), message = byId("q-message");
  const preview = byId("preview"), drawing = byId("preview-drawing"), hint = drawing.innerHTML;
  const undo = byId("undo"), redo = byId("redo"), clear = byId("clear"), download = byId("download");
  const id = document.querySelector("input[name=id]");
  const history = new History({ text: text.value, notation: notation.value, chosen: -1 });
  const listeners = []; // each is told what the server understood, or null where it understood nothing
  const tell = answer => listeners.forEach(listener => listener(answer));
  let timer = 0;
  let reading = null;
  let isNarrow = drawing.clientWidth < NARROW;

  function address(format) {
    const asked = new URLSearchParams({ q: text.value, notation: notation.value, lang: language });
    if (format) asked.set("format", format);
    else if (isNarrow) asked.set("layout", "narrow");
    return `${root}api/read?${asked}`;
  }

  function show(answer) {
    drawing.innerHTML = answer.drawing;
    preview.dataset.notes = JSON.stringify(answer.playing);
    preview.querySelector(".play").hidden = !("AudioContext" in window);
    message.className = "message";
    const names = { names: _("note names"), pae: "Plaine & Easie", abc: "ABC" }, notation = names[answer.notation] || _("a list of notes");
    message.textContent = ngettext("One note, read as {notation}.", "{count} notes, read as {notation}.", answer.notes.length, { notation });
    if (answer.deviations.length) message.append(asList(answer.deviations));
    download.href = address("midi");
    download.hidden = false;
  }

  function showNothing() {
    drawing.innerHTML = hint;
    preview.dataset.notes = "[]";
    preview.querySelector(".play").hidden = true;
    download.hidden = true;
    message.className = "message";
    message.textContent = "";
  }

  function showProblem(error) {
    message.className = "message bad";
    message.replaceChildren();
    const problem = error.problem;
    if (!problem) {
      message.textContent = error.message;
      return;
    }
    const lines = text.value.split("\n");
    const place = problem.line > 1 ? _("Line {line}, column {column}", problem) : _("Column {column}", problem);
    const said = [problem.column ? `${place}: ${problem.reason}` : problem.reason];
    if (problem.expected) said.push(_("expected {expected}", problem));
    if (problem.found) said.push(_("found {found}", problem));
    message.append(said.join("; ") + ".");
    const line = lines[Math.max(problem.line, 1) - 1];
    if (problem.column && line !== undefined) {
      const signs = [...line], at = Math.min(problem.column - 1, signs.length);
      const shown = document.createElement("pre"), mark = document.createElement("mark");
      mark.textContent = signs[at] ?? " ";
      shown.append(signs.slice(Math.max(at - 40, 0), at).join(""), mark, signs.slice(at + 1, at + 40).join(""));
      message.append(shown);
    }
  }

  function showButtons() {
    undo.hidden = !history.canUndo;
    redo.hidden = !history.canRedo;
    clear.hidden = !text.value;
  }

  // What came of a reading: the server read the text or refused it ("read"), the text was changed before it answered
  // ("overtaken"), or there is no answer ("unanswered"). Only the first is told to the listeners.
  async function read() {
    forgetReading();
    remember(false);
    showButtons();
    if (!text.value.trim()) {
      preview.classList.remove("stale");
      showNothing();
      tell(null);
      return "read";
    }
    const own = reading = new AbortController();
    preview.classList.add("stale");
    try {
      const response = await fetch(address(), { signal: own.signal });
      const answer = await response.json();
      if (own !== reading) return "overtaken";
      if (response.ok) {
        show(answer);
        preview.classList.remove("stale");
        tell(answer);
        return "read";
      }
      showProblem(answer.error);
      if (response.status >= 500 || response.status === TOO_MANY_REQUESTS) return "unanswered";
      tell(null);
      return "read";
    } catch (error) {
      if (own !== reading) return "overtaken";
      showProblem({ message: _("The server does not answer.") });
      return "unanswered";
    }
  }

  // An answer to a text that was changed meanwhile must not be taken for one to the text of now.
  function forgetReading() {
    clearTimeout(timer);
    reading?.abort();
    reading = null;
  }

  function readSoon() {
    forgetReading();
    preview.classList.add("stale");
    timer = setTimeout(read, WAIT);
  }

  function remember(isTyped, chosen = history.now.chosen) {
    history.add({ text: text.value, notation: notation.value, chosen }, isTyped);
  }

  // `chosen` is the note that the editor has chosen, or -1.
  function set(value, kind = "auto", chosen = -1) {
    write(value, kind);
    remember(false, chosen);
    readSoon();
  }

  function write(value, kind) {
    window.roslinPlayer?.stop();
    text.value = value;
    notation.value = kind;
    text.scrollTop = text.scrollHeight;
    leaveLike();
  }

  function goTo(state) {
    write(state.text, state.notation);
    read();
  }

  const takeBack = () => goTo(history.undo());
  const bringBack = () => goTo(history.redo());

  // Find with nothing entered.
  function ask() {
    message.className = "message bad";
    message.textContent = _("Enter a melody first: play it on the keys, type its notes, such as c d e c, or open a file.");
    text.focus();
  }

  // A query is either text or a melody of the collection.
  function like(value, name) {
    id.value = value;
    byId("like").hidden = !value;
    byId("own").hidden = Boolean(value);
    if (value) byId("like-name").textContent = name || value;
  }

  function leaveLike() {
    if (id.value) like("");
  }

  // Enter searches; with Shift it is a new line.
  text.addEventListener("keydown", event => {
    if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    event.preventDefault();
    text.form.requestSubmit();
  });
  text.addEventListener("beforeinput", event => {
    if (event.inputType !== "historyUndo" && event.inputType !== "historyRedo") return;
    event.preventDefault();
    if (event.inputType === "historyUndo") takeBack();
    else bringBack();
  });
  byId("own").addEventListener("keydown", event => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
    const key = event.key.toLowerCase();
    if (key === "y" || (key === "z" && event.shiftKey)) bringBack();
    else if (key === "z") takeBack();
    else return;
    event.preventDefault();
  });
  text.addEventListener("input", () => {
    remember(true, -1);
    readSoon();
  });
  notation.addEventListener("change", read);
  undo.addEventListener("click", takeBack);
  redo.addEventListener("click", bringBack);
  clear.addEventListener("click", () => set(""));
  byId("like-remove").addEventListener("click", () => {
    like("");
    text.focus();
  });
  new ResizeObserver(() => {
    const wasNarrow = isNarrow;
    isNarrow = drawing.clientWidth < NARROW;
    if (isNarrow !== wasNarrow && drawing.querySelector("svg")) read();
  }).observe(drawing);
  if (text.value) read();
  return {
    text, notation, set, takeBack, like, read, ask,
    onRead: listener => { listeners.push(listener); },
    get chosen() { return history.now.chosen; },
    set chosen(number) { history.now.chosen = number; },
  };
}
