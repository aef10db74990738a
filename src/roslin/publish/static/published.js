// The search page of a published collection. It is the page of a server, whose requests are answered here: what would be
// sent to /api/read and /results is read, searched for and drawn in the browser.
import { startEditor } from "./editor.js";
import { startEntry } from "./entry.js";
import { startPiano } from "./piano.js";
import { json } from "./published-data.js";
import { engraved, playing } from "./published-drawing.js";
import { explainHtml, melodyHtml, resultsHtml } from "./published-pages.js";
import { readQuery, Refusal } from "./published-reading.js";
import { isAboveChance, matchOf, noteName, quarters } from "./published-words.js";
import { startResults } from "./results.js";
import { startSinging } from "./singing.js";
import { _ } from "./words.js";

const SEMITONES = [0, 2, 4, 5, 7, 9, 11], NEAR = 50, MOST = 1000, LATER = 5000;
const main = document.getElementById("main"), data = new URL(main.dataset.files, location.href).href, packs = new Map(), fetchFile = window.fetch.bind(window);
const isOpen = {}, once = (name, make) => (isOpen[name] ??= make());
let worker = null, sent = 0;
const waiting = new Map();

// -- the worker and the files ------------------------------------------------------------------------------------------

function send(kind, asked) {
  if (!worker) {
    worker = new Worker(new URL("published-worker.js", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data: { id, answer, error } }) => {
      const { resolve, reject } = waiting.get(id) ?? {};
      waiting.delete(id);
      if (error) reject?.(new Error(error));
      else resolve?.(answer);
    });
    worker.addEventListener("error", event => waiting.forEach(({ reject }) => reject(new Error(event.message || _("This browser cannot search here.")))));
  }
  return new Promise((resolve, reject) => {
    waiting.set(++sent, { resolve, reject });
    worker.postMessage({ id: sent, kind, asked });
  });
}

async function ask(kind, asked) {
  await once("worker", () => send("open", { data }));
  return send(kind, asked);
}

async function melodyAt(number) {
  const size = Number(main.dataset.pack), pack = Math.floor(number / size);
  if (!packs.has(pack)) packs.set(pack, json(`${data}melodies-${pack}.bin`));
  const known = (await packs.get(pack))[number % size], notes = [];
  for (let at = 0, onset = 0; at < known.notes?.length; at += 5) {
    const [later, duration, step, sharps, isGrace] = known.notes.slice(at, at + 5);
    onset += later;
    notes.push({ onset, duration, step, sharps, isGrace: Boolean(isGrace), pitch: 12 * Math.floor(step / 7) + 12 + SEMITONES[step % 7] + sharps });
  }
  return { ...known, notes, number };
}

async function melodyNamed(id, at = "") {
  const guessed = at === "" ? null : await melodyAt(Number(at)).catch(() => null);
  if (guessed?.id === id) return guessed;
  const ids = await once("ids", () => json(`${data}ids.bin`)), number = ids.indexOf(id);
  if (number < 0) throw new Refusal(_("There is no melody {id}.", { id }));
  return melodyAt(number);
}

// -- what the page asks ------------------------------------------------------------------------------------------------

function reading(asked) {
  const read = readQuery(asked.get("q"), asked.get("notation") ?? "auto");
  const width = Math.max(document.getElementById("preview-drawing").clientWidth, 280);
  return {
    notation: read.notation, pae: read.pae, columns: read.columns, deviations: [], drawing: engraved(read, { width }).svg, playing: playing(read),
    notes: read.notes.map(note => ({
      onset: quarters(note.onset), duration: quarters(note.duration), pitch: note.pitch, name: noteName(note), is_grace: note.isGrace, voice: 0,
    })),
  };
}

const queryOf = async asked => (asked.get("id") ? melodyNamed(asked.get("id")) : readQuery(asked.get("q") ?? "", asked.get("notation") ?? "auto"));
const modesOf = asked => Object.fromEntries(["compare", "place", "key"].filter(name => asked.get(name)).map(name => [name, asked.get(name)]));

async function found(asked) {
  let query = await queryOf(asked);
  const request = { notes: query.notes, modes: modesOf(asked), excluded: asked.get("id") ? query.number : -1 };
  const page = Math.max(Number(asked.get("page")) || 1, 1), k = 10, only = asked.getAll("only");
  const above = list => list.results.reduce((last, each, at) => (isAboveChance(each) ? at + 1 : last), 0);
  const isEnd = list => above(list) > 0 && above(list) < list.results.length;
  let list = await ask("search", { ...request, k: NEAR + 1 });
  if (!isEnd(list) || page * k > NEAR || only.length) list = await ask("search", { ...request, k: MOST + 1 });
  query = { ...query, notes: list.notes };
  const results = list.results.slice(0, MOST).map((each, at) => ({ ...each, rank: at + 1 })), line = above(list), isAbove = isEnd(list);
  const { facets, passes } = await narrowed(isAbove ? results.slice(0, line) : results, only);
  const all = results.filter(passes), left = all.filter(each => !isAbove || each.rank <= line).length, shown = all.slice((page - 1) * k, page * k);
  const melodies = await Promise.all(shown.map(each => melodyAt(each.number)));
  const paths = await ask("paths", { notes: query.notes, modes: request.modes, candidates: melodies.map(each => each.notes) });
  return {
    ...list, asked, query, page, k, isAbove, hasChance: line < list.results.length, facets, left, melodies: Number(main.dataset.melodies), total: isAbove ? line : results.length,
    line: isAbove && left >= (page - 1) * k && left < page * k ? left - (page - 1) * k : null, hasMore: all.length > page * k,
    results: shown.map((each, at) => ({
      ...each, melody: melodies[at], path: paths[at],
      match: matchOf(paths[at], query.notes, melodies[at].notes, request.modes.compare !== "rhythm"),
    })),
  };
}

