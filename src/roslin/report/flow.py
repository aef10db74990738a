"""An explanation as a picture: the query above, the candidate below, and the flow of weight between them.

Time runs to the right and is the candidate's, in quarters; the query lies where it was moved to, so notes that agree
stand under each other. Pitch runs upwards in each half, on the same scale, after transposition. A note is a disk whose
area is its weight, with a bar as long as it sounds (Figures 1 and 2 of paper 002). A line is a move: its width is the
weight that goes along it, its colour says how far it goes, from blue (no distance) to red. Weight without a partner
ends in an open circle under its note. Notes of the candidate that take no part are faint.

Ink is `currentColor`; the other colours are readable on light and on dark ground.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape

import numpy as np

from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.report.document import page
from roslin.report.player import melody_figure
from roslin.search.explain import Explanation, Move, Part
from roslin.search.words import bar_number, note_name

__all__ = ["PAGE_STYLE", "explanation_page", "flow_svg", "name_of", "spelled"]

_LEFT, _RIGHT, _TOP = 92.0, 18.0, 30.0
_WIDEST, _LEAST_QUARTER, _MOST_QUARTER = 900.0, 14.0, 44.0
_SEMITONE = 5.0
_BETWEEN = 34.0  # between the lowest note of the query and the highest of the candidate
_UNDER = 34.0
_SMALLEST, _LARGEST = 3.0, 9.0  # radius of a disk
_QUERY, _CANDIDATE = "#2f7fb5", "#b0702a"
_NEAR, _FAR = (47, 127, 181), (214, 48, 39)
_FARTHEST = 3.0  # the distance at which a line is red
_THICKEST, _THINNEST = 7.0, 1.2
_FAINT = 0.4  # notes of the candidate that take no part
_LEGEND, _NARROWEST = 22.0, 460.0
PAGE_STYLE = """
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; padding: .15rem .8rem .15rem 0; border-bottom: 1px solid var(--line); }
.number { text-align: right; font-variant-numeric: tabular-nums; }
"""


@dataclass(frozen=True, slots=True)
class _Note:
    """A note as it is drawn: time in quarters of the candidate, pitch in semitones, weight as the flow sees it."""

    row: int
    time: float
    length: float
    pitch: float
    weight: float
    name: str


@dataclass(frozen=True, slots=True)
class _Staff:
    """One of the two melodies: its notes, and where its highest pitch is drawn."""

    notes: list[_Note]
    y: float

    @property
    def top(self) -> float:
        return max(note.pitch for note in self.notes)

    @property
    def height(self) -> float:
        return (self.top - min(note.pitch for note in self.notes)) * _SEMITONE

    @property
    def bottom(self) -> float:
        return self.y + self.height

    def places(self, across: Callable[[float], float]) -> dict[int, tuple[float, float]]:
        """Row of a note to the middle of its disk."""
        return {note.row: (across(note.time), self.y + (self.top - note.pitch) * _SEMITONE) for note in self.notes}


def flow_svg(explanation: Explanation) -> str:
    """One SVG element with all parts, under each other, and a legend."""
    drawings = [_part(explanation, part) for part in explanation.parts]
    width = max([width for _, width, _ in drawings], default=_NARROWEST)
    body, y = [], 0.0
    for drawing, _, height in drawings:
        body.append(f'<g transform="translate(0 {y:.1f})">{drawing}</g>')
        y += height
    if not drawings:
        body.append(f'<text x="8" y="18">{escape(explanation.words)}</text>')
        y = _TOP
    title = f"Flow from {name_of(explanation.query, 'the query')} to {name_of(explanation.candidate, 'the candidate')}"
    size = f"{width:.0f} {y + _LEGEND:.0f}"
    return (
        f'<svg class="flow" role="img" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" '
        f'width="{width:.0f}" height="{y + _LEGEND:.0f}" fill="currentColor" font-family="Georgia, serif" '
        f'font-size="12"><title>{escape(title)}</title>{"".join(body)}{_legend(y)}</svg>'
    )


def name_of(melody: Melody, otherwise: str) -> str:
    """What to call a melody."""
    return melody.title or melody.id or otherwise


def _part(explanation: Explanation, part: Part) -> tuple[str, float, float]:
    """(drawing, width, height) of one part."""
    query = _Staff(_moved_notes(explanation, part), _TOP + _LARGEST + 8)
    candidate = _Staff(_still_notes(explanation, part), query.bottom + _BETWEEN)
    notes = query.notes + candidate.notes
    first, last = min(note.time for note in notes), max(note.time + note.length for note in notes)
    quarter = min(max((_WIDEST - _LEFT - _RIGHT) / max(last - first, 1.0), _LEAST_QUARTER), _MOST_QUARTER)

    def across(time: float) -> float:
        return _LEFT + (time - first) * quarter

    heaviest = max(note.weight for note in notes)
    above, below = query.places(across), candidate.places(across)
    taken = {move.candidate_note for move in part.moves}
    label = "Whole query" if part.segment is None else f"Segment {part.segment}"
    caption = f"{part.words}; distance {part.alignment.distance:.3f}"
    lines = [
        f'<text x="8" y="18" font-size="13"><tspan font-weight="bold">{label}:</tspan> {escape(caption)}</text>',
        _side("Query", _QUERY, (query.y + query.bottom) / 2),
        _side("Candidate", _CANDIDATE, (candidate.y + candidate.bottom) / 2),
        *_bar_lines(explanation.candidate, across, query.y - 12, candidate.bottom + 14),
        *(_move(move, above, below, heaviest) for move in part.moves),
        *(_disk(note, above[note.row], quarter, _QUERY, heaviest, 1.0) for note in query.notes),
        *(
            _disk(note, below[note.row], quarter, _CANDIDATE, heaviest, 1.0 if note.row in taken else _FAINT)
            for note in candidate.notes
        ),
    ]
    width = max(across(last) + _RIGHT, 6.4 * (len(label) + len(caption)) + 24)
    return "".join(lines), width, candidate.bottom + _UNDER


def _moved_notes(explanation: Explanation, part: Part) -> list[_Note]:
    alignment, matcher = part.alignment, explanation.matcher
    # On the line of fifths a transposition says nothing about octaves: there the query is drawn as it is.
    up = 0.0 if matcher.pitch == "fifths" else alignment.transposition
    return _notes(explanation, explanation.query, part.query_notes, alignment.tempo, alignment.shift, up, 1.0)


def _still_notes(explanation: Explanation, part: Part) -> list[_Note]:
    candidate, scales = explanation.candidate, explanation.matcher.setting.scales_weights
    rows = np.flatnonzero(~candidate.notes["is_grace"]).tolist()
    return _notes(explanation, candidate, rows, 1.0, 0.0, 0.0, part.alignment.tempo if scales else 1.0)


def _notes(
    explanation: Explanation,
    melody: Melody,
    rows: Iterable[int],
    tempo: float,
    shift: float,
    up: float,
    lighter: float,
) -> list[_Note]:
    points = explanation.matcher.points([melody])
    weights = dict(zip(points.rows.tolist(), points.weight.tolist(), strict=True))
    drawn = []
    for row in rows:
        note = melody.notes[row]
        time, length = (float(note[name]) / TICKS_PER_QUARTER * tempo for name in ("onset_ticks", "duration_ticks"))
        name = note_name(int(note["pitch_base40"]))
        drawn.append(_Note(row, time + shift, length, float(note["pitch_midi"]) + up, weights[row] / lighter, name))
    return drawn


def _side(text: str, colour: str, y: float) -> str:
    return f'<text x="8" y="{y + 4:.1f}" fill="{colour}" font-weight="bold">{text}</text>'


def _bar_lines(candidate: Melody, across: Callable[[float], float], top: float, bottom: float) -> list[str]:
    drawn = []
    end = candidate.end_ticks
    for tick in [0, *candidate.barlines_ticks.tolist()]:
        quarters = tick / TICKS_PER_QUARTER
        x, number = across(quarters) - _LARGEST - 2, bar_number(quarters, candidate)
        if tick >= end or number is None or x < _LEFT - _LARGEST - 3:
            continue
        drawn.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}" stroke="currentColor" '
            f'stroke-opacity="0.22"/><text x="{x + 3:.1f}" y="{bottom:.1f}" font-size="10" fill-opacity="0.6">'
            f"{number}</text>"
        )
    return drawn


def _move(
    move: Move, above: dict[int, tuple[float, float]], below: dict[int, tuple[float, float]], heaviest: float
) -> str:
    x1, y1 = above[move.query_note]
    width = max(_THICKEST * move.weight / heaviest, _THINNEST)
    colour = _colour(move.distance)
    if move.candidate_note is None:
        return (
            f'<g stroke="{colour}" fill="none"><line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x1:.1f}" y2="{y1 + 17:.1f}" '
            f'stroke-width="{width:.1f}" stroke-dasharray="2 2"/><circle cx="{x1:.1f}" cy="{y1 + 20:.1f}" r="3"/>'
            f"<title>{move.weight:.3g} without a partner, cost {move.cost:.4f}</title></g>"
        )
    x2, y2 = below[move.candidate_note]
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-opacity="0.75" '
        f'stroke-width="{width:.1f}" stroke-linecap="round"><title>weight {move.weight:.3g} over {move.distance:.3g}, '
        f"cost {move.cost:.4f}</title></line>"
    )


def _colour(distance: float) -> str:
    share = min(distance / _FARTHEST, 1.0) ** 0.5  # small distances must not look like none
    red, green, blue = (round(near + (far - near) * share) for near, far in zip(_NEAR, _FAR, strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"


def _disk(note: _Note, place: tuple[float, float], quarter: float, colour: str, heaviest: float, ink: float) -> str:
    radius = max(_LARGEST * (note.weight / heaviest) ** 0.5, _SMALLEST)
    x, y = place
    return (
        f'<g fill="{colour}" opacity="{ink}"><title>{note.name}, weight {note.weight:.3g}</title>'
        f'<rect x="{x:.1f}" y="{y - 1:.1f}" width="{max(note.length * quarter - 2, 1):.1f}" height="2" '
        f'fill-opacity="0.45"/><circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/></g>'
    )


def _legend(y: float) -> str:
    shades = "".join(
        f'<rect x="{_LEFT + 16 * k}" y="{y + 4:.1f}" width="16" height="8" fill="{_colour(k * _FARTHEST / 6)}"/>'
        for k in range(7)
    )
    after = _LEFT + 7 * 16 + 8
    return (
        f'<g font-size="11" fill-opacity="0.8"><text x="8" y="{y + 12:.1f}">Distance</text>{shades}'
        f'<text x="{after:.0f}" y="{y + 12:.1f}">0 to {_FARTHEST:g} and more. '
        "Disk: weight of a note. Width of a line: weight moved.</text></g>"
    )


def explanation_page(explanation: Explanation, note: str) -> str:
    """An explanation as a page: both melodies, what was done, the picture, and every move."""
    query, candidate = name_of(explanation.query, "the query"), name_of(explanation.candidate, "the candidate")
    rows = "\n".join(_row(explanation, part, move) for part in explanation.parts for move in part.moves)
    body = f"""<style>{PAGE_STYLE}</style>
