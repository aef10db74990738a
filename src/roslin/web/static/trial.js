// A trial: what the server knows and what still waits in this browser, shown by the stage that somebody is in.
import { fold, missing, unplaced, unsorted } from "./trial-state.js";
import { Queue, USES, newKey } from "./trial-queue.js";
import { Candidate, _, announce, ngettext } from "./trial-text.js";
import { root } from "./words.js";
import { label, play, watchSizes, watchSounds } from "./trial-figures.js";
import { Comparing } from "./trial-comparing.js";
import { Differences } from "./trial-differences.js";
import { Ordering } from "./trial-ordering.js";
import { Review } from "./trial-review.js";
import { Sorting } from "./trial-sorting.js";

const given = JSON.parse(document.getElementById("state").textContent);
const element = id => document.getElementById(id);
const top = element("above");
let { log, sequence, csrf } = given;
let pointer = "keyboard";
let view = "";
const finishKey = newKey();

const trial = {
  count: given.count,
  ties: given.ties,
  isRanking: given.design === "ranking",
  queueName: given.queue,
  state: null,
  views: {},
  get isComplete() { return !this.isRanking && this.state.choices.length >= given.comparisons; },
  decide,
  show,
  // A study may show no differences; then the key for them does nothing.
  compare: (first, second) => differences?.open(first, second) ?? false,
  compared: (first, second) => decide({ kind: "compared", documents: [first, second].map(numberOf) }),
  ask: path => call(`api/trials/${given.trial}/${path}`),
  finish,
  bring: (card, block = "start") => card.scrollIntoView({ block }),
  top: () => top.getBoundingClientRect().bottom,
  // The second click of a double click decides nothing: it would be about something that nobody has looked at.
  isSecondClick: event => event.detail > 1,
  // Nothing may move between the press of a mouse button and its release, or the click would go elsewhere; nor after a
  // click, or a second one would.
  get isPointing() { return pointer !== "keyboard"; },
};

// -- the server -----------------------------------------------------------------------------------------------------

async function call(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", "x-roslin-csrf": csrf },
    keepalive: true, // it arrives even when the page is left
  };
  try {
    const answer = await fetch(root + path, { ...options, credentials: "same-origin", cache: "no-store" });
    const isJson = answer.headers.get("content-type")?.startsWith("application/json");
    return {
      status: answer.status,
      body: isJson ? await answer.json() : {},
      retryAfter: Number(answer.headers.get("retry-after")),
    };
  } catch {
    return { status: 0, body: {}, retryAfter: 0 };
  }
}

// Writing. The token belongs to the session: whoever opened their link again in another tab has a new one.
async function write(path, body) {
  const answer = await call(path, body);
  if (answer.status !== 403) return answer;
  const old = csrf;
  await fetchState();
  return csrf === old ? answer : call(path, body);
}

async function fetchState() {
  const { status, body } = await call(`api/trials/${given.trial}`);
  if (status !== 200 || body.queue !== given.queue) return false; // or somebody else opened their link in this browser
  ({ log, sequence, csrf } = body);
  given.is_finished = body.is_finished;
  refresh();
  return true;
}

// When the server last confirmed a decision of this tab. The page that follows may have been written before that.
const CONFIRMED = "roslin.confirmed";

function isOutdated() {
  try {
    return Number(sessionStorage.getItem(CONFIRMED)) >= Math.floor(performance.timeOrigin);
  } catch {
    return false;
  }
}

const queue = new Queue({
  name: given.queue,
  send: decisions => write(`api/trials/${given.trial}/decisions`, { device: device(), decisions }),
  told: () => { refresh(); noticeOthers(); },
  confirmed: async (batch, answer) => {
    try {
      sessionStorage.setItem(CONFIRMED, Date.now());
    } catch { /* only a page that is asked for at this moment could be outdated */ }
    const others = answer.sequence - sequence - batch.length;
    const isOffer = others === 1 && answer.offered.length > 0 && batch.some(each => each.kind === "chose");
    if (others === 0 || isOffer) {
      log = [...log, ...batch];
      if (isOffer) log.push({ kind: "offered", key: newKey(), documents: answer.offered });
      sequence = answer.sequence;
    } else if (!await fetchState()) { // something came from another tab or device in between, but what?
      const told = new Set(log.map(each => each.key));
      log = [...log, ...batch.filter(each => !told.has(each.key))];
    }
  },
  refused: async (decision, body) => {
    await fetchState();
    if (USES.has(decision.kind)) return;
    element("trouble").hidden = false;
    element("trouble").textContent = _("The server did not accept a decision: {reason}",
      { reason: body.error?.message ?? "" });
    announce(element("trouble").textContent);
  },
});

