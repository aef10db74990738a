"""Numba kernel of the exact Mann-Whitney test: the distribution of U given the ties, for all pairs of many lists.

A sample is how often each rank was given. Walk up the ranks; at a rank that both samples together have t times, the
first sample has k of them with the hypergeometric chance of drawing k among all that are left. Twice U, a whole number,
then grows by k (2 y + t - k), where y is how many of the second sample came before. Probabilities, not counts of
orders, are carried along, so that nothing overflows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

__all__ = ["exact_tails"]

Array = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@kernel
def exact_tails(counts: Counts, most: int, less: Array) -> None:
    """Fill `less[list, i, j]`, p-values of "i has smaller ranks than j", from `counts[list, document, rank]`.

    Pairs whose sizes multiply to more than `most`, and those without any rank, are left as they are.
    """
    lists, documents, _ = counts.shape
    logs = np.zeros(most + 2)  # of factorials
    for n in range(2, len(logs)):
        logs[n] = logs[n - 1] + np.log(n)
    smallest = int(np.sqrt(most))  # the smaller of two sizes is at most this
    now, then = np.zeros((smallest + 1, 2 * most + 1)), np.zeros((smallest + 1, 2 * most + 1))
    for each in range(lists):
        for i in range(documents):
            for j in range(i + 1, documents):
                x, y = counts[each, i], counts[each, j]
                first, second = x.sum(), y.sum()
                if not 0 < first * second <= most:
                    continue
                if first <= second:
                    less[each, i, j], less[each, j, i] = _tails(x, y, first, second, logs, now, then)
                else:
                    less[each, j, i], less[each, i, j] = _tails(y, x, second, first, logs, now, then)


@kernel
def _tails(x: Counts, y: Counts, first: int, second: int, logs: Array, now: Array, then: Array) -> tuple[float, float]:
    """P(U <= the one seen) and P(U >= it). `now[c, u]`: the chance of c of x so far, and of twice U = u."""
    now[0, 0] = 1.0
    before, seen, of_y = 0, 0, 0
    for value in range(len(x)):
        tied = x[value] + y[value]
        if not tied:
            continue
        seen += x[value] * (2 * of_y + y[value])
        of_y += y[value]
        after = before + tied
        for c in range(max(0, after - second), min(first, after) + 1):
            then[c, : 2 * c * (after - c) + 1] = 0.0
        left = first + second - before
        for c in range(max(0, before - second), min(first, before) + 1):
            wanted, passed = first - c, before - c
            orders = logs[left] - logs[wanted] - logs[left - wanted]
            for k in range(max(0, tied - (second - passed)), min(tied, wanted) + 1):
                chance = np.exp(
                    logs[tied] - logs[k] - logs[tied - k]
                    + logs[left - tied] - logs[wanted - k] - logs[left - tied - wanted + k]
                    - orders
                )  # fmt: skip
                shift = k * (2 * passed + tied - k)
                for u in range(2 * c * passed + 1):
                    then[c + k, u + shift] += now[c, u] * chance
        now, then = then, now
        before = after
    whole = now[first, : 2 * first * second + 1]
    return min(1.0, whole[: seen + 1].sum()), min(1.0, whole[seen:].sum())
