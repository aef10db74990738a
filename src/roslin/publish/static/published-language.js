// The page in the reader's language: the one asked for, else the one chosen before, else that of the browser.
(() => {
  "use strict";
  const pages = JSON.parse(document.currentScript.dataset.pages), asked = new URLSearchParams(location.search).get("lang"), KEY = "roslin.language";
  let kept = null;
  try {
    if (pages[asked]) localStorage.setItem(KEY, asked);
    kept = localStorage.getItem(KEY);
  } catch {
    // nothing is kept in this browser
  }
  const wanted = [asked, kept, ...navigator.languages.map(each => each.slice(0, 2)), "en"].find(each => pages[each]);
  if (wanted !== document.documentElement.lang) location.replace(pages[wanted] + location.search);
  if (location.protocol === "file:") addEventListener("DOMContentLoaded", () => { document.getElementById("no-server").hidden = false; });
})();
