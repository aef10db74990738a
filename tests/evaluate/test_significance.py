"""How sure means and differences are: known numbers from scipy, then what must hold for any data."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

from roslin.errors import ArgumentError, UnknownNameError
from roslin.evaluate import (
    MEASURES,
    EmptyTruthWarning,
    benjamini_hochberg,
    evaluate,
    holm,
    mean_intervals,
    measure,
    reach,
)
from roslin.evaluate.exchanges import exchange_p, pair_tests, smallest_p, student_p
from roslin.evaluate.significance import (
    Comparison,
    bootstrap_intervals,
    compare,
    effect_size,
    minimum_detectable_difference,
    needed_queries,
    permutation_test,
)
from roslin.evaluate.tables import comparisons
from roslin.truth import Truth
from roslin.types import Floats

# -- means ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("found", "n"), [(0, 5), (3, 5), (11, 11), (7, 30), (99, 100)])
def test_yes_and_no_have_the_interval_of_wilson(found: int, n: int) -> None:
    from scipy.stats import binomtest

    for level in (0.9, 0.95):
        theirs = binomtest(found, n).proportion_ci(level, method="wilson")
        ours = mean_intervals(np.repeat([1.0, 0.0], [found, n - found]), level)
        assert ours.tolist() == pytest.approx([theirs.low, theirs.high], abs=1e-12)


def test_means_without_limit_have_the_interval_of_student() -> None:
    from scipy.stats import ttest_1samp

    values = np.array([3.0, 0.0, 7.0, 2.0, 2.0])
    theirs = ttest_1samp(values, 0).confidence_interval(0.9)
    assert mean_intervals(values, 0.9, np.inf).tolist() == pytest.approx([theirs.low, theirs.high])
    assert mean_intervals(values, 0.9).tolist() == pytest.approx([theirs.low, theirs.high]), "7 is above the limit of 1"


def test_the_ends_of_an_interval_solve_its_equation() -> None:
    from scipy.stats import t

    values = np.random.default_rng(4).beta(4, 1, (3, 11))
    for row, ends in zip(values, mean_intervals(values), strict=True):
        mean, n = row.mean(), len(row)
        narrower = (row.var() * n / (mean * (1 - mean)) + 1) / n
        for end in ends:
            assert (mean - end) ** 2 == pytest.approx(t.ppf(0.975, n - 1) ** 2 * narrower * end * (1 - end) / n)


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n", [2, 5, 11, 300])
def test_equal_values_are_not_certain(value: float, n: int) -> None:
    low, high = mean_intervals(np.full(n, value))
    assert 0 <= low <= value <= high <= 1
    assert high - low > 1 / n, "one query of another kind in n would go unseen often"


def test_intervals_hold_the_mean_as_often_as_they_say() -> None:
    chance = np.random.default_rng(3)
    for n in (5, 11, 40):
        graded, answers = mean_intervals(chance.beta(2, 3, (800, n))), mean_intervals(chance.binomial(1, 0.4, (800, n)))
        for ends in (graded, answers):
            assert np.mean((ends[:, 0] <= 0.4) & (ends[:, 1] >= 0.4)) >= 0.93


def test_intervals_of_little() -> None:
    assert np.isnan(mean_intervals([0.3])).all()
    assert np.isnan(mean_intervals(np.ones((2, 3, 0)))).all()
    assert np.isnan(mean_intervals([2.0, 2.0], upper=np.inf)).all()
    assert mean_intervals(np.ones((2, 3, 4)), upper=[1.0, 1.0, np.inf]).shape == (2, 3, 2)
    with pytest.raises(ArgumentError, match="level must be between 0 and 1; got 1"):
        mean_intervals([0.1, 0.2], level=1)
    with pytest.raises(ArgumentError, match="a value is NaN"):
        mean_intervals([1.0, math.nan])


def test_measures_with_a_limit_stay_below_it() -> None:
    truth = {"q": [["a", "b"], ["c", "d"]]}
    lists = {
        "best": {"q": ["a", "b", "c", "d"]},
        "long": {"q": ["x", "y", "z", "d", "c", "b", "a"]},
        "empty": {"q": []},
    }
    kinds = [measure(name) for name in MEASURES.names() if name not in ("TN", "Accuracy", "Specificity", "Fallout")]
    result = evaluate(Truth(truth, nonrelevant={"q": ["x", "y"]}), lists, kinds)
    largest = dict(zip(map(repr, kinds), result.values[:, :, 0].max(axis=0), strict=True))
    limits = {repr(kind): kind.largest for kind in kinds}
    assert {name: value for name, value in largest.items() if value > limits[name] + 1e-12} == {}
    assert [measure("DCG").largest, measure("nDCG").largest] == [np.inf, 1.0]


# -- pairs ------------------------------------------------------------------------------------------------------------


def test_p_and_interval_of_a_pair_are_those_of_scipy() -> None:
    from scipy.stats import ttest_rel

    chance = np.random.default_rng(8)
    for n in (7, 11, 60):
        one, other = chance.random(n), chance.random(n) + 0.1
        theirs = ttest_rel(one, other)
        ours = pair_tests((one - other)[None])
        assert ours.p[0] == ours.p_max[0] == pytest.approx(max(theirs.pvalue, 2 / 2**n))
        assert ours.intervals[0].tolist() == pytest.approx(list(theirs.confidence_interval()))


def test_no_p_is_smaller_than_that_of_winning_every_query_that_differs() -> None:
    assert student_p(np.full((1, 11), 0.7)).tolist() == [2 / 2**11]
    assert student_p(np.array([[0.5] * 4 + [0.0] * 4])).tolist() == [2 / 2**4]
    assert student_p(np.zeros((1, 5))).tolist() == [1.0]
    assert smallest_p(11) == 2 / 2**11


def test_p_of_all_pairs_by_hand() -> None:
    """Of the eight ways to turn three queries round, two leave the sum of the first row at |z| = sqrt(3).

    The second row has |z| = 1 in every way.
    """
    found = pair_tests(np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 1.0]]), limit=1.0)
    assert found.p_max.tolist() == [2 / 8, 1.0]
    assert found.critical == math.inf
    assert found.intervals_all.tolist() == [[-1.0, 1.0], [-1.0, 1.0]]


def test_p_of_all_pairs_is_that_of_trying_every_way() -> None:
    chance = np.random.default_rng(13)
    rows = chance.normal(0.3, 1.0, (6, 9))
    ways = np.array([[1 if way >> k & 1 else -1 for k in range(9)] for way in range(2**9)])
    t = np.stack([student_t(rows * way) for way in ways])
    expected = (np.abs(t).max(axis=1)[:, None] >= np.abs(student_t(rows)) - 1e-9).mean(axis=0)
    found = pair_tests(rows)
    assert found.p_max.tolist() == pytest.approx(expected.tolist())
    assert np.quantile(np.abs(t).max(axis=1), 0.95, method="higher") == pytest.approx(found.critical)


def student_t(rows: Floats) -> Floats:
    from scipy.stats import ttest_1samp

    return np.asarray(ttest_1samp(rows, 0, axis=1).statistic)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [2, 5, 6, 11, 17, 30])
@pytest.mark.parametrize("kind", ["graded", "answers", "constant"])
def test_an_interval_excludes_0_exactly_where_p_is_small(kind: str, n: int, level: float) -> None:
    chance = np.random.default_rng(n)
    values = chance.random((7, n)) + 0.05 * np.arange(7)[:, None]
    if kind == "answers":
        values = np.round(chance.random((7, n)) ** np.arange(1, 8)[:, None])
    if kind == "constant":
        values = np.repeat(np.linspace(0, 1, 7)[:, None], n, axis=1)
        values[2] = values[1]
    first, second = np.triu_indices(7, 1)
    differences = values[first] - values[second]
    found = pair_tests(differences, level, 2.0 if kind == "graded" else 1.0, exchanges=500)
    for p, ends in ((found.p, found.intervals), (found.p_max, found.intervals_all)):
        assert ((ends > 0).all(axis=1) | (ends < 0).all(axis=1)).tolist() == (p < 1 - level).tolist()
        assert (ends[:, 0] < ends[:, 1]).all()
        assert (ends[:, 0] <= differences.mean(axis=1)).all()
        assert (ends[:, 1] >= differences.mean(axis=1)).all()


def test_any_false_alarm_is_as_rare_as_promised() -> None:
    chance = np.random.default_rng(12)
    first, second = np.triu_indices(8, 1)
    alarms = 0
    for _ in range(300):
        values = chance.beta(3, 1, (8, 11))
        alarms += bool((pair_tests(values[first] - values[second]).p_max < 0.05).any())
    assert 0.02 <= alarms / 300 <= 0.08


def test_all_pairs_together_show_what_holm_cannot() -> None:
    """24 runs on 11 queries, as at MIREX 2005: one wins every query by far."""
    chance = np.random.default_rng(2005)
    values = chance.uniform(0.1, 0.3, (24, 11))
    values[0] += 0.65
    truth = {f"q{k}": [[f"r{k}"]] for k in range(11)}
    found = compare(with_values(truth, values))
    first = [each for each in found if "s0" in (each.system, each.other)]
    assert len(found) == 276
    assert all(each.p_holm > 0.2 for each in found)
    assert all(each.is_shown and each.low_all > 0 for each in first)
    said = reach(found)
    assert (said.pairs, said.queries, said.smallest_p, said.smallest_holm) == (276, 11, 2 / 2**11, 276 * 2 / 2**11)
    assert said.sentence.startswith(f"{said.shown} of 276 pairs differ in {said.measure} at 5%, all pairs counted")
    assert "After Holm no pair could" in said.sentence
    assert "the smallest p of 11 queries is 0.00098, and 0.27 after the correction" in said.sentence
    assert said.sentence.endswith("planned before looking, show more: roslin evaluate --against NAME.")


def with_values(truth: Any, values: Floats) -> Any:
    from dataclasses import replace

    runs = {f"s{k}": {query: ["x"] for query in truth} for k in range(len(values))}
    return replace(evaluate(truth, runs, "ADR"), values=values[:, None, :])


def test_planned_comparisons() -> None:
    evaluation = three_systems()
    found = compare(evaluation, against="bad")
    assert [(c.system, c.other) for c in found] == [("bad", "good"), ("bad", "fair")]
    every = compare(evaluation)[1]
    assert (found[0].difference, found[0].p) == (-every.difference, every.p)
    assert found[0].p_holm < every.p_holm
    assert found[0].high_all < 0
    assert found[0].sentence.startswith("good is ahead of bad by 1.000 in RR")
    shown, pairs = comparisons(evaluation, against="bad")
    assert [row["pairs"] for row in shown.rows] == [2, 2]
    assert len(pairs.rows) == 4
    with pytest.raises(UnknownNameError, match="'worse'"):
        compare(evaluation, against="worse")
    with pytest.raises(ArgumentError, match="level must be between 0 and 1; got 2"):
        compare(evaluation, level=2)


def test_five_queries_can_show_nothing() -> None:
    truth = {f"q{k}": [[f"r{k}"]] for k in range(5)}
    runs = {"good": {f"q{k}": [f"r{k}"] for k in range(5)}, "bad": {f"q{k}": ["x"] for k in range(5)}}
    (pair,) = compare(evaluate(truth, runs, "RR"))
    assert pair.p == 2 / 2**5
    assert pair.low <= 0 < pair.high
    assert pair.detectable == math.inf
    assert pair.sentence == (
        "good is ahead of bad by 1.000 in RR; 5 queries are too few to show any difference, p = 0.062."
    )
    assert reach([pair]).sentence == (
        "No difference can be shown at 5% with 5 queries, whatever the results: 6 queries are the fewest that can "
        "show any difference."
    )
    assert [needed_queries(alpha) for alpha in (0.5, 0.1, 0.05, 0.01)] == [3, 5, 6, 8]
    for alpha in (0.5, 0.1, 0.05, 0.01):
        assert smallest_p(needed_queries(alpha)) < alpha <= smallest_p(needed_queries(alpha) - 1)


def test_reach_of_nothing() -> None:
    with pytest.raises(ArgumentError, match="there are no comparisons to look at"):
        reach([])


def test_too_few_queries_for_so_many_different_pairs() -> None:
    """Six queries reach 5% in one pair. Among many pairs, every way of turning them round lets some pair win all."""
    chance = np.random.default_rng(1)
    truth = {f"q{k}": [[f"r{k}"]] for k in range(6)}
    found = compare(with_values(truth, chance.binomial(1, 0.5, (24, 6)).astype(np.float64)))
    assert all(each.detectable == math.inf for each in found)
    assert reach(found).sentence.startswith("No pair of these 276 pairs can be shown to differ at 5% with 6 queries.")


def test_detectable_is_at_the_level_of_all_pairs() -> None:
    found = compare(three_systems())
    alone = compare(three_systems(), against="good")
    assert found[0].detectable >= alone[0].detectable > 0
    values, others = np.random.default_rng(3).random((2, 30))
    one, many = (minimum_detectable_difference(values, others, comparisons=count) for count in (1, 276))
    assert many > 1.5 * one
    assert minimum_detectable_difference(values[:11], others[:11], comparisons=276) == math.inf


# -- the tests behind them --------------------------------------------------------------------------------------------


def test_random_exchanges_are_shared_and_fixed() -> None:
    rows = np.random.default_rng(0).normal(0.2, 1, (2, 40))
    assert exchange_p(rows).tolist() == [permutation_test(row, np.zeros(40)) for row in rows]


def test_bootstrap_intervals_are_those_of_scipy() -> None:
    from scipy.stats import bootstrap

    values = np.random.default_rng(1).beta(2, 5, 30)
    theirs = bootstrap((values,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(2))
    ours = bootstrap_intervals(values, resamples=20_000)
    expected = [theirs.confidence_interval.low, theirs.confidence_interval.high]
    assert ours.tolist() == pytest.approx(expected, abs=0.003)


def test_bootstrap_intervals_hold_the_mean_as_often_as_they_say() -> None:
    chance = np.random.default_rng(3)
    samples = chance.beta(2, 3, (400, 25))
    ends = bootstrap_intervals(samples, level=0.9, resamples=2_000)
    covered = np.mean((ends[:, 0] <= 0.4) & (ends[:, 1] >= 0.4))
    assert 0.84 <= covered <= 0.94


def test_bootstrap_intervals_of_little() -> None:
    assert np.isnan(bootstrap_intervals(np.array([0.3]))).all()
    assert bootstrap_intervals(np.arange(24.0).reshape(2, 3, 4), resamples=50).shape == (2, 3, 2)
    assert np.isnan(bootstrap_intervals(np.ones((2, 3, 4)))).all()
    assert np.isnan(bootstrap_intervals(np.ones((2, 3, 0)))).all()
    with pytest.raises(ArgumentError, match="level must be between 0 and 1; got 1"):
        bootstrap_intervals(np.ones(3), level=1)
    with pytest.raises(ArgumentError, match="a value is NaN"):
        bootstrap_intervals(np.array([1.0, math.nan]))


def test_exact_permutations() -> None:
    """The example by hand: differences 3, 2, -1. Sums as large as 4 in absolute value: +-6, +-4."""
    assert permutation_test(np.array([3.0, 2.0, 0.0]), np.array([0.0, 0.0, 1.0])) == 4 / 8
    assert permutation_test(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == 1.0


@pytest.mark.long
def test_permutations_are_those_of_scipy() -> None:
    from scipy.stats import permutation_test as theirs

    chance = np.random.default_rng(8)
    for count in (9, 16, 40):
        one, other = chance.random(count), chance.random(count) + 0.15
        expected = theirs(
            (one, other),
            lambda x, y, axis: np.mean(x - y, axis=axis),
            permutation_type="samples",
            n_resamples=30_000,
            rng=np.random.default_rng(0),
        ).pvalue
        assert permutation_test(one, other) == pytest.approx(expected, abs=1e-12 if count == 9 else 0.01)


def test_false_alarms_are_as_rare_as_promised() -> None:
    chance = np.random.default_rng(12)
    p = [permutation_test(chance.random(11), chance.random(11)) for _ in range(400)]
    assert 0.02 <= np.mean(np.array(p) <= 0.05) <= 0.08


def test_corrections() -> None:
    from scipy.stats import false_discovery_control

    chance = np.random.default_rng(5)
    for _ in range(10):
        p = (chance.random(7) ** 3).tolist()
        assert benjamini_hochberg(p) == pytest.approx(false_discovery_control(p).tolist())
        order = sorted(range(7), key=p.__getitem__)
        running, expected = 0.0, [0.0] * 7
        for place, k in enumerate(order):
            running = max(running, min(1.0, (7 - place) * p[k]))
            expected[k] = running
        assert holm(p) == pytest.approx(expected)
    assert holm([]) == benjamini_hochberg([]) == []


def test_effect_sizes() -> None:
    assert effect_size(np.array([1.0, 1.0]), np.array([1.0, 1.0])) == 0.0
    assert effect_size(np.array([1.0, 1.0]), np.array([2.0, 2.0])) == -math.inf
    assert math.isnan(effect_size(np.array([1.0]), np.array([2.0])))
    with pytest.raises(ArgumentError, match="both runs need one value per query"):
        effect_size(np.array([1.0]), np.array([1.0, 2.0]))
    with pytest.raises(ArgumentError, match="a value is NaN"):
        permutation_test(np.array([math.nan]), np.array([1.0]))


def test_the_detectable_difference_is_detected_in_eight_of_ten() -> None:
    """Simulated: differences with exactly this mean, a t test at 5%."""
    from scipy.stats import ttest_1samp

    chance = np.random.default_rng(6)
    sample = chance.normal(size=20)
    sample = (sample - sample.mean()) / sample.std(ddof=1)
    size = minimum_detectable_difference(sample, np.zeros(20))
    trials = chance.normal(loc=size, size=(3_000, 20))
    assert np.mean(ttest_1samp(trials, 0.0, axis=1).pvalue < 0.05) == pytest.approx(0.8, abs=0.03)
    assert math.isnan(minimum_detectable_difference(np.array([1.0]), np.array([0.0])))


def three_systems() -> Any:
    chance = random.Random(9)
    truth = {f"q{k}": [[f"r{k}"]] for k in range(11)}
    good = {f"q{k}": [f"r{k}", "x"] for k in range(11)}
    fair = {f"q{k}": chance.sample([f"r{k}", "x", "y", "z"], 4) for k in range(11)}
    bad = {f"q{k}": ["x", "y"] for k in range(11)}
    return evaluate(truth, {"good": good, "fair": fair, "bad": bad}, ["RR", "FN"])


def test_comparisons() -> None:
    found = compare(three_systems())
    assert [(c.system, c.other) for c in found] == [("good", "fair"), ("good", "bad"), ("fair", "bad")]
    for c in found:
        assert c.wins + c.ties + c.losses == c.queries == 11
        assert c.low <= c.difference <= c.high
        assert c.p <= c.p_bh <= c.p_holm <= 1
        assert c.detectable >= 0
    assert (found[1].difference, found[1].p) == (1.0, 2 / 2**11)
    assert (
        found[1].sentence
        == "good is ahead of bad by 1.000 in RR; with 11 queries this is unlikely to be chance, p < 0.001."
    )


def test_nothing_to_compare_by() -> None:
    with pytest.warns(EmptyTruthWarning):
        (pair,) = compare(evaluate(Truth({"q": []}), {"A": {"q": ["a"]}, "B": {"q": []}}, "ADR"))
    assert pair.sentence == "There is no query by which A and B could be compared."


def made(name: str, difference: float, *, p_max: float, detectable: float, level: float = 0.95) -> Comparison:
    ends, p = (difference - 0.1, difference + 0.1), (p_max,) * 4
    return Comparison(
        name,
        "A",
        "B",
        11,
        difference,
        *ends,
        *p,
        *ends,
        effect=0.3,
        wins=5,
        ties=1,
        losses=5,
        detectable=detectable,
        level=level,
    )


def test_sentences() -> None:
    plain = made("ADR", 0.02, p_max=0.31, detectable=0.1)
    assert plain.sentence == "A is ahead of B by 0.020 in ADR; with 11 queries this could be chance, p = 0.31."
    (fewer, *_) = compare(three_systems(), "FN")
    assert fewer.sentence == "good and fair have the same FN, over 11 queries."
    silent = made("FP", 2.0, p_max=0.31, detectable=0.1)
    assert silent.sentence == (
        "A has 2.000 more FP than B (an empty list would do best); with 11 queries this could be chance, p = 0.31."
    )
    few = made("ADR", -0.02, p_max=0.31, detectable=math.inf)
    assert few.sentence == "B is ahead of A by 0.020 in ADR; 11 queries are too few to show any difference, p = 0.31."
    assert "unlikely" in made("ADR", 0.02, p_max=0.04, detectable=0.1).sentence
    assert "could be chance" in made("ADR", 0.02, p_max=0.04, detectable=0.1, level=0.99).sentence
    worst = compare(three_systems(), "FN")[1]
    assert worst.difference == -1.0
    assert worst.sentence.startswith("good is ahead of bad by 1.000 in FN; with 11 queries this is unlikely")
