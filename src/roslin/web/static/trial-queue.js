// Decisions on their way to the server. Each lies in the browser's own store, under a name of its own, until the server
// has acknowledged its key: whatever happens to the page, the connection or the server, it is sent again, and the server
// keeps it once. Tabs share the store; none overwrites what another put there.
const FIRST_WAIT = 1000;
const LONGEST_WAIT = 30000;
const BATCH = 40;
const FORGOTTEN_AFTER = 60 * 24 * 3600 * 1000;

export const USES = new Set(["heard", "compared"]); // no state follows from these, and none is worth a warning

export function newKey() {
  if (crypto.randomUUID) return crypto.randomUUID();
  // Only pages under https (or on this computer) have randomUUID.
  return [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, "0")).join("");
}

function memory(entries = []) {
  const kept = new Map(entries);
  return {
    get length() { return kept.size; },
    key: k => [...kept.keys()][k] ?? null,
    getItem: name => kept.get(name) ?? null,
    setItem: (name, value) => kept.set(name, value),
    removeItem: name => kept.delete(name),
  };
}

// localStorage, or memory where the browser allows none.
function openStore() {
  try {
    localStorage.setItem("roslin.probe", "1");
    localStorage.removeItem("roslin.probe");
    return localStorage;
  } catch {
    return memory();
  }
}

export class Queue {
  // `send` takes a batch of decisions and gives { status, body, retryAfter }; status 0: there was no answer.
  // `told` hears of every change: what waits, and in which mood the queue is ("", "offline", "signed-out", "refused").
  constructor({ name, send, told, confirmed, refused }) {
    Object.assign(this, { send, told, confirmed, refused });
    this.prefix = `roslin.queue.${name}.`;
    this.store = openStore();
    this.mood = "";
    this.waits = 0;
    this.timer = 0;
    this.isSending = false;
    this.counter = 0;
    this.forgetOld();
    addEventListener("online", () => this.hurry());
    addEventListener("visibilitychange", () => document.hidden || this.hurry());
    addEventListener("storage", event => event.key?.startsWith(this.prefix) && this.told(this));
    addEventListener("beforeunload", event => {
      if (this.waiting.some(each => !USES.has(each.kind))) event.preventDefault();
    });
  }

  names() {
    const found = [];
    for (let k = 0; k < this.store.length; k++) {
      const name = this.store.key(k);
      if (name.startsWith(this.prefix)) found.push(name);
    }
    return found.sort();
  }

  get waiting() {
    return this.names().map(name => this.store.getItem(name)).filter(Boolean).map(text => JSON.parse(text));
  }

  get length() {
    return this.names().length;
  }

  add(decision) {
    const made = Date.now();
    const entry = { ...decision, key: newKey(), made_ms: made };
    const order = `${String(made).padStart(15, "0")}.${String(this.counter++).padStart(6, "0")}`;
    const text = JSON.stringify(entry);
    try {
      this.store.setItem(`${this.prefix}${order}.${entry.key}`, text);
    } catch { // full: what is there stays, this one is kept in memory like all that follow
      const old = this.names().map(name => [name, this.store.getItem(name)]);
      this.store = memory([...old, [`${this.prefix}${order}.${entry.key}`, text]]);
    }
    this.told(this);
    this.pump();
    return entry;
  }

  remove(keys) {
    for (const name of this.names()) if (keys.has(name.split(".").at(-1))) this.store.removeItem(name);
  }

  hurry() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.waits = 0;
    this.pump();
  }

  // Send what waits, in order. Resolves when nothing waits any more, or when it has to be tried later.
  async pump() {
    if (this.isSending || this.timer) return;
    this.isSending = true;
    let size = BATCH;
    try {
      for (let batch = this.waiting.slice(0, size); batch.length; batch = this.waiting.slice(0, size)) {
        const { status, body, retryAfter } = await this.send(batch);
        // Refused for good only where our own server says so, not something on the way to it.
        const isRefused = (status === 409 || status === 422) && body.error;
        if (status >= 200 && status < 300) {
          const known = new Set(body.keys);
          await this.confirmed(batch, body);
          this.remove(known);
          this.waits = 0;
          this.feel("");
          size = BATCH;
        } else if (isRefused && batch.length > 1) {
          size = 1; // one of them is refused: find out which
        } else if (isRefused) {
          this.remove(new Set([batch[0].key]));
          this.refused(batch[0], body);
        } else if (status === 401 || status === 403) {
          this.feel("signed-out");
          return;
        } else {
          this.feel("offline");
          this.later(retryAfter);
          return;
        }
      }
    } finally {
      this.isSending = false;
      this.told(this);
    }
  }

  later(retryAfter) {
    const wait = Math.min(FIRST_WAIT * 2 ** this.waits++, LONGEST_WAIT);
    this.timer = setTimeout(() => { this.timer = 0; this.pump(); }, Math.max(wait, (retryAfter || 0) * 1000));
  }

  feel(mood) {
    this.mood = mood;
    this.told(this);
  }

  // What was left by trials that nobody came back to.
  forgetOld() {
    for (let k = this.store.length - 1; k >= 0; k--) {
      const [room, kind, , made] = this.store.key(k).split(".");
      if (room === "roslin" && kind === "queue" && Number(made) < Date.now() - FORGOTTEN_AFTER) {
        this.store.removeItem(this.store.key(k));
      }
    }
  }
}