// Another tab has sent what lay in the common store, so the server knows more than this tab.
let known = new Set();
function noticeOthers() {
  const now = new Set(queue.waiting.map(each => each.key));
  const told = new Set(log.map(each => each.key));
  const isGone = [...known].some(key => !now.has(key) && !told.has(key));
  known = now;
  if (isGone && !queue.isSending) fetchState();
}

function device() {
  const size = innerWidth < 600 ? "phone" : innerWidth < 1000 ? "tablet" : "desktop";
  return `${size} ${pointer}`;
}

// -- state and decisions ------------------------------------------------------------------------------------------

function everything() {
  const told = new Set(log.map(each => each.key));
  return [...log, ...queue.waiting.filter(each => !told.has(each.key))];
}

function decide(decision) {
  queue.add(decision);
}

function undo() {
  if (trial.views[view]?.takesBack?.()) return;
  const key = trial.state.undoable;
  const event = everything().find(each => each.key === key);
  if (!event) {
    announce(_("There is nothing to undo."));
    return;
  }
  decide({ kind: "undone", undoes: key });
  if (event.kind === "chose") announce(_("The last choice is undone."));
  else announce(_("The last decision about {name} is undone.", { name: Candidate(event.document) }));
  const home = { sorted: "sorting", placed: "ordering", chose: "comparing" }[event.kind];
  const isSeen = view === home || view === "ordering" || (view === "review" && home === "ordering");
  if (!isSeen) show(home);
  trial.views[view].undone(event);
}

// The query has no number for the server.
function numberOf(k) {
  return k === "query" ? null : k;
}

async function finish() {
  stopSounds();
  queue.hurry();
  const limit = Date.now() + 8000;
  while (queue.length && !queue.mood && Date.now() < limit) await new Promise(done => { setTimeout(done, 50); });
  const trouble = element("trouble");
  trouble.hidden = true;
  let answer = { status: 0, body: {} };
  if (!queue.length) answer = await write(`api/trials/${given.trial}/finish`, { key: finishKey });
  if (answer.status === 409) {
    await fetchState();
    trouble.textContent = _("Not everything is judged yet.");
  } else if (answer.status !== 200) {
    trouble.textContent = _("You can finish only when everything has reached the server. Please try again in a moment.");
  }
  trouble.hidden = answer.status === 200;
  if (!trouble.hidden) announce(trouble.textContent);
  return answer;
}

// -- showing --------------------------------------------------------------------------------------------------------

function refresh() {
  trial.state = fold(everything());
  if (!view) return;
  trial.views[view]?.render?.(trial.state);
  showProgress();
  showKept();
}

function showProgress() {
  const { state, count } = trial;
  element("undo").disabled = !state.undoable;
  if (trial.isRanking) {
    const sorted = count - unsorted(state, count).length;
    const placed = state.groups.flat().length;
    const wanted = placed + unplaced(state, count, "resembles").length;
    element("progress-sorting").textContent = _("{done} of {of}", { done: sorted, of: count });
    element("progress-ordering").textContent = _("{done} of {of}", { done: placed, of: wanted });
    const left = missing(state, count).length;
    element("progress-review").textContent = left ? ngettext("one missing", "{count} missing", left) : _("ready");
    bar(sorted + placed, count + wanted);
  } else {
    const done = Math.min(state.choices.length, given.comparisons);
    element("progress-comparing").textContent = _("{done} of {of}", { done, of: given.comparisons });
    bar(done, given.comparisons);
  }
}

function bar(done, of) {
  const line = element("progress");
  line.setAttribute("max", of);
  line.value = done;
}

let mood = "";
function showKept() {
  const line = element("kept");
  const { length } = queue;
  const now = given.is_finished ? "finished" : queue.mood || (navigator.onLine || !length ? "" : "offline");
  line.dataset.mood = now || (length ? "sending" : "kept");
  if (now === "signed-out") {
    line.textContent = ngettext("Your session has expired: open your personal link again. One decision waits in this browser.",
      "Your session has expired: open your personal link again. {count} decisions wait in this browser.", length);
  } else if (now === "offline") {
    line.textContent = ngettext("Not connected: one decision waits in this browser.",
      "Not connected: {count} decisions wait in this browser.", length);
  } else if (now === "finished") {
    line.textContent = given.trial ? _("This melody is finished.") : _("The practice is finished.");
  } else {
    line.textContent = length ? _("Saving …") : _("Everything is saved.");
  }
  element("finished").hidden = now !== "finished" || given.trial === 0;
  if (now !== mood && now) announce(line.textContent);
  else if (now !== mood) announce(_("Connected again. Everything is saved."));
  mood = now;
}

