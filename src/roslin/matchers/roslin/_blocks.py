"""The best alignments of a query with 64 melodies side by side: upper bounds in bytes, scores in 16 bits.

A block holds 64 melodies of much the same length. Its bytes are in the order [field][column][melody]: PITCH, VALUE,
KIND, LABEL, then INTERVAL with one column more; what lies behind the end of a melody has the pitch NO_PITCH and the
interval NO_NOTE, which equal nothing. One vector holds one column.

The recurrence is that of `_alignment`, with transpositions one after the other instead of melodies. What a pair is
worth with equal pitches (`equal`) and with others but for their difference (`near`) is the same for all transpositions,
and computed once. A pair of equal pitches is worth at least as much as any other with the same rhythm and surroundings
(`rounding.check`). So, with `pitch` so large for equal pitches that only `equal` counts,

    worth = min(near + pitch, equal)

Bytes. All tables come from those of the exact score (`rounding.plan_of`): in bytes of `scale` / 256 units, what a pair
is worth is added up in 16 bits without any rounding and then rounded up; costs are rounded down. Of several tempos the
nearest fit counts for every pair of notes, at the lowest price. Every step of the recurrence is a sum, a difference with
a cost, or a maximum: it rises with the worth of pairs and falls with the costs. So the result is an upper bound, unless
a sum stops at 127. That can happen only to the value of a pair, and `best` is then at least 127 less the end costs: from
there on (`limit_of`) the bound says nothing, and UNKNOWN is written. Sums that stop at -128 are raised by that.

Shorts. With `scale` 1, one tempo and 16 bits nothing is rounded, and the results are the scores themselves, as long as
they lie within 16 bits; UNKNOWN where they may not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel
from roslin.matchers.roslin._alignment import FARTHEST, is_needed, tempo_shift
from roslin.matchers.roslin._vectors import (
    bytes32,
    bytes64,
    higher,
    load,
    look_up,
    lower,
    minus,
    narrow,
    plus,
    shorts32,
    shorts64,
    spread,
    store,
    where_equal,
)

__all__ = ["MELODIES", "NO_NOTE", "NO_PITCH", "UNKNOWN", "Blocks", "Plan", "bound_blocks", "bound_long", "score_places"]

Bytes = npt.NDArray[np.int8]
Shorts = npt.NDArray[np.int16]
Longs = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]

MELODIES = 64  # side by side
TURNS = 3  # transpositions in one sweep
NO_PITCH, NO_NOTE = 15, -127
UNKNOWN = 1 << 28  # no bound
FIELDS = 5
FARTHEST_VALUE = 10  # differences of g from here on are worth the same


class Blocks(NamedTuple):
    """Melodies in the order of their lengths; the places of the last block are filled up with empty ones."""

    notes: Bytes
    starts: Numbers  # [blocks + 1]: where the bytes of each block begin
    lengths: Longs  # of each place; the places that fill up the last block have that of the last melody
    tempos: Bytes  # the median g of each place


class Plan(NamedTuple):
    """A query and all tables, rounded for one kind of vectors; rows are the query's notes, made even in number."""

    size: int  # notes
    scale: int  # `unit` / `scale` units of the exact score make one of this
    unit: int
    most: int  # the largest number of the vectors
    turns: Numbers  # transpositions that are allowed, a multiple of three
    pitches: Numbers  # [rows]
    values: Bytes  # the different g of the query
    value_of: Numbers  # [rows]: which of them
    label_of: Numbers  # [rows]: which row of `labels`
    intervals: Bytes  # [rows + 1], NONE where there is none
    equal: Shorts  # [16]
    near: Shorts  # [16]
    kinds: Shorts  # [16]
    labels: Shorts  # [different labels of the query * 16]
    equal_context: Shorts  # [rows * 4], with what depends on the row alone
    near_context: Shorts
    pitch: Any  # [12 * 16]: of a pitch class above another
    kind_openings: Any  # [16]
    openings: Any  # [rows]
    extension: int
    longest: int
    starts: Any  # [3 * (longest + 1)]
    ends: Any
    highest_ends: Numbers  # [3 * (longest + 1)]: the highest so far of `ends`
    median: int
    tempo_prices: Numbers
    cheapest: int  # of `tempo_prices`


class Scratch(NamedTuple):
    """Room for one block: in the vectors' own numbers, in 16 bits, and for lengths and tempos."""

    own: Any
    sums: Shorts
    shifts: Bytes
    lengths: Longs
    found: Any


