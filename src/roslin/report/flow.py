"""An explanation as a picture: the query above, the candidate below, and lines between the notes that belong together.

Time runs to the right and is the candidate's, in quarters. The query is drawn where it was moved to, so that notes that
agree are under each other. Pitch runs upwards in each half, on the same scale, after transposition. A note is a disk
whose area is its weight (its length, for matchers that know no weight), with a bar as long as it sounds (Figures 1 and
2 of Typke et al. 2007). Where weight moves, a line is a move: its width is the weight that moves along it, its colour
is the distance of the move, from blue (no distance) to red. In other pictures a line is blue for agreement and red for
a change. For runs, it goes to the closest place and is stronger the more the runs count. A note without a partner has
an open circle under it. Notes of the candidate that take no part are faint.

Ink is `currentColor`. The other colours are readable on light and on dark ground.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from roslin.display.words import _, capital, number
from roslin.matchers import Explanation, Step
from roslin.matchers.transport.emd import Transport
from roslin.melody import TICKS_PER_QUARTER, Melody, bar_number, note_name
from roslin.report.svg import SvgElement, circle, group, line, rect, svg, text

_LEFT, _RIGHT, _TOP = 92.0, 18.0, 30.0
_WIDEST, _LEAST_QUARTER, _MOST_QUARTER = 900.0, 14.0, 44.0
_SEMITONE = 5.0
_BETWEEN = 34.0  # between the lowest note of the query and the highest of the candidate
_UNDER = 34.0
_SMALLEST, _LARGEST_DISK = 3.0, 9.0  # radius of a disk
_QUERY, _CANDIDATE = "#2f7fb5", "#b0702a"
_FAINT = 0.4  # notes of the candidate that take no part
_LEGEND, _NARROWEST = 22.0, 460.0

_Place = tuple[float, float]
_Rows = tuple[int, ...]


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
class _Half:
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

    def places(self, across: Callable[[float], float]) -> dict[int, _Place]:
        return {note.row: (across(note.time), self.y + (self.top - note.pitch) * _SEMITONE) for note in self.notes}


def flow_svg(explanation: Explanation) -> str:
    """One SVG element with all parts, under each other, and a legend."""
    drawings = [_drawn(*part) for part in _parts(explanation)]
    width = max([width for _elements, width, _height in drawings], default=_NARROWEST)
    body, y = list[SvgElement](), 0.0
    for drawing, _width, height in drawings:
        body.append(group(drawing, 0, round(y, 1)))
        y += height
    if not drawings:
        body.append(_text(8, 18, explanation.sentence))
        y = _TOP
    body.append(_LEGENDS.get((explanation.leading or explanation).kind, _colours)(y))
    title = _("Flow from {query} to {candidate}").format(
        query=name_of(explanation.query, _("the query")), candidate=name_of(explanation.candidate, _("the candidate"))
    )
    inked = group(body, fill="currentColor", font_family="Georgia, serif", font_size=12)
    return svg([inked], round(width), round(y + _LEGEND), title, kind="flow")


def name_of(melody: Melody, otherwise: str) -> str:
    """The name of a melody."""
    return melody.title or melody.id or otherwise


def _parts(explanation: Explanation) -> Iterator[tuple[str, Explanation, _Rows]]:
    """(label, explanation, notes of its query) of what is drawn: segments, what counts most, or the whole."""
    if explanation.leading is not None:
        yield from _parts(explanation.leading)
        return
    segments = [step for step in explanation.steps if step.kind in ("segment", "back")]
    for step in segments:
        if step.within is not None:
            (rows,) = step.query_places if step.kind == "segment" else step.candidate_places
            yield capital(step.words), step.within, rows
    if not segments and any(step.query_places for step in explanation.steps if step.kind != "unmatched"):
        label = _("Whole query") if explanation.kind == "transport" else explanation.matcher.name
        yield label, explanation, _sounding(explanation.query)


def _drawn(label: str, part: Explanation, rows: _Rows) -> tuple[list[SvgElement], float, float]:
    tempo, shift = part.tempo or 1.0, _shift(part, rows)
    matcher = part.matcher
    # On the line of fifths a transposition has no octave: there the query is drawn unchanged.
    up = 0.0 if isinstance(matcher, Transport) and matcher.pitch == "fifths" else part.transposition or 0.0
    lighter = 1.0 if isinstance(matcher, Transport) and not matcher.scales_weights else tempo
    query = _Half(_notes(part, part.query, rows, tempo, shift, up, 1.0), _TOP + _LARGEST_DISK + 8)
    still = _notes(part, part.candidate, _sounding(part.candidate), 1.0, 0.0, 0.0, lighter)
    candidate = _Half(still, query.bottom + _BETWEEN)
    notes = query.notes + candidate.notes
    first, last = min(note.time for note in notes), max(note.time + note.length for note in notes)
    quarter = min(max((_WIDEST - _LEFT - _RIGHT) / max(last - first, 1.0), _LEAST_QUARTER), _MOST_QUARTER)

    def across(time: float) -> float:
        return _LEFT + (time - first) * quarter

    heaviest = max(note.weight for note in notes)
    above, below = query.places(across), candidate.places(across)
    ties = ties_of(part, heaviest, shift)
    taken = {tie.candidate_note for tie in ties}
    distance = _("distance {number}").format(number=number(part.distance, 3))
    caption = "; ".join(filter(None, [part.transformation, distance]))
    parts = SvgElement("tspan", {"font-weight": "bold"}, f"{label}:"), SvgElement("tspan", {"dx": 4}, caption)
    elements = [
        replace(_text(8, 18, "", font_size=13), inside=parts),
        _text(8, (query.y + query.bottom) / 2 + 4, _("Query"), fill=_QUERY, font_weight="bold"),
        _text(8, (candidate.y + candidate.bottom) / 2 + 4, _("Candidate"), fill=_CANDIDATE, font_weight="bold"),
        *_bar_lines(part.candidate, across, query.y - 12, candidate.bottom + 14),
        *(_tied(tie, above, below) for tie in ties),
        *(_disk(note, above[note.row], quarter, _QUERY, heaviest, 1.0) for note in query.notes),
        *(
            _disk(note, below[note.row], quarter, _CANDIDATE, heaviest, 1.0 if note.row in taken else _FAINT)
            for note in candidate.notes
        ),
    ]
    width = max(across(last) + _RIGHT, 6.4 * (len(label) + len(caption)) + 24)
    return elements, width, candidate.bottom + _UNDER


def _sounding(melody: Melody) -> _Rows:
    return tuple(np.flatnonzero(~melody.notes["is_grace"]).tolist())


def _shift(part: Explanation, rows: _Rows) -> float:
    """The delay of the query in the drawing, in quarters, so that most pairs are under each other."""
    mine, theirs = (melody.notes["onset_ticks"] / TICKS_PER_QUARTER for melody in (part.query, part.candidate))
    tempo = part.tempo or 1.0
    if part.kind == "transport" and part.place is not None:
        return float(part.place - tempo * mine[rows[0]])
    shifts = Counter(round(float(theirs[j] - tempo * mine[i]), 6) for i, j in part.pairs)
    if not shifts:
        return float(theirs[_sounding(part.candidate)[0]] - tempo * mine[rows[0]])
    return max(shifts, key=lambda shift: shifts[shift])


def _notes(
    part: Explanation, melody: Melody, rows: _Rows, tempo: float, shift: float, up: float, lighter: float
) -> list[_Note]:
    weights = melody.notes["duration_ticks"] / TICKS_PER_QUARTER
    if isinstance(part.matcher, Transport):
        points = part.matcher.points([melody])
        weights[points.rows] = points.weight
    drawn = []
    for row in rows:
        note = melody.notes[row]
        time, length = (float(note[name]) / TICKS_PER_QUARTER * tempo for name in ("onset_ticks", "duration_ticks"))
        name = note_name(int(note["pitch_base40"]))
        weight = float(weights[row]) / lighter
        drawn.append(_Note(row, time + shift, length, float(note["pitch_midi"]) + up, weight, name))
    return drawn


def _tied(tie: Tie, above: dict[int, _Place], below: dict[int, _Place]) -> SvgElement:
    x, y = above[tie.query_note]
    width = round(tie.width, 1)
    if tie.candidate_note is None:
        dashed = line("move", x, y, x, y + 17, stroke_width=width, stroke_dasharray="2 2")
        return group([dashed, circle("lost", x, y + 20, 3)], said=tie.words, stroke=tie.colour, fill="none")
    to_x, to_y = below[tie.candidate_note]
    return line(
        "move",
        x,
        y,
        to_x,
        to_y,
        tie.words,
        stroke=tie.colour,
        stroke_opacity=round(tie.ink, 2),
        stroke_width=width,
        stroke_linecap="round",
    )


def _bar_lines(candidate: Melody, across: Callable[[float], float], top: float, bottom: float) -> Iterator[SvgElement]:
    end = candidate.end_ticks
    for tick in [0, *candidate.barlines_ticks.tolist()]:
        quarters = tick / TICKS_PER_QUARTER
        x, bar = across(quarters) - _LARGEST_DISK - 2, bar_number(quarters, candidate)
        if tick >= end or bar is None or x < _LEFT - _LARGEST_DISK - 3:
            continue
        yield line("bar-line", x, top, x, bottom, stroke="currentColor", stroke_opacity=0.22)
        yield _text(x + 3, bottom, str(bar), font_size=10, fill_opacity=0.6)


def _disk(note: _Note, place: _Place, quarter: float, colour: str, heaviest: float, ink: float) -> SvgElement:
    radius = max(_LARGEST_DISK * (note.weight / heaviest) ** 0.5, _SMALLEST)
    x, y = place
    bar = rect("length", x, y - 1, max(note.length * quarter - 2, 1), 2, fill_opacity=0.45)
    said = _("{note}, weight {weight}").format(note=note.name, weight=f"{note.weight:.3g}")
    return group([bar, circle("note", x, y, radius)], said=said, fill=colour, opacity=ink)


def _distances(y: float) -> SvgElement:
    shades = [rect("shade", _LEFT + 16 * k, y + 4, 16, 8, fill=colour_of(k * FARTHEST / 6)) for k in range(7)]
    words = _("0 to {most} and more. Disk: weight of a note. Width of a line: weight moved.").format(
        most=f"{FARTHEST:g}"
    )
    return _legend([_text(8, y + 12, _("Distance")), *shades, _text(_LEFT + 7 * 16 + 8, y + 12, words)])


def _colours(y: float) -> SvgElement:
    elements, x = list[SvgElement](), 8.0
    for colour, words in ((colour_of(0.0), _("the same")), (colour_of(FARTHEST), _("changed"))):
        elements += [rect("shade", x, y + 4, 16, 8, fill=colour), _text(x + 21, y + 12, words)]
        x += 84
    words = _("Open circle: only in the query. Faint: not paired. Disk: length of a note.")
    return _legend([*elements, _text(x, y + 12, words)])


def _runs(y: float) -> SvgElement:
    words = _(
        "Line: notes of runs that both melodies have. Stronger lines count more. Faint: in no run. "
        "Disk: length of a note."
    )
    return _legend([_text(8, y + 12, words)])


def _legend(elements: list[SvgElement]) -> SvgElement:
    return group(elements, font_size=11, fill_opacity=0.8)


def _text(x: float, y: float, words: str, **attributes: Any) -> SvgElement:
    return text("said", x, y, words, **attributes)


_LEGENDS = {"transport": _distances, "grams": _runs}


# -- the lines: which notes they join, how wide they are, and in which colour -----------------------------------------


FARTHEST = 3.0  # the distance at which a line is red
_NEAR, _FAR = (47, 127, 181), (214, 48, 39)
_THICKEST, _THINNEST, _PLAIN = 7.0, 1.2, 2.0  # width of a line; plain: of one that carries no weight
_FAINTEST = 0.12  # ink for runs that hardly count


@dataclass(frozen=True, slots=True)
class Tie:
    """A line from a note of the query to one of the candidate, or to nowhere."""

    query_note: int
    candidate_note: int | None
    width: float
    colour: str
    words: str
    ink: float = 0.75


def ties_of(part: Explanation, heaviest: float, shift: float) -> list[Tie]:
    """Moves of weight; runs; or a line for each pair of aligned notes.

    `heaviest` is the weight of the widest line, `shift` how many quarters later than written the query is drawn.
    """
    if part.kind == "transport":
        return [_move(step, heaviest) for step in part.steps]
    return _run_ties(part, shift) if part.kind == "grams" else _pair_ties(part)


def _pair_ties(part: Explanation) -> list[Tie]:
    found: dict[tuple[int, int | None], Tie] = {}
    # A note may belong to several things that overlap: if it agrees in one of them, it agrees.
    for step in sorted(part.steps, key=lambda step: not step.agrees):
        colour = colour_of(0.0 if step.agrees else FARTHEST)
        for i, j in step.facing:
            words = _("{kind}, cost {cost}").format(kind=_(step.kind), cost=number(step.cost, 4))
            found.setdefault((i, j), Tie(i, j, _PLAIN, colour, words))
    partnered = {i for i, _partner in found}
    for step in part.steps:
        if step.kind == "missing":
            for row in sorted(set(step.query_notes) - partnered):
                words = _("without a partner, cost {cost}").format(cost=number(step.cost, 4))
                found.setdefault((row, None), Tie(row, None, _PLAIN, colour_of(FARTHEST), words))
    return list(found.values())


def _run_ties(part: Explanation, shift: float) -> list[Tie]:
    mine, theirs = (melody.notes["onset_ticks"] / TICKS_PER_QUARTER for melody in (part.query, part.candidate))
    moved = (part.tempo or 1.0) * mine + shift
    worth: dict[tuple[int, int], float] = defaultdict(float)
    for step in part.steps:
        for place in step.query_places if step.candidate_places else ():
            away = [abs(float(theirs[other[0]] - moved[place[0]])) for other in step.candidate_places]
            nearest = step.candidate_places[away.index(min(away))]
            for pair in zip(place, nearest, strict=False):
                worth[pair] -= step.cost / len(step.query_places)
    most = max(worth.values(), default=1.0)
    ties = []
    for (i, j), taken in worth.items():
        share = taken / most
        words = _("in runs that reduce the cost by {cost}").format(cost=number(taken, 4))
        ties.append(Tie(i, j, max(_THICKEST * share, _THINNEST), colour_of(0.0), words, max(share, _FAINTEST)))
    return ties


def _move(step: Step, heaviest: float) -> Tie:
    weight, apart = step.weight or 0.0, step.apart or 0.0
    width = max(_THICKEST * weight / heaviest, _THINNEST)
    if not step.candidate_places:
        words = _("{weight} without a partner, cost {cost}").format(weight=f"{weight:.3g}", cost=number(step.cost, 4))
        return Tie(step.query_notes[0], None, width, colour_of(apart), words)
    words = _("weight {weight} over {distance}, cost {cost}").format(
        weight=f"{weight:.3g}", distance=f"{apart:.3g}", cost=number(step.cost, 4)
    )
    return Tie(step.query_notes[0], step.candidate_notes[0], width, colour_of(apart), words)


def colour_of(distance: float) -> str:
    """From blue for no distance to red."""
    share = min(distance / FARTHEST, 1.0) ** 0.5  # small distances must not look like none
    red, green, blue = (round(near + (far - near) * share) for near, far in zip(_NEAR, _FAR, strict=True))
    return f"#{red:02x}{green:02x}{blue:02x}"
