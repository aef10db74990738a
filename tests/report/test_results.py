from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from roslin import Melody, load
from roslin.notation import pae
from roslin.report.document import results_page
from roslin.report.player import drawing, marked, melody_figure, pianoroll_svg
from roslin.report.svg import own_file
from roslin.run import Ranking, Run
from roslin.run.meaning import CHANCE_LINE


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROSLIN_CACHE", str(tmp_path))


NASTY = "<script>alert(\"1\")</script> & 'quotes'"


def test_a_note_for_each_note_and_a_line_for_each_bar() -> None:
    melody = pae.read("%G-2@3/4 =2/'4CDE/gF2.G//")
    svg = ElementTree.fromstring(pianoroll_svg(melody, NASTY))
    space = "{http://www.w3.org/2000/svg}"
    kinds = [rect.get("class") for rect in svg.iter(f"{space}rect")]
    assert kinds == ["note", "note", "note", "grace", "note"]
    assert len(list(svg.iter(f"{space}line"))) == 2  # bars before the first note are left out
    assert svg.get("aria-label") == NASTY
    xs = [float(rect.get("x", "nan")) for rect in svg.iter(f"{space}rect") if rect.get("class") == "note"]
    assert xs == sorted(xs)


def test_drawings_of_almost_nothing() -> None:
    for melody in (Melody.from_notes([], [], []), Melody.from_notes([0], [0], [60], graces=[True])):
        assert pianoroll_svg(melody, "x").startswith("<svg")


def page_of(melody: Melody) -> str:
    run = Run([Ranking("q", (NASTY,), (0.25,))], name=NASTY, kind="distance")
    return results_page(melody, run, [melody], NASTY)


def test_the_page_needs_nothing_and_escapes_everything() -> None:
    melody = pae.read("'4CDE").with_metadata(id=NASTY, title=NASTY, composer=NASTY, key=NASTY)
    page = page_of(melody)
    assert page.count("<script") == page.count(own_file("player.js")) == 1
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(?:src=|@import|url\(|fetch\(|import\()", page)
    assert set(re.findall(r'href="(.)', page)) == {"#"}
    assert "default-src 'none'" in page
    parser = _Balance()
    parser.feed(page)
    assert parser.open == []


def test_every_melody_is_engraved_and_can_be_played() -> None:
    page = page_of(pae.read("%G-2@3/4 '4CDE/gF2.G//").with_metadata(title="A tune"))
    assert page.count('class="notation"') == page.count("<figure") == 2
    assert re.findall(r'<button [^>]*aria-label="([^"]*)"', page) == ["Listen to the query", "Listen to A tune"]
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert {"query-note-4", "result-1-note-4"} <= set(ids)
    for written in re.findall(r'data-notes="([^"]*)"', page):
        rows = json.loads(written)
        assert sorted(row for row, *_ in rows) == [0, 1, 2, 3, 4]
        assert rows[0] == [0, 0.0, 0.6, 60]


def test_what_cannot_be_engraved_is_a_piano_roll_with_the_reason() -> None:
    melody = Melody.from_notes([0, 1], [1 / 19, 1], [60, 62], id="odd")
    picture = drawing(melody)
    assert not picture.drawn
    assert picture.svg.startswith('<svg xmlns="http://www.w3.org/2000/svg" class="roll" role="img"')
    page = page_of(melody)
    assert page.count('class="roll"') == 2
    assert "Shown as a piano roll: a length that notation cannot write; found 2122 ticks." in page
    assert 'id="query-note-1" data-note="1"' in page
    assert page.count("<button") == 2


def test_nothing_to_play() -> None:
    figure = melody_figure(Melody.from_notes([], [], []), "nothing", "x-")
    assert "there are no notes" in figure
    assert "<button" not in figure


def test_matched_notes_are_marked() -> None:
    drawn = melody_figure(pae.read("'4CDEC"), "a tune", "x-", [2, 3])
    assert drawn.count("matched note") == 2
    assert 'data-from="1.2"' in drawn
    assert "Listen to a tune from the match" in drawn
    assert melody_figure(pae.read("'4CDEC"), "a tune", "x-", [0]).count("<button") == 1
    assert marked("<svg></svg>", []) == "<svg></svg>"


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


def test_a_line_is_drawn_where_chance_begins() -> None:
    melody = load("'4CDEF")[0]
    run = Run(
        [Ranking("q", ("a", "b", "c", "d"), (0.1, 0.2, 0.8, 0.9), expected=(0.001, 0.01, 9.0, 90.0))], kind="distance"
    )
    page = results_page(melody, run, [melody] * 4, "")
    assert page.count(CHANCE_LINE) == 1
    above, below = page.split(CHANCE_LINE)
    assert (above.count('class="head"'), below.count('class="head"')) == (2, 2)  # no row is hidden
    assert "<strong>Found.</strong>" in above
    assert CHANCE_LINE not in results_page(melody, run[:2], [melody] * 2, "")
    nothing = Run([Ranking("q", ("d",), (0.9,), expected=(90.0,))], kind="distance")
    assert "Nothing better than chance; the closest are shown" in results_page(melody, nothing, [melody], "")
