// Two melodies one above the other, with a sign over every note that has no partner in the other.
import { Candidate, _, announce } from "./trial-text.js";
import { copyOf, label, original } from "./trial-figures.js";

const SVG = "http://www.w3.org/2000/svg";

export class Differences {
  constructor(trial) {
    this.trial = trial;
    this.dialog = document.getElementById("differences");
    this.choosers = [...this.dialog.querySelectorAll("select")];
    this.places = [...this.dialog.querySelectorAll("[data-side]")];
    this.note = this.dialog.querySelector(".told");
    for (const chooser of this.choosers) {
      const numbers = ["query", ...Array(trial.count).keys()];
      chooser.replaceChildren(...numbers.map(k => new Option(Candidate(k), k)));
      chooser.addEventListener("change", () => this.fetch());
    }
  }

  open(first, second) {
    [first, second].forEach((k, side) => { this.choosers[side].value = k; });
    this.dialog.showModal();
    this.fetch();
    return true;
  }

  async fetch() {
    const [first, second] = this.choosers.map(chooser => chooser.value);
    const asked = `${first} ${second}`;
    this.asked = asked;
    const numbers = [first, second].map(k => (k === "query" ? k : Number(k)));
    this.places.forEach((place, side) => {
      place.replaceChildren(copyOf(numbers[side]));
      place.dataset.candidate = numbers[side];
    });
    this.note.textContent = _("Comparing …");
    const isMelody = numbers.every(k => original(k).matches(".melody"));
    if (isMelody) this.trial.compared(...numbers);
    const { status, body } = isMelody
      ? await this.trial.ask(`differences?first=${first}&second=${second}`) : { status: 404, body: {} };
    if (this.asked !== asked) return;
    if (status === 200) {
      this.places.forEach((place, side) => {
        place.innerHTML = side ? body.second : body.first;
        place.querySelectorAll("button.play:not(:first-child)").forEach(button => button.remove());
        label(place, numbers[side]);
      });
      window.roslinPlayer?.reveal();
      const count = this.places.reduce((sum, place) => sum + this.sign(place), 0);
      this.note.textContent = count
        ? _("Notes under a triangle have no partner in the other melody.") : _("Every note has its partner in the other melody.");
    } else { // no connection, or nothing that could be compared note by note
      this.note.textContent = isMelody
        ? _("The differences cannot be loaded now. Both melodies are shown without marks.") : _("Both melodies are shown without marks.");
    }
    announce(this.note.textContent);
  }

  // A triangle over each marked note, so that colour is not needed to see it; in the drawing that is not shown, too,
  // because the place may become wider. What is not shown has no size.
  sign(place) {
    place.classList.add("measured");
    const notes = [...place.querySelectorAll("svg .matched")];
    const signs = notes.map(note => {
      const box = (note.querySelector(".notehead") ?? note).getBBox();
      const around = (note.closest(".system") ?? note).getBBox();
      const size = box.width || box.height;
      const triangle = document.createElementNS(SVG, "path");
      triangle.setAttribute("class", "sign-of-difference");
      triangle.setAttribute("d", `M ${box.x} ${around.y - size} h ${size} l ${-size / 2} ${size * 0.9} Z`);
      return [note, triangle];
    });
    place.classList.remove("measured");
    signs.forEach(([note, triangle]) => (note.closest(".system") ?? note.parentNode).append(triangle));
    return notes.length;
  }
}
