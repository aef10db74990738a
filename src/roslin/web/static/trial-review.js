// The end of a trial: the list once more, what is missing, and the button that finishes it. After a practice, what most
// people say.
import { missing, placeOf, unplaced } from "./trial-state.js";
import { Candidate, _, announce, candidate, ngettext } from "./trial-text.js";
import { root } from "./words.js";
import { copyOf } from "./trial-figures.js";

const VERDICTS = {
  resembles: () => _("resembles"),
  perhaps: () => _("perhaps"),
  no: () => _("does not resemble"),
};

const REASONS = {
  resembles: () => _("The same melody in essence, perhaps in another key or rhythm, or with ornaments."),
  perhaps: () => _("Something in common, but perhaps not enough to be the same melody."),
  no: () => _("A different melody. The two have no more in common than any two melodies."),
};

export class Review {
  constructor(trial) {
    this.trial = trial;
    this.section = document.getElementById("review");
    this.part = name => this.section.querySelector(`[data-part="${name}"]`);
    this.section.addEventListener("click", event => {
      const jump = event.target.closest("[data-jump]");
      if (jump) this.jump(Number(jump.dataset.jump));
    });
    document.querySelectorAll("[data-finish]").forEach(each => each.addEventListener("click", () => this.finish()));
  }

  enter() {
    this.render(this.trial.state);
    scrollTo({ top: 0 });
    this.part("heading").focus({ preventScroll: true });
    announce(this.part("summary").textContent);
  }

  render(state) {
    if (this.section.hidden) return;
    const { count } = this.trial;
    const left = missing(state, count);
    const order = state.groups.flat();
    const perhaps = unplaced(state, count, "perhaps").length;
    const out = [...state.verdicts.values()].filter(each => each === "no").length;
    const told = [
      ngettext("One candidate in order.", "{count} candidates in order.", order.length),
      ngettext("One does not resemble the query.", "{count} do not resemble the query.", out),
    ];
    if (perhaps) {
      told.push(ngettext("One “perhaps” has no place. It counts as left out.",
        "{count} “perhaps” have no place. They count as left out.", perhaps));
    }
    this.part("summary").textContent = told.join(" ");
    this.part("missing").hidden = left.length === 0;
    this.part("missing-list").replaceChildren(...left.map(k => this.missingItem(state, k)));
    this.part("ready").hidden = left.length > 0;
    const shown = state.groups.map(group => group.join("=")).join();
    if (this.shown === shown) return;
    this.shown = shown;
    this.part("list").replaceChildren(...order.map(k => this.item(state, k)));
  }

  missingItem(state, k) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "chip" });
    button.dataset.jump = k;
    button.textContent = state.verdicts.has(k)
      ? _("{name}: has no place yet", { name: Candidate(k) }) : _("{name}: not sorted yet", { name: Candidate(k) });
    item.append(button);
    return item;
  }

  item(state, k) {
    const item = document.getElementById("reviewed").content.firstElementChild.cloneNode(true);
    const { rank, tied } = placeOf(state, k);
    item.dataset.candidate = k;
    item.querySelector(".rank").textContent = tied.length ? `${rank} =` : rank;
    item.querySelector(".number").textContent = Candidate(k);
    item.querySelector(".holder").replaceChildren(copyOf(k));
    return item;
  }

  jump(k) {
    const isSorted = this.trial.state.verdicts.has(k);
    this.trial.show(isSorted ? "ordering" : "sorting", () => (isSorted ? this.trial.views.ordering.choose(k)
      : this.trial.views.sorting.stand(k)));
  }

  undone() {
    this.render(this.trial.state);
  }

  async finish() {
    const { status, body } = await this.trial.finish();
    if (status === 200 && body.feedback) this.showFeedback(body.feedback);
    else if (status === 200) location.assign(root + body.next.slice(1));
  }

  // Most common answers of the practice, beside what was said.
  showFeedback(feedback) {
    this.trial.show("feedback");
    const section = document.getElementById("feedback");
    const right = feedback.filter(each => each.is_right).length;
    section.querySelector("[data-part=score]").textContent = _("Your answer is the most common one for {right} of {of}.",
      { right, of: feedback.length });
    const rows = [...feedback].sort((a, b) => a.is_right - b.is_right)
      .map(each => (each.documents ? this.choiceItem(each) : this.verdictItem(each)));
    section.querySelector("ol").replaceChildren(...rows);
    section.querySelector("h1").focus({ preventScroll: true });
    scrollTo({ top: 0 });
    announce(section.querySelector("[data-part=score]").textContent);
  }

  verdictItem({ document: k, said, expected, is_right: isRight }) {
    const values = { said: VERDICTS[said](), expected: VERDICTS[expected]() };
    const verdict = isRight ? _("Your answer: {said}. Most people agree.", values)
      : _("Your answer: {said}. Most common answer: {expected}.", values);
    return this.feedbackItem(isRight, verdict, REASONS[expected](), [k], ["query", k]);
  }

  choiceItem({ documents, said, expected, is_right: isRight }) {
    const values = {
      said: said === null ? _("no difference") : candidate(said),
      expected: expected.length > 1 ? _("no difference") : candidate(expected[0]),
    };
    const verdict = isRight ? _("Your answer: {said}. Most people would agree.", values)
      : _("Your answer: {said}. Most common answer: {expected}.", values);
    return this.feedbackItem(isRight, verdict, "", documents, documents.slice(0, 2));
  }

  feedbackItem(isRight, verdict, reason, documents, compared) {
    const item = document.getElementById("fed-back").content.firstElementChild.cloneNode(true);
    item.dataset.right = isRight;
    item.querySelector(".number").textContent = documents.map(Candidate).join(", ");
    item.querySelector(".verdict").textContent = verdict;
    item.querySelector(".why").textContent = reason;
    item.querySelector(".holder").replaceChildren(...documents.map(copyOf));
    item.querySelector("button.difference")?.addEventListener("click", () => this.trial.compare(...compared));
    return item;
  }
}
