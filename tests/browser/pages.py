"""What tests of pages do again and again: take pictures, play the piano, ask who could not use the page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page
from tests.browser.conftest import wait_until

_SERIOUS = ("serious", "critical")
_AXE = Axe().axe_script
# Most elements of a page are inside its drawings. axe looks into the first drawing of each kind that is shown; the
# others keep their names and sizes while it looks, and get the rest back.
_VIOLATIONS = """async context => {
  const kinds = new Set(), emptied = [];
  for (const drawing of document.querySelectorAll("svg:not(svg svg)")) {
    const marks = [".matched", ".chosen", ".sounding", ".sign-of-difference"].filter(one => drawing.querySelector(one));
    const kind = [drawing.getAttribute("class"), ...marks].join();
    if (drawing.checkVisibility() && !kinds.has(kind)) kinds.add(kind);
    else {
      emptied.push([drawing, [...drawing.childNodes]]);
      drawing.replaceChildren(...[...drawing.children].filter(one => ["title", "desc"].includes(one.localName)));
    }
  }
  try {
    const found = await axe.run(context ?? document, { resultTypes: ["violations"], selectors: false });
    return found.violations.map(({ id, impact, nodes }) => [id, impact, nodes[0].html]);
  } finally {
    for (const [drawing, inside] of emptied) drawing.replaceChildren(...inside);
  }
}"""


def keep(page: Page, name: str) -> None:
    """Keep a picture for the docs where ROSLIN_SCREENSHOTS names the folder."""
    if folder := os.environ.get("ROSLIN_SCREENSHOTS"):
        page.wait_for_load_state("networkidle")
        page.screenshot(path=Path(folder) / name)


def press(page: Page, *pitches: int) -> None:
    """Keys of the piano, one after the other."""
    for pitch in pitches:
        key = page.locator(f'[data-pitch="{pitch}"]')
        box = key.bounding_box()
        assert box is not None
        key.click(position={"x": box["width"] / 2, "y": box["height"] - 8})


def drawn_notes(page: Page) -> Locator:
    """The notes of the query, as they are drawn."""
    return page.locator("#preview svg.notation .note")


def complaints(page: Page) -> list[tuple[str, str]]:
    """What axe complains of, however small: the rule, and where it is broken first."""
    return [(rule, place) for rule, _, place in _violations(page)]


def serious_complaints(page: Page, context: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    """What of it keeps somebody from using the page. `context` says which part of the page is looked at."""
    return [(rule, place) for rule, impact, place in _violations(page, context) if impact in _SERIOUS]


def _violations(page: Page, context: dict[str, Any] | None = None) -> list[tuple[str, str, str]]:
    """Rule, impact and first place of each violation, once the page has its style sheets and its results."""
    page.wait_for_load_state()
    wait_until(page, "!document.querySelector('[aria-busy=true]')")
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE)
    return [(rule, impact, place) for rule, impact, place in page.evaluate(_VIOLATIONS, context)]


def cut_drawings(page: Page) -> list[str]:
    """Notation that is wider than its place, with no cue that there is more of it. Some must be shown."""
    page.wait_for_load_state()  # with the style sheets
    found: dict[str, list[str]] = page.evaluate(
        """() => {
          const shown = [...document.querySelectorAll("svg.notation, svg.narrow, svg.roll, svg.flow")].filter(one =>
            one.checkVisibility());
          const cut = shown.filter(one => {
            const sides = ["scroll", "staves", "wide"].map(name => one.closest(`.${name}`)).find(Boolean);
            if (sides?.querySelector(".cue")?.checkVisibility()) return false;
            const place = sides ?? one.parentElement, box = one.getBoundingClientRect();
            return place.scrollWidth > place.clientWidth || box.width > place.clientWidth + 1
              || box.right > document.documentElement.clientWidth + 1;
          });
          return { shown: shown.map(String), cut: cut.map(one => `${one.querySelector("title")?.textContent}: `
            + `${one.getBoundingClientRect().width} in ${one.parentElement.clientWidth}`) };
        }"""
    )
    assert found["shown"]
    return found["cut"]


def is_too_wide(page: Page) -> bool:
    """Whether the page as a whole must be moved sideways."""
    page.wait_for_load_state()  # with the style sheets
    found: bool = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return found
