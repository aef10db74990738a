"""A collection opened for reading: melodies by number and by id, arrays mapped into memory.

Nothing here writes. The database is opened as immutable (see files.py: a published file never changes), so any number
of processes can read, also while another prepares a new state; they see it when they open the collection again.

Tasks of one process share their collections (`opened`): each is opened once, and again only when it has changed. A task
that is sent to another process names its collection by path and token. There it finds the state that it was made for,
or an error. `check` reads all files of a collection to their ends and lists every fault.
"""

from __future__ import annotations

import atexit
import json
import operator
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, Self, SupportsIndex, overload

import numpy as np
import numpy.typing as npt

from roslin.collection.arrays import damaged, damaged_files, is_as_written, missing, unsafe, verified_arrays
from roslin.collection.files import ARRAY_NAMES, DATABASE, FORMAT_BEFORE, FORMAT_VERSION, connected, is_token
from roslin.collection.folding import FOLDED_FIELDS, folded_metadata
from roslin.collection.report import BuildReport
from roslin.display.text import counted
from roslin.errors import ArgumentError, CollectionError, DamagedError, PlaceError, UnknownNameError, UnknownRecordError
from roslin.melody import NOTE_DTYPE, Melody, SignatureChange
from roslin.notation.record import CHANT, record_of
from roslin.represent.packed import Packed
from roslin.represent.strings import describe

METADATA_COLUMNS = (
    "id", "title", "composer", "voice", "key", "metre", "text", "source", "music", "notation", "clef", "key_signature",
)  # fmt: skip
REPORT = "report"  # its name in the table about; read when it is asked for, because it may be long
_OPENING_ATTEMPTS = 5
_MOST_OPENED = 64  # the one that was opened first makes room
_DESCRIBED_AGAIN = 1000  # melodies, by a check