// Facets of a list, and whether a result passes what is chosen. Of several values of a field one is enough.
async function narrowed(results, only) {
  const fields = Object.entries(await once("facets", () => json(`${data}facets.bin`))), chosen = new Map();
  for (const each of only) {
    const [field, ...value] = each.split("=");
    chosen.set(field, [...(chosen.get(field) ?? []), value.join("=")]);
  }
  const passes = skipped => result => fields.every(([field, { codes, values }]) =>
    field === skipped || !chosen.has(field) || chosen.get(field).includes(values[codes[result.number]]));
  const facets = fields.map(([field, { codes, values, labels }]) => {
    const counts = new Map();
    for (const result of results.filter(passes(field))) counts.set(codes[result.number], (counts.get(codes[result.number]) ?? 0) + 1);
    const unknown = counts.get(-1) ?? 0;
    counts.delete(-1);
    return {
      field, unknown, values: [...counts].map(([code, count]) =>
        ({ value: values[code], label: labels[code], count, isChosen: chosen.get(field)?.includes(values[code]) ?? false }))
        .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1)),
    };
  }).filter(facet => facet.values.length);
  return { facets, passes: passes("") };
}

async function answer(path, asked) {
  try {
    if (path.endsWith("api/read")) return Response.json(reading(asked));
    if (!asked.get("q") && !asked.get("id")) return html(document.getElementById("examples").innerHTML);
    return html(resultsHtml(await found(asked)));
  } catch (error) {
    return Response.json({ error: { code: "refused", message: said(error), problem: error.problem?.column ? error.problem : null } },
      { status: error instanceof Refusal ? 400 : 500 });
  }
}

const html = text => new Response(text, { headers: { "content-type": "text/html" } });
const said = error => (error instanceof Refusal ? `${error.message[0].toUpperCase()}${error.message.slice(1)}.`.replace("..", ".") : error.message);

// Their addresses begin with the name of this page, which is its root.
window.fetch = (address, options) => {
  const { pathname, searchParams } = new URL(address, location.href);
  return /(api\/read|results)$/.test(pathname) ? answer(pathname, searchParams) : fetchFile(address, options);
};

// -- pages -------------------------------------------------------------------------------------------------------------

async function explained(asked) {
  const [typed, melody] = await Promise.all([queryOf(asked), melodyNamed(asked.get("explain"), asked.get("at") ?? "")]), modes = modesOf(asked);
  const list = await ask("search", { notes: typed.notes, modes, k: MOST, excluded: asked.get("id") ? typed.number : -1 });
  const query = { ...typed, notes: list.notes }, [path] = await ask("paths", { notes: query.notes, modes, candidates: [melody.notes] });
  const result = list.results.find(each => each.number === melody.number);
  if (!result) throw new Refusal(_("This melody is not in the list."));
  const match = matchOf(path, query.notes, melody.notes, modes.compare !== "rhythm");
  return explainHtml({ asked, query, melody, result, match, path, count: Number(main.dataset.melodies) });
}

async function show(make) {
  main.setAttribute("aria-busy", "true");
  try {
    main.innerHTML = await make();
  } catch (error) {
    main.innerHTML = `<div class="refusal" role="alert"></div>`;
    main.firstElementChild.textContent = said(error);
  }
  main.setAttribute("aria-busy", "false");
  const heading = main.querySelector("h1");
  if (heading) document.title = `${heading.textContent} · Roslin`;
  window.roslinPlayer?.reveal();
}

function start() {
  const asked = new URLSearchParams(location.search);
  if (asked.get("melody")) return show(async () => melodyHtml(await melodyNamed(asked.get("melody"), asked.get("at") ?? "")));
  if (asked.get("explain")) return show(() => explained(asked));
  const entry = startEntry(), editor = startEditor(entry);
  startSinging(editor);
  startPiano(entry, editor);
  startResults(entry);
  if (asked.get("q") || asked.get("id")) dispatchEvent(new PopStateEvent("popstate"));
  once("worker", () => send("open", { data }));
  return null;
}

// Some time after the page can search, everything else is fetched to be there without a network.
async function keep() {
  await once("worker", () => send("open", { data }));
  do await new Promise(resolve => setTimeout(resolve, LATER)); while (waiting.size);
  await navigator.serviceWorker?.register("service-worker.js");
  if (!navigator.connection?.saveData) (await navigator.serviceWorker?.ready)?.active.postMessage("keep");
}

start();
keep().catch(() => {});
