"""The scores of a query with 32 melodies side by side, in 16 bits: exactly those of `_alignment`.

    way(i, j)      the best way to here: a pair, or a note left out
    skipped        the melody's note j is left out: `opening` for the first, `extension` for more
    hanging(j)     the query's note i is left out

In 16 bits (`rounding.plan_of` without a scale) nothing is rounded. Where a score may be more than 16 bits hold, UNKNOWN
is written, and `_alignment` has to find it.
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
    Scratch,
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
from roslin.matchers.roslin._vectors import bytes32, higher, load, lower, minus, plus, shorts32, spread, store

__all__ = ["align_in_shorts"]

Bytes = npt.NDArray[np.int8]
Longs = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]


@kernel(forceinline=True)
def cell(
    diagonal: Any,
    above: Any,
    hanging: Any,
    left: Any,
    skipped: Any,
    best: Any,
    worth: Any,
    prices: Any,
) -> Any:
    """One place: (best way to here, with the column's note left out, with the row's note left out, best end so far)."""
    start, end, opening, row_opening, extension = prices
    pair = plus(higher(diagonal, start), worth)
    best = higher(best, minus(pair, end))
    skipped = higher(minus(left, opening), minus(skipped, extension))
    hanging = higher(minus(above, row_opening), minus(hanging, extension))
    return higher(pair, higher(skipped, hanging)), skipped, hanging, best


@kernel
def align_block(
    plan: Plan, notes: Bytes, base: int, columns: int, tempos: int, scratch: Scratch, lane: int, lanes: int, kinds: Any
) -> None:
    """Write what the best alignment of each melody is worth into `scratch.found`.

    `scratch` has their lengths and, for each of the tempos, how much longer their notes are taken to be.
    """
    wide = kinds[2]
    own = scratch.own
    turns, pitches, openings = plan.turns, plan.pitches, plan.openings
    rows, vectors, count = len(plan.pitches), columns + 1, len(plan.turns)
    line = vectors * lanes
    notes_at = base + lane
    fill_columns(plan, notes, base, columns, tempos, scratch, lane, lanes, kinds)
    opening_at, ways, hangs = 12 * line, 13 * line, (13 + count) * line
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
        store(own, ways + place * lanes, nothing)
    for row in range(0, rows, 2):
        fill_row(plan, row, notes, notes_at, columns, scratch, first_row, lanes, kinds)
        fill_row(plan, row + 1, notes, notes_at, columns, scratch, second_row, lanes, kinds)
        start0, start1 = load(own, row_start_at + row * lanes, wide), load(own, row_start_at + (row + 1) * lanes, wide)
        end0, end1 = load(own, row_end_at + row * lanes, wide), load(own, row_end_at + (row + 1) * lanes, wide)
        start0, start1 = minus(wide, start0), minus(wide, start1)
        opening0, opening1 = spread(openings[row], wide), spread(openings[row + 1], wide)
        for turn in range(0, count, TURNS):
            pitch0, pitch1 = pitches[row] + turns[turn], pitches[row + 1] + turns[turn]
            a0, a1 = pitch0 % 12 * line, pitch1 % 12 * line
            pitch0, pitch1 = pitches[row] + turns[turn + 1], pitches[row + 1] + turns[turn + 1]
            b0, b1 = pitch0 % 12 * line, pitch1 % 12 * line
            pitch0, pitch1 = pitches[row] + turns[turn + 2], pitches[row + 1] + turns[turn + 2]
            c0, c1 = pitch0 % 12 * line, pitch1 % 12 * line
            way, hang = ways + turn * line, hangs + turn * line
            a_diagonal, a_left0, a_left1, a_skipped0, a_skipped1 = nothing, nothing, nothing, nothing, nothing
            b_diagonal, b_left0, b_left1, b_skipped0, b_skipped1 = nothing, nothing, nothing, nothing, nothing
            c_diagonal, c_left0, c_left1, c_skipped0, c_skipped1 = nothing, nothing, nothing, nothing, nothing
            for j in range(columns):
                at = j * lanes
                opening = load(own, opening_at + at, wide)
                start, end = load(own, start_at + at, wide), load(own, end_at + at, wide)
                prices0 = (minus(start0, start), plus(end0, end), opening, opening0, extension)
                prices1 = (minus(start1, start), plus(end1, end), opening, opening1, extension)
                equal0, near0 = load(own, first_row + at, wide), load(own, first_row + line + at, wide)
                equal1, near1 = load(own, second_row + at, wide), load(own, second_row + line + at, wide)

                above, hanging = load(own, way + at, wide), load(own, hang + at, wide)
                worth = lower(plus(near0, load(own, a0 + at, wide)), equal0)
                here, a_skipped0, hanging, best = cell(
                    a_diagonal, above, hanging, a_left0, a_skipped0, best, worth, prices0
                )
                a_diagonal = above
                worth = lower(plus(near1, load(own, a1 + at, wide)), equal1)
                a_left1, a_skipped1, hanging, best = cell(
                    a_left0, here, hanging, a_left1, a_skipped1, best, worth, prices1
                )
                a_left0 = here
                store(own, way + at, a_left1)
                store(own, hang + at, hanging)

                above, hanging = load(own, way + line + at, wide), load(own, hang + line + at, wide)
                worth = lower(plus(near0, load(own, b0 + at, wide)), equal0)
                here, b_skipped0, hanging, best = cell(
                    b_diagonal, above, hanging, b_left0, b_skipped0, best, worth, prices0
                )
                b_diagonal = above
                worth = lower(plus(near1, load(own, b1 + at, wide)), equal1)
                b_left1, b_skipped1, hanging, best = cell(
                    b_left0, here, hanging, b_left1, b_skipped1, best, worth, prices1
                )
                b_left0 = here
                store(own, way + line + at, b_left1)
                store(own, hang + line + at, hanging)

                above, hanging = load(own, way + 2 * line + at, wide), load(own, hang + 2 * line + at, wide)
                worth = lower(plus(near0, load(own, c0 + at, wide)), equal0)
                here, c_skipped0, hanging, best = cell(
                    c_diagonal, above, hanging, c_left0, c_skipped0, best, worth, prices0
                )
                c_diagonal = above
                worth = lower(plus(near1, load(own, c1 + at, wide)), equal1)
                c_left1, c_skipped1, hanging, best = cell(
                    c_left0, here, hanging, c_left1, c_skipped1, best, worth, prices1
                )
                c_left0 = here
                store(own, way + 2 * line + at, c_left1)
                store(own, hang + 2 * line + at, hanging)
    store(scratch.found, lane, best)


@kernel
def align_in_shorts(plan: Plan, blocks: Blocks, first: int, last: int, places: Numbers, scores: Longs) -> None:
    """Write the scores of the melodies at these places, which rise; UNKNOWN where 16 bits may not hold one.

    Where there are no places: upper bounds for the melodies from one block to another, with all tempos at once.
    """
    kinds = (bytes32(), shorts32(), shorts32())
    longest = longest_of(blocks, last, places)
    scratch = scratch_for(plan, longest, np.empty(MELODIES, np.int16))
    copied, jobs, at = np.zeros((FIELDS * longest + 1) * MELODIES, np.int8), np.zeros(2 * MELODIES, np.int64), 0
    apart, total = len(places) > 0, len(places) * len(plan.tempo_prices)
    if apart:
        scores[:] = FARTHEST
    block, filled, columns = first, MELODIES, 0
    while (apart and at < total) or (not apart and block < last):
        notes, base, tempos = copied, 0, 1
        if apart:
            filled, columns, at = next_lanes(plan, blocks, places, at, copied, scratch, jobs)
        else:
            columns = whole_block(plan, blocks, block, scratch)
            notes, base, tempos = blocks.notes, blocks.starts[block], len(plan.tempo_prices)
        if columns:
            for lane in range(0, filled, 32):
                align_block(plan, notes, base, columns, tempos, scratch, lane, 32, kinds)
        if apart:
            keep_best(plan, filled, scratch, jobs, scores)
        else:
            write_bounds(plan, scratch, scores, (block - first) * MELODIES)
            block += 1
