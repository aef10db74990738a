// Shows only the groups that have the chosen kind, library and composer. Without it all of them are there.
// A group carries data-kind, and data-libraries and data-composers as JSON; #filters holds the choices.
(() => {
  "use strict";
  const form = document.getElementById("filters");
  const groups = [...document.querySelectorAll("[data-kind]")];
  if (!form || !groups.length) return;
  const known = groups.map(group => ({
    group,
    kind: [group.dataset.kind],
    library: JSON.parse(group.dataset.libraries),
    composer: JSON.parse(group.dataset.composers),
  }));
  const names = ["kind", "library", "composer"];

  function apply() {
    const wanted = names.map(name => [name, form.elements[name].value.trim().toLowerCase()]);
    let left = 0;
    for (const each of known) {
      const fits = wanted.every(([name, value]) =>
        !value || each[name].some(text => name === "composer" ? text.toLowerCase().includes(value) : text.toLowerCase() === value));
      each.group.hidden = !fits;
      left += fits;
    }
    document.getElementById("left").textContent = `${left} of ${known.length} groups`;
    const kept = new URLSearchParams(wanted.filter(([, value]) => value));
    try { history.replaceState(null, "", kept.size ? `#${kept}` : location.pathname); } catch { /* a file in some browsers */ }
  }

  function go(step) {
    const shown = known.map(each => each.group).filter(group => !group.hidden);
    const here = shown.indexOf(document.activeElement?.closest("[data-kind]"));
    const below = shown.findIndex(group => group.getBoundingClientRect().top > 0);
    const at = here >= 0 ? here + step : step > 0 ? below : (below < 0 ? shown.length : below) - 1;
    if (!shown[at]) return;
    (shown[at].matches("tr") ? shown[at].querySelector("a") : shown[at]).focus({ preventScroll: true });
    shown[at].scrollIntoView({ block: shown[at].matches("tr") ? "center" : "start" });
  }

  const said = new URLSearchParams(location.hash.slice(1));
  let isAsked = false;
  for (const name of names) {
    if (!said.get(name)) continue;
    const field = form.elements[name];
    const choice = [...(field.options || [])].find(option => option.value.toLowerCase() === said.get(name));
    field.value = choice ? choice.value : said.get(name);
    isAsked = true;
  }
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("reset", () => setTimeout(apply));
  form.addEventListener("submit", event => event.preventDefault());
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    if (event.key === "n") go(1);
    if (event.key === "p") go(-1);
  });
  if (isAsked) apply();
})();
