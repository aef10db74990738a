"""A collection follows its catalogue: records that are new, changed or deleted in an export, and no others.

    report = update(["2026-11.xml"], "mine.roslin")

An export is MARCXML, an OAI-PMH or SRU answer, or ISO 2709. A record is known by its control number, and read again
only where something differs that Roslin reads from it: the collection has a digest of each (`CatalogueRecord.digest`).
A record that the export has several times counts as it is the last time. Records are deleted where the export marks
them so and, in a `complete` export, where it lacks them. Melodies that come from no catalogue stay.

A source that is damaged stops the work, and so does a complete export without a tenth of the melodies. Then nothing is
written.
"""

from __future__ import annotations

import pickle
import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from roslin.collection.preparation import Preparation
from roslin.collection.report import BuildReport
from roslin.collection.sources import Incoming, Sources, check_sources, files_of, named
from roslin.collection.write import BuildProgress, publish_new
from roslin.display.table import Table
from roslin.errors import CollectionError, Problem
from roslin.notation import FORMATS, detect
from roslin.notation.marcxml import CatalogueRecord, catalogue_records, incipits, origin_of
from roslin.notation.sources import DAMAGED, open_streams

OUTCOMES = ("added", "changed", "removed")
# States of a record in the export; above: where its incipits are in the spool.
_UNCHANGED, _DELETED, _NOTHING = 0, -1, -2
_FIRST_BYTES = 4096
_SEEN_AT_ONCE = 10_000
_EXPECTED = "records of a catalogue (MARCXML, OAI-PMH, SRU or ISO 2709)"
_LAST_OF_NAME = re.compile(r"[^:/]*$")
_KNOWN = """SELECT raw.record FROM raw LEFT JOIN records ON records.record = raw.record
WHERE raw.bytes = ? AND raw.digest IS records.digest"""
_SEEN = "INSERT INTO seen VALUES (?, ?) ON CONFLICT (record) DO UPDATE SET state = excluded.state"


class RecordChange(NamedTuple):
    """A record that an update added, changed or removed, and its numbers of melodies."""

    outcome: str
    record: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """The outcome of an update, record by record; `unchanged` counts the records that were not read again."""

    build: BuildReport
    changes: tuple[RecordChange, ...]
    unchanged: int

    def count(self, outcome: str) -> int:
        return sum(each.outcome == outcome for each in self.changes)

    def to_table(self) -> Table:
        rows = [*((each, self.count(each)) for each in OUTCOMES), ("unchanged", self.unchanged)]
        return Table.of(("outcome", "records"), rows, "Records", key="counts")

    def records(self) -> Table:
        return Table.of(RecordChange._fields, self.changes, "Changed records", key="records")


def update(
    sources: Sources,
    path: str | Path,
    *,
    complete: bool = False,
    strict: bool = False,
    progress: BuildProgress | None = None,
    allow_damaged: bool = False,
    allow_smaller: bool = False,
) -> UpdateReport:
    """Bring a collection to the state of an export; `complete`: records that the export lacks are deleted."""
    check_sources(sources)
    work = _Update([sources] if isinstance(sources, (str, Path)) else list(sources), complete, strict)  # type: ignore[arg-type]
    build = publish_new(
        Path(path),
        work.incoming,
        progress,
        allow_damaged=allow_damaged and not complete,
        allow_smaller=allow_smaller or not complete,
    )
    return UpdateReport(build, tuple(work.changes), work.unchanged)


def _damaged(path: Path, problem: Problem) -> Incoming:
    return Incoming(path.name, None, (replace(problem, is_damage=True),))


def _number_with(known: sqlite3.Connection, raw: bytes) -> str | None:
    """The number of the record with these bytes, if they are what the collection has of it."""
    row = known.execute(_KNOWN, (raw,)).fetchone()
    return row[0] if row else None


