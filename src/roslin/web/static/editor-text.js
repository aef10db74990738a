// Plaine & Easie as an editor sees it: the text taken apart into its signs, each in its place, and put together again.
// What the editor does not understand (ornaments, beams, changes in mid-line) stays where it stands.
//
// Octave and length hold on in the code, an accidental until the bar line. So every note (and rest) keeps what holds for
// it when the text is read, and when the text is written again each gets the signs that it needs to keep that, and no
// others. An edit (editor-edits.js) changes what a note is, and leaves the signs to the writer.

export const LETTERS = "CDEFGAB";
const SEMITONES = [0, 2, 4, 5, 7, 9, 11];
export const SIGNS = { x: 1, xx: 2, b: -1, bb: -2, n: 0, "#": 1, "♯": 1, X: 1, "×": 1, "♮": 0, "♭": -1 };
const SIGN_OF = { 1: "x", 2: "xx", "-1": "b", "-2": "bb", 0: "n" };
const QUARTERS = { 0: 16, 9: 8, 1: 4, 2: 2, 4: 1, 8: 1 / 2, 6: 1 / 4, 3: 1 / 8, 5: 1 / 16, 7: 1 / 32 };

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
const octaveMarks = octave => (octave > 3 ? "'".repeat(octave - 3) : ",".repeat(4 - octave));
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

// Which letters a key signature alters, and by how much.
export function keyOf(text) {
  const altered = {};
  let sign = 0;
  for (const character of text) {
    if (character in SIGNS) sign = SIGNS[character];
    else if (LETTERS.includes(character)) altered[character] = sign;
  }
  return altered;
}

export const headerParts = header => ({
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

// -- clef, key and metre ------------------------------------------------------------------------------------------------

// Key, metre and clef of a text, and a text with others. Letters stay: a new key alters what they mean, as on paper.
export const signatures = text => headerParts(HEADER.exec(text)?.[0] || "");

export function withSignatures(text, changes) {
  const header = HEADER.exec(text)?.[0] || "";
  const { clef, metre, key } = { ...headerParts(header), ...changes };
  const written = `%${clef || "G-2"}${metre ? `@${metre}` : ""}${key ? `$${key}` : ""} `;
  return (metre || key || header ? written : "") + text.slice(header.length).trimStart();
}
