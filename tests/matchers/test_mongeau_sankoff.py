from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.matchers.melodies import CASTLE, TUNES, moved, sounding_melody

from roslin import Melody, matcher
from roslin.errors import ArgumentError, UnknownNameError
from roslin.matchers import MongeauSankoff
from roslin.represent.line import melodic_line

WEIGHTS = {0: 0, 1: 2.6, 2: 0.9, 3: 1, 4: 0.2, 5: 0.5, 6: 1.8, 7: 0.1, 8: 1.3, 9: 0.35, 10: 2.2, 11: 0.8}


def melody(pitches: list[int], durations: list[float]) -> Melody:
    onsets = np.concatenate([[0.0], np.cumsum(durations)[:-1]])
    return Melody.from_notes(onsets.tolist(), durations, pitches)


def literal(query: Melody, candidate: Melody, shift: int, chosen: MongeauSankoff) -> float:
    """Every way to turn one into the other, by recursion from the end; lengths in quarters."""
    one, two = melodic_line(query), melodic_line(candidate)
    p, q = [int(x) + shift for x in one["pitch_midi"]], [int(x) for x in two["pitch_midi"]]
    d, e = ([float(x) / 40320 for x in line["duration_ticks"]] for line in (one, two))

    def weight(a: int, b: int) -> float:
        return WEIGHTS[abs(p[a] - q[b]) % 12] * min(d[a], e[b])

    @cache
    def cost(i: int, j: int) -> float:
        if i == j == 0:
            return 0.0
        ways = []
        if i:
            ways.append(cost(i - 1, j) + chosen.k * d[i - 1])
        if j:
            ways.append(cost(i, j - 1) + chosen.k * e[j - 1])
        for several in range(1, chosen.fragments + 1):
            if i and j >= several:
                notes = range(j - several, j)
                length = abs(d[i - 1] - sum(e[b] for b in notes))
                ways.append(cost(i - 1, j - several) + sum(weight(i - 1, b) for b in notes) + chosen.k * length)
            if j and i >= several:
                notes = range(i - several, i)
                length = abs(e[j - 1] - sum(d[a] for a in notes))
                ways.append(cost(i - several, j - 1) + sum(weight(a, j - 1) for a in notes) + chosen.k * length)
        return min(ways)

    return cost(len(p), len(q)) / (chosen.k * (sum(d) + sum(e)))


def meeting(query: Melody, candidate: Melody) -> range:
    """The transpositions under which the two have a pitch in common, or lie between such."""
    a, b = ([int(pitch) for pitch in melodic_line(tune)["pitch_midi"]] for tune in (query, candidate))
    return range(min(b) - max(a), max(b) - min(a) + 1)


@pytest.mark.parametrize("fragments", [1, 2, 5])
def test_it_is_the_definition_in_the_best_transposition(fragments: int) -> None:
    random = np.random.default_rng(fragments)
    for k in (0.348, 1.0):
        chosen = MongeauSankoff(k=k, fragments=fragments, transposition="best")
        candidates = [sounding_melody(random, int(random.integers(1, 9))) for _ in range(6)]
        query = sounding_melody(random, int(random.integers(1, 8)))
        expected = [
            min(literal(query, candidate, c, chosen) for c in meeting(query, candidate)) for candidate in candidates
        ]
        assert chosen.distances(query, candidates) == pytest.approx(expected, abs=1e-12)


def test_by_the_histogram_it_is_one_of_the_transpositions() -> None:
    random = np.random.default_rng(4)
    chosen, best = MongeauSankoff(), MongeauSankoff(transposition="best")
    for _ in range(10):
        query, candidate = sounding_melody(random, 6), sounding_melody(random, 7)
        found = chosen.distances(query, [candidate])[0]
        assert any(found == pytest.approx(literal(query, candidate, c, chosen)) for c in meeting(query, candidate))
        assert best.distances(query, [candidate])[0] <= found + 1e-12


def test_by_hand() -> None:
    half = melody([60], [2.0])
    assert MongeauSankoff().distances(half, [melody([60, 60], [1.0, 1.0])])[0] == 0
    assert MongeauSankoff().distances(half, [melody([60, 64], [1.0, 1.0])])[0] == pytest.approx(0.2 / (0.348 * 4))
    # Without fragments the second note is inserted, and the first is a quarter too short.
    single = MongeauSankoff(fragments=1).distances(half, [melody([60, 60], [1.0, 1.0])])[0]
    assert single == pytest.approx(2 / 4)


def test_both_directions_are_the_same() -> None:
    random = np.random.default_rng(5)
    chosen = MongeauSankoff(transposition="best", fragments=3)
    for _ in range(10):
        one, two = sounding_melody(random, 6), sounding_melody(random, 7)
        assert chosen.distances(one, [two])[0] == pytest.approx(chosen.distances(two, [one])[0], abs=1e-12)


def test_tempo() -> None:
    slow = [moved(tune, slower=2.0) for tune in TUNES[:12]]
    free = MongeauSankoff(tempo="histogram")
    assert free.distances(CASTLE, slow) == pytest.approx(free.distances(CASTLE, TUNES[:12]), abs=1e-9)
    assert MongeauSankoff().distances(CASTLE, [moved(CASTLE, slower=2.0)])[0] > 0.1


def test_nothing_in_common_is_1() -> None:
    assert MongeauSankoff().distances(melody([60], [2.0]), [Melody.from_notes([], [], [])]).tolist() == [1.0]


def test_the_variants_of_roslin_castle_come_first() -> None:
    distances = MongeauSankoff(tempo="histogram").distances(CASTLE, TUNES)
    first = [TUNES[k].id for k in np.argsort(distances, kind="stable")[:4]]
    assert all(str(id).startswith("roslin-castle") for id in first)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mongeau_sankoff(k=0)", "k must be a number above 0; got 0"),
        ("mongeau_sankoff(fragments=0)", "mongeau_sankoff: fragments must be a whole number from 1 to 1000000; got 0"),
        (
            "mongeau_sankoff(transposition='all')",
            "transposition of mongeau_sankoff 'all'; known: best, histogram",
        ),
        ("mongeau_sankoff(tempo='all')", "unknown tempo of mongeau_sankoff 'all'; known: histogram, written"),
    ],
)
def test_bad_parameters(text: str, message: str) -> None:
    with pytest.raises((ArgumentError, UnknownNameError), match=message):
        matcher(text)
