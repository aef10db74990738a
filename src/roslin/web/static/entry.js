// The query as text: the one truth of what is entered. Piano, file and examples write into it; a moment after every
// change the server reads it, and the page shows the notation, or where it went wrong.

import { _, ngettext } from "./words.js";

const WAIT = 250; // milliseconds after the last change

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
  const undo = byId("undo"), clear = byId("clear"), download = byId("download");
  const id = document.querySelector("input[name=id]");
  const before = []; // what stood here before each change that undo can take back
  let timer = 0;
  let reading = null;
  let tell = () => {}; // what the server understood, or null where it understood nothing

  function address(format) {
    const asked = new URLSearchParams({ q: text.value, notation: notation.value });
    if (format) asked.set("format", format);
    return `/api/read?${asked}`;
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

  async function read() {
    if (reading) reading.abort();
    undo.hidden = !before.length;
    clear.hidden = !text.value;
    if (!text.value.trim()) {
      preview.classList.remove("stale");
      showNothing();
      tell(null);
      return;
    }
    const own = reading = new AbortController();
    preview.classList.add("stale");
    try {
      const response = await fetch(address(), { signal: own.signal });
      const answer = await response.json();
      if (own !== reading) return;
      if (response.ok) {
        show(answer);
        preview.classList.remove("stale");
        tell(answer);
      } else {
        showProblem(answer.error);
        tell(null);
      }
    } catch (error) {
      if (error.name !== "AbortError") showProblem({ message: _("The server does not answer.") });
    }
  }

  function readSoon() {
    clearTimeout(timer);
    timer = setTimeout(read, WAIT);
  }

  function set(value, kind = "auto", canUndo = true) {
    if (canUndo && text.value !== value) before.push([text.value, notation.value]);
    window.roslinPlayer?.stop();
    text.value = value;
    notation.value = kind;
    text.scrollTop = text.scrollHeight;
    leaveLike();
    readSoon();
  }

  function takeBack() {
    const last = before.pop();
    if (last) set(last[0], last[1], false);
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

  text.addEventListener("input", readSoon);
  notation.addEventListener("change", read);
  undo.addEventListener("click", takeBack);
  clear.addEventListener("click", () => set(""));
  byId("like-remove").addEventListener("click", () => {
    like("");
    text.focus();
  });
  if (text.value) read();
  return { text, notation, set, takeBack, like, read, onRead: told => { tell = told; } };
}
