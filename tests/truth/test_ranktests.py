"""The rank tests: the papers' numbers, then scipy as a second route on random samples with ties, then odd input."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from roslin.errors import UnknownNameError
from roslin.truth.ranktests import TESTS, corrected_pairs, pairwise_less, two_tailed, u_statistics
from roslin.types import Floats


def table(*samples: list[float]) -> Floats:
    """Ranks of shape (experts, documents) whose columns hold these samples."""
    ranks = np.full((max(map(len, samples)), len(samples)), np.nan)
    for column, sample in enumerate(samples):
        ranks[: len(sample), column] = sample
    return ranks


# Urbano et al. (2010), appendix: U = 131 with 15 and 21 ranks (GOLDEN.md, section 3.1, says why these sizes).
APPENDIX = table([*range(1, 9), 14, *range(31, 37)], [*range(9, 14), *range(15, 31)])
TIED = table([1, 2, 2, 3, 1, 4], [2, 4, 5, 3, 5])
UNTIED = table([1, 3, 5, 7], [2, 4, 6, 8, 9])


@pytest.mark.parametrize(("ranks", "u"), [(APPENDIX, 131), (TIED, 5), (UNTIED, 6)])
def test_u(ranks: Floats, u: float) -> None:
    sizes = np.count_nonzero(~np.isnan(ranks), axis=0)
    assert u_statistics(ranks)[0, 1] == u
    assert u_statistics(ranks)[1, 0] == sizes.prod() - u


@pytest.mark.parametrize(
    ("ranks", "test", "one_tailed", "two"),
    [
        (APPENDIX, "exact", 0.204469, 0.408937),
        (APPENDIX, "asymptotic", 0.202064, 0.404128),
        (TIED, "asymptotic", 0.038624, 0.077249),
        (TIED, "permutation", 0.045455, 0.090909),
        (TIED, "exact", 0.045455, 0.090909),  # given the ties: the same as all permutations
        (UNTIED, "exact", 0.206349, 0.412698),
        (UNTIED, "asymptotic", 0.195634, 0.391267),
    ],
)
def test_golden_pvalues(ranks: Floats, test: str, one_tailed: float, two: float) -> None:
    less = pairwise_less(ranks, test)
    assert less[0, 1] == pytest.approx(one_tailed, abs=6e-7)
    assert two_tailed(less)[0, 1] == pytest.approx(two, abs=6e-7)


def test_the_appendix_rejects_with_one_tail_only() -> None:
    less = pairwise_less(APPENDIX)
    assert less[0, 1] < 0.25 < two_tailed(less)[0, 1]


@pytest.mark.parametrize("seed", range(6))
def test_asymptotic_is_scipys_on_samples_with_ties(seed: int) -> None:
    chance = np.random.default_rng(seed)
    ranks = chance.integers(1, 3 + 3 * seed, (30, 8)).astype(float)
    ranks[chance.random(ranks.shape) < 0.3] = np.nan
    less = pairwise_less(ranks)
    for i in range(8):
        for j in range(8):
            if i != j:
                x, y = (ranks[~np.isnan(ranks[:, k]), k] for k in (i, j))
                assert u_statistics(ranks)[i, j] == stats.mannwhitneyu(x, y).statistic
                for alternative, ours in (("less", less[i, j]), ("two-sided", two_tailed(less)[i, j])):
                    theirs = stats.mannwhitneyu(x, y, alternative=alternative, method="asymptotic").pvalue
                    assert ours == pytest.approx(theirs, abs=1e-12)


def test_exact_is_scipys_without_ties() -> None:
    chance = np.random.default_rng(1)
    for n, m in ((1, 3), (4, 9), (12, 12), (15, 21)):
        values = chance.permutation(n + m) + 1.0
        less = pairwise_less(table(list(values[:n]), list(values[n:])), "exact")
        for alternative, ours in (("less", less[0, 1]), ("greater", less[1, 0]), ("two-sided", two_tailed(less)[0, 1])):
            theirs = stats.mannwhitneyu(values[:n], values[n:], alternative=alternative, method="exact").pvalue
            assert ours == pytest.approx(theirs, abs=1e-12)


def test_exact_given_the_ties_is_all_permutations() -> None:
    """Every way to choose the first sample out of both, one by one."""
    chance = np.random.default_rng(2)
    for n, m, ranks in ((3, 4, 3), (5, 5, 4), (2, 8, 6), (6, 4, 2)):
        x, y = chance.integers(1, ranks + 1, n).astype(float), chance.integers(1, ranks + 1, m).astype(float)
        placed = stats.rankdata(np.concatenate([x, y]))
        sums = np.array([sum(chosen) for chosen in combinations(placed, n)])
        seen = placed[:n].sum()
        for test in ("exact", "permutation"):
            less = pairwise_less(table(list(x), list(y)), test)
            assert less[0, 1] == pytest.approx(np.mean(sums <= seen + 1e-9), abs=1e-12)
            assert less[1, 0] == pytest.approx(np.mean(sums >= seen - 1e-9), abs=1e-12)


def test_exact_of_sizes_that_differ_much() -> None:
    values = np.random.default_rng(5).permutation(203) + 1.0
    less = pairwise_less(table(list(values[:3]), list(values[3:])), "exact")
    theirs = [
        stats.mannwhitneyu(values[:3], values[3:], alternative=a, method="exact").pvalue for a in ("less", "greater")
    ]
    assert [less[0, 1], less[1, 0]] == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(
    ("n", "m", "apart"), [(11, 10, 0.02), (4, 26, 0.02), (3, 34, 0.03), (21, 21, 0.005), (60, 61, 0.002)]
)
def test_asymptotic_is_near_exact_where_it_stands_in_for_it(n: int, m: int, apart: float) -> None:
    ranks = np.full((200, max(n, m), 2), np.nan)
    chance = np.random.default_rng(n)
    ranks[:, :n, 0], ranks[:, :m, 1] = chance.integers(1, 21, (200, n)), chance.integers(1, 21, (200, m))
    exact, asymptotic = pairwise_less(ranks, "exact"), pairwise_less(ranks)
    assert np.abs(exact - asymptotic).max() < apart
    for test in ("exact", "permutation"):
        assert np.array_equal(pairwise_less(ranks, test, quick=True), asymptotic)
    if n * m > 60 * 60:
        assert np.array_equal(exact, asymptotic)
    small = ranks[:, :3]
    assert np.array_equal(pairwise_less(small, "exact", quick=True), pairwise_less(small, "exact"))


def test_permutation_of_large_samples_is_near_exact() -> None:
    ranks = np.random.default_rng(3).integers(1, 12, (25, 3)).astype(float)
    assert pairwise_less(ranks, "permutation") == pytest.approx(pairwise_less(ranks, "exact"), abs=0.02)


@pytest.mark.parametrize("seed", range(4))
def test_paired_is_scipys_signed_rank_test(seed: int) -> None:
    chance = np.random.default_rng(seed)
    ranks = chance.integers(1, 10, (30, 5)).astype(float)
    ranks[chance.random(ranks.shape) < 0.2] = np.nan
    less = pairwise_less(ranks, "paired")
    for i, j in ((0, 1), (1, 0), (2, 4), (3, 2)):
        both = ~np.isnan(ranks[:, i]) & ~np.isnan(ranks[:, j])
        theirs = stats.wilcoxon(
            ranks[both, i], ranks[both, j], correction=True, alternative="less", method="asymptotic"
        ).pvalue
        assert less[i, j] == pytest.approx(theirs, abs=1e-12)


def test_paired_by_hand() -> None:
    """Three experts, differences -1, -1, -3: V = 0, midranks 1.5 1.5 3, variance 13.5 / 4, continuity 1/2."""
    ranks = np.array([[1.0, 2.0], [2.0, 3.0], [1.0, 4.0]])
    assert pairwise_less(ranks, "paired")[0, 1] == pytest.approx(stats.norm.cdf((0 - 3 + 0.5) / np.sqrt(13.5 / 4)))


@pytest.mark.parametrize("test", TESTS)
def test_no_difference_without_variation(test: str) -> None:
    assert np.all(pairwise_less(np.ones((5, 3)), test) == 1)
    one_expert = two_tailed(pairwise_less(np.array([[1.0, 2.0, 3.0]]), test))
    assert np.all(one_expert == 1)
    assert pairwise_less(np.full((4, 2), np.nan), test)[0, 1] == 1
    assert pairwise_less(np.empty((4, 0)), test).shape == (0, 0)


def test_many_tables_at_once_are_those_one_by_one() -> None:
    ranks = np.random.default_rng(5).integers(1, 7, (4, 10, 5)).astype(float)
    for test in TESTS:
        assert pairwise_less(ranks, test) == pytest.approx(np.stack([pairwise_less(each, test) for each in ranks]))


def test_unknown_test_lists_all() -> None:
    with pytest.raises(UnknownNameError, match="unknown test 't'; known: asymptotic, exact, permutation, paired"):
        pairwise_less(TIED, "t")


def test_corrections_against_scipy_and_by_hand() -> None:
    p = np.ones((4, 4))
    rows, columns = np.triu_indices(4, 1)
    values = np.array([0.01, 0.2, 0.03, 0.04, 0.9, 0.005])
    p[rows, columns] = values
    assert corrected_pairs(p, "bh")[rows, columns] == pytest.approx(stats.false_discovery_control(values))
    holm = [0.05, 0.4, 0.12, 0.12, 0.9, 0.03]
    assert corrected_pairs(p, "holm")[rows, columns] == pytest.approx(holm)
    assert corrected_pairs(p, "holm")[3, 2] == pytest.approx(0.03)
    assert corrected_pairs(p, None) is p
    votes = np.array([5, 5, 5, 0])  # the last takes part in no test: 3 tests are left
    assert corrected_pairs(p, "holm", votes)[rows, columns] == pytest.approx([0.03, 0.2, 1, 0.08, 1, 1])
    assert np.all(corrected_pairs(p, "bh", np.zeros(4, dtype=np.int64))[rows, columns] == 1)
    with pytest.raises(UnknownNameError, match="unknown correction 'x'; known: holm, bh"):
        corrected_pairs(p, "x")
