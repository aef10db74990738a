// The pages of a published collection as HTML: the list of results, a melody, and why it was found. They have the words
// and classes of the templates in src/roslin/web/templates.
import { engraved, escaped as h, figure } from "./published-drawing.js";
import { byChance, inBars, meaningOf, meaningWords, noteName, queryName, resultSentence } from "./published-words.js";
import { _, ngettext, number } from "./words.js";

const FACETS = () => ({
  composer: _("Composer"), key: _("Key"), metre: _("Metre"), voice: _("Voice or instrument"), scoring: _("Scoring"), library: _("Library"),
  century: _("Century"), mode: _("Mode"), genre: _("Genre"), feast: _("Feast"),
});
const SIGNS = { same: "=", other: "≠", missing: "−", added: "+" };

// The address that asks the same, with changes; what is null or empty is left out.
export function where(asked, changes = {}) {
  const made = new URLSearchParams(asked);
  made.delete("lang");
  for (const [name, value] of Object.entries(changes)) {
    made.delete(name);
    for (const each of Array.isArray(value) ? value : [value]) if (each) made.append(name, each);
  }
  return h(`?${made}`);
}

const asText = (melody, name) => `<details class="as-text"><summary>${h(_("Notes as text"))}<span class="hidden">: ${h(name)}</span></summary>
  <ul>${inBars(melody).map(line => `<li>${h(line)}</li>`).join("")}</ul></details>`;

const place = melody => `<a href="${where("", { melody: melody.id, at: String(melody.number) })}">`;

function about(melody) {
  const { siglum, shelfmark, date, scoring } = melody.extra ?? {}, filled = list => list.filter(Boolean);
  const held = filled([filled([siglum, shelfmark]).join(" "), date, scoring]).join("; ");
  return `<p class="about">${h(filled([melody.composer, melody.voice, melody.key, melody.metre]).join(", "))}${melody.text ? ` <q>${h(melody.text)}</q>` : ""}</p>
    ${held ? `<p class="about where">${h(held)}</p>` : ""}`;
}

const sourceLink = melody => (melody.link ? `<a href="${h(melody.link)}" rel="noopener noreferrer external">${h(_("Source"))}</a>` : "");

const label = result => {
  const meaning = meaningOf(result);
  return `<strong class="meaning ${meaning.split(" ")[0]}">${h(meaningWords(meaning))}</strong>`;
};

function valueName(field, value) {
  if (field === "century") return `${(Number(value) - 1) * 100}–${Number(value) * 100 - 1}`;
  return value;
}

function facetsHtml({ asked, facets, counted }) {
  const names = FACETS(), only = asked.getAll("only"), open = facets.some(facet => facet.values.some(value => value.isChosen));
  const toggled = (field, value) => where(asked, {
    page: "", only: value.isChosen ? only.filter(each => each !== `${field}=${value.value}`) : [...only, `${field}=${value.value}`],
  });
  const item = (field, value) => `<li><a href="${toggled(field, value)}" data-results rel="nofollow"${value.isChosen ? ' class="chosen"' : ""}>${value.isChosen
    ? `<span aria-hidden="true">✓ </span><span class="hidden">${h(_("chosen:"))} </span>` : ""}${h(valueName(field, value.label))}</a> <span class="count">${number(value.count)}</span></li>`;
  const column = ({ field, values, unknown }) => `<section class="facet" aria-label="${h(names[field])}"><h3>${h(names[field])}</h3>
    <ul>${values.slice(0, 6).map(value => item(field, value)).join("")}</ul>
    ${values.length > 6 ? `<details><summary>${h(ngettext("One more", "{count} more", values.length - 6))}</summary><ul>${values.slice(6, 200).map(value => item(field, value)).join("")}</ul></details>` : ""}
    ${unknown ? `<p class="hint">${h(ngettext("Not recorded: 1", "Not recorded: {count}", unknown))}</p>` : ""}</section>`;
  const shown = facets.filter(facet => facet.values.length > 1 || facet.values.some(value => value.isChosen));
  return shown.length ? `<details class="facets"${open ? " open" : ""}><summary>${h(_("Narrow this list"))}</summary>
    <p class="hint">${h(counted)}</p><div class="facet-columns">${shown.map(column).join("")}</div></details>` : "";
}

