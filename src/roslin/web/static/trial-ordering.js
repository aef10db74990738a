// The second stage: what resembles the query, in order. One candidate at a time goes into the list so far, by questions
// that halve the list (binary insertion), or directly; whatever is in the list can be moved.
import { insertion, placeOf, shifted, tieChanged, toPosition, unplaced } from "./trial-state.js";
import { Candidate, _, announce, candidate, ngettext } from "./trial-text.js";
import { copyOf, play } from "./trial-figures.js";
import { watchDragging } from "./trial-dragging.js";

export class Ordering {
  constructor(trial) {
    this.trial = trial;
    this.section = document.getElementById("ordering");
    this.panel = document.getElementById("placing");
    this.list = document.getElementById("list");
    this.rows = new Map();
    this.at = null; // the row that keys speak of
    this.chosen = null; // the candidate that somebody wants to place before the others
    this.remembered = `roslin.answers.${trial.queueName}`;
    this.part = name => this.panel.querySelector(`[data-part="${name}"]`);
    this.panel.addEventListener("click", event => this.pressed(event));
    this.list.addEventListener("click", event => this.pressed(event));
    this.list.addEventListener("focusin", event => {
      const row = event.target.closest("[data-candidate]");
      if (row && !trial.isPointing) this.stand(Number(row.dataset.candidate), false);
    });
    this.list.addEventListener("change", event => {
      if (event.target.matches(".position")) this.move(this.at, this.groupAt(Number(event.target.value)));
    });
    this.list.addEventListener("keydown", event => {
      if (!event.target.matches(".position") || !["Enter", "Escape"].includes(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      const row = event.target.closest(".row");
      if (event.key === "Escape") event.target.value = event.target.defaultValue;
      event.target.blur(); // a number that was typed is taken over
      row.focus({ preventScroll: true });
    });
    document.getElementById("tray").addEventListener("click", event => {
      const button = event.target.closest("[data-place]");
      if (button) this.choose(Number(button.dataset.place));
    });
    watchDragging(this);
  }

  // -- which candidate is placed, and what is asked of it ---------------------------------------------------------

  get waiting() {
    const { state, count } = this.trial;
    return [...unplaced(state, count, "resembles"), ...unplaced(state, count, "perhaps")];
  }

  get placing() {
    const waiting = this.waiting;
    return waiting.includes(this.chosen) ? this.chosen : waiting[0] ?? null;
  }

  get answers() {
    try {
      const kept = JSON.parse(localStorage.getItem(this.remembered)) ?? {};
      return kept.document === this.placing ? kept.answers : [];
    } catch {
      return [];
    }
  }

  set answers(answers) {
    try {
      localStorage.setItem(this.remembered, JSON.stringify({ document: this.placing, answers }));
    } catch { /* only the questions about this one candidate would be asked again */ }
  }

  choose(k) {
    this.chosen = k;
    this.answers = [];
    this.render(this.trial.state);
    this.ask();
  }

  answer(answer) {
    const k = this.placing;
    if (k === null || (answer === "same" && !this.trial.ties)) return;
    const { pivot } = insertion(this.trial.state, k, this.answers);
    if (pivot !== null) this.answers = [...this.answers, { pivot, answer }];
    const found = insertion(this.trial.state, k, this.answers);
    if (found.pivot !== null) {
      this.render(this.trial.state);
      this.ask();
    } else {
      this.place(k, [{ kind: "placed", document: k, after: found.after, tied: found.tied }]);
    }
  }

  ask() {
    if (this.placing !== null) announce(`${this.part("heading").textContent} ${this.part("question").textContent}`);
  }

  // Put a candidate that waits into the list, and go on to the next.
  place(k, decisions) {
    if (!decisions.length) return;
    this.chosen = null;
    decisions.forEach(each => this.trial.decide(each));
    this.latest = k;
    this.render(this.trial.state);
    announce(this.whereIs(k));
    if (matchMedia("(min-width: 64rem)").matches) this.show(k); // else the question would scroll away
    if (this.placing !== null) this.ask();
    else this.finished();
    this.keepFocus();
  }

  leaveOut(k) {
    this.trial.decide({ kind: "sorted", document: k, verdict: "no" });
    announce(_("{name} is left out.", { name: Candidate(k) }));
    if (this.placing !== null) this.ask();
    else this.finished();
    this.keepFocus();
  }

  finished() {
    try {
      localStorage.removeItem(this.remembered);
    } catch { /* there was none */ }
    announce(_("Everything that resembles the query is in order."));
  }

  // Whoever works in the panel stays there, also when its buttons have gone.
  keepFocus() {
    const active = document.activeElement;
    if (active !== document.body && active?.offsetParent) return;
    (this.placing === null ? this.part("go-on") : this.panel).focus({ preventScroll: true });
  }

  // -- moving what is in the list ---------------------------------------------------------------------------------

  move(k, group) {
    this.change(k, toPosition(this.trial.state, k, group));
  }

  // A place as people count it, tied candidates each for itself, as a number of groups that stand before it.
  groupAt(place) {
    const groups = this.trial.state.groups.map(group => group.filter(each => each !== this.at)).filter(g => g.length);
    let before = 0;
    let index = 0;
    while (index < groups.length && before + groups[index].length < place) before += groups[index++].length;
    return index;
  }

  change(k, decisions) {
    if (k === null) return;
    const hadFocus = this.rows.get(k)?.contains(document.activeElement) ? document.activeElement : null;
    decisions.forEach(each => this.trial.decide(each));
    announce(decisions.length ? this.whereIs(k) : _("{name} stays in its place.", { name: Candidate(k) }));
    this.stand(k, false);
    hadFocus?.focus({ preventScroll: true });
    if (document.activeElement === document.body) this.rows.get(k)?.focus({ preventScroll: true });
    this.show(k);
  }

  whereIs(k) {
    const { groups } = this.trial.state;
    const place = placeOf(this.trial.state, k);
    const of = groups.flat().length;
    const values = { name: Candidate(k), place: place.rank, of };
    if (place.tied.length) {
      return _("{name} is now number {place} of {of}, tied with {other}.", { ...values, other: candidate(place.tied[0]) });
    }
    if (place.group > 0) {
      const other = candidate(groups[place.group - 1].at(-1));
      return _("{name} is now number {place} of {of}, below {other}.", { ...values, other });
    }
    if (groups.length > 1) {
      return _("{name} is now number {place} of {of}, above {other}.", { ...values, other: candidate(groups[1][0]) });
    }
    return _("{name} begins the list.", values);
  }

  stand(k, takesFocus = true) {
    this.at = k;
    this.render(this.trial.state);
    if (takesFocus && this.rows.has(k)) {
      this.rows.get(k).focus({ preventScroll: true });
      this.show(k);
    }
  }

  show(k) {
    const row = this.rows.get(k);
    if (row?.isConnected) this.trial.bring(row, "nearest");
  }

  // -- what happens -------------------------------------------------------------------------------------------------

  pressed(event) {
    const button = event.target.closest("button[data-do]");
    const row = event.target.closest("#list [data-candidate]");
    const k = row ? Number(row.dataset.candidate) : this.placing;
    const isAboutNew = button && (!row || button.dataset.do === "below");
    if (isAboutNew && this.trial.isSecondClick(event)) return;
    if (button) this.act(button.dataset.do, k);
    else if (row) this.stand(k, false);
  }

  act(action, k) {
    const { state } = this.trial;
    const actions = {
      more: () => this.answer("more"),
      less: () => this.answer("less"),
      same: () => this.answer("same"),
      first: () => this.place(k, toPosition(state, k, 0)),
      last: () => this.place(k, toPosition(state, k, state.groups.length)),
      out: () => this.leaveOut(k),
      differences: () => this.trial.compare(insertion(state, k, this.answers).pivot ?? "query", k),
      "differences-above": () => this.trial.compare(this.above(k), k),
      up: () => this.change(k, shifted(state, k, -1)),
      down: () => this.change(k, shifted(state, k, 1)),
      top: () => this.move(k, 0),
      bottom: () => this.move(k, state.groups.length),
      tie: () => this.trial.ties && this.change(k, tieChanged(state, k)),
      below: () => this.place(this.placing, [{ kind: "placed", document: this.placing, after: k, tied: false }]),
      review: () => this.trial.show("review"),
    };
    actions[action]();
  }

  above(k) {
    const order = this.trial.state.groups.flat();
    return order[order.indexOf(k) - 1] ?? "query";
  }

  key(event) {
    const isInList = this.list.contains(document.activeElement);
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const order = this.trial.state.groups.flat();
    if (isInList && event.shiftKey) {
      const action = { ArrowUp: "up", ArrowDown: "down", Home: "top", End: "bottom" }[key];
      if (action) return this.act(action, this.at);
    }
    const ends = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
    if (key in ends && order.length) {
      const from = isInList ? order.indexOf(this.at) : -1;
      return this.stand(order[Math.max(0, Math.min(from + ends[key], order.length - 1))]);
    }
    if (isInList && key === "t") return this.act("tie", this.at);
    if (isInList && key === "x") return this.act("out", this.at);
    if (isInList && key === "g") return this.rows.get(this.at).querySelector(".position").select();
    if (isInList && key === "d") return this.act("differences-above", this.at);
    if (isInList && key === " ") return play(this.rows.get(this.at));
    if (isInList && key === "Escape") return this.panel.focus();
    if (this.placing === null) return key === "Enter" && !isInList ? this.act("review") : false;
    const asked = { 1: "more", y: "more", 2: "less", n: "less", 0: "same", s: "same" }[key];
    if (asked) return this.answer(asked);
    const direct = { b: "first", e: "last", x: "out", d: "differences" }[key];
    if (direct) return this.act(direct, this.placing);
    if (key === " ") return play(this.part("new"));
    if (key === "c") return play(this.part("pivot"));
    return false;
  }

  // -- showing ------------------------------------------------------------------------------------------------------

  enter() {
    this.render(this.trial.state);
    this.panel.focus({ preventScroll: true });
    scrollTo({ top: 0 });
    this.ask();
  }

  render(state) {
    if (this.section.hidden) return;
    this.renderPanel(state);
    this.renderList(state);
  }

  renderPanel(state) {
    const k = this.placing;
    const waiting = this.waiting;
    const isEmpty = state.groups.length === 0;
    this.panel.dataset.mood = k === null ? "done" : isEmpty ? "first" : "ask";
    this.renderTray(waiting, k);
    this.bounds = null;
    if (k === null) {
      this.part("heading").textContent = isEmpty ? _("Nothing to put in order") : _("Everything is in order");
      this.part("question").textContent = isEmpty
        ? _("You found no candidate that resembles the query. Look again, or continue.")
        : _("Move any candidate that you want to change, or continue.");
      return;
    }
    const found = insertion(state, k, this.answers);
    this.bounds = found;
    const isPerhaps = state.verdicts.get(k) === "perhaps";
    this.part("heading").textContent = isPerhaps
      ? _("Perhaps: where does {name} belong?", { name: candidate(k) })
      : _("Where does {name} belong?", { name: candidate(k) });
    this.part("left").textContent = this.left(state);
    this.fill("new", k);
    if (found.pivot === null) {
      this.part("question").textContent = _("The list is empty: it begins with this one.");
      this.part("steps").textContent = "";
    } else {
      const place = placeOf(state, found.pivot).rank;
      this.part("question").textContent = _("Is it more similar to the query than {other}, now number {place}?", { other: candidate(found.pivot), place });
      this.fill("pivot", found.pivot);
      const questions = Math.ceil(Math.log2(found.high - found.low + 1));
      this.part("steps").textContent = ` · ${ngettext("one question", "at most {count} questions", questions)}`;
    }
    this.panel.querySelectorAll("[data-tie]").forEach(each => { each.hidden = !this.trial.ties || isEmpty; });
  }

  // As the step above counts: a “perhaps” need not get a place.
  left(state) {
    const sure = unplaced(state, this.trial.count, "resembles").length;
    const perhaps = unplaced(state, this.trial.count, "perhaps").length;
    return [
      sure ? ngettext("one to place", "{count} to place", sure) : "",
      perhaps ? ngettext("one “perhaps”", "{count} “perhaps”", perhaps) : "",
    ].filter(Boolean).join(", ");
  }

  fill(name, k) {
    const part = this.part(name);
    if (part.dataset.candidate === String(k)) return;
    part.dataset.candidate = k;
    part.querySelector(".number").textContent = Candidate(k);
    part.querySelector(".holder").replaceChildren(copyOf(k));
  }

  renderTray(waiting, placing) {
    const tray = document.getElementById("tray");
    const others = waiting.filter(k => k !== placing);
    tray.hidden = others.length === 0;
    const items = others.map(k => {
      const item = document.createElement("li");
      const button = document.createElement("button");
      Object.assign(button, { type: "button", className: "chip", textContent: k + 1 });
      const isPerhaps = this.trial.state.verdicts.get(k) === "perhaps";
      if (isPerhaps) button.append(" ?");
      button.setAttribute("aria-label", isPerhaps
        ? _("Place {name} next, which perhaps resembles the query", { name: candidate(k) })
        : _("Place {name} next", { name: candidate(k) }));
      button.dataset.place = k;
      item.append(button);
      return item;
    });
    tray.querySelector("summary span").textContent = others.length;
    tray.querySelector("ol").replaceChildren(...items);
  }

  renderList(state) {
    const order = state.groups.flat();
    const focused = this.list.contains(document.activeElement) ? document.activeElement : null;
    for (const [k, row] of this.rows) if (!order.includes(k)) { row.remove(); this.rows.delete(k); }
    order.forEach((k, index) => {
      const row = this.rows.get(k) ?? this.newRow(k);
      if (this.list.children[index] !== row) this.list.insertBefore(row, this.list.children[index] ?? null);
      const { rank, group, tied } = placeOf(state, k);
      row.querySelector(".rank").textContent = tied.length ? `${rank} =` : rank;
      row.dataset.group = group;
      row.classList.toggle("tied-above", state.groups[group][0] !== k);
      row.classList.toggle("current", k === this.at);
      row.classList.toggle("latest", k === this.latest);
      row.classList.toggle("out-of-question", this.bounds !== null && this.isDecided(state, k));
      row.classList.toggle("asked", this.bounds?.pivot === k);
      row.tabIndex = k === (order.includes(this.at) ? this.at : order[0]) ? 0 : -1;
      row.setAttribute("aria-label", this.rowLabel(k, rank, order.length, tied));
      const position = row.querySelector(".position");
      position.defaultValue = index + 1;
      position.max = order.length;
      if (position !== document.activeElement) position.value = index + 1; // else somebody types there
      row.querySelector('[data-do="up"]').disabled = index === 0 && !tied.length;
      row.querySelector('[data-do="down"]').disabled = index === order.length - 1 && !tied.length;
      const tie = row.querySelector('[data-do="tie"]');
      tie.hidden = !this.trial.ties;
      tie.disabled = group === 0 && !tied.length;
      tie.textContent = tied.length ? _("Untie") : _("Tie with the one above");
      const below = row.querySelector('[data-do="below"]');
      below.hidden = this.placing === null;
      if (this.placing !== null) below.textContent = _("Put {name} below", { name: candidate(this.placing) });
    });
    document.getElementById("list-empty").hidden = order.length > 0;
    if (focused && document.activeElement !== focused && focused.isConnected) focused.focus({ preventScroll: true });
  }

  // The answers so far say that the new candidate does not belong beside this one.
  isDecided(state, k) {
    const group = placeOf(state, k).group;
    return this.bounds.pivot !== null && (group < this.bounds.low - 1 || group > this.bounds.high);
  }

  rowLabel(k, rank, of, tied) {
    const values = { name: Candidate(k), place: rank, of, other: tied.map(candidate).join(", ") };
    return tied.length ? _("{name}, number {place} of {of}, tied with {other}", values)
      : _("{name}, number {place} of {of}", values);
  }

  newRow(k) {
    const row = document.getElementById("row").content.firstElementChild.cloneNode(true);
    row.dataset.candidate = k;
    row.querySelector(".number").textContent = Candidate(k);
    row.querySelector(".holder").replaceChildren(copyOf(k));
    const position = row.querySelector(".position");
    position.setAttribute("aria-label", _("Move {name} to number", { name: candidate(k) }));
    this.rows.set(k, row);
    return row;
  }

  // The last answer about a place that is not yet known is taken back first; then decisions.
  takesBack() {
    const answers = this.answers;
    if (!answers.length) return false;
    this.answers = answers.slice(0, -1);
    this.render(this.trial.state);
    announce(_("Answer undone."));
    this.ask();
    return true;
  }

  undone(event) {
    this.chosen = placeOf(this.trial.state, event.document) ? null : event.document;
    this.answers = [];
    this.render(this.trial.state);
    this.keepFocus();
  }
}
