// A list of one's own, kept in this browser and nowhere else: ids in their order, each with a note.
// Every page counts it beside its link; every card of results has a button that adds the melody or takes it out.
import { _, ngettext, root } from "./words.js";

const KEY = root === "/" ? "roslin.list" : `roslin.list ${root}`; // a site may have several collections
const MOST = 200; // as many as an address can carry

// Entries {id, note}; none where the browser keeps nothing, or something else.
export function kept() {
  try {
    const entries = JSON.parse(localStorage.getItem(KEY) || "[]");
    return Array.isArray(entries)
      ? entries.filter(each => typeof each?.id === "string").map(({ id, note }) => ({ id, note: String(note ?? "") }))
      : [];
  } catch {
    return [];
  }
}

// Whether it could be kept.
export function keep(entries) {
  try {
    localStorage.setItem(KEY, JSON.stringify(entries.slice(0, MOST)));
  } catch {
    return false;
  }
  show();
  return true;
}

export function add(ids) {
  const entries = kept(), known = new Set(entries.map(each => each.id));
  return keep([...entries, ...ids.filter(id => !known.has(id)).map(id => ({ id, note: "" }))]);
}

export function remove(id) {
  return keep(kept().filter(each => each.id !== id));
}

export function addressOf(entries) {
  const ids = new URLSearchParams(entries.map(({ id }) => ["id", id]));
  return `${location.origin}${root}list?${ids}`;
}

// Copy a text and say so in an element; where the browser does not let us, say that.
export async function copy(text, status) {
  try {
    await navigator.clipboard.writeText(text);
    status.textContent = _("Copied.");
  } catch {
    status.textContent = _("The browser did not allow it. You can copy the address from the address bar.");
  }
}

function show() {
  const entries = kept(), ids = new Set(entries.map(each => each.id));
  const count = document.querySelector("#own-list .count");
  if (count) count.textContent = entries.length ? ` (${entries.length})` : "";
  for (const button of document.querySelectorAll("button[data-keep]")) {
    const isKept = ids.has(button.dataset.keep);
    button.hidden = false;
    button.setAttribute("aria-pressed", isKept);
    button.textContent = isKept ? _("✓ In my list") : _("Add to my list");
  }
  for (const button of document.querySelectorAll("button[data-copy-link]")) button.hidden = false;
}

document.addEventListener("click", event => {
  const button = event.target.closest("button[data-keep]");
  if (button) {
    const id = button.dataset.keep, isKept = kept().some(each => each.id === id);
    const status = document.getElementById("own-list-status");
    if (!isKept && kept().length >= MOST) status.textContent = _("Your list is full.");
    else if (!(isKept ? remove(id) : add([id]))) status.textContent = _("This browser does not store lists.");
    else status.textContent = ngettext("One melody in your list.", "{count} melodies in your list.", kept().length);
  }
  const link = event.target.closest("button[data-copy-link]");
  if (link) copy(location.href, link.parentElement.querySelector("[role=status]"));
});

addEventListener("storage", show); // another page of this browser changed it
const results = document.getElementById("results");
if (results) new MutationObserver(show).observe(results, { childList: true });
show();
