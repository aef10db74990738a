"""A melody on a page: its notation (or a piano roll where that fails) with buttons that play it.

A page needs `templates/player.css` once in its style sheet, `melody_figure` for each melody, and `player.js` once at
its end: our own small synthesiser, inline and without requests. Without scripts the button stays hidden. Each figure
takes a prefix for the ids in its drawing, because no two elements of a page may have the same.

In a piano roll time runs to the right and pitch upwards. It takes its colours from the page (`currentColor` and the
classes `roll`, `note`, `grace`, `bar-line`), and every note has its pitch as a tooltip and, as in notation, the id
`note-ROW` and `data-note="ROW"` with its row in the note table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from roslin.display.templates import render
from roslin.display.words import _
from roslin.engrave import Engraving, Layout, engrave
from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.playback import note_list
from roslin.report.svg import SvgElement, group, line, rect, svg

if TYPE_CHECKING:
    from markupsafe import Markup

_NARROW = 400  # pixels; a drawing that is no wider is shown everywhere
_NOTE = re.compile(r'data-note="(\d+)" class="')


def drawing(melody: Melody, title: str = "", layout: Layout = "page") -> Engraving:
    """The melody engraved; where that fails, a piano roll in its place, with `drawn` False and the reason."""
    engraved = engrave(melody, title, layout=layout)
    if engraved.drawn:
        return engraved
    roll = pianoroll_svg(
        melody, _("Piano roll: {name}").format(name=title or melody.title or melody.id or _("a melody"))
    )
    return Engraving(roll, drawn=False, reason=engraved.reason)


def melody_figure(melody: Melody, name: str, prefix: str, matched: Sequence[int] = ()) -> Markup:
    """A figure with the drawing, in which the `matched` notes are marked, and buttons that play it.

    A drawing that does not fit a telephone is there twice, engraved for a narrow and for a wide place: the style sheet
    shows the one that fits. `prefix` must be another for each figure of a page.
    """
    from markupsafe import Markup

    title, notes = _("Notation of {name}").format(name=name), playing(melody)
    picture = drawing(melody, title)
    shown = marked(picture.in_page(prefix), matched)
    is_broad = picture.drawn and picture.width > _NARROW
    if is_broad and (narrow := engrave(melody, title, layout="narrow")).drawn:
        small = marked(narrow.in_page(f"{prefix}narrow-"), matched)
        shown = shown.replace('"notation"', '"notation" data-broad=""', 1) + small.replace('"notation"', '"narrow"', 1)
    figure = render(
        "report/figure.html",
        name=name,
        drawing=shown,
        reason="" if picture.drawn else picture.reason,
        notes=json.dumps(notes, separators=(",", ":")),
        has_notes=bool(notes),
        start=next((note[1] for note in notes if note[0] in set(matched)), 0.0),
    )
    return Markup(figure)  # noqa: S704 - made, and escaped, by a template


def playing(melody: Melody) -> list[list[float]]:
    """Rows of [row, start, duration, pitch] as the player takes them, times in seconds."""
    return [[note["row"], note["start"], note["duration"], note["pitch"]] for note in note_list(melody)]


def marked(svg: str, rows: Sequence[int]) -> str:
    """The drawing with the class `matched` on these notes."""
    wanted = {str(row) for row in rows}

    def mark(found: re.Match[str]) -> str:
        return f"{found[0]}matched " if found[1] in wanted else found[0]

    return _NOTE.sub(mark, svg) if wanted else svg


# -- piano rolls ------------------------------------------------------------------------------------------------------


_QUARTER_WIDTH = 22.0
_SEMITONE_HEIGHT = 4.0
_MARGIN = 6.0
_LEAST_SEMITONES = 12
_GRACE_WIDTH = 3.0
_NAMES = ("C", "C♯", "D", "E♭", "E", "F", "F♯", "G", "A♭", "A", "B♭", "B")


def pianoroll_svg(melody: Melody, title: str) -> str:
    """An SVG element of the melody. `title` describes it."""
    notes = melody.notes
    if not len(notes):
        return svg((), 10, 10, f"{title}: no notes", kind="roll")
    start, end = int(notes["onset_ticks"][0]), max(melody.end_ticks, int(notes["onset_ticks"][-1]) + 1)
    low, high = int(notes["pitch_midi"].min()), int(notes["pitch_midi"].max())
    extra = max(0, _LEAST_SEMITONES - (high - low)) // 2
    top, semitones = high + extra + 1, high - low + 2 * extra + 2
    width, height = _x(end, start) + _MARGIN, semitones * _SEMITONE_HEIGHT + 2 * _MARGIN
    places = [_x(tick, start) for tick in melody.barlines_ticks.tolist() if start < tick <= end]
    lines = [line("bar-line", x, 0, x, height) for x in places]
    boxes = [
        _note(number, row, start, top)
        for number, row in enumerate(notes[["onset_ticks", "duration_ticks", "pitch_midi", "is_grace"]].tolist())
    ]
    inside = (group(lines, stroke="currentColor"), group(boxes, fill="currentColor"))
    return svg(inside, width, height, title, kind="roll")


def _x(tick: int, start: int) -> float:
    return _MARGIN + (tick - start) / TICKS_PER_QUARTER * _QUARTER_WIDTH


def _note(number: int, row: tuple[int, int, int, bool], start: int, top: int) -> SvgElement:
    onset, duration, pitch, grace = row
    x, y = _x(onset, start), _MARGIN + (top - pitch) * _SEMITONE_HEIGHT
    width = _GRACE_WIDTH if grace else max(duration / TICKS_PER_QUARTER * _QUARTER_WIDTH - 1.5, 1.5)
    x -= _GRACE_WIDTH if grace else 0
    name = f"{_NAMES[pitch % 12]}{pitch // 12 - 1}"
    kind = "grace" if grace else "note"
    # In the order that notation has, by which notes are found and marked.
    known = {"id": f"note-{number}", "data-note": number, "class": kind}
    box = rect(kind, x, y - 2, width, _SEMITONE_HEIGHT + 1, name, rx=1.5)
    return replace(box, attributes={**known, **box.attributes})