class Store:
    """A collection on disk. `len(store)`, `store["id"]`, `store[0]`, `store[:3]`, `for melody in store`."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._open()

    def _open(self) -> None:
        for attempt in range(_OPENING_ATTEMPTS):
            self._connection, self.about = _open_state(self.path)
            try:
                self._arrays = verified_arrays(self.path, self.about["token"], has_checksums=has_checksums(self.about))
                self._length = int(self.about["melodies"])
                if any(len(self._arrays[name]) != self._length + 1 for name in ("offsets", "bar_offsets")):
                    raise damaged(self.path, DATABASE, "does not belong to the arrays")
                self._packed = Packed(*(self._arrays[name] for name in ARRAY_NAMES))
                self._is_closed = False
                break
            except (FileNotFoundError, DamagedError) as error:
                self._connection.close()
                # A writer that published a new state meanwhile took files of the old one away: look again.
                if attempt < _OPENING_ATTEMPTS - 1 and token_of(self.path) != self.about["token"]:
                    continue
                if isinstance(error, FileNotFoundError):
                    raise missing(self.path, error, self.about["token"]) from None
                raise

    # -- melodies ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._length

    def __contains__(self, melody: object) -> bool:
        """Whether there is a melody with this id, or this very melody."""
        if isinstance(melody, Melody):
            return melody.id is not None and melody.id in self and self[melody.id] == melody
        return isinstance(melody, str) and self._number(melody) is not None

    @overload
    def __getitem__(self, which: str | SupportsIndex) -> Melody: ...

    @overload
    def __getitem__(self, which: slice) -> list[Melody]: ...

    def __getitem__(self, which: str | SupportsIndex | slice) -> Melody | list[Melody]:
        """The melody with an id or at a place (from 0, below 0 from the end), or the melodies of a slice.

        An incipit without notes has an id and no place: it is not in the collection, and nothing finds it.
        """
        if isinstance(which, str):
            if self._number(which) is None and (silent := self._silent(which)) is not None:
                return silent
            return next(self.melodies(self.numbers([which])))
        places = chosen_places(which, self._length, "the collection")
        return next(self.melodies([places])) if isinstance(places, int) else list(self.melodies(places))

    def __iter__(self) -> Iterator[Melody]:
        return self.melodies(range(self._length))

    def melodies(self, numbers: Sequence[int] | npt.NDArray[np.int64]) -> Iterator[Melody]:
        """The melodies with these numbers, in that order, a few at a time."""
        columns = ", ".join(("number", *METADATA_COLUMNS, "changes", "extra"))
        statement = f"SELECT {columns} FROM melodies WHERE number IN "  # noqa: S608 - only names of our own
        for start in range(0, len(numbers), 500):
            wanted = [int(number) for number in numbers[start : start + 500]]
            rows = {row[0]: row[1:] for row in self._in_chunks(statement, wanted)}
            for number in wanted:
                yield self._melody(number, rows[number])

    def ids(self, numbers: Sequence[int] | npt.NDArray[np.int64] | None = None) -> list[str]:
        """The ids of these numbers, or all of them in order."""
        if numbers is None:
            return [row[0] for row in self.connection.execute("SELECT id FROM melodies ORDER BY number")]
        found = self._in_chunks("SELECT number, id FROM melodies WHERE number IN ", [int(n) for n in numbers])
        by_number: dict[int, str] = dict(found)
        return [by_number[int(number)] for number in numbers]

    def numbers(self, ids: Sequence[str]) -> npt.NDArray[np.int64]:
        """The numbers of these ids. An unknown one is an error."""
        found = self._in_chunks("SELECT number, id FROM melodies WHERE id IN ", list(ids))
        by_id: dict[str, int] = {id: number for number, id in found}
        for id in ids:
            if id not in by_id:
                raise UnknownNameError("melody", id, self._similar_ids(id))
        return np.array([by_id[id] for id in ids], dtype=np.int64)

    def ids_of_record(self, record: str) -> list[str]:
        """The ids of the melodies of a catalogue record, in order. An unknown one is an error."""
        found = self.numbers_of_record(record)
        if not found:
            raise UnknownRecordError("record", record, self._similar_ids(record))
        return self.ids(found)

    def numbers_of_record(self, record: str) -> list[int]:
        """The numbers of the melodies of a catalogue record, in order; none where there is no such record."""
        rows = self.connection.execute(
            "SELECT number, id, extra ->> '$.record' FROM melodies WHERE id = ? OR id BETWEEN ? AND ? ORDER BY number",
            (record, f"{record}-", f"{record}-\U0010ffff"),
        )
        return [number for number, id, named in rows if (named or record_of(id)) == record]

    @cached_property
    def id_ranks(self) -> npt.NDArray[np.int64]:
        """The place of each melody in the order of ids, from 0."""
        rows = self.connection.execute("SELECT number FROM melodies ORDER BY id")
        ranks = np.empty(self._length, dtype=np.int64)
        ranks[np.fromiter((row[0] for row in rows), np.int64, self._length)] = np.arange(self._length)
        return ranks

    @cached_property
    def has_rhythm(self) -> bool:
        """Whether any melody comes from a notation with rhythm; chant has none."""
        sql = "SELECT EXISTS (SELECT 1 FROM melodies WHERE notation IS NULL OR notation NOT IN (?, ?))"
        return bool(self.connection.execute(sql, CHANT).fetchone()[0])

    @property
    def report(self) -> BuildReport | None:
        """The report of the last build or add; None in a collection of an old Roslin without reports."""
        row = self.connection.execute("SELECT value FROM about WHERE name = ?", (REPORT,)).fetchone()
        return None if row is None else BuildReport.from_json(self.path, str(row[0]))

    def packed(self) -> Packed:
        """All notes as one table, for algorithms that compare a query with everything; the same object each time."""
        return self._packed

    def array(self, name: str) -> npt.NDArray[Any]:
        """One of the memory-mapped arrays (files.ARRAY_NAMES)."""
        return self._arrays[name]

    @property
    def connection(self) -> sqlite3.Connection:
        self._check_open()
        return self._connection

    def close(self) -> None:
        self._connection.close()
        self._is_closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r}, {counted(self._length, 'melody', 'melodies')})"

    # -- private ----------------------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._is_closed:
            raise CollectionError(f"{self.path}: the collection is closed; open it again")

    def _number(self, id: str) -> int | None:
        row = self.connection.execute("SELECT number FROM melodies WHERE id = ?", (id,)).fetchone()
        return None if row is None else int(row[0])

    def _silent(self, id: str) -> Melody | None:
        try:
            row = self.connection.execute("SELECT melody FROM silent WHERE id = ?", (id,)).fetchone()
        except sqlite3.OperationalError:  # an earlier version of Roslin kept none
            return None
        return None if row is None else Melody(np.empty(0, NOTE_DTYPE), **json.loads(row[0]))

    def _similar_ids(self, id: str) -> list[str]:
        for length in range(len(id), -1, -1):
            bounds = (id[:length], id[:length] + "\U0010ffff")
            rows = self.connection.execute(
                "SELECT id FROM melodies WHERE id BETWEEN ? AND ? ORDER BY id LIMIT 3", bounds
            )
            if found := [row[0] for row in rows]:
                return [*found, "..."]
        return ["none: the collection is empty"]

    def _in_chunks(self, statement: str, values: list[Any]) -> Iterator[tuple[Any, ...]]:
        for start in range(0, len(values), 500):
            chunk = values[start : start + 500]
            yield from self.connection.execute(f"{statement}({','.join('?' * len(chunk))})", chunk)

    def _melody(self, number: int, row: tuple[Any, ...]) -> Melody:
        notes = self._arrays["notes"][self._span("offsets", number)]
        bars = self._arrays["barlines"][self._span("bar_offsets", number)]
        *metadata, changes, extra = row
        return Melody(
            notes,
            **dict(zip(METADATA_COLUMNS, metadata, strict=True)),
            barlines_ticks=bars,
            changes=tuple(SignatureChange(*change) for change in json.loads(changes)) if changes else (),
            extra=json.loads(extra) if extra else {},
        )

    def _span(self, name: str, number: int) -> slice:
        offsets = self._arrays[name]
        return slice(int(offsets[number]), int(offsets[number + 1]))


def chosen_places(which: SupportsIndex | slice, length: int, of: str) -> int | range:
    """The place, or the places of a slice, in a sequence of a length. `of` names the sequence in a refusal."""
    if isinstance(which, slice):
        return range(length)[which]
    try:
        place = operator.index(which)
    except TypeError:
        raise ArgumentError(f"a melody is chosen by its id, its place or a slice; got {which!r}") from None
    if not -length <= place < length:
        raise PlaceError(f"{of} has {counted(length, 'melody', 'melodies')}; there is none at {place}")
    return place % length


def token_of(folder: Path) -> str:
    """The name of the state that a folder is in, by its database, of which nothing else is trusted."""
    connection, about = _open_state(folder)
    connection.close()
    return about["token"]


def _open_state(folder: Path) -> tuple[sqlite3.Connection, dict[str, str]]:
    if not (folder / DATABASE).is_file():
        what = "there is no such folder" if not folder.exists() else "it is not a Roslin collection"
        raise CollectionError(f"{folder}: {what}; make one with: roslin collection build FILE... {folder}")
    connection = connected(folder)
    try:
        about = dict(connection.execute("SELECT name, value FROM about WHERE name <> ?", (REPORT,)))
        _check_about(about, folder)
    except (sqlite3.Error, KeyError, TypeError, ValueError) as error:
        connection.close()
        raise damaged(folder, DATABASE, f"cannot be read ({error})") from error
    except CollectionError:
        connection.close()
        raise
    return connection, about


def _check_about(about: Mapping[str, str], folder: Path) -> None:
    version = int(about["format_version"])
    if not is_token(about["token"]):
        raise ValueError("it names no state")
    int(about["melodies"])
    if version != FORMAT_VERSION and not is_as_written(folder, about["token"]):
        raise damaged(folder, DATABASE)
    if not FORMAT_BEFORE <= version <= FORMAT_VERSION:
        upgrade = "upgrade Roslin with: pip install --upgrade roslin"
        raise CollectionError(
            f"{folder}: format {version}, written by Roslin {about.get('roslin', '?')}; "
            f"this Roslin reads formats {FORMAT_BEFORE} and {FORMAT_VERSION}: "
            + (upgrade if version > FORMAT_VERSION else "build the collection again from its sources")
        )


def has_checksums(about: Mapping[str, str]) -> bool:
    """Whether a collection has checksums: the format before has none."""
    return about["format_version"] != str(FORMAT_BEFORE)


# -- collections that tasks share -------------------------------------------------------------------------------------

_OPENED: dict[str, Store] = {}
_LOCK = Lock()


def opened(path: str, token: str) -> Store:
    """The state of a collection with this token. Callers leave it open."""
    with _LOCK:
        known = _OPENED.get(path)
        if known is not None and known.about["token"] == token:
            return known
        store = Store(path)
        if store.about["token"] != token:
            store.close()
            raise CollectionError(f"{path}: the collection has changed since the work began; start it again")
        if known is not None:
            known.close()
        elif len(_OPENED) >= _MOST_OPENED:
            _OPENED.pop(next(iter(_OPENED))).close()
        _OPENED[path] = store
        return store


@atexit.register
def _close_all() -> None:
    for store in _OPENED.values():
        store.close()


# -- checking ---------------------------------------------------------------------------------------------------------


def check(path: str | Path) -> list[str]:
    """Everything that is wrong with a collection, in sentences. A folder that is not a collection raises an error.

    Every file is read to its end. Their contents are examined only if all checksums are right.
    """
    folder = Path(path)
    try:
        connection, about = _open_state(folder)
        connection.close()
        token = about["token"]
        faults = [str(error) for error in damaged_files(folder, token)] if has_checksums(about) else []
        if faults:
            # While a writer publishes a new state, files of the old one go.
            return faults if token_of(folder) == token else check(folder)
        with Store(folder) as store:
            return list(_faults(store))
    except DamagedError as error:
        return [str(error)]


def _faults(store: Store) -> Iterator[str]:
    for name, fault in unsafe({name: store.array(name) for name in ARRAY_NAMES}):
        yield f"The array {name} {fault}"
    try:
        for (message,) in store.connection.execute("PRAGMA integrity_check(10)"):
            if message != "ok":
                yield f"The database is damaged: {message}"
        yield from _counts(store)
        _ = store.report
    except DamagedError as error:
        yield str(error)
    except sqlite3.DatabaseError as error:
        yield f"The database is damaged: {error}"


def _counts(store: Store) -> Iterator[str]:
    for table in ("melodies", "folded", "features", "strings"):
        count, first, last = store.connection.execute(
            f"SELECT count(*), min(number), max(number) FROM {table}"  # noqa: S608 - our own names
        ).fetchone()
        if count != len(store) or (count and (first, last) != (0, count - 1)):
            yield f"The table {table} has {count} rows; expected {len(store)}, numbered from 0"
            return
    yield from _features(store)


def _features(store: Store) -> Iterator[str]:
    """Compute the features of a sample of the melodies again and compare them with the database."""
    sample = range(0, len(store), max(1, len(store) // _DESCRIBED_AGAIN))
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
