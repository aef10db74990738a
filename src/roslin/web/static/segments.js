// Notes out of frames of pitch (pitch.js). Sound is cut where it falls silent and where its loudness dips, as it does
// when a note is struck again. Each piece becomes a line of level steps that follows its pitch as closely as it can
// while every step has a price: a vibrato and a slide are too short to be worth one, a note is not. Last, all notes are
// put on the semitones of a key and a tuning that are the singer's own; the tuning may drift.
//
// A note is { onset, offset, heard, pitch }: seconds, the pitch as sung, and the semitone, both as MIDI numbers.

import { HOP } from "./pitch.js";

const CLEAR = 0.8, STILL_CLEAR = 0.6; // a note begins where the sound is clear, and lasts while it is not much less so
const ABOVE_ROOM = 9, STILL_ABOVE = 5; // decibels above the noise of the room, likewise
const NOISY = 0.5; // what is less clear than this is the room
const ROOM_RISES = 0.02, ROOM_FALLS = 0.3; // shares of the difference with each frame: half a second up, at once down
const QUIETEST = -65; // decibels: the room is never taken to be quieter than a good microphone
const LOUDEST = 45; // decibels: so far below the loudest note nothing is meant as a note
const GAP = 4; // frames; a break in the voice shorter than this is none
const DIP = 6; // decibels between two notes of the same pitch
const DIP_FRAMES = 15; // a dip is about as short as a consonant; a slower change is a swell
const GRID = 0.2; // semitones between the levels that a line may have
const FURTHEST = 1.2; // semitones; beyond it a frame is a slide or a slip, and tells nothing
const STEP_PRICE = 10; // semitones times frames; a vibrato would save about 3 by steps, a scoop of 100 ms 5 to 10
const SHORTEST = 6; // frames of a note; quicker ones are sung by nobody
const SCOOP = 12; // frames; a shorter note that is slurred to a neighbour is how the voice came there, or left it
const SCOOP_SPAN = 2.5; // semitones between a scoop and the note that it belongs to: two, sung out of tune
const SETTLED = 25; // frames after which a pitch is as sure as it gets; shorter notes tell less about the tuning
const TUNING_GRID = 0.05; // semitones
const TUNING_SPAN = 3; // semitones that a singer may drift, up or down
const TUNING_MOVES = 8; // steps of that grid from note to note
const SCALE = new Set([0, 2, 4, 5, 7, 9, 11]); // the notes of a major key, and of its relative minor and the modes
const OUTSIDE = 0.2; // what a note outside the key costs: as much as being off by 45 cents
const TUNING_PRICE = 3; // how much dearer it is to move the tuning than to sing out of it, by the square

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b), middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// The noise of the room at every frame: it falls at once with what is not clear, and rises slowly.
function roomLevels({ clarity, level }) {
  let room = QUIETEST;
  return level.map((here, k) => {
    if (clarity[k] < NOISY) room += (here > room ? ROOM_RISES : ROOM_FALLS) * (here - room);
    return Math.max(room, QUIETEST);
  });
}

// Which frames belong to a note: clear and loud enough to begin one, or to go on with it.
export function isVoiced(frames) {
  const { pitch, clarity, level } = frames, room = roomLevels(frames);
  const loudest = Math.max(...level.filter((_, k) => clarity[k] >= CLEAR), -Infinity);
  let isOn = false;
  return pitch.map((here, k) => {
    const [clear, above] = isOn ? [STILL_CLEAR, STILL_ABOVE] : [CLEAR, ABOVE_ROOM];
    isOn = !Number.isNaN(here) && clarity[k] >= clear && level[k] >= Math.max(room[k] + above, loudest - LOUDEST);
    return isOn;
  });
}

// Frames at which the loudness is lowest between two louder moments.
export function dips(level) {
  const smooth = level.map((_, k) => median(level.slice(Math.max(k - 1, 0), k + 2)));
  const found = [];
  for (let k = 1; k + 1 < smooth.length; k++) {
    const before = smooth.slice(Math.max(k - DIP_FRAMES, 0), k), after = smooth.slice(k + 1, k + 1 + DIP_FRAMES);
    const isLowest = smooth[k] < Math.min(...before.slice(-3)) && smooth[k] <= Math.min(...after.slice(0, 3));
    if (isLowest && Math.min(Math.max(...before), Math.max(...after)) >= smooth[k] + DIP) found.push(k);
  }
  return found;
}

// Stretches of voiced frames, as [first, end), cut at dips; breaks shorter than GAP do not end one.
export function pieces(frames) {
  const voiced = isVoiced(frames), cuts = new Set(dips(frames.level)), found = [];
  let first = -1, last = -1;
  const close = () => {
    if (first >= 0) found.push([first, last + 1]);
    first = -1;
  };
  voiced.forEach((is, k) => {
    if (cuts.has(k)) close();
    if (!is) return;
    if (first >= 0 && k - last > GAP) close();
    if (first < 0) first = k;
    last = k;
  });
  close();
  return found;
}

