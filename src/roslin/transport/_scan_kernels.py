"""Numba kernels of the search: a cheap lower bound for every document of a collection.

All stages bound from below the distance that `align_document` would find, so that nothing is lost.

1. Only pitches (`_pitch_scan`). A document is one word, a bit for each semitone that occurs in it, counted from its
   lowest. Shifting that word by a query pitch lines up bit t with transposition t, so one operation tests 64
   transpositions. Query weight that has no document pitch within 0, 1, 2 semitones costs at least 1, 2, 3 semitones.
2. Pitch and time (`scan_block`). Time is cut into cells. A table of small numbers, a row for each pitch, a column for
   each cell, says how far it is at least from there to the nearest note of the document: every note stamps its
   surroundings on it. The table lies in one line, so that a transposition and a shift in time together are one shift
   along that line; for each query note the whole line, multiplied with its weight, is added to a line of sums. The
   least of the sums is the bound.
3. The same with what notes can take, for documents that are left. A note cannot take more than its own weight; the
   table says how far the nearest note is, how much it takes, and how far the second is.
4. For the alignments that are left, `pair_bound`, which the comparison itself begins with.

The compiler turns these loops into vector instructions; that is why they run over plain lines of unsigned numbers.

A document lighter than the query leaves weight W - U of the query without a partner. Whatever that weight was counted
for in a sum (at most `reach` each) is given back.
"""

from __future__ import annotations

import numba as nb
import numpy as np
import numpy.typing as npt

from roslin.transport._align_kernels import pair_bound

