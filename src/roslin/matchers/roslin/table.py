"""The table of many melodies: the alignment's input, about 110 bytes for each melody.

Every note is some bytes:

    pitch       pitch class: the measure knows no octaves
    value       g = round(4 log2 of the time to the next note in quarters); of the last note, of its duration. Doubled
                values are 4 more.
    interval    semitones from the note before
    kind        the interval's size (none, up to 2 semitones or the first note, up to 4, more) x short, usual or long
    gap         short, usual or long: 3 steps or more from the melody's median value
    label       place in metre and phrase (`native/labels.c`)

A melody's tempo is the median of its values, the lower of two.

The table stores five of these for each note, in blocks of 64 melodies of much the same length (`MelodyTable`); for each
melody its place in them, its number of notes and its self-score. The table of a collection is a file in its folder
(`search.engines.roslin`) and is written a part at a time, so the melodies are never in memory together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.matchers.roslin.scores import FARTHEST, NO_INTERVAL, UNKNOWN, Encoded, Planner, Tables, fitted, tables
from roslin.melody import TICKS_PER_QUARTER
from roslin.native import kernels
from roslin.represent.line import melodic_lines
from roslin.represent.packed import Candidates, Packed
from roslin.types import Allocate, Array, Bytes, Ints, Numbers, Progress, Scores

_LARGEST_VALUE = 24  # steps: 64 quarters, or a 64th of one
_UNLIKE = 3  # steps from the median that make a note short or long
_SMALL, _MEDIUM = 2, 4  # semitones
_LARGEST_STEP = 126  # as an interval


def encoded(candidates: Candidates) -> Encoded:
    """The lines of many melodies as bytes."""
    lines = melodic_lines(candidates)
    offsets, sizes = lines.offsets.astype(np.int64), np.diff(lines.offsets)
    onsets, durations, pitches = lines.onset_ticks, lines.duration_ticks, lines.pitch_midi.astype(np.int64)
    which = np.repeat(np.arange(len(sizes)), sizes)
    is_first = np.zeros(len(onsets), dtype=bool)
    is_first[offsets[:-1][sizes > 0]] = True
    is_last = np.append(is_first[1:], True)[: len(onsets)]
    times = np.where(is_last, durations, np.append(onsets[1:], 0)[: len(onsets)] - onsets)
    values = np.clip(np.rint(4 * np.log2(times / TICKS_PER_QUARTER)), -_LARGEST_VALUE, _LARGEST_VALUE).astype(np.int64)
    tempos = np.zeros(len(sizes), dtype=np.int64)
    has_notes = sizes > 0
    middle = offsets[:-1] + (sizes - 1) // 2
    tempos[has_notes] = values[np.lexsort((values, which))][middle[has_notes]]
    intervals = np.append(0, np.diff(pitches))[: len(onsets)].clip(-_LARGEST_STEP, _LARGEST_STEP)
    steps = values - tempos[which]
    gaps = np.where(steps <= -_UNLIKE, 0, np.where(steps >= _UNLIKE, 2, 1))
    kinds = _sizes(intervals, is_first)
    intervals[is_first] = NO_INTERVAL
    labels = np.zeros(len(onsets), dtype=np.int8)
    kernels.label_notes(offsets, onsets, durations, times, labels)
    return Encoded(
        offsets,
        tempos.astype(np.int8),
        (pitches % 12).astype(np.int8),
        values.astype(np.int8),
        intervals.astype(np.int8),
        (3 * kinds + gaps).astype(np.int8),
        gaps.astype(np.int8),
        labels,
    )


def unrounded(candidates: Candidates) -> Encoded:
    """The same with values that are not rounded: two melodies in the same rhythm have the same differences of them."""
    lines = melodic_lines(candidates)
    times = np.append(np.diff(lines.onset_ticks), 0)[: len(lines.onset_ticks)].astype(np.float64)
    lasts = lines.offsets[1:][np.diff(lines.offsets) > 0] - 1
    times[lasts] = lines.duration_ticks[lasts]
    return encoded(candidates)._replace(values=4 * np.log2(np.maximum(times, 1)))


def _sizes(intervals: npt.NDArray[np.int64], is_first: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Of each interval: none, small, medium or large."""
    size = np.abs(intervals)
    return np.select([is_first, size == 0, size <= _SMALL, size <= _MEDIUM], [1, 0, 1, 2], 3)


def backwards(melodies: Encoded) -> Encoded:
    """The same with the pitches of each melody in reverse order; rhythm, metre and phrases stay."""
    which = np.repeat(np.arange(len(melodies.offsets) - 1), np.diff(melodies.offsets))
    places = np.arange(len(which))
    mirrored = melodies.offsets[which] + melodies.offsets[which + 1] - 1 - places
    is_first = melodies.intervals == NO_INTERVAL
    # Backwards, the interval before a note is the one that led from it to the next.
    led_on = np.append(melodies.intervals, NO_INTERVAL)[mirrored + 1].astype(np.int64)
    intervals = np.where(is_first, 0, -led_on)
    return melodies._replace(
        pitches=melodies.pitches[mirrored],
        intervals=np.where(is_first, NO_INTERVAL, intervals).astype(np.int8),
        kinds=(3 * _sizes(intervals, is_first) + melodies.gaps).astype(np.int8),
    )


