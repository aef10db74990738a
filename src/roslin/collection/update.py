"""A collection follows its catalogue: records that are new, changed or deleted in an export, and no others.

    report = update(["2026-11.xml"], "mine.roslin")

An export is MARCXML, an OAI-PMH or SRU answer, or ISO 2709. A record is known by its control number, and read again
only where something differs that Roslin reads from it: the collection has a digest of each (`CatalogueRecord.digest`).
A record that the export has several times counts as it is the last time. Records are deleted where the export marks
them so and, in a `complete` export, where it lacks them; melodies that come from no catalogue stay.

A source that is damaged stops the work, and so does a complete export without a tenth of the melodies. Then nothing is
written.
"""

from __future__ import annotations

import pickle
import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple

from roslin.collection.preparation import Preparation
from roslin.collection.report import BuildReport
from roslin.collection.sources import Incoming, Sources, check_sources, files_of, named
from roslin.collection.store import Store
from roslin.collection.write import BuildProgress, check_damage, check_size, publish_new
from roslin.display.table import Table
from roslin.errors import CollectionError, Problem
from roslin.notation import detect
from roslin.notation.marcxml import CatalogueRecord, catalogue_records, incipits, origin_of
from roslin.notation.record import Origin, Record
from roslin.notation.sources import DAMAGED, open_streams

OUTCOMES = ("added", "changed", "removed")
_UNCHANGED, _DELETED = 0, -1  # states of a record in the export; above: where its incipits are in the spool
_FIRST_BYTES = 4096
_LAST_OF_NAME = re.compile(r"[^:/]*$")
_SEEN = "INSERT INTO seen VALUES (?, ?) ON CONFLICT (record) DO UPDATE SET state = excluded.state"


class RecordChange(NamedTuple):
    """A record that an update added, changed or removed, and its numbers of melodies."""

    outcome: str
    record: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """What an update did, record by record; `unchanged` counts the records that were not read again."""

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
    folder = Path(path)
    Store(folder).close()  # refuse what is no collection before anything is prepared
    work = _Update([sources] if isinstance(sources, (str, Path)) else list(sources), complete, strict)  # type: ignore[arg-type]

    def check(writer: Preparation) -> None:
        check_damage(writer, folder, allow_damaged=allow_damaged and not complete)
        if complete and not allow_smaller:
            check_size(writer, folder)

    build = publish_new(folder, Store, work.incoming, progress, check)
    return UpdateReport(build, tuple(work.changes), work.unchanged)


class _Update:
    """Reads an export twice: what of it is new goes to a spool, and from there to the collection."""

    def __init__(self, sources: list[str | Path], is_complete: bool, strict: bool):
        self.sources, self.is_complete, self.strict = sources, is_complete, strict
        self.changes: list[RecordChange] = []
        self.unchanged = 0
        self._numbers: dict[str, str] | None = None

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
                yield from self._read(path, named_as, spool, known)
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
                taken = writer.taken
                yield from pickle.load(spool)  # noqa: S301 - what was written here, to a file without a name
                outcome = "changed" if was_known else "added"
                self.changes.append(RecordChange(outcome, record, before, writer.taken - taken))
            for (record,) in known.execute("SELECT record FROM seen WHERE state = ?", (_DELETED,)).fetchall():
                before, was_known = self._drop(record, writer)
                if was_known:
                    self.changes.append(RecordChange("removed", record, before, 0))
        known.execute("DROP TABLE seen")

    @staticmethod
    def _drop(record: str, writer: Preparation) -> tuple[int, bool]:
        """Remove a record and its melodies: how many they were, and whether it was known."""
        assert writer.base is not None
        numbers = writer.base.numbers_of_record(record)
        writer.drop(numbers)
        writer.replaced += len(numbers)
        return len(numbers), writer.forget(record) or bool(numbers)

    def _read(self, path: Path, named_as: str, spool: IO[bytes], known: sqlite3.Connection) -> Iterator[Incoming]:
        """Note what an export has; only its problems are given."""
        for stream in open_streams(path, named_as or None):
            with stream.open() as opened:
                try:
                    name = detect(opened.peek(_FIRST_BYTES)[:_FIRST_BYTES], stream.name).name
                except DAMAGED as error:
                    problem = Problem(f"cannot be read to its end: {error}", file=stream.name, is_damage=True)
                    yield Incoming(path.name, None, (problem,))
                    continue
                if name != "marcxml" and named_as:
                    continue  # a folder may hold other files
                if name != "marcxml":
                    raise CollectionError(
                        f"{stream.name}: an update needs records of a catalogue (MARCXML, OAI-PMH, SRU or ISO 2709), "
                        f"got {name}; roslin collection add --replace takes other files"
                    )
                for found in catalogue_records(opened):
                    if isinstance(found, Problem):
                        yield Incoming(path.name, None, (found.at(file=stream.name),))
                    else:
                        yield from self._note(found, path, stream.name, spool, known)

    def _note(
        self, found: CatalogueRecord, path: Path, file: str, spool: IO[bytes], known: sqlite3.Connection
    ) -> Iterator[Incoming]:
        origin = origin_of(found)
        if found.is_deleted:
            record = found.control_number or self._number_of(found.identifier, known)
            known.execute(_SEEN, (record, _DELETED))
        elif origin is None:
            if any(True for _ in incipits(found, strict=self.strict)):
                problem = Problem("no control number", "field 001", "none", file=file, record=f"record{found.number}")
                yield Incoming(path.name, None, (problem,))
        elif known.execute(
            "SELECT 1 FROM records WHERE record = ? AND digest = ?", (origin.record, origin.digest)
        ).fetchone():
            known.execute(_SEEN, (origin.record, _UNCHANGED))
        else:
            records = [each.at(file=file) for each in incipits(found, strict=self.strict)]
            self._spool(origin, records, path, spool, known)

    @staticmethod
    def _spool(origin: Origin, records: list[Record], path: Path, spool: IO[bytes], known: sqlite3.Connection) -> None:
        place = spool.seek(0, 2)
        pickle.dump([Incoming.of(path.name, named(each, path, path)) for each in records], spool)
        known.execute(_SEEN, (origin.record, place if records else _DELETED))

    def _number_of(self, identifier: str, known: sqlite3.Connection) -> str:
        """The number of a record by its name in OAI-PMH; where that is new, the end of the name."""
        if self._numbers is None:
            rows = known.execute("SELECT identifier, record FROM records WHERE identifier <> ''")
            self._numbers = dict(rows.fetchall())
        last = _LAST_OF_NAME.search(identifier)
        return self._numbers.get(identifier) or (last[0] if last else identifier)
