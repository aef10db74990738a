"""Which notes of two melodies have no partner in the other: what to look at when they are compared by eye."""

from __future__ import annotations

from roslin.matchers import DEFAULT_MATCHER, matcher
from roslin.matchers.explanation import Explanation
from roslin.melody import Melody
from roslin.report.variants import grace_steps


def differing_notes(first: Melody, second: Melody) -> tuple[list[int], list[int]]:
    """Rows of the notes of each that the usual matcher pairs with nothing like them in the other.

    What it never looks at (another voice, the lower notes of a chord) is not told. Nor does it look at grace notes:
    one of these differs unless the same step leads to the partner of the note that it adorns. (`report.variants` marks
    every difference that an eye sees, between melodies that are one tune; here a note with other rhythm or pitch may
    well have a partner.)
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
    theirs = {(host, step) for _, host, step in grace_steps(other)}
    return {row for row, host, step in grace_steps(melody) if (partners.get(host, -1), step) not in theirs}
