// Staff notation of a melody as SVG: a simple engraver. The page holds the glyphs, under their SMuFL names.
//
// A melody is { notes, bars, clef, signature, metre }; a note { onset, duration, step, sharps, isGrace, pitch } in ticks.
// A step is 0 for C of octave 0 and 28 for middle C. One space of the staff is 250 units.
import { _ } from "./words.js";

const QUARTER = 40320, SPACE = 250, STEM = 875, LINE = 32, PIXELS = 7.2, MARGIN = 100;
const CLEFS = { G: ["E050", 32], F: ["E062", 24], C: ["E05C", 28] }; // glyph, the step of its line
const SIGNS = { "-2": "E264", "-1": "E260", 0: "E261", 1: "E262", 2: "E263" };
const SHARP_STEPS = { F: 38, C: 35, G: 39, D: 36, A: 33, E: 37, B: 34 }, FLAT_STEPS = { B: 34, E: 37, A: 33, D: 36, G: 32, C: 35, F: 31 };
const LETTERS = "CDEFGAB";
const VALUES = [8, 4, 2, 1, 0.5, 0.25, 0.125, 0.0625].flatMap(value => [[value * 1.5, value, 1], [value, value, 0]]);
const RESTS = { 4: "E4E3", 2: "E4E4", 1: "E4E5", 0.5: "E4E6", 0.25: "E4E7", 0.125: "E4E8", 0.0625: "E4E9" };
const FLAGS = { 0.5: ["E240", "E241"], 0.25: ["E242", "E243"], 0.125: ["E244", "E245"], 0.0625: ["E246", "E247"] };
const beams = value => ({ 0.5: 1, 0.25: 2, 0.125: 3, 0.0625: 4 })[value] ?? 0;

