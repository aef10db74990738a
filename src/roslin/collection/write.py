"""Making and changing collections: build, add, remove, upgrade; `update` has the changes of a catalogue.

A new state is prepared in separate files (`preparation`) and replaces the old one in a single step. A source that is
damaged or empty stops the work, and so does a change that would lose melodies (`LossError`): the collection stays as it
was.
"""

from __future__ import annotations

import pickle
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np

from roslin.collection import files
from roslin.collection.preparation import Content, Preparation, id_of, melodies_under
from roslin.collection.report import BuildReport
from roslin.collection.sources import Incoming, Reading, Sources, Spread, check_sources, read
from roslin.collection.store import Store
from roslin.display.text import counted
from roslin.errors import ChangedError, CollectionError, SmallerError, SourceError, shortened
from roslin.notation.record import Record, Voices, record_of

BuildProgress = Callable[[int, str], None]
"""Called now and then with the number of melodies read so far and what is being read."""

_PROGRESS_EVERY = 500
_LEAST_SHARE = 0.9  # of the melodies before, that a rebuild may have without being asked for
_NAMED = 5


def build(
    sources: Sources,
    path: str | Path,
    *,
    strict: bool = False,
    voices: Voices = "apart",
    progress: BuildProgress | None = None,
    spread: Spread | None = None,
    allow_damaged: bool = False,
    allow_smaller: bool = False,
) -> BuildReport:
    """Make a collection from files, folders and melodies. One that is there is replaced when the new one is ready.

    With `voices` "together" a score is one melody of all its staves, else each staff is a melody. `spread` has sources
    read by other processes (`roslin.distributed`). It is this one that writes.

    A source that broke off, is not recognised or gives no melody is a `SourceError`, unless `allow_damaged`. A new
    collection with less than nine tenths of the old one's melodies is a `SmallerError`, unless `allow_smaller`.
    """
    check_sources(sources)
    return publish_new(
        Path(path),
        lambda _: read(sources, Reading(strict, voices), spread),
        progress,
        is_change=False,
        allow_damaged=allow_damaged,
        allow_smaller=allow_smaller,
    )


def add(
    sources: Sources,
    path: str | Path,
    *,
    strict: bool = False,
    voices: Voices = "apart",
    progress: BuildProgress | None = None,
    spread: Spread | None = None,
    allow_damaged: bool = False,
    replace: bool = False,
) -> BuildReport:
    """Add melodies to a collection. A melody that it has already is refused.

    Where it has other music or metadata under an id of the sources, that is a `ChangedError`; with `replace`, the
    melodies of the sources take the place of those with their ids. A damaged source is refused as `build` does.
    """
    check_sources(sources)

    def incoming(writer: Preparation) -> Iterator[Incoming]:
        given = read(sources, Reading(strict, voices), spread)
        return _corrected(writer, given) if replace else given

    return publish_new(Path(path), incoming, progress, allow_damaged=allow_damaged)


def remove(
    ids: Sequence[str], path: str | Path, *, records: Sequence[str] = (), progress: BuildProgress | None = None
) -> int:
    """Remove melodies by id, and all melodies of catalogue records by number; how many are left.

    An unknown id or record is an error, and nothing is removed.
    """
    return publish_new(Path(path), lambda new: _without(new, ids, records), progress, is_removal=True).total


def upgrade(path: str | Path, *, progress: BuildProgress | None = None) -> int:
    """Write a collection of the format before in the present one. The format that it had. Its melodies stay."""
    folder = Path(path)
    with Store(folder) as store:
        before = int(store.about["format_version"])
    if before != files.FORMAT_VERSION:
        publish_new(folder, _described_again, progress, is_removal=True)
    return before


def _described_again(writer: Preparation) -> Iterator[Incoming]:
    """Every melody under its number, with the features and the words that filters compare today."""
    assert writer.base is not None
    writer.is_replacing = True
    writer.drop(range(len(writer.base)))
    for melody in writer.base:
        yield Incoming.of(melody.source or "", Record(melody))


def _without(writer: Preparation, ids: Sequence[str], records: Sequence[str]) -> Iterator[Incoming]:
    assert writer.base is not None
    numbers = writer.base.numbers([*ids, *(id for record in records for id in writer.base.ids_of_record(record))])
    changed = {record_of(melody) for melody in writer.base.melodies(numbers)}
    writer.drop(np.unique(numbers).tolist())
    # A later update reads these records again, and knows nothing of those that are gone.
    writer.connection.executemany("UPDATE records SET digest = x'' WHERE record = ?", ((each,) for each in changed))
    for record in records:
        writer.forget(record)
    yield from ()


