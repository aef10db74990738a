"""List consistency: Urbano et al. (2010)'s example, then what its text says without numbers, then odd lists."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest

from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth import Truth, group_rankings, list_consistency
from roslin.truth.consistency import ListConsistency, consistency_of_groups
from roslin.truth.grouping import SIX_FUNCTIONS, Method, groups_of
from roslin.truth.model import Groups
from roslin.truth.simulate import simulate_rankings


def of(groups: str, same: str, below: str | None = None) -> ListConsistency:
    """The consistency of groups such as "AB C DEF" where only these pairs do not differ."""
    parts: Groups = tuple(tuple(group) for group in groups.split())
    documents = "".join(groups.split())
    size = len(documents)
    differs = ~np.eye(size, dtype=bool)
    for pair in same.split():
        i, j = map(documents.index, pair)
        differs[i, j] = differs[j, i] = False
    if below is None:
        return consistency_of_groups(parts, differs)
    smaller = np.triu(differs)
    for pair in below.split():  # the second of the list should be the first
        i, j = map(documents.index, pair)
        smaller[i, j], smaller[j, i] = True, False
    return consistency_of_groups(parts, differs, smaller)


def test_the_example_of_paper_004() -> None:
    found = of("AB C DEF", "AB AC DE EF")
    assert Fraction(found.value).limit_denominator(100) == Fraction(43, 50)
    assert [pivot.score for pivot in found.pivots] == [0.5, 1, 1, 0.8, 1]
    assert found.pivots[0].false_negatives == ("C",)
    assert found.pivots[3].false_positives == ("F",)
    assert found.intra == (("D", "F"),)
    assert found.inter == (("A", "C"),)
    assert found.misplaced == ()
    assert found.pairs_in_groups == 4
    assert ("B", "A", "C") in found.triples  # B = A, A = C, but B differs from C
    assert ("D", "E", "F") in found.triples
    assert len(found.triples) == 2


def test_both_errors_at_one_pivot_divide_by_the_union() -> None:
    assert of("ABD C", "AB BD AC").value == pytest.approx(7 / 9)


def test_an_order_that_the_ranks_contradict_counts_with_one_tail_only() -> None:
    two = of("A B C", "")
    assert two.value == 1
    one = of("A B C", "", below="BA")
    assert [pivot.score for pivot in one.pivots] == [1, 0]
    assert one.pivots[1].false_positives == ("A",)
    assert one.misplaced == (("A", "B"),)


def test_triples_of_one_tail() -> None:
    """Urbano et al. (2010), section 3.3: X < Y, Y < Z, but not X < Z."""
    assert of("X Y Z", "XZ", below="").triples == (("X", "Y", "Z"),)


@pytest.mark.parametrize(("groups", "same", "value"), [("A B C D", "", 1), ("ABC", "AB AC BC", 1), ("A", "", 1)])
def test_consistent_lists(groups: str, same: str, value: float) -> None:
    assert of(groups, same).value == value


def test_a_list_that_is_all_wrong() -> None:
    assert of("AB", "").value == 0
    assert of("A B", "AB").value == 0


def test_against_a_second_route() -> None:
    """Sets and loops, straight from the text of section 4.1."""
    chance = np.random.default_rng(4)
    for _ in range(40):
        size = int(chance.integers(2, 9))
        documents = "ABCDEFGHI"[:size]
        groups = "".join(letter + " " * int(chance.random() < 0.4) for letter in documents)
        pairs = ["".join(pair) for pair in combinations(documents, 2)]
        same = [pair for pair in pairs if chance.random() < 0.5]
        parts = groups.split()
        scores = []
        for k, pivot in enumerate(documents[:-1]):
            before = set(documents[:k])
            actual = before | set(next(part for part in parts if pivot in part)) - {pivot}
            correct = before | {pair.replace(pivot, "") for pair in same if pair[0] == pivot}
            scores.append(len(actual & correct) / len(actual | correct) if actual | correct else 1)
        assert of(groups, " ".join(same)).value == pytest.approx(np.mean(scores))


def test_of_rankings() -> None:
    rankings = simulate_rankings([6, 9], 20, noise=0.7, seed=1)
    truth = group_rankings(rankings, "any", 1)
    found = list_consistency(truth, rankings)
    assert list(found) == ["q1", "q2"]
    assert float(found) == found.mean == pytest.approx(np.mean(list(found.values())))
    assert repr(found).startswith("Consistency(ADR-1, 2 queries, mean 0.")
    everything = Truth({query: [[id for group in groups for id in group]] for query, groups in truth.items()})
    assert list_consistency(everything, rankings).mean < found.mean
    assert np.isnan(list_consistency(Truth({}), rankings).mean)


def test_two_tails_find_fewer_differences() -> None:
    rankings = simulate_rankings(12, 15, noise=0.85, seed=3)
    truth = group_rankings(rankings)
    one, two = (list_consistency(truth, rankings, tails=tails).lists["q1"] for tails in (1, 2))
    assert set(two.intra) < set(one.intra)


@pytest.mark.parametrize("tails", [1, 2])
@pytest.mark.parametrize("correction", ["holm", "bh"])
def test_a_correction_is_that_of_the_grouping(correction: str, tails: int) -> None:
    """A list by Prev begins a group exactly where neighbours differ: with the same correction the tests agree."""
    rankings = simulate_rankings(10, 20, noise=0.85, seed=6)
    grouped = groups_of(rankings["q1"], Method("prev", tails, correction=correction))
    truth = Truth({"q1": grouped.groups})
    plain, corrected = (
        list_consistency(truth, rankings, tails, correction=each).lists["q1"] for each in (None, correction)
    )
    neighbours = set(pairwise(grouped.arranged.documents))
    assert neighbours.isdisjoint((*corrected.intra, *corrected.inter))
    assert not neighbours.isdisjoint(plain.intra)  # uncorrected, more pairs differ
    with pytest.raises(UnknownNameError, match="unknown correction 'x'"):
        list_consistency(truth, rankings, correction="x")


def test_a_pair_in_the_wrong_order_is_found_with_a_correction_too() -> None:
    rows = [("q", f"e{n}", id, rank) for n in range(12) for rank, id in enumerate("abc", start=1)]
    turned = list_consistency(Truth({"q": [["c"], ["b"], ["a"]]}), rows, correction="holm").lists["q"]
    assert turned.misplaced == (("c", "b"), ("c", "a"), ("b", "a"))


def test_what_is_not_in_the_rankings() -> None:
    rankings = simulate_rankings(3, 4)
    with pytest.raises(UnknownNameError, match="unknown query 'x'; known: q1"):
        list_consistency(Truth({"x": [["a"]]}), rankings)
    with pytest.raises(UnknownNameError, match="unknown document of query 'q1' 'a'; known: q1, q1-d1, q1-d2"):
        list_consistency(Truth({"q1": [["a"]]}), rankings)
    with pytest.raises(ArgumentError, match=r"differs must have the shape \(1, 1\)"):
        consistency_of_groups((("a",),), np.zeros((2, 2), dtype=bool))


def test_the_findings_of_table_3() -> None:
    """Urbano et al. (2010): All-2 has the largest groups and the least consistency, Any-1 the smallest and the most."""
    rankings = simulate_rankings([12, 10, 4, 9, 8, 11, 13, 16, 6, 6, 23], 30, noise=0.75, dropout=0.3, seed=2)
    sizes, values = {}, {}
    for method in SIX_FUNCTIONS:
        truth = group_rankings(rankings, method.rule, method.tails)
        sizes[method.name] = np.mean([sum(map(len, groups)) / len(groups) for groups in truth.values()])
        values[method.name] = list_consistency(truth, rankings).mean
    assert max(sizes, key=lambda name: sizes[name]) == min(values, key=lambda name: values[name]) == "All-2"
    assert min(sizes, key=lambda name: sizes[name]) == max(values, key=lambda name: values[name]) == "Any-1"
