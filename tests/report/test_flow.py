from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from tests.matchers.melodies import CASTLE, TUNES

from roslin import Melody, matchers
from roslin.matchers import explain
from roslin.report.flow import flow_svg

SVG = "{http://www.w3.org/2000/svg}"
ORNAMENTED = next(tune for tune in TUNES if tune.id == "roslin-castle-4")


def drawn(svg: str) -> tuple[ET.Element, list[ET.Element], list[ET.Element]]:
    """(root, lines between notes, disks)."""
    root = ET.fromstring(svg)
    ties = [line for line in root.iter(f"{SVG}line") if line.get("stroke-linecap")]
    return root, ties, [circle for circle in root.iter(f"{SVG}circle") if circle.get("class") == "note"]


def test_a_disk_for_every_note_and_a_line_for_every_move() -> None:
    found = explain(CASTLE, ORNAMENTED, "emd")
    root, ties, disks = drawn(flow_svg(found))
    assert len(ties) == len(found.steps)
    graces = int(ORNAMENTED.notes["is_grace"].sum())
    assert len(disks) == len(CASTLE) + len(ORNAMENTED) - graces
    assert "Roslin Castle" in str(root.get("aria-label"))
    width, height = (float(number) for number in str(root.get("viewBox")).split()[2:])
    for line in ties:
        assert 0 <= float(str(line.get("x1"))) <= width
        assert 0 <= float(str(line.get("y2"))) <= height


def test_lines_are_as_wide_as_the_weight_and_as_red_as_the_distance() -> None:
    query = Melody.from_notes([0, 1, 5], [1, 4, 1], [60, 64, 67])
    other = Melody.from_notes([0, 1, 5], [1, 4, 1], [60, 64, 79])
    _, ties, _ = drawn(flow_svg(explain(query, other, "emd")))
    widths = [float(str(line.get("stroke-width"))) for line in ties]
    colours = [str(line.get("stroke")) for line in ties]
    assert widths[1] > 3 * widths[0]
    assert widths[0] == widths[2]
    assert colours[0] == colours[1] == "#2f7fb5"
    assert colours[2] == "#d63027"
    # Notes that agree stand under each other.
    assert [line.get("x1") for line in ties] == [line.get("x2") for line in ties]


def test_weight_without_a_partner() -> None:
    svg = flow_svg(explain(Melody.from_notes([0, 1], [1, 1], [60, 62]), Melody.from_notes([0], [1], [60]), "emd"))
    assert svg.count("without a partner") == 1


def test_a_picture_for_each_segment_and_one_without_any() -> None:
    found = explain(CASTLE, ORNAMENTED, "twv(radius=0.5)")
    root, ties, _ = drawn(flow_svg(found))
    assert len(ties) == sum(len(step.within.steps) for step in found.steps if step.within)
    assert "".join(root.itertext()).count("Segment ") == len(found.steps) > 5
    both = flow_svg(explain(CASTLE, ORNAMENTED, "twv(radius=0.5, both=True)"))
    assert both.count("(of the melody, in the query):") > 5
    empty = flow_svg(explain(CASTLE, TUNES[60], "twv(radius=0.001)"))
    assert "none is within the radius" in empty


def test_notes_side_by_side() -> None:
    """Blue for what is the same, red for what was changed, an open circle for what is left out."""
    query = Melody.from_notes(range(6), [1] * 6, [60, 62, 64, 65, 67, 69])
    other = Melody.from_notes(range(1, 6), [1] * 5, [67, 69, 72, 74, 76])
    found = explain(query, other, "dp")
    kinds = [step.kind for step in found.steps]
    root, ties, disks = drawn(flow_svg(found))
    assert len(ties) == kinds.count("same") + kinds.count("other")
    assert [line.get("stroke") for line in ties].count("#d63027") == kinds.count("other") > 0
    assert len([circle for circle in root.iter(f"{SVG}circle") if circle.get("class") == "lost"]) == 1
    assert len(disks) == 11


def test_notes_that_agree_stand_under_each_other_for_every_matcher() -> None:
    later = Melody.from_notes(range(2, 13), [1] * 11, [67, 69, 71, 67, 67, 69, 71, 67, 71, 72, 74])
    query = Melody.from_notes(range(11), [1] * 11, [60, 62, 64, 60, 60, 62, 64, 60, 64, 65, 67])
    for name in set(matchers()) - {"harmcore"}:  # which compares whole bars, and these lie elsewhere
        _, ties, _ = drawn(flow_svg(explain(query, later, name)))
        straight = [line for line in ties if line.get("x1") == line.get("x2")]
        assert {line.get("x1") for line in straight} >= {line.get("x1") for line in ties}, name


@pytest.mark.parametrize("name", [*matchers(), "fuse(us, dp)"])
def test_every_matcher_is_drawn(name: str) -> None:
    for query, candidate in ((CASTLE, ORNAMENTED), (CASTLE, TUNES[60]), (TUNES[60], CASTLE)):
        root, *_ = drawn(flow_svg(explain(query, candidate, name)))
        assert root.get("class") == "flow"
    nothing = flow_svg(explain(CASTLE, Melody.from_notes([], [], []), name))
    assert "The melody has no notes." in nothing


def test_a_run_at_several_places_goes_to_the_nearest() -> None:
    query = Melody.from_notes(range(6), [1] * 6, [60, 62, 64, 60, 62, 64])
    other = Melody.from_notes(range(9), [1] * 9, [67, 69, 71, 67, 69, 71, 67, 69, 71])
    _, ties, _ = drawn(flow_svg(explain(query, other, "us(n=2)")))
    assert all(line.get("x1") == line.get("x2") for line in ties)
    assert len(ties) == 6


def test_the_picture_needs_nothing_from_outside_and_escapes_titles() -> None:
    svg = flow_svg(explain(CASTLE.with_metadata(title="<A & B>"), ORNAMENTED, "emd"))
    ET.fromstring(svg)
    assert "&lt;A &amp; B&gt;" in svg
    assert not re.search(r"href|<script|<style|style=|url\(", svg)


def test_a_fifth_on_the_line_of_fifths_is_drawn_where_it_is() -> None:
    query, up = (Melody.from_notes([0, 1, 2], [1] * 3, [60 + k, 62 + k, 65 + k]) for k in (0, 7))
    _, ties, _ = drawn(flow_svg(explain(query, up, "emd(pitch='fifths')")))
    assert len(ties) == 3