export const escaped = text => String(text ?? "").replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`);

// Which letters a signature like "bBE" alters.
function altered(signature) {
  const found = {};
  let sign = 0;
  for (const each of signature ?? "") {
    if ("x#".includes(each)) sign = 1;
    else if (each === "b") sign = -1;
    else if (LETTERS.includes(each)) found[each] = sign;
  }
  return found;
}

// A length as note values: [[value, dots, whether it is of a triplet]].
function valuesOf(ticks) {
  const quarters = ticks / QUARTER, third = VALUES.find(([length]) => Math.abs(length * (2 / 3) - quarters) < 1e-6);
  if (third && !VALUES.some(([length]) => Math.abs(length - quarters) < 1e-6)) return [[third[1], third[2], true]];
  const found = [];
  for (let left = quarters; left > 0.03 && found.length < 8;) {
    const [length, value, dots] = VALUES.find(each => each[0] <= left + 1e-6) ?? VALUES[VALUES.length - 1];
    found.push([value, dots, false]);
    left -= length;
  }
  return found;
}

// The melody in bars: pieces of notes and rests, each with one note value.
function barsOf({ notes, bars }) {
  const end = Math.max(0, ...notes.map(note => note.onset + (note.isGrace ? 0 : note.duration)));
  const lines = [...new Set((bars ?? []).filter(tick => tick > 0 && tick < end)), end].sort((a, b) => a - b), made = lines.map(() => []);
  const put = (from, to, piece) => {
    let at = from, isFirst = true;
    lines.forEach((line, bar) => {
      if (at >= to || at >= line) return;
      const stop = Math.min(to, line);
      for (const [value, dots, isTriplet] of valuesOf(stop - at)) {
        made[bar].push({ ...piece, at, value, dots, isTriplet, isTied: !isFirst, ticks: stop - at });
        isFirst = false;
      }
      at = stop;
    });
  };
  let now = 0;
  notes.forEach((note, row) => {
    if (note.isGrace) {
      made[Math.max(lines.findIndex(line => line > note.onset), 0)].push({ ...note, row, value: 0.5, dots: 0, isSmall: true, at: note.onset });
      return;
    }
    if (note.onset > now) put(now, note.onset, { isRest: true });
    const isChord = note.onset < now;
    put(note.onset, note.onset + Math.max(note.duration, 1), { ...note, row, isChord });
    now = Math.max(now, note.onset + note.duration);
  });
  return made;
}

// Notes of a bar that share a beam: short ones without a rest between them, within one beat.
function beamed(pieces, start, metre) {
  const [over, under] = (metre ?? "4/4").split("/").map(Number), beat = under === 8 && over % 3 === 0 ? 1.5 * QUARTER : QUARTER;
  const groups = [];
  let group = [];
  for (const piece of pieces) {
    if (piece.isSmall) continue;
    const fits = !piece.isRest && !piece.isChord && beams(piece.value) > 0, last = group[group.length - 1];
    const isSameBeat = last && Math.floor((last.at - start) / beat) === Math.floor((piece.at - start) / beat);
    if (!(fits && isSameBeat)) {
      if (group.length > 1) groups.push(group);
      group = [];
    }
    if (fits) group.push(piece);
  }
  return group.length > 1 ? [...groups, group] : groups;
}

// { svg, heads }: `heads` has the place of each note of the table, for lines between two drawings.
export function engraved(melody, { title = "", matched = [], width = 840, prefix = "" } = {}) {
  const { metre } = melody, isMatched = new Set(matched), out = [], heads = [], most = (width / PIXELS) * SPACE;
  const [letter = "G", lineNumber = "2"] = /([GFC])[-+*:]?([1-5])/.exec(melody.clef ?? "")?.slice(1) ?? [];
  const [clef, clefStep] = CLEFS[letter], bottom = clefStep - 2 * (lineNumber - 1); // the step of the lowest line
  const key = altered(melody.signature), bars = barsOf(melody);
  let top = 0, height = 0, x = 0, widest = 0, row = [];
  const yOf = step => top + 4 * SPACE - ((step - bottom) * SPACE) / 2;
  const glyph = (name, at, y, scale = 1) => `<use href="#${name}" transform="translate(${Math.round(at)} ${Math.round(y)}) scale(${scale})"/>`;
  const rect = (at, y, w, h) => `<rect x="${Math.round(at)}" y="${Math.round(y)}" width="${Math.round(w)}" height="${Math.round(h)}" stroke="none"/>`;

  const begin = isFirst => {
    top = height + 5 * SPACE;
    height = top + 9 * SPACE;
    row = [glyph(clef, MARGIN, yOf(clefStep))];
    x = MARGIN + 850;
    const steps = Object.values(key)[0] > 0 ? SHARP_STEPS : FLAT_STEPS, shift = { G: 0, F: -14 + 12, C: -7 + 6 }[letter];
    for (const [name, sign] of Object.entries(key)) {
      let step = steps[name];
      while (step < bottom) step += 7;
      while (step > bottom + 9) step -= 7;
      row.push(glyph(SIGNS[sign], x, yOf(step + 0 * shift)));
      x += 220;
    }
    if (isFirst && metre) x = drawMetre(x + 80);
    x += 250;
  };
  const drawMetre = at => {
    if (/^c/i.test(metre)) row.push(glyph(metre.includes("/") ? "E08B" : "E08A", at, top + 2 * SPACE));
    else {
      metre.split(" ")[0].split("/").slice(0, 2).forEach((digits, k) => [...digits].forEach((digit, place) =>
        /\d/.test(digit) && row.push(glyph(`E08${digit}`, at + 420 * place, top + (k ? 3 : 1) * SPACE))));
    }
    return at + 250 + 250 * Math.max(...metre.split("/").map(each => each.length));
  };
  const finish = () => {
    widest = Math.max(widest, x);
    const lines = [0, 1, 2, 3, 4].map(k => `<path d="M0 ${top + k * SPACE}H${Math.round(x)}" stroke-width="${LINE}"/>`);
    out.push(`<g class="staff">${lines.join("")}${row.join("")}</g>`);
  };
  const room = piece => (piece.isChord ? 0 : piece.isSmall ? 330 : 430 + 330 * Math.sqrt(piece.value * (piece.dots ? 1.5 : 1)));

  begin(true);
  let start = 0, isEmpty = true;
  const ties = new Map();
  for (const pieces of bars) {
    const inBar = new Map(), signs = pieces.map(piece => {
      if (piece.isRest || piece.isTied) return null;
      const held = inBar.get(piece.step) ?? key[LETTERS[piece.step % 7]] ?? 0;
      inBar.set(piece.step, piece.sharps);
      return held === piece.sharps ? null : SIGNS[piece.sharps];
    });
    const needed = pieces.reduce((sum, piece, k) => sum + room(piece) + (signs[k] ? 260 : 0), 300);
    if (!isEmpty && x + needed > most) {
      finish();
      begin(false);
      ties.clear();
    }
    isEmpty = false;
    const stems = new Map();
    for (const group of beamed(pieces, start, metre)) {
      const isUp = group.reduce((sum, piece) => sum + piece.step - bottom - 4, 0) < 0;
      for (const piece of group) stems.set(piece, { group, isUp });
    }
    let here = x;
    pieces.forEach((piece, k) => {
      if (!piece.isChord) {
        if (signs[k]) x += 260;
        here = x;
      }
      x += room(piece);
      piece.x = here;
      const dots = at => (piece.dots ? `<circle cx="${Math.round(here + 430)}" cy="${Math.round(at)}" r="45" stroke="none"/>` : "");
      if (piece.isRest) {
        row.push(`<g class="rest">${glyph(RESTS[piece.value] ?? "E4E3", here, top + (piece.value >= 4 ? 1 : 2) * SPACE)}${dots(top + 1.5 * SPACE)}</g>`);
        return;
      }
      const y = piece.y = yOf(piece.step), scale = piece.isSmall ? 0.65 : 1, wide = (piece.value >= 4 ? 420 : 295) * scale;
      const parts = [`<g class="notehead">${glyph(piece.value >= 4 ? "E0A2" : piece.value === 2 ? "E0A3" : "E0A4", here, y, scale)}</g>`];
      if (signs[k]) parts.push(glyph(signs[k], here - 260, y, scale));
      for (let step = bottom - 2; step >= piece.step; step -= 2) parts.push(rect(here - 80, yOf(step) - LINE / 2, wide + 160, LINE));
      for (let step = bottom + 10; step <= piece.step; step += 2) parts.push(rect(here - 80, yOf(step) - LINE / 2, wide + 160, LINE));
      parts.push(dots(y - ((piece.step - bottom) % 2 ? 0 : SPACE / 2)));
      const beam = stems.get(piece), isUp = beam ? beam.isUp : piece.isSmall || piece.step - bottom < 4;
      const stemX = here + (isUp ? wide - LINE : 0), length = STEM * scale;
      if (piece.value < 4 && !beam) {
        parts.push(rect(stemX, isUp ? y - length : y, LINE, length));
        const flag = FLAGS[piece.value];
        if (flag && !piece.isChord) parts.push(glyph(flag[isUp ? 0 : 1], stemX, isUp ? y - length : y + length, scale));
      }
      Object.assign(piece, { stemX, isUp });
      const before = ties.get(piece.row);
      if (piece.isTied && before) {
        const bend = isUp ? 1 : -1, y1 = y + bend * 160, from = before.x + 300;
        row.push(`<path fill="none" stroke-width="40" d="M${Math.round(from)} ${y1}Q${Math.round((from + here) / 2)} ${y1 + bend * 220} ${Math.round(here)} ${y1}"/>`);
      }
      ties.set(piece.row, piece);
      heads[piece.row] ??= { x: here + wide / 2, y };
      const mark = isMatched.has(piece.row) ? " matched" : "";
      row.push(`<g${piece.isTied ? "" : ` id="${prefix}note-${piece.row}"`} data-note="${piece.row}" class="note${mark}">${parts.join("")}</g>`);
      piece.place = row.length - 1;
    });
    for (const { group, isUp } of new Set(stems.values())) if (!group.isDrawn) drawBeam(group, isUp);
    x += 80;
    row.push(rect(x, top, LINE, 4 * SPACE));
    x += 220;
    start += pieces.reduce((sum, piece) => Math.max(sum, piece.at + (piece.ticks ?? 0)), start) - start;
  }
  x -= 188;
  finish();

  function drawBeam(group, isUp) {
    group.isDrawn = true;
    const ys = group.map(piece => piece.y), y = isUp ? Math.min(...ys) - STEM : Math.max(...ys) + STEM, thick = 125;
    group.forEach((piece, k) => {
      const from = isUp ? y : piece.y, length = Math.abs(piece.y - y);
      row[piece.place] = row[piece.place].replace(/<\/g>$/, `${rect(piece.stemX, from, LINE, length)}</g>`);
      const next = group[k + 1], last = group[k - 1];
      for (let level = 0; level < beams(piece.value); level++) {
        const at = isUp ? y + level * 190 : y - thick - level * 190;
        if (next && beams(next.value) > level) row.push(rect(piece.stemX, at, next.stemX - piece.stemX + LINE, thick));
        else if (!(last && beams(last.value) > level)) row.push(rect(k ? piece.stemX - 200 : piece.stemX, at, 230, thick));
      }
    });
    if (group.every(piece => piece.isTriplet)) {
      const middle = (group[0].stemX + group[group.length - 1].stemX) / 2;
      row.push(`<text x="${Math.round(middle)}" y="${Math.round(isUp ? y - 100 : y + 400)}" font-size="380" font-style="italic" text-anchor="middle" stroke="none">3</text>`);
    }
  }

  const scale = PIXELS / SPACE, w = Math.round((widest + 60) * scale), h = Math.round((height + SPACE) * scale);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" class="notation" role="img" viewBox="-40 0 ${Math.round(widest + 60)} ${height + SPACE}" width="${w}" height="${h}" fill="currentColor" stroke="currentColor" stroke-width="0"><title>${escaped(title)}</title>${out.join("")}</svg>`;
  return { svg, heads, width: widest + 60, height: height + SPACE, inside: out.join("") };
}

// Rows of [row, start, duration, pitch] as the player takes them, in seconds.
export function playing({ notes }) {
  const seconds = ticks => Math.round((ticks / QUARTER) * 0.6e6) / 1e6, first = notes.length ? notes[0].onset : 0;
  return notes.map((note, row) => [row, seconds(note.onset - first), seconds(note.isGrace ? QUARTER / 8 : note.duration), note.pitch]);
}

export function figure(melody, name, { matched = [], prefix = "" } = {}) {
  const width = Math.min(840, Math.max(280, document.getElementById("main").clientWidth - 48));
  const { svg } = engraved(melody, { title: _("Notation of {name}", { name }), matched, width, prefix });
  return `<figure class="melody" data-notes="${escaped(JSON.stringify(playing(melody)))}"><div class="drawing">${svg}</div><div class="buttons">
    <button type="button" class="play" aria-pressed="false" aria-label="${escaped(_("Listen to {name}", { name }))}" data-stop="${escaped(_("Stop"))}" hidden><span class="sign" aria-hidden="true">▶</span> <span class="word">${escaped(_("Listen"))}</span></button></div></figure>`;
}
