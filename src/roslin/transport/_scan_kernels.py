"""Numba kernels of the search: a cheap lower bound for every document of a collection.

All stages bound from below the distance that `align_document` would find, so that nothing is lost.

1. Which pitches occur (`_pitch_kernels.pitches_in_reach`).
2. How much weight must cross a pitch (`weight_in_reach`). These two leave some transpositions.
3. Where the centre is (`centres_in_reach`). The matched part of the heavier melody has its centre between that of its
   earliest weight and that of its latest; the centre of the lighter cannot be farther from it than the limit. This
   leaves some shifts.
4. The nearest notes (`notes_in_reach`), for the transpositions and shifts that are left, by a table (`_table_kernels`).
   That of a document heavier than the query is stamped for each; a heavier query has one for all.
5. For the alignments that are still left, `pair_bound`, which the comparison itself begins with (`pairs_in_reach`).

The first stage knows no tempo. The next two read a document once for all tempos: its weight up to each pitch, and up to
each note, is only scaled. The last two take one tempo after the other, and a document's bound is the least of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel
from roslin.transport._arguments import Array, Points, Rules
from roslin.transport._bound_kernels import centre_shifts, pair_bound, second_bound
from roslin.transport._kernels import budget_of, charge_and_base
from roslin.transport._lanes import LANES, first_bit, last_bit
from roslin.transport._pitch_kernels import (
    MOST_ROWS,
    TRANSPOSITIONS,
    WIDEST,
    Heights,
    Integers,
    Place,
    Words,
    pitches_in_reach,
    transpositions,
    weight_below,
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
    "Block",
    "Grid",
    "QueryTable",
    "Remaining",
    "Room",
    "Scan",
    "Sums",
    "at_tempo",
    "centres_in_reach",
    "make_room",
    "notes_in_reach",
    "nothing_known",
    "pairs_in_reach",
    "scan_block",
    "weight_in_reach",
]

# The limit as a sum of small numbers; the largest product of a distance and a weight is not much more. Sums go up to
# 65535, which leaves room for rounding.
MOST = 65000
# The longest document that is tabled, in cells.
LONGEST = 4096
# A lighter document may have so many cells before and after the query in the query's table.
MARGIN = 600
# Words for the bits of alignments, of some documents together: what a processor's cache holds beside the rest.
POSSIBLE = 1 << 14
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
    is_exact   whether all notes of the query lie on borders of cells
    per_tick   (tempos,): cells in a tick of a document at this tempo
    ticks      (tempos,): ticks in a cell; 0 where that is no whole number
    numbers    (n,): which point of the query it is
    pitch      (n,): its pitch, counted from the query's lowest
    cells      (n,): its cell
    starts     (span + 2,): the first of them at this pitch or above
    """

    cell: float
    is_exact: bool
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


class Remaining(NamedTuple):
    """What is left of the documents of a block after some of the stages.

    All fields are (tempos, documents); of one tempo (`at_tempo`), (documents,).

    words         the transpositions that are left, as bits; 0: no alignment is left
    totals        the weight of the document
    first, last   between which shifts those lie that are left, in cells
    places        where in `Room.possible` the bits of its alignments begin
    """

    words: Words
    totals: Array
    first: Integers
    last: Integers
    places: Integers


class Room(NamedTuple):
    """Memory for the work on one document after another.

    x, y, weight, order          (longest document,): the points of a document
    cells                        (longest document,): the cell of each note
    factors                      (longest document,): weights as `sums_in_reach` takes them
    places                       (longest document or query,)
    below                        (MOST_ROWS,), for `weight_below`
    sums                         (2, longest document): weight, and weight times time, up to each note
    pieces                       (2, twice the longest document or query), for `second_bound`
    possible                     words for `sums_in_reach`, for some documents, or for the widest
    table                        bytes for `stamp_document`, up to the widest document
    """

    x: Array
    y: Array
    weight: Array
    order: Integers
    cells: Integers
    factors: Integers
    places: Integers
    below: Array
    sums: Array
    pieces: Array
    possible: Words
    table: Bytes


