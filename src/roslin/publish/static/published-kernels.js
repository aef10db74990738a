// The kernels of the matcher `roslin`, compiled to WebAssembly from src/roslin/native, and melodies in their memory.

const NO_INTERVAL = 127, LARGEST_VALUE = 24, UNLIKE = 3, LARGEST_STEP = 126;
const MELODIES = 64, FIELDS = 5;
const TICKS_PER_QUARTER = 40320;

// The nearest whole number, of two the even one, as NumPy rounds.
export function rint(value) {
  const floor = Math.floor(value), rest = value - floor;
  return rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1;
}

const clip = (value, least, most) => Math.min(Math.max(value, least), most);

export class Kernels {
  constructor(instance) {
    this.wasm = instance.exports;
    this.wasm._initialize();
    this.taken = [];
  }

  static async from(bytes) {
    return new Kernels((await WebAssembly.instantiate(bytes, {})).instance);
  }

  take(bytes) {
    const at = this.wasm.malloc(Math.max(bytes, 16));
    if (!at) throw new Error("no memory is left");
    this.taken.push(at);
    return at;
  }

  // A copy of a typed array in the memory of the kernels.
  put(values) {
    const at = this.take(values.byteLength);
    new values.constructor(this.wasm.memory.buffer, at, values.length).set(values);
    return at;
  }

  view(kind, at, length) {
    return new kind(this.wasm.memory.buffer, at, length);
  }

  // A struct of the kernels: whole numbers are 64 bits, as BigInt, and addresses 32.
  struct(fields) {
    const at = this.take(8 * fields.length), view = new DataView(this.wasm.memory.buffer);
    let offset = 0;
    for (const field of fields) {
      if (typeof field === "bigint") {
        offset = (offset + 7) & ~7;
        view.setBigInt64(at + offset, field, true);
        offset += 8;
      } else {
        view.setUint32(at + offset, field, true);
        offset += 4;
      }
    }
    return at;
  }

  // Memory that `use` takes is free again afterwards, unless it is kept.
  scope(use) {
    const before = this.taken;
    this.taken = [];
    try {
      return use();
    } finally {
      for (const at of this.taken) this.wasm.free(at);
      this.taken = before;
    }
  }

  encoded(melodies) {
    const { offsets, tempos, pitches, values, intervals, kinds, gaps, labels } = melodies;
    const columns = [tempos, pitches, values, intervals, kinds, gaps, labels].map(each => this.put(each));
    return this.struct([BigInt(tempos.length), BigInt(pitches.length), this.put(offsets), ...columns]);
  }

  tables(worth) {
    const t = worth, put = values => this.put(values);
    return this.struct([
      BigInt(t.longest), BigInt(t.tempoPrices.length), put(t.equal), put(t.near), put(t.pitch), put(t.isEqual), put(t.contexts),
      put(t.kinds), put(t.labels), put(t.openings), BigInt(t.extension), put(t.starts), put(t.ends), put(t.tempoPrices), put(t.lanes),
    ]);
  }

  plan(plan) {
    const p = plan, put = values => this.put(values);
    return this.struct([
      ...[p.size, p.scale, p.unit, p.most, p.turns.length, p.pitches.length, p.values.length, p.labels.length / 16, 12, p.longest,
        p.tempoPrices.length].map(BigInt),
      put(p.turns), put(p.pitches), put(p.values), put(p.valueOf), put(p.labelOf), put(p.intervals), put(p.equal), put(p.near),
      put(p.kinds), put(p.labels), put(p.equalContext), put(p.nearContext), put(p.pitch), put(p.kindOpenings), put(p.openings),
      BigInt(p.extension), put(p.starts), put(p.ends), put(p.highestEnds), BigInt(p.median), put(p.tempoPrices), BigInt(p.cheapest),
    ]);
  }

  check(isDone) {
    if (!isDone) throw new Error("no memory is left");
  }

  labels(offsets, onsets, durations, times) {
    return this.scope(() => {
      const found = this.put(new Int8Array(onsets.length));
      this.check(this.wasm.label_notes(BigInt(offsets.length - 1), this.put(offsets), BigInt(onsets.length), this.put(onsets),
        this.put(durations), this.put(times), found));
      return this.view(Int8Array, found, onsets.length).slice();
    });
  }

  selfScores(melodies, worth) {
    return this.scope(() => {
      const found = this.take(4 * melodies.tempos.length);
      this.wasm.self_scores(this.encoded(melodies), this.tables(worth), found);
      return this.view(Int32Array, found, melodies.tempos.length).slice();
    });
  }

  // The scores of pairs of melodies with the same numbers.
  alignEach(queries, melodies, worth) {
    return this.scope(() => {
      const found = this.take(4 * queries.tempos.length);
      this.check(this.wasm.align_each(this.encoded(queries), this.encoded(melodies), this.tables(worth), found));
      return this.view(Int32Array, found, queries.tempos.length).slice();
    });
  }

