// Note values out of onsets. Nobody keeps a tempo exactly, so the beat may move a little from note to note; of all ways
// to write what was heard the most plausible is taken: near to the times, with a steady beat, simple values, and long
// notes on beats. It is looked for in beats of two halves and in beats of three (as in 6/8), and the better is kept.
// The server does the same with melodies in seconds (roslin.melody.quantising); a test compares the two.

// Quarters, and how rare such notes are at the beginnings of melodies: minus the logarithm of their share in the RISM
// catalogue, counted from the eighth, the most frequent.
const VALUES = new Map([[0.25, 0.8], [0.5, 0], [0.75, 2.2], [1, 0.3], [1.5, 1.8], [2, 1.2], [3, 2.7], [4, 2.7]]);
const QUICKEST = 0.25, SLOWEST = 1.6; // seconds of a quarter
const TEMPO_STEP = 0.04; // between the tempos considered, as a share
const TEMPO_MOVES = 5; // so many steps the tempo may change from note to note
const USUAL_QUARTER = 0.7; // seconds
const OF_TEMPO = 0.5; // how far tempos are from the usual one, as a logarithm
const OF_CHANGE = 0.07; // how much a tempo changes from note to note
const OF_LENGTH = 0.09, OF_ONSET = 0.03; // how inexact a length is: a share of it, and seconds
const ACROSS = 1.2; // the price of a note that begins off the beat and sounds across the next
const UPBEAT = 0.6; // the price of beginning off the beat
const COMPOUND = 1; // the price of beats of three
const GRID = 0.25; // quarters between the places in a beat
const BEATS = [1, 1.5]; // quarters
const LONGEST = 4; // seconds; a longer time between two onsets is a pause, of the longest value at any tempo
const SHORTEST = 0.01; // seconds
const PAUSE = Math.max(...VALUES.keys());

const tempos = Array.from(
  { length: Math.ceil(Math.log(SLOWEST / QUICKEST) / TEMPO_STEP) },
  (_, k) => QUICKEST * Math.exp(k * TEMPO_STEP),
);

// How unlikely it is that a note of this length lasts so long.
function missed(length, expected) {
  const spread = Math.hypot(OF_LENGTH, OF_ONSET / Math.min(length, expected));
  return (Math.log(length / expected) / spread) ** 2;
}

// The cheapest way through the lengths in beats of so many quarters: { cost, rows: [quarters, seconds of a quarter] }.
function follow(lengths, beat) {
  const places = beat / GRID, count = tempos.length * places;
  let costs = new Float64Array(count);
  for (let s = 0; s < count; s++) {
    const isUpbeat = s % places > 0;
    costs[s] = (Math.log(tempos[Math.floor(s / places)] / USUAL_QUARTER) / OF_TEMPO) ** 2 + (isUpbeat ? UPBEAT : 0);
  }
  const origins = lengths.map(length => {
    const next = new Float64Array(count).fill(Infinity), origin = new Array(count);
    tempos.forEach((seconds, tempo) => {
      for (const [quarters, price] of VALUES) {
        const misses = missed(length, quarters * seconds) + price, isPause = length > LONGEST;
        if (isPause && quarters < PAUSE) continue;
        for (let place = 0; place < places; place++) {
          const end = place + quarters / GRID, isAcross = place > 0 && end > places;
          const to = tempo * places + (end % places);
          const begin = Math.max(tempo - TEMPO_MOVES, 0), last = Math.min(tempo + TEMPO_MOVES, tempos.length - 1);
          for (let before = begin; before <= last; before++) {
            const changed = (((tempo - before) * TEMPO_STEP) / OF_CHANGE) ** 2, from = before * places + place;
            const cost = costs[from] + changed + (isPause ? 0 : misses) + (isAcross ? ACROSS : 0);
            if (cost < next[to]) {
              next[to] = cost;
              origin[to] = [from, quarters, seconds];
            }
          }
        }
      }
    });
    costs = next;
    return origin;
  });
  const cost = Math.min(...costs), rows = [];
  let state = costs.indexOf(cost);
  for (let k = lengths.length - 1; k >= 0; k--) {
    const [from, quarters, seconds] = origins[k][state];
    rows.unshift([quarters, seconds]);
    state = from;
  }
  return { cost, rows };
}

// Lengths in seconds as note values: rows of [quarters, seconds of a quarter there].
export function noteValues(lengths) {
  if (!lengths.length) return [];
  const safe = lengths.map(length => Math.max(length, SHORTEST));
  const [simple, compound] = BEATS.map(beat => follow(safe, beat));
  return (compound.cost + COMPOUND < simple.cost ? compound : simple).rows;
}

// The value of a stretch of time that is nearest, given the tempo.
const nearest = quarters => [...VALUES.keys()].reduce(
  (best, value) => (Math.abs(Math.log(value / quarters)) < Math.abs(Math.log(best / quarters)) ? value : best),
);

// Notes { onset, offset, ... } with their values: { ..., quarters, rest }, rest being the quarters of silence after it.
// A note lasts until the next begins, but for a silence that is most of a beat and longer than the note itself.
export function quantise(notes) {
  const lengths = notes.map(({ onset, offset }, k) => (notes[k + 1]?.onset ?? offset) - onset);
  return noteValues(lengths).map(([quarters, seconds], k) => {
    const note = notes[k], sounding = note.offset - note.onset, silence = lengths[k] - sounding;
    const value = nearest(sounding / seconds), isRest = silence > 0.75 * seconds && silence > sounding;
    return isRest && value < quarters ? { ...note, quarters: value, rest: quarters - value } : { ...note, quarters, rest: 0 };
  });
}

// The values between taps. Each tap begins a note and the last one ends it: nobody can hear how long it was meant else.
export const tapped = times => noteValues(times.slice(1).map((time, k) => time - times[k])).map(([quarters]) => quarters);
