// Keys for whoever goes through many groups: a, r and u decide, n and p go on and back. They can be switched off.
const KEPT = "roslin-review-keys";
const decide = document.getElementById("decide");
const box = document.getElementById("keys");

function remembered() {
  try { return localStorage.getItem(KEPT) !== "off"; } catch { return true; }
}

function show(isOn) {
  document.documentElement.classList.toggle("no-keys", !isOn);
}

if (box) {
  box.closest("label").hidden = false;
  box.checked = remembered();
  show(box.checked);
  box.addEventListener("change", () => {
    show(box.checked);
    try { localStorage.setItem(KEPT, box.checked ? "on" : "off"); } catch { /* then for this page only */ }
  });
}

let isSent = false;
for (const form of document.querySelectorAll("form[action$='/concordances/decide']")) {
  form.addEventListener("submit", event => {
    if (isSent) event.preventDefault();
    isSent = true;
  });
}
addEventListener("pageshow", () => { isSent = false; });

addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.closest("input:not([type=checkbox]), select, textarea")) return;
  if (box ? !box.checked : !remembered()) return;
  const verdict = { a: "accept", r: "reject", u: "undecided" }[event.key];
  if (verdict && decide) decide.querySelector(`button[value=${verdict}]`).click();
  const link = { n: "after", p: "before" }[event.key];
  if (link) document.getElementById(link)?.click();
});