  alignAll(query, melodies, worth) {
    return this.scope(() => {
      const count = melodies.tempos.length, found = this.take(4 * count);
      const numbers = this.put(BigInt64Array.from({ length: count }, (_, k) => BigInt(k)));
      this.check(this.wasm.align_all(this.encoded(query), this.encoded(melodies), this.tables(worth), BigInt(count), numbers, found));
      return this.view(Int32Array, found, count).slice();
    });
  }

  // The best alignment of two melodies, what each step is worth, and the prices of notes left out at the ends.
  bestPath(query, melody, worth) {
    return this.scope(() => {
      const room = query.pitches.length + melody.pitches.length, found = this.take(32), steps = this.take(24 * room);
      const [asked, other, tables] = [this.encoded(query), this.encoded(melody), this.tables(worth)];
      this.check(this.wasm.best_path(asked, other, 0n, tables, steps, found));
      const [score, tempo, lane, count] = Array.from(this.view(BigInt64Array, found, 4), Number);
      if (score <= 0) return { score, steps: [] };
      const worths = this.take(4 * count), ends = this.take(32);
      this.wasm.step_worths(asked, other, BigInt(tempo), BigInt(lane), tables, BigInt(count), steps, worths, ends);
      const flat = Array.from(this.view(BigInt64Array, steps, 3 * count), Number), each = this.view(Int32Array, worths, count);
      return {
        score, tempo, lane,
        steps: Array.from({ length: count }, (_, k) => ({ kind: flat[3 * k], i: flat[3 * k + 1], j: flat[3 * k + 2], worth: each[k] })),
        ends: Array.from(this.view(BigInt64Array, ends, 4), Number),
      };
    });
  }

  // How many points of the query coincide with those of each melody at the best move.
  inCommon(query, times, pitches, offsets) {
    return this.scope(() => {
      const figure = (time, pitch) => this.struct([BigInt(time.length), this.put(time), this.put(time), this.put(pitch)]);
      const count = offsets.length - 1, found = this.take(8 * count);
      this.check(this.wasm.most_in_common(figure(query.times, query.pitches), figure(times, pitches), BigInt(count),
        this.put(offsets), 0, found));
      return Float64Array.from(this.view(BigInt64Array, found, count), Number);
    });
  }
}

// -- melodies as the kernels take them (src/roslin/matchers/roslin/table.py) -------------------------------------------

// Lines end to end: pitches, the time to the next note (of the last, its duration) in ticks, and labels.
export function encode({ offsets, pitches, times, labels }) {
  const count = offsets.length - 1, size = pitches.length;
  const made = {
    offsets: BigInt64Array.from(offsets, BigInt), tempos: new Int8Array(count), pitches: new Int8Array(size), values: new Int8Array(size),
    intervals: new Int8Array(size), kinds: new Int8Array(size), gaps: new Int8Array(size), labels: Int8Array.from(labels),
  };
  const known = new Map();
  for (let number = 0; number < count; number++) {
    const first = offsets[number], end = offsets[number + 1];
    if (first === end) continue;
    for (let at = first; at < end; at++) {
      let value = known.get(times[at]);
      if (value === undefined) {
        value = clip(rint(4 * Math.log2(times[at] / TICKS_PER_QUARTER)), -LARGEST_VALUE, LARGEST_VALUE);
        known.set(times[at], value);
      }
      made.values[at] = value;
    }
    const tempo = made.tempos[number] = made.values.slice(first, end).sort()[(end - first - 1) >> 1];
    for (let at = first; at < end; at++) {
      const step = made.values[at] - tempo, isFirst = at === first;
      const interval = isFirst ? 0 : clip(pitches[at] - pitches[at - 1], -LARGEST_STEP, LARGEST_STEP);
      made.gaps[at] = step <= -UNLIKE ? 0 : step >= UNLIKE ? 2 : 1;
      made.kinds[at] = 3 * sizeOf(interval, isFirst) + made.gaps[at];
      made.intervals[at] = isFirst ? NO_INTERVAL : interval;
      made.pitches[at] = pitches[at] % 12;
    }
  }
  return made;
}

function sizeOf(interval, isFirst) {
  const size = Math.abs(interval);
  return isFirst ? 1 : size === 0 ? 0 : size <= 2 ? 1 : size <= 4 ? 2 : 3;
}

// One melody with its pitches in reverse order; rhythm, metre and phrases stay.
export function backwards(melody) {
  const size = melody.pitches.length, intervals = new Int8Array(size), kinds = new Int8Array(size);
  for (let at = 0; at < size; at++) {
    const isFirst = at === 0, interval = isFirst ? 0 : -melody.intervals[size - at];
    intervals[at] = isFirst ? NO_INTERVAL : interval;
    kinds[at] = 3 * sizeOf(interval, isFirst) + melody.gaps[at];
  }
  return { ...melody, pitches: melody.pitches.slice().reverse(), intervals, kinds };
}