def _corrected(writer: Preparation, incoming: Iterator[Incoming]) -> Iterator[Incoming]:
    """Records that are new or corrected, in the place of those with their ids.

    Several melodies under one id replace ID, ID~2 and so on, as a build names them.
    """
    store = writer.base
    assert store is not None
    with TemporaryFile(dir=writer.space) as spool:
        given: dict[str, dict[bytes, Content]] = {}
        for each in incoming:
            pickle.dump(each, spool)
            if each.rows is not None and (id := id_of(each.rows)):
                given.setdefault(id, {}).setdefault(each.rows.digest, Content.of(each.rows, each.file))
        pickle.dump(None, spool)
        replaced, same = list[int](), set[str]()
        for id, contents in given.items():
            there = melodies_under(store, id)
            if len(there) == len(contents) and all(map(Content.is_that_of, contents.values(), there.values())):
                same.add(id)
            else:
                replaced += list(there)[: len(contents)]
        writer.is_replacing = True
        writer.drop(replaced)
        writer.counts["replaced"] = len(replaced)
        spool.seek(0)
        while (each := pickle.load(spool)) is not None:  # noqa: S301 - what was written above, to a file without a name
            if each.rows is not None and id_of(each.rows) in same:
                writer.counts["unchanged"] += 1
            else:
                yield each


def _check(writer: Preparation, folder: Path, *, allow_damaged: bool, allow_smaller: bool) -> None:
    if writer.damage and not allow_damaged:
        told = _listed(str(each) if "empty" in each.reason else f"damaged source: {each}" for each in writer.damage)
        raise SourceError(
            f"{told}; {folder} was not written, --allow-damaged (allow_damaged=True) reads the undamaged part"
        )
    if writer.changed:
        raise ChangedError(
            f"{folder}: it has other music or metadata under {counted(len(writer.changed), 'id')} of the sources: "
            f"{_listed(map(shortened, writer.changed))}; nothing was written, --replace (replace=True) replaces them"
        )
    if not allow_smaller and writer.number < _LEAST_SHARE * (before := _melodies_in(folder)):
        raise SmallerError(
            f"{folder}: the collection has {counted(before, 'melody', 'melodies')}, the new one would have "
            f"{writer.number:,}; nothing was written, --allow-smaller (allow_smaller=True) replaces it"
        )


def _listed(texts: Iterable[str]) -> str:
    shown = list(islice(texts, _NAMED + 1))
    return ", ".join([*shown[:_NAMED], *["..."] * (len(shown) > _NAMED)])


def _melodies_in(folder: Path) -> int:
    """The number of melodies that the collection in a folder has, or 0 if it is not known."""
    try:
        with closing(files.connected(folder)) as database:
            ((count,),) = database.execute("SELECT value FROM about WHERE name = 'melodies'")
            return int(count)
    except (sqlite3.Error, ValueError):
        return 0


def publish_new(
    folder: Path,
    incoming: Callable[[Preparation], Iterator[Incoming]],
    progress: BuildProgress | None,
    *,
    is_change: bool = True,
    is_removal: bool = False,
    allow_damaged: bool = False,
    allow_smaller: bool = True,
) -> BuildReport:
    """Prepare a new state of incoming records, check and publish it. A change begins with the present state.

    The present state and the records are only read when the lock is held, so that they include what the writer before
    left. A removal leaves the report and the lists of the last build or add as they are.
    """
    if is_change:
        Store(folder).close()  # refuse what is no collection before anything is prepared
    if folder.exists() and not folder.is_dir():
        raise CollectionError(f"{folder}: this is a file; expected a folder, or a name that is free")
    if folder.is_dir() and files.holds_other_files(folder):
        raise CollectionError(f"{folder}: the folder holds other files; expected a collection, or a name that is free")
    with files.writing(folder), _told_when_full(folder):
        _clean(folder)
        space = files.workspace(folder)
        try:
            with Preparation(space, Store(folder) if is_change else None) as writer:
                for count, each in enumerate(incoming(writer), start=1):
                    writer.put(each)
                    if progress and count % _PROGRESS_EVERY == 0:
                        progress(count, each.file)
                _check(writer, folder, allow_damaged=allow_damaged, allow_smaller=allow_smaller)
                if progress:
                    progress(writer.counts["taken"] + writer.counts["refused"], "the index of intervals")
                report = writer.finish(folder, is_removal=is_removal)
            _move(writer, folder, () if is_removal else (files.REJECTS, files.WARNINGS))
        finally:
            shutil.rmtree(space, ignore_errors=True)
        files.remove_leftovers(folder, writer.token)
    return report


def _move(writer: Preparation, folder: Path, lists: Sequence[str]) -> None:
    """Make a complete state the present one: its arrays first, then the database that names them, then its lists."""
    for path in (*(files.state_path(writer.space, name, writer.token) for name in files.ARRAY_NAMES), writer.checksums):
        path.replace(folder / path.name)
    for name in lists:
        (folder / name).unlink(missing_ok=True)  # none is better than those of another state
    files.publish(folder, writer.space / files.DATABASE)
    for name in lists:
        (writer.space / name).replace(folder / name)


@contextmanager
def _told_when_full(folder: Path) -> Iterator[None]:
    """Report a full disk in one line. Nothing has been published then, and the old state remains."""
    try:
        yield
    except (sqlite3.OperationalError, OSError) as error:
        raise CollectionError(f"{folder}: cannot be written: {error}; the earlier contents are unchanged") from error


def _clean(folder: Path) -> None:
    """Remove what a killed writer left. A collection that cannot be opened is left alone until it is replaced."""
    if not (folder / files.DATABASE).exists():
        files.remove_leftovers(folder, None)
        return
    with suppress(CollectionError), Store(folder) as store:
        files.remove_leftovers(folder, store.about["token"])
