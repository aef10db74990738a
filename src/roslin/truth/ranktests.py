"""Are the ranks of one candidate smaller than those of another? All pairs of candidates at once.

Every test takes ranks of shape (..., experts, documents), NaN for no rank, and gives `less[..., i, j]`: the p-value of
the one-tailed test whose alternative is that candidate i has smaller ranks than candidate j. The two-tailed p-value is
twice the smaller of `less[i, j]` and `less[j, i]`, at most 1 (`two_tailed`).

  asymptotic   Mann-Whitney U, normal, corrected for ties and continuity: what R does where there are ties
  exact        Mann-Whitney U, its exact distribution given the ties (up to 60 ranks each; larger samples asymptotic)
  permutation  Mann-Whitney U, all permutations of small samples, else a seeded sample of 9,999 of them
  paired       Wilcoxon's signed ranks of those who ranked both, normal, corrected for ties and continuity

U counts the pairs x > y, ties half (Urbano et al. 2010, appendix). For all pairs of candidates it is a product of two
matrices: how many gave rank r to i, times how many gave less than r to j. So are the tie terms, because sum (a + b)^3 =
sum a^3 + 3 a^2 b + 3 a b^2 + b^3. That makes thousands of shuffled rankings cheap.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from roslin.errors import UnknownNameError
from roslin.tolerances import RECOMPUTED
from roslin.types import Floats

# Products of two sizes. With 60 ranks each, exact and asymptotic p-values differ by 0.002 at most; up to 10 each the
# exact ones take microseconds (`tests/truth/test_ranktests.py` has the differences).
_MOST_EXACT = 60 * 60
_FEW = 10 * 10
_SAMPLED_PERMUTATIONS = 9_999
_DRAWS_SEED = 2005


def pairwise_less(ranks: Floats, test: str = "asymptotic", *, quick: bool = False) -> Floats:
    """p-values of "i has smaller ranks than j", shape (..., documents, documents). The diagonal is 1.

    `quick`, for thousands of tables: exact and permutation tests only where both samples are small, else asymptotic.
    """
    if test not in TESTS:
        raise UnknownNameError("test", test, TESTS)
    less = (_QUICK_TESTS if quick else TESTS)[test](np.asarray(ranks, dtype=np.float64))
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
    flat = np.moveaxis(codes, -2, -1).reshape(math.prod(lead) * documents, experts)
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
    varies = spread > RECOMPUTED
    z = np.divide(excess + 0.5, spread, out=np.full(excess.shape, np.inf), where=varies)
    p: Floats = ndtr(z)
    return p


# -- exact and permutation --------------------------------------------------------------------------------------------


def _exact(ranks: Floats, most: int = _MOST_EXACT) -> Floats:
    from roslin.native import kernels

    counts = _histograms(ranks).astype(np.int64)
    less = _asymptotic(ranks)
    lists = math.prod(ranks.shape[:-2])
    kernels.exact_tails(counts.reshape(lists, *counts.shape[-2:]), most, less.reshape(lists, *less.shape[-2:]))
    return less


def _exact_where_small(ranks: Floats) -> Floats:
    return _exact(ranks, _FEW)


def _permutation(ranks: Floats) -> Floats:
    """Where all permutations can be looked at, they give the exact distribution."""
    less = _exact_where_small(ranks)
    for index in np.ndindex(ranks.shape[:-2]):
        samples = [column[~np.isnan(column)] for column in ranks[index].T]
        pairs: dict[int, list[tuple[int, int]]] = {}
        for i, j in combinations(range(len(samples)), 2):
            if len(samples[i]) * len(samples[j]) > _FEW:
                pairs.setdefault(len(samples[i]) + len(samples[j]), []).append((i, j))
        for total, of_this_size in pairs.items():
            chance = np.random.default_rng((_DRAWS_SEED, total))
            orders = chance.permuted(np.broadcast_to(np.arange(total), (_SAMPLED_PERMUTATIONS, total)), axis=1)
            for i, j in of_this_size:
                less[(*index, i, j)], less[(*index, j, i)] = _sampled_tails(samples[i], samples[j], orders)
    return less


def _sampled_tails(x: Floats, y: Floats, orders: npt.NDArray[np.int64]) -> tuple[float, float]:
    both = np.concatenate([x, y])
    ordered = np.sort(both)
    # Twice the midranks: whole numbers, those of x first.
    twice = np.searchsorted(ordered, both, "left") + np.searchsorted(ordered, both, "right") + 1
    seen, sums = twice[: len(x)].sum(), twice[orders[:, : len(x)]].sum(axis=1)
    # The observed order is one of the permutations: no p-value is 0.
    smaller, greater = np.count_nonzero(sums <= seen) + 1, np.count_nonzero(sums >= seen) + 1
    return smaller / (len(sums) + 1), greater / (len(sums) + 1)


# -- paired -----------------------------------------------------------------------------------------------------------


def _paired(ranks: Floats) -> Floats:
    """Signed ranks of the differences; equal ranks are left out, as Wilcoxon did."""
    from scipy.stats import rankdata

    rows, columns = np.triu_indices(ranks.shape[-1], 1)
    differences = ranks[..., rows] - ranks[..., columns]
    differences = np.where(differences == 0, np.nan, differences)
    placed = rankdata(np.abs(differences), axis=-2, nan_policy="omit")
    count = np.count_nonzero(~np.isnan(differences), axis=-2)
    above = np.nansum(np.where(differences > 0, placed, 0), axis=-2)
    # The variance without correction for ties would be the sum of k^2 / 4; with it, of the squared midranks.
    variance = np.nansum(placed**2, axis=-2) / 4
    excess = above - count * (count + 1) / 4
    less = np.ones((*ranks.shape[:-2], ranks.shape[-1], ranks.shape[-1]))
    less[..., rows, columns], less[..., columns, rows] = _normal_less(excess, variance), _normal_less(-excess, variance)
    return less


TESTS: dict[str, Callable[[Floats], Floats]] = {
    "asymptotic": _asymptotic,
    "exact": _exact,
    "permutation": _permutation,
    "paired": _paired,
}
# The test for a million uses: the exact one where samples are small and the normal distribution is wrong; else the
# asymptotic one, which is then within 0.03 of it.
_QUICK_TESTS = {**TESTS, "exact": _exact_where_small, "permutation": _exact_where_small}


# -- correction --------------------------------------------------------------------------------------------------------
#
# Corrections for many tests at once: p-values, made larger so that fewer pass by luck.
#
# `holm` and `benjamini_hochberg` take the p-values of any tests, `corrected_pairs` those of all pairs of one list.


def holm(p: Sequence[float]) -> list[float]:
    """p-values corrected for the probability of any false claim (Holm 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    return list(map(float, _corrected(np.array(p, dtype=np.float64), "holm")))


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """p-values corrected for the share of false claims (Benjamini & Hochberg 1995).

    >>> benjamini_hochberg([0.01, 0.04, 0.03])
    [0.03, 0.04, 0.04]
    """
    return list(map(float, _corrected(np.array(p, dtype=np.float64), "bh")))


CORRECTIONS = ("holm", "bh")


def _corrected(p: Floats, correction: str) -> Floats:
    """Corrected p-values along the last axis, in their own order. An infinite one means that there is no test."""
    order = np.argsort(p, axis=-1, kind="stable")
    rising, places = np.take_along_axis(p, order, axis=-1), np.arange(p.shape[-1])
    count = np.maximum(np.count_nonzero(np.isfinite(p), axis=-1)[..., None], 1).astype(np.float64)
    if correction == "holm":
        found = np.maximum.accumulate(rising * np.maximum(count - places, 1), axis=-1)
    else:
        found = np.minimum.accumulate((rising * count / (places + 1))[..., ::-1], axis=-1)[..., ::-1]
    back = np.empty_like(p)
    np.put_along_axis(back, order, np.minimum(1.0, found), axis=-1)
    return back


def corrected_pairs(p: Floats, correction: str | None, votes: npt.NDArray[np.int64] | None = None) -> Floats:
    """Corrected p-values of "earlier against later": only the upper triangle of (..., n, n) counts as tests.

    The lower triangle is mirrored from the upper, so that either order can be looked up. `votes`, shape (..., n): a
    candidate without any takes part in no test.
    """
    if correction is None:
        return p
    if correction not in CORRECTIONS:
        raise UnknownNameError("correction", correction, CORRECTIONS)
    rows, columns = np.triu_indices(p.shape[-1], 1)
    tests = p[..., rows, columns]
    if not tests.shape[-1]:
        return p
    if votes is not None:
        tests = np.where((votes[..., rows] > 0) & (votes[..., columns] > 0), tests, np.inf)
    corrected = _corrected(tests, correction)
    result = np.ones_like(p)
    result[..., rows, columns] = corrected
    result[..., columns, rows] = corrected
    return result
