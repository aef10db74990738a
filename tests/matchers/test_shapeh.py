"""`shapeh` against the sheet's definition, written down once more with fractions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from tests.matchers.melodies import CASTLE, TUNES, any_melody, moved, sounding_melody

from roslin import Collection, Melody, matcher
from roslin.errors import UnknownNameError
from roslin.matchers import ShapeH
from roslin.represent.line import melodic_line

Pair = tuple[int, int]
OPPOSITE = {"valley": "peak", "peak": "valley", "rise": "fall", "fall": "rise"}
ALL = [
    ShapeH(aligner, divide, mismatch)
    for aligner, divide, mismatch in product(
        ("hybrid", "local", "global"), ("shorter", "longer", "none"), ("symmetric", "published")
    )
]


def melody(*pitches: int) -> Melody:
    return Melody.from_notes(range(len(pitches)), [1] * len(pitches), pitches)


def pairs(tune: Melody) -> list[Pair]:
    pitches = [int(pitch) for pitch in melodic_line(tune)["pitch_midi"]]
    return list(pairwise(b - a for a, b in pairwise(pitches)))


def shapes(pair: Pair) -> list[str]:
    one, two = pair
    found = []
    if one <= 0 <= two:
        found.append("valley")
    if one >= 0 >= two:
        found.append("peak")
    if one >= 0 and two >= 0:
        found.append("rise")
    if one <= 0 and two <= 0:
        found.append("fall")
    return found


def mismatch(one: Pair, two: Pair, rule: str) -> Fraction:
    asked, there = shapes(one), shapes(two)
    if rule == "published":
        asked = asked[:1]
    if set(asked) & set(there):
        return Fraction(-1, 2)
    return Fraction(-8) if {OPPOSITE[shape] for shape in asked} & set(there) else Fraction(-1)


def literal(query: Melody, candidates: list[Melody], chosen: ShapeH) -> list[float]:
    counts = Counter(pair for candidate in candidates for pair in pairs(candidate))
    total = counts.total()

    def rarity(pair: Pair) -> Fraction:
        return 1 - Fraction(counts[pair], max(total, 1))

    def gap(pair: Pair) -> Fraction:
        return -rarity(pair) if counts[pair] else -Fraction(1, max(total, 1))

    asked = pairs(query)
    if not asked:
        return [0.0] * len(candidates)
    distances = []
    for candidate in candidates:
        there = pairs(candidate)
        m, n = len(asked), len(there)
        table = {(0, 0): Fraction(0)}
        for i, j in product(range(m + 1), range(n + 1)):
            ways = [Fraction(0)] if (i, j) == (0, 0) or chosen.aligner == "local" else []
            if i:
                ways.append(table[i - 1, j] + gap(asked[i - 1]))
            if j:
                ways.append(table[i, j - 1] + gap(there[j - 1]))
            if i and j:
                one, two = asked[i - 1], there[j - 1]
                ways.append(table[i - 1, j - 1] + (rarity(one) if one == two else mismatch(one, two, chosen.mismatch)))
            table[i, j] = max(ways)
        inner = [table[i, j] for i in range(1, m + 1) for j in range(1, n + 1)]
        score = table[m, n] if chosen.aligner == "global" or not inner else max(inner)
        own = sum((rarity(pair) for pair in asked), Fraction(0))
        if chosen.divide == "none":
            distance = own - score
        else:
            distance = own / m - score / ((max if chosen.divide == "longer" else min)(m, n) or m)
        distances.append(max(float(distance), 0.0))
    return distances


@pytest.mark.parametrize("chosen", ALL, ids=repr)
def test_it_is_the_definition(chosen: ShapeH) -> None:
    random = np.random.default_rng(ALL.index(chosen))
    for _ in range(4):
        candidates = [any_melody(random, int(random.integers(0, 11))) for _ in range(9)]
        query = sounding_melody(random, int(random.integers(1, 9)))
        assert chosen.distances(query, candidates) == pytest.approx(literal(query, candidates, chosen), abs=1e-11)


def test_blocks_of_documents_of_any_length() -> None:
    random = np.random.default_rng(5)
    candidates = [any_melody(random, int(random.integers(0, 25))) for _ in range(150)]
    query = sounding_melody(random, 12)
    assert ShapeH().distances(query, candidates) == pytest.approx(literal(query, candidates, ShapeH()), abs=1e-11)


def test_by_hand() -> None:
    assert ShapeH().distances(melody(60, 62, 64, 62), [melody(60, 62, 64, 67)]).tolist() == [0.5]
    # Everything counts: (2, 2) gains 1/2, (2, -2) against (2, 3) costs 1.
    assert ShapeH("global", "none").distances(melody(60, 62, 64, 62), [melody(60, 62, 64, 67)]).tolist() == [2.0]


def test_the_shapes_of_repeated_notes() -> None:
    query, candidate = melody(60, 60, 60), melody(60, 62, 60)
    lost = {"symmetric": -0.5, "published": -8.0}
    for rule, cost in lost.items():
        # One pair each, (0, 0), which no candidate has, and (2, -2), a peak; leaving both out costs 1 + 0.
        chosen = ShapeH("global", "none", rule)
        assert chosen.distances(query, [candidate]).tolist() == [1 - max(cost, -1.0)]


def test_the_symmetric_cost_is_symmetric_and_the_published_is_not() -> None:
    signs = [(first, second) for first in (-1, 0, 1) for second in (-1, 0, 1)]
    for one, two in product(signs, signs):
        assert mismatch(one, two, "symmetric") == mismatch(two, one, "symmetric")
    assert any(mismatch(one, two, "published") != mismatch(two, one, "published") for one, two in product(signs, signs))


def test_rhythm_does_not_count() -> None:
    expected = ShapeH().distances(CASTLE, TUNES)
    notes = CASTLE.notes.copy()
    notes["onset_ticks"], notes["duration_ticks"] = np.arange(len(notes)) * 7, 3
    assert ShapeH().distances(Melody(notes), TUNES).tolist() == expected.tolist()
    assert ShapeH().distances(moved(CASTLE, slower=2.0, up=3), TUNES).tolist() == expected.tolist()


def test_what_is_missing_counts_less_when_many_have_it() -> None:
    # (2, -2) is not found; it would gain 1 when no candidate has it, 1/2 when it is every second pair.
    query, candidate, chosen = melody(60, 62, 64, 62), melody(60, 62, 64), ShapeH(divide="longer")
    assert chosen.distances(query, [candidate])[0] == 0.5
    assert chosen.distances(query, [candidate, melody(60, 62, 60)])[0] == 0.25
    assert not chosen.is_independent


def test_the_variants_of_roslin_castle_come_first() -> None:
    distances = ShapeH("global", "longer").distances(CASTLE, TUNES)
    first = [TUNES[k].id for k in np.argsort(distances, kind="stable")[:4]]
    assert all(str(id).startswith("roslin-castle") for id in first)


def test_melodies_without_a_pair() -> None:
    short = [melody(60), melody(60, 62), Melody.from_notes([], [], [])]
    assert ShapeH().distances(short[0], [*short, CASTLE]).tolist() == [0.0] * 4
    # (2, 2), which no candidate has, would gain 1, and costs 1/1 to leave out where there is no pair at all.
    assert ShapeH().distances(melody(60, 62, 64), short).tolist() == [2.0] * 3
    assert ShapeH("local").distances(melody(60, 62, 64), short).tolist() == [1.0] * 3


def test_a_search_among_all_or_some_counts_what_is_compared(tmp_path: Path) -> None:
    some = TUNES[:12]
    with Collection.build(some, tmp_path / "some.roslin") as collection:
        for numbers in (None, np.array([3, 0, 7, 5])):
            run = collection.search(CASTLE, "shapeh", k=4, within=numbers)
            compared = some if numbers is None else [some[number] for number in numbers]
            distances = ShapeH().distances(CASTLE, compared)
            expected = sorted((float(d), str(tune.id)) for d, tune in zip(distances, compared, strict=True))[:4]
            assert [(hit.distance, hit.id) for hit in run.hits] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shapeh(aligner='best')", "unknown aligner of shapeh 'best'; known: global, hybrid, local"),
        ("shapeh(divide=2)", "unknown divide of shapeh '2'; known: longer, none, shorter"),
        ("shapeh(mismatch='any')", "unknown mismatch of shapeh 'any'; known: published, symmetric"),
    ],
)
def test_bad_parameters(text: str, message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        matcher(text)
