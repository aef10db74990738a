// Keeps the overview of a study up to date. Without it, the page shows what was known when it was opened.
const live = document.getElementById("live");
const updated = document.getElementById("updated");
const SECONDS = 10;

async function refresh() {
  if (document.hidden || live.contains(document.activeElement)) return;
  try {
    const answer = await fetch(live.dataset.source, { credentials: "same-origin" });
    if (!answer.ok) throw new Error(String(answer.status));
    const scrolled = [...live.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
    live.innerHTML = await answer.text(); // made by our own templates, which escape
    live.querySelectorAll(".scroll").forEach((each, number) => { each.scrollLeft = scrolled[number] ?? 0; });
    updated.textContent = "";
  } catch {
    updated.textContent = "The numbers could not be updated. Please open the page again.";
  }
}

setInterval(refresh, SECONDS * 1000);