@kernel
def make_room(scan: Scan, longest: int, last: int) -> Room:
    """Room for documents of up to so many notes, that begin at tick `last` at the latest."""
    more, query_cells = max(longest, len(scan.query.x)), int(scan.grid.cells.max())
    cells = int(min(last * scan.grid.per_tick.max(), LONGEST)) + 1
    rows = WIDEST + 1 + scan.heights.span + 2 * scan.stamps.rows
    stride = cells + 2 * query_cells + 1 + 2 * scan.stamps.cells
    return Room(
        np.empty(longest),
        np.empty(longest),
        np.empty(longest),
        np.arange(longest),
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.empty(more, np.int64),
        np.empty(MOST_ROWS),
        np.empty((2, longest)),
        np.empty((2, 2 * more)),
        np.empty(max(TRANSPOSITIONS * ((cells + query_cells) // AT_ONCE + 2), POSSIBLE), np.uint64),
        np.empty(rows * stride + 2 * scan.stamps.cells + 4 * LANES, np.uint8),
    )


@kernel
def nothing_known(block: Block, scan: Scan, bounds: Array) -> Remaining:
    """The state before the first stage. A document that cannot be tabled gets the bound 0; it is done with."""
    shape, most_per_tick = (len(scan.rules.tempos), len(bounds)), scan.grid.per_tick.max()
    for d in range(len(bounds)):
        end, is_wide = block.offsets[d + 1], block.spans[d] + scan.heights.span > WIDEST
        is_asked = block.allowed[d] and end > block.offsets[d]
        bounds[d] = 0.0 if is_asked and (is_wide or block.times[end - 1] * most_per_tick > LONGEST) else np.inf
    return Remaining(
        np.zeros(shape, np.uint64), np.zeros(shape), np.zeros(shape, np.int64), np.zeros(shape, np.int64),
        np.zeros(shape, np.int64),
    )  # fmt: skip


@kernel
def at_tempo(left: Remaining, k: int) -> Remaining:
    """What is left at tempo k alone."""
    return Remaining(left.words[k], left.totals[k], left.first[k], left.last[k], left.places[k])


@kernel(fastmath={"reassoc", "nsz"})
def _weigh(weights: npt.NDArray[np.float32], start: int, m: int, heavy: float, weight: Array) -> float:
    """Fill in the weights of a document's m notes at some tempo; their sum."""
    total = 0.0
    for j in range(m):
        weight[j] = weights[start + j] * heavy
        total += weight[j]
    return total


@kernel
def _fill_times(times: npt.NDArray[np.int32], start: int, m: int, per_tick: float, cell: float, x: Array) -> None:
    """Fill in the times of a document's m notes, in units."""
    for j in range(m):
        x[j] = times[start + j] * per_tick * cell


@kernel
def _fill_cells(times: npt.NDArray[np.int32], start: int, m: int, per_tick: float, cells: Integers) -> None:
    """Fill in the cells of a document's m notes."""
    for j in range(m):
        cells[j] = int(times[start + j] * per_tick + EPSILON)


@kernel(inline="always")
def _heavy(rules: Rules, k: int) -> float:
    """What weights are multiplied with at tempo k."""
    return 1.0 / rules.tempos[k] if rules.scales_weights else 1.0


@kernel(error_model="numpy")
def weight_in_reach(block: Block, scan: Scan, by_pitch: Words, bounds: Array, left: Remaining, room: Room) -> None:
    """Stage 2, at all tempos: at which transpositions not too much weight must cross a pitch.

    Of those that stage 1 has left, `by_pitch`. Also fills in the weight of each document.
    """
    offsets, weights, pitches = block.offsets, block.weights, block.pitches
    allowed, lows, spans, tempos = block.allowed, block.lows, block.spans, len(scan.rules.tempos)
    words, totals, below = left.words, left.totals, room.below
    query_weights, parts, semitone = scan.heights.weights, scan.heights.parts, scan.heights.semitone
    missing, limit, span, total_query = scan.rules.missing, scan.limit, scan.heights.span, scan.query.weight.sum()
    for d in range(len(bounds)):
        start, m, top = offsets[d], offsets[d + 1] - offsets[d], int(spans[d])
        if not allowed[d] or m == 0 or bounds[d] == 0.0 or (missing >= 0.0 and by_pitch[d] == _U0):
            continue
        total = weight_below(Place(start, m, int(lows[d]), top), pitches, weights, below)
        for k in range(tempos):
            heavy = _heavy(scan.rules, k)
            is_light, charge, base = charge_and_base(total_query, total * heavy, missing)
            budget = budget_of(min(limit, bounds[d]), charge, base, ROUNDED)
            if budget < 0.0 or not total > 0.0:
                continue
            possible = by_pitch[d]
            if missing < 0.0 and total * heavy < total_query * (1.0 + ROUNDED):
                possible = (_U1 << np.uint64(top + span + 1)) - _U1  # stage 1 does not know the lower base
            if possible == _U0:
                continue
            most = int(budget / semitone * parts) + 1
            words[k, d] = transpositions(possible, top, is_light, below, heavy * parts, query_weights, most)
            totals[k, d] = total * heavy


@kernel
def _weigh_up(
    times: npt.NDArray[np.int32], weights: npt.NDArray[np.float32], start: int, m: int, sums: Array
) -> tuple[float, float]:
    """Fill in weight, and weight times time in ticks, up to each of a document's m notes; both of the whole."""
    total, moment = 0.0, 0.0
    for j in range(m):
        weight = float(weights[start + j])
        total += weight
        moment += weight * float(times[start + j])
        sums[0, j], sums[1, j] = total, moment
    return total, moment


@kernel
def _moment(amount: float, sums: Array, times: npt.NDArray[np.int32], start: int, m: int) -> float:
    """Weight times time of a document's first notes, of so much weight."""
    low, high = 0, m - 1
    while low < high:  # the first note with which there is enough
        middle = (low + high) // 2
        if sums[0, middle] < amount:
            low = middle + 1
        else:
            high = middle
    before, moment = (float(sums[0, low - 1]), float(sums[1, low - 1])) if low else (0.0, 0.0)
    return moment + (amount - before) * float(times[start + low])


@kernel(error_model="numpy")
def centres_in_reach(block: Block, scan: Scan, bounds: Array, left: Remaining, room: Room) -> None:
    """Stage 3, at all tempos: between which shifts the centres are near enough (as `centre_shifts` has it).

    Where the document is heavier, the centres of its first and of its last weight are read off sums up to each of its
    notes, in its own time. At another tempo they are those of another amount, and everything is scaled.
    """
    offsets, weights, times, sums = block.offsets, block.weights, block.times, room.sums
    words, totals, firsts, lasts = left.words, left.totals, left.first, left.last
    query_x, query_w, n, tempos = scan.query.x, scan.query.weight, len(scan.query.x), len(scan.rules.tempos)
    cell, widest_query = scan.grid.cell, int(scan.grid.cells.max())
    missing, limit, total_query = scan.rules.missing, scan.limit, query_w.sum()
    query_centre = (query_x * query_w).sum() / total_query
    for d in range(len(bounds)):
        start, m, whole, whole_moment = offsets[d], offsets[d + 1] - offsets[d], 0.0, 0.0
        for k in range(tempos):
            if words[k, d] == _U0:
                continue
            if whole == 0.0:
                whole, whole_moment = _weigh_up(times, weights, start, m, sums)
            total, unit = totals[k, d], scan.grid.per_tick[k] * cell
            is_light, charge, base = charge_and_base(total_query, total, missing)
            budget = budget_of(min(limit, bounds[d]), charge, base, ROUNDED)
            if is_light:
                first, last = centre_shifts(whole_moment / whole * unit, True, query_x, query_w, n, total, budget)
            else:
                amount = min(total_query / _heavy(scan.rules, k), whole)
                earliest = _moment(amount, sums, times, start, m)
                latest = whole_moment - _moment(whole - amount, sums, times, start, m)
                first = earliest / amount * unit - query_centre - budget / total_query
                last = latest / amount * unit - query_centre + budget / total_query
            firsts[k, d] = max(int(np.floor(first / cell)), -widest_query)
            lasts[k, d] = min(int(np.ceil(last / cell)), int(times[start + m - 1] * scan.grid.per_tick[k] + EPSILON))
            if firsts[k, d] > lasts[k, d]:
                words[k, d] = _U0


@kernel(inline="always")
def _transposition_range(words: np.uint64, span: int) -> tuple[int, int]:
    """The lowest and the highest transposition among the bits."""
    return first_bit(words) - span, last_bit(words) - span


@kernel(error_model="numpy")
def notes_in_reach(block: Block, scan: Scan, k: int, bounds: Array, left: Remaining, room: Room, begin: int) -> int:
    """Stage 4, at tempo k, from document `begin` on: at which shifts the nearest notes are near enough.

    The bits of a document's alignments (`sums_in_reach`) go into `room.possible`, from `left.places` on. Gives the
    document before which there was no room any more.
    """
    offsets, weights, times, pitches = block.offsets, block.weights, block.times, block.pitches
    words, totals, places_of = left.words, left.totals, left.places
    weight, cells, factors, places = room.weight, room.cells, room.factors, room.places
    possible, table, query_table = room.possible, room.table, scan.table.numbers
    heaviest, query_factors, factor, reach = scan.sums.heaviest, scan.sums.factors, scan.sums.factor, scan.sums.reach
    query_pitch, query_cells, stamps = scan.grid.pitch, scan.grid.cells, scan.stamps
    per_tick, ticks, grids = scan.grid.per_tick[k], scan.grid.ticks[k], block.grids
    missing, limit, heavy, span = scan.rules.missing, scan.limit, _heavy(scan.rules, k), scan.heights.span
    n, total_query, widest_query = len(query_cells), scan.query.weight.sum(), int(query_cells.max())
    used = 0
    for d in range(begin, len(bounds)):
        if words[d] == _U0:
            continue
        window = Window(words[d], left.first[d], left.last[d], used)
        needed = TRANSPOSITIONS * ((window.last - window.first) // AT_ONCE + 1)
        if used + needed > len(possible):
            return d
        places_of[d] = used
        start, m, low, total = offsets[d], offsets[d + 1] - offsets[d], int(block.lows[d]), totals[d]
        is_light, charge, base = charge_and_base(total_query, total, missing)
        most = int(budget_of(min(limit, bounds[d]), charge, base, ROUNDED) * factor * FAR / reach) + 1
        is_on_grid = ticks > 0 and grids[d] % max(ticks, 1) == 0
        _fill_cells(times, start, m, per_tick, cells)
        if not is_light:
            lowest, highest = _transposition_range(words[d], span)
            columns = window.last - window.first + widest_query + 1
            # From a stamp below the document's lowest pitch, or the query's, to one above the highest of both.
            bottom, stride = min(0, lowest + stamps.rows), columns + 2 * stamps.cells
            rows = max(int(block.spans[d]) + stamps.rows, highest + span) - bottom + stamps.rows + 1
            shape = Shape(columns, stride, low + bottom, window.first)
            document, stamp = Place(start, m, low, 0), 0 if is_on_grid else stamps.off_grid
            stamp_document(
                table, rows * stride + 2 * stamps.cells + 4 * LANES, shape, document, pitches, cells, stamps, stamp
            )
            origin = (stamps.rows - bottom) * stride + 2 * stamps.cells - window.first
            for r in range(n):
                places[r] = query_pitch[heaviest[r]] * stride + query_cells[heaviest[r]] + origin
            is_any = sums_in_reach(window, span, table, stride, places, query_factors, n, most, possible)
        elif window.last >= MARGIN or cells[m - 1] - window.first >= widest_query + MARGIN:
            possible[used : used + needed] = ~_U0  # more than the query's table covers
            is_any = True
        else:
            stride, origin = scan.table.stride, scan.table.place + (0 if is_on_grid else scan.table.size)
            _weigh(weights, start, m, heavy, weight)
            for j in range(m):
                factors[j] = min(int(weight[j] * factor), MOST // FAR)
                places[j] = origin - (int(pitches[start + j]) - low) * stride - cells[j]
            is_any = sums_in_reach(window, span, query_table, stride, places, factors, m, most, possible)
        if is_any:
            used += needed
        else:
            words[d] = _U0
    return len(bounds)


@kernel(error_model="numpy")
def pairs_in_reach(
    block: Block, scan: Scan, k: int, bounds: Array, left: Remaining, room: Room, begin: int, end: int
) -> None:
    """Stage 5, at tempo k, for documents `begin` to `end`: the least that an alignment that is left costs.

    Lowers the bounds; alignments that cost more than the limit do not count.
    """
    offsets, weights, times, pitches, lows = block.offsets, block.weights, block.times, block.pitches, block.lows
    query, ground, missing, limit = scan.query, scan.rules.ground, scan.rules.missing, scan.limit
    numbers, query_pitch, query_cells, starts = scan.grid.numbers, scan.grid.pitch, scan.grid.cells, scan.grid.starts
    cell, per_tick, span, semitone = scan.grid.cell, scan.grid.per_tick[k], scan.heights.span, scan.heights.semitone
    x, y, weight, order, cells = room.x, room.y, room.weight, room.order, room.cells
    possible, pieces, total_query, heavy = room.possible, room.pieces, query.weight.sum(), _heavy(scan.rules, k)
    words, totals, firsts, lasts, places = left
    is_exact, ticks, grids = scan.grid.is_exact, scan.grid.ticks[k], block.grids
    for d in range(begin, end):
        if words[d] == _U0:
            continue
        # Where all notes lie on borders of cells, a bit is one alignment, however many of its notes coincide.
        is_one = is_exact and ticks > 0 and grids[d] % max(ticks, 1) == 0
        start, m, low, total = offsets[d], offsets[d + 1] - offsets[d], int(lows[d]), totals[d]
        _weigh(weights, start, m, heavy, weight)
        _fill_times(times, start, m, per_tick, cell, x)
        _fill_cells(times, start, m, per_tick, cells)
        for j in range(m):
            y[j] = pitches[start + j] * semitone
        points = Points(x[:m], y[:m], weight[:m], order[:m])
        is_light, charge, base = charge_and_base(total_query, total, missing)
        lowest, highest = _transposition_range(words[d], span)
        for j in range(m):
            over = int(pitches[start + j]) - low
            from_note = starts[min(max(over - highest, 0), span + 1)]
            to_note = starts[min(max(over - lowest + 1, 0), span + 1)]
            for r in range(from_note, to_note):
                bit, shift = over - query_pitch[r] + span, cells[j] - query_cells[r] - firsts[d]
                if shift < 0 or shift > lasts[d] - firsts[d] or (words[d] >> np.uint64(bit)) & _U1 == _U0:
                    continue
                place, in_word = (
                    places[d] + TRANSPOSITIONS * (shift // AT_ONCE) + bit,
                    _U1 << np.uint64(shift % AT_ONCE),
                )
                if possible[place] & in_word == _U0:
                    continue
                if is_one:
                    possible[place] ^= in_word
                budget = budget_of(min(limit, bounds[d]), charge, base, ROUNDED)
                bound = pair_bound(query, points, numbers[r], j, is_light, budget, ground)
                if bound > budget:
                    continue
                amount = min(total, total_query)
                bound = max(bound, second_bound(query, points, numbers[r], j, is_light, amount, ground, pieces))
                if bound <= budget:
                    bounds[d] = min(bounds[d], max(bound + charge - ROUNDED * (1.0 + charge + bound), 0.0) / base)


@kernel
def scan_block(block: Block, scan: Scan, room: Room, bounds: Array) -> None:
    """A lower bound on the distance of each document; infinite above the limit, 0 for one that cannot be tabled.

    A stage looks at all documents before the next one begins: what kernels take is then taken apart once for all.
    """
    by_pitch = pitches_in_reach(block.words, scan.heights)
    left = nothing_known(block, scan, bounds)
    weight_in_reach(block, scan, by_pitch, bounds, left, room)
    centres_in_reach(block, scan, bounds, left, room)
    for k in range(len(scan.rules.tempos)):
        here, begin = at_tempo(left, k), 0
        while begin < len(bounds):
            end = notes_in_reach(block, scan, k, bounds, here, room, begin)
            pairs_in_reach(block, scan, k, bounds, here, room, begin, end)
            begin = end
