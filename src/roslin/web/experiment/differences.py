"""Which notes of two melodies have no partner in the other: what to look at when they are compared by eye."""

from __future__ import annotations

from roslin.matchers import DEFAULT_MATCHER, matcher
from roslin.matchers.explanation import Explanation
from roslin.melody import Melody

__all__ = ["differing_notes"]


def differing_notes(first: Melody, second: Melody) -> tuple[list[int], list[int]]:
    """Rows of the notes of each that the usual matcher pairs with nothing like them in the other.

    What it never looks at (another voice, the lower notes of a chord) is not told. Nor does it look at grace notes:
    one of these differs unless the same step leads to the partner of the note that it adorns.
    """
    found = _explained(first, second)
    mine = _unlike(first, set(found.query_notes)) | _graces(first, second, dict(found.pairs))
    partners = {theirs: own for own, theirs in found.pairs}
    return sorted(mine), sorted(_unlike(second, set(found.candidate_notes)) | _graces(second, first, partners))


def _explained(first: Melody, second: Melody) -> Explanation:
    return matcher(DEFAULT_MATCHER).explain(first, [second], 0)


def _unlike(melody: Melody, alike: set[int]) -> set[int]:
    looked_at = set(_explained(melody, melody).query_notes)
    return looked_at - alike


def _graces(melody: Melody, other: Melody, partners: dict[int, int]) -> set[int]:
    theirs = {(host, step) for _, host, step in _steps(other)}
    return {row for row, host, step in _steps(melody) if (partners.get(host, -1), step) not in theirs}


def _steps(melody: Melody) -> list[tuple[int, int, int]]:
    """(row of a grace note, row of the note that it adorns, semitones between them)."""
    notes, found = melody.notes, []
    host: int | None = None
    for row in reversed(range(len(notes))):
        if not notes["is_grace"][row]:
            host = row
        elif host is not None:
            found.append((row, host, int(notes["pitch_midi"][row]) - int(notes["pitch_midi"][host])))
    return found
