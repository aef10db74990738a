"""A melody drawn as a piano roll: time runs to the right, pitch upwards, one bar for each note.

The drawing is an SVG element for a page or a file. It takes its colours from the page (`currentColor` and the classes
`roll`, `note`, `grace`, `bar-line`), carries a name for screen readers, and every note has its pitch as a tooltip and,
as in notation, the id `note-ROW` and `data-note="ROW"` with its row in the note table.
Rests before the first note are left out; bars keep their place.
"""

from __future__ import annotations

from dataclasses import replace

from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.report.svg import SvgElement, group, line, rect, svg

_QUARTER_WIDTH = 22.0
_SEMITONE_HEIGHT = 4.0
_MARGIN = 6.0
_LEAST_SEMITONES = 12
_GRACE_WIDTH = 3.0
_NAMES = ("C", "C♯", "D", "E♭", "E", "F", "F♯", "G", "A♭", "A", "B♭", "B")


def pianoroll_svg(melody: Melody, title: str) -> str:
    """An SVG element of the melody. `title` says what it shows."""
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
