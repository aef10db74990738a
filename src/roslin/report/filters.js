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

  function next(step) {
    const shown = known.map(each => each.group).filter(group => !group.hidden);
    const here = shown.findIndex(group => group.getBoundingClientRect().top > -5);
    const at = here < 0 ? shown.length : here;
    const isOn = shown[at] && Math.abs(shown[at].getBoundingClientRect().top) < 5;
    const to = shown[Math.max(0, Math.min(shown.length - 1, step > 0 ? at + (isOn ? 1 : 0) : at - 1))];
    if (!to) return;
    to.scrollIntoView();
    to.focus({ preventScroll: true });
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
    if (event.key === "n") next(1);
    if (event.key === "p") next(-1);
  });
  if (isAsked) apply();
})();
