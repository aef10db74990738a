"""The table of many melodies: what the measure reads of each, about 110 bytes.

For each note five bytes, in blocks of 64 melodies of much the same length (`Blocks`); for each melody its place in
them, its number of notes and its self-score. The table of a collection is a file in its folder
(`search.engines.roslin`) and is written a part at a time, so the melodies are never in memory together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.matchers.roslin.notes import contours, encoded
from roslin.matchers.roslin.scores import fitted, tables
from roslin.matchers.roslin.values import Encoded, Tables
from roslin.native import kernels
from roslin.represent.line import melodic_lines
from roslin.represent.packed import Packed
from roslin.types import Allocate, Array, Numbers, Progress, Scores

MELODIES = 64  # side by side
FIELDS = 5  # pitch, value, kind, label, interval
NO_PITCH, NO_NOTE = 15, -127  # the pitch and the interval behind the end of a melody: they equal nothing
MELODIES_AT_ONCE = 50_000
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


class Blocks(NamedTuple):
    """Melodies in the order of their lengths; the places of the last block are filled up with empty ones.

    The bytes of a block are in the order [field][column][melody]; intervals have one column more.
    """

    notes: npt.NDArray[np.int8]
    starts: Numbers  # [blocks + 1]: where the bytes of each block begin
    lengths: npt.NDArray[np.int32]  # of each place; the places that fill up the last block have that of the last melody
    tempos: npt.NDArray[np.int8]  # the median g of each place


class Rows(NamedTuple):
    """The same melodies one after the other, by place: of each its pitches, then its values, kinds, labels, intervals.

    Reading one melody out of a block would read a line of memory for every byte.
    """

    notes: npt.NDArray[np.int8]
    offsets: Numbers  # [places + 1]: notes before each


@dataclass(frozen=True, slots=True)
class MelodyTable:
    """One entry for each melody in `places`, `sizes` and `own_scores`; the rest as in `Blocks`."""

    starts: Numbers
    places: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]  # which melody is at each place
    sizes: npt.NDArray[np.int32]
    own_scores: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int32]
    tempos: npt.NDArray[np.int8]
    notes: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.places)

    @property
    def blocks(self) -> Blocks:
        """For the kernels."""
        return Blocks(self.notes, self.starts, self.lengths, self.tempos)

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


def notes_table(packed: Packed, compared: str, make: Callable[[], MelodyTable] | None = None) -> MelodyTable:
    """The table of these melodies for what is compared, made once. `make` has another way to it, such as a file."""
    notes = packed.keep("table of notes", lambda _: make() if make else build_table(packed, worth_of_any_length()))
    if compared != "contour":
        return notes
    worth = tables(fitted("contour"), 1, compared="contour")
    return packed.keep("table of contours", lambda _: table_of(contours(notes.take(np.arange(len(notes)))), worth))


def worth_of_any_length() -> Tables:
    """The worths for tables of notes, which do not depend on how long melodies are."""
    return tables(fitted("both"), 1)


def self_scores_of(table: MelodyTable, compared: str, worth: Tables, packed: Packed | None = None) -> Scores:
    """What each melody of such a table reaches with itself. `packed` keeps it for the next query."""
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
