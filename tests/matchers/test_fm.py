"""`fm` and its parts against melsim's definitions, written down once more in plain Python."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from statistics import median

import numpy as np
import pytest
from tests.matchers.melodies import CASTLE, TUNES, a_fourth_higher, any_melody, moved, sounding_melody

from roslin import Melody, matcher
from roslin.errors import ArgumentError, UnknownNameError
from roslin.matchers import FM, DiffEd, HarmCore, NGrSumCo, NgrUkkon, RawEd, RhytFuzz
from roslin.matchers.opti3 import LineMatcher
from roslin.melody import TICKS_PER_QUARTER
from roslin.represent.line import melodic_line

MAJOR = [6.33, 2.23, 3.48, 2.33, 4.38, 4.09, 2.52, 5.19, 2.39, 3.66, 2.29, 2.88]
MINOR = [6.35, 2.68, 3.52, 5.38, 2.60, 3.53, 2.54, 4.75, 3.98, 2.69, 3.34, 3.17]


def melody(*pitches: int) -> Melody:
    return Melody.from_notes(range(len(pitches)), [1] * len(pitches), pitches)


def distance(chosen: LineMatcher, query: Melody, candidate: Melody) -> float:
    return float(chosen.distances(query, [candidate])[0])


# -- the definitions --------------------------------------------------------------------------------------------------


def pitches(tune: Melody) -> list[int]:
    return [int(pitch) for pitch in melodic_line(tune)["pitch_midi"]]


def intervals(tune: Melody) -> list[int]:
    return [b - a for a, b in pairwise(pitches(tune))]


def grams(tune: Melody, n: int) -> Counter[tuple[int, ...]]:
    steps = intervals(tune)
    return Counter(tuple(steps[k : k + n]) for k in range(len(steps) - n + 1))


def edit_similarity(a: list[int], b: list[int]) -> float:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        above, row = row, [i]
        for j, y in enumerate(b, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y)))
    return 1 - row[-1] / max(len(a), len(b)) if a or b else 1.0


def ngrukkon(query: Melody, candidate: Melody, n: int = 3) -> float:
    f, g = grams(query, n), grams(candidate, n)
    total = f.total() + g.total()
    return 1 - sum(abs(f[gram] - g[gram]) for gram in f | g) / total if total else 1.0


def ngrsumco(query: Melody, candidate: Melody, n: int = 3) -> float:
    f, g = grams(query, n), grams(candidate, n)
    total = f.total() + g.total()
    return sum(f[gram] + g[gram] for gram in f & g) / total if total else 1.0


def diffed(query: Melody, candidate: Melody) -> float:
    return edit_similarity(intervals(query), intervals(candidate))


def rawed(query: Melody, candidate: Melody) -> float:
    a, b = pitches(query), pitches(candidate)
    if not b:
        return 0.0
    a, b = [p - min(a) + 60 for p in a], [p - min(b) + 60 for p in b]
    between = int((median(b) - median(a)) // 1)
    return max(edit_similarity([p + c for p in a], b) for c in {*range(-5, 7), between})


def classes(tune: Melody, beat: float | None) -> list[int]:
    onsets = melodic_line(tune)["onset_ticks"].tolist()
    times = [b - a for a, b in pairwise(onsets)]
    if not times:
        return []
    unit = sorted(times)[(len(times) - 1) // 2] if beat is None else beat * TICKS_PER_QUARTER
    return [sum(time / unit > limit for limit in (0.45, 0.9, 1.8, 3.3)) - 2 for time in times]


def rhytfuzz(query: Melody, candidate: Melody, beat: float | None = 1.0) -> float:
    return edit_similarity(classes(query, beat), classes(candidate, beat))


def key(bar: list[int]) -> int:
    counts = np.bincount([pitch % 12 for pitch in bar], minlength=12).astype(float)
    agreement = {}
    for mode, profile in enumerate((MAJOR, MINOR)):
        scaled = (np.array(profile) - np.mean(profile)) / np.std(profile)
        for step in range(12):
            tonic = (bar[0] + step) % 12
            agreement[mode, step] = float(np.roll(scaled, tonic) @ counts)
    best = max(agreement.values())
    mode, step = min(name for name, value in agreement.items() if value > best - 1e-4)
    return 12 * mode + (bar[0] + step) % 12


def keys(tune: Melody) -> list[int]:
    line = melodic_line(tune)
    bars: dict[int, list[int]] = {}
    for onset, pitch in zip(line["onset_ticks"].tolist(), line["pitch_midi"].tolist(), strict=True):
        has_lines = len(tune.barlines_ticks) > 0
        number = int((tune.barlines_ticks <= onset).sum()) if has_lines else onset // (4 * TICKS_PER_QUARTER)
        bars.setdefault(number, []).append(pitch)
    return [key(bars[number]) for number in sorted(bars)]


def harmcore(query: Melody, candidate: Melody) -> float:
    a, b = keys(query), keys(candidate)
    return max(edit_similarity([k // 12 * 12 + (k + c) % 12 for k in a], b) for c in range(12))


def opti3(query: Melody, candidate: Melody) -> float:
    value = 0.505 * ngrukkon(query, candidate) + 0.417 * rhytfuzz(query, candidate)
    return min(max(value + 0.24 * harmcore(query, candidate) - 0.146, 0), 1)


def opti2(query: Melody, candidate: Melody) -> float:
    return 0.6 * ngrukkon(query, candidate) + 0.4 * rhytfuzz(query, candidate)


DEFINITIONS = {
    NgrUkkon(): ngrukkon,
    NgrUkkon(n=1): lambda q, t: ngrukkon(q, t, 1),
    NgrUkkon(n=6): lambda q, t: ngrukkon(q, t, 6),
    NGrSumCo(): ngrsumco,
    NGrSumCo(n=2): lambda q, t: ngrsumco(q, t, 2),
    DiffEd(): diffed,
    RawEd(): rawed,
    RhytFuzz(): rhytfuzz,
    RhytFuzz(beat=None): lambda q, t: rhytfuzz(q, t, None),
    RhytFuzz(beat=0.5): lambda q, t: rhytfuzz(q, t, 0.5),
    HarmCore(): harmcore,
    FM(): opti3,
    FM(measure="opti2"): opti2,
}


@pytest.mark.parametrize("chosen", DEFINITIONS, ids=repr)
def test_it_is_the_definition(chosen: LineMatcher) -> None:
    random = np.random.default_rng(9)
    for _ in range(8):
        candidates = [any_melody(random, int(random.integers(0, 14))) for _ in range(10)]
        query = sounding_melody(random, int(random.integers(1, 14)))
        expected = [1 - DEFINITIONS[chosen](query, candidate) for candidate in candidates]
        assert chosen.distances(query, candidates) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("chosen", DEFINITIONS, ids=repr)
def test_on_whole_tunes(chosen: LineMatcher) -> None:
    expected = [1 - DEFINITIONS[chosen](CASTLE, candidate) for candidate in TUNES[:6]]
    assert chosen.distances(CASTLE, TUNES[:6]) == pytest.approx(expected, abs=1e-12)


# -- by hand ----------------------------------------------------------------------------------------------------------


def test_intervals_and_pitches_by_hand() -> None:
    one, two = melody(60, 62, 64, 65, 67), melody(60, 62, 64, 65, 69)
    assert distance(NgrUkkon(), one, two) == 2 / 4
    assert distance(NGrSumCo(), one, two) == 2 / 4
    assert distance(DiffEd(), one, two) == 1 / 4
    assert distance(RawEd(), one, two) == 1 / 5


def test_a_gram_that_comes_twice_counts_twice() -> None:
    once, twice = melody(60, 62, 60, 62), melody(60, 62, 60, 62, 60, 62)  # (2 -2 2), and (2 -2 2) (-2 2 -2) (2 -2 2)
    assert distance(NgrUkkon(), once, twice) == 2 / 4
    assert distance(NGrSumCo(), once, twice) == pytest.approx(1 / 4)


def test_rhythm_by_hand() -> None:
    # Quarters, a half, an eighth: classes 0 0 1 and 0 0 -1.
    one = Melody.from_notes([0, 1, 2, 4], [1, 1, 2, 1], [60] * 4)
    two = Melody.from_notes([0, 1, 2, 2.5], [1, 1, 0.5, 1], [71] * 4)
    assert distance(RhytFuzz(), one, two) == 1 / 3


def test_harmony_by_hand() -> None:
    chord = [60, 64, 67, 60]
    one = Melody.from_notes(range(8), [1] * 8, [*chord, *(p + 7 for p in chord)], barlines=[4])
    other_keys = Melody.from_notes(range(8), [1] * 8, [p - 2 for p in pitches(one)], barlines=[4])
    minor = Melody.from_notes(range(8), [1] * 8, [*chord, 67, 70, 74, 67], barlines=[4])
    assert keys(one) == [0, 7]
    assert keys(minor) == [0, 12 + 7]
    assert distance(HarmCore(), one, other_keys) == 0
    assert distance(HarmCore(), one, minor) == 1 / 2
    without_lines = Melody.from_notes(range(8), [1] * 8, pitches(one))
    assert distance(HarmCore(), one, without_lines) == 0


def test_opti3_by_hand() -> None:
    one, two = (Melody.from_notes(range(5), [1] * 5, [60, 62, 64, 65, last], barlines=[5]) for last in (67, 72))
    assert [tune_key // 12 for tune_key in (*keys(one), *keys(two))] == [0, 0]  # one bar each, in major
    assert distance(FM(), one, two) == pytest.approx(0.2365)
    assert distance(FM(measure="opti2"), one, two) == pytest.approx(0.3)


# -- what does not count ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chosen", [NgrUkkon(), NGrSumCo(), DiffEd(), RawEd()], ids=repr)
def test_rhythm_does_not_count(chosen: LineMatcher) -> None:
    expected = chosen.distances(CASTLE, TUNES[:20])
    notes = CASTLE.notes.copy()
    notes["onset_ticks"], notes["duration_ticks"] = np.arange(len(notes)) * 7, 3
    assert chosen.distances(Melody(notes), TUNES[:20]).tolist() == expected.tolist()


def test_pitch_does_not_count_in_rhythm_and_tempo_does_not_with_the_median() -> None:
    flat = CASTLE.notes.copy()
    flat["pitch_midi"] = 60
    assert RhytFuzz().distances(Melody(flat), TUNES).tolist() == RhytFuzz().distances(CASTLE, TUNES).tolist()
    free = RhytFuzz(beat=None)
    assert free.distances(moved(CASTLE, slower=2.0), TUNES).tolist() == free.distances(CASTLE, TUNES).tolist()
    assert RhytFuzz().distances(moved(CASTLE, slower=2.0), [CASTLE])[0] > 0


@pytest.mark.parametrize("chosen", [FM(), RawEd(), HarmCore()], ids=repr)
def test_transposition_does_not_count(chosen: LineMatcher) -> None:
    random = np.random.default_rng(4)
    for _ in range(20):
        query, candidate = sounding_melody(random, 8), sounding_melody(random, 9)
        assert distance(chosen, a_fourth_higher(query), candidate) == distance(chosen, query, candidate)


def test_melodies_too_short_to_compare() -> None:
    one, two, three = melody(60), melody(60, 62), melody(60, 62, 64)
    assert NgrUkkon().distances(two, [one, three, CASTLE]).tolist() == [0, 0, 1]
    assert NGrSumCo().distances(two, [one, three, CASTLE]).tolist() == [0, 0, 1]
    assert DiffEd().distances(one, [one, two]).tolist() == [0, 1]
    assert RhytFuzz().distances(one, [one, two]).tolist() == [0, 1]
    assert RawEd().distances(one, [melody(72), Melody.from_notes([], [], [])]).tolist() == [0, 1]
    assert HarmCore().distances(one, [melody(72), Melody.from_notes([], [], [])]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ngrukkon(n=0)", "n must be a whole number from 1 to 6; got 0"),
        ("ngrsumco(n=7)", "n must be a whole number from 1 to 6; got 7"),
        ("rhytfuzz(beat=0)", "rhytfuzz: beat must be a number above 0, or None; got 0"),
        ("fm(beat=True)", "fm: beat must be a number above 0, or None; got True"),
        ("fm(measure='optiP')", "unknown measure of fm 'optiP'; known: opti2, opti3"),
    ],
)
def test_bad_parameters(text: str, message: str) -> None:
    with pytest.raises((ArgumentError, UnknownNameError), match=message):
        matcher(text)
