"""Numba kernels around one alignment: its distance, the best ones to start from, and the way downhill from them.

An alignment is (tempo, shift in time, shift in pitch), all in the query's frame as in `_align_kernels`. While the flow
stays as it is, the best shift is a median: of the vectors from query notes to the document notes that they flow to,
weighted by the flow. So flow and shift are made best in turn. Neither step makes the distance larger; where both stand
still is a local optimum.
"""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np
import numpy.typing as npt

from roslin.transport._align_kernels import aligned_cost
from roslin.transport._bound_kernels import rows_bound
from roslin.transport._kernels import CITYBLOCK, SLACK, TABLE, workspace

__all__ = ["Pair", "best_coincidences", "distances_at", "refine"]

Array = npt.NDArray[np.float64]

# Rounds of flow and shift, and of steps towards a geometric median within one: both end sooner where they stand still.
_ROUNDS = 30
_STEPS = 60
_STILL = 1e-10
# Tempo is tried this much faster and slower at first, then half as much, and so on.
_FIRST_TEMPO_STEP = 0.08
_LAST_TEMPO_STEP = 0.0005


class Pair(NamedTuple):
    """A query in its frame and a document in quarters: what `align_document` takes, under one name."""

    query_x: Array
    query_y: Array
    query_w: Array
    query_order: npt.NDArray[np.int64]
    time: Array
    pitch: Array
    weight: Array
    time_unit: float
    pitch_unit: float
    scales_weights: bool
    missing: float
    ground: int
    table: Array


@nb.njit(cache=True, nogil=True)
def _bring(pair: Pair, tempo: float, still: Array) -> tuple[bool, float, float]:
    """Fill in the document at this tempo as lines x, y, weight. (Is it lighter, charge, base): see `align_document`."""
    total = 0.0
    for j in range(len(pair.time)):
        still[0, j] = pair.time[j] * pair.time_unit / tempo
        still[1, j] = pair.pitch[j] * pair.pitch_unit
        still[2, j] = pair.weight[j] / tempo if pair.scales_weights else pair.weight[j]
        total += still[2, j]
    query = pair.query_w.sum()
    is_light = total < query
    charge = (query - total) * pair.missing if is_light and pair.missing >= 0.0 else 0.0
    return is_light, charge, total if is_light and pair.missing < 0.0 else query


@nb.njit(cache=True, nogil=True)
def _measure(
    pair: Pair,
    tempo: float,
    x: float,
    y: float,
    still: Array,
    cost: Array,
    flow: Array,
    lines: Array,
    indices: npt.NDArray[np.int64],
) -> tuple[float, bool]:
    """(distance at one alignment, whether the document is lighter). The flow goes from the lighter set."""
    is_light, charge, base = _bring(pair, tempo, still)
    value = aligned_cost(
        pair.query_x, pair.query_y, pair.query_w, len(pair.query_x), still[0], still[1], still[2], len(pair.time),
        x, y, np.inf, pair.ground, pair.table, is_light, cost, flow, lines, indices,
    )  # fmt: skip
    return (value + charge) / base, is_light


@nb.njit(cache=True, nogil=True)
def distances_at(pair: Pair, tempos: Array, shifts_x: Array, shifts_y: Array) -> Array:
    """The distance at alignment after alignment."""
    most = max(len(pair.query_x), len(pair.time))
    still = np.empty((3, most))
    cost, flow, lines, indices = workspace(most, most)
    found = np.empty(len(tempos))
    for k in range(len(tempos)):
        found[k], _ = _measure(pair, tempos[k], shifts_x[k], shifts_y[k], still, cost, flow, lines, indices)
    return found


