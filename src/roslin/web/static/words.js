// Words of the page in the reader's language. English stands in the scripts; the server writes the other languages into
// the page, sentence by sentence.
const words = JSON.parse(document.getElementById("words")?.textContent || "{}");

export const language = document.documentElement.lang;

// The path at which the addresses of the server begin: "/", or "/tunes/" below a path of another site.
export const { root } = document.documentElement.dataset;

// A sentence with its values filled in.
export function _(text, values = {}) {
  return fill(words[text] || text, values);
}

// A sentence that depends on a number, which may stand in it as {count}.
export function ngettext(one, many, count, values = {}) {
  const isTranslated = Array.isArray(words[one]);
  const [single, plural] = isTranslated ? words[one] : [one, many];
  const isOne = isTranslated ? new Intl.PluralRules(language).select(count) === "one" : count === 1;
  return fill(isOne ? single : plural, { count, ...values });
}

function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
}

// A number as people write it who read this language.
export function number(value, digits = 0) {
  return new Intl.NumberFormat(language, { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value);
}

// The page that is shown now in another language: its address may have changed since the links were written.
document.querySelector(".languages")?.addEventListener("click", event => {
  const link = event.target.closest("a[hreflang]");
  if (!link) return;
  const here = new URL(location.href);
  here.searchParams.set("lang", link.hreflang);
  link.href = here;
});
