"""A state of a collection in preparation: its files are written here before they replace the present state.

Melodies stream through: notes go to the end of a file, rows into a database. Memory does not grow with the collection.
A bad record never stops the work: it goes to the rejects file with its place and reason.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from roslin.collection.arrays import out_of_range, write_checksums
from roslin.collection.files import (
    ARRAY_NAMES,
    DATABASE,
    FORMAT_VERSION,
    REJECTS,
    WARNINGS,
    array_header,
    array_path,
    checksum_of,
    checksums_path,
    new_token,
    sync,
)
from roslin.collection.folding import FOLDED_FIELDS
from roslin.collection.report import BuildReport, FileCount
from roslin.collection.sources import Incoming, MelodyRows, rows_of
from roslin.collection.store import METADATA_COLUMNS, REPORT, Store
from roslin.errors import Problem
from roslin.melody import NOTE_DTYPE
from roslin.notation.sources import id_stem
from roslin.types import Numbers

_REJECT_COLUMNS = ("file", "line", "record", "column", "reason", "expected", "found")
_ID, _SOURCE = METADATA_COLUMNS.index("id"), METADATA_COLUMNS.index("source")
_DIGEST = "SELECT digest FROM melodies WHERE id = ?"
_COLUMNS = ("number", *METADATA_COLUMNS, "changes", "extra", "digest")
_INSERT_MELODY = f"INSERT INTO melodies ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608

_INSERT_FOLDED = f"INSERT INTO folded VALUES ({', '.join('?' * (1 + len(FOLDED_FIELDS)))})"  # noqa: S608 - counted


class Content(NamedTuple):
    """What a melody has under its id. The source is None where it is only the name of a file."""

    known: tuple[object, ...]
    source: str | None

    @classmethod
    def of(cls, rows: MelodyRows, file: str = "") -> Content:
        """From the rows of a melody that comes from a file."""
        metadata = dict(zip(METADATA_COLUMNS, rows.metadata, strict=True))
        source = metadata.pop("source")
        del metadata["id"]
        extra = json.loads(rows.extra) if rows.extra else {}
        known = (metadata, extra, rows.changes, rows.digest, rows.barlines)
        return cls(known, None if source == file else source)

    def is_that_of(self, other: Content) -> bool:
        """Whether a melody of the collection has the same."""
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


class Kept(NamedTuple):
    """What a removal leaves as it is: the report of the last build or add, and the checksums of its lists."""

    report: str | None
    lists: dict[str, str]


class Preparation:
    """The files of a new state. Use as a context manager: `put` records, then `finish`."""

    def __init__(self, space: Path, base: Store | None):
        self.space, self.base = space, base
        self.token = new_token()
        self.first = self.number = len(base) if base else 0
        self.taken = self.refused = self.with_warnings = self.skipped = self.replaced = self.unchanged = 0
        self.damage: list[Problem] = []
        self.changed: list[str] = []
        self.nameless: Counter[str] = Counter()
        self.copies: dict[str, _Copies] = {}
        self.warnings: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.by_file: dict[str, FileCount] = {}

    def __enter__(self) -> Preparation:
        database = self.space / DATABASE
        if self.base is not None:
            shutil.copyfile(self.base.path / DATABASE, database)
        self.connection = sqlite3.connect(database, isolation_level=None)
        # Nobody reads this file before it is complete and synced, so no journal is needed on the way.
        self.connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
        if self.base is None:
            self.connection.executescript((package_files("roslin.collection") / "schema.sql").read_text("utf-8"))
        self.connection.execute("BEGIN")
        self.raw = {name: _RawArray(self.space / f"{name}.raw", name, self.base) for name in ARRAY_NAMES}
        self.rejects = _ProblemList(self.space / REJECTS, _REJECT_COLUMNS)
        self.remarks = _ProblemList(self.space / WARNINGS, (*_REJECT_COLUMNS, "taken"))
        return self

    def __exit__(self, *_: object) -> None:
        with ExitStack() as closing:  # all of them, also when a full disk makes one of them fail
            closing.callback(self.connection.close)
            closing.callback(self.rejects.file.close)
            closing.callback(self.remarks.file.close)
            for array in self.raw.values():
                closing.callback(array.file.close)
            if self.base is not None:
                closing.callback(self.base.close)

    def put(self, incoming: Incoming) -> None:
        """Take a record into the collection, or note why not."""
        if incoming.is_skipped:
            self.skipped += 1
            self.remarks.write(incoming.problems[0])
            return
        if incoming.is_damage:
            self.damage.append(incoming.problems[0])
        count = self.by_file.setdefault(incoming.file, FileCount())
        if self._take(incoming):
            self.taken += 1
            count.taken += 1
        else:
            self.refused += 1
            count.refused += 1

    def keep(self, store: Store, unwanted: Numbers) -> None:
        """Take all melodies of a collection as they are, but these."""
        kept = np.ones(len(store), dtype=bool)
        kept[unwanted] = False
        for melody in store.melodies(np.flatnonzero(kept)):
            self._insert(melody.id or "", rows_of(melody))

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
        if self.base is not None and id in self.base:
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
        self.with_warnings += bool(problems)
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
        values = (self.number, *rows.metadata[:_ID], id, *rows.metadata[_ID + 1 :])
        try:
            self.connection.execute(_INSERT_MELODY, (*values, rows.changes, rows.extra, rows.digest))
        except sqlite3.IntegrityError:
            return False
        self.connection.execute(_INSERT_FOLDED, (self.number, *rows.folded))
        about = rows.about
        self.connection.execute(
            "INSERT INTO features VALUES (?, ?, ?, ?, ?)",
            (self.number, about.note_count, about.pitch_range, about.max_interval, about.duration_ratio),
        )
        self.connection.execute(
            "INSERT INTO strings VALUES (?, ?, ?, ?, ?)",
            (self.number, about.chromatic, about.diatonic, about.contour, about.rhythm),
        )
        if about.motives:
            self.connection.executemany(
                "INSERT INTO motives VALUES (?, ?, ?)",
                [(self.number, motive, times) for motive, times in about.motives.items()],
            )
        self.raw["notes"].append(np.frombuffer(rows.notes, NOTE_DTYPE))
        self.raw["offsets"].append(np.int64(self.raw["notes"].length))
        self.raw["barlines"].append(np.frombuffer(rows.barlines, np.int64))
        self.raw["bar_offsets"].append(np.int64(self.raw["barlines"].length))
        self.number += 1
        return True

    def _reject(self, problem: Problem) -> None:
        self.refusals[problem.reason] += 1
        self.rejects.write(problem)

    @property
    def checksums(self) -> Path:
        """The file with the checksums of all others."""
        return checksums_path(self.space, self.token)

    def finish(self, folder: Path, kept: Kept | None) -> BuildReport:
        """Complete the files in preparation. What is `kept` takes the place of the report and refusals of this work."""
        for each in (self.rejects, self.remarks):
            each.file.close()
        checksum, checksums = hashlib.sha256(), dict[str, str]()
        for name, array in self.raw.items():
            path = array_path(self.space, name, self.token)
            checksums[path.name] = array.save(path, checksum)
        about = {
            "format_version": str(FORMAT_VERSION),
            "roslin": version("roslin"),
            "token": self.token,
            "melodies": str(self.number),
            "notes": str(self.raw["notes"].length),
            "arrays_sha256": checksum.hexdigest(),
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        report = BuildReport(
            folder,
            self.taken,
            self.with_warnings,
            self.refused,
            self.number,
            _most_first(self.refusals),
            _most_first(self.warnings),
            self.by_file,
            self.skipped,
            self.replaced,
            self.unchanged,
        )
        about[REPORT] = (kept and kept.report) or report.to_json()
        self.connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", about.items())
        self.connection.execute(
            "INSERT INTO interval_index (rowid, chromatic, diatonic) "
            "SELECT number, chromatic, diatonic FROM strings WHERE number >= ?",
            (self.first,),
        )
        self.connection.execute("COMMIT")
        self.connection.execute("ANALYZE")
        self.connection.close()
        checksums[DATABASE] = checksum_of(self.space / DATABASE)
        lists = kept.lists if kept else {name: checksum_of(self.space / name) for name in (REJECTS, WARNINGS)}
        write_checksums(self.space, self.token, checksums | lists)
        return report


def _most_first(reasons: Counter[str]) -> dict[str, int]:
    return dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))


@dataclass(slots=True)
class _Copies:
    """Melodies that came under one id: their digests, and the last number that was added to it."""

    digests: set[bytes]
    count: int = 1


class _ProblemList:
    """A file with a line for each problem."""

    def __init__(self, path: Path, columns: tuple[str, ...]):
        self.columns = columns
        self.file = path.open("w", encoding="utf-8", newline="")
        self.file.write("\t".join(columns) + "\n")

    def write(self, problem: Problem) -> None:
        values = [str(getattr(problem, name)) for name in self.columns]
        self.file.write("\t".join(" ".join(value.split()) for value in values) + "\n")


class _RawArray:
    """An array that grows in a file: the old one first, then what is appended."""

    def __init__(self, path: Path, name: str, base: Store | None):
        self.path, self.name = path, name
        self.length = 0
        self.file: BinaryIO = path.open("wb")
        if base is not None:
            self.append(base.array(name))
        elif name in ("offsets", "bar_offsets"):
            self.append(np.zeros(1, dtype=np.int64))

    def append(self, values: Any) -> None:
        self.file.write(values.data)
        self.length += values.size

    def save(self, target: Path, checksum: Any) -> str:
        """Put the header of a .npy file in front of the numbers, which `checksum` is told; the checksum of the file."""
        self.file.close()
        header = array_header(self.name, self.length)
        whole = hashlib.sha256(header)
        with self.path.open("rb") as source, target.open("wb") as out:
            out.write(header)
            while block := source.read(2**20):
                checksum.update(block)
                whole.update(block)
                out.write(block)
        sync(target)
        self.path.unlink()
        return whole.hexdigest()
