"""The lines of the picture of an explanation (`flow`): which notes they join, how wide and of which colour they are."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from roslin.display.words import _, number
from roslin.matchers import Explanation, Step
from roslin.melody import TICKS_PER_QUARTER

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
    """Moves of weight; runs; or a line for each pair of notes that stand beside each other.

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
        words = _("in runs that take off {cost}").format(cost=number(taken, 4))
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
