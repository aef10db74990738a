// The page of a list: that of an address as it is, or one's own, with notes, in an order of one's own.
import { _, language, root } from "./words.js";
import { add, addressOf, copy, keep, kept } from "./own-list.js";

const byId = id => document.getElementById(id);
const list = byId("list"), listed = byId("listed"), status = byId("list-status"), exports = byId("list-exports");
const isShared = list.dataset.isShared === "yes";

function button(label, name, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "quiet";
  made.textContent = label;
  made.dataset.act = name;
  made.addEventListener("click", act);
  return made;
}

// One's own entry: a note, and buttons that move it or take it out. Focus stays with what was moved.
function own(card, entry, place, count) {
  const label = document.createElement("label"), note = document.createElement("textarea"), tools = document.createElement("p");
  label.className = "note-label";
  label.append(_("My note"), note);
  note.rows = 2;
  note.maxLength = 2000;
  note.value = entry.note;
  note.addEventListener("input", () => {
    keep(kept().map(each => (each.id === entry.id ? { ...each, note: note.value } : each)));
    fillForm();
  });
  const printed = document.createElement("p");
  printed.className = "printed-note";
  printed.textContent = entry.note;
  note.addEventListener("input", () => { printed.textContent = note.value; });
  tools.className = "row tools";
  if (place > 0) tools.append(button(_("Move up"), "up", () => move(entry.id, -1)));
  if (place < count - 1) tools.append(button(_("Move down"), "down", () => move(entry.id, 1)));
  tools.append(button(_("Remove"), "out", () => {
    keep(kept().filter(each => each.id !== entry.id));
    draw();
    byId("list-heading").focus();
  }));
  card.append(label, printed, tools);
}

async function move(id, by) {
  const entries = kept(), from = entries.findIndex(each => each.id === id);
  const [entry] = entries.splice(from, 1);
  entries.splice(from + by, 0, entry);
  keep(entries);
  await draw();
  const tools = [...listed.querySelectorAll("[data-listed]")].find(card => card.dataset.listed === id);
  (tools?.querySelector(`[data-act=${by < 0 ? "up" : "down"}]`) || tools?.querySelector("[data-act]"))?.focus();
}

// The form sends what is listed, with the notes; these are in no address.
function fillForm() {
  for (const old of exports.querySelectorAll("input[type=hidden]")) old.remove();
  exports.method = "post";
  for (const { id, note } of kept()) {
    for (const [name, value] of [["id", id], ["note", note]]) {
      const field = document.createElement("input");
      [field.type, field.name, field.value] = ["hidden", name, value];
      exports.append(field);
    }
  }
}

async function draw() {
  const entries = kept(), query = new URLSearchParams(entries.map(({ id }) => ["id", id]));
  byId("list-empty").hidden = entries.length > 0;
  exports.hidden = byId("list-tools").hidden = !entries.length;
  if (!entries.length) {
    listed.replaceChildren();
    return;
  }
  query.append("lang", language);
  try {
    const response = await fetch(`${root}list/melodies?${query}`);
    if (!response.ok) throw new TypeError(response.statusText);
    listed.innerHTML = await response.text();
  } catch {
    status.textContent = _("The server does not answer.");
    return;
  }
  const cards = new Map([...listed.querySelectorAll("[data-listed]")].map(card => [card.dataset.listed, card]));
  entries.forEach((entry, place) => { if (cards.has(entry.id)) own(cards.get(entry.id), entry, place, entries.length); });
  fillForm();
  window.roslinPlayer?.reveal();
}

byId("copy-list").addEventListener("click", () => copy(isShared ? location.href : addressOf(kept()), status));
byId("print-list").addEventListener("click", () => print());
byId("clear-list").addEventListener("click", () => {
  if (!confirm(_("Remove all melodies and notes from your list?"))) return;
  keep([]);
  draw();
});
if (isShared) {
  byId("list-tools").hidden = byId("take-list").hidden = false;
  byId("clear-list").hidden = true;
  byId("take-list").addEventListener("click", () => {
    add([...listed.querySelectorAll("[data-listed]")].map(card => card.dataset.listed));
    status.textContent = _("Added to your list.");
  });
} else {
  draw();
}
