"""Average Dynamic Recall: the papers' numbers, then properties, then a second route, then degenerate input."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roslin.errors import ArgumentError
from roslin.evaluate import (
    EmptyTruthWarning,
    adr_tie_break,
    average_dynamic_recall,
    dynamic_recall,
    inversions,
    measure,
    normalised_recall_at_group_boundaries,
    steps,
)

Groups = list[list[Any]]

TWO: Groups = [[1, 2], [3, 4, 5]]
LETTERS: Groups = [["A", "B"], ["C"], ["D", "E", "F"]]
FOUR: Groups = [[1], [2], [3], [4]]
LAST = "704.000.704 400.196.546 220.000.909 702.001.807 700.008.178 000.114.257 000.109.156 850.503.217 550.161.144"
ROSLIN_CASTLE: Groups = [
    ["109446"],
    ["111779", "112692"],
    ["132330"],
    ["112625"],
    [*LAST.split(), "530.004.292"],
]
ROSLIN_RESULT = ["109446", "112692", "111779", "132330", "702.004.201", "240.003.908"]


def literal(groups: Sequence[Sequence[Any]], ranking: Sequence[Any]) -> Fraction:
    """The formula of paper 000, section 3, letter by letter, in exact fractions."""
    n = sum(len(group) for group in groups)
    total = Fraction(0)
    for i in range(1, n + 1):
        c = 1
        while sum(len(group) for group in groups[:c]) < i:
            c += 1
        relevant = {id for group in groups[:c] for id in group}
        total += Fraction(len({id for id in ranking[:i] if id in relevant}), i)
    return total / n


@pytest.mark.parametrize(
    ("groups", "ranking", "expected"),
    [
        pytest.param(TWO, [2, 3, 1, 5, 7, 8, 9, 4], "43/50", id="ADR-1"),
        pytest.param(TWO, [2, 10, 3, 1, 5, 7, 8, 9, 4], "223/300", id="ADR-2"),
        pytest.param(LETTERS, list("BCAGHD"), "271/360", id="ADR-3"),
        pytest.param(FOUR, [4, 3, 5, 6], "5/24", id="ADR-5a"),
        pytest.param(FOUR, [3, 4, 5, 6], "5/24", id="ADR-5b"),
        pytest.param([[1], [2, 3]], [2, 3, 1], "2/3", id="ADR-7"),
        pytest.param(FOUR, [4, 3, 2, 1], "5/12", id="ADR-8"),
        pytest.param([[1, 2, 3]], [3, 1, 2], "1", id="ADR-9a"),
        pytest.param([[1, 2, 3]], [9, 3, 1, 2], "7/18", id="ADR-9b"),
        pytest.param(LETTERS, list("BCA"), "29/40", id="ADR-short"),
        pytest.param(TWO, [2, 2, 3, 1, 5], "223/300", id="ADR-dup"),
        pytest.param(LETTERS, [], "0", id="ADR-empty-result"),
    ],
)
def test_golden_values(groups: Groups, ranking: list[Any], expected: str) -> None:
    assert average_dynamic_recall(groups, ranking) == pytest.approx(float(Fraction(expected)), abs=1e-12)
    assert literal(groups, ranking) == Fraction(expected)


@pytest.mark.parametrize(
    ("groups", "ranking", "terms"),
    [
        (TWO, [2, 3, 1, 5, 7, 8, 9, 4], "1 1/2 1 1 4/5"),
        (TWO, [2, 10, 3, 1, 5, 7, 8, 9, 4], "1 1/2 2/3 3/4 4/5"),
        (LETTERS, list("BCAGHD"), "1 1/2 1 3/4 3/5 2/3"),
        (FOUR, [4, 3, 5, 6], "0 0 1/3 1/2"),
        (FOUR, [3, 4, 5, 6], "0 0 1/3 1/2"),
        ([[1], [2, 3]], [2, 3, 1], "0 1 1"),
        (FOUR, [4, 3, 2, 1], "0 0 2/3 1"),
    ],
)
def test_golden_curves(groups: Groups, ranking: list[Any], terms: str) -> None:
    expected = [float(Fraction(term)) for term in terms.split()]
    assert dynamic_recall(groups, ranking).tolist() == pytest.approx(expected, abs=1e-12)


def test_golden_roslin_castle() -> None:
    """ADR-4 (paper 002, Table 3): the running ADR of a list of six, and what padding and cutting make of it."""
    rows = steps(ROSLIN_CASTLE, ROSLIN_RESULT)
    assert [row.found for row in rows] == [1, 2, 3, 4, 4, 4]
    assert [row.recall for row in rows] == pytest.approx([1, 1, 1, 1, 0.8, 2 / 3])
    assert [row.adr for row in rows] == pytest.approx([1, 1, 1, 1, 0.96, 41 / 45], abs=1e-12)
    assert [row.group for row in rows] == [1, 2, 2, 3, None, None]
    assert average_dynamic_recall(ROSLIN_CASTLE, ROSLIN_RESULT, k=6) == pytest.approx(41 / 45, abs=1e-12)
    assert average_dynamic_recall(ROSLIN_CASTLE, ROSLIN_RESULT) == pytest.approx(0.595972, abs=5e-7)
    assert measure("ADR(short='cut')")(ROSLIN_CASTLE, ROSLIN_RESULT) == pytest.approx(41 / 45, abs=1e-12)


def test_golden_recall_at_the_end_of_the_truth() -> None:
    """ADR-6: at rank n dynamic recall is recall."""
    groups = [[2 * k, 2 * k + 1] for k in range(24)]
    ranking = [*range(26), *range(100, 122)]
    assert dynamic_recall(groups, ranking)[-1] == pytest.approx(26 / 48)


def test_golden_beyond_the_truth() -> None:
    """ADR-10: with k above n even a perfect list loses."""
    assert average_dynamic_recall(TWO, [1, 2, 3, 4, 5, 6, 7, 8], k=8) == pytest.approx(1205 / 1344, abs=1e-12)


def test_golden_cut_short_lists() -> None:
    assert measure("ADR(short=cut)")(LETTERS, list("BCA")) == pytest.approx(5 / 6, abs=1e-12)
    assert measure("ADR(short=cut)")(LETTERS, []) == 0


def test_golden_query_in_its_own_list() -> None:
    ranking = [0, 2, 3, 1, 5, 7]
    assert average_dynamic_recall(TWO, ranking, query=0) == pytest.approx(0.86, abs=1e-12)
    assert average_dynamic_recall(TWO, ranking) == pytest.approx(163 / 300, abs=1e-12)
    assert average_dynamic_recall(TWO, [2, 3, 1, 5, 7], query=2) == pytest.approx(0.86, abs=1e-12)
    assert average_dynamic_recall(TWO, [0, 2, 0, 3, 1, 5, 7], query=0) == pytest.approx(0.86, abs=1e-12)
    scores = {id: -float(place) for place, id in enumerate(ranking)}
    assert average_dynamic_recall(TWO, scores, query=0) == pytest.approx(0.86, abs=1e-12)
    assert [row.document for row in steps(TWO, ranking, query=0)] == [2, 3, 1, 5, 7]


def test_golden_tie_break() -> None:
    """Section 4 of paper 000: the lists <4,3,1,1> and <3,4,1,1> against the inverted truth."""
    assert adr_tie_break(FOUR, [4, 3, 5, 6]) == pytest.approx(41 / 48, abs=1e-12)
    assert adr_tie_break(FOUR, [3, 4, 5, 6]) == pytest.approx(29 / 48, abs=1e-12)
    assert adr_tie_break(FOUR, [1, 4, 3, 2]) == pytest.approx(19 / 48, abs=1e-12)
    assert adr_tie_break(FOUR, [1, 3, 4, 2]) == pytest.approx(13 / 24, abs=1e-12)
    assert (inversions(FOUR, [1, 4, 3, 2]), inversions(FOUR, [1, 3, 4, 2])) == (3, 2)


BRUTE_FORCE = [
    (FOUR, (120, 48, 0, 72, 120)),
    ([[1], [2, 3], [4]], (96, 0, 24, 72, 96)),
    ([[1, 2], [3, 4]], (48, 0, 24, 24, 48)),
    ([[1], [2], [3], [4], [5]], (1800, 540, 240, 1020, 1800)),
    ([[1, 2], [3], [4, 5]], (1080, 298, 182, 600, 1080)),
]


@pytest.mark.parametrize(("groups", "expected"), BRUTE_FORCE, ids=str)
def test_golden_tie_break_by_brute_force(groups: Groups, expected: tuple[int, ...]) -> None:
    """All lists of n documents, two of them strangers; each pair that differs by one swap and has equal ADR."""
    assert tie_break_counts(groups) == expected


def tie_break_counts(groups: Groups) -> tuple[int, int, int, int, int]:
    """(ADR ties, tie-break right, equal, reversed, inversion count right)."""
    number = {id: k for k, group in enumerate(groups) for id in group}
    ties = right = equal = wrong = sound = 0
    values = {}
    for ranking in permutations([*number, "x", "y"], len(number)):
        values[ranking] = (
            average_dynamic_recall(groups, ranking),
            adr_tie_break(groups, ranking),
            inversions(groups, ranking),
        )
    for ranking, (adr, key, count) in values.items():
        for i in range(len(ranking)):
            for j in range(i + 1, len(ranking)):
                if number.get(ranking[i], -1) > number.get(ranking[j], 99):
                    swapped = list(ranking)
                    swapped[i], swapped[j] = swapped[j], swapped[i]
                    better_adr, better_key, better_count = values[tuple(swapped)]
                    if math.isclose(adr, better_adr, abs_tol=1e-12):
                        ties += 1
                        is_equal = math.isclose(key, better_key, abs_tol=1e-12)
                        equal += is_equal
                        right += not is_equal and better_key < key
                        wrong += not is_equal and better_key > key
                        sound += better_count < count
    return ties, right, equal, wrong, sound


# -- properties -------------------------------------------------------------------------------------------------------


@st.composite
def truth_and_ranking(draw: st.DrawFn) -> tuple[Groups, list[int]]:
    ids = draw(st.permutations(range(12)))
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    groups, start = [], 0
    for size in sizes:
        if ids[start : start + size]:
            groups.append(list(ids[start : start + size]))
        start += size
    return groups, draw(st.lists(st.integers(0, 20), max_size=20))


@given(truth_and_ranking())
def test_equal_to_the_formula(case: tuple[Groups, list[int]]) -> None:
    groups, ranking = case
    assert average_dynamic_recall(groups, ranking) == pytest.approx(float(literal(groups, ranking)), abs=1e-12)


@given(truth_and_ranking())
def test_between_nothing_and_one(case: tuple[Groups, list[int]]) -> None:
    assert 0.0 <= average_dynamic_recall(*case) <= 1.0


@given(truth_and_ranking(), st.randoms(use_true_random=False))
def test_an_ideal_list_is_worth_one(case: tuple[Groups, list[int]], chance: random.Random) -> None:
    groups, rest = case
    ideal = [id for group in groups for id in chance.sample(group, len(group))]
    assert average_dynamic_recall(groups, ideal + rest) == 1.0


@given(truth_and_ranking(), st.randoms(use_true_random=False))
def test_the_order_inside_a_group_says_nothing(case: tuple[Groups, list[int]], chance: random.Random) -> None:
    groups, ranking = case
    shuffled = [chance.sample(group, len(group)) for group in groups]
    renamed = {a: b for group, other in zip(groups, shuffled, strict=True) for a, b in zip(group, other, strict=True)}
    value = average_dynamic_recall(groups, ranking)
    assert average_dynamic_recall(shuffled, ranking) == value
    assert average_dynamic_recall(groups, [renamed.get(id, id) for id in ranking]) == value


@given(truth_and_ranking(), st.integers(0, 20))
def test_a_false_positive_never_helps(case: tuple[Groups, list[int]], place: int) -> None:
    groups, ranking = case
    worse = [*ranking[:place], "stranger", *ranking[place:]]
    assert average_dynamic_recall(groups, worse) <= average_dynamic_recall(groups, ranking) + 1e-15


@given(truth_and_ranking(), st.integers(1, 20))
def test_the_mean_of_the_curve(case: tuple[Groups, list[int]], k: int) -> None:
    groups, ranking = case
    curve = dynamic_recall(groups, ranking, k)
    assert len(curve) == k
    assert average_dynamic_recall(groups, ranking, k) == pytest.approx(curve.mean(), abs=1e-12)
    if ranking:
        rows = steps(groups, ranking)
        assert rows[-1].adr == pytest.approx(average_dynamic_recall(groups, ranking, len(ranking)), abs=1e-12)


@given(truth_and_ranking())
def test_recall_at_group_boundaries(case: tuple[Groups, list[int]]) -> None:
    groups, ranking = case
    ends = [sum(map(len, groups[: k + 1])) for k in range(len(groups))]
    shares = [len(set(ranking[:end]) & {id for g in groups[: k + 1] for id in g}) / end for k, end in enumerate(ends)]
    assert normalised_recall_at_group_boundaries(groups, ranking) == pytest.approx(sum(shares) / len(shares))


@given(truth_and_ranking())
def test_inversions_are_pairs_in_the_wrong_order(case: tuple[Groups, list[int]]) -> None:
    groups, ranking = case
    number = {id: k for k, group in enumerate(groups) for id in group}
    seen = [number[id] for id in dict.fromkeys(ranking[: len(number)]) if id in number]
    expected = sum(a > b for i, a in enumerate(seen) for b in seen[i + 1 :])
    assert inversions(groups, ranking) == expected


# -- degenerate input -------------------------------------------------------------------------------------------------


def test_an_empty_truth_has_no_value() -> None:
    with pytest.warns(EmptyTruthWarning, match="1 of 1 queries have no relevant document; their ADR is NaN"):
        assert math.isnan(average_dynamic_recall([], [1, 2]))
    assert dynamic_recall([], [1, 2]).tolist() == []
    with pytest.warns(EmptyTruthWarning):
        assert math.isnan(adr_tie_break([], [1, 2]))
    assert steps([[1]], []) == []


@pytest.mark.parametrize(
    ("groups", "ranking", "message"),
    [
        ([[1], []], [1], "group 2 is empty; every group must hold at least one id"),
        ([[1], [2, 1]], [1], "1 is in the truth twice; an id must be in one group only"),
        (["ab"], ["a"], "a group must be a list of ids; got 'ab'"),
        ([1, 2], [1], "a group must be a list of ids; got 1"),
        ("ab", ["a"], "the truth must be a list of groups of ids; got a text"),
        ([[1]], "1", "a ranking must be a list of ids; got the text '1'"),
        ([[1]], {1: math.nan}, "the score of 1 is NaN"),
        ([[1]], {1: "x"}, "every score must be a number"),
    ],
)
def test_bad_input(groups: Any, ranking: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        average_dynamic_recall(groups, ranking)


@pytest.mark.parametrize("k", [0, -1, 2.5, True])
def test_bad_cutoffs(k: Any) -> None:
    with pytest.raises(ArgumentError, match="ADR: k must be a whole number, at least 1"):
        average_dynamic_recall(TWO, [1], k=k)
