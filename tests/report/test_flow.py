from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from tests.matchers.melodies import CASTLE, TUNES

from roslin import Melody
from roslin.report.flow import explanation_page, flow_svg, spelled
from roslin.search import explain

SVG = "{http://www.w3.org/2000/svg}"
ORNAMENTED = next(tune for tune in TUNES if tune.id == "roslin-castle-4")


def drawn(svg: str) -> tuple[ET.Element, list[ET.Element], list[ET.Element]]:
    """(root, lines that are moves, disks)."""
    root = ET.fromstring(svg)
    moves = [line for line in root.iter(f"{SVG}line") if line.find(f"{SVG}title") is not None]
    return root, moves, [circle for circle in root.iter(f"{SVG}circle") if circle.get("r") != "3"]


def test_a_disk_for_every_note_and_a_line_for_every_move() -> None:
    found = explain(CASTLE, ORNAMENTED)
    root, moves, disks = drawn(flow_svg(found))
    assert len(moves) == len(found.parts[0].moves)
    graces = int(ORNAMENTED.notes["is_grace"].sum())
    assert len(list(root.iter(f"{SVG}circle"))) == len(CASTLE) + len(ORNAMENTED) - graces
    assert len(disks) > 0
    assert "Roslin Castle" in str(root.findtext(f"{SVG}title"))
    width, height = (float(number) for number in str(root.get("viewBox")).split()[2:])
    for line in moves:
        assert 0 <= float(str(line.get("x1"))) <= width
        assert 0 <= float(str(line.get("y2"))) <= height


def test_lines_are_as_wide_as_the_weight_and_as_red_as_the_distance() -> None:
    query = Melody.from_notes([0, 1, 5], [1, 4, 1], [60, 64, 67])
    other = Melody.from_notes([0, 1, 5], [1, 4, 1], [60, 64, 79])
    _, moves, _ = drawn(flow_svg(explain(query, other)))
    widths = [float(str(line.get("stroke-width"))) for line in moves]
    colours = [str(line.get("stroke")) for line in moves]
    assert widths[1] > 3 * widths[0]
    assert widths[0] == widths[2]
    assert colours[0] == colours[1] == "#2f7fb5"
    assert colours[2] == "#d63027"
    # Notes that agree stand under each other.
    assert [line.get("x1") for line in moves] == [line.get("x2") for line in moves]


def test_weight_without_a_partner() -> None:
    svg = flow_svg(explain(Melody.from_notes([0, 1], [1, 1], [60, 62]), Melody.from_notes([0], [1], [60])))
    assert svg.count("without a partner") == 1


def test_a_picture_for_each_segment_and_one_without_any() -> None:
    found = explain(CASTLE, ORNAMENTED, "twv(radius=0.5)")
    root, moves, _ = drawn(flow_svg(found))
    assert len(moves) == sum(len(part.moves) for part in found.parts)
    assert "".join(root.itertext()).count("Segment ") == len(found.parts) > 5
    empty = flow_svg(explain(CASTLE, TUNES[60], "twv(radius=0.001)"))
    assert "none is within the radius" in empty


def test_the_picture_needs_nothing_from_outside_and_escapes_titles() -> None:
    svg = flow_svg(explain(CASTLE.with_metadata(title="<A & B>"), ORNAMENTED))
    ET.fromstring(svg)
    assert "&lt;A &amp; B&gt;" in svg
    assert not re.search(r"href|<script|<style|url\(", svg)


def test_the_page_has_everything() -> None:
    found = explain(CASTLE, ORNAMENTED, "twv(radius=0.5)")
    page = explanation_page(found, "made <here>")
    assert page.count("<tr>") == 1 + sum(len(part.moves) for part in found.parts)
    assert page.count('class="notation"') == 2
    assert 'class="flow"' in page
    assert "made &lt;here&gt;" in page
    assert f"Distance {found.distance:.4f}" in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_a_fifth_on_the_line_of_fifths_is_drawn_where_it_is() -> None:
    query, up = (Melody.from_notes([0, 1, 2], [1] * 3, [60 + k, 62 + k, 65 + k]) for k in (0, 7))
    _, moves, _ = drawn(flow_svg(explain(query, up, "emd(pitch='fifths')")))
    assert len(moves) == 3


@pytest.mark.parametrize(("row", "text"), [(0, "1 D4"), (None, "-")])
def test_spelled(row: int | None, text: str) -> None:
    assert spelled(CASTLE, row) == text
