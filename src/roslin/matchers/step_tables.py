"""The steps of an explanation as a table, and the whole as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from roslin.display.table import Table
from roslin.display.words import capital
from roslin.represent.words import places_named, spelled

if TYPE_CHECKING:
    from roslin.matchers.explanation import Explanation, Step

_STEPS = ("step", "query", "candidate", "words", "cost")
_MOVES = ("step", "query", "candidate", "weight", "distance", "cost")
_LAID = ("segment", "back")


def steps_table(explanation: Explanation) -> Table:
    """A row for each step, and one for what the distance starts from; weight that moves, move by move."""
    is_moving = explanation.kind == "transport"
    rows = [row for step in explanation.steps for row in (_moves if is_moving else _step)(explanation, step)]
    if explanation.start:
        rows.insert(0, {"step": "start", "query": "", "candidate": "", "words": "", "cost": explanation.start})
    columns = _MOVES if is_moving else _STEPS
    return Table(columns if any(row["step"] for row in rows) else columns[1:], tuple(rows))


def as_text(explanation: Explanation) -> str:
    """The sentence, the distance and the table; of a sum, that of what counts most too."""
    lines = [
        explanation.sentence,
        *(
            f"{capital(step.words)}: {step.within.transformation}; distance {step.within.distance:.4f}"
            for step in explanation.steps
            if step.kind in _LAID and step.within is not None
        ),
        f"Distance {explanation.distance:z.4f} ({explanation.matcher!r})",
        "",
        str(explanation.short_table),
        _sum(explanation),
    ]
    leading = explanation.leading
    if leading is not None:
        counts = "What counts most" if explanation.kind == "sum" else "An aid to the eye"
        lines += ["", f"{counts}: distance {leading.distance:z.4f} ({leading.matcher!r})", "", str(leading.short_table)]
    return "\n".join(lines)


def _step(explanation: Explanation, step: Step) -> Iterator[dict[str, Any]]:
    yield {
        "step": step.kind,
        "query": places_named(explanation.query, step.query_places),
        "candidate": places_named(explanation.candidate, step.candidate_places),
        "words": step.words,
        "cost": step.cost,
    }


def _moves(explanation: Explanation, step: Step) -> Iterator[dict[str, Any]]:
    """The moves of a segment, each with its share of the whole distance; or the one move that the step is."""
    within = step.within
    share = step.cost / within.distance if within is not None and within.distance else 1.0
    for move in (step,) if within is None else within.steps:
        mine, theirs = move.query_notes, move.candidate_notes
        if step.kind == "back":
            mine, theirs = theirs, mine
        is_found = step.kind != "unmatched"
        yield {
            "step": step.words,
            "query": spelled(explanation.query, mine[0] if mine else None) if is_found else "",
            "candidate": spelled(explanation.candidate, theirs[0] if theirs else None) if is_found else "",
            "weight": move.weight,
            "distance": move.apart,
            "cost": share * move.cost,
        }


def _sum(explanation: Explanation) -> str:
    weights = [row["weight"] for row in explanation.table.rows if row.get("weight") is not None]
    return f"Sum of costs {explanation.distance:z.4f}" + (f", weight {sum(weights):.4g}" if weights else "")
