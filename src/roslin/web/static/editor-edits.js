// Edits of Plaine & Easie: each takes a text and which event of it (a note or a rest), and gives the text and which event is
// chosen then. They change what they must, and leave the signs to the writer (editor-text.js).

import { LETTERS, SIGNS, duration, headerParts, keyOf, midiOf, parse, write } from "./editor-text.js";

const SPELLED = ["C", "xC", "D", "bE", "E", "F", "xF", "G", "xG", "A", "bB", "B"];
const LOWEST = 1, HIGHEST = 7; // three commas and four apostrophes are the most that the code allows
const CLOSE = 1e-6; // quarters that are the same

function edit(text, change) {
  const piece = parse(text);
  for (const event of piece.events) if (event.tie) event.tie.of = event;
  const chosen = change(piece);
  const written = write(piece);
  return { text: written, chosen: Math.max(Math.min(piece.events.indexOf(chosen), piece.events.length - 1), -1) };
}

// All pieces of a tied note: they are one note.
function tiedWith({ events }, number) {
  let first = number, last = number;
  while (first > 0 && events[first].isTied && events[first - 1].tie) first--;
  while (last < events.length - 1 && events[last].tie && events[last + 1].isTied) last++;
  return events.slice(first, last + 1);
}

function setPitch(piece, number, change) {
  for (const event of tiedWith(piece, number)) {
    if (event.kind !== "note") continue;
    const before = { octave: event.octave, letter: event.letter, alter: event.alter };
    change(event);
    if (event.octave < LOWEST || event.octave > HIGHEST) Object.assign(event, before);
    event.isChanged = true;
  }
  return piece.events[number];
}

export function step(text, number, steps) {
  return edit(text, piece => setPitch(piece, number, event => {
    const place = 7 * event.octave + LETTERS.indexOf(event.letter) + steps;
    event.letter = LETTERS[place % 7];
    event.octave = Math.floor(place / 7);
    event.alter = null; // as the key has it, or the bar
  }));
}

export const octave = (text, number, octaves) => edit(text, piece => setPitch(piece, number, event => { event.octave += octaves; }));

// A second time takes it away: then the note is as the key has it.
export function accidental(text, number, alter) {
  return edit(text, piece => {
    const key = keyOf(headerParts(piece.header).key);
    return setPitch(piece, number, event => { event.alter = event.alter === alter ? key[event.letter] ?? 0 : alter; });
  });
}

export function length(text, number, value) {
  return edit(text, piece => {
    if (piece.events[number].length !== null) piece.events[number].length = value;
    return piece.events[number];
  });
}

export function dot(text, number) {
  const now = parse(text).events[number].length;
  return now === null ? { text, chosen: number } : length(text, number, now.endsWith(".") ? now[0] : `${now}.`);
}

const without = (list, ...some) => some.forEach(one => { if (list.includes(one)) list.splice(list.indexOf(one), 1); });

// The place behind an event: after its trill and its tie, and after a group that it ends.
function placeBehind(piece, event) {
  const { group } = event;
  let place = piece.atoms.indexOf(group?.atoms.at(-1) === event.atom ? group.close : event.atom) + 1;
  while (place < piece.atoms.length && (piece.atoms[place].kind === "tie" || /^[tpu}]$/.test(piece.atoms[place].text))) place++;
  return place;
}

// The place before an event, and before the signs that are its own.
function placeBefore(piece, event) {
  const { group } = event;
  if (group?.atoms[0] === event.atom) return piece.atoms.indexOf(group.total || group.open);
  const signs = [event.atom, event.grace, ...Object.values(event.own)].filter(Boolean);
  return Math.min(...signs.map(atom => piece.atoms.indexOf(atom)));
}

function newEvent(kind, values) {
  const atom = { kind, text: kind === "note" ? "C" : "-" };
  return { atom, kind, own: {}, grace: null, tie: null, group: null, chord: null, ...values };
}

function untie(piece, event) {
  if (event?.tie) without(piece.atoms, event.tie);
  if (event) event.tie = null;
}

// A note (or a rest, for null) behind an event, or before it; at the end where there is none.
export function insert(text, number, { pitch, letter, length: value }, isBefore = false) {
  return edit(text, piece => {
    while (!isBefore && piece.events[number + 1]?.chord) number++;
    const beside = piece.events[number], at = isBefore ? number : number + 1;
    let spelled = {};
    if (letter) spelled = nearest(letter, piece.events.slice(0, at).findLast(event => event.kind === "note"));
    else if (pitch !== null) {
      const name = SPELLED[pitch % 12];
      spelled = { letter: name.at(-1), alter: name.length > 1 ? SIGNS[name[0]] : 0, octave: Math.floor(pitch / 12) - 1 };
    }
    const made = newEvent(pitch === null ? "rest" : "note", { ...spelled, length: value });
    untie(piece, piece.events[at - 1]);
    const place = !beside ? piece.atoms.length : isBefore ? placeBefore(piece, beside) : placeBehind(piece, beside);
    piece.atoms.splice(place, 0, made.atom);
    piece.events.splice(beside ? at : piece.events.length, 0, made);
    return made;
  });
}

// The note of this letter that is nearest to another one.
function nearest(letter, other) {
  const place = LETTERS.indexOf(letter), from = other ? 7 * other.octave + LETTERS.indexOf(other.letter) : 28;
  return { letter, octave: Math.floor((from + 3 - place) / 7), alter: null };
}

export function insertCopy(text, number, isBefore) {
  const event = parse(text).events[number];
  const pitch = event.kind === "rest" ? null : midiOf(event);
  return insert(text, number, { pitch, length: event.length ?? "4" }, isBefore);
}

