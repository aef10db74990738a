"""Upper bounds of the scores of a query with 64 melodies side by side, in bytes.

    pair(i, j)   worth of a pair + the best way to get there: a start here, or whatever ended at (i - 1, j - 1)
    out(i, j)    the query's note i or the melody's note j is left out

Everything rises with what pairs are worth, and falls with costs: each step is a sum, a difference with a cost, or a
maximum. So the result is an upper bound of the score, because

- what a pair is worth is added up in 16 bits without any rounding and then rounded up to a byte of 256 / `scale` units;
  costs are rounded down (`rounding.plan_of`);
- of several tempos, the one that fits best counts for every pair of notes, at the price of the cheapest;
- a gap has one state instead of two: the first note left out costs what the cheaper of the two at this place costs,
  whether the query's or the melody's, and all others the extension, which is not above any opening in these tables. So
  every way with two states is a way with one, at the same cost or less;
- behind an alignment that does not end in the last column the lowest end cost of those columns is taken.

A sum that stops at -128 is raised by that. A sum that stops at 127 is not: that can only be the value of a pair, as
starts are not above 0. But then `best` is at least 127 less the highest end costs, and what is found from there on is
UNKNOWN (`_blocks.limit_of`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel
from roslin.matchers.roslin._alignment import FARTHEST
from roslin.matchers.roslin._blocks import (
    FIELDS,
    MELODIES,
    TURNS,
    Blocks,
    Plan,
    Rows,
    Scratch,
    chosen_block,
    fill_columns,
    fill_ends,
    fill_equal_ends,
    fill_row,
    keep_best,
    longest_of,
    next_lanes,
    scratch_for,
    whole_block,
    write_bounds,
)
from roslin.matchers.roslin._vectors import bytes64, higher, load, lower, minus, plus, shorts64, spread, store

__all__ = ["bound_in_bytes", "bound_places"]

Bytes = npt.NDArray[np.int8]
Longs = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]


@kernel(forceinline=True)
def bound_cell(diagonal: Any, above: Any, over: Any, left: Any, beside: Any, worth: Any, prices: Any) -> Any:
    """One place of a bound: (the best that ends with this pair, the best that leaves a note out here)."""
    start, opening, extension = prices
    pair = plus(higher(diagonal, start), worth)
    return pair, higher(minus(higher(left, above), opening), minus(higher(beside, over), extension))


@kernel
def bound_block(
    plan: Plan, notes: Bytes, base: int, columns: int, tempos: int, scratch: Scratch, lane: int, lanes: int, kinds: Any
) -> None:
    """Write an upper bound of what `align_block` finds, in three quarters of its steps."""
    wide = kinds[2]
    own = scratch.own
    turns, pitches, openings = plan.turns, plan.pitches, plan.openings
    rows, vectors, count = len(plan.pitches), columns + 1, len(plan.turns)
    line = vectors * lanes
    notes_at = base + lane
    fill_columns(plan, notes, base, columns, tempos, scratch, lane, lanes, kinds)
    opening_at, pairs, outs = 12 * line, 13 * line, (13 + count) * line
    first_row, second_row = (13 + 2 * count) * line, (15 + 2 * count) * line
    start_at = (17 + 2 * count) * line
    end_at, row_start_at, row_end_at = start_at + line, start_at + 2 * line, start_at + 2 * line + rows * lanes
    if scratch.lengths[0] == scratch.lengths[MELODIES - 1]:
        fill_equal_ends(plan, columns, scratch, start_at, lanes, wide)
    else:
        fill_ends(plan, columns, scratch, start_at, lane, lanes)
    nothing = spread(-plan.most - 1, wide)
    extension = spread(plan.extension, wide)
    best = nothing
    for place in range(2 * count * vectors):
        store(own, pairs + place * lanes, nothing)
    last = load(own, end_at + (columns - 1) * lanes, wide)
    rest = load(own, end_at, wide)
    for j in range(1, columns - 1):
        rest = lower(rest, load(own, end_at + j * lanes, wide))
    for row in range(0, rows, 2):
        fill_row(plan, row, notes, notes_at, columns, scratch, first_row, lanes, kinds)
        fill_row(plan, row + 1, notes, notes_at, columns, scratch, second_row, lanes, kinds)
        start0, start1 = load(own, row_start_at + row * lanes, wide), load(own, row_start_at + (row + 1) * lanes, wide)
        end0, end1 = load(own, row_end_at + row * lanes, wide), load(own, row_end_at + (row + 1) * lanes, wide)
        start0, start1 = minus(wide, start0), minus(wide, start1)
        opening0, opening1 = spread(openings[row], wide), spread(openings[row + 1], wide)
        top0, top1 = nothing, nothing
        for turn in range(0, count, TURNS):
            pitch0, pitch1 = pitches[row] + turns[turn], pitches[row + 1] + turns[turn]
            a0, a1 = pitch0 % 12 * line, pitch1 % 12 * line
            pitch0, pitch1 = pitches[row] + turns[turn + 1], pitches[row + 1] + turns[turn + 1]
            b0, b1 = pitch0 % 12 * line, pitch1 % 12 * line
            pitch0, pitch1 = pitches[row] + turns[turn + 2], pitches[row + 1] + turns[turn + 2]
            c0, c1 = pitch0 % 12 * line, pitch1 % 12 * line
            pair, out = pairs + turn * line, outs + turn * line
            a_diagonal0, a_diagonal1, a_left0, a_left1, a_out0, a_out1 = (
                nothing,
                nothing,
                nothing,
                nothing,
                nothing,
                nothing,
            )
            b_diagonal0, b_diagonal1, b_left0, b_left1, b_out0, b_out1 = (
                nothing,
                nothing,
                nothing,
                nothing,
                nothing,
                nothing,
            )
            c_diagonal0, c_diagonal1, c_left0, c_left1, c_out0, c_out1 = (
                nothing,
                nothing,
                nothing,
                nothing,
                nothing,
                nothing,
            )
            for j in range(columns):
                at = j * lanes
                opening, start = load(own, opening_at + at, wide), load(own, start_at + at, wide)
                prices0 = (minus(start0, start), lower(opening, opening0), extension)
                prices1 = (minus(start1, start), lower(opening, opening1), extension)
                equal0, near0 = load(own, first_row + at, wide), load(own, first_row + line + at, wide)
                equal1, near1 = load(own, second_row + at, wide), load(own, second_row + line + at, wide)

                above, over = load(own, pair + at, wide), load(own, out + at, wide)
                worth = lower(plus(near0, load(own, a0 + at, wide)), equal0)
                a_left0, a_out0 = bound_cell(a_diagonal0, above, over, a_left0, a_out0, worth, prices0)
                a_diagonal0 = higher(above, over)
                worth = lower(plus(near1, load(own, a1 + at, wide)), equal1)
                a_left1, a_out1 = bound_cell(a_diagonal1, a_left0, a_out0, a_left1, a_out1, worth, prices1)
                a_diagonal1 = higher(a_left0, a_out0)
                store(own, pair + at, a_left1)
                store(own, out + at, a_out1)
                top0, top1 = higher(top0, a_left0), higher(top1, a_left1)

                above, over = load(own, pair + line + at, wide), load(own, out + line + at, wide)
                worth = lower(plus(near0, load(own, b0 + at, wide)), equal0)
                b_left0, b_out0 = bound_cell(b_diagonal0, above, over, b_left0, b_out0, worth, prices0)
                b_diagonal0 = higher(above, over)
                worth = lower(plus(near1, load(own, b1 + at, wide)), equal1)
                b_left1, b_out1 = bound_cell(b_diagonal1, b_left0, b_out0, b_left1, b_out1, worth, prices1)
                b_diagonal1 = higher(b_left0, b_out0)
                store(own, pair + line + at, b_left1)
                store(own, out + line + at, b_out1)
                top0, top1 = higher(top0, b_left0), higher(top1, b_left1)

                above, over = load(own, pair + 2 * line + at, wide), load(own, out + 2 * line + at, wide)
                worth = lower(plus(near0, load(own, c0 + at, wide)), equal0)
                c_left0, c_out0 = bound_cell(c_diagonal0, above, over, c_left0, c_out0, worth, prices0)
                c_diagonal0 = higher(above, over)
                worth = lower(plus(near1, load(own, c1 + at, wide)), equal1)
                c_left1, c_out1 = bound_cell(c_diagonal1, c_left0, c_out0, c_left1, c_out1, worth, prices1)
                c_diagonal1 = higher(c_left0, c_out0)
                store(own, pair + 2 * line + at, c_left1)
                store(own, out + 2 * line + at, c_out1)
                top0, top1 = higher(top0, c_left0), higher(top1, c_left1)
            at_end0, at_end1 = higher(a_left0, higher(b_left0, c_left0)), higher(a_left1, higher(b_left1, c_left1))
            best = higher(best, minus(at_end0, plus(end0, last)))
            best = higher(best, minus(at_end1, plus(end1, last)))
        best = higher(best, minus(top0, plus(end0, rest)))
        best = higher(best, minus(top1, plus(end1, rest)))
    store(scratch.found, lane, best)


@kernel
def bound_in_bytes(plan: Plan, blocks: Blocks, first: int, last: int, places: Numbers, bounds: Longs) -> None:
    """Write upper bounds of scores: with all tempos at once for the melodies from one block to another.

    Where there are places, which rise: for the melodies there, with every tempo by itself.
    """
    kinds = (bytes64(), shorts64(), bytes64())
    longest = longest_of(blocks, last, places)
    scratch = scratch_for(plan, longest, np.empty(MELODIES, np.int8))
    copied, jobs, at = np.zeros((FIELDS * longest + 1) * MELODIES, np.int8), np.zeros(2 * MELODIES, np.int64), 0
    apart, total = len(places) > 0, len(places) * len(plan.tempo_prices)
    if apart:
        bounds[:] = FARTHEST
    block, filled, columns = first, 0, 0
    while (apart and at < total) or (not apart and block < last):
        notes, base, tempos = copied, 0, 1
        if apart:
            filled, columns, at = next_lanes(plan, blocks, places, at, copied, scratch, jobs)
        else:
            columns = whole_block(plan, blocks, block, scratch)
            notes, base, tempos = blocks.notes, blocks.starts[block], len(plan.tempo_prices)
        if columns:
            bound_block(plan, notes, base, columns, tempos, scratch, 0, 64, kinds)
        if apart:
            keep_best(plan, filled, scratch, jobs, bounds)
        else:
            write_bounds(plan, scratch, bounds, (block - first) * MELODIES)
            block += 1


@kernel
def bound_places(plan: Plan, rows: Rows, medians: Bytes, places: Numbers, bounds: Longs) -> None:
    """Write upper bounds of scores for the melodies at these places, which rise, with all tempos at once."""
    kinds = (bytes64(), shorts64(), bytes64())
    longest = rows.offsets[places[-1] + 1] - rows.offsets[places[-1]]
    scratch = scratch_for(plan, longest, np.empty(MELODIES, np.int8))
    copied = np.zeros((FIELDS * longest + 1) * MELODIES, np.int8)
    found = np.empty(MELODIES, np.int32)
    for start in range(0, len(places), MELODIES):
        columns = chosen_block(plan, rows, medians, places, start, copied, scratch)
        if columns:
            bound_block(plan, copied, 0, columns, len(plan.tempo_prices), scratch, 0, 64, kinds)
        write_bounds(plan, scratch, found, 0)
        count = min(len(places) - start, MELODIES)
        bounds[start : start + count] = found[:count]