// `found`: { asked, query, list, page, k, results, above, total, left, facets ... }, as published.js makes it.
export function resultsHtml(found) {
  const { asked, query, results, page, k, agreeing, level } = found, count = found.melodies, notes = query.notes.filter(note => !note.isGrace).length;
  const first = (page - 1) * k + 1, last = first + results.length - 1, isFirst = page === 1;
  const headlines = [_("Found"), _("Possible matches"), _("Nothing better than chance; the closest are shown")];
  const heading = !results.length ? _("No melody was found") : isFirst ? headlines[level] : _("Results {first} to {last}", { first, last });
  const remarks = [];
  if (found.isEven) {
    remarks.push(found.isLastAlike ? _("All notes of the query are equally long, so the rhythm was ignored.")
      : _("All notes of the query but the last are equally long, so the rhythm was ignored."));
  }
  if (found.isTied) remarks.push(_("Repeated notes were read as ties, because the list is better with one long note for each."));
  const ranks = results.filter(each => each.coincides).map(each => each.rank);
  if (ranks.length) {
    const named = ranks.length > 1 ? _("{first} and {second}", { first: ranks.slice(0, -1).join(", "), second: ranks[ranks.length - 1] }) : ranks[0];
    remarks.push(ngettext("Result {ranks} was found by the notes that coincide in time: it may be ornamented, reduced or have another voice.",
      "Results {ranks} were found by the notes that coincide in time: they may be ornamented, reduced or have another voice.", ranks.length, { ranks: named }));
  }
  const isFew = notes < 10 && found.hasChance;
  const start = `<a href="${where(asked, { place: "start", page: "" })}" data-results>${h(_("search at the start"))}</a>`;
  const few = asked.get("place") === "start" ? ngettext("One note is not enough: add more.", "Only {count} notes: add more.", notes)
    : ngettext("One note is not enough: add more, or {search_at_the_start}.", "Only {count} notes: add more, or {search_at_the_start}.", notes, { search_at_the_start: start });
  const counted = found.isAbove
    ? ngettext("Counted over the one melody that is better than chance.", "Counted over the {count} melodies that are better than chance.", found.total)
    : _("Counted over the closest {count} melodies.", { count: number(found.total) });
  const exact = ngettext("One melody has exactly these {notes} notes.", "{count} melodies have exactly these {notes} notes.", agreeing, { notes });
  const shown = ngettext("One of {total} is shown.", "{count} of {total} are shown.", found.left, { total: number(found.total) });
  const among = _("Most similar first, among {count} melodies, by {matcher}.", { count: number(count), matcher: _("Same tune, any key and tempo (recommended)") });
  const cards = results.map((result, at) => {
    const { melody } = result, name = melody.title || melody.id;
    return `${found.line === at ? `<li class="chance">${h(_("Results below this line are no better than chance."))}</li>` : ""}
  <li class="card" data-matched="${h(JSON.stringify(result.match.query))}" data-id="${h(melody.id)}" data-distance="${result.distance}" data-expected="${result.expected}">
    <div class="head"><h3><span class="rank">${result.rank}</span> ${place(melody)}${h(name)}</a></h3>${label(result)}</div>
    <p class="distance">${h(byChance(result.expected))}; ${h(_("distance {number}", { number: number(result.distance, 3) }))}</p>
    ${about(melody)}${figure(melody, name, { matched: result.match.candidate, prefix: `result-${result.rank}-` })}
    <p class="match">${h(resultSentence(result.match, query.notes, melody, result, asked.get("compare")))}</p>
    ${asText(melody, name)}
    <p class="actions"><a href="${where(asked, { id: melody.id, q: "", notation: "", page: "", only: [] })}" data-results>${h(_("More like this"))}</a>
      <a href="${where(asked, { explain: melody.id, at: String(melody.number), page: "" })}">${h(_("Why?"))}</a> ${sourceLink(melody)} <code class="id">${h(melody.id)}</code></p>
  </li>`;
  });
  const pager = (name, to, rel) => `<a rel="${rel}" href="${where(asked, { page: String(to) })}" data-results>${h(name)}</a>`;
  return `<div class="results-head" data-title="${h(_("Melodies like {name}", { name: queryName(query) }))}">
  <h2 id="results-heading" tabindex="-1">${h(heading)}</h2>
  ${isFirst && agreeing ? `<p class="verdict">${h(exact)}</p>` : ""}${isFirst && isFew ? `<p class="verdict">${few}</p>` : ""}
  ${remarks.map(remark => `<p class="remark">${h(remark)}</p>`).join("")}
  <p class="hint">${results.length && isFirst ? h(_("Results {first} to {last}.", { first, last })) : ""} ${h(among)}</p>
  ${facetsHtml({ asked, facets: found.facets, counted })}
  ${asked.getAll("only").length ? `<p class="hint">${h(shown)} <a href="${where(asked, { only: [], page: "" })}" data-results>${h(_("Remove all"))}</a></p>` : ""}
</div>
<section class="card query" aria-label="${h(_("The query"))}"><h3>${h(query.title || _("The query"))}</h3>${figure(query, _("The query"), { matched: results[0]?.match.query ?? [], prefix: "query-" })}${asText(query, _("The query"))}</section>
<ol class="cards">${cards.join("")}</ol>
<nav class="pager" aria-label="${h(_("Pages of results"))}">${page > 1 ? pager(_("Previous"), page - 1, "prev") : ""} ${found.hasMore ? pager(_("Next"), page + 1, "next") : ""}</nav>`;
}

