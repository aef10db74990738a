"""A melody drawn as a piano roll: time runs to the right, pitch upwards, one bar for each note.

The drawing is an SVG element for a page or a file. It takes its colours from the page (`currentColor` and the classes
`roll`, `note`, `grace`, `bar-line`), carries a title for screen readers, and every note has its pitch as a tooltip and,
as in notation, the id `note-ROW` and `data-note="ROW"` with its row in the note table.
Rests before the first note are left out; bars keep their place.
"""

from __future__ import annotations

from html import escape

from roslin.melody import TICKS_PER_QUARTER, Melody

__all__ = ["pianoroll_svg"]

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
        empty = '<svg xmlns="http://www.w3.org/2000/svg" class="roll" role="img" width="10" height="10">'
        return f"{empty}<title>{escape(title)}: no notes</title></svg>"
    start, end = int(notes["onset_ticks"][0]), max(melody.end_ticks, int(notes["onset_ticks"][-1]) + 1)
    low, high = int(notes["pitch_midi"].min()), int(notes["pitch_midi"].max())
    extra = max(0, _LEAST_SEMITONES - (high - low)) // 2
    top, semitones = high + extra + 1, high - low + 2 * extra + 2
    width, height = _x(end, start) + _MARGIN, semitones * _SEMITONE_HEIGHT + 2 * _MARGIN

    places = [_x(tick, start) for tick in melody.barlines_ticks.tolist() if start < tick <= end]
    lines = [
        f'<line class="bar-line" stroke="currentColor" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height:.1f}"/>'
        for x in places
    ]
    boxes = [
        _note(number, row, start, top)
        for number, row in enumerate(notes[["onset_ticks", "duration_ticks", "pitch_midi", "is_grace"]].tolist())
    ]
    return (
        f'<svg class="roll" role="img" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.1f} {height:.1f}" '
        f'width="{width:.0f}" height="{height:.0f}" fill="currentColor"><title>{escape(title)}</title>'
        f"{''.join(lines + boxes)}</svg>"
    )


def _x(tick: int, start: int) -> float:
    return _MARGIN + (tick - start) / TICKS_PER_QUARTER * _QUARTER_WIDTH


def _note(number: int, row: tuple[int, int, int, bool], start: int, top: int) -> str:
    onset, duration, pitch, grace = row
    x, y = _x(onset, start), _MARGIN + (top - pitch) * _SEMITONE_HEIGHT
    width = _GRACE_WIDTH if grace else max(duration / TICKS_PER_QUARTER * _QUARTER_WIDTH - 1.5, 1.5)
    x -= _GRACE_WIDTH if grace else 0
    name = f"{_NAMES[pitch % 12]}{pitch // 12 - 1}"
    kind = "grace" if grace else "note"
    return (
        f'<rect id="note-{number}" data-note="{number}" class="{kind}" x="{x:.1f}" y="{y - 2:.1f}" '
        f'width="{width:.1f}" height="{_SEMITONE_HEIGHT + 1:.0f}" rx="1.5"><title>{name}</title></rect>'
    )
