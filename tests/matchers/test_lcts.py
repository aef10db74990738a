from __future__ import annotations

import numpy as np
import pytest
from tests.matchers.melodies import CASTLE, TUNES, any_melody, moved, sounding_melody

from roslin import Melody, matcher
from roslin.errors import UnknownNameError
from roslin.matchers import LCTS
from roslin.native import kernels
from roslin.represent.line import melodic_line


def melody(*pitches: int) -> Melody:
    return Melody.from_notes(range(len(pitches)), [1] * len(pitches), pitches)


def common(a: list[int], b: list[int]) -> int:
    """The textbook recurrence for the longest common subsequence."""
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    for i, x in enumerate(a, start=1):
        for j, y in enumerate(b, start=1):
            table[i, j] = table[i - 1, j - 1] + 1 if x == y else max(table[i - 1, j], table[i, j - 1])
    return int(table[-1, -1])


def edits(a: list[int], b: list[int]) -> int:
    """The textbook recurrence for the edit distance."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        above, row = row, [i]
        for j, y in enumerate(b, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y)))
    return row[-1]


def literal(query: Melody, candidate: Melody, place: str) -> float:
    a, b = (melodic_line(tune)["pitch_midi"].tolist() for tune in (query, candidate))
    best = max(common([pitch + c for pitch in a], b) for c in range(-127, 128))
    return 1 - best / (len(a) if place == "inside" else max(len(a), len(b)))


@pytest.mark.parametrize("place", ["whole", "inside"])
def test_it_is_the_definition(place: str) -> None:
    random = np.random.default_rng(2)
    for _ in range(4):
        candidates = [any_melody(random, int(random.integers(0, 9))) for _ in range(4)]
        query = sounding_melody(random, int(random.integers(1, 8)))
        expected = [literal(query, candidate, place) for candidate in candidates]
        assert LCTS(place).distances(query, candidates) == pytest.approx(expected, abs=1e-15)


def test_queries_of_more_than_one_word() -> None:
    random = np.random.default_rng(3)
    for length in (63, 64, 65, 130):
        query, candidate = (melody(*random.integers(60, 64, n).tolist()) for n in (length, 40))
        best = max(
            common((query.notes["pitch_midi"] + c).tolist(), candidate.notes["pitch_midi"].tolist())
            for c in range(-3, 4)
        )
        assert LCTS().distances(query, [candidate, query]).tolist() == [(length - best) / length, 0.0]


@pytest.mark.parametrize("length", [0, 1, 5, 63, 64, 65, 128, 200])
def test_the_edit_distance_in_words_is_the_recurrence(length: int) -> None:
    random = np.random.default_rng(length)
    for alphabet in (1, 2, 5):
        for n in (0, 1, 30, 90):
            a, b = random.integers(0, alphabet, length), random.integers(0, alphabet + 1, n)
            distance = np.empty(1, dtype=np.int64)
            kernels.edit_distance(a, b, alphabet + 1, distance)  # b may have one symbol that a never has
            assert distance.tolist() == [edits(a.tolist(), b.tolist())]


def test_by_hand() -> None:
    assert LCTS().distances(melody(60, 62, 64, 65), [melody(67, 69, 70, 72)]).tolist() == [1 / 4]
    assert LCTS().distances(melody(60), [melody(72), melody(40, 41)]).tolist() == [0, 1 / 2]
    assert LCTS("inside").distances(melody(60, 62, 64), [melody(40, 67, 41, 69, 50, 71)]).tolist() == [0]


def test_a_change_of_key_costs_the_rest_and_a_wrong_note_one() -> None:
    tune = melody(60, 64, 67, 72, 71, 69, 67, 62)
    assert LCTS().distances(tune, [melody(60, 64, 67, 72, 70, 69, 67, 62)])[0] == 1 / 8
    assert LCTS().distances(tune, [melody(60, 64, 67, 72, 81, 79, 77, 72)])[0] == 4 / 8


def test_rhythm_does_not_count() -> None:
    expected = LCTS().distances(CASTLE, TUNES)
    assert LCTS().distances(moved(CASTLE, slower=3.0, up=2), TUNES).tolist() == expected.tolist()


def test_an_unknown_place() -> None:
    with pytest.raises(UnknownNameError, match="unknown place of lcts 'middle'; known: inside, whole"):
        matcher("lcts(place='middle')")
