"""Is a collection whole? Every test says what it found; the first failure of each kind is reported."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from roslin.collection.files import ARRAY_NAMES
from roslin.collection.folding import FOLDED_FIELDS, folded_metadata
from roslin.collection.store import Store, token_of
from roslin.collection.verified import damaged_files, unsafe
from roslin.errors import DamagedError
from roslin.represent.features import describe

_SAMPLE = 1000


def check(path: str | Path) -> list[str]:
    """What is wrong with a collection, in sentences; empty when it is whole. What is no collection raises.

    Every file is read to its end. What they say is looked at only when all are what was written.
    """
    folder = Path(path)
    try:
        token = token_of(folder)
        faults = [str(error) for error in damaged_files(folder, token)]
        if faults:
            # While a writer publishes a new state, files of the old one go.
            return faults if token_of(folder) == token else check(folder)
        with Store(folder) as store:
            return [*_database(store), *_arrays(store), *_counts(store), *_report(store)]
    except DamagedError as error:
        return [str(error)]


def _database(store: Store) -> Iterator[str]:
    try:
        for (message,) in store.connection.execute("PRAGMA integrity_check(10)"):
            if message != "ok":
                yield f"The database is damaged: {message}"
    except sqlite3.DatabaseError as error:
        yield f"The database is damaged: {error}"


def _arrays(store: Store) -> Iterator[str]:
    for name, fault in unsafe({name: store.array(name) for name in ARRAY_NAMES}):
        yield f"The array {name} {fault}"


def _counts(store: Store) -> Iterator[str]:
    try:
        for table in ("melodies", "folded", "features", "strings"):
            count, first, last = store.connection.execute(
                f"SELECT count(*), min(number), max(number) FROM {table}"  # noqa: S608 - our own names
            ).fetchone()
            if count != len(store) or (count and (first, last) != (0, count - 1)):
                yield f"The table {table} has {count} rows; expected {len(store)}, numbered from 0"
                return
        yield from _features(store)
    except sqlite3.DatabaseError as error:
        yield f"The database is damaged: {error}"


def _report(store: Store) -> Iterator[str]:
    try:
        _ = store.report
    except DamagedError as error:
        yield str(error)
    except sqlite3.DatabaseError as error:
        yield f"The database is damaged: {error}"


def _features(store: Store) -> Iterator[str]:
    """Describe a sample of the melodies again; the database must say the same."""
    sample = range(0, len(store), max(1, len(store) // _SAMPLE))
    for number, melody in zip(sample, store.melodies(sample), strict=True):
        stored = store.connection.execute(
            "SELECT note_count, pitch_range, max_interval, duration_ratio, chromatic, diatonic, contour, rhythm "
            "FROM features JOIN strings USING (number) WHERE number = ?",
            (number,),
        ).fetchone()
        if stored != describe(melody)[: len(stored)]:
            yield f"The features stored for {melody.id} are not those of its notes"
            return
        statement = f"SELECT {', '.join(FOLDED_FIELDS)} FROM folded WHERE number = ?"  # noqa: S608 - our own names
        if store.connection.execute(statement, (number,)).fetchone() != folded_metadata(melody):
            yield f"The folded words stored for {melody.id} are not those of its metadata"
            return
