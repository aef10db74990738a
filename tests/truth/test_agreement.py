"""Agreement, outliers, attention, shuffled rankings, simulated experts."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth import Truth
from roslin.truth.grouping import SIX_FUNCTIONS, Method, groups_of
from roslin.truth.rankings import (
    QueryRankings,
    Rankings,
    as_rankings,
    attention,
    attentive,
    careless,
    experts,
    kendall_w,
    krippendorff_alpha,
)
from roslin.truth.simulate import MODELS, simulate_rankings
from roslin.truth.study import count_groups, null_groups
from roslin.types import Floats


def ranked(ranks: object) -> QueryRankings:
    table: Floats = np.array(ranks, dtype=float)
    people, items = table.shape
    return QueryRankings("q", tuple(f"e{k}" for k in range(people)), tuple(f"d{k}" for k in range(items)), table)


def test_kendalls_w_is_friedmans_statistic() -> None:
    chance = np.random.default_rng(1)
    for ranks in (chance.permuted(np.tile(np.arange(1.0, 8), (9, 1)), axis=1), chance.integers(1, 5, (6, 8))):
        friedman = stats.friedmanchisquare(*np.asarray(ranks).T).statistic
        people, items = ranks.shape
        assert kendall_w(ranked(ranks)) == pytest.approx(friedman / (people * (items - 1)))


def test_kendalls_w_of_perfect_none_and_nothing() -> None:
    assert kendall_w(ranked([[1, 2, 3]] * 4)) == 1
    assert kendall_w(ranked([[1, 2], [2, 1]])) == 0
    left_out = ranked([[1, 2, np.nan, np.nan]] * 3)
    assert kendall_w(left_out) == 1  # those left out share the last places
    assert np.isnan(kendall_w(ranked([[1, 2, 3]])))
    assert np.isnan(kendall_w(ranked([[1, 1], [1, 1]])))


def test_krippendorffs_alpha_on_a_published_example() -> None:
    """Three observers, fifteen units, many values missing; Wikipedia's example, ordinal 0.807."""
    rows = [
        "* * * * * 3 4 1 2 1 1 3 3 * 3",
        "1 * 2 1 3 3 4 3 * * * * * * *",
        "* * 2 1 3 4 4 * 2 1 1 3 3 * 4",
    ]
    ranks = [[np.nan if cell == "*" else float(cell) for cell in row.split()] for row in rows]
    assert krippendorff_alpha(ranked(ranks)) == pytest.approx(0.807, abs=5e-4)


def test_krippendorffs_alpha_of_perfect_and_nothing() -> None:
    assert krippendorff_alpha(ranked([[1, 2, 3]] * 4)) == 1
    assert np.isnan(krippendorff_alpha(ranked([[1, 1], [1, 1]])))
    assert np.isnan(krippendorff_alpha(ranked([[1, 2]])))
    assert np.isnan(krippendorff_alpha(ranked([[np.nan, np.nan]])))


def test_the_careless_are_the_outliers() -> None:
    careful = simulate_rankings([10] * 6, 20, noise=0.5, seed=1)
    assert [each.expert for each in experts(careful) if each.outlier] == []
    mixed = simulate_rankings([10] * 6, 20, noise=0.5, carelessness=0.15, seed=1)
    ranks = {query: each.ranks for query, each in mixed.items()}
    inversions = [
        sum(int(ranks[q][e, i] > ranks[q][e, j]) for q in ranks for i, j in combinations(range(10), 2))
        for e in range(20)
    ]
    random_order = 6 * 45 / 2
    careless = {name for name, count in zip(mixed.experts, inversions, strict=True) if count > 0.7 * random_order}
    assert len(careless) == 3
    assert {each.expert for each in experts(mixed) if each.outlier} == careless


@pytest.mark.parametrize("candidates", range(2, 7))
def test_a_short_list_has_no_outliers_among_those_who_agree(candidates: int) -> None:
    same = [[*range(1, candidates + 1)]] * 5
    nearly = [*same, [2, 1, *range(3, candidates + 1)]]  # one swaps the first two
    for ranks in (same, nearly):
        found = experts(Rankings([ranked(ranks)]))
        assert found[-1].agreement == pytest.approx(1)
        assert not any(each.outlier for each in found)


