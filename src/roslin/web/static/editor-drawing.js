// The drawn query in the hands of the editor: which note is under the pointer, which one is chosen, how far one is dragged.
// Row 17 of the note table is drawn as data-note="17"; a tied note has several pieces, which are several notes of the text.
// Rests have no row: they are found by the notes before them, in whose order the drawing has them.

const NEAR = 24; // pixels around a note head that count as the note: fingers are wide
const STEP_ROOM = 4; // pixels; less is a click, not a drag
const DRAWN = "svg [data-note], svg .rest, svg .mRest";
const SVG = "http://www.w3.org/2000/svg";

export function startDrawing(area, { choose, drag }) {
  let columns = []; // where in the text each drawn note stands
  let events = []; // the notes of the text that is drawn
  let isOutdated = false; // the text has changed since
  let held = null; // a note that is being dragged

  const pieces = row => [...area.querySelectorAll(`svg [data-note="${row}"]`)];

  function firstTied(number) {
    let first = number;
    while (first > 0 && events[first].isTied && events[first - 1].tie) first--;
    return first;
  }

  const isRest = element => !("note" in element.dataset);
  const drawn = () => [...area.querySelectorAll(DRAWN)];

  // How many rests stand between an event and the last note before it.
  function restsBefore(number) {
    let count = 0;
    while (number - count > 0 && events[number - count - 1].kind === "rest") count++;
    return count;
  }

  function restElement(number) {
    const count = restsBefore(number), all = drawn(), note = number - count - 1;
    const from = note < 0 ? 0 : all.indexOf(elementOf(note)) + 1;
    const after = all.slice(from), end = after.findIndex(element => !isRest(element));
    const rests = end < 0 ? after : after.slice(0, end); // fewer than in the text where two are drawn as one
    return rests[Math.min(count, rests.length - 1)];
  }

  function restNumber(element) {
    const all = drawn(), at = all.indexOf(element);
    let before = at - 1;
    while (before >= 0 && isRest(all[before])) before--;
    const number = (before < 0 ? -1 : numberOf(all[before])) + at - before;
    return events[number]?.kind === "rest" ? number : -1;
  }

  // Where a note of the text is drawn.
  function elementOf(number) {
    if (events[number].kind === "rest") return restElement(number);
    const first = firstTied(number), row = columns.indexOf((events[first]?.atom.at ?? -2) + 1);
    const heads = row < 0 ? [] : pieces(row);
    return heads[Math.min(number - first, heads.length - 1)];
  }

  function numberOf(element) {
    if (isRest(element)) return restNumber(element);
    const row = Number(element.dataset.note);
    const first = events.findIndex(event => event.atom.at + 1 === columns[row]);
    if (first < 0) return -1;
    let number = first + Math.max(pieces(row).indexOf(element), 0);
    while (number > first && !(events[number]?.isTied && firstTied(number) === first)) number--;
    return number;
  }

  // The note or rest that is nearest to a place, if one is near.
  function noteAt(x, y) {
    let best = null, least = NEAR;
    for (const element of drawn()) {
      const box = (element.querySelector(".notehead") || element).getBoundingClientRect();
      const apart = Math.hypot(Math.max(box.left - x, x - box.right, 0), Math.max(box.top - y, y - box.bottom, 0));
      if (apart < least) [best, least] = [element, apart];
    }
    return best;
  }

  // Pixels from one line of the staff to the next: two steps of the scale.
  function lineDistance() {
    const lines = [...area.querySelectorAll(".staff > path")].slice(0, 2).map(path => path.getBoundingClientRect().top);
    return lines.length === 2 ? Math.abs(lines[1] - lines[0]) : 10;
  }

  function mark(element) {
    area.querySelector(".chosen-mark")?.remove();
    area.querySelectorAll(".chosen").forEach(old => old.classList.remove("chosen"));
    if (!element) return;
    element.classList.add("chosen");
    const box = element.getBBox(), room = 90, frame = document.createElementNS(SVG, "rect");
    if (!box.width) return;
    const place = { x: box.x - room, y: box.y - room, width: box.width + 2 * room, height: box.height + 2 * room, rx: room };
    for (const [name, value] of Object.entries(place)) frame.setAttribute(name, value);
    frame.setAttribute("class", "chosen-mark");
    element.parentNode.insertBefore(frame, element);
    const shown = element.getBoundingClientRect(), seen = area.getBoundingClientRect();
    if (shown.left < seen.left || shown.right > seen.right) area.scrollLeft += shown.left - seen.left - seen.width / 2;
  }

  area.addEventListener("pointerdown", event => {
    if (event.button) return;
    const element = noteAt(event.clientX, event.clientY), number = element ? numberOf(element) : -1;
    if (number < 0) return;
    choose(number);
    if (!isRest(element)) held = { element, y: event.clientY, step: lineDistance() / 2, steps: 0 };
    area.setPointerCapture(event.pointerId);
  });
  area.addEventListener("pointermove", event => {
    if (!held) return;
    const moved = held.y - event.clientY;
    held.steps = Math.abs(moved) < STEP_ROOM ? 0 : Math.round(moved / held.step);
    const scale = held.element.getScreenCTM()?.d || 1;
    held.element.setAttribute("transform", `translate(0 ${(-held.steps * held.step) / scale})`);
  });
  area.addEventListener("pointerup", () => {
    if (held?.steps) drag(held.steps);
    held = null;
  });
  area.addEventListener("pointercancel", () => {
    held?.element.removeAttribute("transform");
    held = null;
  });

  return {
    outdate() { isOutdated = true; },
    drawn(all, places) { [events, columns, isOutdated] = [all, places, false]; },
    show(chosen) { if (!isOutdated) mark(events[chosen] ? elementOf(chosen) : null); },
  };
}