@nb.njit(cache=True, nogil=True)
def best_coincidences(pair: Pair, tempo: float, keep: int, counts: npt.NDArray[np.int64]) -> Array:
    """(at most `keep`, 3): distance and shifts of the best different coincidence alignments at a tempo, best first."""
    n, m = len(pair.query_x), len(pair.time)
    best = np.empty((keep, 3))
    kept = 0
    most = max(n, m)
    still = np.empty((3, most))
    cost, flow, lines, indices = workspace(most, most)
    document_order = np.arange(m)
    is_light, charge, base = _bring(pair, tempo, still)
    for j in range(m):
        for i in range(n):
            x, y = still[0, j] - pair.query_x[i], still[1, j] - pair.query_y[i]
            is_new = True
            for k in range(kept):
                if abs(best[k, 1] - x) < _STILL and abs(best[k, 2] - y) < _STILL:
                    is_new = False
            if not is_new:
                continue
            worst = best[keep - 1, 0] if kept == keep else np.inf
            allowed = worst * base - charge
            if pair.ground != TABLE and allowed < np.inf:
                budget = allowed + SLACK * (1.0 + charge + abs(allowed))
                if is_light:
                    bound = rows_bound(
                        still[0], still[1], still[2], document_order, m, pair.query_x, pair.query_y, pair.query_w,
                        n, -x, -y, i - j, budget, pair.ground,
                    )  # fmt: skip
                else:
                    bound = rows_bound(
                        pair.query_x, pair.query_y, pair.query_w, pair.query_order, n, still[0], still[1], still[2],
                        m, x, y, j - i, budget, pair.ground,
                    )  # fmt: skip
                if bound > budget:
                    continue
            counts[0] += 1
            value = aligned_cost(
                pair.query_x, pair.query_y, pair.query_w, n, still[0], still[1], still[2], m,
                x, y, allowed, pair.ground, pair.table, is_light, cost, flow, lines, indices,
            )  # fmt: skip
            value = (value + charge) / base
            if value < worst:
                kept = min(kept + 1, keep)
                k = kept - 1
                while k > 0 and best[k - 1, 0] > value:
                    best[k] = best[k - 1]
                    k -= 1
                best[k, 0], best[k, 1], best[k, 2] = value, x, y
    return best[:kept]


@nb.njit(cache=True, nogil=True)
def _middle(values: Array, weights: Array) -> float:
    """The weighted median."""
    half = weights.sum() / 2
    passed, middle = 0.0, 0.0
    for k in np.argsort(values):
        if passed < half:
            middle = values[k]
        passed += weights[k]
    return middle


@nb.njit(cache=True, nogil=True)
def _geometric_middle(points: Array, x: float, y: float, is_y_fixed: bool) -> tuple[float, float]:
    """The point with the least weighted sum of distances: Weiszfeld's steps, from (x, y).

    A start on one of the points needs care (Vardi and Zhang 2000): it is left only if the others pull harder than its
    own weight.
    """
    for _ in range(_STEPS):
        pull_x, pull_y, to_x, to_y, strength, here = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(points.shape[1]):
            dx, dy, weight = points[0, k] - x, points[1, k] - y, points[2, k]
            apart = np.sqrt(dx * dx + dy * dy)
            if apart < _STILL:
                here += weight
                continue
            share = weight / apart
            pull_x += share * dx
            pull_y += share * dy
            to_x += share * points[0, k]
            to_y += share * points[1, k]
            strength += share
        pull = abs(pull_x) if is_y_fixed else np.sqrt(pull_x * pull_x + pull_y * pull_y)
        if strength == 0.0 or pull <= here:
            break
        part = 1.0 - here / pull
        step_x = part * (to_x / strength - x)
        step_y = 0.0 if is_y_fixed else part * (to_y / strength - y)
        x, y = x + step_x, y + step_y
        if abs(step_x) + abs(step_y) < _STILL:
            break
    return x, y


