// Results without loading the page again. The address always says what is shown, so it can be shared, and the back
// button goes to the search before.

import { _, language, root } from "./words.js";

const SLOW = 150; // milliseconds before the progress line shows

const LINES = "application/x-ndjson"; // how far it is, as often as that changes, and last the page

// What says how to compare, but not what is looked for: words and filters list melodies without a query, too.
const HOW = ["notation", "matcher", "compare", "place", "key", "direction"];

const byId = id => document.getElementById(id);

// In the language of the page, whatever the browser remembers.
const inLanguage = address => `${address}${address.includes("?") ? "&" : "?"}lang=${language}`;

// The last line of an answer; every line before it is told.
async function lastLine(response, tell) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new TypeError("the answer broke off");
    const lines = (text + value).split("\n");
    text = lines.pop();
    for (const line of lines) {
      if (!line) continue;
      const told = JSON.parse(line);
      if ("page" in told) return told;
      tell(told);
    }
  }
}

export function startResults(entry) {
  const form = byId("search"), results = byId("results"), matcher = byId("matcher");
  const progress = byId("progress"), share = byId("share");
  const usual = { notation: "auto", matcher: form.dataset.matcher };
  const unasked = form.dataset.title;
  let waiting = null;

  // What is left as it is at the start stays out of the address.
  function asked() {
    const kept = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      const isUsual = usual[name] === value;
      if (value && !isUsual) kept.set(name, value);
    }
    if (kept.get("id")) {
      kept.delete("q");
      kept.delete("notation");
    }
    return kept;
  }

  // Until something is known the line only moves.
  function showProgress(done) {
    const percent = Math.round(100 * done);
    progress.classList.toggle("moving", !done);
    progress.firstElementChild.setAttribute("width", `${percent}%`);
    if (done) progress.setAttribute("aria-valuenow", percent);
    else progress.removeAttribute("aria-valuenow");
    share.textContent = !done ? _("Searching …") : percent < 100 ? _("Searching, {percent}%", { percent }) : _("Drawing …");
  }

  function hideProgress(isHidden) {
    for (const shown of [progress, share]) shown.toggleAttribute("hidden", isHidden);
  }

  async function load(search, moveFocus) {
    if (waiting) waiting.abort();
    const own = waiting = new AbortController();
    window.roslinPlayer?.stop();
    results.setAttribute("aria-busy", "true");
    showProgress(0);
    const slow = setTimeout(() => hideProgress(false), SLOW);
    try {
      const response = await fetch(inLanguage(`${root}results${search}`), { signal: own.signal, headers: { Accept: `${LINES}, text/html` } });
      const type = response.headers.get("content-type");
      const page = type.startsWith(LINES)
        ? (await lastLine(response, ({ done }) => { if (own === waiting) showProgress(done); })).page
        : await response.text();
      if (own !== waiting) return;
      if (type.startsWith("application/json")) throw new Error(JSON.parse(page).error.message);
      results.innerHTML = page;
      const title = results.querySelector("[data-title]")?.dataset.title;
      document.title = title ? `${title} · Roslin` : unasked;
      const name = results.querySelector(".query h3");
      if (form.elements.id.value && name) entry.like(form.elements.id.value, name.textContent);
      window.roslinPlayer?.reveal();
      byId("told").textContent = [...results.querySelectorAll("#results-heading, .verdict")].map(each => each.textContent.trim()).join(". ");
      if (moveFocus) byId("results-heading")?.focus({ preventScroll: false });
    } catch (error) {
      if (error.name === "AbortError") return;
      const box = document.createElement("div");
      box.className = "refusal";
      box.setAttribute("role", "alert");
      box.textContent = error instanceof TypeError ? _("The server does not answer.") : error.message;
      results.replaceChildren(box);
    } finally {
      clearTimeout(slow);
      if (own === waiting) {
        hideProgress(true);
        results.setAttribute("aria-busy", "false");
      }
    }
  }

  // The form shows what an address asks for.
  function fill(search) {
    const values = new URLSearchParams(search);
    for (const field of form.elements) {
      if (!field.name || field.name === "length") continue;
      if (field.name === "matcher") field.value = values.get("matcher") || form.dataset.matcher;
      else if (field.name === "notation") field.value = values.get("notation") || "auto";
      else if (field.name !== "q") field.value = values.get(field.name) || "";
    }
    entry.text.value = values.get("q") || "";
    entry.like(values.get("id") || "");
    entry.read();
    tellMatcher();
  }

  function go(search) {
    history.pushState(null, "", `${root}${search}`);
    load(search, true);
  }

  function tellMatcher() {
    const chosen = matcher.selectedOptions[0];
    byId("matcher-code").textContent = matcher.value;
    byId("matcher-sentence").textContent = chosen?.dataset.summary || "";
    byId("matcher-reference").textContent = chosen?.dataset.reference || "";
  }

  // While a result is looked at, the query shows which of its notes are in it.
  function showMatched(card) {
    const rows = new Set(JSON.parse(card.dataset.matched));
    for (const note of results.querySelectorAll(".query [data-note]")) {
      note.classList.toggle("matched", rows.has(Number(note.dataset.note)));
    }
  }

  form.addEventListener("submit", event => {
    event.preventDefault();
    const search = asked();
    if (![...search.keys()].some(name => !HOW.includes(name))) {
      entry.ask();
      return;
    }
    go(`?${search}`);
  });
  document.addEventListener("click", event => {
    const link = event.target.closest("a[data-results]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const search = new URL(link.href).search;
    fill(search);
    go(search);
    scrollTo({ top: link.closest(".pager") ? results.offsetTop : 0 });
  });
  for (const kind of ["pointerover", "focusin"]) {
    results.addEventListener(kind, event => {
      const card = event.target.closest("[data-matched]");
      if (card) showMatched(card);
    });
  }
  addEventListener("popstate", () => {
    fill(location.search);
    load(location.search, false);
  });
  matcher.addEventListener("change", tellMatcher);
  // A link to a search shows its results: the form above them is longer than a screen.
  const [opening] = performance.getEntriesByType("navigation");
  if (opening?.type === "navigate" && !location.hash && byId("results-heading")) results.scrollIntoView();
}
