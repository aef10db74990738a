"""Editing distances with adjustable costs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin.errors import FilterError
from roslin.represent.edits import EditCosts, edit_distance, edit_distance_from, parse_costs

CONTOURS = st.text("UDR", max_size=12)
PRICES = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0])
COSTS = st.builds(
    EditCosts,
    insertion=PRICES,
    deletion=PRICES,
    replacement=PRICES,
    pairs=st.lists(st.tuples(st.sampled_from(["UD", "DU", "UR", "RU"]), PRICES), max_size=3).map(tuple),
)


def slow_distance(query: str, candidate: str, costs: EditCosts) -> float:
    """A second route: the table of the textbook."""
    pairs = dict(costs.pairs)
    table = [[j * costs.insertion for j in range(len(candidate) + 1)]]
    for i, old in enumerate(query, start=1):
        table.append([i * costs.deletion])
        for j, new in enumerate(candidate, start=1):
            replaced = 0.0 if old == new else pairs.get(old + new, costs.replacement)
            choices = (
                table[i - 1][j] + costs.deletion,
                table[i][j - 1] + costs.insertion,
                table[i - 1][j - 1] + replaced,
            )
            table[i].append(min(choices))
    return table[-1][-1]


def test_plain_costs_give_the_usual_distance() -> None:
    assert edit_distance("KITTEN", "SITTING") == 3
    assert edit_distance("", "") == 0
    assert edit_distance("", "UDR") == 3
    assert edit_distance("UDR", "") == 3


def test_the_direction_is_from_query_to_candidate() -> None:
    costs = EditCosts(insertion=0.5, deletion=2.0)
    assert edit_distance("UU", "UUD", costs) == 0.5
    assert edit_distance("UUD", "UU", costs) == 2.0


def test_a_pair_can_have_its_own_cost() -> None:
    dear = EditCosts(insertion=5, deletion=5, pairs=(("UD", 3.0), ("DU", 2.0)))
    assert edit_distance("U", "D", dear) == 3
    assert edit_distance("D", "U", dear) == 2
    assert edit_distance("U", "R", dear) == 1


@pytest.mark.long
@given(CONTOURS, CONTOURS, COSTS)
@settings(max_examples=200)
def test_the_kernel_agrees_with_the_textbook(query: str, candidate: str, costs: EditCosts) -> None:
    assert edit_distance(query, candidate, costs) == pytest.approx(slow_distance(query, candidate, costs))


@given(CONTOURS, CONTOURS, PRICES, PRICES)
def test_symmetric_costs_give_a_symmetric_distance(a: str, b: str, gap: float, replacement: float) -> None:
    costs = EditCosts(gap, gap, replacement)
    assert edit_distance(a, b, costs) == pytest.approx(edit_distance(b, a, costs))
    assert edit_distance(a, a, costs) == 0


@given(CONTOURS, CONTOURS, CONTOURS)
def test_triangle_inequality(a: str, b: str, c: str) -> None:
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)


def test_one_query_many_candidates() -> None:
    distance = edit_distance_from("UUD")
    assert [distance(candidate) for candidate in ("UUD", "UU", "RRR")] == [0, 1, 3]


def test_costs_as_words() -> None:
    assert str(EditCosts(1, 2, 0.5, (("UD", 3),))) == "insertion 1, deletion 2, replacement 0.5, U by D 3"


@pytest.mark.parametrize("bad", [-1, float("nan"), float("inf"), "1", None])
def test_costs_must_be_numbers_from_zero(bad: float) -> None:
    with pytest.raises(FilterError, match="the cost of deletion must be a finite number, at least 0; got"):
        EditCosts(deletion=bad)
    with pytest.raises(FilterError, match="the cost of UD must be a finite number, at least 0; got"):
        EditCosts(pairs=(("UD", bad),))


@pytest.mark.parametrize("letters", ["U", "UDR", "UU", "Ué"])
def test_pairs_name_two_letters(letters: str) -> None:
    with pytest.raises(FilterError, match="pairs must name two different letters, such as 'UD'; got"):
        EditCosts(pairs=((letters, 1.0),))


def test_strings_must_be_letters() -> None:
    with pytest.raises(FilterError, match="editing distances need strings of ASCII letters; got 'é'"):
        edit_distance("U", "é")


def test_costs_as_they_are_typed() -> None:
    assert parse_costs("") == EditCosts()
    assert parse_costs("insertion=0.5,deletion=2 replacement=3") == EditCosts(0.5, 2, 3)
    assert parse_costs("UD=2 DU=1.5, L==3 =S=4").pairs == (("UD", 2.0), ("DU", 1.5), ("L=", 3.0), ("=S", 4.0))
    for text, message in (
        ("insertion", "costs must be NAME=NUMBER, such as insertion=0.5 or UD=2; got 'insertion'"),
        ("UL=1", "costs must be those of insertion, deletion, replacement, two of U, D, R or two of L, S, =; got 'UL'"),
        ("=1", "two of L, S, =; got ''"),
        ("UU=1", "pairs must name two different letters, such as 'UD'; got 'UU'"),
        ("insertion=-1", "the cost of insertion must be a finite number, at least 0; got -1.0"),
    ):
        with pytest.raises(FilterError, match=message):
            parse_costs(text)
