// The files of a published collection: compressed, and some of them JSON.
export async function unpacked(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  const stream = answer.body.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export const json = async address => JSON.parse(new TextDecoder().decode(await unpacked(address)));