class _Update:
    """Reads an export twice: what of it is new goes to a spool, and from there to the collection."""

    def __init__(self, sources: list[str | Path], is_complete: bool, strict: bool):
        self.sources, self.is_complete, self.strict = sources, is_complete, strict
        self.changes: list[RecordChange] = []
        self.unchanged = 0
        self._numbers: dict[str, str] | None = None
        self._seen: list[tuple[str, int]] = []

    def incoming(self, writer: Preparation) -> Iterator[Incoming]:
        writer.is_replacing = True
        known = writer.connection
        if self.is_complete and not known.execute("SELECT 1 FROM records").fetchone() and writer.before:
            raise CollectionError(
                f"{writer.base.path if writer.base else ''}: an earlier version of Roslin made this collection and did "
                "not note which records it has; run the update once without --complete"
            )
        known.execute("CREATE TEMP TABLE seen (record TEXT PRIMARY KEY, state INTEGER NOT NULL) WITHOUT ROWID")
        with ExitStack() as context:
            spool = context.enter_context(TemporaryFile(dir=writer.space))
            spool.write(b"\0")  # so that no place is a state
            for path, named_as in (each for source in self.sources for each in files_of(Path(source))):
                yield from self._read(path, named_as, spool, writer)
            self._write_seen(known)
            known.execute(
                "UPDATE seen SET state = ? WHERE state = ? AND record NOT IN (SELECT record FROM records)",
                (_NOTHING, _UNCHANGED),
            )
            if self.is_complete:
                known.execute(
                    "INSERT INTO seen SELECT record, ? FROM records WHERE record NOT IN (SELECT record FROM seen)",
                    (_DELETED,),
                )
            ((self.unchanged,),) = known.execute("SELECT count(*) FROM seen WHERE state = ?", (_UNCHANGED,))
            changed = known.execute("SELECT record, state FROM seen WHERE state > 0 ORDER BY state").fetchall()
            for record, place in changed:
                spool.seek(place)
                before, was_known = self._drop(record, writer)
                taken = writer.counts["taken"]
                yield from pickle.load(spool)  # noqa: S301 - what was written here, to a file without a name
                outcome = "changed" if was_known else "added"
                self.changes.append(RecordChange(outcome, record, before, writer.counts["taken"] - taken))
            for (record,) in known.execute("SELECT record FROM seen WHERE state = ?", (_DELETED,)).fetchall():
                before, was_known = self._drop(record, writer)
                if was_known:
                    self.changes.append(RecordChange("removed", record, before, 0))
        known.execute("DROP TABLE seen")

    def _write_seen(self, known: sqlite3.Connection) -> None:
        known.executemany(_SEEN, self._seen)
        self._seen.clear()

    @staticmethod
    def _drop(record: str, writer: Preparation) -> tuple[int, bool]:
        """Remove a record and its melodies: how many they were, and whether it was known."""
        assert writer.base is not None
        numbers = writer.base.numbers_of_record(record)
        writer.drop(numbers)
        writer.counts["replaced"] += len(numbers)
        return len(numbers), writer.forget(record) or bool(numbers)

    def _read(self, path: Path, named_as: str, spool: IO[bytes], writer: Preparation) -> Iterator[Incoming]:
        """Note what an export has; only its problems are given."""
        for stream in open_streams(path, named_as or None):
            with stream.open() as opened:
                try:
                    head = opened.peek(_FIRST_BYTES)[:_FIRST_BYTES]
                    name = detect(head, stream.name).name
                except DAMAGED as error:
                    yield _damaged(path, Problem(f"cannot be read to its end: {error}", file=stream.name))
                    continue
                suffixes = FORMATS["marcxml"].suffixes
                if not head.strip() and (not named_as or stream.name.removesuffix(".gz").endswith(suffixes)):
                    yield _damaged(path, Problem("empty", _EXPECTED, "nothing", file=stream.name))
                    continue
                if name != "marcxml" and named_as:
                    continue  # a folder may hold other files
                if name != "marcxml":
                    raise CollectionError(
                        f"{stream.name}: an update needs {_EXPECTED}, got {name}; "
                        "roslin collection add --replace takes other files"
                    )
                for found in catalogue_records(opened, partial(_number_with, writer.connection)):
                    if isinstance(found, Problem):  # its record may be one that a complete export would seem to lack
                        problem = replace(found.at(file=stream.name), is_damage=found.is_damage or self.is_complete)
                        yield Incoming(path.name, None, (problem,))
                    else:
                        yield from self._note(found, path, stream.name, spool, writer)
                    if len(self._seen) >= _SEEN_AT_ONCE:
                        self._write_seen(writer.connection)

    def _note(
        self, found: CatalogueRecord, path: Path, file: str, spool: IO[bytes], writer: Preparation
    ) -> Iterator[Incoming]:
        known = writer.connection
        if found.is_same and not found.is_deleted:
            self._seen.append((found.control_number, _UNCHANGED))
            return
        origin = origin_of(found)
        if found.is_deleted:
            record = found.control_number or self._number_of(found.identifier, known)
            self._seen.append((record, _DELETED))
        elif origin is None:
            if any(True for _ in incipits(found, strict=self.strict)):
                problem = Problem("no control number", "field 001", "none", file=file, record=f"record{found.number}")
                yield Incoming(path.name, None, (problem,))
        elif known.execute(
            "SELECT 1 FROM records WHERE record = ? AND digest = ?", (origin.record, origin.digest)
        ).fetchone():
            self._seen.append((origin.record, _UNCHANGED))
            writer.note_raw(origin.raw, origin.record, origin.digest)
        else:
            records = [each.at(file=file) for each in incipits(found, strict=self.strict)]
            if not records:
                writer.note_raw(origin.raw, origin.record, None)
            place = spool.seek(0, 2)
            pickle.dump([Incoming.of(path.name, named(each, path, path)) for each in records], spool)
            self._seen.append((origin.record, place if records else _DELETED))

    def _number_of(self, identifier: str, known: sqlite3.Connection) -> str:
        """The number of a record by its name in OAI-PMH; where that is new, the end of the name."""
        if self._numbers is None:
            rows = known.execute("SELECT identifier, record FROM records WHERE identifier <> ''")
            self._numbers = dict(rows.fetchall())
        last = _LAST_OF_NAME.search(identifier)
        return self._numbers.get(identifier) or (last[0] if last else identifier)
