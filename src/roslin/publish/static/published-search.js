// The search of the matcher `roslin` in a browser: the same list, distances and E as src/roslin/search. A worker loads
// the collection and answers messages; comments in chance.py and agreement.py explain the numbers.
import { Blocks, Kernels, backwards, contours, encode } from "./published-kernels.js";
import { UNKNOWN, highestPair, planOf, scaleFor, tables } from "./published-worth.js";

const LADDER = [4, 6, 8, 12, 16, 24, 36, 54, 80, 120], LONGEST_CHAIN = 48, LEAST_EVEN = 3, LEAST_SAME = 4, EXACT = 1e-6;
const TAIL_SHARE = 0.02, LEAST_SPREAD = 0.8, BACKWARDS = 8, SPREAD_QUANTILE = 0.16, OF_DISTANCE = 0.1, RECOMPUTED = 1e-9;
const FASTER = { both: 1.35, melody: 1.35, rhythm: 2, contour: 1.5 }, SAMPLED = 500, LN10 = Math.log(10);
const LEAST_COINCIDING = 13, LEAST_SAMPLED = 100, BEGIN = 1.77, SCALE = 0.43, DOUBT = 10, BY_CHANCE = 1, CLOSE = 0.005, PERHAPS = 0.1;
const FIRST = 256, GROWTH = 8, PIECE = 128, FARTHEST = -(2 ** 28), LIKELIER = 10, LEAST_TIED = 3;

// A quantile as NumPy interpolates it; the values rise.
function quantile(values, share) {
  const at = share * (values.length - 1), below = Math.floor(at), rest = at - below;
  const a = values[below], b = values[Math.min(below + 1, values.length - 1)];
  return rest >= 0.5 ? b - (b - a) * (1 - rest) : a + (b - a) * rest;
}

function interpolated(x, xs, ys) {
  if (x <= xs[0]) return ys[0];
  const k = xs.findIndex(each => each >= x);
  if (k < 0) return ys[ys.length - 1];
  return xs[k] === x ? ys[k] : ys[k - 1] + ((ys[k] - ys[k - 1]) / (xs[k] - xs[k - 1])) * (x - xs[k - 1]);
}

function tailAt(tails, size) {
  const at = tails.map(tail => Math.log(tail.notes)), x = Math.log(Math.max(size, 1));
  return Object.fromEntries(["begin", "scale", "spread", "rarest"].map(name => [name, interpolated(x, at, tails.map(tail => tail[name]))]));
}

// -- melodies ----------------------------------------------------------------------------------------------------------

// The line of a query: no grace notes, the highest note at each onset. Notes are { onset, duration, pitch, isGrace } in ticks.
export function lineOf(notes) {
  const line = [];
  notes.forEach((note, row) => {
    if (note.isGrace) return;
    const last = line[line.length - 1];
    if (last && last.onset === note.onset) {
      if (note.pitch > last.pitch) line[line.length - 1] = { ...note, row };
    } else line.push({ ...note, row });
  });
  return line;
}

const timesOf = line => line.map((note, k) => (k + 1 < line.length ? line[k + 1].onset - note.onset : note.duration));

function encodedLine(kernels, line) {
  const times = timesOf(line), long = values => BigInt64Array.from(values, BigInt), offsets = [0, line.length];
  const labels = kernels.labels(long(offsets), long(line.map(note => note.onset)), long(line.map(note => note.duration)), long(times));
  return encode({ offsets, pitches: line.map(note => note.pitch), times, labels });
}

