// Searches in a thread of their own: loads the collection, tells how far that is, and answers one message after another.
import { opened, search, searchingFor } from "./published-search.js";
import { json, unpacked } from "./published-data.js";

let melodies = null;

async function open(data) {
  const [about, kernels] = await Promise.all([json(`${data}about.bin`), fetch(`${data}roslin.wasm`).then(answer => answer.arrayBuffer())]);
  melodies = await opened(about, kernels);
  let done = 0;
  const parts = about.pieces.map((_, number) => unpacked(`${data}notes-${number}.bin`).then(bytes => {
    done += 1;
    postMessage({ done: done / about.pieces.length });
    return bytes;
  }));
  for (const [number, part] of parts.entries()) melodies.add(await part, about.pieces[number]);
}

const ANSWERS = {
  open: ({ data }) => open(data),
  search: asked => search(melodies, asked),
  paths: ({ notes, modes, candidates }) => {
    const searching = searchingFor(melodies, notes, modes);
    return candidates.map(each => searching.path(each));
  },
};

addEventListener("message", async ({ data: { id, kind, asked } }) => {
  try {
    postMessage({ id, answer: await ANSWERS[kind](asked) });
  } catch (error) {
    postMessage({ id, error: String(error) });
  }
});
