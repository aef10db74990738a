from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin import Melody, matcher
from roslin.errors import UnknownNameError

pitches = st.lists(st.integers(55, 70), min_size=1, max_size=9)


def melody(values: list[int]) -> Melody:
    return Melody.from_notes(range(len(values)), [1] * len(values), values)


def distance(query: list[int], candidate: list[int], place: str = "whole") -> float:
    return float(matcher(f"dp(place={place!r})").distances(melody(query), [melody(candidate)])[0])


def literal(a: list[int], b: list[int], place: str) -> float:
    """The recurrence of the sheet, written down as it stands."""
    m, n = len(a), len(b)
    table = [[0] * (n + 1) for _ in range(m + 1)]
    for i in range(m + 1):
        for j in range(n + 1):
            if i == 0:
                table[i][j] = 0 if place == "inside" else j
            elif j == 0:
                table[i][j] = i
            else:
                differs = i > 1 and j > 1 and a[i - 1] - a[i - 2] != b[j - 1] - b[j - 2]
                table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + differs)
    return min(table[m]) / m if place == "inside" else table[m][n] / max(m, n)


@pytest.mark.long
@given(pitches, pitches, st.sampled_from(["whole", "inside"]))
@settings(max_examples=300)
def test_it_is_the_recurrence(a: list[int], b: list[int], place: str) -> None:
    assert distance(a, b, place) == pytest.approx(literal(a, b, place), abs=1e-15)


@given(pitches, pitches, st.integers(-12, 12))
@settings(max_examples=100)
def test_transposition_and_order_of_arguments_do_not_matter(a: list[int], b: list[int], shift: int) -> None:
    assert distance([p + shift for p in a], b) == distance(a, b) == distance(b, a)


def test_by_hand() -> None:
    assert distance([60, 62, 64, 65], [67, 69, 71, 72]) == 0
    assert distance([60, 62, 64, 65], [60, 62, 63, 65]) == 2 / 4  # one wrong note changes two intervals
    assert distance([60, 62, 64], [60, 62, 64, 72]) == 1 / 4
    assert distance([60, 62, 64], [40, 41, 60, 62, 64, 70], "inside") == 0
    assert distance([60], [60, 62]) == 1 / 2


def test_grace_notes_and_lower_notes_of_chords_do_not_count() -> None:
    plain = melody([60, 64, 67])
    decorated = Melody.from_notes(
        [0, 0, 1, 1, 2], [1, 0.25, 1, 1, 1], [60, 71, 64, 48, 67], graces=[False, True, False, False, False]
    )
    assert matcher("dp").distances(plain, [decorated])[0] == 0
    assert matcher("dp").distances(decorated, [plain])[0] == 0


def test_an_unknown_place() -> None:
    with pytest.raises(UnknownNameError, match="unknown place of dp 'middle'; known: inside, whole"):
        matcher("dp(place='middle')")