function pointsOf(notes) {
  const points = new Map();
  for (const { onset, pitch, isGrace } of notes) if (!isGrace) points.set(`${onset} ${pitch}`, [onset, pitch]);
  const sorted = [...points.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  return { times: BigInt64Array.from(sorted, each => BigInt(each[0])), pitches: BigInt64Array.from(sorted, each => BigInt(each[1])) };
}

// The same with the lengths of its notes in reverse order.
function rhythmBackwards(line) {
  const times = timesOf(line).reverse();
  let onset = 0;
  return line.map((note, k) => {
    const made = { ...note, onset, duration: times[k] };
    onset += times[k];
    return made;
  });
}

// All melodies, as pieces of columns: sizes, pitches, times (numbers of `durations`) and labels.
export class Melodies {
  constructor(kernels, about) {
    Object.assign(this, { kernels, about, pieces: [], sizes: new Uint32Array(about.melodies), ranks: new Uint32Array(about.melodies) });
    Object.assign(this, { made: {}, own: {} });
  }

  add(bytes, { first, melodies, notes }) {
    const buffer = bytes.buffer, sizes = new Uint32Array(buffer, 0, melodies), ranks = new Int32Array(buffer, 4 * melodies, melodies);
    const numbers = new Uint32Array(buffer, 8 * melodies, notes), rest = 8 * melodies + 4 * notes;
    const steps = new Int8Array(buffer, rest, notes), labels = new Int8Array(buffer, rest + notes, notes);
    const offsets = new Uint32Array(melodies + 1), pitches = new Uint8Array(notes);
    let rank = 0;
    for (let k = 0; k < melodies; k++) {
      offsets[k + 1] = offsets[k] + sizes[k];
      this.sizes[first + k] = sizes[k];
      this.ranks[first + k] = rank += ranks[k];
      for (let at = offsets[k], pitch = 0; at < offsets[k + 1]; at++) pitches[at] = pitch += steps[at];
    }
    this.pieces.push({ first, offsets, pitches, numbers, labels });
  }

  part(piece, from = 0, to = piece.offsets.length - 1) {
    const start = piece.offsets[from], end = piece.offsets[to];
    return {
      offsets: piece.offsets.subarray(from, to + 1).map(each => each - start), pitches: piece.pitches.subarray(start, end),
      labels: piece.labels.subarray(start, end), times: Array.from(piece.numbers.subarray(start, end), k => this.about.durations[k]),
    };
  }

  // Some melodies in one, in this order.
  taken(numbers) {
    const parts = Array.from(numbers, number => {
      const piece = this.pieces.findLast(each => each.first <= number);
      return this.part(piece, number - piece.first, number - piece.first + 1);
    });
    const offsets = new Uint32Array(parts.length + 1);
    parts.forEach((part, k) => { offsets[k + 1] = offsets[k] + part.pitches.length; });
    const joined = name => parts.flatMap(part => Array.from(part[name]));
    return { offsets, pitches: joined("pitches"), times: joined("times"), labels: joined("labels") };
  }

  encoded(numbers, compared) {
    const made = encode(this.taken(numbers));
    return compared === "contour" ? contours(made) : made;
  }

  // The blocks of all melodies, or of the sample, for what is compared; made when they are first needed.
  blocks(compared, sample = null) {
    const isContour = compared === "contour", name = `${isContour} ${sample !== null}`;
    return this.made[name] ??= sample
      ? new Blocks(this.kernels, Uint32Array.from(sample, number => this.sizes[number]), put => put(this.encoded(sample, compared), 0))
      : new Blocks(this.kernels, this.sizes, put => {
        for (const piece of this.pieces) {
          const made = encode(this.part(piece));
          put(isContour ? contours(made) : made, piece.first);
        }
      });
  }

  // What each melody scores with itself.
  ownScores(compared, worth) {
    if (!this.own[compared]) {
      this.own[compared] = new Int32Array(this.sizes.length);
      for (const piece of this.pieces) {
        const made = encode(this.part(piece));
        this.own[compared].set(this.kernels.selfScores(compared === "contour" ? contours(made) : made, worth), piece.first);
      }
    }
    return this.own[compared];
  }

  // How far p2 is from each of these melodies.
  coinciding(query, numbers = null) {
    const asked = pointsOf(query), mine = asked.times.length, found = [];
    const compare = (firstNumber, part, count) => {
      const times = [], pitches = [], offsets = new BigInt64Array(count + 1);
      for (let k = 0; k < count; k++) {
        const more = this.about.points[numbers ? numbers[firstNumber + k] : firstNumber + k];
        if (more) for (const [time, pitch] of more) times.push(BigInt(time)) && pitches.push(BigInt(pitch));
        else {
          let time = 0;
          for (let at = part.offsets[k]; at < part.offsets[k + 1]; at++) {
            times.push(BigInt(time));
            pitches.push(BigInt(part.pitches[at]));
            time += part.times[at];
          }
        }
        offsets[k + 1] = BigInt(times.length);
      }
      const common = this.kernels.inCommon(asked, BigInt64Array.from(times), BigInt64Array.from(pitches), offsets);
      common.forEach((each, k) => {
        const whole = mine + Number(offsets[k + 1] - offsets[k]);
        found.push(whole ? (whole - 2 * each) / whole : 1);
      });
    };
    if (numbers) compare(0, this.taken(numbers), numbers.length);
    else {
      for (const piece of this.pieces) {
        const count = piece.offsets.length - 1;
        for (let from = 0; from < count; from += 2000) {
          const to = Math.min(from + 2000, count);
          compare(piece.first + from, this.part(piece, from, to), to - from);
        }
      }
    }
    return Float64Array.from(found);
  }
}

// -- what is compared --------------------------------------------------------------------------------------------------

class Matcher {
  constructor(kernels, about, line, { compare = "auto", place = "anywhere", key = "any" }, longest) {
    Object.assign(this, { kernels, compare, place, key, line });
    this.isEven = line.length >= LEAST_EVEN && line.every((note, k) => !k || note.onset - line[k - 1].onset === line[1].onset - line[0].onset);
    this.isLastAlike = this.isEven && line[line.length - 1].duration === line[1].onset - line[0].onset;
    this.compared = compare !== "auto" ? compare : this.isEven ? "melody" : "both";
    this.worth = tables(about.fitted[this.compared], Math.max(longest, line.length, 1), this);
    this.tails = about.tails[`${this.compared}/${place}/${key}`];
  }

  encoded(line) {
    const made = encodedLine(this.kernels, line);
    return this.compared === "contour" ? contours(made) : made;
  }

  scale(own, other) {
    const shorter = Math.max(Math.min(own, other), 1), longer = Math.max(own, other);
    if (this.place === "start" || this.place === "end") return shorter;
    return Math.sqrt(shorter * (this.place === "anywhere" ? Math.min(longer, 2 * shorter) : longer));
  }

  distance(score, own, other) {
    return Math.min(Math.max(1 - score / this.scale(own, other), 0), 1);
  }

  evidence(score, own, size, other, otherSize) {
    const isPart = otherSize < size && this.place !== "whole", common = Math.max(isPart ? other : own, 1);
    return score + OF_DISTANCE * common * (score / this.scale(common, isPart ? common : other) - 1);
  }

  // The exact scores of some melodies of these blocks; `encoded` has their notes.
  scores(blocks, query, numbers, encoded) {
    if (!query.pitches.length || !numbers.length) return new Int32Array(numbers.length).fill(FARTHEST);
    const scores = blocks.scores(planOf(query, this.worth), numbers);
    const unknown = Array.from(scores.keys()).filter(k => scores[k] === UNKNOWN);
    if (unknown.length) {
      const exact = this.kernels.alignAll(query, encoded(unknown.map(k => numbers[k])), this.worth);
      unknown.forEach((k, at) => { scores[k] = exact[at]; });
    }
    return scores;
  }
}

// -- what chance gives -------------------------------------------------------------------------------------------------

class Null {
  constructor(matcher, melodies) {
    Object.assign(this, { matcher, melodies, size: matcher.line.length, known: new Map(), sample: melodies.about.sample });
    this.blocks = melodies.blocks(matcher.compared, this.sample);
    this.sizes = this.blocks.sizes;
    this.others = melodies.kernels.selfScores(melodies.encoded(this.sample, matcher.compared), matcher.worth);
    this.lengths = [...LADDER.filter(each => each < this.size), this.size];
    this.thresholds = this.lengths.map(length => this.at(length).threshold);
    const whole = this.at(this.size);
    this.scale = whole.scale;
    this.rarest = tailAt(matcher.tails, this.size).rarest;
    this.sorted = Float64Array.from(whole.sample, (each, k) => this.excess(each, this.sizes[k])).sort();
  }

  // The first notes of the query alone.
  at(length) {
    if (!this.known.has(length)) this.known.set(length, this.beginning(length));
    return this.known.get(length);
  }

  beginning(length) {
    const { matcher, melodies } = this, { kernels, worth, compared } = matcher, line = matcher.line.slice(0, length);
    const asked = matcher.encoded(line), turned = compared === "rhythm" ? matcher.encoded(rhythmBackwards(line)) : backwards(asked);
    const own = kernels.selfScores(asked, worth)[0], reached = kernels.alignEach(asked, turned, worth)[0];
    const places = Uint32Array.from(this.sample, (_, k) => k);
    const scores = matcher.scores(this.blocks, asked, places, few => melodies.encoded(few.map(k => this.sample[k]), compared));
    const found = Float64Array.from(scores, (score, k) => matcher.evidence(score, own, length, this.others[k], this.sizes[k]));
    if (!found.length) return { own, threshold: 0, scale: 0, sample: found };
    const sorted = found.slice().sort(), tail = tailAt(matcher.tails, length), back = matcher.evidence(reached, own, length, own, length);
    const middle = quantile(sorted, 0.5), raw = middle - quantile(sorted, SPREAD_QUANTILE);
    const spread = raw > 0 ? Math.max(raw, LEAST_SPREAD * tail.spread) : 0, threshold = middle + tail.begin * spread;
    let scale = spread > 0 ? Math.max(tail.scale * spread, (back - threshold) / BACKWARDS) : 0;
    if (scale > 0 && found.length >= SAMPLED) {
      const falling = (quantile(sorted, 1 - TAIL_SHARE) - quantile(sorted, 0.9)) / Math.log(0.1 / TAIL_SHARE);
      scale = Math.max(scale, falling / FASTER[compared]);
    }
    return { own, threshold, scale, sample: found };
  }

  excess(evidence, size) {
    const common = this.matcher.place === "whole" ? this.size : Math.min(size, this.size);
    return evidence - interpolated(common, this.lengths, this.thresholds);
  }

  rarity(excess) {
    let below = 0, above = this.sorted.length;
    while (below < above) {
      const middle = (below + above) >> 1;
      if (this.sorted[middle] < excess) below = middle + 1;
      else above = middle;
    }
    const counted = (this.sorted.length - below) / Math.max(this.sorted.length, 1), begin = -Math.log(TAIL_SHARE);
    const common = -Math.log(Math.min(Math.max(counted, TAIL_SHARE), 1));
    if (this.scale <= 0) return common;
    return Math.min(excess > 0 ? begin + excess / this.scale : common, Math.max(this.rarest, begin));
  }

  raritySame(common) {
    let best = 0;
    for (let length = 3; length <= Math.min(common, LONGEST_CHAIN, this.size); length++) {
      const known = this.at(length), above = known.own - known.threshold;
      if (known.scale > 0 && above > 0) {
        best = Math.max(best, Math.min(above / known.scale - Math.log(TAIL_SHARE), tailAt(this.matcher.tails, length).rarest));
      }
    }
    return best;
  }
}

// -- the same notes ----------------------------------------------------------------------------------------------------

const unrounded = ({ offsets, pitches, times, labels }) => {
  const made = encode({ offsets, pitches, times, labels });
  return { ...made, values: times.map(time => 4 * Math.log2(Math.max(time, 1))) };
};

// [notes on which two melodies agree if one of them has no others, whether it is all of the query or its beginning]
function agreement(query, melody, place, key, hasRhythm) {
  const size = query.pitches.length, other = melody.pitches.length;
  const fits = (q, m, count, isLastFree) => {
    if (key === "written" && melody.pitches[m] !== query.pitches[q]) return false;
    for (let step = 1; step < count; step++) {
      if (melody.intervals[m + step] !== query.intervals[q + step]) return false;
      if (!hasRhythm || (isLastFree && step === count - 1)) continue;
      const apart = melody.values[m + step] - melody.values[m] - (query.values[q + step] - query.values[q]);
      if (Math.abs(apart) > EXACT) return false;
    }
    return true;
  };
  if (size >= LEAST_SAME && (place === "whole" ? other === size : other >= size)) {
    const last = other - size, from = place === "end" ? last : 0, to = place === "start" || place === "whole" ? 0 : last;
    for (let m = from; m <= to; m++) if (fits(0, m, size, true)) return [size, true];
  }
  if (place === "whole" || other < LEAST_SAME) return [0, false];
  for (let begin = 0; begin < size - LEAST_SAME; begin++) {
    const isLonger = begin === 0 ? other >= size : other > size - begin;
    if (isLonger || (place === "end" && other !== size - begin) || (place === "start" && begin)) continue;
    if (fits(begin, 0, other, true)) return [other, begin === 0 || place === "end"];
  }
  return [0, false];
}

// -- a search ----------------------------------------------------------------------------------------------------------

export class Searching {
  constructor(melodies, notes, modes) {
    const { kernels, about } = melodies;
    Object.assign(this, { melodies, kernels, about, notes, line: lineOf(notes) });
    this.matcher = new Matcher(kernels, about, this.line, modes, about.longest);
    this.query = this.matcher.encoded(this.line);
    this.plain = encodedLine(kernels, this.line);
    this.blocks = melodies.blocks(this.matcher.compared);
    this.others = melodies.ownScores(this.matcher.compared, this.matcher.worth);
    this.own = kernels.selfScores(this.query, this.matcher.worth)[0];
  }

  scores(numbers) {
    return this.matcher.scores(this.blocks, this.query, numbers, few => this.melodies.encoded(few, this.matcher.compared));
  }

  key(score, number) {
    const size = this.melodies.sizes[number];
    return -this.null.excess(this.matcher.evidence(score, this.own, this.line.length, this.others[number], size), size);
  }

  // No melody scores more than this, at any tempo.
  upperBounds() {
    const { blocks, matcher: { worth }, line: { length: size } } = this, found = new Float64Array(blocks.count);
    const highest = highestPair(worth), coarse = scaleFor(size, 0.6 * size * highest, worth);
    const numbers = Array.from({ length: blocks.blocks }, (_, k) => k);
    for (let start = 0; start < numbers.length; start += PIECE) {
      const piece = numbers.slice(start, start + PIECE);
      let bounds = null;
      if (coarse !== null) {
        const few = piece.filter((_, k) => (piece.length - 1 - k) % 64 === 0);
        const sample = blocks.bounds(planOf(this.query, worth, coarse), few).reduce((a, b) => Math.max(a, b), 0);
        bounds = blocks.bounds(planOf(this.query, worth, sample === UNKNOWN ? coarse : scaleFor(size, 1.1 * sample, worth)), piece);
      }
      for (let at = 0; at < 64 * piece.length && 64 * start + at < blocks.count; at++) {
        const number = blocks.order[64 * start + at], pairs = Math.min(blocks.sizes[number], size) * Math.max(highest, 1);
        found[number] = bounds ? Math.min(bounds[at], pairs) : pairs;
      }
    }
    return found;
  }

  // The numbers of the melodies with the k smallest keys, and of all that tie with the last of them.
  nearest(k) {
    const count = this.blocks.count, first = Math.max(FIRST, 2 * k);
    let lower = new Float64Array(count).fill(-Infinity), limit = Infinity, numbers = [], keys = [];
    if (count > first) {
      this.lower ??= this.upperBounds().map((upper, number) => this.key(upper, number));
      this.sorted ??= this.lower.slice().sort();
      lower = this.lower;
    }
    const sorted = this.sorted ?? lower;
    for (let done = 0, size = first; done < count; size *= GROWTH) {
      const from = done ? sorted[done - 1] : -Infinity;
      if (from > limit + RECOMPUTED * Math.abs(limit) + RECOMPUTED) break;
      const reach = limit + RECOMPUTED * Math.abs(limit) + RECOMPUTED;
      let to = Math.min(done + size, count);
      while (to < count && sorted[to] === sorted[to - 1]) to++;
      const most = Math.min(sorted[to - 1], reach), batch = [];
      for (let number = 0; number < count; number++) {
        if (lower[number] <= most && (done === 0 || lower[number] > from)) batch.push(number);
      }
      const scores = this.scores(batch);
      numbers = numbers.concat(batch);
      keys = keys.concat(batch.map((number, at) => this.key(scores[at], number)));
      if (keys.length >= k) limit = Float64Array.from(keys).sort()[k - 1];
      done = to;
    }
    return numbers.filter((_, at) => keys[at] <= limit);
  }

  sameNotes() {
    const { matcher: { compared, place, key }, line, melodies } = this, found = new Map();
    const hasPitch = compared === "both" || compared === "melody";
    const asked = unrounded({ offsets: [0, line.length], pitches: line.map(note => note.pitch), times: timesOf(line), labels: this.plain.labels });
    for (const number of this.blocks.agreeing(this.query.intervals)) {
      if (!hasPitch && melodies.sizes[number] !== line.length) continue;
      const other = unrounded(melodies.taken([number]));
      const [notes, isFull] = agreement(asked, other, hasPitch ? place : "whole", key, compared !== "melody");
      if (notes) found.set(number, { notes, isFull: isFull || !hasPitch });
    }
    return found;
  }

  // The k first melodies: { number, distance, expected, same, coincides }.
  list(k, excluded = -1) {
    this.null ??= new Null(this.matcher, this.melodies);
    this.same ??= this.sameNotes();
    const { same } = this, wanted = k + (excluded < 0 ? 0 : 1), searched = this.blocks.count;
    const numbers = [...new Set([...this.nearest(wanted), ...same.keys()])], scores = this.scores(numbers), rarities = new Map();
    const agreeing = [...same].filter(([number, each]) => each.notes === this.line.length && number !== excluded).length;
    const found = new Map(numbers.map((number, at) => {
      const excess = -this.key(scores[at], number), { notes = 0, isFull = false } = same.get(number) ?? {};
      if (isFull && !rarities.has(notes)) rarities.set(notes, this.null.raritySame(notes));
      const evidence = ((isFull ? rarities.get(notes) : this.null.rarity(excess)) - Math.log(searched)) / LN10;
      return [number, {
        number, evidence, distance: this.matcher.distance(scores[at], this.own, this.others[number]),
        same: isFull || 10 ** -evidence <= BY_CHANCE ? notes : 0, coincides: false,
        fit: Math.min(Math.max(excess / Math.max(this.own, 1), -1), 1),
      }];
    }));
    const most = Math.max(-Infinity, ...[...found.values()].filter(each => each.number !== excluded).map(each => each.evidence));
    if (this.canCoincide && agreeing === 0 && 10 ** -most > CLOSE) this.addCoinciding(found, searched);
    const value = each => each.evidence + RECOMPUTED * each.fit;
    const results = [...found.values()].filter(each => each.number !== excluded)
      .sort((a, b) => value(b) - value(a) || this.melodies.ranks[a.number] - this.melodies.ranks[b.number]).slice(0, k)
      .map(each => ({ ...each, expected: 10 ** -each.evidence }));
    return { results, agreeing };
  }

  get canCoincide() {
    const { place, key, compare } = this.matcher;
    return place === "anywhere" && key === "any" && (compare === "auto" || compare === "both")
      && this.notes.filter(note => !note.isGrace).length >= LEAST_COINCIDING;
  }

  addCoinciding(found, searched) {
    const sample = this.about.sample;
    if (sample.length < LEAST_SAMPLED) return;
    const sampled = this.melodies.coinciding(this.notes, sample).sort(), middle = quantile(sampled, 0.5), near = quantile(sampled, 0.1);
    if (middle <= near) return;
    const added = [];
    this.melodies.coinciding(this.notes).forEach((distance, number) => {
      const above = (middle - distance) / (middle - near) - BEGIN;
      const evidence = (above / SCALE - Math.log(DOUBT * TAIL_SHARE * searched)) / LN10;
      if (above > 0 && evidence >= -Math.log10(BY_CHANCE)) added.push({ number, evidence, fit: -distance });
    });
    const fresh = added.map(each => each.number).filter(number => !found.has(number));
    const scores = this.scores(fresh);
    fresh.forEach((number, at) => found.set(number, {
      number, evidence: -Infinity, fit: 0, same: 0, distance: this.matcher.distance(scores[at], this.own, this.others[number]),
    }));
    for (const { number, evidence, fit } of added) {
      const known = found.get(number);
      if (evidence > known.evidence && !known.same) Object.assign(known, { evidence, fit, coincides: true });
    }
  }

  // The best alignment with a melody: as the kernels give it, with its scale.
  path(notes) {
    const line = lineOf(notes), other = this.matcher.encoded(line), path = this.kernels.bestPath(this.query, other, this.matcher.worth);
    const scale = this.matcher.scale(this.own, this.kernels.selfScores(other, this.matcher.worth)[0]);
    const difference = other.tempos[0] - this.query.tempos[0], shift = path.tempo < 2 ? path.tempo * difference : path.tempo === 2 ? 4 : -4;
    const steps = path.steps.map(({ kind, i, j, worth }) => {
      const isSame = this.matcher.compared === "rhythm" ? other.values[j] - this.query.values[i] === shift
        : (((other.pitches[j] - this.query.pitches[i] - path.lane) % 12) + 12) % 12 === 0;
      return {
        kind: [isSame ? "same" : "other", "added", "missing"][kind], cost: -worth / scale,
        query: kind === 1 ? null : this.line[i].row, candidate: kind === 2 ? null : line[j].row,
      };
    });
    const [first, last] = [path.steps[0], path.steps.at(-1)], rows = (of, from, to) => of.slice(from, to).map(note => note.row);
    const outside = !first ? [] : [
      ["missing", rows(this.line, 0, first.i)], ["added", rows(line, 0, first.j)],
      ["missing", rows(this.line, last.i + 1)], ["added", rows(line, last.j + 1)],
    ].map(([kind, left], k) => ({ kind, rows: left, cost: path.ends[k] / scale, isBefore: k < 2 })).filter(each => each.rows.length);
    const hasTempo = path.steps.length && (path.tempo > 0 || this.matcher.compared === "rhythm");
    return {
      steps, outside, start: path.steps.length ? 1 + this.matcher.worth.tempoPrices[path.tempo] / scale : 1,
      slower: hasTempo ? 2 ** (shift / 4) : null,
    };
  }
}

// -- readings ----------------------------------------------------------------------------------------------------------

const isClose = ({ results, agreeing }) =>
  agreeing > 0 || results.some(each => each.expected <= CLOSE || (each.same && each.expected <= PERHAPS));

// The same with repeated notes as ties; null where that changes nothing, or leaves nothing.
function tied(notes) {
  const made = [], sounding = notes.filter(note => !note.isGrace);
  let isInOrder = true;
  sounding.forEach((note, k) => {
    const before = sounding[k - 1], last = made[made.length - 1];
    if (before && note.onset <= before.onset) isInOrder = false;
    if (before && before.pitch === note.pitch && before.onset + before.duration === note.onset) last.duration += note.duration;
    else made.push({ ...note });
  });
  return isInOrder && made.length < sounding.length && made.length >= LEAST_TIED ? made : null;
}

// The search for a query, which is kept: a longer list and explanations need it again.
export function searchingFor(melodies, notes, modes) {
  const key = JSON.stringify([notes, modes]);
  if (melodies.last?.key !== key) melodies.last = { key, searching: new Searching(melodies, notes, modes) };
  return melodies.last.searching;
}

// The list of a typed query, or of a melody of the collection (`excluded`): { results, agreeing, compared, isTied ... }.
export function search(melodies, { notes, modes, k, excluded = -1 }) {
  const said = (asked, used) => {
    const searching = searchingFor(melodies, used, modes);
    return { ...searching.list(k, excluded), notes: used, asked, matcher: searching.matcher };
  };
  let found = said(notes, notes), count = 1, isTied = false;
  const other = excluded < 0 && !isClose(found) && tied(notes);
  if (other) {
    const again = said(notes, other);
    count = 2;
    isTied = Math.min(...again.results.map(each => each.expected)) * LIKELIER < Math.min(...found.results.map(each => each.expected));
    if (isTied) found = again;
  }
  const results = found.results.map(each => ({ ...each, expected: count * each.expected }));
  const { compare, isEven, isLastAlike } = found.matcher;
  const top = { results, agreeing: found.agreeing };
  const least = Math.min(Infinity, ...results.map(each => each.expected));
  return {
    ...top, notes: found.notes, isTied, isEven: compare === "auto" && isEven, isLastAlike,
    level: isClose(top) ? 0 : least <= BY_CHANCE ? 1 : 2,
  };
}

export async function opened(about, kernels) {
  return new Melodies(await Kernels.from(kernels), about);
}
