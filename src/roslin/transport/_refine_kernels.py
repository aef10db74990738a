"""Numba kernels around one alignment: its distance, the best ones to start from, and the way downhill from them.

An alignment is (tempo, shift in time, shift in pitch), all in the query's frame as in `_align_kernels`. While the flow
stays as it is, the best shift is a median: of the vectors from query notes to the document notes that they flow to,
weighted by the flow. So flow and shift are made best in turn. Neither step makes the distance larger; where both stand
still is a local optimum.
"""

from __future__ import annotations

import numpy as np

from roslin.kernels import kernel
from roslin.transport._align_kernels import aligned_cost, bring, table_row
from roslin.transport._arguments import CITYBLOCK, TABLE, Array, Numbers, Pair, Points, Workspace
from roslin.transport._bound_kernels import pair_bound
from roslin.transport._kernels import SLACK, budget_of, charge_and_base, workspace

__all__ = ["best_coincidences", "distances_at", "refine"]

# Rounds of flow and shift, and of steps towards a geometric median within one: both end sooner where they stand still.
_ROUNDS = 30
_STEPS = 60
_STILL = 1e-10
# Two optima whose shifts differ by less in all are one: they were reached from different starts.
_SAME_OPTIMUM = 1e-6
# Tempo is tried this much faster and slower at first, then half as much, and so on.
_FIRST_TEMPO_STEP = 0.08
_LAST_TEMPO_STEP = 0.0005


@kernel
def _room(pair: Pair) -> tuple[Points, Workspace]:
    """Room for the document in the query's frame, and for the flow between the two."""
    m = len(pair.document.time)
    most = max(len(pair.query.x), m)
    room = workspace(most, most)
    work = Workspace(room.cost, room.flow, room.lines, room.indices, pair.rules.stop)
    return Points(np.empty(m), np.empty(m), np.empty(m), np.arange(m)), work


@kernel
def _measure(pair: Pair, tempo: float, x: float, y: float, document: Points, work: Workspace) -> tuple[float, bool]:
    """(distance at one alignment, whether the document is lighter). The flow goes from the lighter set."""
    query, rules = pair.query, pair.rules
    total = bring(pair.document, pair.frame, rules, tempo, document)
    is_light, charge, base = charge_and_base(query.weight.sum(), total, rules.missing)
    value = aligned_cost(query, document, x, y, np.inf, rules.ground, pair.table, is_light, work)
    return (value + charge) / base, is_light


@kernel
def distances_at(pair: Pair, tempos: Array, shifts_x: Array, shifts_y: Array) -> Array:
    """The distance at alignment after alignment."""
    document, work = _room(pair)
    found = np.empty(len(tempos))
    for k in range(len(tempos)):
        found[k], _ = _measure(pair, tempos[k], shifts_x[k], shifts_y[k], document, work)
    return found


@kernel
def best_coincidences(pair: Pair, tempo: float, keep: int, counts: Numbers) -> Array:
    """(at most `keep`, 3): distance and shifts of the best different coincidence alignments at a tempo, best first."""
    query, ground, table = pair.query, pair.rules.ground, pair.table
    best = np.empty((keep, 3))
    kept = 0
    document, work = _room(pair)
    total = bring(pair.document, pair.frame, pair.rules, tempo, document)
    is_light, charge, base = charge_and_base(query.weight.sum(), total, pair.rules.missing)
    for j in range(len(document.x)):
        if pair.rules.stop[0]:
            break
        for i in range(len(query.x)):
            x, y = document.x[j] - query.x[i], document.y[j] - query.y[i]
            is_new = True
            for k in range(kept):
                if abs(best[k, 1] - x) < _STILL and abs(best[k, 2] - y) < _STILL:
                    is_new = False
            if not is_new:
                continue
            worst = best[keep - 1, 0] if kept == keep else np.inf
            allowed = worst * base - charge
            if ground != TABLE and allowed < np.inf:
                budget = budget_of(worst, charge, base, SLACK)
                if pair_bound(query, document, i, j, is_light, budget, ground) > budget:
                    continue
            counts[0] += 1
            value = aligned_cost(query, document, x, y, allowed, ground, table, is_light, work)
            value = (value + charge) / base
            if value < worst:
                kept = min(kept + 1, keep)
                k = kept - 1
                while k > 0 and best[k - 1, 0] > value:
                    best[k] = best[k - 1]
                    k -= 1
                best[k, 0], best[k, 1], best[k, 2] = value, x, y
    return best[:kept]


