"""`orio`: n-grams of several features and levels, fused."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from tests.matchers.melodies import CASTLE, TUNES, moved, random_melody

from roslin import Melody, matcher
from roslin.errors import ArgumentError, UnknownNameError
from roslin.matchers import Orio
from roslin.matchers.grams.orio import LEVELS, Level, Pairs
from roslin.represent.line import melodic_line, melodic_lines
from roslin.represent.packed import pack

Symbol = tuple[int, ...]


def strings(melody: Melody) -> list[tuple[str, list[Symbol]]]:
    """(feature, string) of the ten levels, written down from the page."""
    line = melodic_line(melody)
    pitch, onset = line["pitch_midi"].tolist(), line["onset_ticks"].tolist()
    times = [*np.diff(onset).tolist(), *line["duration_ticks"][-1:].tolist()]
    steps = [b - a for a, b in pairwise(pitch)]
    ratios = [math.log2(b / a) for a, b in pairwise(times)]

    def sign(value: float) -> int:
        return (value > 0) - (value < 0)

    def size(value: float, limits: list[float]) -> int:
        return sign(value) * sum(abs(value) >= limit for limit in limits)

    semitones = [max(-12, min(12, step)) for step in steps]
    nine = [size(step, [1, 3, 5, 8]) for step in steps]
    five = [size(step, [1, 5]) for step in steps]
    contour = [sign(step) for step in steps]
    halves = [max(-4, min(4, round(2 * ratio))) for ratio in ratios]
    doubled = [size(ratio, [1, 2]) for ratio in ratios]
    longer = [sign(ratio) for ratio in ratios]
    plain = [("pitch", x) for x in (semitones, nine, five, contour)] + [
        ("rhythm", x) for x in (halves, doubled, longer)
    ]
    pairs = [(semitones, halves), (nine, doubled), (contour, longer)]
    written: list[tuple[str, list[Symbol]]] = [(feature, [(symbol,) for symbol in x]) for feature, x in plain]
    return written + [("both", list(zip(a, b, strict=True))) for a, b in pairs]


def literal(query: Melody, candidates: list[Melody], chosen: Orio) -> list[float]:
    lists = []
    asked, stored = strings(query), [strings(candidate) for candidate in candidates]
    for k, (feature, string) in enumerate(asked):
        weight = getattr(chosen, feature)
        for n in chosen.n if weight else ():
            bags = [_bag(one[k][1], n) for one in stored]
            holders = Counter(gram for bag in bags for gram in bag)

            def vector(bag: dict[tuple[Symbol, ...], int], holders: Counter[tuple[Symbol, ...]] = holders) -> dict:  # type: ignore[type-arg]
                return {
                    gram: (1 + math.log(times)) * math.log(1 + len(candidates) / max(holders[gram], 1))
                    for gram, times in bag.items()
                }

            mine = vector(_bag(string, n))
            scores = [_cosine(mine, vector(bag)) for bag in bags]
            lists.append((weight, scores))
    found = []
    for k in range(len(candidates)):
        score = 0.0
        for weight, scores in lists:
            low, high = min(scores), max(scores)
            stretch = chosen.scale == "minmax" and high > low
            score += weight * ((scores[k] - low) / (high - low) if stretch else scores[k])
        score /= sum(weight for weight, _ in lists)
        if chosen.fusion == "mnz":
            score *= sum(scores[k] > 0 for _, scores in lists) / len(lists)
        found.append(1 - score)
    return found


def _bag(string: list[Symbol], n: int) -> Counter[tuple[Symbol, ...]]:
    return Counter(tuple(string[k : k + n]) for k in range(len(string) - n + 1))


def _cosine(a: dict, b: dict) -> float:  # type: ignore[type-arg]
    norms = math.sqrt(sum(x * x for x in a.values()) * sum(x * x for x in b.values()))
    return sum(value * b.get(gram, 0.0) for gram, value in a.items()) / norms if norms else 0.0


@pytest.mark.parametrize(
    "chosen",
    [
        Orio(),
        Orio(n=(1, 2, 3)),
        Orio(n=(2,), pitch=0.5, rhythm=0.0, both=2.0),
        Orio(n=(2,), scale="minmax"),
        Orio(n=(2, 3), fusion="mnz"),
        Orio(n=(3,), scale="minmax", fusion="mnz"),
    ],
)
def test_it_is_the_page(chosen: Orio) -> None:
    random = np.random.default_rng(8)
    for _ in range(8):
        query = random_melody(random, int(random.integers(2, 12)))
        candidates = [random_melody(random, int(random.integers(1, 14))) for _ in range(9)]
        candidates.append(moved(query, up=2))
        found = chosen.distances(query, candidates).tolist()
        assert found == pytest.approx(literal(query, candidates, chosen), abs=1e-10)
    assert chosen.distances(CASTLE, TUNES[:40]).tolist() == pytest.approx(
        literal(CASTLE, TUNES[:40], chosen), abs=1e-10
    )


def test_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roslin.matchers.grams.orio.LEVELS", LEVELS[:1])
    tunes = [Melody.from_notes(range(5), [1] * 5, [60, 62, 64, 65, last]) for last in (67, 60)]
    expected = math.log(2) ** 2 / (math.log(2) ** 2 + math.log(3) ** 2)
    assert Orio(n=(3,)).distances(tunes[0], tunes).tolist() == pytest.approx([0, 1 - expected], abs=1e-12)


def test_the_symbols_of_a_level() -> None:
    assert [level.symbols for level in LEVELS] == [25, 9, 5, 3, 9, 5, 3, 225, 45, 9]
    assert [level.feature for level in LEVELS] == ["pitch"] * 4 + ["rhythm"] * 3 + ["both"] * 3
    leaps = Melody.from_notes([0, 1, 2, 4], [1, 1, 2, 1], [60, 80, 59, 59])
    assert Level(intervals=(1, 5)).write(Pairs.of(melodic_lines([leaps])))[:3].tolist() == [4, 0, 2]
    assert Level(ratios=(1.0, 2.0)).write(Pairs.of(melodic_lines([leaps])))[:3].tolist() == [2, 3, 1]


def test_the_variants_of_roslin_castle_come_first() -> None:
    distances = Orio().distances(CASTLE, TUNES)
    first = [TUNES[k].id for k in np.argsort(distances, kind="stable")[:4]]
    assert all(str(id).startswith("roslin-castle") for id in first)


def test_key_and_tempo_do_not_matter() -> None:
    expected = Orio().distances(CASTLE, TUNES).tolist()
    assert Orio().distances(moved(CASTLE, up=5, slower=2.0), TUNES).tolist() == expected
    assert Orio().distances(CASTLE, [moved(tune, up=-4, slower=0.5) for tune in TUNES]).tolist() == expected


def test_degenerate_melodies() -> None:
    one = Melody.from_notes([3], [1], [60])
    same = Melody.from_notes(range(7), [1] * 7, [60] * 7)
    chord = Melody.from_notes([0] * 3, [1] * 3, [60, 64, 67])
    nothing = Melody.from_notes([0], [0], [60], graces=[True])
    candidates = [same, one, chord, nothing]
    for chosen in (Orio(), Orio(scale="minmax"), Orio(fusion="mnz")):
        assert chosen.distances(one, candidates).tolist() == [1, 1, 1, 1]
        assert chosen.distances(same, candidates).tolist() == [0, 1, 1, 1]
        assert chosen.distances(same, [same]).tolist() == [0]
        assert chosen.distances(same, []).tolist() == []


def test_the_indexes_are_kept_with_the_candidates() -> None:
    packed = pack(TUNES)
    first = Orio().distances(CASTLE, packed).tolist()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("roslin.matchers.grams.orio._make_list", lambda *_: pytest.fail("it is there already"))
        Orio(fusion="mnz", rhythm=0.5).distances(CASTLE, packed)
        assert Orio().distances(CASTLE, packed).tolist() == first


def test_parameters() -> None:
    assert repr(matcher("orio(n=3)")) == "orio(n=(3,))"
    assert matcher("orio(n=[3, 4])") == Orio(n=(3, 4))
    for value in ("()", "0", "(3, 7)", "True", "'4'", "(2.0,)"):
        with pytest.raises(ArgumentError, match="n must be one or more whole numbers from 1 to 6; got"):
            matcher(f"orio(n={value})")
    for name in ("pitch", "rhythm", "both"):
        with pytest.raises(ArgumentError, match=f"{name} must be a number, at least 0; got -1"):
            matcher(f"orio({name}=-1)")
    with pytest.raises(ArgumentError, match="one of pitch, rhythm and both must be above 0"):
        matcher("orio(pitch=0, rhythm=0, both=0)")
    with pytest.raises(UnknownNameError, match="unknown scale of orio 'rank'; known: cosine, minmax"):
        matcher("orio(scale='rank')")
    with pytest.raises(UnknownNameError, match="unknown fusion of orio 'max'; known: mnz, sum"):
        matcher("orio(fusion='max')")
