from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

from roslin import Melody
from roslin.notation import pae
from roslin.report.html import results_page
from roslin.report.pianoroll import pianoroll_svg
from roslin.search import Hit, Run

NASTY = "<script>alert(\"1\")</script> & 'quotes'"


def test_a_note_for_each_note_and_a_line_for_each_bar() -> None:
    melody = pae.read("%G-2@3/4 =2/'4CDE/gF2.G//")
    svg = ElementTree.fromstring(pianoroll_svg(melody, NASTY))
    space = "{http://www.w3.org/2000/svg}"
    kinds = [rect.get("class") for rect in svg.iter(f"{space}rect")]
    assert kinds == ["note", "note", "note", "grace", "note"]
    assert len(list(svg.iter(f"{space}line"))) == 2  # bars before the first note are left out
    title = svg.find(f"{space}title")
    assert title is not None
    assert title.text == NASTY
    xs = [float(rect.get("x", "nan")) for rect in svg.iter(f"{space}rect") if rect.get("class") == "note"]
    assert xs == sorted(xs)


def test_drawings_of_almost_nothing() -> None:
    for melody in (Melody.from_notes([], [], []), Melody.from_notes([0], [0], [60], graces=[True])):
        assert pianoroll_svg(melody, "x").startswith("<svg")


def test_the_page_needs_nothing_and_escapes_everything() -> None:
    melody = pae.read("'4CDE").with_metadata(id=NASTY, title=NASTY, composer=NASTY, key=NASTY)
    page = results_page(melody, Run("q", NASTY, (Hit(1, NASTY, 0.25),)), [melody], NASTY)
    assert "<script" not in page
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(?:src|href|@import|url\()", page)
    parser = _Balance()
    parser.feed(page)
    assert parser.open == []


class _Balance(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
