// Drag and drop with the mouse, a pen or a finger: a row of the list, or the candidate that is being placed, to another
// place. An extra: all of it can be done with buttons and keys. The handle is what is dragged, so that lists still scroll.
import { toPosition } from "./trial-state.js";

const EDGE = 90; // within so many pixels of the edge of the window the page scrolls
const SPEED = 14; // pixels a frame at most

export function watchDragging(ordering) {
  let drag = null;

  ordering.section.addEventListener("pointerdown", event => {
    const handle = event.target.closest(".handle");
    if (!handle || (event.pointerType === "mouse" && event.button !== 0)) return;
    const source = handle.closest("[data-candidate]");
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    drag = { id: event.pointerId, source, document: Number(source.dataset.candidate), y: event.clientY, group: null };
    source.classList.add("dragged");
    ordering.section.classList.add("dragging");
    requestAnimationFrame(step);
  });
  ordering.section.addEventListener("pointermove", event => {
    if (drag?.id !== event.pointerId) return;
    drag.y = event.clientY;
    drag.x = event.clientX;
    mark();
  });
  ordering.section.addEventListener("pointerup", event => end(event, true));
  ordering.section.addEventListener("pointercancel", event => end(event, false));
  addEventListener("keydown", event => { if (event.key === "Escape" && drag) end({ pointerId: drag.id }, false); });

  // Where it would go: before the first group whose middle lies below the pointer.
  function mark() {
    const box = ordering.list.getBoundingClientRect();
    const rows = [...ordering.list.children].filter(row => Number(row.dataset.candidate) !== drag.document);
    const isInside = drag.x === undefined || (drag.x > box.left - 40 && drag.x < box.right + 40 && drag.y > box.top - 80);
    const next = rows.find(row => drag.y < row.getBoundingClientRect().top + row.getBoundingClientRect().height / 2);
    const groups = [...new Set(rows.map(row => row.dataset.group))];
    drag.group = isInside ? (next ? groups.indexOf(next.dataset.group) : groups.length) : null;
    for (const row of ordering.list.children) row.classList.remove("drop-before", "drop-after");
    if (!isInside) return;
    if (next) rows.find(row => row.dataset.group === next.dataset.group).classList.add("drop-before");
    else rows.at(-1)?.classList.add("drop-after");
  }

  function step() {
    if (!drag) return;
    const up = Math.max(0, EDGE + ordering.trial.top() - drag.y) / EDGE;
    const down = Math.max(0, drag.y - innerHeight + EDGE) / EDGE;
    const by = (Math.min(down, 1) - Math.min(up, 1)) * SPEED;
    if (by && drag.x !== undefined) {
      scrollBy(0, by);
      mark();
    }
    requestAnimationFrame(step);
  }

  function end(event, isDrop) {
    if (drag?.id !== event.pointerId) return;
    const { source, document, group, x } = drag;
    drag = null;
    source.classList.remove("dragged");
    ordering.section.classList.remove("dragging");
    for (const row of ordering.list.children) row.classList.remove("drop-before", "drop-after");
    if (!isDrop || group === null || x === undefined) return;
    if (ordering.list.contains(source)) ordering.move(document, group);
    else ordering.place(document, toPosition(ordering.trial.state, document, group));
  }
}
