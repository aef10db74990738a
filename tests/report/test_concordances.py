from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.report.concording import NASTY, THIRD, TUNE, concorded, related

from roslin import Collection, Melody
from roslin.concordances.concordance import Concordances
from roslin.concordances.pairs import FoundPairs
from roslin.errors import ArgumentError
from roslin.notation import pae
from roslin.report.concordances import compared_words, concordances_page, source_link, write_report
from roslin.report.synopsis import Glyphs, synopsis
from roslin.report.tune_groups import GroupSummary, group_lines, summaries
from roslin.report.variants import compared


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Concordances]:
    opened, made = concorded(tmp_path_factory.mktemp("report"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROSLIN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield made
    opened.close()


@pytest.fixture(scope="module")
def groups(found: Concordances) -> list[GroupSummary]:
    return summaries(found)


@pytest.fixture(scope="module")
def page(found: Concordances, groups: list[GroupSummary]) -> str:
    return concordances_page(found, groups)


# -- one melody against another -------------------------------------------------------------------------------------


def test_the_same_tune_in_another_key_differs_in_nothing() -> None:
    first = pae.read(TUNE)
    found = compared(first, first.transposed("perfect fifth up"))
    assert found.columns == {row: row for row in range(len(first))}
    assert (found.differences, found.transposition, found.values) == (0, 7, Fraction(1))
    assert (found.shown.notes["pitch_midi"] == first.notes["pitch_midi"]).all()
    assert found.words == "note for note the same."
    assert found.place_words == "transposed down a perfect fifth"


def test_every_kind_of_difference_is_told() -> None:
    first = pae.read("%G-2@c '4CDEF/GAGE/FEDC/DEFG//")
    # A higher A, a dotted F, a passing note after the second F, and no third E.
    other = pae.read("%G-2@c '4CDE4.F/'4GBGE/8FG4EDC/DFG//")
    found = compared(first, other)
    assert found.other_pitch == {5}
    assert 3 in found.other_length
    assert found.only_here == {9}
    assert found.missing == {13}
    assert "1 other pitch" in found.words
    assert "1 note only here" in found.words
    assert "1 note missing" in found.words


def test_longer_values_and_other_ends_are_no_differences() -> None:
    first = pae.read("%G-2@c '4CDEF/GAGE/2DC//")
    doubled = compared(first, pae.read("%G-2@2/2 '2CDEF/GAGE/1D//"))
    assert (doubled.differences, doubled.values, doubled.after) == (0, Fraction(2), -1)
    assert (
        doubled.words
        == "note for note the same; ends 1 note earlier; in note values twice as long; in 2/2 instead of c."
    )
    longer = compared(first, pae.read("%G-2@c '4CDEF/GAGE/2DC/4EFGE//"))
    assert longer.words == "note for note the same; continues for 4 notes."


def test_a_grace_note_differs_unless_both_have_it() -> None:
    plain, adorned = pae.read("%G-2@c '4CDEF/GAGE//"), pae.read("%G-2@c '4CDgFEF/GAGE//")
    assert adorned.notes["is_grace"].sum() == 1
    found = compared(plain, adorned)
    assert (len(found.only_here), found.differences) == (1, 1)
    assert compared(adorned, adorned).differences == 0
    assert len(compared(adorned, plain).missing) == 1


def test_melodies_with_nothing_in_common_have_no_columns() -> None:
    found = compared(pae.read(TUNE), Melody.from_notes([], [], []))
    assert (found.columns, found.differences) == ({}, 0)


# -- one under the other --------------------------------------------------------------------------------------------


def heads(svg: str) -> dict[int, float]:
    """Where the notes of a drawing stand, by their rows."""
    found: dict[int, float] = {}
    for note in ElementTree.fromstring(svg).iter("g"):
        if note.get("data-note"):
            use = next(each for each in note.iter("use"))
            place = re.match(r"translate\((-?\d+),", use.get("transform", ""))
            assert place
            found.setdefault(int(note.get("data-note", "")), float(place[1]))
    return found


def test_notes_that_belong_together_stand_in_one_column() -> None:
    first = pae.read("%G-2@c '4CDEF/GAGE/8FEDC4DE/FG2A//")
    others = [
        pae.read("%G-2$bBEA@2/2 '2CDEF/GAGE/4FEDC2DE//").transposed(3),  # longer values: wider by itself
        pae.read("%G-2@c '4CDEF/8GAGFGAGE/FEDC4DE//"),
        pae.read("%G-2@c '4FGAG/E8FEDC4D/EFGA//"),  # begins later, bars elsewhere
    ]
    variants = [compared(first, other) for other in others]
    drawings = synopsis(first, variants, ["A", "B", "C", "D"], "x-", glyphs := Glyphs())
    assert [reason for _, reason in drawings] == [""] * 4
    above = heads(str(drawings[0][0]))
    for variant, (drawing, _) in zip(variants, drawings[1:], strict=True):
        here = heads(str(drawing))
        assert len(variant.columns) >= 8
        for row, column in variant.columns.items():
            assert here[row] == pytest.approx(above[column], abs=1.5)
        places = [here[row] for row in sorted(here)]
        assert all(after - before > 200 for before, after in pairwise(places))
    widths = {re.search(r'width="(\d+)"', str(drawing))[1] for drawing, _ in drawings}  # type: ignore[index]
    assert len(widths) == 1
    ids = re.findall(r'\bid="([^"]+)"', "".join(str(drawing) for drawing, _ in drawings))
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'href="#([^"]+)"', "".join(str(drawing) for drawing, _ in drawings)))
    assert used <= set(glyphs.drawn)
    assert set(re.findall(r'\bid="([^"]+)"', str(glyphs.markup))) == set(glyphs.drawn)


