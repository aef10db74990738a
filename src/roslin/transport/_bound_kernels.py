"""Numba kernels of alignment: what an alignment costs at least.

Frame of everything here: the query's, as in `_align_kernels`. Rows are the points of the lighter set, which are all
matched; columns those of the heavier. No flow can cost less than the largest of

- what each row costs if it had the columns for itself (`rows_bound`),
- what the weight costs if each column had the rows for itself, and the dearest columns stay empty (`_columns_bound`),
- the weight times the distance of the centres (`centre_shifts`),
- the weight that must cross each pitch, whatever the time (`crossing_bound`).
"""

from __future__ import annotations

import numpy as np

from roslin.kernels import kernel
from roslin.transport._arguments import CITYBLOCK, Array, Numbers, Points

__all__ = [
    "apart",
    "centre",
    "centre_shifts",
    "crossing_bound",
    "levels_of",
    "nearest",
    "pair_bound",
    "rows_bound",
    "second_bound",
]


@kernel(inline="always")
def apart(dx: float, dy: float, ground: int) -> float:
    return dx + abs(dy) if ground == CITYBLOCK else np.sqrt(dx * dx + dy * dy)


@kernel(inline="always")
def _last_before(x: float, columns_x: Array, m: int, guess: int) -> int:
    """The last of m times that is not after x, -1 if there is none. Looks outwards from `guess`."""
    k = min(max(guess, 0), m - 1)
    while k < m - 1 and columns_x[k + 1] <= x:
        k += 1
    while k >= 0 and columns_x[k] > x:
        k -= 1
    return k


@kernel
def nearest(
    x: float, y: float, columns_x: Array, columns_y: Array, m: int, guess: int, cap: float, ground: int
) -> float:
    """Distance from (x, y) to the nearest of m points, at most `cap`. Looks outwards from `guess`, near x in time."""
    k = _last_before(x, columns_x, m, guess)
    best = cap
    before = k
    while before >= 0:
        dx = x - columns_x[before]
        if dx >= best:
            break
        best = min(best, apart(dx, y - columns_y[before], ground))
        before -= 1
    after = k + 1
    while after < m:
        dx = columns_x[after] - x
        if dx >= best:
            break
        best = min(best, apart(dx, y - columns_y[after], ground))
        after += 1
    return best


@kernel(inline="always")
def _two_nearest(
    x: float, y: float, w: float, columns_x: Array, columns_y: Array, columns_w: Array, m: int, guess: int, ground: int
) -> tuple[float, float, float]:
    """(distance to the nearest column, weight that goes there at most, distance to the second) for weight w at (x, y).

    The second may be too far when the nearest has room for all.
    """
    k = _last_before(x, columns_x, m, guess)
    first, second, room = np.inf, np.inf, 0.0
    before, after = k, k + 1
    while before >= 0 or after < m:
        back = x - columns_x[before] if before >= 0 else np.inf
        ahead = columns_x[after] - x if after < m else np.inf
        if min(back, ahead) >= (first if room >= w else second):
            break
        if back <= ahead:
            column, dx = before, back
            before -= 1
        else:
            column, dx = after, ahead
            after += 1
        away = apart(dx, y - columns_y[column], ground)
        if away < first:
            first, second, room = away, first, columns_w[column]
        elif away < second:
            second = away
    if room >= w or second == np.inf:
        return first, w, first
    return first, room, second


@kernel
def rows_bound(rows: Points, columns: Points, x: float, y: float, lead: int, budget: float, ground: int) -> float:
    """What all rows cost, moved by (x, y), if each had the columns for itself: no flow can cost less.

    Rows are taken in their order; stops when the sum exceeds the budget. `lead` is how far the index of a column is
    ahead of that of the row it lies near.
    """
    rows_x, rows_y, rows_w, order = rows
    columns_x, columns_y, columns_w, m = columns.x, columns.y, columns.weight, len(columns.x)
    total = 0.0
    for k in range(len(rows_x)):
        i = order[k]
        near, room, far = _two_nearest(
            rows_x[i] + x, rows_y[i] + y, rows_w[i], columns_x, columns_y, columns_w, m, i + lead, ground
        )
        total += room * near + (rows_w[i] - room) * far
        if total > budget:
            break
    return total


@kernel(inline="always")
def _keep(cost: float, weight: float, amount: float, count: int, held: float, pieces: Array) -> tuple[int, float]:
    """Put a piece among the cheapest, which are in order of cost; (how many are kept, their weight).

    What is dearer than so much weight as is asked for is dropped.
    """
    place = count
    while place > 0 and pieces[0, place - 1] > cost:
        pieces[0, place], pieces[1, place] = pieces[0, place - 1], pieces[1, place - 1]
        place -= 1
    pieces[0, place], pieces[1, place] = cost, weight
    count, held = count + 1, held + weight
    while held - pieces[1, count - 1] >= amount:
        count -= 1
        held -= pieces[1, count]
    return count, held


