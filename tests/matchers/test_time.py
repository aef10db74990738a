"""`time` against the sheet's definition, with curves as polynomials and their roots found by numpy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from tests.matchers.melodies import CASTLE, TUNES, any_melody, moved, sounding_melody

from roslin import Melody, matcher
from roslin.errors import ArgumentError, UnknownNameError
from roslin.matchers import Time
from roslin.native import kernels
from roslin.represent.line import melodic_line

MU_PITCH, MU_TIME = 2.1838, 0.4772
BASIS = [Polynomial(c) / 6 for c in ([1, -3, 3, -1], [4, 0, -6, 3], [1, 3, 3, -3], [0, 0, 0, 1])]
Gram = tuple[list[float], list[float]]


def melody(pitches: list[int], durations: list[float] | None = None) -> Melody:
    lengths = durations or [1.0] * len(pitches)
    onsets = np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    return Melody.from_notes(onsets.tolist(), lengths, pitches)


def area(one: list[float], two: list[float]) -> float:
    """How much the difference of two curves rises and falls."""
    difference = sum(((a - b) * basis for a, b, basis in zip(one, two, BASIS, strict=True)), start=Polynomial([0.0]))
    roots = [complex(root) for root in difference.deriv().roots()]
    turns = sorted(root.real for root in roots if abs(root.imag) < 1e-9 and 0 < root.real < 1)
    points = [0.0, *turns, 1.0]
    return float(np.abs(np.diff(difference(np.array(points)))).sum())


def grams(tune: Melody) -> list[Gram]:
    line = melodic_line(tune)
    pitches, durations = line["pitch_midi"].tolist(), line["duration_ticks"].tolist()
    return [
        (
            [float(pitches[k + i] - pitches[k]) for i in range(4)],
            [durations[k + i] / durations[k] for i in range(4)],
        )
        for k in range(len(pitches) - 3)
    ]


def score(one: Gram, two: Gram, rhythm: float) -> float:
    by_pitch = 2 * MU_PITCH if one[0] == two[0] else -area(one[0], two[0])
    is_same = [round(a, 3) for a in one[1]] == [round(b, 3) for b in two[1]]
    by_time = 2 * MU_TIME if is_same else -area(one[1], two[1])
    return by_pitch + rhythm * MU_PITCH / MU_TIME * by_time


def gap(gram: Gram) -> float:
    return -area(gram[0], [0.0] * 4)


def literal(query: Melody, candidate: Melody, chosen: Time) -> float:
    asked, there = grams(query), grams(candidate)
    m, n = len(asked), len(there)
    if not m:
        return 0.0
    table = {(0, 0): 0.0}
    for i, j in product(range(m + 1), range(n + 1)):
        ways = [0.0] if (i, j) == (0, 0) or chosen.aligner == "local" else []
        if i:
            ways.append(table[i - 1, j] + gap(asked[i - 1]))
        if j:
            ways.append(table[i, j - 1] + gap(there[j - 1]))
        if i and j:
            ways.append(table[i - 1, j - 1] + score(asked[i - 1], there[j - 1], chosen.rhythm))
        table[i, j] = max(ways)
    inner = [table[i, j] for i in range(1, m + 1) for j in range(1, n + 1)]
    value = table[m, n] if chosen.aligner == "global" or not inner else max(inner)
    own = m * (2 + 2 * chosen.rhythm) * MU_PITCH
    if chosen.divide == "none":
        return own - value
    return own / m - value / ((max if chosen.divide == "longer" else min)(m, n) or m)


def test_variation_of_curves() -> None:
    random = np.random.default_rng(1)
    for kind in range(400):
        x, y, z = random.integers(-12, 13, 3) * 1.0 if kind % 2 else random.normal(0, 3, 3)
        assert kernels.curve_variation(x, y, z) == pytest.approx(area([0.0, x, y, z], [0.0] * 4), abs=1e-9)
    for x, y, z in ((0.0, 0.0, 0.0), (1.0, 1.0, 0.0), (1.0, 2.0, 3.0), (0.0, 0.0, 5.0), (1.0, 2.0, 0.0)):
        assert kernels.curve_variation(x, y, z) == pytest.approx(area([0.0, x, y, z], [0.0] * 4), abs=1e-12)


@pytest.mark.parametrize("aligner", ["hybrid", "local", "global"])
@pytest.mark.parametrize("divide", ["shorter", "longer", "none"])
def test_it_is_the_definition(aligner: str, divide: str) -> None:
    random = np.random.default_rng(len(aligner) + 10 * len(divide))
    for rhythm in (0.5, 0.0, 2.0):
        chosen = Time(aligner, divide, rhythm)
        candidates = [any_melody(random, int(random.integers(0, 11))) for _ in range(9)]
        query = sounding_melody(random, int(random.integers(1, 10)))
        expected = [max(literal(query, candidate, chosen), 0.0) for candidate in candidates]
        assert chosen.distances(query, candidates) == pytest.approx(expected, abs=1e-9)


def test_by_hand() -> None:
    query, candidate = melody([60, 62, 64, 65]), melody([60, 62, 64, 67])
    assert Time().distances(query, [candidate])[0] == pytest.approx(3 * MU_PITCH - (MU_PITCH - 1 / 3), abs=1e-12)
    assert Time().distances(query, [candidate])[0] == pytest.approx(4.70093, abs=1e-5)
    # Only the last duration differs, by twice the first: the area is 1/6.
    longer = melody([60, 62, 64, 65], [1.0, 1.0, 1.0, 2.0])
    lost = MU_PITCH + 0.5 * MU_PITCH / MU_TIME / 6
    assert Time().distances(query, [longer])[0] == pytest.approx(lost, abs=1e-12)
    assert Time(rhythm=0).distances(query, [longer])[0] == 0


def test_tempo_and_key_do_not_count() -> None:
    expected = Time().distances(CASTLE, TUNES[:30])
    assert Time().distances(moved(CASTLE, slower=2.0, up=-3), TUNES[:30]).tolist() == expected.tolist()
    slower = [moved(tune, slower=0.5) for tune in TUNES[:30]]
    assert Time().distances(CASTLE, slower).tolist() == expected.tolist()


def test_ratios_are_the_same_to_three_decimals() -> None:
    query, nearly = melody([60, 62, 64, 65], [3.0, 1.0, 1.0, 1.0]), melody([60, 62, 64, 65], [3.001, 1.0, 1.0, 1.0])
    assert Time().distances(query, [nearly])[0] == 0


def test_melodies_without_four_notes() -> None:
    short = [melody([60, 62, 64]), Melody.from_notes([0, 0, 0, 0], [1] * 4, [60, 64, 67, 72])]
    assert Time().distances(short[0], [*short, CASTLE]).tolist() == [0.0] * 3
    flat = melody([60] * 4)
    assert Time().distances(flat, short).tolist() == pytest.approx([3 * MU_PITCH] * 2)  # nothing is lost, or won
    assert Time().distances(flat, [flat]).tolist() == [0.0]


def test_a_note_without_length_counts_as_a_tick() -> None:
    notes = melody([60, 62, 64, 65]).notes.copy()
    notes["duration_ticks"][0] = 0
    odd = Melody(notes)
    notes = notes.copy()
    notes["duration_ticks"][0] = 1
    assert Time().distances(odd, [odd, Melody(notes)]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("value", [-1, True, "much", float("nan")])
def test_bad_parameters(value: object) -> None:
    with pytest.raises(ArgumentError, match="rhythm must be a number, at least 0"):
        Time(rhythm=value)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="unknown aligner"):
        matcher("time(aligner='x')")