<p>{escape(explanation.words)}</p>
<p>Distance {explanation.distance:.4f}. Matcher: {escape(repr(explanation.matcher))}.</p>
<section class="query" aria-label="Query"><h2>{_heading("Query", explanation.query)}</h2>
{melody_figure(explanation.query, "the query", "query-")}</section>
<section class="query" aria-label="Candidate"><h2>{_heading("Candidate", explanation.candidate)}</h2>
{melody_figure(explanation.candidate, "the candidate", "candidate-")}</section>
<div class="scroll">{flow_svg(explanation)}</div>
<div class="scroll"><table>
<thead><tr><th>segment</th><th>query note</th><th>candidate note</th>
<th>weight</th><th>distance</th><th>cost</th></tr></thead>
<tbody>
{rows}
</tbody>
</table></div>
<footer><p>{escape(note)}</p></footer>"""
    return page(f"From {query} to {candidate}", body)


def _heading(role: str, melody: Melody) -> str:
    name = name_of(melody, "")
    return escape(f"{role}: {name}" if name else role)


def _row(explanation: Explanation, part: Part, move: Move) -> str:
    names = (
        "whole" if part.segment is None else str(part.segment),
        spelled(explanation.query, move.query_note),
        spelled(explanation.candidate, move.candidate_note),
    )
    numbers = "".join(f'<td class="number">{value:.4f}</td>' for value in (move.weight, move.distance, move.cost))
    return f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in names)}{numbers}</tr>"


def spelled(melody: Melody, row: int | None) -> str:
    """A note as "3 F♯4": its row, counted from 1, and its name; "-" where there is none."""
    return "-" if row is None else f"{row + 1} {note_name(int(melody.notes['pitch_base40'][row]))}"