def one(melodies: Encoded, number: int) -> Encoded:
    """One of them, on its own."""
    part = slice(melodies.offsets[number], melodies.offsets[number + 1])
    return melodies._replace(
        offsets=np.array([0, part.stop - part.start]),
        tempos=melodies.tempos[number : number + 1],
        pitches=melodies.pitches[part],
        values=melodies.values[part],
        intervals=melodies.intervals[part],
        kinds=melodies.kinds[part],
        gaps=melodies.gaps[part],
        labels=melodies.labels[part],
    )


def contours(melodies: Encoded) -> Encoded:
    """The same with nothing left of pitch but whether a note is lower than the one before, as high, or higher."""
    is_first = melodies.intervals == NO_INTERVAL
    direction = np.where(is_first, 0, np.sign(melodies.intervals)).astype(np.int8)
    return melodies._replace(
        pitches=direction + np.int8(1),
        intervals=np.where(is_first, np.int8(NO_INTERVAL), direction),
        kinds=np.zeros_like(melodies.kinds),
    )


MELODIES = 64  # side by side
FIELDS = 5  # pitch, value, kind, label, interval
MELODIES_AT_ONCE = 50_000
NOTES = "table of notes"  # as which `Packed.keep` has the table of a collection, perhaps from a file
DTYPES = {
    "starts": np.int64,
    "places": np.int32,
    "order": np.int32,
    "sizes": np.int32,
    "own_scores": np.int32,
    "lengths": np.int32,
    "tempos": np.int8,
    "notes": np.int8,
}


class Rows(NamedTuple):
    """The same melodies one after the other, by place: of each its pitches, then its values, kinds, labels, intervals.

    Reading one melody out of a block would read a line of memory for every byte.
    """

    notes: npt.NDArray[np.int8]
    offsets: Numbers  # [places + 1]: notes before each


@dataclass(frozen=True, slots=True)
class MelodyTable:
    """Melodies in the order of their lengths. The places of the last block are filled up with empty ones.

    There is one entry for each melody in `places`, `order`, `sizes` and `own_scores`. The bytes of a block are in the
    order [field][column][melody]; intervals have one column more. Behind the end of a melody are the pitch 15 and the
    interval -127, which equal nothing.
    """

    starts: Numbers  # [blocks + 1]: where the bytes of each block begin
    places: Ints
    order: Ints  # which melody is at each place
    sizes: Ints
    own_scores: Scores
    lengths: Ints  # of each place; the places that fill up the last block have that of the last melody
    tempos: Bytes  # the median g of each place
    notes: Bytes

    def __len__(self) -> int:
        return len(self.places)

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(getattr(self, field.name).nbytes for field in fields(self))

    def take(self, numbers: Numbers) -> Encoded:
        """The notes of these melodies, in this order."""
        sizes = self.sizes[numbers].astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = self.places[numbers].astype(np.int64)
        columns = [np.empty(offsets[-1], np.int8) for _ in range(FIELDS)]
        kernels.take_melodies(self.notes, self.lengths, self.starts, places, offsets, *columns)
        pitches, values, kinds, labels, intervals = columns
        return Encoded(offsets, self.tempos[places], pitches, values, intervals, kinds, kinds % 3, labels)


def build_table(
    packed: Packed, worth: Tables, progress: Progress | None = None, allocate: Allocate | None = None
) -> MelodyTable:
    """The table of many melodies, encoded a part at a time."""
    starts = range(0, len(packed), MELODIES_AT_ONCE)
    parts = [packed.part(start, min(start + MELODIES_AT_ONCE, len(packed))) for start in starts]

    def encoded_parts() -> Iterator[Encoded]:
        for done, part in enumerate(parts, start=1):
            yield encoded(part)
            if progress:
                progress(done / len(parts), "making the table of notes")

    sizes = [np.diff(melodic_lines(part).offsets) for part in parts]
    return fill_table(np.concatenate([*sizes, np.empty(0, np.int64)]), encoded_parts(), worth, allocate or in_memory)


def notes_table(packed: Packed, compared: str) -> MelodyTable:
    """The table of these melodies for what is compared, made once."""
    notes = packed.keep(NOTES, lambda packed: build_table(packed, worth_of_any_length()))
    if compared != "contour":
        return notes
    worth = tables(fitted("contour"), 1, compared="contour")
    return packed.keep("table of contours", lambda _: table_of(contours(notes.take(np.arange(len(notes)))), worth))


def worth_of_any_length() -> Tables:
    """The worths for tables of notes, which do not depend on how long melodies are."""
    return tables(fitted("both"), 1)


def self_scores_of(table: MelodyTable, compared: str, worth: Tables, packed: Packed | None = None) -> Scores:
    """The score of each melody of such a table with itself. `packed` keeps it for the next query."""
    if compared not in ("melody", "rhythm"):
        return table.own_scores  # the table has those of both together, and of contours

    def made(_: Packed | None) -> Scores:
        found = np.empty(len(table), np.int32)
        kernels.self_scores(table.take(np.arange(len(table))), worth, found)
        return found

    return packed.keep(("self-scores", compared), made) if packed else made(None)


