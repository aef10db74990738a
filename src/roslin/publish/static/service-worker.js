// Keeps a published collection for visits without a network. Files never change under their name; pages may.
const { name, files } = JSON.parse("FILES");

addEventListener("install", event => {
  skipWaiting();
  event.waitUntil(caches.open(name).then(kept => kept.addAll(files.first)));
});

addEventListener("activate", event => {
  event.waitUntil(caches.keys().then(names => Promise.all(names.filter(each => each.startsWith("roslin-") && each !== name).map(each => caches.delete(each)))));
});

addEventListener("message", event => {
  event.waitUntil((async () => {
    const kept = await caches.open(name);
    for (const file of files.later) if (!(await kept.match(file))) await kept.add(file);
  })());
});

addEventListener("fetch", event => {
  const address = new URL(event.request.url);
  if (event.request.method !== "GET" || address.origin !== location.origin) return;
  const known = () => caches.match(event.request, { ignoreSearch: true });
  const isPage = event.request.mode === "navigate";
  event.respondWith(isPage ? fetch(event.request).catch(known) : known().then(found => found ?? fetch(event.request)));
});