// The line of level steps that is cheapest: how far it is from the pitch, and a price for every step. As rows of
// [first, end, level], frames counted from the beginning of the pitches.
export function levelSteps(pitches, price = STEP_PRICE) {
  const known = pitches.filter(Number.isFinite);
  if (!known.length) return [];
  const lowest = Math.min(...known), count = Math.ceil((Math.max(...known) - lowest) / GRID) + 1;
  let costs = new Float64Array(count);
  const stays = [], bests = [];
  for (const pitch of pitches) {
    const best = costs.indexOf(Math.min(...costs)), changed = costs[best] + price;
    const stay = new Uint8Array(count), next = new Float64Array(count);
    for (let s = 0; s < count; s++) {
      stay[s] = costs[s] <= changed;
      const far = Number.isFinite(pitch) ? Math.min(Math.abs(pitch - lowest - s * GRID), FURTHEST) : 0;
      next[s] = Math.min(costs[s], changed) + far;
    }
    stays.push(stay);
    bests.push(best);
    costs = next;
  }
  const steps = [];
  let state = costs.indexOf(Math.min(...costs)), end = pitches.length;
  for (let k = pitches.length - 1; k >= 0; k--) {
    const isStart = k === 0 || !stays[k][state];
    if (!isStart) continue;
    steps.unshift([k, end, lowest + state * GRID]);
    end = k;
    state = bests[k];
  }
  return steps;
}

// The semitone of every note. Of all keys and slowly moving tunings, the ones that fit best: what a note is off counts
// by the square and by its length, what the tuning moves by the square, and a note outside the key a little.
export function onSemitones(heard, weights) {
  const ways = heard.length ? Array.from({ length: 12 }, (_, key) => inKey(heard, weights, key)) : [];
  return ways.reduce((best, way) => (way.cost < best.cost ? way : best), { cost: Infinity, pitches: [] }).pitches;
}

const isIn = (note, key) => SCALE.has((((note - key) % 12) + 12) % 12);

// The best way in one key: { cost, pitches }.
function inKey(heard, weights, key) {
  const count = Math.round((2 * TUNING_SPAN) / TUNING_GRID) + 1;
  const tuning = s => s * TUNING_GRID - TUNING_SPAN;
  let costs = Float64Array.from({ length: count }, (_, s) => (Math.abs(tuning(s)) <= 0.5 ? 0 : Infinity));
  const origins = [], chosen = [];
  heard.forEach((pitch, k) => {
    const next = new Float64Array(count), origin = new Uint16Array(count), semitone = new Int16Array(count);
    for (let s = 0; s < count; s++) {
      let least = Infinity;
      for (let from = Math.max(s - TUNING_MOVES, 0); from <= Math.min(s + TUNING_MOVES, count - 1); from++) {
        const cost = costs[from] + TUNING_PRICE * ((s - from) * TUNING_GRID) ** 2;
        if (cost < least) [least, origin[s]] = [cost, from];
      }
      const place = pitch - tuning(s), below = Math.floor(place);
      const [lower, upper] = [below, below + 1].map(note => (place - note) ** 2 + (isIn(note, key) ? 0 : OUTSIDE));
      semitone[s] = upper < lower ? below + 1 : below;
      next[s] = least + weights[k] * Math.min(lower, upper);
    }
    costs = next;
    origins.push(origin);
    chosen.push(semitone);
  });
  const cost = Math.min(...costs), pitches = [];
  let state = costs.indexOf(cost);
  for (let k = heard.length - 1; k >= 0; k--) {
    pitches[k] = chosen[k][state];
    state = origins[k][state];
  }
  return { cost, pitches };
}

// Slurred notes without scoops: what is too short for a note joins the neighbour whose pitch is nearer, if that is near
// enough; of two alike the one after it, for voices come to a note from below. The pitch is that of the neighbour.
export function withoutScoops(slurred) {
  const kept = [...slurred];
  for (let k = 0; k < kept.length; ) {
    const here = kept[k], far = other => (other ? Math.abs(other.heard - here.heard) : Infinity);
    const before = kept[k - 1], after = kept[k + 1], joins = far(before) < far(after) ? before : after;
    if (here.end - here.first >= SCOOP || far(joins) > SCOOP_SPAN) {
      k++;
      continue;
    }
    if (joins === after) Object.assign(after, { first: here.first, isTied: here.isTied });
    else before.end = here.end;
    kept.splice(k, 1);
  }
  return kept;
}

// Frames as notes.
export function segment(frames, price = STEP_PRICE) {
  const found = [];
  for (const [first, end] of pieces(frames)) {
    const slurred = [];
    for (const [from, to, level] of levelSteps(frames.pitch.slice(first, end), price)) {
      const near = frames.pitch.slice(first + from, first + to).filter(pitch => Math.abs(pitch - level) <= FURTHEST);
      if (near.length < SHORTEST) continue;
      slurred.push({ first: first + from, end: first + to, heard: median(near), isTied: from > 0 });
    }
    found.push(...withoutScoops(slurred));
  }
  const weights = found.map(note => Math.min((note.end - note.first) / SETTLED, 1));
  const semitones = onSemitones(found.map(note => note.heard), weights);
  const notes = [];
  found.forEach(({ first, end, heard, isTied }, k) => {
    const before = notes.at(-1), onset = frames.start + (first - 0.5) * HOP, offset = frames.start + (end - 0.5) * HOP;
    if (isTied && before?.pitch === semitones[k]) before.offset = offset;
    else notes.push({ onset, offset, heard, pitch: semitones[k] });
  });
  return notes;
}