def test_differences_have_signs_of_their_own_shape() -> None:
    first = pae.read("%G-2@c '4CDEF/GAGE/FEDC/DEFG//")
    variant = compared(first, pae.read("%G-2@c '4CDE4.F/'4GBGE/8FG4EDC/DFG//"))
    drawing = str(synopsis(first, [variant], ["A", "B"], "x-", Glyphs())[1][0])
    marks = re.findall(r'class="mark (\w+)" d="([^"]+)"[^>]* fill="(\w+)"', drawing)
    shapes = {kind: (re.sub(r"^M-?\d+", "", path), fill) for kind, path, fill in marks}
    assert set(shapes) == {"pitch", "length", "only", "missing"}
    assert len(set(shapes.values())) == 4
    assert len(marks) == variant.differences
    assert drawing.count(" differs") == variant.differences - len(variant.missing)
    assert str(synopsis(first, [], ["A"], "x-", Glyphs())[0][0]).count("mark ") == 0


def test_what_cannot_be_engraved_is_a_piano_roll_between_the_others() -> None:
    first, odd = pae.read(TUNE), Melody.from_notes([0, 1, 2, 3], [1 / 19, 1, 1, 1], [60, 62, 64, 65])
    drawings = synopsis(first, [compared(first, odd)], ["A", "B"], "x-", Glyphs())
    assert [bool(reason) for _, reason in drawings] == [False, True]
    assert 'class="roll"' in drawings[1][0]


# -- groups ---------------------------------------------------------------------------------------------------------


def test_disagreements_come_first_then_names_then_libraries(groups: list[GroupSummary]) -> None:
    assert [each.kind for each in groups] == ["attribution", "anonymous", "libraries", "same"]
    assert [each.kind_words for each in groups] == [
        "Attributions disagree",
        "A name for an anonymous source",
        "Different libraries",
        "One record",
    ]
    assert groups[1].composer_words == "Hasse, Johann Adolf in 1 source; no composer named in 1 source"
    assert groups[2].libraries == ("CZ-Bu", "GB-Lbl")


def test_how_sure_a_group_is_is_said_in_words(groups: list[GroupSummary]) -> None:
    chain, pair = groups[0], groups[1]
    assert chain.certainty_words == "The weakest of its pairs is rated “probably”: a probability of 78%."
    assert chain.stability_words == (
        "Not stable: at a probability of 95% only 17% of its pairs of melodies stay together."
    )
    assert chain.weak_links[0] == (
        "Only the resemblance of 400-1.1.1 and 402-1.1.1 links 2 melodies with 2 others: a probability of 95%."
    )
    assert len(chain.weak_links) == 2
    assert pair.stability_words == "At a probability of 95% it would still be found."
    assert pair.weak_links == ()


