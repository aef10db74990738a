// What the scripts of a trial say, to the eye and to those who listen.
import { _, ngettext } from "./words.js";

export { _, ngettext };

const live = document.getElementById("live");
let pending = [];

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
