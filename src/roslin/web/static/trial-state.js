// What a trial looks like after its decisions: the same rules as in experiment/events.py, which a test compares with these.
// A log is a list of { kind, key, ... }; candidates are numbers, in the order shown. Nothing here touches the page.
const UNDOABLE = new Set(["sorted", "placed", "chose"]);

export function fold(log) {
  const undone = new Set(log.filter(each => each.kind === "undone").map(each => each.undoes));
  const state = { verdicts: new Map(), groups: [], choices: [], offered: [], undoable: "" };
  for (const event of log) {
    if (UNDOABLE.has(event.kind)) {
      if (undone.has(event.key)) continue;
      state.undoable = event.key;
    }
    if (event.kind === "sorted") {
      state.verdicts.set(event.document, event.verdict);
      if (event.verdict === "no") state.groups = without(state.groups, event.document);
    } else if (event.kind === "placed") {
      if ((state.verdicts.get(event.document) ?? "no") === "no") state.verdicts.set(event.document, "resembles");
      state.groups = placed(state.groups, event);
    } else if (event.kind === "offered") {
      state.offered = event.documents;
    } else if (event.kind === "chose") {
      state.choices.push({ documents: event.documents, best: event.best });
      state.offered = [];
    } else if (event.kind === "undone") {
      const choice = log.find(each => each.key === event.undoes && each.kind === "chose");
      if (choice) state.offered = choice.documents;
    }
  }
  return state;
}

function without(groups, document) {
  return groups.map(group => group.filter(each => each !== document)).filter(group => group.length);
}

function placed(groups, { document, after, tied }) {
  if (after === document && groups.some(group => group.includes(document))) return groups;
  const others = without(groups, document);
  if (after === null) return [[document], ...others];
  const place = others.findIndex(group => group.includes(after));
  if (place < 0) return [...others, [document]];
  if (tied) return others.map((group, k) => (k === place ? [...group, document] : group));
  return [...others.slice(0, place + 1), [document], ...others.slice(place + 1)];
}

// Which candidates keep a ranking from its end: not sorted yet, or said to resemble and not placed.
export function missing(state, count) {
  return [...Array(count).keys()].filter(k => !state.verdicts.has(k)
    || (state.verdicts.get(k) === "resembles" && !placeOf(state, k)));
}

export function unsorted(state, count) {
  return [...Array(count).keys()].filter(k => !state.verdicts.has(k));
}

// Those of a verdict that are not in the list.
export function unplaced(state, count, verdict) {
  return [...Array(count).keys()].filter(k => state.verdicts.get(k) === verdict && !placeOf(state, k));
}

// Where a candidate stands: its group, counted from 0, how many stand in better groups, and who shares the place.
export function placeOf(state, document) {
  const group = state.groups.findIndex(each => each.includes(document));
  if (group < 0) return null;
  const before = state.groups.slice(0, group).reduce((sum, each) => sum + each.length, 0);
  return { group, before, rank: before + 1, tied: state.groups[group].filter(each => each !== document) };
}

// Binary insertion: which groups are still possible for a candidate after some answers, each { pivot, answer }.
// `low` and `high` bound the gap; `pivot` is the candidate to compare with next, null when the place is known.
export function insertion(state, document, answers) {
  const groups = without(state.groups, document);
  let low = 0;
  let high = groups.length;
  for (const { pivot, answer } of answers) {
    const place = groups.findIndex(group => group.includes(pivot));
    if (place < 0) continue;
    if (answer === "same") return { low: place, high: place, pivot: null, after: last(groups[place]), tied: true };
    if (answer === "more") high = Math.min(high, place);
    else low = Math.max(low, place + 1);
  }
  const middle = Math.floor((low + high) / 2);
  const after = low > 0 ? last(groups[low - 1]) : null;
  return { low, high, pivot: low < high ? groups[middle][0] : null, after, tied: false };
}

// The decisions that put a candidate into a place of the list, or [] where it stands there already.
export function toPosition(state, document, position) {
  const groups = without(state.groups, document);
  const place = Math.max(0, Math.min(position, groups.length));
  const after = place > 0 ? last(groups[place - 1]) : null;
  const now = placeOf(state, document);
  if (now && !now.tied.length && now.group === place) return [];
  return [{ kind: "placed", document, after, tied: false }];
}

// One group up (-1) or down (+1). Out of a tie, it goes beside those it was tied with.
export function shifted(state, document, step) {
  const now = placeOf(state, document);
  if (!now) return [];
  if (now.tied.length) {
    const up = now.group > 0 ? last(state.groups[now.group - 1]) : null;
    return [{ kind: "placed", document, after: step < 0 ? up : now.tied.at(-1), tied: false }];
  }
  const place = now.group + step;
  return place < 0 || place >= state.groups.length ? [] : toPosition(state, document, place);
}

// Tie with the group above; where it is tied already, put it alone, below those.
export function tieChanged(state, document) {
  const now = placeOf(state, document);
  if (!now) return [];
  if (now.tied.length) return [{ kind: "placed", document, after: now.tied.at(-1), tied: false }];
  if (now.group === 0) return [];
  return [{ kind: "placed", document, after: last(state.groups[now.group - 1]), tied: true }];
}

function last(list) {
  return list[list.length - 1];
}
