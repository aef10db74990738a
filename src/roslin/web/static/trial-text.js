// Words of the page in the reader's language, and what is said aloud. English stands in the scripts; the server writes
// the other languages into the page, sentence by sentence.
const words = JSON.parse(document.getElementById("words").textContent);
const live = document.getElementById("live");
let pending = [];

// A sentence with its values filled in.
export function _(text, values = {}) {
  return fill(words[text] || text, values);
}

// A sentence that depends on a number, which may stand in it as {count}.
export function ngettext(one, many, count, values = {}) {
  const [single, plural] = Array.isArray(words[one]) ? words[one] : [one, many];
  return fill(count === 1 ? single : plural, { count, ...values });
}

function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
}

export function candidate(k) {
  return k === "query" ? _("the query") : _("candidate {number}", { number: k + 1 });
}

// The name at the beginning of a sentence or as a heading.
export function Candidate(k) {
  return k === "query" ? _("The query") : _("Candidate {number}", { number: k + 1 });
}

// Told to those who listen rather than look. What comes at the same moment is one message; a message is always new.
export function announce(text) {
  if (!pending.length) {
    setTimeout(() => {
      const said = [...new Set(pending)].join(" ");
      live.textContent = said === live.textContent ? `${said}\u00a0` : said;
      pending = [];
    }, 50);
  }
  pending.push(text);
}
