// Results in words, as src/roslin/web/sentences.py and src/roslin/run/meaning.py have them.
import { _, ngettext, number } from "./words.js";

const QUARTER = 40320;
const MEANINGS = [[0.0005, "same tune"], [0.005, "probably"], [0.1, "perhaps"], [1, "unlikely"]];

export const meaningOf = ({ same, expected }) => (same ? "same notes" : MEANINGS.find(([most]) => expected <= most)?.[1] ?? "no more alike than chance");
export const isAboveChance = ({ same, expected }) => expected <= 1 || same > 0;

export const meaningWords = meaning => ({
  "same notes": _("same notes"), "same tune": _("same tune"), probably: _("probably"), perhaps: _("perhaps"), unlikely: _("unlikely"),
  "no more alike than chance": _("no more alike than chance"),
})[meaning];

// The number as its reader writes numbers, with two digits that matter.
export function expectedNumber(expected) {
  if (expected < 0.0001) return number(0.0001, 4);
  const value = Number(expected.toPrecision(2)), digits = value.toFixed(6).replace(/\.?0+$/, "").split(".")[1]?.length ?? 0;
  return number(value, digits);
}

export const byChance = expected => (expected < 0.0001
  ? _("fewer than {number} such matches expected by chance", { number: expectedNumber(expected) })
  : _("{number} such matches expected by chance", { number: expectedNumber(expected) }));

const INTERVALS = () => [
  _("a semitone"), _("a whole tone"), _("a minor third"), _("a major third"), _("a fourth"), _("a tritone"), _("a fifth"),
  _("a minor sixth"), _("a major sixth"), _("a minor seventh"), _("a major seventh"),
];

function intervalWords(semitones) {
  const octaves = Math.floor(semitones / 12), rest = semitones % 12, interval = INTERVALS()[rest - 1];
  if (!octaves) return interval;
  const whole = ngettext("an octave", "{count} octaves", octaves);
  return rest ? _("{octaves} and {interval}", { octaves: whole, interval }) : whole;
}

// The value that more than half of them are; null if there is none.
function mostOf(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [value, times] = [...counts].reduce((best, each) => (each[1] > best[1] ? each : best), [null, 0]);
  return 2 * times > values.length ? value : null;
}

// What a path of the kernels says: the notes that agree, transposition, tempo and place.
export function matchOf(path, query, candidate, hearsPitch) {
  const pairs = path.steps.filter(step => step.kind === "same").map(step => [step.query, step.candidate]);
  const times = pairs.slice(1).map(([i, j], k) => [query[i].onset - query[pairs[k][0]].onset, candidate[j].onset - candidate[pairs[k][1]].onset])
    .filter(([here, there]) => here > 0 && there > 0);
  return {
    pairs, query: pairs.map(pair => pair[0]), candidate: pairs.map(pair => pair[1]).sort((a, b) => a - b),
    transposition: hearsPitch && pairs.length ? mostOf(pairs.map(([i, j]) => candidate[j].pitch - query[i].pitch)) : null,
    tempo: path.slower ?? mostOf(times.map(([here, there]) => there / here)),
    place: pairs.length ? candidate[pairs[0][1]].onset : null,
  };
}

function barOf(place, { bars = [], isUpbeat }) {
  const lines = [...new Set([0, ...bars])];
  return bars.length ? (isUpbeat ? 0 : 1) - 1 + lines.filter(line => line <= place).length : null;
}

function changes(match, melody, compare) {
  const words = [], up = match.transposition;
  if (up && compare !== "rhythm") {
    const interval = intervalWords(Math.abs(up));
    words.push(up > 0 ? _("{interval} higher", { interval }) : _("{interval} lower", { interval }));
  }
  if (compare !== "melody" && compare !== "contour") {
    if (match.tempo === null) {
      if (match.candidate.length > 1) words.push(_("in another rhythm"));
    } else if (Math.abs(match.tempo - 2) < 1e-6) words.push(_("in notes twice as long"));
    else if (Math.abs(match.tempo - 0.5) < 1e-6) words.push(_("in notes half as long"));
    else if (Math.abs(match.tempo - 1) > 1e-6) words.push(_("in notes {factor} times as long", { factor: Number(match.tempo.toPrecision(3)) }));
  }
  if (match.place > melody.notes[0].onset) {
    const bar = barOf(match.place, melody);
    words.push(bar === null ? _("from its middle") : _("from bar {number}", { number: bar }));
  }
  return words;
}

// How many notes have no partner: before the first one that has, between these, and after the last.
function without(notes, rows) {
  const is = notes.map(note => !note.isGrace), count = list => list.filter(Boolean).length;
  const first = rows.length ? Math.min(...rows) : 0, last = rows.length ? Math.max(...rows) : -1;
  return [count(is.slice(0, first)), count(is.slice(first, last + 1)) - rows.filter(row => is[row]).length, count(is.slice(last + 1))];
}

function agreementWords(match, query, candidate, compare) {
  const total = query.filter(note => !note.isGrace).length, count = match.query.filter(row => !query[row].isGrace).length;
  const [before, between, after] = without(query, match.query), [itsBefore, itsBetween, itsAfter] = without(candidate, match.candidate);
  const differ = Math.max(between, itsBetween) + Math.min(before, itsBefore) + Math.min(after, itsAfter), isRhythm = compare === "rhythm";
  if (differ && isRhythm) return ngettext("one note value differs", "{count} note values differ", differ);
  if (differ) return ngettext("one note differs", "{count} notes differ", differ);
  if (!before && !after) return isRhythm ? _("every note value agrees") : _("every note agrees");
  if (itsBefore || itsAfter) return _("{count} of {total} notes have a partner in it", { count, total });
  if (isRhythm) return ngettext("one note value of the incipit agrees", "all {count} note values of the incipit agree", count);
  return ngettext("one note of the incipit agrees", "all {count} notes of the incipit agree", count);
}

export function resultSentence(match, query, melody, result, compare) {
  if (!match.candidate.length) return _("None of its notes corresponds to a note of the query.");
  const heads = { "same tune": _("The same tune"), probably: _("Probably the same tune"), perhaps: _("Perhaps the same tune") };
  const head = result.same ? _("The same notes") : heads[meaningOf({ ...result, same: 0 })] ?? _("Similar");
  return `${[head, ...changes(match, melody, compare)].join(", ")}; ${agreementWords(match, query, melody.notes, compare)}.`;
}

const SIGNS = { "-2": "𝄫", "-1": "♭", 0: "", 1: "♯", 2: "𝄪" };
export const noteName = ({ step, sharps }) => `${"CDEFGAB"[step % 7]}${SIGNS[sharps] ?? ""}${Math.floor(step / 7)}`;

// A line for each bar, for those who do not see the drawing.
export function inBars(melody) {
  const lines = new Map();
  for (const note of melody.notes) {
    const bar = barOf(note.onset, melody);
    lines.set(bar, [...(lines.get(bar) ?? []), noteName(note)]);
  }
  return [...lines].map(([bar, names]) => {
    const notes = names.join(", ");
    return bar === null ? notes : bar ? _("Bar {number}: {notes}", { number: bar, notes }) : _("Upbeat: {notes}", { notes });
  });
}

export const queryName = query => query.title || query.notes.slice(0, 6).map(note => noteName(note).replace(/\d+$/, "")).join("-") + (query.notes.length > 6 ? " …" : "");

export const quarters = ticks => ticks / QUARTER;
