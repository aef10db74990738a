"""A state of a collection in preparation: its files are written here before they replace the present state.

Melodies stream through: notes go to the end of a file, rows into a database. Memory does not grow with the notes.
A bad record never stops the work: it goes to the rejects file with its place and reason.

A change begins with a copy of the present database. Melodies that are dropped leave their numbers to those that come
next. Numbers that are still free at the end go to the last melodies. So the cost of the rows is that of the change, and
the arrays are copied in long pieces.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from heapq import heappop, heappush
from importlib.metadata import version
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from roslin.collection import files
from roslin.collection.arrays import out_of_range, read_checksums, write_checksums
from roslin.collection.folding import FOLDED_FIELDS
from roslin.collection.report import COUNTS, BuildReport, FileCount
from roslin.collection.sources import Incoming, MelodyRows, rows_of, texts_of
from roslin.collection.store import METADATA_COLUMNS, REPORT, Store, has_checksums
from roslin.errors import Problem
from roslin.melody import NOTE_DTYPE
from roslin.notation.record import Origin, record_of
from roslin.notation.sources import id_stem
from roslin.rows import half_character
from roslin.types import Array, Numbers

_REJECT_COLUMNS = ("file", "line", "record", "column", "reason", "expected", "found")
_ID, _SOURCE = METADATA_COLUMNS.index("id"), METADATA_COLUMNS.index("source")
_DIGEST = "SELECT digest FROM melodies WHERE id = ?"
_COLUMNS = ("number", *METADATA_COLUMNS, "changes", "extra", "digest")
_INSERT_MELODY = f"INSERT INTO melodies ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608

_NUMBERS = 4  # the first features of a `Description` are numbers, the others strings, the last its motives
_NUMBERED = ("melodies", "folded", "features", "strings", "motives")  # tables by number
_GONE = -1
_ROWS_WRITTEN = 2**16  # at once
_INSERT_RECORD = (
    "INSERT INTO records VALUES (?, ?, ?) ON CONFLICT (record) DO UPDATE SET "
    "digest = CASE digest WHEN excluded.digest THEN digest ELSE x'' END"
)
_INDEX = "INSERT INTO interval_index (rowid, chromatic, diatonic) SELECT number, chromatic, diatonic FROM strings"
_INSERT_FOLDED = f"INSERT INTO folded VALUES ({', '.join('?' * (1 + len(FOLDED_FIELDS)))})"  # noqa: S608 - counted


class Content(NamedTuple):
    """The contents of a melody, without its id. The source is None where it is only the name of a file."""

    known: tuple[object, ...]
    source: str | None

    @classmethod
    def of(cls, rows: MelodyRows, file: str = "") -> Content:
        metadata = dict(zip(METADATA_COLUMNS, rows.metadata, strict=True))
        source = metadata.pop("source")
        del metadata["id"]
        extra = json.loads(rows.extra) if rows.extra else {}
        known = (metadata, extra, rows.changes, rows.digest, rows.barlines)
        return cls(known, None if source == file else source)

    def is_that_of(self, other: Content) -> bool:
        return self.known == other.known and self.source in (None, other.source)


def melodies_under(store: Store, id: str) -> dict[int, Content]:
    """The melodies that a collection has under an id, by their numbers: ID, ID~2 and so on."""
    found = store.connection.execute(
        "SELECT number, id FROM melodies WHERE id = ? OR id BETWEEN ? AND ? ORDER BY number",
        (id, f"{id}~", f"{id}~\U0010ffff"),
    )
    numbers = [number for number, name in found if name == id or name.removeprefix(f"{id}~").isdigit()]
    return {
        number: Content.of(rows_of(melody)) for number, melody in zip(numbers, store.melodies(numbers), strict=True)
    }


def id_of(rows: MelodyRows) -> str:
    """The id of a melody, empty where it has none."""
    return " ".join((rows.metadata[_ID] or "").split())  # an id is one line, in lists and in files


class Preparation:
    """The files of a new state. Use as a context manager: `put` records, then `finish`."""

    def __init__(self, space: Path, base: Store | None):
        self.space, self.base = space, base
        self.token = files.new_token()
        self.before = len(base) if base else 0
        self.order = array("q", range(self.before))  # by number: the number before; above these, the new melodies
        self.free: list[int] = []  # numbers, a heap
        self.unindexed = set[int]()  # numbers whose strings are not in the index yet
        self.is_replacing = False
        self.origin: Origin | None = None
        self.counts: Counter[str] = Counter()  # by the names that they have in a report
        self.damage: list[Problem] = []
        self.changed: list[str] = []
        self.nameless: Counter[str] = Counter()
        self.copies: dict[str, _Copies] = {}
        self.warnings: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.by_file: dict[str, FileCount] = {}

    def __enter__(self) -> Preparation:
        database = self.space / files.DATABASE
        if self.base is not None:
            shutil.copyfile(self.base.path / files.DATABASE, database)
        self.connection = sqlite3.connect(database, isolation_level=None)
        # The file is read only once it is complete and synced, so no journal is needed on the way.
        self.connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
        schema = (package_files("roslin.collection") / "schema.sql").read_text("utf-8")
        self.connection.executescript(schema)
        self.connection.execute("BEGIN")
        self.notes = _Rows(self.space / "notes.raw", "notes", "offsets", self.base)
        self.barlines = _Rows(self.space / "barlines.raw", "barlines", "bar_offsets", self.base)
        self.rejects = _ProblemList(self.space / files.REJECTS, _REJECT_COLUMNS)
        self.remarks = _ProblemList(self.space / files.WARNINGS, (*_REJECT_COLUMNS, "taken"))
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as closing:  # all of them, also when a full disk makes one of them fail
            closing.callback(self.connection.close)
            closing.callback(self.rejects.file.close)
            closing.callback(self.remarks.file.close)
            for rows in (self.notes, self.barlines):
                closing.callback(rows.file.close)
            if self.base is not None:
                closing.callback(self.base.close)

    @property
    def number(self) -> int:
        return len(self.order) - len(self.free)

    def put(self, incoming: Incoming) -> None:
        if incoming.is_skipped and incoming.origin is not None and not incoming.problems:
            self.note_raw(incoming.origin.raw, incoming.origin.record, None)
            return
        if incoming.origin is not None and incoming.origin != self.origin:
            self.origin = incoming.origin
            self.connection.execute(_INSERT_RECORD, self.origin[:3])
            self.note_raw(self.origin.raw, self.origin.record, self.origin.digest)
        if incoming.is_skipped:
            self.counts["skipped"] += 1
            if (melody := incoming.silent) is not None and not half_character([*texts_of(melody)]):
                known = {name: getattr(melody, name) for name in METADATA_COLUMNS} | {"extra": dict(melody.extra)}
                text = json.dumps({name: value for name, value in known.items() if value}, ensure_ascii=False)
                row = melody.id, record_of(melody), text
                self.connection.execute("INSERT OR IGNORE INTO silent VALUES (?, ?, ?)", row)
            self.remarks.write(incoming.problems[0])
            return
        if incoming.is_damage:
            self.damage.append(incoming.problems[0])
        count, is_taken = self.by_file.setdefault(incoming.file, FileCount()), self._take(incoming)
        count.taken += is_taken
        count.refused += not is_taken
        self.counts["taken" if is_taken else "refused"] += 1

    def note_raw(self, raw: bytes, record: str, digest: bytes | None) -> None:
        """Note the bytes of a catalogue record; no digest: it has no incipits."""
        if raw:
            self.connection.execute("INSERT OR REPLACE INTO raw VALUES (?, ?, ?)", (raw, record, digest))

    def forget(self, record: str) -> bool:
        """Leave out all that is known of a catalogue record beside its melodies; whether anything was."""
        self.connection.execute("DELETE FROM silent WHERE record = ?", (record,))
        return self.connection.execute("DELETE FROM records WHERE record = ?", (record,)).rowcount > 0

    def drop(self, numbers: Iterable[int]) -> None:
        """Leave out melodies of the collection before. Their numbers are free."""
        for number in numbers:
            self._unindex(number)
            for table in _NUMBERED:
                self.connection.execute(f"DELETE FROM {table} WHERE number = ?", (number,))  # noqa: S608
            self.order[number] = _GONE
            heappush(self.free, number)

    def _unindex(self, number: int) -> None:
        """Take the strings of a melody out of the index, which must be given what it has."""
        self.connection.execute(
            "INSERT INTO interval_index (interval_index, rowid, chromatic, diatonic) "
            "SELECT 'delete', number, chromatic, diatonic FROM strings WHERE number = ?",
            (number,),
        )

    def _close_gaps(self) -> None:
        self.free.sort()
        gaps = [number for number in self.free if number < self.number]
        self.free.clear()
        for gap in gaps:
            while self.order[-1] == _GONE:
                self.order.pop()
            last = len(self.order) - 1
            if last in self.unindexed:
                self.unindexed.remove(last)
            else:
                self._unindex(last)
            self.unindexed.add(gap)
            for table in _NUMBERED:
                self.connection.execute(f"UPDATE {table} SET number = ? WHERE number = ?", (gap, last))  # noqa: S608
            self.order[gap] = self.order.pop()
        while self.order and self.order[-1] == _GONE:
            self.order.pop()

    def _take(self, incoming: Incoming) -> bool:
        rows, problems = incoming.rows, incoming.problems
        if rows is None:
            self._reject(problems[0])
            return False
        notes, barlines = np.frombuffer(rows.notes, NOTE_DTYPE), np.frombuffer(rows.barlines, np.int64)
        source = rows.metadata[_SOURCE]
        if fault := out_of_range(notes, barlines):
            self._reject(Problem(fault, file=source or "", record=rows.metadata[_ID] or ""))
            return False
        id = id_of(rows)
        if self.base is not None and not self.is_replacing and id in self.base:
            content = Content.of(rows, incoming.file)
            if not any(map(content.is_that_of, melodies_under(self.base, id).values())):
                self.changed.append(id)
        if not id:
            stem = id_stem(Path(source or "melody").name)  # of a melody that was given as such
            self.nameless[stem] += 1
            id = f"{stem}-{self.nameless[stem]}"
        if not self._insert(id, rows):
            renamed = self._free_id(id, rows.digest)
            place = problems[0] if problems else Problem("", file=source or "")
            problem = Problem("id taken already", "a new id", repr(id), 1, place.line, place.file, id)
            if renamed is None:
                self._reject(replace(problem, reason="the same melody under the same id is there already"))
                return False
            problems = (*problems, replace(problem, reason="id taken already, a number was added to it", taken=renamed))
            self._insert(renamed, rows)
        self.counts["with_warnings"] += bool(problems)
        self.warnings.update({problem.reason for problem in problems})
        for problem in problems:
            self.remarks.write(problem.at(file=source or "", record=id))
        return True

    def _free_id(self, id: str, digest: bytes) -> str | None:
        """ID~2, ID~3, ... whichever is free; None when one of those that have the id is the same melody."""
        if id not in self.copies:
            (first,) = self.connection.execute(_DIGEST, (id,)).fetchone()
            self.copies[id] = _Copies({first})
        copies = self.copies[id]
        while digest not in copies.digests:
            copies.count += 1
            name = f"{id}~{copies.count}"
            there = self.connection.execute(_DIGEST, (name,)).fetchone()
            copies.digests.add(there[0] if there else digest)
            if there is None:
                return name
        return None

    def _insert(self, id: str, rows: MelodyRows) -> bool:
        number = self.free[0] if self.free else len(self.order)
        values = (number, *rows.metadata[:_ID], id, *rows.metadata[_ID + 1 :])
        try:
            self.connection.execute(_INSERT_MELODY, (*values, rows.changes, rows.extra, rows.digest))
        except sqlite3.IntegrityError:
            return False
        self.connection.execute(_INSERT_FOLDED, (number, *rows.folded))
        about = rows.about
        self.connection.execute("INSERT INTO features VALUES (?, ?, ?, ?, ?)", (number, *about[:_NUMBERS]))
        self.connection.execute("INSERT INTO strings VALUES (?, ?, ?, ?, ?)", (number, *about[_NUMBERS:-1]))
        motives = ((number, motive, times) for motive, times in about.motives.items())
        self.connection.executemany("INSERT INTO motives VALUES (?, ?, ?)", motives)
        if self.free:
            heappop(self.free)
            self.order[number] = self.before + self.notes.count
        else:
            self.order.append(self.before + self.notes.count)
        self.notes.append(rows.notes)
        self.barlines.append(rows.barlines)
        if self.base is not None:
            self.unindexed.add(number)
        return True

    def _reject(self, problem: Problem) -> None:
        self.refusals[problem.reason] += 1
        self.rejects.write(problem)

    @property
    def checksums(self) -> Path:
        return files.state_path(self.space, "checksums", self.token)

    def finish(self, folder: Path, *, is_removal: bool) -> BuildReport:
        """Complete the files in preparation. A removal leaves the report and the lists of the work before."""
        for each in (self.rejects, self.remarks):
            each.file.close()
        self._close_gaps()
        order = np.frombuffer(self.order, np.int64) if self.order else np.empty(0, np.int64)
        checksum, checksums = hashlib.sha256(), dict[str, str]()
        for rows in (self.notes, self.barlines):
            for name, parts in rows.in_order(order):
                path = files.state_path(self.space, name, self.token)
                checksums[path.name] = _save(path, name, parts, checksum)
        report = BuildReport(
            path=folder,
            total=len(order),
            refusals=_most_first(self.refusals),
            warnings=_most_first(self.warnings),
            by_file=self.by_file,
            **{name: self.counts[name] for name in COUNTS},
        )
        self._finish_database(
            {
                "format_version": str(files.FORMAT_VERSION),
                "roslin": version("roslin"),
                "token": self.token,
                "melodies": str(len(order)),
                "notes": str(self.notes.total(order)),
                "arrays_sha256": checksum.hexdigest(),
                "written": datetime.now(UTC).isoformat(timespec="seconds"),
            }
            | ({} if is_removal else {REPORT: report.to_json()})
        )
        checksums[files.DATABASE] = files.checksum_of(self.space / files.DATABASE)
        if not is_removal:
            checksums |= {name: files.checksum_of(self.space / name) for name in (files.REJECTS, files.WARNINGS)}
        elif self.base is not None and has_checksums(self.base.about):
            before = read_checksums(folder, self.base.about["token"])
            checksums |= {name: before[name] for name in (files.REJECTS, files.WARNINGS) if name in before}
        write_checksums(self.space, self.token, checksums)
        return report

    def _finish_database(self, about: Mapping[str, str]) -> None:
        self.connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", about.items())
        if self.base is None:
            self.connection.execute(_INDEX)
        else:
            self.connection.executemany(f"{_INDEX} WHERE number = ?", ((each,) for each in sorted(self.unindexed)))
        self.connection.execute("COMMIT")
        if self.base is None:
            self.connection.execute("ANALYZE")  # a change leaves the statistics as they are
        self.connection.close()


def _most_first(reasons: Counter[str]) -> dict[str, int]:
    return dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))


@dataclass(slots=True)
class _Copies:
    """Melodies that came under one id: their digests, and the last number that was added to it."""

    digests: set[bytes]
    count: int = 1


class _ProblemList:
    def __init__(self, path: Path, columns: tuple[str, ...]):
        self.columns = columns
        self.file = path.open("w", encoding="utf-8", newline="")
        self.file.write("\t".join(columns) + "\n")

    def write(self, problem: Problem) -> None:
        values = [str(getattr(problem, name)) for name in self.columns]
        self.file.write("\t".join(" ".join(value.split()) for value in values) + "\n")


class _Rows:
    """The notes, or the bar lines, of all melodies: those of the state before, and new ones, which go to a file."""

    def __init__(self, path: Path, name: str, starts: str, base: Store | None):
        self.name, self.starts = name, starts
        self.path, self.file = path, path.open("w+b")
        self.dtype = files.array_dtype(name)
        self.rows: Array = np.empty(0, self.dtype) if base is None else base.array(name)
        self.offsets: Numbers = np.zeros(1, np.int64) if base is None else base.array(starts)
        self.ends = array("q", [0])  # of the new ones

    @property
    def count(self) -> int:
        return len(self.ends) - 1

    def append(self, rows: bytes) -> None:
        self.file.write(rows)
        self.ends.append(self.ends[-1] + len(rows) // self.dtype.itemsize)

    def total(self, order: Numbers) -> int:
        return int(self._lengths(order).sum())

    def _lengths(self, order: Numbers) -> Numbers:
        return np.concatenate([np.diff(self.offsets), np.diff(np.frombuffer(self.ends, np.int64))])[order]

    def in_order(self, order: Numbers) -> Iterator[tuple[str, list[Array]]]:
        """The two arrays, by name, in parts: melodies that follow each other already are copied together."""
        self.file.close()
        before, new_offsets = len(self.offsets) - 1, np.frombuffer(self.ends, np.int64)
        new = np.memmap(self.path, self.dtype, "r") if self.ends[-1] else np.empty(0, self.dtype)
        is_first = (np.diff(order, prepend=-2) != 1) | (order == before)
        firsts = np.flatnonzero(is_first)
        lasts = np.append(firsts[1:], len(order))[: len(firsts)] - 1
        parts = [np.empty(0, self.dtype)]
        for first, last in zip(order[firsts].tolist(), order[lasts].tolist(), strict=True):
            if first < before:
                parts.append(self.rows[self.offsets[first] : self.offsets[last + 1]])
            else:
                parts.append(new[new_offsets[first - before] : new_offsets[last - before + 1]])
        yield self.name, parts
        yield self.starts, [np.concatenate([[0], np.cumsum(self._lengths(order), dtype=np.int64)])]


def _save(target: Path, name: str, parts: list[Array], checksum: Any) -> str:
    """Write a `.npy` file and update `checksum` with its numbers. The checksum of the file."""
    header = files.array_header(name, sum(map(len, parts)))
    whole = hashlib.sha256(header)
    with target.open("wb") as file:
        file.write(header)
        for part in parts:
            for start in range(0, len(part), _ROWS_WRITTEN):
                data = part[start : start + _ROWS_WRITTEN].data
                checksum.update(data)
                whole.update(data)
                file.write(data)
    files.sync(target)
    return whole.hexdigest()
