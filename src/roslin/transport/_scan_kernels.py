"""Numba kernels of the search: a cheap lower bound for every document of a collection.

All stages bound from below the distance that `align_document` would find, so that nothing is lost.

1. Which transpositions are possible (`_pitch_kernels`).
2. Where the centre is (`centre_shifts`). The matched part of the heavier melody has its centre between that of its
   earliest weight and that of its latest; the centre of the lighter cannot be farther from it than the limit.
3. The nearest notes (`_table`, `_shifts`), for the transpositions and shifts that are left. Time is cut into cells. A
   table of small numbers, a row for each pitch, a column for each cell, says how far it is at least from there to the
   nearest note of the heavier melody: every note stamps its surroundings on it. The bound is the sum over the notes of
   the lighter, for 32 shifts at once. The table of a lighter query is stamped for each document; a heavier query has
   one table for all.
4. For the alignments that are still left, `pair_bound`, which the comparison itself begins with.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from roslin.transport._bound_kernels import centre_shifts, pair_bound, second_bound
from roslin.transport._lanes import LANES, add_products, lower, no_lanes, within
from roslin.transport._pitch_kernels import (
    BLOCK,
    MOST_ROWS,
    PITCH_LEVELS,
    SPARE_BITS,
    WIDEST,
    pitch_scan,
    transpositions,
)

__all__ = ["EPSILON", "FAR", "MARGIN", "MOST", "scan_block"]

Array = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.uint16]
Words = npt.NDArray[np.uint64]

# Distances in the table: FAR is `reach` or more.
FAR = 255
# The limit as a sum of small numbers; the largest product of a distance and a weight is not much more. Sums go up to
# 65535, which leaves room for rounding.
MOST = 65000
# The longest document that is tabled, in cells.
LONGEST = 4096
# A lighter document may have so many cells before and after the query in the query's table.
MARGIN = 600
# A place on the grid may come out a little below itself.
EPSILON = 1e-6
# Weights come as 32-bit numbers: what that may change in a distance.
ROUNDED = 1e-6
# Sums over so many notes are looked at once.
_TOGETHER = 4

_U0, _U1 = np.uint64(0), np.uint64(1)


@nb.njit(cache=True, nogil=True)
def _table(
    table: Bytes, size: int, rows: int, stride: int, columns: int, pitches: npt.NDArray[np.int8], start: int,
    cells: Integers, m: int, lowest: int, first_cell: int, stamps: Bytes, stamp: int, stamp_rows: int, stamp_cells: int,
) -> None:  # fmt: skip
    """Stamp every note of a document on an empty table.

    Around the columns that will be asked for is room for a stamp on both sides. A stamp's rows are filled up to whole
    lanes with FAR, which changes nothing where it reaches into the next row.
    """
    table[:size] = np.uint8(FAR)
    wide = (2 * stamp_cells + LANES) // LANES * LANES
    for j in range(m):
        row, column = int(pitches[start + j]) - lowest, cells[j] - first_cell
        if column < -stamp_cells or column >= columns + stamp_cells:
            continue
        for r in range(max(-row, 0), min(2 * stamp_rows + 1, rows - row)):
            for part in range(0, wide, LANES):
                lower(table, (row + r) * stride + column + stamp_cells + part, stamps, stamp + r * wide + part)


@nb.njit(cache=True, nogil=True)
def _shifts(
    words: np.uint64, span: int, first_cell: int, last_cell: int, table: Bytes, stride: int, places: Integers,
    weights: Integers, n: int, most: int, possible: Words,
) -> bool:  # fmt: skip
    """Which alignments have a sum over the notes of the lighter melody that is not more than `most`; whether any has.

    Note r lies at `places[r]` of the table when it is not moved. Bit b of `possible[64 * c + t]` is the shift by
    32 * c + b cells after the first, at transposition bit t.
    """
    is_any = False
    for t in range(64):
        if (words >> np.uint64(t)) & _U1 == _U0:
            continue
        for first in range(first_cell, last_cell + 1, 2 * LANES):
            moved, sums, later, left = (t - span) * stride + first, no_lanes(), no_lanes(), _U1
            is_long = last_cell - first >= LANES
            for begin in range(0, n, _TOGETHER):
                for r in range(begin, min(begin + _TOGETHER, n)):
                    sums = add_products(sums, table, places[r] + moved, weights[r])
                    if is_long:
                        later = add_products(later, table, places[r] + moved + LANES, weights[r])
                left = within(sums, most)
                if is_long:
                    left |= within(later, most) << np.uint64(LANES)
                if left == _U0:
                    break
            if last_cell - first < 2 * LANES - 1:
                left &= (_U1 << np.uint64(last_cell - first + 1)) - _U1
            possible[64 * ((first - first_cell) // (2 * LANES)) + t] = left
            is_any |= left != _U0
    return is_any


@nb.njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def scan_block(
    words: Words,
    lows: npt.NDArray[np.int8],
    spans: npt.NDArray[np.uint8],
    grids: npt.NDArray[np.int32],
    offsets: Integers,
    times: npt.NDArray[np.int32],
    pitches: npt.NDArray[np.int8],
    weights: npt.NDArray[np.float32],
    allowed: npt.NDArray[np.bool_],
    query_x: Array,
    query_y: Array,
    query_w: Array,
    order: Integers,
    pitch_unit: float,
    cell: float,
    ground: int,
    span: int,
    pitch_shifts: Words,
    pitch_steps: Integers,
    query_weights: Shorts,
    parts: float,
    tempos: Array,
    scales_weights: bool,
    tempo_cells: Array,
    tempo_grids: Integers,
    by_pitch: Integers,
    query_pitch: Integers,
    query_cells: Integers,
    starts: Integers,
    heaviest: Integers,
    factors: Integers,
    factor: float,
    stamps: Bytes,
    off_grid: int,
    stamp_rows: int,
    stamp_cells: int,
    reach: float,
    query_tables: Bytes,
    query_table_stride: int,
    query_table_size: int,
    query_table_place: int,
    missing: float,
    limit: float,
    bounds: Array,
) -> None:
    """A lower bound on the distance of each document; infinite above the limit, 0 for one that cannot be tabled.

    `query_weights` are what `transpositions` asks for, in `parts` to a unit of weight. `by_pitch` are the numbers of
    the query's notes in the order of pitch; `query_pitch`, counted from its lowest, and `query_cells` are in that
    order, and `starts[p]` is the first there at pitch p or above. `heaviest` says where in it the heaviest notes are,
    and `factors` are their weights, `factor` times what they were and rounded down. `tempo_cells[k]`: cells in a tick
    at tempo k; `tempo_grids[k]`: ticks in a cell, 0 if not whole. `stamps`: one for documents on the grid, and from
    `off_grid` on one for those off it; it covers `stamp_rows` semitones and `stamp_cells` cells on either side.
    `query_tables`: the same two for a query that is heavier than the document, from its last cell to its first and its
    highest pitch to its lowest; the lowest pitch in the first cell is at `query_table_place`.
    """
    count, n = len(bounds), len(query_x)
    alive = np.empty(((count + BLOCK - 1) // BLOCK) * BLOCK, np.uint64)
    padded, work = np.zeros(BLOCK, np.uint64), np.empty((PITCH_LEVELS + 6) * BLOCK, np.uint64)
    for block in range(0, count, BLOCK):
        inside = words[block : block + BLOCK]
        if len(inside) < BLOCK:
            padded[: len(inside)] = inside
            inside = padded
        pitch_scan(inside, pitch_shifts, pitch_steps, work, alive[block : block + BLOCK])
    longest, longest_cells = 1, tempo_cells.max()
    widest_query, widest = int(query_cells.max()), 0.0
    for d in range(count):
        longest = max(longest, offsets[d + 1] - offsets[d])
        if offsets[d + 1] > offsets[d]:
            widest = max(widest, times[offsets[d + 1] - 1] * longest_cells)
    document_x, document_y, document_w = np.empty(longest), np.empty(longest), np.empty(longest)
    document_order, pieces = np.arange(longest), np.empty((2, 2 * max(longest, n)))
    cells, whole_weights = np.empty(longest, np.int64), np.empty(longest, np.int64)
    places, document_factors = np.empty(max(longest, n), np.int64), np.empty(longest, np.int64)
    below = np.empty(MOST_ROWS, np.int64)
    possible = np.empty(64 * ((int(min(widest, LONGEST)) + widest_query) // (2 * LANES) + 2), np.uint64)
    table = np.empty(1, np.uint8)
    total_query = query_w.sum()
    centre_query = (query_x * query_w).sum() / total_query
    for d in range(count):
        bounds[d] = np.inf
        start, end = offsets[d], offsets[d + 1]
        if not allowed[d] or start == end:
            continue
        m, low, top = end - start, int(lows[d]), int(spans[d])
        if top + span > WIDEST or times[end - 1] * longest_cells > LONGEST:
            bounds[d] = 0.0
            continue
        for k in range(len(tempos)):
            total, heavy = 0.0, 1.0 / tempos[k] if scales_weights else 1.0
            for j in range(m):
                document_w[j] = weights[start + j] * heavy
                total += document_w[j]
            is_light = total < total_query
            charge = (total_query - total) * missing if is_light and missing >= 0.0 else 0.0
            base = total if is_light and missing < 0.0 else total_query
            budget = min(limit, bounds[d]) * base - charge
            budget += ROUNDED * (1.0 + charge + abs(budget))
            if budget < 0.0 or not total > 0.0:
                continue
            left = alive[d]
            if missing < 0.0 and total < total_query * (1.0 + ROUNDED):
                left = (_U1 << np.uint64(top + span + 1)) - _U1  # the pitch scan does not know the lower base
            if left == _U0:
                continue
            for j in range(m):
                whole_weights[j] = int(document_w[j] * parts * (1 << SPARE_BITS))
            most = int(budget / pitch_unit * parts) + 1
            left = transpositions(
                left, pitches, whole_weights, start, m, low, top, is_light, query_weights, most, below
            )  # fmt: skip
            if left == _U0:
                continue
            lowest, highest = -span, 63 - span
            while (left >> np.uint64(lowest + span)) & _U1 == _U0:
                lowest += 1
            while (left >> np.uint64(highest + span)) & _U1 == _U0:
                highest -= 1
            for j in range(m):
                document_x[j] = times[start + j] * tempo_cells[k] * cell
                cells[j] = int(times[start + j] * tempo_cells[k] + EPSILON)
            if is_light:
                centre = 0.0
                for j in range(m):
                    centre += document_w[j] * document_x[j]
                first, last = centre_shifts(centre / total, True, query_x, query_w, n, total, budget)
            else:
                first, last = centre_shifts(centre_query, False, document_x, document_w, m, total_query, budget)
            first_cell = max(int(np.floor(first / cell)), -widest_query)
            last_cell = min(int(np.ceil(last / cell)), int(cells[m - 1]))
            if first_cell > last_cell:
                continue
            is_on_grid = tempo_grids[k] > 0 and grids[d] % max(tempo_grids[k], 1) == 0
            columns = last_cell - first_cell + widest_query + 1
            stride = query_table_stride if is_light else columns + 2 * stamp_cells
            most = int(budget * factor * FAR / reach) + 1
            if is_light:
                is_any = last_cell >= MARGIN or cells[m - 1] - first_cell >= widest_query + MARGIN
                if is_any:
                    possible[: 64 * ((last_cell - first_cell) // (2 * LANES) + 1)] = ~_U0
                else:
                    origin = query_table_place + (0 if is_on_grid else query_table_size)
                    for j in range(m):
                        document_factors[j] = min(int(document_w[j] * factor), MOST // FAR)
                        places[j] = origin - (int(pitches[start + j]) - low) * stride - cells[j]
                    is_any = _shifts(
                        left, span, first_cell, last_cell, query_tables, stride, places, document_factors, m, most,
                        possible,
                    )  # fmt: skip
            else:
                rows = highest - lowest + 1 + span + 2 * stamp_rows
                size = rows * stride + 2 * stamp_cells + 4 * LANES
                if len(table) < size:
                    table = np.empty(2 * size, np.uint8)
                _table(
                    table, size, rows, stride, columns, pitches, start, cells, m, low + lowest, first_cell, stamps,
                    0 if is_on_grid else off_grid, stamp_rows, stamp_cells,
                )  # fmt: skip
                origin = (stamp_rows - lowest) * stride + 2 * stamp_cells - first_cell
                for r in range(n):
                    places[r] = query_pitch[heaviest[r]] * stride + query_cells[heaviest[r]] + origin
                is_any = _shifts(left, span, first_cell, last_cell, table, stride, places, factors, n, most, possible)
            if not is_any:
                continue
            for j in range(m):
                document_y[j] = pitches[start + j] * pitch_unit
            for j in range(m):
                over = int(pitches[start + j]) - low
                from_note = starts[min(max(over - highest, 0), span + 1)]
                to_note = starts[min(max(over - lowest + 1, 0), span + 1)]
                for r in range(from_note, to_note):
                    bit, shift = over - query_pitch[r] + span, cells[j] - query_cells[r] - first_cell
                    if shift < 0 or shift > last_cell - first_cell or (left >> np.uint64(bit)) & _U1 == _U0:
                        continue
                    if (possible[64 * (shift // (2 * LANES)) + bit] >> np.uint64(shift % (2 * LANES))) & _U1 == _U0:
                        continue
                    budget = min(limit, bounds[d]) * base - charge
                    budget += ROUNDED * (1.0 + charge + abs(budget))
                    bound = pair_bound(
                        query_x, query_y, query_w, order, document_x, document_y, document_w, document_order, m,
                        by_pitch[r], j, is_light, budget, ground,
                    )  # fmt: skip
                    if bound > budget:
                        continue
                    back = second_bound(
                        query_x, query_y, query_w, document_x, document_y, document_w, m, by_pitch[r], j, is_light,
                        min(total, total_query), ground, pieces,
                    )  # fmt: skip
                    bound = max(bound, back)
                    if bound <= budget:
                        bounds[d] = min(bounds[d], max(bound + charge - ROUNDED * (1.0 + charge + bound), 0.0) / base)