def table_of(melodies: Encoded, worth: Tables) -> MelodyTable:
    """The table of encoded melodies."""
    return fill_table(np.diff(melodies.offsets), [melodies], worth, in_memory)


def fill_table(sizes: Numbers, parts: Iterable[Encoded], worth: Tables, allocate: Allocate) -> MelodyTable:
    """The table of melodies of these sizes, which come in parts, in order.

    Melodies of one length are in the order of their numbers. So each part is written behind the one before it, at as
    many places as there are lengths, and a table in a file needs little memory however long it is.
    """
    count = len(sizes)
    order = np.argsort(sizes, kind="stable")
    table = MelodyTable(**allocate(table_shape(sizes)))
    table.order[:], table.sizes[:] = order, sizes
    table.places[order] = np.arange(count, dtype=np.int32)
    table.lengths[:count], table.tempos[:] = sizes[order], 0
    table.lengths[count:] = sizes.max(initial=0)
    table.starts[0] = 0
    np.cumsum(_block_bytes(table.lengths[MELODIES - 1 :: MELODIES].astype(np.int64)), out=table.starts[1:])
    done = 0
    for part in parts:
        numbers = slice(done, done + len(part.tempos))
        places = table.places[numbers].astype(np.int64)
        table.tempos[places] = part.tempos
        kernels.put_melodies(part, places, table.lengths, table.starts, table.notes)
        own = np.empty(len(places), np.int32)
        kernels.self_scores(part, worth, own)
        table.own_scores[numbers] = own
        done = numbers.stop
    rest = np.arange(count, len(table.lengths))
    nothing = Encoded(np.zeros(len(rest) + 1, np.int64), np.zeros(len(rest), np.int8), *[np.empty(0, np.int8)] * 6)
    kernels.put_melodies(nothing, rest, table.lengths, table.starts, table.notes)
    return table


def table_shape(sizes: Numbers) -> dict[str, int]:
    """How long each array is of the table of melodies of these sizes."""
    count = len(sizes)
    blocks = -(-count // MELODIES)
    lengths = np.sort(sizes)
    longest = np.append(lengths[MELODIES - 1 :: MELODIES], lengths[-1:] if count % MELODIES else [])
    per_melody = dict.fromkeys(("places", "order", "sizes", "own_scores"), count)
    per_place = dict.fromkeys(("lengths", "tempos"), blocks * MELODIES)
    return {"starts": blocks + 1, **per_melody, **per_place, "notes": int(_block_bytes(longest).sum())}


def in_memory(shape: Mapping[str, int]) -> dict[str, Array]:
    """The empty arrays of a table, in memory."""
    return {name: np.empty(length, DTYPES[name]) for name, length in shape.items()}


def is_safe(table: MelodyTable) -> bool:
    """Whether a kernel that trusts these numbers stays inside its arrays, even if a disk has changed some of them."""
    lengths, count = table.lengths.astype(np.int64), len(table)
    per_melody = {len(each) for each in (table.places, table.order, table.sizes, table.own_scores)}
    if per_melody != {count} or len(lengths) != len(table.tempos) or len(lengths) != MELODIES * (len(table.starts) - 1):
        return False
    return bool(
        -MELODIES < count - len(lengths) <= 0
        and lengths.min(initial=0) >= 0
        and (lengths[1:] >= lengths[:-1]).all()
        and table.starts[0] == 0
        and np.array_equal(table.starts[1:], np.cumsum(_block_bytes(lengths[MELODIES - 1 :: MELODIES])))
        and table.starts[-1] == len(table.notes)
        and table.order.min(initial=0) >= 0
        and table.order.max(initial=0) < max(count, 1)
        and np.array_equal(table.places[table.order], np.arange(count))
        and np.array_equal(table.sizes[table.order], lengths[:count])
    )


def _block_bytes(longest: Numbers) -> Numbers:
    """Bytes of blocks whose longest melodies have these numbers of notes."""
    return (FIELDS * longest + 1).astype(np.int64) * MELODIES


def scorer(query: Encoded, table: MelodyTable, planner: Planner) -> Callable[[Numbers], Scores]:
    """A function from numbers of melodies to their scores: those of `align_all`, side by side."""
    if not len(query.pitches):
        return lambda numbers: np.full(len(numbers), FARTHEST, np.int32)
    plan = planner.plan(query)

    def score(numbers: Numbers) -> Scores:
        scores = np.full(len(numbers), FARTHEST, np.int32)
        if not len(numbers):
            return scores
        order = np.argsort(table.places[numbers], kind="stable")
        found = np.empty(len(numbers), np.int32)
        kernels.align_melodies(plan, table, table.places[numbers[order]].astype(np.int64), found)
        scores[order] = found
        unknown = np.flatnonzero(scores == UNKNOWN)
        if len(unknown):
            exact = np.empty(len(unknown), np.int32)
            kernels.align_all(query, table.take(numbers[unknown]), planner.tables, np.arange(len(unknown)), exact)
            scores[unknown] = exact
        return scores

    return score
