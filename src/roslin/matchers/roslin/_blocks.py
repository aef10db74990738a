"""Melodies side by side: 64 of much the same length in a block, and what two kernels need of a block and a query.

The bytes of a block are in the order [field][column][melody]: PITCH, VALUE, KIND, LABEL, then INTERVAL with one column
more; what lies behind the end of a melody has the pitch NO_PITCH and the interval NO_NOTE, which equal nothing. One
vector holds one column.

`_bound` finds upper bounds of scores, `_side_by_side` scores. The recurrence of both is that of `_alignment`, with
transpositions one after the other and melodies side by side. What a pair is worth with equal pitches (`equal`), and
with others but for their difference (`near`), is the same for all transpositions and computed once. A pair of equal
pitches is worth at least as much as any other with the same rhythm and surroundings (`rounding.check`). So, with
`pitch` so large for equal pitches that only `equal` counts,

    worth = min(near + pitch, equal)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel
from roslin.matchers.roslin._alignment import FARTHEST, is_needed, tempo_shift
from roslin.matchers.roslin._vectors import (
    higher,
    load,
    look_up,
    lower,
    minus,
    narrow,
    plus,
    spread,
    store,
    where_equal,
)

__all__ = [
    "FIELDS",
    "MELODIES",
    "NO_NOTE",
    "NO_PITCH",
    "TURNS",
    "UNKNOWN",
    "Blocks",
    "Plan",
    "Rows",
    "Scratch",
    "chosen_block",
    "fill_columns",
    "fill_ends",
    "fill_equal_ends",
    "fill_row",
    "keep_best",
    "longest_of",
    "next_lanes",
    "scratch_for",
    "whole_block",
    "write_bounds",
]

Bytes = npt.NDArray[np.int8]
Shorts = npt.NDArray[np.int16]
Longs = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.int64]
Whole = int | np.int64

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


class Rows(NamedTuple):
    """The same melodies one after the other, by place: of each its pitches, then its values, kinds, labels, intervals.

    To read one melody out of a block is to read a line of memory for every byte of it.
    """

    notes: Bytes
    offsets: Numbers  # [places + 1]: notes before each


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


@kernel
def roles(size: int, length: Whole) -> tuple[int, int]:
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
        length: Any = np.int64(lengths[lane + k])
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
def limit_of(plan: Plan, length: Whole) -> Any:
    """From here on a value may have been more than the vectors hold.

    The value of some pair has then been `most`, and `best` is at least that less what was left out behind it.
    """
    role, other = roles(plan.size, length)
    at = role * (plan.longest + 1) + min(plan.size - 1, plan.longest)
    other_at = other * (plan.longest + 1) + min(length - 1, plan.longest)
    return plan.most - plan.highest_ends[at] - plan.highest_ends[other_at]


@kernel
def in_units(plan: Plan, found: Whole, length: Whole) -> Any:
    """What was found in the units of the exact score, rounded down: a whole score cannot lie between."""
    if length == 0:
        return FARTHEST
    if found >= limit_of(plan, length):
        return UNKNOWN
    return found * plan.unit // plan.scale


@kernel
def whole_block(plan: Plan, blocks: Blocks, block: int, scratch: Scratch) -> Any:
    """Make a block ready, with all tempos: how long its longest melody is."""
    medians, all_lengths, shifts, lengths = blocks.tempos, blocks.lengths, scratch.shifts, scratch.lengths
    place = block * MELODIES
    for k in range(MELODIES):
        lengths[k] = all_lengths[place + k]
        for tempo in range(len(plan.tempo_prices)):
            shifts[tempo * MELODIES + k] = tempo_shift(tempo, np.int64(medians[place + k]) - plan.median)
    return np.int64(lengths[MELODIES - 1])


@kernel
def write_bounds(plan: Plan, scratch: Scratch, bounds: Longs, place: int) -> None:
    """Write what was found for a whole block."""
    lengths, found = scratch.lengths, scratch.found
    for k in range(MELODIES):
        bounds[place + k] = in_units(plan, np.int64(found[k]), np.int64(lengths[k])) - plan.cheapest


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
def next_lanes(
    plan: Plan, blocks: Blocks, places: Numbers, at: int, notes: Bytes, scratch: Scratch, jobs: Numbers
) -> Any:
    """Fill a block with the next (melody, tempo): (how many there are, their longest, where to go on).

    `at` is melody * tempos + tempo. `jobs` gets the melody and the price for each lane.
    """
    shifts, lengths, prices = scratch.shifts, scratch.lengths, plan.tempo_prices
    tempos, filled, columns = len(prices), 0, 0
    while at < len(places) * tempos and filled < MELODIES:
        k, tempo = at // tempos, at % tempos
        length: Any = np.int64(blocks.lengths[places[k]])
        difference = np.int64(blocks.tempos[places[k]]) - plan.median
        if length > 0 and is_needed(tempo, difference, prices):
            jobs[filled], jobs[MELODIES + filled] = k, prices[tempo]
            shifts[filled], lengths[filled] = tempo_shift(tempo, difference), length
            columns = max(columns, length)
            filled += 1
        at += 1
    for lane in range(filled):
        copy_melody(blocks, places[jobs[lane]], notes, columns, lane)
    for lane in range(filled, MELODIES):
        lengths[lane] = columns
        for j in range(columns):
            notes[j * MELODIES + lane] = NO_PITCH
    return filled, columns, at


@kernel
def copy_row(rows: Rows, place: int, notes: Bytes, columns: int, lane: int) -> None:
    """Copy one melody into one lane of a block of so many columns."""
    source, first = rows.notes, rows.offsets[place]
    length, at = rows.offsets[place + 1] - first, FIELDS * first
    for field in range(FIELDS):
        place_in = field * columns * MELODIES + lane
        for j in range(length):
            notes[place_in + j * MELODIES] = source[at + field * length + j]
        empty = NO_PITCH if field == 0 else (NO_NOTE if field == 4 else 0)
        for j in range(length, columns + (1 if field == 4 else 0)):
            notes[place_in + j * MELODIES] = empty


@kernel
def chosen_block(
    plan: Plan, rows: Rows, medians: Bytes, places: Numbers, start: int, notes: Bytes, scratch: Scratch
) -> Any:
    """Make a block of the melodies at the next places ready, with all tempos: how long the longest is."""
    shifts, lengths, offsets = scratch.shifts, scratch.lengths, rows.offsets
    filled = min(len(places) - start, MELODIES)
    last = places[start + filled - 1]
    columns: Any = offsets[last + 1] - offsets[last]
    for lane in range(filled):
        place = places[start + lane]
        lengths[lane] = offsets[place + 1] - offsets[place]
        for tempo in range(len(plan.tempo_prices)):
            shifts[tempo * MELODIES + lane] = tempo_shift(tempo, np.int64(medians[place]) - plan.median)
        copy_row(rows, place, notes, columns, lane)
    for lane in range(filled, MELODIES):
        lengths[lane] = columns
        for j in range(columns):
            notes[j * MELODIES + lane] = NO_PITCH
    return columns


@kernel
def keep_best(plan: Plan, filled: int, scratch: Scratch, jobs: Numbers, scores: Longs) -> None:
    """Take what was found for each (melody, tempo) into the scores of the melodies."""
    lengths, found = scratch.lengths, scratch.found
    for lane in range(filled):
        score = in_units(plan, np.int64(found[lane]), np.int64(lengths[lane]))
        if score != UNKNOWN:
            score -= jobs[MELODIES + lane]
        scores[jobs[lane]] = max(scores[jobs[lane]], score)


@kernel
def longest_of(blocks: Blocks, last: int, places: Numbers) -> Any:
    """How long the longest melody at these places is, or up to this block where there are none."""
    if len(places):
        return np.int64(blocks.lengths[places[-1]])
    return np.int64(blocks.lengths[last * MELODIES - 1]) if last else 0