@kernel
def scratch_for(plan: Plan, columns: int, numbers: Any) -> Scratch:
    rows, turns = len(plan.pitches), len(plan.turns)
    own = np.empty(((12 + 2 * turns + 7) * (columns + 1) + 2 * rows) * MELODIES, numbers.dtype)
    sums = np.empty((2 * len(plan.values) + len(plan.labels) // 16) * (columns + 1) * MELODIES, np.int16)
    return Scratch(own, sums, np.zeros(4 * MELODIES, np.int8), np.zeros(MELODIES, np.int32), numbers)


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
    """One place of the table: (the best way to here, ways that leave out the column's note, the row's note; best end)."""
    start, end, opening, row_opening, extension = prices
    pair = plus(higher(diagonal, start), worth)
    best = higher(best, minus(pair, end))
    skipped = higher(minus(left, opening), minus(skipped, extension))
    hanging = higher(minus(above, row_opening), minus(hanging, extension))
    return higher(pair, higher(skipped, hanging)), skipped, hanging, best


@kernel
def roles(size: int, length: int) -> tuple[int, int]:
    """Of the query and of a melody: 0 the shorter, 1 the longer, 2 one of two equally long."""
    if size == length:
        return 2, 2
    return (0, 1) if size < length else (1, 0)


@kernel
def fill_ends(plan: Plan, columns: int, scratch: Scratch, place: int, lane: int, lanes: int) -> None:
    """What is left out at the ends, for every row and column and each of the melodies."""
    own, lengths, starts, ends = scratch.own, scratch.lengths, plan.starts, plan.ends
    rows, size, longest = len(plan.pitches), plan.size, plan.longest
    vectors = columns + 1
    for k in range(lanes):
        length = np.int64(lengths[lane + k])
        role, other = roles(size, length)
        role, other = role * (longest + 1), other * (longest + 1)
        for j in range(columns):
            own[place + j * lanes + k] = starts[other + min(j, longest)]
            own[place + (vectors + j) * lanes + k] = ends[other + min(max(length - 1 - j, 0), longest)]
        for i in range(rows):
            at = place + (2 * vectors + i) * lanes + k
            own[at] = starts[role + min(i, longest)]
            own[at + rows * lanes] = ends[role + min(max(size - 1 - i, 0), longest)]


@kernel
def fill_equal_ends(plan: Plan, columns: int, scratch: Scratch, place: int, lanes: int, wide: Any) -> None:
    """The same where all melodies are equally long."""
    own, starts, ends = scratch.own, plan.starts, plan.ends
    rows, size, longest = len(plan.pitches), plan.size, plan.longest
    vectors = columns + 1
    role, other = roles(size, columns)
    role, other = role * (longest + 1), other * (longest + 1)
    for j in range(columns):
        store(own, place + j * lanes, spread(starts[other + min(j, longest)], wide))
        store(own, place + (vectors + j) * lanes, spread(ends[other + min(columns - 1 - j, longest)], wide))
    for i in range(rows):
        at = place + (2 * vectors + i) * lanes
        store(own, at, spread(starts[role + min(i, longest)], wide))
        store(own, at + rows * lanes, spread(ends[role + min(max(size - 1 - i, 0), longest)], wide))


@kernel
def fill_columns(
    plan: Plan, notes: Bytes, base: int, columns: int, tempos: int, scratch: Scratch, lane: int, lanes: int, kinds: Any
) -> None:
    """What depends on the melodies and on the different pitches, values and labels of the query.

    From 0 on in `own`: the worth of pitches, 12 lines of columns, and the openings of gaps. In `sums`: the worth of
    equal pitches and of others for each value, then labels.
    """
    octets, sum_kind, wide = kinds
    own, sums, shifts = scratch.own, scratch.sums, scratch.shifts
    pitch_table, opening_table, kind_table = plan.pitch, plan.kind_openings, plan.kinds
    equal_table, near_table, label_table, values = plan.equal, plan.near, plan.labels, plan.values
    vectors, count, labels = columns + 1, len(plan.values), len(plan.labels) // 16
    field = columns * MELODIES
    for j in range(columns):
        at = base + j * MELODIES + lane
        pitch = load(notes, at, octets)
        value = load(notes, at + field, octets)
        kind = load(notes, at + 2 * field, octets)
        label = load(notes, at + 3 * field, octets)
        for key in range(12):
            store(own, (key * vectors + j) * lanes, look_up(pitch_table, 16 * key, pitch, wide))
        store(own, (12 * vectors + j) * lanes, look_up(opening_table, 0, kind, wide))
        of_kind = look_up(kind_table, 0, kind, sum_kind)
        for k in range(count):
            distance = spread(FARTHEST_VALUE, octets)
            wanted = spread(values[k], octets)
            for tempo in range(tempos):
                difference = minus(minus(value, wanted), load(shifts, tempo * MELODIES + lane, octets))
                distance = lower(distance, higher(difference, minus(octets, difference)))
            at_sum = (2 * k * vectors + j) * lanes
            store(sums, at_sum, plus(look_up(equal_table, 0, distance, sum_kind), of_kind))
            store(sums, at_sum + vectors * lanes, look_up(near_table, 0, distance, sum_kind))
        for k in range(labels):
            store(sums, ((2 * count + k) * vectors + j) * lanes, look_up(label_table, 16 * k, label, sum_kind))


@kernel
def fill_row(
    plan: Plan, row: int, notes: Bytes, base: int, columns: int, scratch: Scratch, place: int, lanes: int, kinds: Any
) -> None:
    """What pairs of one row are worth: with equal pitches from `place` on in `own`, and then with others."""
    octets, sum_kind, wide = kinds
    own, sums = scratch.own, scratch.sums
    vectors, count = columns + 1, len(plan.values)
    of_value = 2 * plan.value_of[row] * vectors * lanes
    of_label = (2 * count + plan.label_of[row]) * vectors * lanes
    before, after = spread(plan.intervals[row], octets), spread(plan.intervals[row + 1], octets)
    equal0 = spread(plan.equal_context[4 * row], sum_kind)
    equal1 = spread(plan.equal_context[4 * row + 1], sum_kind)
    equal2 = spread(plan.equal_context[4 * row + 2], sum_kind)
    equal3 = spread(plan.equal_context[4 * row + 3], sum_kind)
    near0 = spread(plan.near_context[4 * row], sum_kind)
    near1 = spread(plan.near_context[4 * row + 1], sum_kind)
    near2 = spread(plan.near_context[4 * row + 2], sum_kind)
    near3 = spread(plan.near_context[4 * row + 3], sum_kind)
    intervals = base + 4 * columns * MELODIES
    this = load(notes, intervals, octets)
    for j in range(columns):
        following = load(notes, intervals + (j + 1) * MELODIES, octets)
        label = load(sums, of_label + j * lanes, sum_kind)
        equal = where_equal(
            following,
            after,
            where_equal(this, before, equal3, equal2),
            where_equal(this, before, equal1, equal0),
        )
        near = where_equal(
            following,
            after,
            where_equal(this, before, near3, near2),
            where_equal(this, before, near1, near0),
        )
        at = of_value + j * lanes
        equal = plus(plus(equal, label), load(sums, at, sum_kind))
        near = plus(plus(near, label), load(sums, at + vectors * lanes, sum_kind))
        store(own, place + j * lanes, narrow(equal, wide))
        store(own, place + (vectors + j) * lanes, narrow(near, wide))
        this = following


@kernel
def align_block(
    plan: Plan, notes: Bytes, base: int, columns: int, tempos: int, scratch: Scratch, lane: int, lanes: int, kinds: Any
) -> None:
    """Write what the best alignment of each melody is worth into `scratch.found`.

    `scratch` has their lengths and, for each of the tempos, how much longer their notes are taken to be.
    """
    octets, sum_kind, wide = kinds
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
def limit_of(plan: Plan, length: int) -> int:
    """From here on a value may have been more than the vectors hold.

    The value of some pair has then been `most`, and `best` is at least that less what was left out behind it.
    """
    role, other = roles(plan.size, length)
    at = role * (plan.longest + 1) + min(plan.size - 1, plan.longest)
    other_at = other * (plan.longest + 1) + min(length - 1, plan.longest)
    return plan.most - plan.highest_ends[at] - plan.highest_ends[other_at]


@kernel
def in_units(plan: Plan, found: int, length: int) -> int:
    """What was found in the units of the exact score, rounded down: a whole score cannot lie between."""
    if length == 0:
        return FARTHEST
    if found >= limit_of(plan, length):
        return UNKNOWN
    return found * plan.unit // plan.scale


@kernel
def bound_pieces(
    plan: Plan, blocks: Blocks, first: int, last: int, bounds: Longs, numbers: Any, lanes: int, kinds: Any
) -> None:
    starts, lengths, medians, notes = blocks.starts, blocks.lengths, blocks.tempos, blocks.notes
    tempos = len(plan.tempo_prices)
    scratch = scratch_for(plan, np.int64(lengths[last * MELODIES - 1]), numbers)
    shifts, block_lengths, found = scratch.shifts, scratch.lengths, scratch.found
    for block in range(first, last):
        place = block * MELODIES
        columns = np.int64(lengths[place + MELODIES - 1])
        for k in range(MELODIES):
            block_lengths[k] = lengths[place + k]
            for tempo in range(tempos):
                shifts[tempo * MELODIES + k] = tempo_shift(tempo, np.int64(medians[place + k]) - plan.median)
        for lane in range(0, MELODIES, lanes):
            align_block(plan, notes, starts[block], columns, tempos, scratch, lane, lanes, kinds)
        for k in range(MELODIES):
            bound = in_units(plan, np.int64(found[k]), np.int64(block_lengths[k]))
            bounds[place - first * MELODIES + k] = bound - plan.cheapest


@kernel
def bound_blocks(plan: Plan, blocks: Blocks, first: int, last: int, bounds: Longs) -> None:
    """Write an upper bound of the score of every melody of these blocks, in bytes at first."""
    found = np.empty(MELODIES, np.int8)
    bound_pieces(plan, blocks, first, last, bounds, found, 64, (bytes64(), shorts64(), bytes64()))


@kernel
def bound_long(plan: Plan, blocks: Blocks, first: int, last: int, bounds: Longs) -> None:
    """The same in 16 bits, for queries that bytes are too coarse for."""
    found = np.empty(MELODIES, np.int16)
    bound_pieces(plan, blocks, first, last, bounds, found, 32, (bytes32(), shorts32(), shorts32()))


@kernel
def copy_melody(blocks: Blocks, place: int, notes: Bytes, columns: int, lane: int) -> None:
    """Copy one melody of the blocks into one lane of a block of so many columns."""
    source, length = blocks.notes, np.int64(blocks.lengths[place])
    block = place // MELODIES
    at = blocks.starts[block] + place % MELODIES
    own = np.int64(blocks.lengths[block * MELODIES + MELODIES - 1])
    for field in range(FIELDS):
        start, place_in = at + field * own * MELODIES, field * columns * MELODIES + lane
        for j in range(length):
            notes[place_in + j * MELODIES] = source[start + j * MELODIES]
        empty = NO_PITCH if field == 0 else (NO_NOTE if field == 4 else 0)
        for j in range(length, columns + (1 if field == 4 else 0)):
            notes[place_in + j * MELODIES] = empty


@kernel
def score_places(plan: Plan, blocks: Blocks, places: Numbers, scores: Longs) -> None:
    """Write the score of the melodies at these places, which rise; UNKNOWN where 16 bits may not hold it."""
    kinds = (bytes32(), shorts32(), shorts32())
    count, prices = len(places), plan.tempo_prices
    for k in range(count):
        scores[k] = FARTHEST
    if count == 0:
        return
    longest = np.int64(blocks.lengths[places[count - 1]])
    scratch = scratch_for(plan, longest, np.empty(MELODIES, np.int16))
    shifts, lengths, found = scratch.shifts, scratch.lengths, scratch.found
    notes = np.zeros((FIELDS * longest + 1) * MELODIES, np.int8)
    which, paid = np.zeros(MELODIES, np.int64), np.zeros(MELODIES, np.int64)
    k, tempo, filled = 0, 0, 0
    while k < count or filled:
        # Lanes are (melody, tempo): those that cannot win against another tempo with the same shift are left out.
        while k < count and filled < MELODIES:
            place = places[k]
            difference = np.int64(blocks.tempos[place]) - plan.median
            if blocks.lengths[place] > 0 and is_needed(tempo, difference, prices):
                which[filled], paid[filled] = k, prices[tempo]
                shifts[filled], lengths[filled] = tempo_shift(tempo, difference), blocks.lengths[place]
                filled += 1
            tempo += 1
            if tempo == len(prices):
                k, tempo = k + 1, 0
        if filled == 0:
            break
        columns = np.int64(lengths[filled - 1])
        for lane in range(filled):
            copy_melody(blocks, places[which[lane]], notes, columns, lane)
        for lane in range(filled, MELODIES):
            lengths[lane] = columns
            for j in range(columns):
                notes[j * MELODIES + lane] = NO_PITCH
        align_block(plan, notes, 0, columns, 1, scratch, 0, 32, kinds)
        if filled > 32:
            align_block(plan, notes, 0, columns, 1, scratch, 32, 32, kinds)
        for lane in range(filled):
            score = in_units(plan, np.int64(found[lane]), np.int64(lengths[lane]))
            score = score if score == UNKNOWN else score - paid[lane]
            scores[which[lane]] = max(scores[which[lane]], score)
        filled = 0