export function melodyHtml(melody) {
  const name = melody.title || melody.id;
  const known = [[_("Composer"), melody.composer], [_("Part"), melody.voice], [_("Key"), melody.key], [_("Metre"), melody.metre], [_("Text"), melody.text],
    [_("Source"), melody.source], [_("Notes"), melody.notes.length], [_("Number"), melody.id],
    ...Object.entries(melody.extra ?? {}).map(([field, value]) => [(field[0].toUpperCase() + field.slice(1)).replaceAll("_", " "), value])];
  const written = melody.written ? `<dt>${h(melody.written[0])}</dt><dd><code class="written">${h(melody.written[1])}</code></dd>` : "";
  return `<h1>${h(name)}</h1><section class="card" aria-label="${h(_("Notation"))}">${figure(melody, name, { prefix: "melody-" })}${asText(melody, name)}</section>
<dl class="facts">${known.filter(each => each[1]).map(([field, value]) => `<dt>${h(field)}</dt><dd>${h(value)}</dd>`).join("")}${written}</dl>
<p class="actions"><a href="${where("", { id: melody.id })}">${h(_("More like this"))}</a> ${sourceLink(melody)}</p>`;
}

// Two drawings without line breaks, and a line from each note to the one that belongs to it.
function flow(query, melody, match) {
  const [above, below] = [query, melody].map((each, k) => engraved(each, { width: Infinity, prefix: `flow-${k}-` }));
  const lines = match.pairs.map(([i, j]) => {
    const [from, to] = [above.heads[i], below.heads[j]];
    return from && to ? `<path d="M${Math.round(from.x)} ${Math.round(from.y)}L${Math.round(to.x)} ${Math.round(to.y + above.height)}" stroke-width="30" opacity=".5"/>` : "";
  });
  const width = Math.max(above.width, below.width), height = above.height + below.height + 250;
  return `<svg xmlns="http://www.w3.org/2000/svg" class="flow" role="img" viewBox="-40 0 ${width} ${height}" width="${Math.round(width * 0.0288)}" height="${Math.round(height * 0.0288)}" fill="currentColor" stroke="currentColor" stroke-width="0"><title>${h(_("Drawing of the flow"))}</title>${above.inside}<g transform="translate(0 ${above.height})">${below.inside}</g><g class="pairs">${lines.join("")}</g></svg>`;
}

export function explainHtml({ asked, query, melody, result, match, path, count }) {
  const name = melody.title || melody.id, digits = (value, places) => number(value, places);
  const steps = path.steps.map(step => `<li class="${step.kind}"><span>${step.query === null ? "–" : h(noteName(query.notes[step.query]))}</span>
    <abbr>${SIGNS[step.kind]}</abbr><span>${step.candidate === null ? "–" : h(noteName(melody.notes[step.candidate]))}</span><small>${digits(step.cost, 3)}</small></li>`);
  const sum = path.start + [...path.steps, ...path.outside].reduce((all, step) => all + step.cost, 0), beyond = result.distance - sum;
  const outside = path.outside.reduce((all, step) => all + step.cost, 0), line = (words, value) => `<tr><th scope="row">${h(words)}</th><td class="number">${digits(value, 4)}</td></tr>`;
  return `<p class="back"><a href="${where(asked, { explain: "", at: "" })}">${h(_("Back to the results"))}</a></p>
<h1>${h(_("Why {name} was found", { name }))}</h1>
<p class="lead">${h(resultSentence(match, query.notes, melody, result, asked.get("compare")))}</p>
<p>${label(result)} ${h(_("{expected}, among all {count} melodies.", { expected: byChance(result.expected), count: number(count) }))}</p>
<section class="card query" aria-label="${h(_("The query"))}"><h2>${h(_("The query"))}</h2>${figure(query, _("The query"), { matched: match.query, prefix: "query-" })}</section>
<section class="card" aria-label="${h(_("The melody found"))}"><h2>${place(melody)}${h(name)}</a></h2>${figure(melody, name, { matched: match.candidate, prefix: "candidate-" })}</section>
<section aria-label="${h(_("Corresponding notes"))}"><h2>${h(_("Corresponding notes"))}</h2>
  <div class="scroll" tabindex="0" role="region" aria-label="${h(_("Drawing of the flow"))}"><p class="cue" hidden>${h(_("Scroll sideways to see the rest."))} <span aria-hidden="true">→</span></p>${flow(query, melody, match)}</div></section>
<details class="researchers"><summary>${h(_("For researchers: how the distance is calculated"))}</summary>
  <p class="hint">${h(_("Distance {number}.", { number: digits(result.distance, 4) }))} <code>roslin</code></p>
  <ol class="aligned">${steps.join("")}</ol>
  <p class="hint">${h(_("Above the query, below the melody: = the same, ≠ another, − only in the query, + only in the melody."))} ${h(_("The number is the cost. A negative cost brings the two closer."))}</p>
  <table class="sum"><tbody>${line(_("Before any step"), path.start)}${line(_("All steps"), sum - path.start - outside)}${path.outside
    .map(step => line(step.isBefore ? _("left out before the part in common") : _("left out after the part in common"), step.cost)).join("")}${Math.abs(beyond) > 1e-9
    ? line(_("no distance is above {limit}", { limit: 1 }), beyond) : ""}${line(_("Distance"), result.distance)}</tbody></table>
</details>`;
}