@nb.njit(cache=True, nogil=True)
def _best_shift(pair: Pair, x: float, y: float, is_light: bool, still: Array, flow: Array) -> tuple[float, float]:
    """The best shift while this flow stays as it is. With a table, transposition stays and only time moves."""
    n, m = len(pair.query_x), len(pair.time)
    points = np.empty((3, n * m))
    count = 0
    for i in range(n):
        for j in range(m):
            weight = flow[j, i] if is_light else flow[i, j]
            if weight > 0.0:
                points[0, count] = still[0, j] - pair.query_x[i]
                points[1, count] = still[1, j] - pair.query_y[i]
                if pair.ground == TABLE:
                    row = min(max(int(pair.query_y[i] + y + 0.5), 0), 127)
                    points[1, count] = y + pair.table[row, int(still[1, j])]
                points[2, count] = weight
                count += 1
    points = points[:, :count]
    if pair.ground == CITYBLOCK:
        return _middle(points[0], points[2]), _middle(points[1], points[2])
    return _geometric_middle(points, x, y, pair.ground == TABLE)


@nb.njit(cache=True, nogil=True)
def _downhill(
    pair: Pair, tempo: float, x: float, y: float, counts: npt.NDArray[np.int64]
) -> tuple[float, float, float]:
    """(distance, shifts) of the local optimum below a start: flow and shift made best in turn."""
    most = max(len(pair.query_x), len(pair.time))
    still = np.empty((3, most))
    cost, flow, lines, indices = workspace(most, most)
    counts[0] += 1
    value, is_light = _measure(pair, tempo, x, y, still, cost, flow, lines, indices)
    for _ in range(_ROUNDS):
        next_x, next_y = _best_shift(pair, x, y, is_light, still, flow)
        if abs(next_x - x) + abs(next_y - y) < _STILL:
            break
        counts[0] += 1
        next_value, _ = _measure(pair, tempo, next_x, next_y, still, cost, flow, lines, indices)
        if next_value >= value:
            break
        value, x, y = next_value, next_x, next_y
    return value, x, y


@nb.njit(cache=True, nogil=True)
def refine(
    pair: Pair, tempos: Array, keep: int, keep_tempos: int, counts: npt.NDArray[np.int64]
) -> tuple[float, float, float, float]:
    """(distance, shifts, tempo) of the best local optimum reached from the `keep` best coincidences of each tempo.

    With several tempos, the `keep_tempos` best then look for a better tempo between the smallest and the largest. The
    query's middle stays where it is while the tempo changes. `counts[0]` grows by the EMDs solved.
    """
    best = np.full((keep_tempos, 4), np.inf)
    for tempo in tempos:
        starts = best_coincidences(pair, tempo, keep, counts)
        for k in range(len(starts)):
            value, x, y = _downhill(pair, tempo, starts[k, 1], starts[k, 2], counts)
            if starts[k, 0] < value:
                value, x, y = starts[k, 0], starts[k, 1], starts[k, 2]
            is_new = True
            for q in range(keep_tempos):
                if best[q, 3] == tempo and abs(best[q, 1] - x) + abs(best[q, 2] - y) < 1e-6:
                    is_new = False
            if is_new and value < best[-1, 0]:
                q = keep_tempos - 1
                while q > 0 and best[q - 1, 0] > value:
                    best[q] = best[q - 1]
                    q -= 1
                best[q, 0], best[q, 1], best[q, 2], best[q, 3] = value, x, y, tempo
    slowest, fastest = tempos.min(), tempos.max()
    if slowest < fastest:
        middle = (pair.query_x * pair.query_w).sum() / pair.query_w.sum()
        for q in range(keep_tempos):
            step = _FIRST_TEMPO_STEP
            while step >= _LAST_TEMPO_STEP and best[q, 0] < np.inf:
                is_better = False
                for factor in (1.0 + step, 1.0 / (1.0 + step)):
                    tempo = min(max(best[q, 3] * factor, slowest), fastest)
                    if tempo == best[q, 3]:
                        continue
                    start_x = (middle + best[q, 1]) * best[q, 3] / tempo - middle
                    value, x, y = _downhill(pair, tempo, start_x, best[q, 2], counts)
                    if value < best[q, 0]:
                        best[q, 0], best[q, 1], best[q, 2], best[q, 3] = value, x, y, tempo
                        is_better = True
                        break
                if not is_better:
                    step /= 2
    q = int(np.argmin(best[:, 0]))
    return best[q, 0], best[q, 1], best[q, 2], best[q, 3]