def test_identical_incipits_are_one_line_with_their_sources(found: Concordances, groups: list[GroupSummary]) -> None:
    lines = group_lines(found, groups[0].group)
    assert [(line.letter, [source.record for source in line.sources]) for line in lines] == [
        ("A", ["400", "401"]),
        ("B", ["402"]),
        ("C", ["403"]),
    ]
    assert lines[0].names == "Pergolesi, Giovanni Battista · Anonymous"
    assert [len(group_lines(found, each.group)) for each in groups[1:]] == [1, 1, 1]
    assert group_lines(found, groups[2].group)[0].names == "Haydn, Joseph (2)"


# -- pages ----------------------------------------------------------------------------------------------------------


class _Balance(HTMLParser):
    """Elements that were opened and not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "input", "br", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_nothing_and_escapes_everything(page: str) -> None:
    assert NASTY not in page
    assert page.count("<script") == 2
    assert set(re.findall(r"https?://[^\s\"'<>]+", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\b(?:src=|@import|url\(|fetch\(|import\()", page)
    assert "default-src 'none'" in page
    parser = _Balance()
    parser.feed(page)
    assert parser.open == []
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_the_page_says_what_was_compared_and_how_sure_it_is(page: str, found: Concordances) -> None:
    said = compared_words(found)
    assert said[0].startswith("10 melodies of tunes.roslin were compared with each other, using roslin(compare='both')")
    assert "A pair counts if it has a probability of at least 50% of being the same tune" in said[1]
    assert "2 pairs of the 7 found here have sources that name different composers" in said[1]
    part = replace(found.pairs, is_exact=False, is_all=False)
    said = compared_words(Concordances(found.store, part))
    assert said[0].startswith("Only those of the 10 melodies of tunes.roslin that share something rare were compared")
    assert said[1] == "Roslin searched only for pairs with a new melody."
    assert "Roslin 0." in page
    assert "may be by different composers" in page


def test_one_is_said_in_the_singular(found: Concordances, tmp_path: Path) -> None:
    assert "1 pair of the 7 found here has sources that name different composers" in compared_words(found, 1)[1]
    left = Concordances(found.store, replace(found.pairs, left_copies=1, folded=1))
    assert compared_words(left)[2:4] == [
        "1 more pair has the same notes, but they are too few or too common for a higher probability.",
        "1 melody has the same notes as more than 999 others, and is linked to the first only.",
    ]
    left = Concordances(found.store, replace(found.pairs, left_copies=20, folded=1200))
    assert compared_words(left)[2].startswith("20 more pairs have the same notes")
    assert compared_words(left)[3].startswith("1,200 melodies have the same notes as more than 999 others, and are")
    with Collection.build([pae.read(TUNE)], tmp_path / "one.roslin") as one:
        for is_exact in (True, False):
            alone = Concordances(one, replace(found.pairs.narrowed(-1.0), melodies=1, is_exact=is_exact))
            assert compared_words(alone)[0].startswith("one.roslin has too few melodies to compare, using roslin")


def test_every_line_can_be_heard_and_every_source_is_listed(page: str) -> None:
    played = re.findall(r'<button [^>]*aria-label="(Listen [^"]*)"', page)
    assert played == [
        "Listen to A of group 1",
        "Listen to B of group 1",
        "Listen to C of group 1",
        *(f"Listen to A of group {number}" for number in (2, 3, 4)),
    ]
    for written in re.findall(r'<figure class="melody line" data-notes="([^"]*)"', page):
        assert len(json.loads(written)) > 8
    for id in ("400-1.1.1", "401-1.1.1", "430-1.2.1"):
        assert page.count(f"<code>{id}</code>") == 1
    assert "Mus. 400-1.1.1" in page
    assert "P 12" in page


def test_groups_carry_what_filters_ask_for(page: str) -> None:
    libraries = [json.loads(html.unescape(text)) for text in re.findall(r'data-libraries="([^"]*)"', page)]
    assert libraries == [["D-Dl", "I-Nc"], ["D-Dl"], ["CZ-Bu", "GB-Lbl"], ["CZ-Bu"]]
    assert re.search(r'<form class="filters" id="filters" hidden', page)  # without scripts there is nothing to choose


def test_many_groups_are_a_folder_of_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: Concordances
) -> None:
    monkeypatch.setattr("roslin.report.concordances.GROUPS_ON_PAGE", 3)
    told: list[float] = []
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "groups-0009.html").write_text("of an earlier report")
    start = write_report(
        found,
        tmp_path / "out",
        link=source_link("https://example.org/{record}"),
        progress=lambda done, _what: told.append(done),
    )
    assert start == tmp_path / "out" / "index.html"
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == ["groups-0001.html", "groups-0002.html", "index.html"]
    index = start.read_text("utf-8")
    assert re.findall(r'<a href="(groups[^"]+)">(\d)', index) == [
        ("groups-0001.html#group-1", "1"),
        ("groups-0001.html#group-2", "2"),
        ("groups-0001.html#group-3", "3"),
        ("groups-0002.html#group-4", "4"),
    ]
    second = (tmp_path / "out" / "groups-0002.html").read_text("utf-8")
    assert 'id="group-4"' in second
    assert "Group 4 of 4." in second
    assert 'href="groups-0001.html" rel="prev"' in second
    assert 'href="https://example.org/430"' in second
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1.0)


def test_no_concordances_are_a_page_that_says_so(tmp_path: Path) -> None:
    with Collection.build([pae.read(THIRD).with_metadata(id="one")], tmp_path / "one.roslin") as opened:
        nobody = np.empty(0, np.int64)
        empty = FoundPairs(nobody, nobody, np.empty(0), np.empty(0), np.empty(0, bool), 0.001, 0, 1)
        target = write_report(Concordances(opened, empty), tmp_path / "page.html")
        assert "No two melodies are the same tune" in target.read_text("utf-8")
        assert "No two melodies are the same tune" in write_report(
            Concordances(opened, empty), tmp_path / "folder"
        ).read_text("utf-8")


def test_a_link_names_a_source() -> None:
    for wrong in ("example.org/{record}", "https://example.org/", "javascript:{id}"):
        with pytest.raises(ArgumentError, match="must start with https:// and hold"):
            source_link(wrong)


def test_what_was_compared_survives_the_folder(found: Concordances, tmp_path: Path) -> None:
    for is_exact in (True, False):
        Concordances(found.store, replace(found.pairs, is_exact=is_exact, is_all=False)).write(tmp_path)
        kept = Concordances.read(tmp_path, found.store).pairs
        assert (kept.is_exact, kept.is_all) == (is_exact, False)


# -- by a radius, and groups that are related -----------------------------------------------------------------------


def test_what_leads_from_group_to_group_is_told(tmp_path: Path) -> None:
    opened, found = related(tmp_path)
    first, second = summaries(found)
    assert [each.group.members.tolist() for each in (first, second)] == [[0, 1, 2], [4, 5]]
    assert [(each.number, each.name, each.pairs) for each in first.related] == [
        (2, "410-1.1.1", 1),
        (0, "420-1.1.1", 1),
    ]
    assert first.related[0].heading == second.heading
    assert first.related[0].words == "402-1.1.1 and 410-1.1.1: distance 0.7 by dp"
    assert first.related[1].heading == "Haydn, Joseph: Salve Regina"
    assert [(each.number, each.name) for each in second.related] == [(1, "400-1.1.1")]
    one = concordances_page(found, summaries(found))
    assert '<a href="#group-2">Group 2</a>' in one
    assert "<code>420-1.1.1</code>, Haydn, Joseph: Salve Regina, in no group" in one
    write_report(found, tmp_path / "report")
    assert '<a href="groups-0001.html#group-1">Group 1</a>' in (tmp_path / "report" / "groups-0001.html").read_text()
    opened.close()


def test_a_radius_says_nothing_of_chance(tmp_path: Path) -> None:
    opened, found = related(tmp_path)
    summary = summaries(found)[0]
    assert summary.certainty_words == "The weakest of its pairs: distance 0.2 by dp."
    assert summary.stability_words == "Stable: it stays whole at half the radius."
    said = " ".join(compared_words(found))
    assert "distance at most 1 by dp, in either direction" in said
    assert "there is no chance estimate for it" in said
    page = concordances_page(found, summaries(found))
    assert "probab" not in page
    assert "nan" not in re.sub(r"<[^>]+>", "", page).lower().split()
    opened.close()