__all__ = ["BLOCK", "FAR", "PITCH_LEVELS", "PITCH_STEPS", "STRIDES", "WEIGHTS", "scan_block"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Line = npt.NDArray[np.uint16]
Words = npt.NDArray[np.uint64]

BLOCK = 512
PITCH_LEVELS = 3
PITCH_STEPS = 63
# Distances in the table: FAR is `reach` or more. Weights of a query add up to WEIGHTS at most: no sum overflows.
FAR = 63
WEIGHTS = 1023
# Lengths of a row of the table for which there is a stamp in one line; longer rows are stamped one by one.
STRIDES = (32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256)
# The longest document that is tabled, in cells.
LONGEST = 4096
# The widest spans of query and document together: transpositions must fit into a word.
WIDEST = 59
# A place on the grid may come out a little below itself.
EPSILON = 1e-6
# Weights come as 32-bit numbers.
ROUNDED = 1e-6
# A stage that lets through this share of the first so many documents of a block is left out for the others.
TRIES, USELESS = 64, 0.6

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


@nb.njit(cache=True, nogil=True)
def _fill(line: Line, count: int, value: np.uint16) -> None:
    for q in range(count):
        line[np.uint64(q)] = value


@nb.njit(cache=True, nogil=True)
def _stamp(table: Line, start: int, stamp: Line, first: int, count: int) -> None:
    """The smaller of both, from `start` of the table and `first` of the stamp on."""
    to, of = np.uint64(start), np.uint64(first)
    for q in range(count):
        p = np.uint64(q)
        old, new = table[to + p], stamp[of + p]
        table[to + p] = new if new < old else old


@nb.njit(cache=True, nogil=True)
def _add_four(sums: Line, table: Line, count: int, offsets: Integers, weights: Line, first: int) -> None:
    """Add the table four times, from four places and with four weights."""
    a, b = np.uint64(offsets[first]), np.uint64(offsets[first + 1])
    c, d = np.uint64(offsets[first + 2]), np.uint64(offsets[first + 3])
    u, v, w, x = weights[first], weights[first + 1], weights[first + 2], weights[first + 3]
    for q in range(count):
        p = np.uint64(q)
        sums[p] += u * table[a + p] + v * table[b + p] + w * table[c + p] + x * table[d + p]


@nb.njit(cache=True, nogil=True)
def _stamp_two(
    first: Line, second: Line, room: Line, start: int, stamp: Line, of: int, count: int, weight: np.uint16
) -> None:
    """The two smallest so far, and the weight of the note that made the smaller."""
    to, since = np.uint64(start), np.uint64(of)
    for q in range(count):
        p = np.uint64(q)
        new, old, next_ = stamp[since + p], first[to + p], second[to + p]
        is_nearer = new < old
        larger = old if is_nearer else new
        second[to + p] = larger if larger < next_ else next_
        first[to + p] = new if is_nearer else old
        room[to + p] = weight if is_nearer else room[to + p]


@nb.njit(cache=True, nogil=True)
def _ship(first: Line, second: Line, room: Line, size: int, weight: np.uint16, cost: Line) -> None:
    """What weight costs from every place: to the nearest note as far as that takes it, the rest to the second."""
    for q in range(size):
        p = np.uint64(q)
        taken = room[p] if room[p] < weight else weight
        cost[p] = taken * first[p] + (weight - taken) * second[p]


@nb.njit(cache=True, nogil=True)
def _add_one(sums: Line, cost: Line, count: int, offset: int) -> None:
    start = np.uint64(offset)
    for q in range(count):
        p = np.uint64(q)
        sums[p] += cost[start + p]


@nb.njit(cache=True, nogil=True)
def _least(sums: Line, count: int) -> np.uint16:
    least = np.uint16(65535)
    for q in range(count):
        value = sums[np.uint64(q)]
        least = value if value < least else least
    return least


@nb.njit(cache=True, nogil=True)
def scan_block(
    words: Words,
    lows: npt.NDArray[np.int8],
    spans: npt.NDArray[np.uint8],
    grids: npt.NDArray[np.int32],
    totals: npt.NDArray[np.float32],
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
    query_pitch: Integers,
    total_query: float,
    span: int,
    pitch_shifts: Words,
    pitch_steps: Integers,
    tempos: Array,
    scales_weights: bool,
    tempo_cells: Array,
    tempo_grids: Integers,
    overhang: int,
    query_cells: Integers,
    line_weights: Line,
    stamps: Line,
    stamp_starts: Integers,
    stamp_rows: int,
    stamp_cells: int,
    reach: float,
    missing: float,
    limit: float,
    bounds: Array,
) -> None:
    """A lower bound on the distance of each document; infinite above the limit, 0 for one that cannot be tabled.

    `query_pitch` counts from the query's lowest. `tempo_cells[k]`: cells in a tick at tempo k; `tempo_grids[k]`: ticks
    in a cell, 0 if not whole. `query_pitch`, `query_cells` and `line_weights` are in the order of weight, filled up to
    a multiple of four with weights of 0. `stamps`: for documents on the grid and off it, a stamp for each of STRIDES
    and one for single rows, from `stamp_starts` on; it covers `stamp_rows` semitones and `stamp_cells` cells on either
    side.
    """
    count = len(bounds)
    alive = np.empty(((count + BLOCK - 1) // BLOCK) * BLOCK, np.uint64)
    padded, work = np.zeros(BLOCK, np.uint64), np.empty((PITCH_LEVELS + 6) * BLOCK, np.uint64)
    for block in range(0, count, BLOCK):
        inside = words[block : block + BLOCK]
        if len(inside) < BLOCK:
            padded[: len(inside)] = inside
            inside = padded
        _pitch_scan(inside, pitch_shifts, pitch_steps, work, alive[block : block + BLOCK])
    n, longest, tried, passed = len(query_x), 1, 0, 0
    for d in range(count):
        longest = max(longest, offsets[d + 1] - offsets[d])
    document_x, document_y, document_w = np.empty(longest), np.empty(longest), np.empty(longest)
    document_order = np.arange(longest)
    # Of each note: where its stamp begins in a row, its row, and what it can take.
    spots, lines, takings = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.uint16)
    table, sums = np.empty(1, np.uint16), np.empty(1, np.uint16)
    second, room, cost = np.empty(1, np.uint16), np.empty(1, np.uint16), np.empty(1, np.uint16)
    places = np.zeros(len(line_weights), np.int64)
    widest_query = int(query_cells.max())
    wide = 2 * stamp_cells + 1
    scale = WEIGHTS * FAR / (total_query * reach)
    for d in range(count):
        bounds[d] = np.inf
        start, end = offsets[d], offsets[d + 1]
        if not allowed[d] or start == end:
            continue
        top = np.int64(spans[d])
        if top + span > WIDEST or times[end - 1] * tempo_cells.max() > LONGEST:
            bounds[d] = 0.0
            continue
        if missing < 0.0 and totals[d] < total_query * 1.000001 * (tempos.max() if scales_weights else 1.0):
            alive[d] = (_U1 << np.uint64(top + span + 1)) - _U1  # the pitch scan does not know the higher limit
        if alive[d] == _U0:
            continue
        low_bit, high_bit = 0, 63
        while (alive[d] >> np.uint64(low_bit)) & _U1 == _U0:
            low_bit += 1
        while (alive[d] >> np.uint64(high_bit)) & _U1 == _U0:
            high_bit -= 1
        for k in range(len(tempos)):
            # (sum - given back) / base is the bound; the total is rounded, so a little less of it counts.
            weight = totals[d] * (1.0 - 1e-6) / (tempos[k] if scales_weights else 1.0)
            without = max(total_query - weight, 0.0)
            base = weight if without > 0.0 and missing < 0.0 else total_query
            given_back = without * max(reach - max(missing, 0.0), 0.0)
            most_sum = np.int64(min((min(limit, bounds[d]) * base + given_back) * scale, 65535.0))
            out = overhang if without <= 0.0 else widest_query
            length = int(times[end - 1] * tempo_cells[k] + EPSILON)
            shifts = length - widest_query + 2 * out + 1
            if shifts <= 0:
                continue
            stride, form = length + 2 * out + 1, len(STRIDES)
            for f in range(len(STRIDES)):
                if STRIDES[f] >= stride:
                    stride, form = STRIDES[f], f
                    break
            is_row_by_row = form == len(STRIDES)
            is_on_grid = tempo_grids[k] > 0 and grids[d] % max(tempo_grids[k], 1) == 0
            if not is_on_grid:
                form += len(STRIDES) + 1
            # The table: rows for the query at all transpositions left, and a stamp's height above and below.
            rows = high_bit - low_bit + 1 + span + 2 * stamp_rows
            size = rows * stride + 2 * wide
            if len(table) < size:
                table, sums = np.empty(2 * size, np.uint16), np.empty(2 * size, np.uint16)
                second, room = np.empty(2 * size, np.uint16), np.empty(2 * size, np.uint16)
                cost = np.empty(2 * size, np.uint16)
            length_sums = (high_bit - low_bit) * stride + shifts
            for r in range(len(places)):
                places[r] = (query_pitch[r] + stamp_rows) * stride + query_cells[r] + wide
            for j in range(start, end):
                spots[j - start] = int(times[j] * tempo_cells[k] + EPSILON) + out - stamp_cells + wide
                lines[j - start] = np.int64(pitches[j]) - lows[d] - (low_bit - span)
                takes = weights[j] / (tempos[k] if scales_weights else 1.0) * (1.0 + ROUNDED) * WEIGHTS / total_query
                takings[j - start] = np.uint16(min(np.ceil(takes), WEIGHTS))
            # Where most documents pass the next stage, it is left out.
            if tried < TRIES or passed < USELESS * tried:
                tried += 1
                _fill(table, size, np.uint16(FAR))
                for j in range(end - start):
                    first, last = max(-lines[j], 0), min(2 * stamp_rows, rows - 1 - lines[j])
                    place, of = (lines[j] + first) * stride + spots[j], stamp_starts[form]
                    if is_row_by_row:
                        for r in range(first, last + 1):
                            _stamp(table, place + (r - first) * stride, stamps, of + r * wide, wide)
                    elif first <= last:
                        _stamp(table, place, stamps, of + first * stride, (last - first) * stride + wide)
                _fill(sums, length_sums, np.uint16(0))
                least = np.uint16(0)
                for r in range(0, len(places), 4):
                    _add_four(sums, table, length_sums, places, line_weights, r)
                    if r >= 4 or r + 4 >= len(places):
                        least = _least(sums, length_sums)
                        if least > most_sum:
                            break
                if least > most_sum:
                    continue
                passed += 1
            _fill(table, size, np.uint16(FAR))
            _fill(second, size, np.uint16(FAR))
            _fill(room, size, np.uint16(0))
            for j in range(end - start):
                first, last = max(-lines[j], 0), min(2 * stamp_rows, rows - 1 - lines[j])
                place, of, takes = (lines[j] + first) * stride + spots[j], stamp_starts[form], takings[j]
                if is_row_by_row:
                    for r in range(first, last + 1):
                        _stamp_two(
                            table, second, room, place + (r - first) * stride, stamps, of + r * wide, wide, takes
                        )
                elif first <= last:
                    length_stamp = (last - first) * stride + wide
                    _stamp_two(table, second, room, place, stamps, of + first * stride, length_stamp, takings[j])
            _fill(sums, length_sums, np.uint16(0))
            for r in range(len(places)):
                if line_weights[r] == 0:
                    break
                if r == 0 or line_weights[r] != line_weights[r - 1]:
                    _ship(table, second, room, size, line_weights[r], cost)
                _add_one(sums, cost, length_sums, places[r])
            if _least(sums, length_sums) > most_sum:
                continue
            # The alignments that are left, one by one.
            m, total = end - start, 0.0
            for j in range(m):
                document_x[j] = times[start + j] * tempo_cells[k] * cell
                document_y[j] = pitches[start + j] * pitch_unit
                document_w[j] = weights[start + j] / (tempos[k] if scales_weights else 1.0)
                total += document_w[j]
            is_light = total < total_query
            charge = (total_query - total) * missing if is_light and missing >= 0.0 else 0.0
            base = total if is_light and missing < 0.0 else total_query
            for j in range(m):
                for r in range(n):
                    i = order[r]
                    bit = np.int64(pitches[start + j]) - lows[d] - query_pitch[r] + span
                    if (alive[d] >> np.uint64(bit)) & _U1 == _U0:
                        continue
                    shift = int(np.floor((document_x[j] - query_x[i]) / cell + EPSILON)) + out
                    if shift < 0 or shift >= shifts or sums[(bit - low_bit) * stride + shift] > most_sum:
                        continue
                    budget = min(limit, bounds[d]) * base - charge
                    budget += ROUNDED * (1.0 + charge + abs(budget))
                    found = pair_bound(
                        query_x, query_y, query_w, order, document_x, document_y, document_w, document_order, m, i, j,
                        is_light, budget, ground,
                    )  # fmt: skip
                    if found <= budget:
                        bounds[d] = min(bounds[d], max(found + charge - ROUNDED * (1.0 + charge + found), 0.0) / base)
