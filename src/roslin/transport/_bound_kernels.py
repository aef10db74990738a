"""Numba kernels of alignment: what an alignment costs at least.

Frame of everything here: the query's, as in `_align_kernels`. Rows are the points of the lighter set, which are all
matched; columns those of the heavier. No flow can cost less than the largest of

- what each row costs if it had the columns for itself (`rows_bound`),
- what the weight costs if each column had the rows for itself, and the dearest columns stay empty (`_columns_bound`),
- the weight times the distance of the centres (`centre_shifts`).
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from roslin.transport._kernels import CITYBLOCK

__all__ = ["apart", "centre", "centre_shifts", "nearest", "pair_bound", "rows_bound", "second_bound"]

Array = npt.NDArray[np.float64]


@nb.njit(cache=True, nogil=True, inline="always")
def apart(dx: float, dy: float, ground: int) -> float:
    return dx + abs(dy) if ground == CITYBLOCK else np.sqrt(dx * dx + dy * dy)


@nb.njit(cache=True, nogil=True, inline="always")
def _last_before(x: float, columns_x: Array, m: int, guess: int) -> int:
    """The last of m times that is not after x, -1 if there is none. Looks outwards from `guess`."""
    k = min(max(guess, 0), m - 1)
    while k < m - 1 and columns_x[k + 1] <= x:
        k += 1
    while k >= 0 and columns_x[k] > x:
        k -= 1
    return k


@nb.njit(cache=True, nogil=True)
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


@nb.njit(cache=True, nogil=True, inline="always")
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


@nb.njit(cache=True, nogil=True)
def rows_bound(
    rows_x: Array,
    rows_y: Array,
    rows_w: Array,
    order: npt.NDArray[np.int64],
    n: int,
    columns_x: Array,
    columns_y: Array,
    columns_w: Array,
    m: int,
    shift_x: float,
    shift_y: float,
    lead: int,
    budget: float,
    ground: int,
) -> float:
    """What all rows cost, moved by the shift, if each had the columns for itself: no flow can cost less.

    Rows are taken in `order`; stops when the sum exceeds the budget. `lead` is how far the index of a column is ahead
    of that of the row it lies near.
    """
    total = 0.0
    for k in range(n):
        i = order[k]
        near, room, far = _two_nearest(
            rows_x[i] + shift_x, rows_y[i] + shift_y, rows_w[i], columns_x, columns_y, columns_w, m, i + lead, ground
        )
        total += room * near + (rows_w[i] - room) * far
        if total > budget:
            break
    return total


@nb.njit(cache=True, nogil=True)
def _columns_bound(
    columns_x: Array,
    columns_y: Array,
    columns_w: Array,
    m: int,
    rows_x: Array,
    rows_y: Array,
    rows_w: Array,
    n: int,
    shift_x: float,
    shift_y: float,
    lead: int,
    amount: float,
    ground: int,
    pieces: Array,
) -> float:
    """What so much weight costs at least when it comes to the columns, moved by the shift, where it is cheapest.

    The same as `rows_bound` from the other side, where not everything must be matched. `pieces` is room for 2 m pairs.
    """
    count = 0
    for j in range(m):
        near, room, far = _two_nearest(
            columns_x[j] + shift_x, columns_y[j] + shift_y, columns_w[j], rows_x, rows_y, rows_w, n, j + lead, ground
        )
        for part in range(2):
            cost, weight = (near, room) if part == 0 else (far, columns_w[j] - room)
            if weight <= 0.0:
                continue
            place = count
            while place > 0 and pieces[0, place - 1] > cost:
                pieces[0, place], pieces[1, place] = pieces[0, place - 1], pieces[1, place - 1]
                place -= 1
            pieces[0, place], pieces[1, place] = cost, weight
            count += 1
    total, left = 0.0, amount
    for place in range(count):
        taken = min(pieces[1, place], left)
        total += taken * pieces[0, place]
        left -= taken
        if left <= 0.0:
            break
    return total


@nb.njit(cache=True, nogil=True)
def pair_bound(
    query_x: Array,
    query_y: Array,
    query_w: Array,
    query_order: npt.NDArray[np.int64],
    document_x: Array,
    document_y: Array,
    document_w: Array,
    document_order: npt.NDArray[np.int64],
    m: int,
    i: int,
    j: int,
    is_light: bool,
    budget: float,
    ground: int,
) -> float:
    """`rows_bound` with query point i on document point j."""
    n, x, y = len(query_x), document_x[j] - query_x[i], document_y[j] - query_y[i]
    if is_light:
        return rows_bound(
            document_x, document_y, document_w, document_order, m,
            query_x, query_y, query_w, n, -x, -y, i - j, budget, ground,
        )  # fmt: skip
    return rows_bound(
        query_x, query_y, query_w, query_order, n,
        document_x, document_y, document_w, m, x, y, j - i, budget, ground,
    )  # fmt: skip


@nb.njit(cache=True, nogil=True)
def second_bound(
    query_x: Array,
    query_y: Array,
    query_w: Array,
    document_x: Array,
    document_y: Array,
    document_w: Array,
    m: int,
    i: int,
    j: int,
    is_light: bool,
    amount: float,
    ground: int,
    pieces: Array,
) -> float:
    """`_columns_bound` with query point i on document point j; `amount` is the weight of the lighter set."""
    n, x, y = len(query_x), document_x[j] - query_x[i], document_y[j] - query_y[i]
    if is_light:
        return _columns_bound(
            query_x, query_y, query_w, n, document_x, document_y, document_w, m, x, y, j - i, amount, ground, pieces
        )
    return _columns_bound(
        document_x, document_y, document_w, m, query_x, query_y, query_w, n, -x, -y, i - j, amount, ground, pieces
    )


@nb.njit(cache=True, nogil=True, inline="always")
def centre(values: Array, weights: Array, m: int, amount: float, is_from_end: bool) -> float:
    """The centre of so much weight, taken from one end."""
    left, total = amount, 0.0
    for k in range(m):
        j = m - 1 - k if is_from_end else k
        taken = min(weights[j], left)
        total += taken * values[j]
        left -= taken
        if left <= 0.0:
            break
    return total / amount


@nb.njit(cache=True, nogil=True, inline="always")
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
