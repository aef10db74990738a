"""Melodies one under the other: notes that belong together are in one column, and differences have a sign.

Each melody is engraved by itself, as its source writes it (its own bars, beams and note values), and its drawing is
then stretched sideways until every note is under its partner in the first melody. Nothing is ever squeezed, so nothing
collides. Signs are above the staff, so that no colour is needed to see them:

    filled triangle   another pitch           plus    a note only here
    open triangle     another length          minus   a note of the first melody is missing here

Glyphs are drawn once for a page (`Glyphs`): drawings refer to them. Lengths are verovio's units, 1/25 pixel.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from roslin.display.templates import render
from roslin.engrave import engrave
from roslin.report.player import pianoroll_svg
from roslin.report.variants import Variant

if TYPE_CHECKING:
    from markupsafe import Markup

    from roslin.melody import Melody

SIGNS = {"pitch": "another pitch", "length": "another length", "only": "only here", "missing": "missing here"}

_SVG = "http://www.w3.org/2000/svg"
_HEAD = 230.0  # how wide a notehead is, with its stem
_SIGNS_ABOVE = 300.0
_PIXEL = 31.0  # units in a pixel: somewhat smaller than a separate drawing
_PLACE = re.compile(r"translate\((-?[\d.]+), (-?[\d.]+)\)")
_POINT = re.compile(r"(-?\d+(?:\.\d+)?)([ ,])(-?\d+(?:\.\d+)?)")
_SIGN_PATHS = {
    "pitch": "M{x} -150 h200 l-100 170 Z",
    "length": "M{x} -150 h200 l-100 170 Z",
    "only": "M{x} -65 h200 m-100 -100 v200",
    "missing": "M{x} -65 h200",
}

_Move = Callable[[float], float]


@dataclass(slots=True)
class Glyphs:
    """The glyphs of all drawings of a page, by their names."""

    drawn: dict[str, str] = field(default_factory=dict)

    @property
    def markup(self) -> Markup:
        from markupsafe import Markup

        return Markup(render("report/glyphs.html", glyphs=[self.drawn[name] for name in sorted(self.drawn)]))  # noqa: S704


@dataclass(slots=True)
class _Staff:
    """A drawing in parts: its root, the places of its notes, the end of the signs at its beginning, its length."""

    root: Element
    inner: Element
    margin: Element
    notes: dict[int, float]  # by row; of tied pieces the first
    pieces: list[float]
    begin: float
    height: float
    end: float


def synopsis(
    first: Melody, variants: Sequence[Variant], names: Sequence[str], prefix: str, glyphs: Glyphs
) -> list[tuple[Markup, str]]:
    """(drawing, why it is none of notation) of the first melody and of each variant of it, all of one width.

    `names` are for screen readers. `prefix` must be another for each synopsis of a page.
    """
    shown = [first, *(each.shown for each in variants)]
    columns = [{row: row for row in range(len(first))}, *(each.columns for each in variants)]
    drawings = [engrave(melody, name, layout="line") for melody, name in zip(shown, names, strict=True)]
    staves = [_staff(drawing.svg, glyphs) if drawing.drawn else None for drawing in drawings]
    places = _places([(staff, facing) for staff, facing in zip(staves, columns, strict=True) if staff is not None])
    signs: list[dict[int, str]] = [{}]
    for each in variants:
        by_kind = {"pitch": each.other_pitch, "length": each.other_length, "only": each.only_here}
        signs.append({row: kind for kind, rows in by_kind.items() for row in rows})
    moves = [
        _move(staff, facing, places) if staff is not None else float
        for staff, facing in zip(staves, columns, strict=True)
    ]
    width = max((move(staff.end) for staff, move in zip(staves, moves, strict=True) if staff is not None), default=0.0)
    found = []
    for number, (staff, move) in enumerate(zip(staves, moves, strict=True)):
        if staff is None:
            roll = pianoroll_svg(shown[number], f"Piano roll: {names[number]}")
            found.append((_raw(roll), drawings[number].reason))
            continue
        gaps = [places[row] for row in variants[number - 1].missing if row in places] if number else []
        found.append((_raw(_drawn(staff, move, signs[number], gaps, width, f"{prefix}{number}-")), ""))
    return found


# -- taking a drawing apart -----------------------------------------------------------------------------------------


def _staff(svg: str, glyphs: Glyphs) -> _Staff:
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own drawing
    inner = next(each for each in root if each.tag == f"{{{_SVG}}}svg")
    margin = next(each for each in root.iter(f"{{{_SVG}}}g") if each.get("class") == "page-margin")
    for definitions in root.findall(f"{{{_SVG}}}defs"):
        for glyph in definitions:
            name = str(glyph.get("id"))
            glyphs.drawn[name] = glyphs.drawn.get(name) or _text(glyph)
        root.remove(definitions)
    notes: dict[int, float] = {}
    pieces = []
    for note in root.iter(f"{{{_SVG}}}g"):
        if note.get("data-note") is not None:
            place = _head(note)
            pieces.append(place)
            notes.setdefault(int(note.get("data-note", "0")), place)
    signatures = [_left(each) for each in root.iter() if each.get("class") in ("clef", "keySig", "meterSig")]
    leading = [x for x in signatures if x < min(pieces, default=0.0)]
    _, _, width, height = (float(number) for number in str(inner.get("viewBox")).split())
    return _Staff(root, inner, margin, notes, sorted(pieces), max(leading, default=0.0) + _HEAD, height, width)


def _head(note: Element) -> float:
    heads = [each for each in note.iter(f"{{{_SVG}}}g") if each.get("class") == "notehead"]
    return _left(heads[0] if heads else note)


def _left(element: Element) -> float:
    for each in element.iter(f"{{{_SVG}}}use"):
        if placed := _PLACE.match(each.get("transform", "")):
            return float(placed[1])
    return 0.0


# -- columns --------------------------------------------------------------------------------------------------------


def _places(staves: Sequence[tuple[_Staff, Mapping[int, int]]]) -> dict[int, float]:
    """The place of each note of the first melody: as far from the one before as the widest of the drawings needs."""
    needs: dict[int, list[tuple[int, float]]] = {}
    for staff, facing in staves:
        before, at = -1, 0.0
        for row, column in sorted(facing.items(), key=lambda item: item[1]):
            if row in staff.notes:
                needs.setdefault(column, []).append((before, staff.notes[row] - at))
                before, at = column, staff.notes[row]
    places = {-1: 0.0}
    for column in sorted(needs):
        places[column] = max(places[before] + width for before, width in needs[column])
    return places


def _move(staff: _Staff, facing: Mapping[int, int], places: Mapping[int, float]) -> _Move:
    """A map from old to new places in a drawing. A note and its stem move as one."""
    knots = [(0.0, 0.0), (staff.begin, 0.0)]
    known = sorted((staff.notes[row], places[column]) for row, column in facing.items() if row in staff.notes)
    fixed = [(at, to - at) for at, to in known if at > staff.begin]
    rough = _interpolated([*knots, *fixed])
    for at in sorted({*staff.pieces}):
        if at > knots[-1][0]:
            shift = rough(at)
            knots += [(at, shift), (at + _HEAD, shift)]
    kept = knots[:1]
    for knot in knots[1:]:
        if knot[0] > kept[-1][0]:  # heads of a chord may be side by side
            kept.append(knot)
    smooth = _interpolated(kept)
    return lambda x: x + smooth(x)


def _interpolated(knots: Sequence[tuple[float, float]]) -> _Move:
    ats, values = [at for at, _ in knots], [value for _, value in knots]

    def found(x: float) -> float:
        after = bisect_right(ats, x)
        if after == 0 or after == len(ats):
            return values[0] if after == 0 else values[-1]
        share = (x - ats[after - 1]) / (ats[after] - ats[after - 1])
        return values[after - 1] + share * (values[after] - values[after - 1])

    return found


# -- drawing it again -----------------------------------------------------------------------------------------------


def _drawn(
    staff: _Staff, move: _Move, signs: Mapping[int, str], gaps: Sequence[float], width: float, prefix: str
) -> str:
    _stretch(staff.margin, move, None, [at + 9.0 for at in staff.pieces])
    for note in staff.margin.iter(f"{{{_SVG}}}g"):
        if "id" in note.attrib:
            note.set("id", prefix + note.get("id", ""))
        if int(note.get("data-note", "-1")) in signs:
            note.set("class", f"{note.get('class')} differs")
    for row, kind in signs.items():
        if row in staff.notes:
            _sign(staff.margin, move(staff.notes[row]), kind)
    for place in gaps:
        _sign(staff.margin, place, "missing")
    height = staff.height + _SIGNS_ABOVE
    staff.inner.set("viewBox", f"0 {-_SIGNS_ABOVE + 100:.0f} {width:.0f} {height:.0f}")
    wide, high = f"{width / _PIXEL:.0f}", f"{height / _PIXEL:.0f}"
    staff.root.set("viewBox", f"0 0 {wide} {high}")
    staff.root.set("width", wide)
    staff.root.set("height", high)
    return _text(staff.root)


def _stretch(element: Element, move: _Move, shift: float | None, stems: Sequence[float]) -> None:
    """Move all that an element holds. With a shift, by that: a note keeps its shape."""
    if element.get("data-note") is not None:
        at = _head(element)
        shift = move(at) - at
    elif element.get("class", "").startswith("ledgerLines"):
        for each in element:
            points = [float(x) for x, _, _ in _POINT.findall(each.get("d", ""))]
            middle = sum(points) / max(len(points), 1)
            _shift(each, _by(move(middle) - middle))
        return
    for each in element:
        if each.tag == f"{{{_SVG}}}g":
            _stretch(each, move, shift, stems)
        elif shift is not None:
            _shift(each, _by(shift))
        elif each.tag == f"{{{_SVG}}}polygon":
            each.set("points", _beam(each.get("points", ""), move, stems))
        else:
            _shift(each, move)


def _by(shift: float) -> _Move:
    return lambda x: x + shift


def _shift(element: Element, move: _Move) -> None:
    if (path := element.get("d")) is not None:
        element.set("d", _POINT.sub(lambda at: f"{move(float(at[1])):.0f}{at[2]}{at[3]}", path))
    if (points := element.get("points")) is not None:
        element.set("points", _POINT.sub(lambda at: f"{move(float(at[1])):.0f}{at[2]}{at[3]}", points))
    if (placed := element.get("transform")) is not None:
        element.set("transform", _PLACE.sub(lambda at: f"translate({move(float(at[1])):.0f}, {at[2]})", placed))
    if (wide := element.get("width")) is not None:
        left = float(element.get("x", "0"))
        element.set("width", f"{move(left + float(wide)) - move(left):.0f}")
    for name in ("x", "cx"):
        if (at := element.get(name)) is not None:
            element.set(name, f"{move(float(at)):.0f}")


def _beam(points: str, move: _Move, stems: Sequence[float]) -> str:
    """A beam, with a corner at each stem between its ends, so that it still meets them."""
    corners = [(float(x), float(y)) for x, _, y in _POINT.findall(points)]
    if len(corners) != 4:
        return _POINT.sub(lambda at: f"{move(float(at[1])):.0f}{at[2]}{at[3]}", points)
    (left, top), (right, top_right), _, (_, bottom) = corners
    between = [x for x in sorted({*stems, *(x + _HEAD - 22 for x in stems)}) if left < x < right]
    slope = (top_right - top) / (right - left) if right > left else 0.0
    line = [(x, top + slope * (x - left)) for x in (left, *between, right)]
    thick = bottom - top
    outline = [*line, *((x, y + thick) for x, y in reversed(line))]
    return " ".join(f"{move(x):.0f},{y:.0f}" for x, y in outline)


def _sign(margin: Element, at: float, kind: str) -> None:
    sign = ElementTree.SubElement(margin, f"{{{_SVG}}}path", {"class": f"mark {kind}"})
    sign.set("d", _SIGN_PATHS[kind].format(x=f"{at:.0f}"))
    sign.set("stroke-width", "45")
    sign.set("fill", "currentColor" if kind == "pitch" else "none")
    title = ElementTree.SubElement(sign, f"{{{_SVG}}}title")
    title.text = SIGNS[kind]


def _text(element: Element) -> str:
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(element, encoding="unicode").replace(f' xmlns="{_SVG}"', "")


def _raw(text: str) -> Markup:
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - verovio's drawing, written by an XML writer
