"""Are the ranks of one candidate smaller than those of another? All pairs of candidates at once.

Every test takes ranks of shape (..., experts, documents), NaN for no rank, and gives `less[..., i, j]`: the p-value of
the one-tailed test whose alternative is that candidate i has smaller ranks than candidate j. The two-tailed p-value is
twice the smaller of `less[i, j]` and `less[j, i]`, at most 1 (`two_tailed`).

  asymptotic   Mann-Whitney U, normal, corrected for ties and continuity: what R does where there are ties
  exact        Mann-Whitney U, its exact distribution given the ties
  permutation  Mann-Whitney U, all permutations where there are few, else a seeded sample of them
  paired       Wilcoxon's signed ranks of those who ranked both, normal, corrected for ties and continuity

U counts the pairs x > y, ties half (paper 004, appendix). For all pairs of candidates it is a product of two matrices:
how many gave rank r to i, times how many gave less than r to j. So are the tie terms, because
sum (a + b)^3 = sum a^3 + 3 a^2 b + 3 a b^2 + b^3. That makes thousands of shuffled rankings cheap.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import combinations

import numpy as np

from roslin.errors import UnknownNameError
from roslin.truth.rankings import Floats

__all__ = ["TESTS", "pairwise_less", "two_tailed", "u_statistics"]

_FULL_PERMUTATIONS = 20_000
_SAMPLED_PERMUTATIONS = 9_999
_SEED = 2005


def pairwise_less(ranks: Floats, test: str = "asymptotic") -> Floats:
    """p-values of "i has smaller ranks than j", shape (..., documents, documents). The diagonal is 1."""
    if test not in TESTS:
        raise UnknownNameError("test", test, TESTS)
    less = TESTS[test](np.asarray(ranks, dtype=np.float64))
    size = less.shape[-1]
    less[..., np.arange(size), np.arange(size)] = 1.0
    return less


def two_tailed(less: Floats) -> Floats:
    """Two-tailed p-values from one-tailed ones."""
    both: Floats = np.minimum(1.0, 2 * np.minimum(less, np.swapaxes(less, -1, -2)))
    return both


def u_statistics(ranks: Floats) -> Floats:
    """U of every pair: how often a rank of i is above one of j, ties half. Shape (..., documents, documents)."""
    return _u_and_ties(_histograms(ranks))[0]


def _histograms(ranks: Floats) -> Floats:
    """How many experts gave each rank to each document: (..., documents, distinct ranks)."""
    values = np.unique(ranks[~np.isnan(ranks)])
    codes = np.searchsorted(values, np.where(np.isnan(ranks), np.inf, ranks))  # no rank: one past the last
    *lead, experts, documents = ranks.shape
    flat = np.moveaxis(codes, -2, -1).reshape(-1, experts)
    width = len(values) + 1
    offset = np.arange(len(flat))[:, None] * width
    counts = np.bincount((flat + offset).ravel(), minlength=len(flat) * width)
    return counts.reshape(*lead, documents, width)[..., :-1].astype(np.float64)


def _u_and_ties(counts: Floats) -> tuple[Floats, Floats]:
    """U of every pair, and the sum of t^3 - t over the ties t of both samples together."""
    below = np.cumsum(counts, axis=-1) - counts / 2
    u = counts @ np.swapaxes(below, -1, -2)
    squares = counts * counts
    cubes = np.sum(squares * counts - counts, axis=-1)
    mixed = squares @ np.swapaxes(counts, -1, -2)
    ties = cubes[..., :, None] + cubes[..., None, :] + 3 * (mixed + np.swapaxes(mixed, -1, -2))
    return u, ties


def _asymptotic(ranks: Floats) -> Floats:
    counts = _histograms(ranks)
    u, ties = _u_and_ties(counts)
    sizes = counts.sum(axis=-1)
    product = sizes[..., :, None] * sizes[..., None, :]
    total = sizes[..., :, None] + sizes[..., None, :]
    variance = product / 12 * (total + 1 - ties / np.maximum(total * (total - 1), 1))
    return _normal_less(u - product / 2, variance)


def _normal_less(excess: Floats, variance: Floats) -> Floats:
    """P(a normal deviate of this variance <= excess), with continuity correction; 1 where nothing varies."""
    from scipy.special import ndtr

    spread = np.sqrt(np.maximum(variance, 0))
    varies = spread > 1e-9
    z = np.divide(excess + 0.5, spread, out=np.full(excess.shape, np.inf), where=varies)
    p: Floats = ndtr(z)
    return p


# -- exact and permutation: pair by pair ------------------------------------------------------------------------------


def _pair_by_pair(tail: Callable[[Floats, Floats], tuple[float, float]]) -> Callable[[Floats], Floats]:
    """A test of all pairs from one of two samples, which gives P(smaller) and P(greater)."""

    def test(ranks: Floats) -> Floats:
        *lead, _, documents = ranks.shape
        less = np.ones((*lead, documents, documents))
        for index in np.ndindex(*lead):
            samples = [column[~np.isnan(column)] for column in ranks[index].T]
            for i, j in combinations(range(documents), 2):
                if len(samples[i]) and len(samples[j]):
                    less[(*index, i, j)], less[(*index, j, i)] = tail(samples[i], samples[j])
        return less

    return test


def _midranks(x: Floats, y: Floats) -> tuple[int, ...]:
    """Twice the midranks of both samples together: whole numbers, those of x first."""
    both = np.concatenate([x, y])
    ordered = np.sort(both)
    twice = np.searchsorted(ordered, both, "left") + np.searchsorted(ordered, both, "right") + 1
    return tuple(twice.tolist())


def _exact_tails(x: Floats, y: Floats) -> tuple[float, float]:
    ranks = _midranks(x, y)
    counts = _sum_counts(tuple(sorted(ranks)), len(x))
    seen, total = sum(ranks[: len(x)]), sum(counts)
    return sum(counts[: seen + 1]) / total, sum(counts[seen:]) / total


@lru_cache(maxsize=4096)
def _sum_counts(ranks: tuple[int, ...], chosen: int) -> tuple[int, ...]:
    """In how many ways `chosen` of these numbers give each sum: counts by sum, in whole numbers."""
    size = sum(ranks) + 1
    ways = np.zeros((chosen + 1, size), dtype=object)
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] = ways[1:, rank:] + ways[:-1, :-rank]
    return tuple(ways[chosen])


def _permutation_tails(x: Floats, y: Floats) -> tuple[float, float]:
    ranks = np.array(_midranks(x, y))
    seen = ranks[: len(x)].sum()
    if math.comb(len(ranks), len(x)) <= _FULL_PERMUTATIONS:
        sums = np.array([sum(chosen) for chosen in combinations(ranks.tolist(), len(x))])
        return float(np.mean(sums <= seen)), float(np.mean(sums >= seen))
    chance = np.random.default_rng(_SEED)
    shuffled = chance.permuted(np.broadcast_to(ranks, (_SAMPLED_PERMUTATIONS, len(ranks))), axis=1)
    sums = shuffled[:, : len(x)].sum(axis=1)
    # The observed order is one of the permutations: no p-value is 0.
    smaller, greater = np.count_nonzero(sums <= seen) + 1, np.count_nonzero(sums >= seen) + 1
    return smaller / (len(sums) + 1), greater / (len(sums) + 1)


# -- paired -----------------------------------------------------------------------------------------------------------


def _paired(ranks: Floats) -> Floats:
    """Signed ranks of the differences; equal ranks are left out, as Wilcoxon did."""
    from scipy.stats import rankdata

    differences = ranks[..., :, :, None] - ranks[..., :, None, :]
    differences = np.where(differences == 0, np.nan, differences)
    sizes = np.abs(differences)
    placed = rankdata(sizes, axis=-3, nan_policy="omit")
    count = np.count_nonzero(~np.isnan(sizes), axis=-3)
    above = np.nansum(np.where(differences > 0, placed, 0), axis=-3)
    # The variance without correction for ties would be the sum of k^2 / 4; with it, of the squared midranks.
    variance = np.nansum(placed**2, axis=-3) / 4
    return _normal_less(above - count * (count + 1) / 4, variance)


TESTS: dict[str, Callable[[Floats], Floats]] = {
    "asymptotic": _asymptotic,
    "exact": _pair_by_pair(_exact_tails),
    "permutation": _pair_by_pair(_permutation_tails),
    "paired": _paired,
}
