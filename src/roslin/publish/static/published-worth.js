// What steps of an alignment are worth, and the same rounded for the kernels: src/roslin/matchers/roslin/scores.py, whose
// comments explain the numbers. `fitted` are the numbers of scores.json.
import { rint } from "./published-kernels.js";

const UNITS = 32, HIGHEST_PRICE = 4000, LANES = 16, FARTHEST = -(2 ** 28), TURNS = 3;
const PAIRS = [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]];
export const UNKNOWN = 2 ** 28;

const units = values => Int32Array.from(values, value => rint(value * UNITS));
const range = count => Array.from({ length: count }, (_, k) => k);
const most = values => values.reduce((a, b) => Math.max(a, b));
const least = values => values.reduce((a, b) => Math.min(a, b));
const clip16 = value => Math.min(Math.max(value, -32768), 32767);

export function tables(fitted, longest, { compared, place, key }) {
  const turnLanes = range(12).flatMap(turn => range(LANES).map(lane => {
    const apart = (((turn - lane) % 12) + 12) % 12;
    return Math.min(apart, 12 - apart);
  }));
  const equal = turnLanes.map(apart => apart === 0 || compared === "rhythm");
  const worths = [0, ...fitted.pitch];
  const middle = fitted.openings.slice().sort((a, b) => a - b)[1];
  const gap = range(longest + 1).map(left => (left > 0 ? middle - fitted.extension + fitted.extension * left : 0));
  const prices = (any, more, isGap, isFree) => {
    const both = any.map((a, k) => range(longest + 1).map(left => (isGap ? gap[left] : (left > 0 ? a : 0) + more[k] * Math.log1p(left))));
    if (isFree) both[1].fill(0);
    return units([...both[0], ...both[1], ...both[0].map((price, left) => (price + both[1][left]) / 2)]).map(price => Math.min(price, HIGHEST_PRICE));
  };
  const transposes = key === "any" && (compared === "both" || compared === "melody");
  const hasTempo = compared === "both" || compared === "rhythm";
  return {
    longest,
    equal: units(fitted.equal),
    near: units(fitted.near),
    pitch: units(turnLanes.map((apart, k) => (equal[k] ? 0 : worths[apart]))),
    isEqual: Int32Array.from(equal, Number),
    contexts: units([...fitted.equal_context, ...fitted.near_context]),
    kinds: units(fitted.kinds.map(each => each / 2)),
    labels: units(labelWorths(fitted)),
    openings: units(fitted.openings),
    extension: rint(fitted.extension * UNITS),
    starts: prices(fitted.start_any, fitted.start_more, place === "start" || place === "whole", place === "end"),
    ends: prices(fitted.end_any, fitted.end_more, place === "end" || place === "whole", place === "start"),
    tempoPrices: units(hasTempo ? [0, fitted.tempo[0], fitted.tempo[1], fitted.tempo[1]] : [0]),
    lanes: Int32Array.from(range(LANES), lane => (lane < (transposes ? 12 : 1) ? 0 : FARTHEST)),
  };
}

function labelWorths(fitted) {
  const at = (values, a, b) => values[PAIRS.findIndex(([x, y]) => x === Math.min(a, b) && y === Math.max(a, b))];
  const found = new Float64Array(256);
  for (const m of range(3)) for (const p of range(3)) for (const n of range(3)) for (const q of range(3)) {
    found[16 * (1 + 3 * m + p) + 1 + 3 * n + q] = at(fitted.metre, m, n) + at(fitted.phrase, p, q);
  }
  return found;
}

// No pair of notes is worth more.
export function highestPair(worth) {
  const equal = most(worth.equal) + most(worth.contexts.slice(0, 4)) + 2 * most(worth.kinds);
  const near = most(worth.near) + most(worth.contexts.slice(4)) + most(worth.pitch);
  return Math.max(equal, near) + most(worth.labels);
}

