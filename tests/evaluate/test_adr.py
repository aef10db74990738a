"""Average Dynamic Recall: the papers' numbers, then properties, then a second route, then degenerate input."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roslin.errors import ArgumentError
from roslin.evaluate import (
    EmptyTruthWarning,
    adr_tie_break,
    average_dynamic_recall,
    dynamic_recall,
    evaluate,
    inversions,
    measure,
    normalised_recall_at_group_boundaries,
    steps,
)
from roslin.truth import Truth

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
    """The formula of Typke et al. (2006), section 3, letter by letter, in exact fractions."""
    n = sum(len(group) for group in groups)
    total = Fraction(0)
    for i in range(1, n + 1):
        c = 1
        while sum(len(group) for group in groups[:c]) < i:
            c += 1
        relevant = {id for group in groups[:c] for id in group}
        total += Fraction(len({id for id in ranking[:i] if id in relevant}), i)
    return total / n


def test_the_example_of_the_paper() -> None:
    """The other worked examples are read from their file, in tests/test_golden.py."""
    ranking = [2, 3, 1, 5, 7, 8, 9, 4]
    assert average_dynamic_recall(TWO, ranking) == pytest.approx(0.86, abs=1e-12)
    assert literal(TWO, ranking) == Fraction(43, 50)


def test_the_table_of_paper_002() -> None:
    """Table 3: the running ADR of a list of six; the truth goes on to rank 15, where the ADR of the query stands."""
    rows = steps(ROSLIN_CASTLE, ROSLIN_RESULT)
    assert [row.rank for row in rows] == list(range(1, 16))
    assert [row.found for row in rows] == [1, 2, 3, 4, *[4] * 11]
    assert [row.recall for row in rows][:6] == pytest.approx([1, 1, 1, 1, 0.8, 2 / 3])
    assert [row.adr for row in rows][:6] == pytest.approx([1, 1, 1, 1, 0.96, 41 / 45], abs=1e-12)
    assert [row.group for row in rows] == [1, 2, 2, 3, *[None] * 11]
    assert [row.document for row in rows] == [*ROSLIN_RESULT, *[None] * 9]
    assert rows[-1].adr == pytest.approx(average_dynamic_recall(ROSLIN_CASTLE, ROSLIN_RESULT), abs=1e-12)


def test_steps_know_scores() -> None:
    assert [(s.document, s.score) for s in steps([["a"], ["b"]], {"b": 0.5, "a": 0.7})] == [("a", 0.7), ("b", 0.5)]
    assert [s.score for s in steps([["a"]], ["q", "a", "x"], query="q", scores=[3.0, 2.0, 1.0])] == [2.0, 1.0]
    assert [s.score for s in steps([["a"], ["b"]], ["a"])] == [None, None]
    with pytest.raises(ArgumentError, match="1 scores for 2 ids"):
        steps([["a"]], ["a", "b"], scores=[1.0])


def test_a_list_without_anything() -> None:
    assert [(s.rank, s.document, s.adr) for s in steps([["a"], ["b"]], [])] == [(1, None, 0.0), (2, None, 0.0)]


def test_rankings_in_every_form() -> None:
    scored = {3: -3.0, 1: -1.0, 2: -2.0}
    for ranking in ([1, 2, 3], (1, 2, 3), np.array([1, 2, 3]), scored):
        assert [step.document for step in steps(FOUR, ranking)][:3] == [1, 2, 3]
        assert average_dynamic_recall(FOUR, ranking) == average_dynamic_recall(FOUR, [1, 2, 3])
        assert adr_tie_break(FOUR, ranking) == adr_tie_break(FOUR, [1, 2, 3])
        assert inversions(FOUR, ranking) == 0


def test_cut_short_lists() -> None:
    assert measure("ADR(short=cut)")(LETTERS, list("BCA")) == pytest.approx(5 / 6, abs=1e-12)
    assert measure("ADR(short=cut)")(LETTERS, []) == 0


def test_the_query_in_its_own_list() -> None:
    ranking = [0, 2, 3, 1, 5, 7]
    assert average_dynamic_recall(TWO, ranking, query=0) == pytest.approx(0.86, abs=1e-12)
    assert average_dynamic_recall(TWO, [2, 3, 1, 5, 7], query=2) == pytest.approx(0.86, abs=1e-12)
    assert average_dynamic_recall(TWO, [0, 2, 0, 3, 1, 5, 7], query=0) == pytest.approx(0.86, abs=1e-12)
    scores = {id: -float(place) for place, id in enumerate(ranking)}
    assert average_dynamic_recall(TWO, scores, query=0) == pytest.approx(0.86, abs=1e-12)
    assert [row.document for row in steps(TWO, ranking, query=0)] == [2, 3, 1, 5, 7]
    assert adr_tie_break(TWO, ranking, query=0) == adr_tie_break(TWO, ranking[1:])


def test_a_query_judged_not_relevant_to_itself_is_taken_out_too() -> None:
    """One rule for the table and for the steps, and the query does not count among the documents judged."""
    truth = Truth({"q": [["a"], ["b"]]}, nonrelevant={"q": ["q", "n"]})
    run = {"q": ["q", "a", "n", "b"]}
    result = evaluate(truth, {"mine": run}, ["ADR", "bpref"], same_id="drop")
    assert result.of("mine", "ADR")["q"] == steps(truth["q"], run["q"], query="q")[1].adr == 0.75
    without = evaluate(Truth({"q": [["a"], ["b"]]}, nonrelevant={"q": ["n"]}), {"q": ["a", "n", "b"]}, "bpref")
    assert result.of("mine", "bpref")["q"] == without.of("run", "bpref")["q"]
    alone = measure("bpref")([["a"], ["b"]], run["q"], query="q", nonrelevant=["q", "n"])
    assert alone == without.of("run", "bpref")["q"]


BRUTE_FORCE = [
    (FOUR, (120, 48, 0, 72, 120)),
    ([[1], [2, 3], [4]], (96, 0, 24, 72, 96)),
    ([[1, 2], [3, 4]], (48, 0, 24, 24, 48)),
    ([[1], [2], [3], [4], [5]], (1800, 540, 240, 1020, 1800)),
    ([[1, 2], [3], [4, 5]], (1080, 298, 182, 600, 1080)),
]


@pytest.mark.long
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
    rows = steps(groups, ranking)
    size = sum(map(len, groups))
    assert len(rows) == max(size, len(ranking))
    assert rows[size - 1].adr == pytest.approx(average_dynamic_recall(groups, ranking), abs=1e-12)
    assert rows[-1].adr == pytest.approx(average_dynamic_recall(groups, ranking, len(rows)), abs=1e-12)


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
    with pytest.warns(EmptyTruthWarning, match="their Inversions is NaN"):
        assert math.isnan(inversions([], [1, 2]))
    assert steps([], [1, 2]) == []


def test_a_cutoff_far_beyond_everything() -> None:
    """The mean of 1/1, 1/2 ... 1/k, without an array of that length for every query."""
    k = 1_000_000
    harmonic = math.log(k) + 0.5772156649015329 + 1 / (2 * k)
    assert average_dynamic_recall([[1]], [1], k=k) == pytest.approx(harmonic / k, rel=1e-9)
    with pytest.raises(ArgumentError, match="whole number from 1 to 1000000, or None; got 999999999999"):
        measure("ADR@999999999999")


@pytest.mark.parametrize(
    ("groups", "ranking", "message"),
    [
        ([[1], []], [1], "group 2 is empty; every group must hold at least one id"),
        ([[1], [2, 1]], [1], "1 is in the truth twice; an id must be in one group only"),
        (["ab"], ["a"], "a group must be a list of ids; got 'ab'"),
        ([1, 2], [1], "a group must be a list of ids; got 1"),
        ("ab", ["a"], "the truth must be a list of groups of ids; got a text"),
        (None, [1], "the truth must be a list of groups of ids; got None"),
        ([[[1], [2]]], [1], r"an id must be a text or a number; got \[1\]"),
        ([[1]], "1", "a ranking must be a list of ids; got the text '1'"),
        ([[1]], None, r"a ranking must be a list of ids or \{id: score\}; got None"),
        ([[1]], 3, r"a ranking must be a list of ids or \{id: score\}; got 3"),
        ([[1]], {1, 2}, r"a ranking must be a list of ids or \{id: score\}; got \{1, 2\}"),
        ([[1]], [[1], [2]], r"a ranking must be a list of ids; got \[\[1\], \[2\]\]"),
        ([[1]], {1: math.nan}, "the score of 1 is NaN"),
        ([[1]], {1: "x"}, "every score must be a number"),
    ],
)
def test_bad_input(groups: Any, ranking: Any, message: str) -> None:
    for function in (average_dynamic_recall, steps, adr_tie_break, inversions):
        with pytest.raises(ArgumentError, match=message):
            function(groups, ranking)


def test_cutoffs_of_numpy() -> None:
    assert average_dynamic_recall(TWO, [1, 9], k=np.int64(2)) == 0.75  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "3"])
def test_bad_cutoffs(k: Any) -> None:
    with pytest.raises(ArgumentError, match="ADR: k must be a whole number from 1 to 1000000, or None; got"):
        average_dynamic_recall(TWO, [1], k=k)
