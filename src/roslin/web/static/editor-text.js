// Plaine & Easie as an editor sees it: the text taken apart into its signs, each in its place, and edits that change only
// what they must. What the editor does not understand (ornaments, beams, changes in mid-line) stays where it stands.
//
// Octave and length hold on in the code, an accidental until the bar line. So every note (and rest) keeps what holds for
// it when the text is read, and when the text is written again each gets the signs that it needs to keep that, and no
// others. An edit changes what a note is, and leaves the signs to the writer.

const LETTERS = "CDEFGAB";
const SEMITONES = [0, 2, 4, 5, 7, 9, 11];
const SIGNS = { x: 1, xx: 2, b: -1, bb: -2, n: 0, "#": 1, "♯": 1, X: 1, "×": 1, "♮": 0, "♭": -1 };
const SIGN_OF = { 1: "x", 2: "xx", "-1": "b", "-2": "bb", 0: "n" };
const SPELLED = ["C", "xC", "D", "bE", "E", "F", "xF", "G", "xG", "A", "bB", "B"];
const LOWEST = 1, HIGHEST = 7; // three commas and four apostrophes are the most that the code allows
const QUARTERS = { 0: 16, 9: 8, 1: 4, 2: 2, 4: 1, 8: 1 / 2, 6: 1 / 4, 3: 1 / 8, 5: 1 / 16, 7: 1 / 32 };
const CLOSE = 1e-6; // quarters that are the same