def test_who_turns_a_list_round_is_an_outlier_once_it_is_long_enough() -> None:
    def outliers(candidates: int) -> list[str]:
        upright = [*range(1, candidates + 1)]
        return [each.expert for each in experts(Rankings([ranked([upright] * 5 + [upright[::-1]])])) if each.outlier]

    assert [outliers(candidates) for candidates in (2, 3, 4, 8)] == [[], [], ["e5"], ["e5"]]


def test_among_those_who_guess_nobody_is_an_outlier() -> None:
    assert not any(each.outlier for each in experts(simulate_rankings([10] * 6, 20, noise=1.0, seed=3)))


def test_an_expert_who_cannot_be_compared() -> None:
    alone = experts(as_rankings([("q", "ann", "a", 1), ("q", "ann", "b", 2)]))
    assert alone[0].queries == 0
    assert np.isnan(alone[0].agreement)
    assert not alone[0].outlier


def test_attention_check() -> None:
    rows = [("q", "ann", "q", 1), ("q", "ann", "a", 2), ("q", "bob", "q", 2), ("q", "bob", "a", 1)]
    rows += [("q", "cy", "a", 1), ("q", "di", "q", 1), ("q", "di", "a", 1), ("r", "ann", "a", 1)]
    found = {each.expert: (each.passed, each.shown) for each in attention(as_rankings(rows))}
    assert found == {"ann": (1, 1), "bob": (0, 1), "cy": (0, 1), "di": (1, 1)}
    assert attention(as_rankings([("r", "ann", "a", 1)])) == []


def test_who_failed_the_check_is_left_out_of_all_queries_unless_two_thirds_of_the_experts_did() -> None:
    """Three queries with a check and one, r, without: bob failed two of three, cy one of two, di was never checked."""
    first = {"ann": "xyz", "ed": "xyz", "bob": "x", "cy": "x"}
    rows = [("r", name, "a", 1) for name in ("bob", "di")]
    for query in "xyz":
        for name in ("ann", "ed", "bob", *(["cy"] if query != "z" else [])):
            other, itself = (2, 1) if query in first[name] else (1, 2)
            rows += [(query, name, query, itself), (query, name, "other", other)]
    said = as_rankings(rows)
    assert careless(said) == ("bob",)
    left = attentive(said)
    assert {query: each.experts for query, each in left.items()} == {
        "r": ("di",), "x": ("ann", "ed", "cy"), "y": ("ann", "ed", "cy"), "z": ("ann", "ed"),
    }  # fmt: skip
    assert left["y"].column("y").tolist() == [1, 1, 2]
    wrong = [("y", name, id, rank) for name in ("bob", "cy") for id, rank in (("y", 2), ("other", 1))]
    most = as_rankings([("y", "ann", "y", 1), *wrong])
    assert careless(most) == ("bob", "cy")
    assert attentive(most) is most  # then the check may be wrong
    assert attentive(left) is left


@pytest.mark.parametrize("method", SIX_FUNCTIONS, ids=lambda method: method.name)
@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"unranked": "last"},
        {"min_votes": 12},
        {"scope": "list"},
        {"correction": "bh"},
        {"min_votes": 12, "correction": "holm", "alpha": 0.9},
    ],
)
def test_many_lists_are_grouped_as_one(method: Method, extra: dict[str, str]) -> None:
    rankings = simulate_rankings([9] * 12, 15, noise=0.8, dropout=0.4, include_query=False, seed=6)
    full = Method(method.rule, method.tails, **extra)  # type: ignore[arg-type]
    counts = count_groups(np.stack([each.ranks for each in rankings.values()]), full)
    assert counts.tolist() == [len(groups_of(each, full).starts) for each in rankings.values()]
    assert len(set(counts.tolist())) > 1


def test_noise_has_as_many_groups_as_its_shuffles_and_order_has_more() -> None:
    method = Method("any", 1)
    noise = null_groups(simulate_rankings(20, 30, noise=1.0)["q1"], method, shuffles=400)
    assert noise.mean == pytest.approx(5.17, abs=0.3)
    assert noise.p > 0.05
    order = null_groups(simulate_rankings(20, 30, noise=0.6)["q1"], method, shuffles=400)
    assert order.found > 12
    assert order.p == pytest.approx(1 / 401)
    with pytest.raises(ArgumentError, match="shuffles must be at least 1; got 0"):
        null_groups(simulate_rankings(5, 3)["q1"], method, shuffles=0)


