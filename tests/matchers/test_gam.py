"""`gam`: edit distance over implication-realization structures."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.matchers.melodies import TUNES, moved, random_melody

from roslin import Melody, matcher
from roslin.errors import ArgumentError, UnknownNameError
from roslin.matchers import GAM
from roslin.matchers.edit.gam import LABELS, structures

Structure = tuple[str, int, int, int]  # label, size, direction, overlap


def parsed(melody: Melody, chosen: GAM) -> list[Structure]:
    found = structures([melody], small=chosen.small, rest=chosen.rest, longer=chosen.longer, accent=chosen.accent)
    columns = (found.label, found.size, found.direction, found.overlap)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(LABELS[label], size, direction, overlap) for label, size, direction, overlap in rows]


def literal(query: Melody, candidate: Melody, chosen: GAM) -> float:
    """The recurrence, from the end, with every group written out."""
    s, u = parsed(query, chosen), parsed(candidate, chosen)

    def labels(a: Structure, b: Structure) -> float:
        if a[0] == b[0]:
            return 0.0
        return chosen.twin if a[0].strip("()") == b[0].strip("()") else 1.0

    def exchange(many: list[Structure], one: Structure) -> float:
        return (
            chosen.label * sum(labels(each, one) for each in many)
            + chosen.size * abs(sum(each[1] for each in many) - one[1])
            + chosen.direction * sum(abs(each[2] - one[2]) for each in many)
            + chosen.overlap * abs(many[-1][3] - one[3])
        )

    @cache
    def cost(i: int, j: int) -> float:
        ways = [0.0] if i == j == 0 else []
        if i:
            ways.append(cost(i - 1, j) + chosen.deletion * s[i - 1][1])
        if j:
            ways.append(cost(i, j - 1) + chosen.insertion * u[j - 1][1])
        if i and j:
            ways.append(cost(i - 1, j - 1) + chosen.replacement * exchange([s[i - 1]], u[j - 1]))
            for k in range(2, chosen.joined + 1):
                if k <= i:
                    ways.append(cost(i - k, j - 1) + chosen.consolidation * exchange(s[i - k : i], u[j - 1]))
                if k <= j:
                    ways.append(cost(i - 1, j - k) + chosen.fragmentation * exchange(u[j - k : j], s[i - 1]))
        return min(ways)

    total = cost(len(s), len(u))
    if chosen.divide == "none":
        return total
    return total / (chosen.deletion * sum(each[1] for each in s) + chosen.insertion * sum(each[1] for each in u))


@pytest.mark.parametrize(
    "chosen",
    [
        GAM(),
        GAM(divide="none", joined=1),
        GAM(deletion=0.3, insertion=0.2, replacement=0.7, consolidation=0.4, fragmentation=0.2, joined=4),
        GAM(label=0.1, size=0.4, direction=0.05, overlap=0.3, twin=0.2, longer=1.2, small=4),
    ],
)
def test_it_is_the_recurrence(chosen: GAM) -> None:
    random = np.random.default_rng(7)
    for _ in range(25):
        query = random_melody(random, int(random.integers(1, 14)))
        candidates = [random_melody(random, int(random.integers(1, 18))) for _ in range(4)]
        expected = [literal(query, candidate, chosen) for candidate in candidates]
        assert chosen.distances(query, candidates).tolist() == pytest.approx(expected, abs=1e-11)
    castle, others = TUNES[0], TUNES[1:60:7]
    expected = [literal(castle, other, chosen) for other in others]
    assert chosen.distances(castle, others).tolist() == pytest.approx(expected, abs=1e-11)


def test_by_hand() -> None:
    query = Melody.from_notes(range(4), [1] * 4, [60, 62, 64, 60])
    candidate = Melody.from_notes(range(4), [1] * 4, [60, 62, 64, 65])
    assert GAM(divide="none").distances(query, [candidate])[0] == pytest.approx(0.4389)
    assert GAM().distances(query, [candidate])[0] == pytest.approx(0.4389 / 0.908)
    assert GAM(divide="none", joined=1).distances(query, [candidate])[0] == pytest.approx(0.511)
    assert GAM(divide="none", fragmentation=0.1).distances(candidate, [query])[0] == pytest.approx(0.1463)


def test_key_and_tempo_do_not_matter() -> None:
    candidates = TUNES[:30]
    expected = GAM().distances(TUNES[0], candidates).tolist()
    assert (
        GAM()
        .distances(Melody(moved(TUNES[0], up=7).notes, barlines_ticks=TUNES[0].barlines_ticks), candidates)
        .tolist()
        == expected
    )
    slow = Melody(moved(TUNES[0], slower=2.0).notes, barlines_ticks=2 * TUNES[0].barlines_ticks)
    assert GAM().distances(slow, candidates).tolist() == expected


def test_degenerate_melodies() -> None:
    one = Melody.from_notes([3], [1], [60])
    same = Melody.from_notes(range(5), [1] * 5, [60] * 5)
    chord = Melody.from_notes([0] * 3, [1] * 3, [60, 64, 67])
    nothing = Melody.from_notes([0], [0], [60], graces=[True])
    assert GAM().distances(one, [one, chord, nothing]).tolist() == [0, 0, 1]
    assert GAM().distances(same, [same, nothing]).tolist() == [0, 1]
    assert GAM(divide="none").distances(same, [nothing]).tolist() == pytest.approx([5 * 0.064])
    free = GAM(deletion=0, insertion=0)
    assert free.distances(one, [one, nothing]).tolist() == [1, 1]  # nothing costs anything, and nothing can be said


def test_parameters() -> None:
    assert repr(matcher("gam(joined=2, divide='none')")) == "gam(joined=2, divide='none')"
    for name in ("deletion", "twin", "accent"):
        for value in ("-1", "True", "'1'"):
            with pytest.raises(ArgumentError, match=f"{name} must be a number, at least 0; got"):
                matcher(f"gam({name}={value})")
    with pytest.raises(ArgumentError, match="joined must be a whole number from 1 to 8; got 9"):
        matcher("gam(joined=9)")
    with pytest.raises(ArgumentError, match=r"small must be a whole number from 1 to 127; got 1\.5"):
        matcher("gam(small=1.5)")
    with pytest.raises(UnknownNameError, match="unknown divide of gam 'query'; known: both, none"):
        matcher("gam(divide='query')")