@kernel
def _middle(values: Array, weights: Array) -> float:
    """The weighted median."""
    half = weights.sum() / 2
    passed, middle = 0.0, 0.0
    for k in np.argsort(values):
        if passed < half:
            middle = values[k]
        passed += weights[k]
    return middle


@kernel
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


@kernel
def _best_shift(pair: Pair, x: float, y: float, is_light: bool, document: Points, flow: Array) -> tuple[float, float]:
    """The best shift while this flow stays as it is. With a table, transposition stays and only time moves."""
    query, ground = pair.query, pair.rules.ground
    n, m = len(query.x), len(document.x)
    points = np.empty((3, n * m))
    count = 0
    for i in range(n):
        for j in range(m):
            weight = flow[j, i] if is_light else flow[i, j]
            if weight > 0.0:
                points[0, count] = document.x[j] - query.x[i]
                points[1, count] = document.y[j] - query.y[i]
                if ground == TABLE:
                    points[1, count] = y + pair.table[table_row(query.y[i] + y), j]
                points[2, count] = weight
                count += 1
    points = points[:, :count]
    if ground == CITYBLOCK:
        return _middle(points[0], points[2]), _middle(points[1], points[2])
    return _geometric_middle(points, x, y, ground == TABLE)


@kernel
def _downhill(pair: Pair, tempo: float, x: float, y: float, counts: Numbers) -> tuple[float, float, float]:
    """(distance, shifts) of the local optimum below a start: flow and shift made best in turn."""
    document, work = _room(pair)
    counts[0] += 1
    value, is_light = _measure(pair, tempo, x, y, document, work)
    for _ in range(_ROUNDS):
        next_x, next_y = _best_shift(pair, x, y, is_light, document, work.flow)
        if abs(next_x - x) + abs(next_y - y) < _STILL:
            break
        counts[0] += 1
        next_value, _ = _measure(pair, tempo, next_x, next_y, document, work)
        if next_value >= value:
            break
        value, x, y = next_value, next_x, next_y
    return value, x, y


@kernel
def refine(pair: Pair, keep: int, keep_tempos: int, counts: Numbers) -> tuple[float, float, float, float]:
    """(distance, shifts, tempo) of the best local optimum reached from the `keep` best coincidences of each tempo.

    With several tempos, the `keep_tempos` best then look for a better tempo between the smallest and the largest. The
    query's middle stays where it is while the tempo changes. `counts[0]` grows by the EMDs solved.
    """
    tempos = pair.rules.tempos
    best = np.full((keep_tempos, 4), np.inf)
    for tempo in tempos:
        starts = best_coincidences(pair, tempo, keep, counts)
        for k in range(len(starts)):
            value, x, y = _downhill(pair, tempo, starts[k, 1], starts[k, 2], counts)
            if starts[k, 0] < value:
                value, x, y = starts[k, 0], starts[k, 1], starts[k, 2]
            is_new = True
            for q in range(keep_tempos):
                if best[q, 3] == tempo and abs(best[q, 1] - x) + abs(best[q, 2] - y) < _SAME_OPTIMUM:
                    is_new = False
            if is_new and value < best[-1, 0]:
                q = keep_tempos - 1
                while q > 0 and best[q - 1, 0] > value:
                    best[q] = best[q - 1]
                    q -= 1
                best[q, 0], best[q, 1], best[q, 2], best[q, 3] = value, x, y, tempo
    slowest, fastest = tempos.min(), tempos.max()
    if slowest < fastest:
        middle = (pair.query.x * pair.query.weight).sum() / pair.query.weight.sum()
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
