"""Numba kernels of the search: a cheap lower bound for every document of a collection.

All stages bound from below the distance that `align_document` would find, so that nothing is lost.

1. Which pitches occur (`_pitch_kernels.pitches_in_reach`).
2. How much weight must cross a pitch (`_pitch_kernels.transpositions`). These two leave some transpositions.
3. Where the centre is (`centre_cells`). The matched part of the heavier melody has its centre between that of its
   earliest weight and that of its latest; the centre of the lighter cannot be farther from it than the limit. This
   leaves some shifts.
4. The nearest notes (`shifts_in_reach`), for the transpositions and shifts that are left, by a table
   (`_table_kernels`). That of a document heavier than the query is stamped for each; a heavier query has one for all.
5. For the alignments that are still left, `pair_bound`, which the comparison itself begins with (`least_bound`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel
from roslin.transport._arguments import Array, Points, Rules
from roslin.transport._bound_kernels import centre_shifts, pair_bound, second_bound
from roslin.transport._kernels import budget_of, charge_and_base
from roslin.transport._lanes import LANES
from roslin.transport._pitch_kernels import (
    MOST_ROWS,
    TRANSPOSITIONS,
    WIDEST,
    Heights,
    Integers,
    Words,
    pitches_in_reach,
    transpositions,
)
from roslin.transport._table_kernels import (
    AT_ONCE,
    FAR,
    Bytes,
    Shape,
    Stamps,
    Window,
    stamp_document,
    sums_in_reach,
)

__all__ = [
    "EPSILON",
    "MARGIN",
    "MOST",
    "ROUNDED",
    "Block",
    "Candidate",
    "Grid",
    "QueryTable",
    "Room",
    "Scan",
    "Sums",
    "centre_cells",
    "least_bound",
    "make_room",
    "scan_block",
    "shifts_in_reach",
]

# The limit as a sum of small numbers; the largest product of a distance and a weight is not much more. Sums go up to
# 65535, which leaves room for rounding.
MOST = 65000
# The longest document that is tabled, in cells.
LONGEST = 4096
# A lighter document may have so many cells before and after the query in the query's table.
MARGIN = 600
# A place on the grid may come out a little below itself: so much of a cell.
EPSILON = 1e-6
# Weights come as 32-bit numbers: what that may change in a distance.
ROUNDED = 1e-6

_U0, _U1 = np.uint64(0), np.uint64(1)


class Block(NamedTuple):
    """Successive documents of an index (search/index.py), and which of them are asked for.

    words     (documents,): a bit for each semitone that occurs in it, counted from its lowest pitch
    lows      (documents,): its lowest pitch
    spans     (documents,): semitones from there to its highest
    grids     (documents,): the greatest common divisor of its onsets, in ticks
    offsets   (documents + 1,): where its notes begin
    times     (notes,): onset in ticks from the first of the document
    pitches   (notes,)
    weights   (notes,)
    allowed   (documents,): whether it is asked for
    """

    words: Words
    lows: npt.NDArray[np.int8]
    spans: npt.NDArray[np.uint8]
    grids: npt.NDArray[np.int32]
    offsets: Integers
    times: npt.NDArray[np.int32]
    pitches: npt.NDArray[np.int8]
    weights: npt.NDArray[np.float32]
    allowed: npt.NDArray[np.bool_]


class Grid(NamedTuple):
    """Time in cells, and where the n notes of the query are in them, in order of pitch.

    cell       the length of a cell in units
    per_tick   (tempos,): cells in a tick of a document at this tempo
    ticks      (tempos,): ticks in a cell; 0 where that is no whole number
    numbers    (n,): which point of the query it is
    pitch      (n,): its pitch, counted from the query's lowest
    cells      (n,): its cell
    starts     (span + 2,): the first of them at this pitch or above
    """

    cell: float
    per_tick: Array
    ticks: Integers
    numbers: Integers
    pitch: Integers
    cells: Integers
    starts: Integers


class Sums(NamedTuple):
    """What the sums over a table need to know.

    reach      the farthest that is told apart, in units
    factor     what weights are multiplied by before they are rounded down
    heaviest   (n,): places in `Grid.numbers`, the heaviest notes first
    factors    (n,): the weights of these, multiplied
    """

    reach: float
    factor: float
    heaviest: Integers
    factors: Integers


class QueryTable(NamedTuple):
    """The table of the query, for documents that are lighter: turned round, from its last cell and highest pitch on.

    numbers   (bytes,): the table for documents on the grid, then that for those off it
    stride    numbers from one row to the next
    size      where the second begins
    place     where the lowest pitch in the first cell is
    """

    numbers: Bytes
    stride: int
    size: int
    place: int


class Scan(NamedTuple):
    """All that the scan knows about a query and a limit; made by `bounds.scan_of`."""

    query: Points
    rules: Rules
    limit: float
    heights: Heights
    grid: Grid
    sums: Sums
    stamps: Stamps
    table: QueryTable


class Candidate(NamedTuple):
    """A document of m notes at one tempo, in the query's frame.

    points     (m,) each
    pitches    (m,)
    cells      (m,): the cell of each note
    low        its lowest pitch
    total      its weight
    is_light   whether that is less than the query's
    charge     `charge_and_base`
    base       `charge_and_base`
    """

    points: Points
    pitches: npt.NDArray[np.int8]
    cells: Integers
    low: int
    total: float
    is_light: bool
    charge: float
    base: float


class Room(NamedTuple):
    """Memory for the work on one document after another.

    x, y, weight, order, cells   (longest document,): for a Candidate
    factors                      (longest document,): weights as `sums_in_reach` takes them
    places                       (longest document or query,)
    below                        (MOST_ROWS,), for `transpositions`
    pieces                       (2, twice the longest document or query), for `second_bound`
    possible                     words for `sums_in_reach`, up to the widest document
    table                        bytes for `stamp_document`, up to the widest document
    """

    x: Array
    y: Array
    weight: Array
    order: Integers
    cells: Integers
    factors: Integers
    places: Integers
    below: Integers
    pieces: Array
    possible: Words
    table: Bytes


@kernel
def make_room(longest: int, widest: int, scan: Scan) -> Room:
    """Room for documents of so many notes and cells."""
    more, query_cells = max(longest, len(scan.query.x)), int(scan.grid.cells.max())
    rows = WIDEST + 1 + scan.heights.span + 2 * scan.stamps.rows
    columns = widest + 2 * query_cells + 1
    return Room(
        np.empty(longest),
        np.empty(longest),
        np.empty(longest),
        np.arange(longest),
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.empty(more, np.int64),
        np.empty(MOST_ROWS, np.int64),
        np.empty((2, 2 * more)),
        np.empty(TRANSPOSITIONS * ((widest + query_cells) // AT_ONCE + 2), np.uint64),
        np.empty(rows * (columns + 2 * scan.stamps.cells) + 2 * scan.stamps.cells + 4 * LANES, np.uint8),
    )


@kernel(fastmath={"reassoc", "nsz"})
def centre_cells(
    query: Points, query_centre: float, document: Points, amount: float, is_light: bool, budget: float, cell: float
) -> tuple[int, int]:
    """Stage 3: the first shift and the last, in cells, at which the centres may be near enough.

    `query_centre` is the centre of the query in time, `amount` the weight of the lighter melody; `is_light`: that is
    the document.
    """
    x, weight = document.x, document.weight
    if is_light:
        centre = 0.0
        for j in range(len(x)):
            centre += weight[j] * x[j]
        first, last = centre_shifts(centre / amount, True, query.x, query.weight, len(query.x), amount, budget)
    else:
        first, last = centre_shifts(query_centre, False, x, weight, len(x), amount, budget)
    return int(np.floor(first / cell)), int(np.ceil(last / cell))


@kernel
def _transposition_range(words: np.uint64, span: int) -> tuple[int, int]:
    """The lowest and the highest transposition among the bits."""
    lowest, highest = -span, TRANSPOSITIONS - 1 - span
    while (words >> np.uint64(lowest + span)) & _U1 == _U0:
        lowest += 1
    while (words >> np.uint64(highest + span)) & _U1 == _U0:
        highest -= 1
    return lowest, highest


@kernel
def shifts_in_reach(
    window: Window, document: Candidate, is_on_grid: bool, budget: float, scan: Scan, room: Room
) -> bool:
    """Stage 4: which alignments of the window may cost no more than the budget, into `room.possible`; whether any may.

    See `sums_in_reach` for what the bits mean.
    """
    points, pitches, cells, low = document.points, document.pitches, document.cells, document.low
    grid, sums, stamps, table = scan.grid, scan.sums, scan.stamps, scan.table
    span, places, m = scan.heights.span, room.places, len(cells)
    widest_query = int(grid.cells.max())
    most = int(budget * sums.factor * FAR / sums.reach) + 1
    if document.is_light:
        if window.last >= MARGIN or cells[m - 1] - window.first >= widest_query + MARGIN:
            room.possible[: TRANSPOSITIONS * ((window.last - window.first) // AT_ONCE + 1)] = ~_U0
            return True
        origin = table.place + (0 if is_on_grid else table.size)
        for j in range(m):
            room.factors[j] = min(int(points.weight[j] * sums.factor), MOST // FAR)
            places[j] = origin - (int(pitches[j]) - low) * table.stride - cells[j]
        return sums_in_reach(
            window, span, table.numbers, table.stride, places, room.factors, m, most, room.possible
        )  # fmt: skip
    lowest, highest = _transposition_range(window.words, span)
    columns = window.last - window.first + widest_query + 1
    stride = columns + 2 * stamps.cells
    rows = highest - lowest + 1 + span + 2 * stamps.rows
    shape = Shape(rows, columns, stride, low + lowest, window.first)
    size = rows * stride + 2 * stamps.cells + 4 * LANES
    stamp_document(room.table, size, shape, pitches, cells, stamps, 0 if is_on_grid else stamps.off_grid)
    origin = (stamps.rows - lowest) * stride + 2 * stamps.cells - window.first
    n = len(grid.cells)
    for r in range(n):
        places[r] = grid.pitch[sums.heaviest[r]] * stride + grid.cells[sums.heaviest[r]] + origin
    return sums_in_reach(window, span, room.table, stride, places, sums.factors, n, most, room.possible)


@kernel
def least_bound(window: Window, document: Candidate, best: float, scan: Scan, room: Room) -> float:
    """Stage 5: the least that an alignment in `room.possible` costs, as a distance; `best` if that is not more.

    Alignments that cost more than the limit do not count.
    """
    points, pitches, cells = document.points, document.pitches, document.cells
    query, grid, possible, pieces = scan.query, scan.grid, room.possible, room.pieces
    numbers, query_pitch, query_cells, starts = grid.numbers, grid.pitch, grid.cells, grid.starts
    is_light, charge, base, ground = document.is_light, document.charge, document.base, scan.rules.ground
    words, first_cell, last_cell = window
    span, y = scan.heights.span, points.y
    amount = document.total if is_light else query.weight.sum()
    lowest, highest = _transposition_range(words, span)
    for j in range(len(y)):
        y[j] = pitches[j] * scan.heights.semitone
    for j in range(len(y)):
        over = int(pitches[j]) - document.low
        from_note = starts[min(max(over - highest, 0), span + 1)]
        to_note = starts[min(max(over - lowest + 1, 0), span + 1)]
        for r in range(from_note, to_note):
            bit, shift = over - query_pitch[r] + span, cells[j] - query_cells[r] - first_cell
            if shift < 0 or shift > last_cell - first_cell or (words >> np.uint64(bit)) & _U1 == _U0:
                continue
            word = possible[TRANSPOSITIONS * (shift // AT_ONCE) + bit]
            if (word >> np.uint64(shift % AT_ONCE)) & _U1 == _U0:
                continue
            budget = budget_of(min(scan.limit, best), charge, base, ROUNDED)
            bound = pair_bound(query, points, numbers[r], j, is_light, budget, ground)
            if bound > budget:
                continue
            bound = max(bound, second_bound(query, points, numbers[r], j, is_light, amount, ground, pieces))
            if bound <= budget:
                best = min(best, max(bound + charge - ROUNDED * (1.0 + charge + bound), 0.0) / base)
    return best


@kernel(fastmath={"reassoc", "nsz"})
def scan_block(block: Block, scan: Scan, bounds: Array) -> None:
    """A lower bound on the distance of each document; infinite above the limit, 0 for one that cannot be tabled."""
    query, grid, heights, rules = scan.query, scan.grid, scan.heights, scan.rules
    offsets, times, pitches, weights = block.offsets, block.times, block.pitches, block.weights
    per_tick, missing, limit, span = grid.per_tick, rules.missing, scan.limit, heights.span
    count, widest_query, most_per_tick = len(bounds), int(grid.cells.max()), per_tick.max()
    left_by_pitch = pitches_in_reach(block.words, heights)
    longest, widest = 1, 0.0
    for d in range(count):
        longest = max(longest, offsets[d + 1] - offsets[d])
        if offsets[d + 1] > offsets[d]:
            widest = max(widest, times[offsets[d + 1] - 1] * most_per_tick)
    room = make_room(longest, int(min(widest, LONGEST)) + 1, scan)
    x, weight, cells = room.x, room.weight, room.cells
    total_query = query.weight.sum()
    query_centre = (query.x * query.weight).sum() / total_query
    for d in range(count):
        bounds[d] = np.inf
        start, end = offsets[d], offsets[d + 1]
        if not block.allowed[d] or start == end:
            continue
        m, low, top = end - start, int(block.lows[d]), int(block.spans[d])
        if top + span > WIDEST or times[end - 1] * most_per_tick > LONGEST:
            bounds[d] = 0.0
            continue
        for k in range(len(per_tick)):
            total, heavy = 0.0, 1.0 / rules.tempos[k] if rules.scales_weights else 1.0
            for j in range(m):
                weight[j] = weights[start + j] * heavy
                total += weight[j]
            is_light, charge, base = charge_and_base(total_query, total, missing)
            budget = budget_of(min(limit, bounds[d]), charge, base, ROUNDED)
            if budget < 0.0 or not total > 0.0:
                continue
            left = left_by_pitch[d]
            if missing < 0.0 and total < total_query * (1.0 + ROUNDED):
                left = (_U1 << np.uint64(top + span + 1)) - _U1  # stage 1 does not know the lower base
            if left == _U0:
                continue
            own_pitches, own_weights = pitches[start:end], weight[:m]
            left = transpositions(left, own_pitches, own_weights, low, top, is_light, budget, heights, room.below)
            if left == _U0:
                continue
            for j in range(m):
                x[j] = times[start + j] * per_tick[k] * grid.cell
                cells[j] = int(times[start + j] * per_tick[k] + EPSILON)
            points = Points(x[:m], room.y[:m], own_weights, room.order[:m])
            amount = total if is_light else total_query
            first, last = centre_cells(query, query_centre, points, amount, is_light, budget, grid.cell)
            window = Window(left, max(first, -widest_query), min(last, int(cells[m - 1])))
            if window.first > window.last:
                continue
            is_on_grid = grid.ticks[k] > 0 and block.grids[d] % max(grid.ticks[k], 1) == 0
            document = Candidate(points, own_pitches, cells[:m], low, total, is_light, charge, base)
            if shifts_in_reach(window, document, is_on_grid, budget, scan, room):
                bounds[d] = least_bound(window, document, bounds[d], scan, room)
