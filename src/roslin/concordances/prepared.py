"""What a comparison of a collection with itself needs, made once into a folder, and its pieces of work.

    copies.bin     by number: the melody that it is the same as (`copies`)
    distinct.bin   the numbers of those that are compared, one of each kind
    table.bin      their table of notes (`matchers.roslin.table`)
    is_new.bin     by place in the table: whether it is new, where only new melodies are compared with all others
    needed.bin     by place: the score that a pair must reach; made when chance is known
    rows.bin, semitones.bin, sizes.bin, offsets.bin
                   by place: the notes of all melodies, and their letters (`blocking`); none of these and the following
                   where every two are compared
    starts.bin, members.bin, of_starts.bin, buckets.bin
                   by place: who shares something rare

A piece of work is a value called with the piece's number. It holds paths, so threads and the processes of a cluster do
it alike: each process maps the files once, and gives arrays back. The folder and the collection must lie where all of
them find them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path

import numpy as np

from roslin.collection.store import Store
from roslin.concordances.blocking import are_safe, map_buckets, map_rows, part_of_buckets, write_letters
from roslin.concordances.copies import representatives
from roslin.concordances.join import Shortlist, join_places, piece_of
from roslin.concordances.journal import Arrays
from roslin.concordances.levels import chances_of
from roslin.concordances.mapped import kept_array, map_array, write_array
from roslin.errors import CollectionError
from roslin.matchers.roslin.scores import fitted, tables
from roslin.matchers.roslin.table import MelodyTable, fill_table, worth_of_any_length
from roslin.matchers.roslin.values import Tables
from roslin.search.chance import Tail, sample_of, tails_of
from roslin.search.engines.roslin import open_table, table_file, trusted_table
from roslin.types import Allocate, Flags, Numbers, Scores

_AT_ONCE = 50_000  # melodies


@dataclass(frozen=True, slots=True)
class Join:
    """A collection that is compared with itself, and the folder where that is prepared."""

    collection: str
    token: str  # the state of the collection
    folder: str
    is_exact: bool
    is_all: bool  # not only new melodies with all others
    asked: str  # what is looked for, as a checksum: the files of another question are others, in the same folder


class Prepared:
    """The files of a comparison, each mapped when it is first asked for."""

    def __init__(self, join: Join):
        self.join, self.folder = join, Path(join.folder)

    @cached_property
    def store(self) -> Store:
        """The collection."""
        store = Store(self.join.collection)
        if store.about["token"] != self.join.token:
            raise CollectionError(f"{store.path}: the collection has changed since its comparison began; begin again")
        return store

    @cached_property
    def everything(self) -> MelodyTable:
        """The table of the whole collection."""
        return open_table(self.store)

    @cached_property
    def tails(self) -> dict[int, Tail]:
        """How fast chance matches become rare."""
        return tails_of(self.store, "both/anywhere/any")

    @cached_property
    def tables(self) -> Tables:
        """What is worth how much, for melodies as long as these."""
        return tables(fitted("both"), max(int(self.everything.sizes.max(initial=0)), 1))

    @cached_property
    def copies(self) -> Numbers:
        """By number: the melody that it is the same as."""
        return map_array(self.folder / "copies.bin", np.int64)

    @cached_property
    def distinct(self) -> Numbers:
        """The numbers of the melodies that are compared."""
        return map_array(self.folder / "distinct.bin", np.int64)

    @cached_property
    def table(self) -> MelodyTable:
        """Their table."""
        found = _read_table(self.folder, len(self.distinct))
        if found is None:
            raise CollectionError(f"{self.folder}: damaged: table.bin is not what was written; delete the folder")
        return found

    @cached_property
    def is_new(self) -> Flags | None:
        """By place in the table: whether it is new; None where all are compared with all."""
        return None if self.join.is_all else map_array(self.folder / "is_new.bin", np.bool_)

    @cached_property
    def places(self) -> Numbers:
        """The places whose pairs are looked for."""
        return np.arange(len(self.distinct)) if self.is_new is None else np.flatnonzero(self.is_new)

    @cached_property
    def needed(self) -> Scores:
        """By place: the score that a pair must reach."""
        return map_array(self.folder / "needed.bin", np.int32)

    @cached_property
    def shortlist(self) -> Shortlist | None:
        """Who shares something rare; None where every two are compared."""
        return None if self.join.is_exact else Shortlist(map_buckets(self.folder), map_rows(self.folder))

    def has_buckets(self) -> bool:
        """Whether the buckets are made."""
        try:
            return are_safe(map_buckets(self.folder), map_rows(self.folder), self.table)
        except (OSError, ValueError):
            return False


@lru_cache(maxsize=2)
def opened(join: Join) -> Prepared:
    """The files of a comparison, opened once in a process."""
    return Prepared(join)


@dataclass(frozen=True, slots=True)
class ChancePiece:
    """What chance gives for the melodies of a piece, by the order of `distinct`."""

    join: Join

    def __call__(self, number: int) -> Arrays:
        """The result of one piece."""
        ready = opened(self.join)
        numbers = piece_of(ready.distinct, number)
        begins, scales = chances_of(ready.everything, ready.tables, ready.tails, sample_of(ready.store), numbers)
        return {"begins": begins, "scales": scales}


@dataclass(frozen=True, slots=True)
class BucketPiece:
    """One of so many parts of the buckets, by places in the table."""

    join: Join
    parts: int

    def __call__(self, number: int) -> Arrays:
        """The result of one piece."""
        return part_of_buckets(Path(self.join.folder), number, self.parts)


@dataclass(frozen=True, slots=True)
class PairPiece:
    """The pairs of the melodies of a piece, by places in the table."""

    join: Join

    def __call__(self, number: int) -> Arrays:
        """The result of one piece."""
        ready = opened(self.join)
        piece = piece_of(ready.places, number)
        found = join_places(ready.table, ready.tables, ready.needed, piece, ready.is_new, ready.shortlist)
        return {
            "first": found.first.astype(np.int32),
            "second": found.second.astype(np.int32),
            "scores": found.scores,
            "compared": np.array([found.compared]),
        }


def prepare(join: Join, new: Numbers | None) -> Prepared:
    """Make the files of a comparison that are not there, but for `needed` and the buckets."""
    ready, folder = opened(join), Path(join.folder)
    everything = ready.everything
    count = len(everything)
    copies = kept_array(
        folder / "copies.bin",
        np.int64,
        lambda: representatives(everything),
        lambda found: len(found) == count and found.min() >= 0 and (found <= np.arange(count)).all(),
    )
    distinct = np.flatnonzero(copies == np.arange(count))
    write_array(folder / "distinct.bin", distinct)
    if _read_table(folder, len(distinct)) is None:
        table_file(folder / "table.bin").fill(partial(_distinct_table, everything, distinct))
    if new is not None:
        write_array(folder / "is_new.bin", np.isin(distinct, copies[new])[ready.table.order])
    if not join.is_exact and not ready.has_buckets():
        write_letters(ready.table, folder)
    return ready


def keep_needed(join: Join, needed: Scores) -> None:
    """Write the score that a pair must reach, by place."""
    write_array(Path(join.folder) / "needed.bin", needed)


def _read_table(folder: Path, melodies: int) -> MelodyTable | None:
    arrays = table_file(folder / "table.bin").read()
    return None if arrays is None else trusted_table(arrays, melodies)


def _distinct_table(everything: MelodyTable, distinct: Numbers, allocate: Allocate) -> MelodyTable:
    sizes = everything.sizes[distinct].astype(np.int64)
    parts = (everything.take(distinct[start : start + _AT_ONCE]) for start in range(0, len(distinct), _AT_ONCE))
    return fill_table(sizes, parts, worth_of_any_length(), allocate)
