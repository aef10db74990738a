"""The same numbers as pytrec_eval and ir_measures where they share a measure; literal formulas where they do not."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from roslin.errors import ArgumentError
from roslin.evaluate import (
    MEASURES,
    average_overlap,
    compatibility,
    dcg,
    err,
    interpolated_precision,
    kendall_tau,
    lift_curve,
    measure,
    ndcg,
    precision_recall_curve,
    rank_biased_overlap,
    rbp,
    roc_curve,
    tau_ap,
)
from roslin.evaluate.rankings import hits_of, judge
from roslin.truth import Truth

PYTREC = {
    "AP": "map",
    "AP@5": "map_cut_5",
    "nDCG": "ndcg",
    "nDCG@10": "ndcg_cut_10",
    "P@5": "P_5",
    "P": "set_P",
    "R@10": "recall_10",
    "R": "set_recall",
    "F": "set_F",
    "RR": "recip_rank",
    "PND": "Rprec",
    "Success@5": "success_5",
    "bpref": "bpref",
    "TP": "num_rel_ret",
}


def random_case(seed: int, queries: int = 60) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    chance = random.Random(seed)
    qrels, run = {}, {}
    for number in range(queries):
        documents = [f"d{k}" for k in range(80)]
        chance.shuffle(documents)
        judged = documents[: chance.randint(1, 40)]
        qrels[f"q{number}"] = {id: chance.choice([0, 0, 1, 2, 3]) for id in judged}
        qrels[f"q{number}"][judged[0]] = 1
        chance.shuffle(documents)
        # trec_eval reads scores as 32-bit numbers: keep them apart there too.
        run[f"q{number}"] = {id: 1.0 - place / 128 for place, id in enumerate(documents[: chance.randint(1, 70)])}
    return qrels, run


@pytest.mark.parametrize("seed", range(5))
def test_equal_to_pytrec_eval(seed: int) -> None:
    import pytrec_eval

    qrels, run = random_case(seed)
    wanted = {"map", "map_cut.5", "ndcg", "ndcg_cut.10", "P.5", "set_P", "recall.10", "set_recall", "set_F"}
    wanted |= {"recip_rank", "Rprec", "success.5", "bpref", "num_rel_ret"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, wanted).evaluate(run)
    hits = hits_of(judge(Truth.from_relevance(qrels)), run)
    for ours, name in PYTREC.items():
        expected = [theirs[query][name] for query in qrels]
        assert measure(ours).values(hits).tolist() == pytest.approx(expected, abs=1e-12), ours


def test_interpolated_precision_is_that_of_trec_eval() -> None:
    import pytrec_eval

    qrels, run = random_case(7)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"iprec_at_recall"})
    compared = 0
    for query, values in evaluator.evaluate(run).items():
        groups = Truth.from_relevance(qrels)[query]
        relevant = sum(map(len, groups))
        ours = interpolated_precision(groups, list(run[query]))[1]
        for level in range(11):
            # trec_eval looks for int(recall * R + 0.9) hits: for 0.7 of 3 that is 2, by an error of rounding.
            if int(level / 10 * relevant + 0.9) == math.ceil(level * relevant / 10):
                compared += 1
                assert ours[level] == pytest.approx(values[f"iprec_at_recall_{level / 10:.2f}"], abs=1e-12)
    assert compared > 600


@pytest.mark.parametrize("p", [0.8, 0.95])
def test_compatibility_is_that_of_ir_measures(p: float) -> None:
    import ir_measures
    from ir_measures import Compat

    qrels, run = random_case(3)
    hits = hits_of(judge(Truth.from_relevance(qrels)), run)
    for normalise in (True, False):
        theirs = {m.query_id: m.value for m in ir_measures.iter_calc([Compat(p=p, normalize=normalise)], qrels, run)}
        ours = measure(f"Compat(p={p}, normalise={normalise})").values(hits)
        assert ours.tolist() == pytest.approx([theirs[query] for query in qrels], abs=1e-12)


# -- literal formulas -------------------------------------------------------------------------------------------------


def cases() -> Iterator[tuple[list[list[str]], list[float], list[str]]]:
    qrels, run = random_case(11, 30)
    truth = Truth.from_relevance(qrels)
    for query in truth:
        yield [list(group) for group in truth[query]], list(truth.gains(query)), list(run[query])


def test_err_and_rbp() -> None:
    for groups, gains, ranking in cases():
        gain = {id: g for group, g in zip(groups, gains, strict=True) for id in group}
        going_on, expected, biased = 1.0, 0.0, 0.0
        for rank, id in enumerate(ranking, start=1):
            satisfied = (2 ** gain.get(id, 0) - 1) / 2 ** max(gains)
            expected += going_on * satisfied / rank
            going_on *= 1 - satisfied
            biased += (1 - 0.7) * 0.7 ** (rank - 1) * (id in gain)
        assert err(groups, ranking, gains=gains) == pytest.approx(expected, abs=1e-12)
        assert rbp(groups, ranking, p=0.7) == pytest.approx(biased, abs=1e-12)
    assert err([["a"]], ["x", "a"], k=1) == 0
    assert err([["a"]], ["a"], top=4) == pytest.approx(1 / 16)
    with pytest.raises(ArgumentError, match="above the top"):
        err([["a"], ["b"]], ["a"], top=1)


def test_cumulated_gain_with_every_discount() -> None:
    for groups, gains, ranking in cases():
        gain = {id: g for group, g in zip(groups, gains, strict=True) for id in group}
        pairs = [(rank, gain.get(id, 0)) for rank, id in enumerate(ranking, start=1)]
        ours = dcg(groups, ranking, gains=gains, gain="exp")
        assert ours == pytest.approx(sum((2**g - 1) / math.log2(rank + 1) for rank, g in pairs), abs=1e-10)
        jarvelin = sum(g / (math.log(rank, 3) if rank > 3 else 1) for rank, g in pairs)
        assert dcg(groups, ranking, gains=gains, discount="jarvelin", base=3) == pytest.approx(jarvelin, abs=1e-10)
        serra = sum((g > 0) / (math.log(rank) if rank > 1 else 1) for rank, g in pairs)
        assert dcg(groups, ranking, gain="binary", discount="serra") == pytest.approx(serra, abs=1e-10)


def test_the_logarithm_decides_which_list_is_better() -> None:
    """Typke et al. (2006), section 4: with log2 the first list has the better nDCG, with log3 the second."""
    groups, first, second = DISCOUNT_EXAMPLE
    by_two = [ndcg(groups, ranking, discount="jarvelin", base=2) for ranking in (first, second)]
    by_three = [ndcg(groups, ranking, discount="jarvelin", base=3) for ranking in (first, second)]
    assert by_two[0] > by_two[1] + 0.01
    assert by_three[1] > by_three[0] + 0.01
    # The usual 1 / log(rank + 1) cannot do this: its base cancels out.
    for ranking in (first, second):
        assert ndcg(groups, ranking, base=2) == pytest.approx(ndcg(groups, ranking, base=3), abs=1e-12)


DISCOUNT_EXAMPLE: tuple[list[list[str]], list[str], list[str]] = (
    [["a", "b"]],
    ["a", "u", "v", "w", "x", "y", "b"],
    ["u", "v", "a", "b", "w", "x", "y"],
)


def orders(groups: list[list[Any]]) -> Iterator[list[Any]]:
    """Every list that keeps the order of the groups."""
    if not groups:
        yield []
        return
    for head in permutations(groups[0]):
        for tail in orders(groups[1:]):
            yield [*head, *tail]


SMALL_CASES = [
    ([[1], [2, 3]], [2, 3, 1]),
    ([[1, 2], [3, 4]], [4, 9, 1, 2, 3]),
    ([[1, 2, 3], [4]], [8, 3, 4, 1, 7, 2]),
    ([[1], [2], [3]], [3, 2, 1]),
    ([[1, 2], [3, 4, 5]], [3, 1]),
    ([[1, 2, 3, 4]], [9]),
]


@pytest.mark.parametrize(("groups", "ranking"), SMALL_CASES)
def test_overlap_is_the_mean_over_all_orders_of_the_ties(groups: list[list[int]], ranking: list[int]) -> None:
    n = sum(map(len, groups))
    overlaps = [np.mean([len({*ideal[:d]} & {*ranking[:d]}) / d for d in range(1, n + 1)]) for ideal in orders(groups)]
    assert average_overlap(groups, ranking) == pytest.approx(np.mean(overlaps), abs=1e-12)
    biased = [rank_biased_overlap([[id] for id in ideal], ranking, p=0.8) for ideal in orders(groups)]
    assert rank_biased_overlap(groups, ranking, p=0.8) == pytest.approx(np.mean(biased), abs=1e-12)


@pytest.mark.parametrize(("groups", "ranking"), SMALL_CASES)
def test_compatibility_is_with_the_nearest_ideal_list(groups: list[list[int]], ranking: list[int]) -> None:
    def plain(one: list[int], other: list[int], p: float = 0.95) -> float:
        depth = max(len(ranking), sum(map(len, groups)))
        return sum(p ** (d - 1) * len({*one[:d]} & {*other[:d]}) / d for d in range(1, depth + 1))

    expected = max(plain(ranking, ideal) / plain(ideal, ideal) for ideal in orders(groups))
    assert compatibility(groups, ranking) == pytest.approx(expected, abs=1e-12)


def test_rank_biased_overlap_of_plain_lists() -> None:
    """Webber et al. 2010, by adding up far more terms of the infinite sum than matter."""
    one, other, p = list("abcde"), list("bacfg"), 0.7
    agreement = [len({*one[:d]} & {*other[:d]}) / d for d in range(1, 6)]
    total = sum((1 - p) * p ** (d - 1) * agreement[min(d, 5) - 1] for d in range(1, 400))
    assert rank_biased_overlap([[id] for id in one], other, p=p) == pytest.approx(total, abs=1e-12)
    assert rank_biased_overlap([["a"]], []) == 0.0


def tie_aware_overlap(groups: list[list[int]], ranking: list[int], p: float, ties: str) -> float:
    """RBO of Corsi & Urbano 2024 from a matrix of what each item counts at each depth, for two lists with ties."""

    def counts(ranks: list[list[int]]) -> dict[int, list[float]]:
        found, before = {}, 0
        for tie in ranks:
            due = [min(1.0, max(0.0, (d - before) / len(tie))) for d in range(1, long + 1)]
            found.update(dict.fromkeys(tie, [float(c > 0) for c in due] if ties == "w" else due))
            before += len(tie)
        return found

    lists = sorted((groups, [[id] for id in ranking]), key=lambda each: sum(map(len, each)))
    short, long = (sum(map(len, each)) for each in lists)
    one, other = map(counts, lists)
    total = at_end = overlap = 0.0
    for d in range(long):
        overlap = assumed = sum(one[id][d] * other[id][d] for id in one.keys() & other.keys())
        shown, seen = [c[d] for c in one.values()], [c[d] for c in other.values()]
        if d >= short:
            beyond = [other[id][d] for id in other.keys() - one.keys() if other[id][d]]
            assumed += at_end * (d + 1 - short) * sum(beyond) / len(beyond)
            shown = [1.0] * (d + 1)
        root = math.sqrt(sum(c * c for c in shown) * sum(c * c for c in seen))
        agreement = assumed / (root if ties == "b" else (sum(shown) + sum(seen)) / 2)
        at_end = agreement if d < short else at_end
        total += (1 - p) * p**d * agreement
    return total + p**long * (overlap + at_end * (long - short)) / long


@pytest.mark.parametrize("ties", ["b", "w"])
def test_rank_biased_overlap_with_ties_is_that_of_corsi_and_urbano(ties: str) -> None:
    chance = random.Random(17)
    for _ in range(200):
        ids = chance.sample(range(9), chance.randint(1, 9))
        groups = [ids[k : k + 3] for k in range(0, len(ids), 3)]
        ranking = chance.sample(range(12), chance.randint(1, 12))
        expected = tie_aware_overlap(groups, ranking, 0.8, ties)
        assert rank_biased_overlap(groups, ranking, p=0.8, ties=ties) == pytest.approx(expected, abs=1e-12)
        assert 0 <= expected <= 1 + 1e-12


def test_without_ties_the_views_of_ties_agree() -> None:
    groups, ranking = [[3], [1], [2], [5]], [1, 9, 3, 4, 2, 8]
    for cut in (2, 4, 6):
        values = [rank_biased_overlap(groups, ranking[:cut], ties=ties) for ties in "abw"]
        assert values == pytest.approx(values[:1] * 3, abs=1e-12)


def test_overlap_with_other_views_of_ties() -> None:
    groups, ranking = [[1, 2]], [1, 2]
    assert average_overlap(groups, ranking) == pytest.approx((1 / 2 + 1) / 2)
    # w: the whole group is in at depth 1: 2 * 1 / (2 + 1); b: 1/2 / (sqrt(1/4 + 1/4) * 1).
    assert average_overlap(groups, ranking, ties="w") == pytest.approx((2 / 3 + 1) / 2)
    assert average_overlap(groups, ranking, ties="b") == pytest.approx((math.sqrt(1 / 2) + 1) / 2)
    for ties in "abw":
        assert average_overlap([[1], [2]], [1, 2], ties=ties) == pytest.approx(1.0)


# -- between runs -----------------------------------------------------------------------------------------------------


def test_kendall_with_ties_is_that_of_scipy() -> None:
    from scipy.stats import kendalltau

    chance = np.random.default_rng(5)
    for _ in range(20):
        x, y = chance.integers(0, 5, 9), chance.integers(0, 5, 9)
        ours = kendall_tau(dict(enumerate(x.tolist())), dict(enumerate(y.tolist())))  # type: ignore[arg-type]
        assert ours == pytest.approx(kendalltau(x, y).statistic)
    assert math.isnan(kendall_tau({"a": 1, "b": 1}, {"a": 1, "b": 2}))
    assert kendall_tau({"a": 1, "b": 1, "c": 2}, {"a": 1, "b": 2, "c": 3}, variant="a") == pytest.approx(2 / 3)


def test_tau_ap_weighs_the_top() -> None:
    truth = {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}
    top_swapped = {"a": 3.0, "b": 4.0, "c": 2.0, "d": 1.0}
    bottom_swapped = {"a": 4.0, "b": 3.0, "c": 1.0, "d": 2.0}
    assert tau_ap(truth, truth) == 1.0
    assert tau_ap(truth, {id: -value for id, value in truth.items()}) == -1.0
    assert kendall_tau(truth, top_swapped) == kendall_tau(truth, bottom_swapped)
    assert tau_ap(truth, top_swapped) == pytest.approx(2 / 3 * (0 + 1 + 1) - 1)
    assert tau_ap(truth, bottom_swapped) == pytest.approx(2 / 3 * (1 + 1 + 2 / 3) - 1)
    assert math.isnan(tau_ap({"a": 1}, {"a": 2}))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tau_ap({"a": 1, "b": 1}, {"a": 1, "b": 2}), "not defined for runs with equal values"),
        (lambda: kendall_tau({"a": 1}, {"b": 1}), "only one has a, b"),
        (lambda: kendall_tau({"a": math.nan}, {"a": 1}), "a value is NaN"),
        (lambda: kendall_tau({"a": 1}, {"a": 1}, variant="c"), "variant must be 'a' or 'b'"),
    ],
)
def test_bad_correlations(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()


# -- curves -----------------------------------------------------------------------------------------------------------


def test_curves() -> None:
    groups, ranking = [["a"], ["b", "c"]], ["x", "a", "b", "y"]
    recall, precision = precision_recall_curve(groups, ranking)
    assert recall.tolist() == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3])
    assert precision.tolist() == pytest.approx([0, 1 / 2, 2 / 3, 1 / 2])
    fallout, sensitivity = roc_curve(groups, ranking, size=7)
    assert fallout.tolist() == pytest.approx([0, 1 / 4, 1 / 4, 1 / 4, 2 / 4, 1])
    assert sensitivity.tolist() == pytest.approx([0, 0, 1 / 3, 2 / 3, 2 / 3, 1])
    seen, found = lift_curve(groups, ranking)
    assert (seen.tolist(), found.tolist()) == ([0, 1, 2, 3, 4], [0, 0, 1, 2, 2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: roc_curve([["a"]], ["x", "y"], size=2), "size must be that of the whole collection; got 2"),
        (lambda: lift_curve([], ["x"]), "a curve needs a truth with at least one document"),
        (lambda: interpolated_precision([["a"]], ["a"], levels=1), "levels must be at least 2"),
        (lambda: measure("TN")([["a"]], ["a"]), "TN needs the size of the collection, as in TN"),
        (lambda: measure("TN(size=1)")([["a"]], ["x"]), "hold more than 1 documents"),
    ],
)
def test_bad_curves(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()


# -- one answer from every form of input ------------------------------------------------------------------------------


def test_scores_and_lists_give_the_same() -> None:
    qrels, run = random_case(21)
    named = hits_of(judge(Truth.from_relevance(qrels)), run)
    listed = hits_of(judge(Truth.from_relevance(qrels)), {query: list(ranking) for query, ranking in run.items()})
    for name, cls in MEASURES.items():
        chosen = cls(size=200) if "size" in cls.__dataclass_fields__ else cls()  # type: ignore[call-arg]
        assert chosen.values(listed).tolist() == chosen.values(named).tolist(), name


def test_a_gain_below_0_is_not_judged() -> None:
    """As in TREC qrels: it is neither relevant nor judged not relevant."""
    hits = hits_of(judge(Truth.from_relevance({"q": {"0": 1, "1": -1, "2": 0}})), {"q": ["1", "2", "0"]})
    assert (hits.nonrelevant.tolist(), hits.nonrelevant_before.tolist()) == ([1], [1])


def test_ties_keep_the_order_of_the_run() -> None:
    groups = [["b"]]
    assert measure("RR")(groups, {"a": 1.0, "b": 1.0, "c": 1.0}) == 0.5
    assert measure("RR")(groups, {"b": 1.0, "a": 1.0, "c": 2.0}) == 0.5
