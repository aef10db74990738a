// The first stage: one candidate after another resembles the query, perhaps, or not. The whole list stays in sight.
import { unsorted } from "./trial-state.js";
import { Candidate, _, announce, ngettext } from "./trial-text.js";
import { label, play } from "./trial-figures.js";

const VERDICTS = ["resembles", "perhaps", "no"];
const WORDS = {
  resembles: () => _("resembles the query"),
  perhaps: () => _("perhaps resembles the query"),
  no: () => _("does not resemble the query"),
  "": () => _("not sorted yet"),
};
const KEYS = { 1: "resembles", 2: "perhaps", 3: "no", r: "resembles", p: "perhaps", n: "no" };

export class Sorting {
  constructor(trial) {
    this.trial = trial;
    this.section = document.getElementById("sorting");
    this.cards = [...this.section.querySelectorAll("[data-candidate]")];
    this.done = this.section.querySelector(".all-sorted");
    this.at = unsorted(trial.state, trial.count)[0] ?? 0;
    this.cards.forEach((card, k) => label(card, k));
    this.section.addEventListener("click", event => {
      const card = event.target.closest("[data-candidate]");
      if (!card) return;
      const k = Number(card.dataset.candidate);
      const button = event.target.closest("[data-verdict-button]");
      if (button) trial.isSecondClick(event) || this.sort(k, button.dataset.verdictButton);
      else if (event.target.closest(".difference")) trial.compare("query", k);
      else this.stand(k, !event.target.closest("button, a, audio"));
    });
    this.section.addEventListener("focusin", event => {
      const card = event.target.closest("[data-candidate]");
      if (card && !trial.isPointing) this.stand(Number(card.dataset.candidate), false);
    });
  }

  render(state) {
    const left = unsorted(state, this.trial.count);
    this.cards.forEach((card, k) => {
      const verdict = state.verdicts.get(k) ?? "";
      card.dataset.verdict = verdict;
      card.classList.toggle("current", k === this.at);
      card.tabIndex = k === this.at ? 0 : -1;
      card.setAttribute("aria-label", `${Candidate(k)}: ${WORDS[verdict]()}`);
      for (const button of card.querySelectorAll("[data-verdict-button]")) {
        button.setAttribute("aria-pressed", String(button.dataset.verdictButton === verdict));
      }
    });
    this.done.hidden = left.length > 0;
  }

  enter() {
    const k = unsorted(this.trial.state, this.trial.count)[0] ?? this.at;
    this.stand(k);
    if (k === 0) scrollTo({ top: 0 }); // the heading, and in the practice the explanation, are above it
  }

  // Make a candidate the one that keys speak of.
  stand(k, takesFocus = true) {
    this.at = Math.max(0, Math.min(k, this.trial.count - 1));
    this.render(this.trial.state);
    if (!takesFocus) return;
    const card = this.cards[this.at];
    card.focus({ preventScroll: true });
    this.trial.bring(card);
  }

  sort(k, verdict) {
    if (this.trial.state.verdicts.get(k) !== verdict) this.trial.decide({ kind: "sorted", document: k, verdict });
    const left = unsorted(this.trial.state, this.trial.count);
    const said = `${Candidate(k)} ${WORDS[verdict]()}.`;
    if (left.length) {
      announce(`${said} ${ngettext("One is left.", "{count} are left.", left.length)}`);
      this.stand(left.find(each => each > k) ?? left[0], !this.trial.isPointing);
    } else {
      announce(`${said} ${_("All candidates are sorted.")}`);
      this.stand(k, false);
      if (this.trial.isPointing) return;
      this.done.querySelector("button").focus({ preventScroll: true });
      this.trial.bring(this.done);
    }
  }

  key(event) {
    const verdict = KEYS[event.key.toLowerCase()];
    if (verdict) return this.sort(this.at, verdict);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) return this.stand(this.at + step);
    if (event.key === "Home") return this.stand(0);
    if (event.key === "End") return this.stand(this.trial.count - 1);
    if (event.key === " ") return play(this.cards[this.at]);
    if (event.key === "d") return this.trial.compare("query", this.at);
    if (event.key === "m") return this.enter();
    return false;
  }

  undone(event) {
    if (VERDICTS.includes(event.verdict)) this.stand(event.document);
  }
}