# -- simulated experts ------------------------------------------------------------------------------------------------


def share_of_orders(model: str, noise: float) -> dict[tuple[int, ...], float]:
    ranks = simulate_rankings(3, 20_000, model=model, noise=noise, include_query=False)["q1"].ranks
    orders, counts = np.unique(ranks.argsort(axis=1), axis=0, return_counts=True)
    return {tuple(order.tolist()): count / 20_000 for order, count in zip(orders, counts, strict=True)}


@pytest.mark.long
def test_mallows_is_its_definition() -> None:
    weights = {o: 0.6 ** sum(a > b for a, b in combinations(o, 2)) for o in permutations(range(3))}
    found = share_of_orders("mallows", 0.6)
    for order, weight in weights.items():
        assert found[order] == pytest.approx(weight / sum(weights.values()), abs=0.012)


def test_plackett_luce_is_its_definition() -> None:
    strength = [1, 0.6, 0.36]
    found = share_of_orders("plackett-luce", 0.6)
    for order in permutations(range(3)):
        first = strength[order[0]] / sum(strength)
        second = strength[order[1]] / (strength[order[1]] + strength[order[2]])
        assert found[order] == pytest.approx(first * second, abs=0.012)


@pytest.mark.parametrize("model", MODELS)
def test_simulated_experts(model: str) -> None:
    exact = simulate_rankings([4, 6], 5, model=model, noise=0)
    assert np.array_equal(exact["q2"].ranks, np.tile(np.arange(1.0, 7), (5, 1)))
    assert exact["q2"].documents[:2] == ("q2", "q2-d1")
    again = [list(simulate_rankings(9, 8, model=model, dropout=0.3, seed=s).rows()) for s in (1, 1, 2)]
    assert again[0] == again[1] != again[2]
    missing = np.isnan(simulate_rankings(20, 200, model=model, dropout=0.3)["q1"].ranks)
    assert missing.mean() == pytest.approx(0.3, abs=0.02)
    assert not np.isnan(simulate_rankings(4, 50, model=model, dropout=1.0)["q1"].ranks).all(axis=1).any()
    each = simulate_rankings([5, 5], 4, model=model, noise=[0, 1])
    assert kendall_w(each["q1"]) == 1 > kendall_w(each["q2"])
    assert isinstance(each, Rankings)


@pytest.mark.parametrize("model", MODELS)
def test_experts_for_whom_a_truth_holds(model: str) -> None:
    truth = Truth({"x": [["a"], ["b", "c"], ["d"]], "y": [["e", "f"]], "nothing": []}, nonrelevant={"x": ["n"]})
    said = simulate_rankings(truth=truth, experts=400, model=model, noise=0)
    assert list(said) == ["x", "y"]
    assert said["x"].documents == ("a", "b", "c", "d")
    ranks = said["x"].ranks
    assert np.all(ranks[:, 0] == 1)
    assert np.all(ranks[:, 3] == 4)
    assert np.mean(ranks[:, 1] < ranks[:, 2]) == pytest.approx(0.5, abs=0.08)  # nobody prefers b or c
    with pytest.raises(ArgumentError, match="the truth has no groups to draw rankings from"):
        simulate_rankings(truth=Truth({"q": []}))


def test_simulations_that_make_no_sense() -> None:
    for arguments, message in (
        ({"candidates": [3, 4], "queries": 3}, "3 queries, but numbers of candidates for 2"),
        ({"candidates": 0}, "candidates must be at least 1; got 0"),
        ({"experts": 0}, "experts must be at least 1; got 0"),
        ({"noise": 1.5}, "noise must be between 0 and 1; got 1.5"),
        ({"noise": [0.5, 0.5]}, "1 query, but 2 values of noise"),
        ({"seed": -1}, "seed must be 0 or more; got -1"),
        ({"carelessness": -1}, "carelessness must be between 0 and 1; got -1"),
    ):
        with pytest.raises(ArgumentError, match=message):
            simulate_rankings(**arguments)
    with pytest.raises(UnknownNameError, match="unknown model 'guess'; known: mallows, plackett-luce"):
        simulate_rankings(model="guess")