function show(name, then) {
  view = name;
  for (const each of document.querySelectorAll("main > section[data-view]")) each.hidden = each.dataset.view !== name;
  for (const button of document.querySelectorAll("#steps button")) {
    if (button.dataset.step === name) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  }
  element("steps").hidden = !trial.isRanking || name === "feedback";
  for (const guide of document.querySelectorAll("[data-guide]")) guide.hidden = guide.dataset.guide !== name;
  refresh();
  if (then) then();
  else trial.views[name]?.enter?.();
}

// -- keys -------------------------------------------------------------------------------------------------------------

const KEYS_OFF = "roslin.keys.off";
const areKeysOn = () => !element("keys-on") || element("keys-on").checked;

addEventListener("keydown", () => { pointer = "keyboard"; }, true);
addEventListener("keydown", event => {
  const isTyped = event.target.matches?.("input:not([type=checkbox]), select, textarea");
  if (document.querySelector("dialog[open]") || isTyped) return;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
    event.preventDefault();
    if (!event.repeat) undo();
    return;
  }
  const isSingle = event.key.length === 1;
  if (event.ctrlKey || event.metaKey || event.altKey || (isSingle && !areKeysOn())) return;
  const isPressed = event.target.matches?.("button, a, summary, audio, input");
  if (isPressed && (event.key === " " || event.key === "Enter")) return;
  if (event.repeat && isSingle) { // a key that is held down decides once
    event.preventDefault();
    return;
  }
  if (event.key === "u") undo();
  else if (event.key === "q") play(element("query"));
  else if (event.key === "?") element("help").showModal();
  else if (!trial.views[view]?.key || trial.views[view].key(event) === false) return;
  event.preventDefault();
});
addEventListener("pointerdown", event => { pointer = event.pointerType; }, true);

// -- the start --------------------------------------------------------------------------------------------------------

const folded = fold(everything());
trial.state = folded;
const differences = given.differences ? new Differences(trial) : null;
const review = new Review(trial);
trial.views = trial.isRanking
  ? { sorting: new Sorting(trial), ordering: new Ordering(trial), review }
  : { comparing: new Comparing(trial), review };
label(element("query"), "query");
const stopSounds = watchSounds((k, ms) => decide({ kind: "heard", document: numberOf(k), duration_ms: ms }));
watchSizes();
new ResizeObserver(() => document.documentElement.style.setProperty("--above", `${top.offsetHeight}px`)).observe(top);

element("undo").addEventListener("click", undo);
element("keys").open = matchMedia("(hover: hover)").matches; // a phone has no keys
element("help-open").addEventListener("click", () => element("help").showModal());
try {
  element("keys-on").checked = !localStorage.getItem(KEYS_OFF);
} catch { /* not remembered */ }
element("keys-on").addEventListener("change", event => {
  try {
    if (event.target.checked) localStorage.removeItem(KEYS_OFF);
    else localStorage.setItem(KEYS_OFF, "1");
  } catch { /* not remembered */ }
});
document.querySelectorAll("[data-step]").forEach(each => each.addEventListener("click", () => show(each.dataset.step)));
document.querySelectorAll("dialog [data-close]").forEach(each =>
  each.addEventListener("click", () => each.closest("dialog").close()));
element("query-toggle").addEventListener("click", event => {
  const body = element("query-body");
  body.hidden = !body.hidden;
  event.currentTarget.textContent = body.hidden ? _("Show the query") : _("Hide the query");
});
addEventListener("visibilitychange", () => document.hidden || queue.length || fetchState());
addEventListener("pageshow", event => { if (event.persisted) fetchState(); });

function firstView() {
  if (!trial.isRanking) return "comparing";
  if (unsorted(folded, trial.count).length) return "sorting";
  return folded.groups.length || missing(folded, trial.count).length ? "ordering" : "sorting";
}

show(firstView());
document.documentElement.classList.add("ready");
queue.pump();
if (isOutdated()) fetchState();
if (given.is_finished && given.trial === 0) review.finish();