// Bytes of 256 / this many units hold scores up to `highest`; null where bytes are too coarse for the query.
export function scaleFor(size, highest, worth) {
  if (size > 64) return null;
  const row = worth.longest + 1;
  const room = Math.max(highest, 1) + range(3).reduce((sum, k) => sum + most(worth.ends.subarray(k * row, (k + 1) * row)), 0) / 2;
  const lowest = least(worth.near) + least(worth.contexts.slice(4)) + least(worth.labels);
  const widest = Math.max(highestPair(worth), 1) + Math.max(-lowest, 0);
  return Math.max(Math.min(Math.floor((127 * 256) / room), Math.floor((120 * 256) / widest)), 1);
}

// A query and the tables, in bytes with all tempos at once for bounds, or in 16 bits (scale null) for scores.
export function planOf(query, worth, scale = null) {
  const isWide = scale === null, unit = isWide ? 1 : 256, top = isWide ? 32767 : 127, by = scale ?? 1, upwards = unit - 1;
  const shorts = values => Int16Array.from(values, clip16);
  const sums = values => shorts(range(16).map(k => (values[k] ?? values[values.length - 1]) * by));
  const costs = values => shorts(Array.from(values, value => Math.min(Math.floor((value * by) / unit), top)));
  const falling = values => (isWide || worth.tempoPrices.length === 1 ? Array.from(values) : Array.from(values, (_, k) => most(values.subarray(k))));
  const allowed = range(12).filter(lane => worth.lanes[lane] === 0), row = worth.longest + 1;
  const turns = [...allowed, ...Array((TURNS - (allowed.length % TURNS)) % TURNS).fill(allowed[allowed.length - 1])];
  const size = query.pitches.length, rows = size + (size % 2), long = values => BigInt64Array.from(range(rows), k => BigInt(values[k] ?? 0));
  const values = [...new Set(query.values)].sort((a, b) => a - b), labels = [...new Set(query.labels)].sort((a, b) => a - b);
  const contexts = of => shorts(range(4 * rows).map(k => (k < 4 * size ? of(k >> 2, k & 3) : -32768)));
  const intervals = new Int8Array(rows + 1).fill(-128);
  for (let k = 1; k < size; k++) intervals[k] = query.intervals[k];
  const pitchWorths = range(12).map(k => (worth.isEqual[16 * k] ? top : Math.min(Math.max(Math.ceil((worth.pitch[16 * k] * by) / unit), -top - 1), top)));
  const ends = costs(worth.ends), highestEnds = ends.slice(), openings = costs(worth.openings);
  for (let k = 1; k < ends.length; k++) if (k % row) highestEnds[k] = Math.max(highestEnds[k], highestEnds[k - 1]);
  const extension = isWide ? worth.extension : Math.min(worth.extension, ...worth.openings);
  return {
    size, scale: by, unit, most: top, longest: worth.longest,
    turns: BigInt64Array.from(turns, BigInt), pitches: long(query.pitches), values: Int8Array.from(values),
    valueOf: long(Array.from(query.values, each => values.indexOf(each))), labelOf: long(Array.from(query.labels, each => labels.indexOf(each))),
    intervals, equal: sums(falling(worth.equal)), near: sums(falling(worth.near)), kinds: sums([...worth.kinds, 0, 0, 0, 0]),
    labels: shorts(labels.flatMap(label => Array.from(worth.labels.subarray(16 * label, 16 * label + 16), each => each * by))),
    equalContext: contexts((k, seen) => clip16(by * worth.contexts[seen] + upwards + by * worth.kinds[query.kinds[k]])),
    nearContext: contexts((k, seen) => by * worth.contexts[4 + seen] + upwards),
    pitch: shorts(range(192).map(k => (k % 16 < 12 ? pitchWorths[((k % 16) - (k >> 4) + 12) % 12] : -top - 1))),
    kindOpenings: costs([...range(12).map(k => worth.openings[k % 3]), 0, 0, 0, 0]),
    openings: Int16Array.from(range(rows), k => openings[query.gaps[k] ?? 0]),
    extension: costs([extension])[0],
    starts: costs(worth.starts), ends, highestEnds,
    median: query.tempos[0], tempoPrices: worth.tempoPrices, cheapest: least(worth.tempoPrices),
  };
}
