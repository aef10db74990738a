// Pairs and triplets: which of these is most similar to the query? The server chooses what is compared next.
import { Candidate, _, announce, candidate } from "./trial-text.js";
import { copyOf, play } from "./trial-figures.js";

export class Comparing {
  constructor(trial) {
    this.trial = trial;
    this.section = document.getElementById("comparing");
    this.holder = document.getElementById("compared");
    this.shown = "";
    this.section.addEventListener("click", event => {
      const button = event.target.closest("[data-choose]");
      if (trial.isSecondClick(event)) return;
      if (button) this.choose(Number(button.dataset.choose));
      else if (event.target.closest("#no-difference")) this.choose(0);
      else if (event.target.closest("#compare-pair")) this.trial.compare(...this.trial.state.offered.slice(0, 2));
    });
  }

  // The first is 1; 0 means that there is no difference.
  choose(place) {
    const { offered } = this.trial.state;
    if (!offered.length || place > offered.length) return;
    const best = place ? offered[place - 1] : null;
    this.trial.decide({ kind: "chose", documents: offered, best });
    announce(best === null ? _("No difference.") : _("{name} is more similar.", { name: Candidate(best) }));
    this.ask();
    if (this.trial.isComplete) {
      announce(_("All comparisons are done."));
      document.querySelector("#compare-done [data-finish]").focus();
    } else if (!document.activeElement?.offsetParent) {
      this.section.focus({ preventScroll: true });
    }
  }

  ask() {
    const { offered } = this.trial.state;
    if (offered.length) announce(_("Next: {names}.", { names: offered.map(candidate).join(", ") }));
  }

  key(event) {
    if (/^[0-3]$/.test(event.key)) return this.choose(Number(event.key));
    const letter = { a: 0, b: 1, c: 2 }[event.key.toLowerCase()];
    if (letter !== undefined) return play(this.holder.children[letter]);
    if (event.key === "d") return this.trial.compare(...this.trial.state.offered.slice(0, 2));
    return false;
  }

  enter() {
    this.render(this.trial.state);
    this.section.focus({ preventScroll: true });
    this.ask();
  }

  render(state) {
    const { isComplete } = this.trial;
    const offered = isComplete ? [] : state.offered;
    document.getElementById("compare-tools").hidden = offered.length === 0;
    document.getElementById("compare-done").hidden = !isComplete;
    document.getElementById("compare-wait").hidden = isComplete || offered.length > 0;
    if (this.shown === offered.join()) return;
    this.shown = offered.join();
    this.holder.replaceChildren(...offered.map((k, place) => this.option(k, place)));
  }

  option(k, place) {
    const option = document.getElementById("option").content.firstElementChild.cloneNode(true);
    option.dataset.candidate = k;
    option.setAttribute("aria-label", Candidate(k));
    option.querySelector(".number").textContent = Candidate(k);
    option.querySelector(".holder").replaceChildren(copyOf(k));
    const button = option.querySelector("[data-choose]");
    button.dataset.choose = place + 1;
    button.querySelector("kbd").textContent = place + 1;
    button.setAttribute("aria-label", _("{name} is most similar", { name: Candidate(k) }));
    return option;
  }

  undone() {
    this.render(this.trial.state);
    this.ask();
  }
}
