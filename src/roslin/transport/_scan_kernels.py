"""Numba kernels of the search: a cheap lower bound for every document of a collection.

All stages bound from below the distance that `align_document` would find, so that nothing is lost.

1. Which pitches occur (`_pitch_scan`). A document is one word, a bit for each semitone that occurs in it, counted from
   its lowest. Shifting that word by a query pitch lines up bit t with transposition t, so one operation tests 64
   transpositions. Query weight that has no document pitch within 0, 1, 2 semitones costs at least 1, 2, 3 semitones.
2. How much weight they have (`_transpositions`). The lighter melody is moved completely. What it has below some pitch,
   more than the heavier has there, must cross that pitch; so must what it has above, more than the heavier has there.
3. Where the centre is (`centre_shifts`). The matched part of the heavier melody has its centre between that of its
   earliest weight and that of its latest; the centre of the lighter cannot be farther from it than the limit.
4. The nearest notes (`_table`, `_sums`), for the alignments that are left. Time is cut into cells. A table of small
   numbers, a row for each pitch, a column for each cell, says how far it is at least from there to the nearest note of
   the heavier melody: every note stamps its surroundings on it. The bound is the sum over the notes of the lighter. The
   table of a lighter query is stamped for each document; a heavier query has one table for all.
5. For the alignments that are still left, `pair_bound`, which the comparison itself begins with.

Stages are functions that do one document, because a call costs as much as ten notes. The compiler turns their loops
into vector instructions where they run over plain lines of numbers with unsigned indices.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from roslin.transport._align_kernels import centre_shifts, pair_bound

__all__ = [
    "EPSILON",
    "FAR",
    "MARGIN",
    "PAD",
    "PITCH_LEVELS",
    "PITCH_STEPS",
    "RIM",
    "STRIDES",
    "WHOLE",
    "WIDEST",
    "scan_block",
]

Array = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

BLOCK = 512
PITCH_LEVELS = 3
PITCH_STEPS = 63
# Distances in the table: FAR is `reach` or more. Weights are in parts of the query's: WHOLE are all of it.
FAR = 255
WHOLE = 1 << 20
# Lengths of a row of the table for which there is a stamp in one line; longer rows are stamped one by one.
STRIDES = (32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 512)
# Lines are filled and stamped in multiples of this.
PAD = 128
# The longest document that is tabled, in cells; the widest spans of query and document together: transpositions must
# fit into a word.
LONGEST = 4096
WIDEST = 59
# So many semitones below and above a document count as pitches that weight may cross.
RIM = 8
# A lighter document may have so many cells before and after the query in the query's table.
MARGIN = 600
# A place on the grid may come out a little below itself.
EPSILON = 1e-6
# Weights come as 32-bit numbers: what that may change in a distance, and in a sum over pitches.
ROUNDED = 1e-6
ROUNDED_SUM = 2e-5

_U0, _U1, _U2, _U3, _U4, _U5 = (np.uint64(k) for k in range(6))
_B = np.uint64(BLOCK)
_K0, _K1, _K2, _K3, _K4, _K5 = (np.uint64((PITCH_LEVELS + k) * BLOCK) for k in range(6))


@nb.njit(cache=True, nogil=True)
def _pitch_scan(words: Words, shifts: Words, steps: Integers, work: Words, alive: Words) -> None:
    """Which transpositions of BLOCK documents are within the budget: bits of `alive`.

    For query pitch g: `shifts[g]`, how far its word goes to the left; `steps[g, level]`, what missing a level costs,
    in parts of the budget (PITCH_STEPS + 1 are the whole). Bit `span of query + t` is the transposition that puts the
    query's lowest pitch t semitones above the document's lowest.
    """
    for q in range(BLOCK):
        p = np.uint64(q)
        word = words[p] << _U2  # two spare bits, for what lies below the lowest
        within = word | (word << _U1) | (word >> _U1)
        work[p] = word
        work[_B + p] = within
        work[_U2 * _B + p] = within | (within << _U1) | (within >> _U1)
        work[_K0 + p] = _U0
        work[_K1 + p] = _U0
        work[_K2 + p] = _U0
        work[_K3 + p] = _U0
        work[_K4 + p] = _U0
        work[_K5 + p] = _U0
        alive[p] = _U0  # for the time being: what is too dear
    for g in range(len(shifts)):
        shift = shifts[g]
        for level in range(PITCH_LEVELS):
            value = np.uint64(steps[g, level])
            if value == _U0:
                continue
            k0, k1, k2 = _U0 - (value & _U1), _U0 - ((value >> _U1) & _U1), _U0 - ((value >> _U2) & _U1)
            k3, k4, k5 = _U0 - ((value >> _U3) & _U1), _U0 - ((value >> _U4) & _U1), _U0 - ((value >> _U5) & _U1)
            base = np.uint64(level) * _B
            for q in range(BLOCK):
                p = np.uint64(q)
                missed = ~(work[base + p] << shift)
                a = missed & k0
                c = work[_K0 + p]
                work[_K0 + p] = c ^ a
                carry = c & a
                a = missed & k1
                c = work[_K1 + p]
                t = c ^ a
                work[_K1 + p] = t ^ carry
                carry = (c & a) | (carry & t)
                a = missed & k2
                c = work[_K2 + p]
                t = c ^ a
                work[_K2 + p] = t ^ carry
                carry = (c & a) | (carry & t)
                a = missed & k3
                c = work[_K3 + p]
                t = c ^ a
                work[_K3 + p] = t ^ carry
                carry = (c & a) | (carry & t)
                a = missed & k4
                c = work[_K4 + p]
                t = c ^ a
                work[_K4 + p] = t ^ carry
                carry = (c & a) | (carry & t)
                a = missed & k5
                c = work[_K5 + p]
                t = c ^ a
                work[_K5 + p] = t ^ carry
                alive[p] |= (c & a) | (carry & t)
    for q in range(BLOCK):
        work[_K0 + np.uint64(q)] = _U0
    for g in range(len(shifts)):
        shift = shifts[g]
        for q in range(BLOCK):
            p = np.uint64(q)
            work[_K0 + p] |= work[p] << shift
    for q in range(BLOCK):
        p = np.uint64(q)
        # At least one query pitch must lie on a document pitch, as in every alignment that is tried.
        alive[p] = (~alive[p] & work[_K0 + p]) >> _U2


@nb.njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def _transpositions(
    words: np.uint64,
    pitches: npt.NDArray[np.int8],
    weights: Array,
    start: int,
    m: int,
    low: int,
    top: int,
    total: float,
    span: int,
    query_below: Array,
    query_above: Array,
    sign: float,
    most: float,
    below: Array,
    above: Array,
) -> np.uint64:
    """Those of the transpositions in `words` at which what must cross a pitch is not more than `most` semitones.

    `query_below[y + WIDEST + RIM]` is the weight of the query at pitch y or below it, `query_above` the rest. `below`
    and `above` are the same for the document, from RIM semitones below its lowest pitch to RIM above its highest.
    """
    rows = (top + 2 * RIM + 4) // 4 * 4
    for p in range(rows):
        below[np.uint64(p)] = 0.0
    for j in range(m):
        below[np.uint64(int(pitches[start + j]) - low + RIM)] += weights[np.uint64(j)]
    under = 0.0
    for p in range(rows):
        under += below[np.uint64(p)]
        below[np.uint64(p)] = under
        above[np.uint64(p)] = total - under
    left: np.uint64 = _U0
    for t in range(-span, top + 1):
        bit = np.uint64(t + span)
        if (words >> bit) & _U1 == _U0:
            continue
        crossing, first = 0.0, np.uint64(WIDEST - t)
        for row in range(rows):
            at = np.uint64(row)
            crossing += max(sign * (query_below[first + at] - below[at]), 0.0)
            crossing += max(sign * (query_above[first + at] - above[at]), 0.0)
        if crossing <= most:
            left |= _U1 << bit
    return left


@nb.njit(cache=True, nogil=True)
def _table(
    table: Bytes,
    size: int,
    rows: int,
    stride: int,
    columns: int,
    pitches: npt.NDArray[np.int8],
    start: int,
    cells: Integers,
    m: int,
    lowest: int,
    first_cell: int,
    stamps: Bytes,
    stamp: int,
    is_row_by_row: bool,
    stamp_rows: int,
    stamp_cells: int,
) -> None:
    """Stamp every note of a document on an empty table.

    Around the rows and columns that will be asked for is room for a stamp on every side; what a stamp writes beyond the
    end of a row lies in the room before the next.
    """
    for q in range((size + PAD - 1) // PAD * PAD):
        table[np.uint64(q)] = np.uint8(FAR)
    wide = 2 * stamp_cells + 1
    for j in range(m):
        row = int(pitches[start + j]) - lowest
        column = cells[j] - first_cell
        if row <= -2 * stamp_rows - 1 or row >= rows or column < -stamp_cells or column >= columns + stamp_cells:
            continue
        first, last = max(-row, 0), min(2 * stamp_rows, rows - 1 - row)
        step = 1 if is_row_by_row else last - first + 1
        length = wide if is_row_by_row else ((last - first) * stride + wide + PAD - 1) // PAD * PAD
        for r in range(first, last + 1, step):
            to = np.uint64((row + r) * stride + column + wide)
            of = np.uint64(stamp + r * (wide if is_row_by_row else stride))
            for q in range(length):
                p = np.uint64(q)
                old, new = table[to + p], stamps[of + p]
                table[to + p] = new if new < old else old


@nb.njit(cache=True, nogil=True)
def _pairs(
    words: np.uint64,
    pitches: npt.NDArray[np.int8],
    start: int,
    cells: Integers,
    m: int,
    low: int,
    lowest: int,
    highest: int,
    first_cell: int,
    last_cell: int,
    span: int,
    query_pitch: Integers,
    query_cells: Integers,
    starts: Integers,
    document_places: Integers,
    query_places: Integers,
    pairs: Integers,
    places: Integers,
) -> int:
    """The alignments within these transpositions and shifts, as `j * n + r`; `places` is where they are in the table.

    The query is in the order of pitch; `starts[p]` is its first note at pitch p or above.
    """
    count, n = 0, len(query_pitch)
    for j in range(m):
        over = int(pitches[start + j]) - low
        begin, end = starts[min(max(over - highest, 0), span + 1)], starts[min(max(over - lowest + 1, 0), span + 1)]
        for q in range(begin, end):
            r, c = np.uint64(q), np.uint64(count)
            shift = cells[j] - query_cells[r]
            places[c] = document_places[j] - query_places[r]
            pairs[c] = j * n + q
            is_possible = (words >> np.uint64(over - query_pitch[r] + span)) & _U1
            count += int((shift >= first_cell) & (shift <= last_cell)) * int(np.int64(is_possible))
    return count


@nb.njit(cache=True, nogil=True)
def _sums(
    table: Bytes, sign: int, notes: Integers, weights: Integers, n: int, most: int, pairs: Integers, places: Integers,
    count: int,
) -> int:  # fmt: skip
    """Keep the alignments whose sum over the notes of the lighter melody is not more than `most`."""
    left = 0
    for c in range(count):
        place, total = sign * places[np.uint64(c)], np.int64(0)
        for q in range(n):
            r = np.uint64(q)
            total += weights[r] * np.int64(table[np.uint64(place + notes[r])])
            if total > most:
                break
        pairs[np.uint64(left)] = pairs[np.uint64(c)]
        left += int(total <= most)
    return left


@nb.njit(cache=True, nogil=True)
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
    query_below: Array,
    query_above: Array,
    tempos: Array,
    scales_weights: bool,
    tempo_cells: Array,
    tempo_grids: Integers,
    by_pitch: Integers,
    query_pitch: Integers,
    query_cells: Integers,
    starts: Integers,
    heaviest: Integers,
    query_wholes: Integers,
    stamps: Bytes,
    stamp_starts: Integers,
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

    `by_pitch` are the numbers of the query's notes in the order of pitch; `query_pitch`, counted from its lowest, and
    `query_cells` are in that order. `heaviest` says where in it the heaviest notes are, and `query_wholes` are their
    weights in parts of WHOLE. `tempo_cells[k]`: cells in a tick at tempo k; `tempo_grids[k]`: ticks in a cell, 0 if not
    whole. `stamps`: for documents on the grid and off it, a stamp for each of STRIDES and one for single rows, from
    `stamp_starts` on; it covers `stamp_rows` semitones and `stamp_cells` cells on either side. `query_tables`: the same
    two for a query that is heavier than the document, with its lowest pitch and first cell at `query_table_place`.
    """
    count, n = len(bounds), len(query_x)
    alive = np.empty(((count + BLOCK - 1) // BLOCK) * BLOCK, np.uint64)
    padded, work = np.zeros(BLOCK, np.uint64), np.empty((PITCH_LEVELS + 6) * BLOCK, np.uint64)
    for block in range(0, count, BLOCK):
        inside = words[block : block + BLOCK]
        if len(inside) < BLOCK:
            padded[: len(inside)] = inside
            inside = padded
        _pitch_scan(inside, pitch_shifts, pitch_steps, work, alive[block : block + BLOCK])
    longest = 1
    for d in range(count):
        longest = max(longest, offsets[d + 1] - offsets[d])
    document_x, document_y, document_w = np.empty(longest), np.empty(longest), np.empty(longest)
    document_order = np.arange(longest)
    cells, wholes = np.empty(longest, np.int64), np.empty(longest, np.int64)
    document_places = np.empty(longest, np.int64)
    below, above = np.empty(WIDEST + 2 * RIM + 4), np.empty(WIDEST + 2 * RIM + 4)
    pairs, places = np.empty(n * longest, np.int64), np.empty(n * longest, np.int64)
    query_places, heaviest_places = np.empty(n, np.int64), np.empty(n, np.int64)
    table = np.empty(1, np.uint8)
    total_query, widest_query, wide = query_w.sum(), int(query_cells.max()), 2 * stamp_cells + 1
    longest_cells = tempo_cells.max()
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
            total = 0.0
            for j in range(m):
                document_w[j] = weights[start + j] / (tempos[k] if scales_weights else 1.0)
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
            left = _transpositions(
                left, pitches, document_w, start, m, low, top, total, span, query_below, query_above,
                -1.0 if is_light else 1.0, budget / pitch_unit + ROUNDED_SUM * (total + total_query), below, above,
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
            first, last = centre_shifts(query_x, query_w, total_query, document_x, document_w, m, total, budget)
            first_cell = max(int(np.floor(first / cell)), -widest_query)
            last_cell = min(int(np.ceil(last / cell)), int(cells[m - 1]))
            if first_cell > last_cell:
                continue
            is_on_grid = tempo_grids[k] > 0 and grids[d] % max(tempo_grids[k], 1) == 0
            columns = last_cell - first_cell + widest_query + 1
            stride, form = columns + 2 * stamp_cells, len(STRIDES)
            if is_light:
                stride = query_table_stride
            else:
                for f in range(len(STRIDES)):
                    if STRIDES[f] >= stride:
                        stride, form = STRIDES[f], f
                        break
            for j in range(m):
                document_places[j] = (int(pitches[start + j]) - low) * stride + cells[j]
            for r in range(n):
                query_places[r] = query_pitch[r] * stride + query_cells[r]
            found = _pairs(
                left, pitches, start, cells, m, low, lowest, highest, first_cell, last_cell, span,
                query_pitch, query_cells, starts, document_places, query_places, pairs, places,
            )  # fmt: skip
            if found == 0:
                continue
            most = int(budget * WHOLE * FAR / (total_query * reach)) + 1
            if is_light:
                if last_cell < MARGIN and cells[m - 1] - first_cell < widest_query + MARGIN:
                    origin = query_table_place + (0 if is_on_grid else query_table_size)
                    for j in range(m):
                        wholes[j] = int(document_w[j] * WHOLE / total_query)
                        document_places[j] += origin
                    found = _sums(query_tables, -1, document_places, wholes, m, most, pairs, places, found)
            else:
                rows = highest - lowest + 1 + span + 2 * stamp_rows
                size = rows * stride + 2 * wide + 2 * PAD
                if len(table) < size + PAD:
                    table = np.empty(2 * size + PAD, np.uint8)
                _table(
                    table, size, rows, stride, columns, pitches, start, cells, m, low + lowest, first_cell, stamps,
                    stamp_starts[form + (0 if is_on_grid else len(STRIDES) + 1)], form == len(STRIDES),
                    stamp_rows, stamp_cells,
                )  # fmt: skip
                origin = (stamp_rows - lowest) * stride + stamp_cells + wide - first_cell
                for r in range(n):
                    heaviest_places[r] = query_places[heaviest[r]] + origin
                found = _sums(table, 1, heaviest_places, query_wholes, n, most, pairs, places, found)
            if found == 0:
                continue
            for j in range(m):
                document_y[j] = pitches[start + j] * pitch_unit
            for c in range(found):
                budget = min(limit, bounds[d]) * base - charge
                budget += ROUNDED * (1.0 + charge + abs(budget))
                bound = pair_bound(
                    query_x, query_y, query_w, order, document_x, document_y, document_w, document_order, m,
                    by_pitch[pairs[c] % n], pairs[c] // n, is_light, budget, ground,
                )  # fmt: skip
                if bound <= budget:
                    bounds[d] = min(bounds[d], max(bound + charge - ROUNDED * (1.0 + charge + bound), 0.0) / base)