const HEADER = /^\s*%\S*\s+/;
const KINDS = [
  ["octave", /["']+|,+/y],
  ["length", /(?:[0-9]\.*)+/y],
  ["key", /\$[xbnA-G[\]]*/y],
  ["raw", /%[A-Ga-g][-+*:]?[0-9]|@[^\s%$'",]*|=\s?[0-9]*|;\s*[0-9]+|:(?!\/\/)/y],
  ["accidental", /xx|bb|[xbn#♯X×♮♭]/y],
  ["note", /[A-G]/y],
  ["rest", /-/y],
  ["bar", /:\/\/:?|\/\/:?|\/|\|/y],
  ["tie", /\+/y],
  ["chord", /\^/y],
  ["grace", /qq?|g/y],
  ["open", /\(/y],
  ["close", /\)/y],
  ["raw", /[^]/y],
];

const octaveOf = marks => (marks[0] === "," ? 4 - marks.length : 3 + [...marks].reduce((sum, mark) => sum + (mark === '"' ? 2 : 1), 0));
export const octaveMarks = octave => (octave > 3 ? "'".repeat(octave - 3) : ",".repeat(4 - octave));
const lengthsOf = text => text.match(/[0-9]\.*/g);
export const quartersOf = length => QUARTERS[length[0]] * (2 - 2 ** -(length.length - 1));

// -- reading ------------------------------------------------------------------------------------------------------------

function atomsOf(text) {
  const start = HEADER.exec(text)?.[0].length || 0, atoms = [];
  let position = start;
  while (position < text.length) {
    for (const [kind, pattern] of KINDS) {
      pattern.lastIndex = position;
      const found = pattern.exec(text);
      if (!found) continue;
      atoms.push({ kind, text: found[0], at: position });
      position = pattern.lastIndex;
      break;
    }
  }
  return { header: text.slice(0, start), atoms };
}

const isNoteOrRest = atom => atom.kind === "note" || atom.kind === "rest";

// Groups in parentheses; around a single note they are a fermata.
function findGroups(atoms) {
  const groups = [];
  let open = null;
  for (const atom of atoms) {
    if (atom.kind === "open") open = { open: atom, close: null, number: null, total: null, atoms: [] };
    else if (atom.kind === "close" && open) {
      open.close = atom;
      if (open.atoms.length > 1 || open.number) groups.push(open);
      open = null;
    } else if (open && isNoteOrRest(atom)) open.atoms.push(atom);
    else if (open && atom.text[0] === ";") open.number = atom;
  }
  for (const group of groups) {
    const before = atoms[atoms.indexOf(group.open) - 1];
    if (before?.kind === "length") group.total = before;
    for (const atom of group.atoms) atom.group = group;
  }
  return groups;
}

function keyOf(text) {
  const altered = {};
  let sign = 0;
  for (const character of text) {
    if (character in SIGNS) sign = SIGNS[character];
    else if (LETTERS.includes(character)) altered[character] = sign;
  }
  return altered;
}

const headerParts = header => ({
  clef: /%([A-Ga-g][-+*:]?[1-5])/.exec(header)?.[1] || "",
  metre: /@([^@$\s]+)/.exec(header)?.[1] || "",
  key: /\$([^@$\s]*)/.exec(header)?.[1] || "",
});

// What holds at a place of the text: one for reading and one for writing, so that both go by the same rules.
class Holding {
  constructor(header) {
    Object.assign(this, { octave: 4, lengths: ["4"], next: 0, hasOctave: false, hasLength: false });
    this.key = keyOf(headerParts(header).key);
    this.inBar = new Map();
    this.ties = new Map();
  }

  get length() { return this.lengths[this.next]; }

  inherited(letter, octave) {
    const name = letter + octave;
    return this.ties.get(name) ?? this.inBar.get(name) ?? this.key[letter] ?? 0;
  }

  pass(atom) {
    if (atom.kind === "bar") this.inBar.clear();
    else if (atom.kind === "key" && atom.text) this.key = keyOf(atom.text.slice(1));
  }
}

// A text taken apart: { header, atoms, events, groups }. An event is a note or a rest.
export function parse(text) {
  const { header, atoms } = atomsOf(text);
  const groups = findGroups(atoms), events = [], holding = new Holding(header);
  const hasChordEnd = text.includes(">");
  let own = {}, grace = null, chord = null, inChord = false, last = null;
  atoms.forEach((atom, number) => {
    holding.pass(atom);
    if (atom.kind === "octave" || atom.kind === "accidental") own[atom.kind] = atom;
    else if (atom.kind === "length") {
      const opens = groups.some(group => group.total === atom);
      if (opens) setLengths(holding, atom.text);
      else own.length = atom;
    } else if (atom.kind === "grace") grace = atom;
    else if (atom.text === "r" && grace?.text === "qq") grace = null;
    else if (atom.kind === "chord") [chord, inChord] = [atom, !hasChordEnd];
    else if (atom.text === ">") chord = null;
    else if (atom.kind === "tie" && last && atoms[number - 1] !== undefined) {
      last.tie = atom;
      holding.ties.set(last.letter + last.octave, last.alter);
    } else if (isNoteOrRest(atom)) {
      const event = { atom, kind: atom.kind, own, grace, tie: null, group: atom.group || null, chord: inChord ? chord : null };
      readEvent(event, holding);
      events.push(event);
      last = event.kind === "note" ? event : null;
      own = {};
      if (grace?.text !== "qq") grace = null;
      inChord = hasChordEnd && chord !== null;
      if (!hasChordEnd) chord = null;
    }
  });
  return { header, atoms, events, groups };
}

function setLengths(holding, text) {
  holding.lengths = lengthsOf(text);
  holding.next = 0;
  holding.hasLength = true;
}

function readEvent(event, holding) {
  event.was = { octave: holding.hasOctave ? holding.octave : null, length: holding.hasLength ? holding.length : null };
  if (event.own.octave) {
    holding.octave = octaveOf(event.own.octave.text);
    holding.hasOctave = true;
  }
  if (event.own.length) setLengths(holding, event.own.length.text);
  event.length = event.chord || event.grace?.text === "g" ? null : holding.length;
  if (event.length !== null && !event.grace) holding.next = (holding.next + 1) % holding.lengths.length;
  if (event.kind === "rest") {
    holding.ties.clear();
    return;
  }
  event.letter = event.atom.text;
  event.octave = holding.octave;
  const sign = event.own.accidental?.text;
  event.was.alter = holding.inherited(event.letter, event.octave);
  event.alter = sign ? SIGNS[sign] : event.was.alter;
  if (sign) holding.inBar.set(event.letter + event.octave, event.alter);
  event.isTied = holding.ties.has(event.letter + event.octave);
  if (!event.chord && !event.grace) holding.ties.clear();
}

export const midiOf = event => 12 * event.octave + 12 + SEMITONES[LETTERS.indexOf(event.letter)] + event.alter;

// -- writing ------------------------------------------------------------------------------------------------------------

// The text of a piece that was changed.
export function write(piece) {
  const holding = new Holding(piece.header);
  const byAtom = new Map(piece.events.map(event => [event.atom, event]));
  const totals = new Set(piece.groups.map(group => group.total));
  for (const atom of piece.atoms) {
    holding.pass(atom);
    if (totals.has(atom) && atom.text) setLengths(holding, atom.text);
    else if (atom.kind === "tie" && atom.text && atom.of) holding.ties.set(atom.of.letter + atom.of.octave, atom.of.alter);
    const event = byAtom.get(atom);
    if (event) writeEvent(event, holding);
  }
  return piece.header + piece.atoms.map(atom => (atom.before || "") + atom.text).join("");
}

// Gives an event the signs that it needs: octave, length, accidental, letter is their order.
function writeEvent(event, holding) {
  const { own, group } = event, signs = { octave: "", length: "", accidental: "" };
  const opens = group && !group.total && group.atoms[0] === event.atom; // the code wants the length of a group inside it
  const needs = (kind, wanted, held, isStated, text) => {
    const isNeeded = wanted !== held || !isStated || (kind === "length" && opens), isChanged = held !== event.was?.[kind];
    const isRight = own[kind] && own[kind].text && (kind === "octave" ? octaveOf(own.octave.text) : own.length.text) === wanted;
    if (own[kind]) own[kind].text = !isNeeded && (isChanged || !isRight) ? "" : isRight ? own[kind].text : text;
    else if (isNeeded) signs[kind] = text;
  };
  if (event.kind === "note") {
    needs("octave", event.octave, holding.octave, holding.hasOctave, octaveMarks(event.octave));
    [holding.octave, holding.hasOctave] = [event.octave, true];
  } else if (own.octave?.text) [holding.octave, holding.hasOctave] = [octaveOf(own.octave.text), true];
  if (event.length !== null) {
    needs("length", event.length, holding.lengths.length > 1 ? "" : holding.length, holding.hasLength, event.length);
    setLengths(holding, event.length);
  }
  if (event.kind === "note") writeAccidental(event, holding, signs);
  event.atom.text = event.kind === "note" ? event.letter : "-";
  if (own.length?.text) own.length.before = signs.octave;
  else signs.length = signs.octave + signs.length;
  if (own.accidental?.text) own.accidental.before = signs.length;
  else event.atom.before = signs.length + signs.accidental;
}

function writeAccidental(event, holding, signs) {
  const inherited = holding.inherited(event.letter, event.octave), own = event.own.accidental;
  event.alter ??= inherited;
  const isChanged = event.isChanged || (own && inherited !== event.was.alter);
  if (own?.text && (SIGNS[own.text] !== event.alter || isChanged)) {
    own.text = inherited === event.alter ? "" : SIGN_OF[event.alter];
  } else if (!own?.text && inherited !== event.alter) signs.accidental = SIGN_OF[event.alter];
  if (own?.text || signs.accidental) holding.inBar.set(event.letter + event.octave, event.alter);
  if (!event.chord && !event.grace) holding.ties.clear();
}

// -- edits: each takes a text and which event, and gives the text and which event is chosen then ----------------------------

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

// How long an event lasts, in quarters.
export function duration(event, events) {
  if (event.length === null || event.grace) return 0;
  const own = quartersOf(event.length), { group } = event;
  if (!group) return own;
  const all = events.filter(one => one.group === group && !one.grace && one.length !== null);
  const count = Number(group.number?.text.slice(1)) || 3;
  const usual = count === 2 || count === 4 ? 3 : 2 ** Math.ceil(Math.log2(count) - 1);
  const written = all.reduce((sum, one) => sum + quartersOf(one.length), 0);
  return group.total ? (own * quartersOf(group.total.text)) / written : (own * usual) / count;
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

// Key, metre and clef of a text, and a text with others. Letters stay: a new key alters what they mean, as on paper.
export const signatures = text => headerParts(HEADER.exec(text)?.[0] || "");

export function withSignatures(text, changes) {
  const header = HEADER.exec(text)?.[0] || "";
  const { clef, metre, key } = { ...headerParts(header), ...changes };
  const written = `%${clef || "G-2"}${metre ? `@${metre}` : ""}${key ? `$${key}` : ""} `;
  return (metre || key || header ? written : "") + text.slice(header.length).trimStart();
}
