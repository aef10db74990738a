// The button that copies the personal link, where the browser can.
const button = document.getElementById("copy");
const link = document.getElementById("link");
const copied = document.getElementById("copied");

link.addEventListener("focus", () => link.select());
if (navigator.clipboard) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(link.value);
    copied.textContent = button.dataset.done;
  });
}