// Nothing left of pitch but whether a note is lower than the one before, as high, or higher.
export function contours(melodies) {
  const intervals = melodies.intervals.map(each => (each === NO_INTERVAL ? each : Math.sign(each)));
  const pitches = intervals.map(each => (each === NO_INTERVAL ? 1 : each + 1));
  return { ...melodies, pitches, intervals, kinds: new Int8Array(pitches.length) };
}

// -- many melodies in blocks of 64 (src/roslin/matchers/roslin/table.py) -----------------------------------------------

export class Blocks {
  // `sizes` of all melodies; `fill` calls `put(encoded, firstNumber)` for each part of them.
  constructor(kernels, sizes, fill) {
    const count = sizes.length, blocks = Math.ceil(count / MELODIES), places = blocks * MELODIES;
    Object.assign(this, { kernels, sizes, count, blocks, order: new Uint32Array(count), places: new Uint32Array(count) });
    const longest = sizes.reduce((most, size) => Math.max(most, size), 0), from = new Uint32Array(longest + 2);
    for (const size of sizes) from[size + 1]++;
    for (let size = 0; size <= longest; size++) from[size + 1] += from[size];
    for (let number = 0; number < count; number++) {
      const place = this.places[number] = from[sizes[number]]++;
      this.order[place] = number;
    }
    const lengths = new Int32Array(places).fill(longest), starts = new BigInt64Array(blocks + 1);
    for (let place = 0; place < count; place++) lengths[place] = sizes[this.order[place]];
    let bytes = 0;
    for (let block = 0; block < blocks; block++) {
      bytes += (FIELDS * lengths[block * MELODIES + MELODIES - 1] + 1) * MELODIES;
      starts[block + 1] = BigInt(bytes);
    }
    const taken = kernels.taken;
    kernels.taken = []; // kept as long as the page
    this.notes = kernels.take(bytes);
    this.starts = kernels.put(starts);
    this.lengths = kernels.put(lengths);
    this.tempos = kernels.put(new Int8Array(places));
    this.at = kernels.struct([BigInt(bytes), BigInt(blocks), BigInt(places), this.notes, this.starts, this.lengths, this.tempos]);
    kernels.taken = taken;
    const put = (melodies, here) => kernels.scope(() => {
      const tempos = kernels.view(Int8Array, this.tempos, places);
      for (let k = 0; k < here.length; k++) tempos[here[k]] = melodies.tempos[k];
      kernels.wasm.put_melodies(kernels.encoded(melodies), kernels.put(BigInt64Array.from(here, BigInt)), BigInt(blocks), this.lengths,
        this.starts, BigInt(bytes), this.notes);
    });
    fill((melodies, first) => put(melodies, this.places.subarray(first, first + melodies.tempos.length)));
    const rest = Array.from({ length: places - count }, (_, k) => count + k);
    const nothing = new Int8Array(0);
    put({ offsets: new BigInt64Array(rest.length + 1), tempos: new Int8Array(rest.length), pitches: nothing, values: nothing,
      intervals: nothing, kinds: nothing, gaps: nothing, labels: nothing }, rest);
  }

  // Upper bounds of the scores of all melodies in these blocks, by place.
  bounds(plan, numbers) {
    const { kernels } = this;
    return kernels.scope(() => {
      const found = kernels.take(4 * MELODIES * numbers.length);
      kernels.check(kernels.wasm.bound_blocks(kernels.plan(plan), this.at, BigInt(numbers.length),
        kernels.put(BigInt64Array.from(numbers, BigInt)), found));
      return kernels.view(Int32Array, found, MELODIES * numbers.length).slice();
    });
  }

  // The scores of these melodies; UNKNOWN where 16 bits may not hold one.
  scores(plan, numbers) {
    const { kernels } = this, scores = new Int32Array(numbers.length);
    const order = Uint32Array.from(numbers, (_, k) => k).sort((a, b) => this.places[numbers[a]] - this.places[numbers[b]]);
    return kernels.scope(() => {
      const found = kernels.take(4 * numbers.length), places = BigInt64Array.from(order, k => BigInt(this.places[numbers[k]]));
      kernels.check(kernels.wasm.align_melodies(kernels.plan(plan), this.at, BigInt(numbers.length), kernels.put(places), found));
      const view = kernels.view(Int32Array, found, numbers.length);
      order.forEach((k, place) => { scores[k] = view[place]; });
      return scores;
    });
  }

  // The melodies that have all intervals of a query side by side, or nothing but such intervals.
  agreeing(intervals) {
    const { kernels } = this;
    return kernels.scope(() => {
      const found = kernels.take(this.blocks * MELODIES);
      kernels.wasm.same_intervals(this.at, BigInt(intervals.length), kernels.put(intervals), found);
      const flags = kernels.view(Int8Array, found, this.count);
      return this.order.filter((_, place) => flags[place]).sort();
    });
  }
}
