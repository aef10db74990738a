"""What tests of pages do again and again: take pictures, play the piano, ask who could not use the page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page

_SERIOUS = ("serious", "critical")


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
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 8)


def drawn_notes(page: Page) -> Locator:
    """The notes of the query, as they are drawn."""
    return page.locator("#preview svg.notation .note")


def complaints(page: Page) -> list[tuple[str, str]]:
    """What axe complains of, however small: the rule, and where it is broken first."""
    return [(one["id"], one["nodes"][0]["html"]) for one in Axe().run(page).response["violations"]]


def serious_complaints(page: Page, context: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    """What of it keeps somebody from using the page. `context` says which part of the page is looked at."""
    found = Axe().run(page, context=context).response["violations"]
    return [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in _SERIOUS]


def cut_drawings(page: Page) -> list[str]:
    """Notation that is wider than its place, with no cue that there is more of it. Some must be shown."""
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
    found: bool = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return found