export function remove(text, number) {
  return edit(text, piece => {
    const event = piece.events[number];
    const gone = [event];
    for (let next = number + 1; !event.chord && piece.events[next]?.chord; next++) gone.push(piece.events[next]);
    untie(piece, event.isTied ? piece.events[number - 1] : null);
    for (const one of gone) {
      untie(piece, one);
      without(piece.atoms, one.atom, one.chord, one.grace?.text === "qq" ? null : one.grace, ...Object.values(one.own));
      if (one.group) without(one.group.atoms, one.atom);
      if (one.group && one.group.atoms.length < 2) ungroup(piece, one.group);
    }
    without(piece.events, ...gone);
    return piece.events[Math.min(number, piece.events.length - 1)];
  });
}

export function toggleRest(text, number) {
  return edit(text, piece => {
    const event = piece.events[number];
    untie(piece, event);
    untie(piece, event.isTied ? piece.events[number - 1] : null);
    if (event.kind === "rest") {
      const other = piece.events.slice(0, number).findLast(one => one.kind === "note") || piece.events.find(one => one.kind === "note");
      Object.assign(event, { kind: "note", letter: other?.letter ?? "C", octave: other?.octave ?? 4, alter: null });
      event.atom.kind = "note";
    } else if (event.length !== null) {
      without(piece.atoms, event.own.accidental, event.own.octave);
      Object.assign(event, { kind: "rest", own: { length: event.own.length } });
      event.atom.kind = "rest";
    }
    return event;
  });
}

// Ties a note to the next one, which takes its pitch; a second time unties them.
export function toggleTie(text, number) {
  return edit(text, piece => {
    const event = piece.events[number], next = piece.events[number + 1];
    if (event.tie) untie(piece, event);
    else if (event.kind === "note" && !event.grace && (!next || (next.kind === "note" && !next.grace))) {
      event.tie = { kind: "tie", text: "+", of: event };
      let place = piece.atoms.indexOf(event.atom) + 1;
      while (/^[tpu]$/.test(piece.atoms[place]?.text)) place++;
      piece.atoms.splice(place, 0, event.tie);
      if (next) Object.assign(next, { letter: event.letter, octave: event.octave, alter: event.alter, isChanged: true });
    }
    return event;
  });
}

function ungroup(piece, group) {
  without(piece.atoms, group.open, group.close, group.number, group.total);
  without(piece.groups, group);
  for (const event of piece.events) if (event.group === group) Object.assign(event, { group: null, was: { alter: event.was?.alter } });
}

// Three notes of a bar in the time of two, from this one on; a second time takes the group apart.
export function toggleTriplet(text, number) {
  return edit(text, piece => {
    const event = piece.events[number], three = piece.events.slice(number, number + 3);
    if (event.group) {
      ungroup(piece, event.group);
      return event;
    }
    if (three.length < 3 || three.some(one => one.group || one.grace || one.chord)) return event;
    const between = piece.atoms.slice(piece.atoms.indexOf(event.atom), piece.atoms.indexOf(three[2].atom));
    if (between.some(atom => atom.kind === "bar")) return event;
    const group = { open: { kind: "open", text: "(" }, close: { kind: "close", text: ")" }, number: { kind: "raw", text: ";3" }, total: null };
    group.atoms = three.map(one => one.atom);
    piece.atoms.splice(piece.atoms.indexOf(three[2].tie || three[2].atom) + 1, 0, group.number, group.close);
    without(piece.atoms, ...Object.values(event.own));
    event.own = {};
    piece.atoms.splice(piece.atoms.indexOf(event.atom), 0, group.open);
    piece.groups.push(group);
    for (const one of three) one.group = group;
    return event;
  });
}

// A bar line behind the note, or none any more.
export function toggleBar(text, number) {
  return edit(text, piece => {
    const event = piece.events[number], next = piece.events[number + 1];
    const from = piece.atoms.indexOf(event.atom), to = next ? piece.atoms.indexOf(next.atom) : piece.atoms.length;
    const line = piece.atoms.slice(from, to).find(atom => atom.kind === "bar");
    if (line) without(piece.atoms, line);
    else piece.atoms.splice(placeBehind(piece, event), 0, { kind: "bar", text: "/" });
    return event;
  });
}

function barLength(metre) {
  const fraction = /([0-9]+)\/([0-9]+)/.exec(metre);
  return fraction ? (4 * fraction[1]) / fraction[2] : metre === "3" ? 3 : 4;
}

// Bar lines by the metre, with a bar that begins at this note: what is before it is the upbeat.
export function barsFrom(text, number) {
  return edit(text, piece => {
    const bar = barLength(headerParts(piece.header).metre);
    for (const line of piece.atoms.filter(atom => /^[/|]$/.test(atom.text))) without(piece.atoms, line);
    const starts = [];
    let time = 0;
    for (const event of piece.events) {
      starts.push(time);
      time += duration(event, piece.events);
    }
    const offset = starts[number];
    const isDownbeat = moment => Math.abs((moment - offset) / bar - Math.round((moment - offset) / bar)) < CLOSE / bar;
    for (let place = piece.events.length - 1; place >= 0; place--) {
      const end = starts[place + 1] ?? time, event = piece.events[place];
      const isWithin = event.group && event.group.atoms.at(-1) !== event.atom;
      if (end > starts[place] && isDownbeat(end) && !isWithin) piece.atoms.splice(placeBehind(piece, event), 0, { kind: "bar", text: "/" });
    }
    return piece.events[number];
  });
}