@kernel
def _columns_bound(
    columns: Points, rows: Points, x: float, y: float, lead: int, amount: float, ground: int, pieces: Array
) -> float:
    """What so much weight costs at least when it comes to the columns, moved by (x, y), where it is cheapest.

    The same as `rows_bound` from the other side, where not everything must be matched. `pieces` is room for two pairs
    of numbers for each column. Columns are taken from the middle of the rows outwards: one that lies farther before or
    after them than the dearest of the pieces that make up the amount costs more, and so do those beyond it.
    """
    columns_x, columns_y, columns_w, m = columns.x, columns.y, columns.weight, len(columns.x)
    rows_x, rows_y, rows_w, n = rows.x, rows.y, rows.weight, len(rows.x)
    begin, end = rows_x[0], rows_x[n - 1]
    after = _last_before((begin + end) / 2 - x, columns_x, m, n // 2 - lead) + 1
    before, count, held = after - 1, 0, 0.0
    while before >= 0 or after < m:
        back = begin - columns_x[before] - x if before >= 0 else np.inf
        ahead = columns_x[after] + x - end if after < m else np.inf
        if held >= amount and min(back, ahead) >= pieces[0, count - 1]:
            break
        if back <= ahead:
            j = before
            before -= 1
        else:
            j = after
            after += 1
        near, room, far = _two_nearest(
            columns_x[j] + x, columns_y[j] + y, columns_w[j], rows_x, rows_y, rows_w, n, j + lead, ground
        )
        if held < amount or near < pieces[0, count - 1]:
            count, held = _keep(near, room, amount, count, held, pieces)
        if columns_w[j] > room and (held < amount or far < pieces[0, count - 1]):
            count, held = _keep(far, columns_w[j] - room, amount, count, held, pieces)
    total, left = 0.0, amount
    for place in range(count):
        taken = min(pieces[1, place], left)
        total += taken * pieces[0, place]
        left -= taken
        if left <= 0.0:
            break
    return total


@kernel
def pair_bound(query: Points, document: Points, i: int, j: int, is_light: bool, budget: float, ground: int) -> float:
    """`rows_bound` with query point i on document point j; `is_light`: the rows are those of the document."""
    x, y = document.x[j] - query.x[i], document.y[j] - query.y[i]
    if is_light:
        return rows_bound(document, query, -x, -y, i - j, budget, ground)
    return rows_bound(query, document, x, y, j - i, budget, ground)


@kernel
def second_bound(
    query: Points, document: Points, i: int, j: int, is_light: bool, amount: float, ground: int, pieces: Array
) -> float:
    """`_columns_bound` with query point i on document point j; `amount` is the weight of the lighter set."""
    x, y = document.x[j] - query.x[i], document.y[j] - query.y[i]
    if is_light:
        return _columns_bound(query, document, x, y, j - i, amount, ground, pieces)
    return _columns_bound(document, query, -x, -y, i - j, amount, ground, pieces)


@kernel(error_model="numpy")
def centre(values: Array, weights: Array, m: int, amount: float, is_from_end: bool) -> float:
    """The centre of so much weight, taken from one end."""
    left, total = amount, 0.0
    for k in range(m):
        j = m - 1 - k if is_from_end else k
        taken = min(weights[j], left)
        total += taken * values[j]
        left -= taken
    return total / amount


@kernel(error_model="numpy")
def centre_shifts(
    middle: float, is_light: bool, heavier: Array, heavier_w: Array, m: int, amount: float, budget: float
) -> tuple[float, float]:
    """Between which shifts the query may lie, along one axis; the m values of the heavier melody are sorted on it.

    `middle` is the centre of the lighter melody, of weight `amount`; with `is_light`, that is the document. The matched
    part of the heavier melody has its centre between that of its first weight and that of its last; moving the lighter
    melody costs at least its weight times the distance of the centres.
    """
    first, last = centre(heavier, heavier_w, m, amount, False), centre(heavier, heavier_w, m, amount, True)
    if is_light:
        return middle - last - budget / amount, middle - first + budget / amount
    return first - middle - budget / amount, last - middle + budget / amount


@kernel
def levels_of(y: Array, weight: Array) -> tuple[Array, Array, Numbers]:
    """(pitches, weights, numbers): the different pitches, rising, the weight of each, and which one each note has."""
    rising = np.argsort(y, kind="mergesort")
    pitches, weights, numbers = np.empty(len(y)), np.zeros(len(y)), np.empty(len(y), np.int64)
    count = 0
    for i in rising:
        if count == 0 or y[i] != pitches[count - 1]:
            pitches[count] = y[i]
            count += 1
        weights[count - 1] += weight[i]
        numbers[i] = count - 1
    return pitches[:count], weights[:count], numbers


@kernel
def crossing_bound(rows: Array, rows_w: Array, columns: Array, columns_w: Array, shift: float) -> float:
    """What the rows cost at least in pitch alone, moved by `shift`, at whatever time: both are `levels_of` a melody.

    A flow moves all rows. What they have up to some pitch, more than the columns have up to there, must cross it
    upwards; what they have above it, more than the columns have above it, must cross it downwards. The way of a unit of
    weight is at least the length of all pitches that it crosses; so the cost is at least the sum, over the steps from
    one pitch of either melody to the next, of the weight that must cross times the length of the step.
    """
    n, m, total, i, j = len(rows), len(columns), 0.0, 0, 0
    under, under_columns, over, over_columns = 0.0, 0.0, rows_w.sum(), columns_w.sum()
    last = min(rows[0] + shift, columns[0])
    while i < n or j < m:
        here = min(rows[i] + shift if i < n else np.inf, columns[j] if j < m else np.inf)
        total += (here - last) * (max(under - under_columns, 0.0) + max(over - over_columns, 0.0))
        last = here
        if i < n and rows[i] + shift <= here:
            under += rows_w[i]
            over -= rows_w[i]
            i += 1
        if j < m and columns[j] <= here:
            under_columns += columns_w[j]
            over_columns -= columns_w[j]
            j += 1
    return total
