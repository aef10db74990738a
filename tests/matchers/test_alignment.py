"""`alignment` against the sheet's definition, written down once more in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, product
from math import log2

import numpy as np
import pytest
from tests.matchers.melodies import CASTLE, TUNES, any_melody, sounding_melody, twice_as_slow

from roslin import Melody, matcher
from roslin.deadline import stop_flag
from roslin.errors import ArgumentError, UnknownNameError
from roslin.matchers import NoteAlignment
from roslin.matchers.edit.alignment import transpositions
from roslin.native import kernels
from roslin.represent.line import melodic_line
from roslin.types import Floats, Numbers

PLAIN = NoteAlignment(metric=False)


def melody(pitches: list[int], durations: list[float] | None = None) -> Melody:
    lengths = durations or [1.0] * len(pitches)
    onsets = np.concatenate([[0.0], np.cumsum(lengths)[:-1]])
    return Melody.from_notes(onsets.tolist(), lengths, pitches)


# -- the definitions --------------------------------------------------------------------------------------------------


def metric_weights(onsets: list[int]) -> list[float]:
    """Every set of three or more equally spaced onsets that no other contains."""
    known, metres = set(onsets), set()
    for start, second in combinations(sorted(known), 2):
        metre = [start]
        while metre[-1] + second - start in known:
            metre.append(metre[-1] + second - start)
        if len(metre) > 2:
            metres.add(frozenset(metre))
    largest = [metre for metre in metres if not any(metre < other for other in metres)]
    sums = [sum((len(metre) - 1) ** 2 for metre in largest if onset in metre) for onset in onsets]
    return [weight / max(1, *sums) for weight in sums] if sums else []


def best_shift(query: list[int], weights: list[int], values: list[int], others: list[int]) -> int:
    """The shift under which the histograms share most; of equals the nearest to the first notes, then the lowest."""

    def shares(of: list[int], by: list[int]) -> dict[int, Fraction]:
        histogram: Counter[int] = Counter()
        for value, weight in zip(of, by, strict=True):
            histogram[value] += weight
        return {value: Fraction(weight, sum(by)) for value, weight in histogram.items()}

    asked, there = shares(query, weights), shares(values, others)
    shared: dict[int, Fraction] = defaultdict(Fraction)
    for (a, x), (b, y) in product(asked.items(), there.items()):
        shared[b - a] += min(x, y)
    first = values[0] - query[0] if values else 0
    away = {shift: abs(shift - first) for shift in shared}
    return min(shared, key=lambda shift: (-shared[shift], away[shift], shift)) if shared else 0


def logs(tune: Melody) -> list[float]:
    line = melodic_line(tune)
    ends = [*line["onset_ticks"].tolist()[1:], int((line["onset_ticks"] + line["duration_ticks"])[-1])]
    return [log2(end - start) for start, end in zip(line["onset_ticks"].tolist(), ends, strict=True)]


def literal(query: Melody, candidate: Melody, chosen: NoteAlignment) -> float:
    one, two = melodic_line(query), melodic_line(candidate)
    m, n = len(one), len(two)
    if not n:
        gap = chosen.opening + chosen.extending * (m - 1)
        score = 0.0 if chosen.aligner == "local" else -gap
        return 1 - score / {"shorter": m, "longer": m, "mean": m / 2}[chosen.divide]
    shift = best_shift(
        one["pitch_base40"].tolist(), one["duration_ticks"].tolist(),
        two["pitch_base40"].tolist(), two["duration_ticks"].tolist(),
    )  # fmt: skip
    weights = [metric_weights(line["onset_ticks"].tolist()) for line in (one, two)]
    times, other_times = logs(query), logs(candidate)
    if chosen.tempo == "histogram":
        asked, there = ([round(12 * time) for time in part] for part in (times, other_times))
        slower = best_shift(asked, [1] * m, there, [1] * n) / 12
        other_times = [time - slower for time in other_times]

    def score_of(i: int, j: int) -> float:
        delta = abs(int(two["pitch_base40"][j]) - int(one["pitch_base40"][i]) - shift) % 40
        likeness = (1 - delta / max(chosen.band, 1) + 1) / 2 if delta <= chosen.band else 0.0
        if chosen.metric:
            likeness *= 1 - abs(weights[0][i] - weights[1][j])
        likeness *= 1 - chosen.rhythm * min(abs(times[i] - other_times[j]) / 2, 1)
        return 2 * likeness - 1

    def gap_of(length: int) -> float:
        return chosen.opening + chosen.extending * (length - 1)

    # Gaps of every length, tried one by one.
    table: dict[tuple[int, int], float] = {}
    for i, j in product(range(m + 1), range(n + 1)):
        ways = [0.0] if (i, j) == (0, 0) or chosen.aligner == "local" else []
        ways += [table[i - k, j] - gap_of(k) for k in range(1, i + 1)]
        ways += [table[i, j - k] - gap_of(k) for k in range(1, j + 1)]
        if i and j:
            ways.append(table[i - 1, j - 1] + score_of(i - 1, j - 1))
        table[i, j] = max(ways)
    score = max(table.values()) if chosen.aligner == "local" else table[m, n]
    return 1 - score / {"shorter": min(m, n), "longer": max(m, n), "mean": (m + n) / 2}[chosen.divide]


@pytest.mark.parametrize(
    "chosen",
    [
        NoteAlignment(),
        PLAIN,
        NoteAlignment(band=0),
        NoteAlignment(band=9, metric=False, divide="mean"),
        NoteAlignment(rhythm=0.75, divide="longer"),
        NoteAlignment(rhythm=1.0, tempo="histogram"),
        NoteAlignment(aligner="local", divide="mean"),
        NoteAlignment(aligner="local", divide="longer", rhythm=0.5, opening=1.0, extending=0.5),
        NoteAlignment(opening=0.2, extending=0.0),
    ],
    ids=repr,
)
def test_it_is_the_definition(chosen: NoteAlignment) -> None:
    random = np.random.default_rng(8)
    for _ in range(5):
        candidates = [any_melody(random, int(random.integers(0, 12))) for _ in range(10)]
        query = sounding_melody(random, int(random.integers(1, 11)))
        expected = [literal(query, candidate, chosen) for candidate in candidates]
        assert chosen.distances(query, candidates) == pytest.approx(expected, abs=1e-9)


def test_blocks_of_documents_of_any_length() -> None:
    random = np.random.default_rng(6)
    candidates = [any_melody(random, int(random.integers(0, 18))) for _ in range(140)]
    query = sounding_melody(random, 9)
    expected = [literal(query, candidate, PLAIN) for candidate in candidates]
    assert PLAIN.distances(query, candidates) == pytest.approx(expected, abs=1e-9)


# -- inner metric weight ----------------------------------------------------------------------------------------------


def inner_metric_weights(onsets: Numbers, offsets: Numbers) -> Floats:
    weights = np.empty(len(onsets))
    kernels.inner_metric_weights(onsets, offsets, stop_flag(), weights)
    return weights


def test_inner_metric_weights_by_hand() -> None:
    # Quarters at 0 2 4 6, an upbeat at 3: the metres are {0 2 4 6}, {2 3 4} and {0 3 6}.
    found = inner_metric_weights(np.array([0, 2, 3, 4, 6]), np.array([0, 5]))
    assert found == pytest.approx(np.array([13, 13, 8, 13, 13]) / 13)
    # Evenly spaced onsets make one metre, as coarser ones lie inside it; without three there is none.
    assert inner_metric_weights(np.arange(9), np.array([0, 9])).tolist() == [1.0] * 9
    assert inner_metric_weights(np.array([0, 1, 0, 1, 3]), np.array([0, 2, 5])).tolist() == [0.0] * 5


def test_inner_metric_weights_are_the_definition() -> None:
    random = np.random.default_rng(3)
    for _ in range(60):
        onsets = np.sort(random.choice(40, int(random.integers(1, 20)), replace=False)) * 210
        found = inner_metric_weights(onsets, np.array([0, len(onsets)]))
        assert found == pytest.approx(metric_weights(onsets.tolist()), abs=1e-12)


# -- by hand ----------------------------------------------------------------------------------------------------------


def test_by_hand() -> None:
    query, candidate = melody([60, 62, 64]), melody([60, 62, 65])
    assert PLAIN.distances(query, [candidate])[0] == pytest.approx(5 / 69)
    # One note less: a gap at the end.
    assert PLAIN.distances(query, [melody([60, 62])])[0] == pytest.approx(1 - (2 - 0.6) / 2)
    # Two notes less: the gap gets longer at a lower price.
    assert PLAIN.distances(query, [melody([60])])[0] == pytest.approx(1 - (1 - 0.6 - 0.2))
    # The last note, twice as long: half an octave of two counts for half the weight.
    longer = melody([60, 62, 64], [1.0, 1.0, 2.0])
    assert PLAIN.distances(query, [longer])[0] == 0
    assert NoteAlignment(metric=False, rhythm=0.5).distances(query, [longer])[0] == pytest.approx(1 - (2 + 0.5) / 3)


def test_of_equally_good_shifts_the_nearest_to_the_first_notes_is_taken_then_the_lowest() -> None:
    one, ones = np.array([100, 105]), np.ones(4, dtype=np.int64)
    # 100 105 on 200 205, on 205 210 or on 210 215, whatever comes first; and the lower of two that are as near.
    for two, shift in (([200, 205, 210, 215], 100), ([210, 200, 205, 215], 110), ([203, 208, 198, 193], 103)):
        assert transpositions(one, ones[:2], np.array(two), ones, np.array([0, 4])).tolist() == [shift]
    assert transpositions(one, ones[:2], np.array([204, 200, 207, 212]), ones, np.array([0, 4])).tolist() == [107]
    assert transpositions(one[:1], ones[:1], np.array([200, 210]), ones[:2], np.array([0, 2])).tolist() == [100]
    assert transpositions(one, ones[:2], ones[:0], ones[:0], np.array([0, 0])).tolist() == [0]


def test_octaves_do_not_count_and_spelling_does() -> None:
    query, octave = melody([60, 62, 64, 65]), melody([60, 62, 76, 65])
    assert PLAIN.distances(query, [octave])[0] == 0
    sharp = Melody.from_notes(range(4), [1] * 4, [60, 61, 64, 65], base40=[162, 163, 174, 179])
    flat = Melody.from_notes(range(4), [1] * 4, [60, 61, 64, 65], base40=[162, 167, 174, 179])
    assert PLAIN.distances(sharp, [flat])[0] > 0


def test_tempo() -> None:
    slow = [twice_as_slow(tune) for tune in TUNES[:20]]
    for free in (NoteAlignment(), NoteAlignment(rhythm=0.75, tempo="histogram")):
        expected = free.distances(CASTLE, TUNES[:20])
        assert free.distances(CASTLE, slow) == pytest.approx(expected, abs=1e-9)
    assert NoteAlignment(rhythm=0.75).distances(CASTLE, [twice_as_slow(CASTLE)])[0] > 0.1


def test_the_variants_of_roslin_castle_come_first() -> None:
    chosen = NoteAlignment(metric=False, rhythm=0.75, tempo="histogram", divide="mean")
    first = [TUNES[k].id for k in np.argsort(chosen.distances(CASTLE, TUNES), kind="stable")[:5]]
    assert all(str(id).startswith("roslin-castle") for id in first)


def test_a_candidate_without_notes_is_one_gap() -> None:
    nothing = Melody.from_notes([], [], [])
    assert PLAIN.distances(melody([60, 62, 64]), [nothing])[0] == pytest.approx(1 + (0.6 + 2 * 0.2) / 3)
    local = NoteAlignment(metric=False, aligner="local", divide="mean")
    assert local.distances(melody([60, 62, 64]), [nothing])[0] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alignment(band=40)", "band must be a whole number from 0 to 39; got 40"),
        ("alignment(metric=1)", "metric must be True or False; got 1"),
        ("alignment(rhythm=1.5)", "alignment: rhythm must be a number from 0 to 1; got 1.5"),
        ("alignment(opening=-1)", "opening must be a number, at least 0; got -1"),
        ("alignment(extending='x')", "extending must be a number, at least 0; got 'x'"),
        ("alignment(tempo='slow')", "unknown tempo of alignment 'slow'; known: histogram, written"),
        ("alignment(aligner='hybrid')", "unknown aligner of alignment 'hybrid'; known: global, local"),
        ("alignment(divide='none')", "unknown divide of alignment 'none'; known: longer, mean, shorter"),
        ("alignment(aligner='local')", "alignment: aligner 'local' needs divide 'longer' or 'mean'; got 'shorter'"),
    ],
)
def test_bad_parameters(text: str, message: str) -> None:
    with pytest.raises((ArgumentError, UnknownNameError), match=message):
        matcher(text)
