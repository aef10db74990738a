"""The sources of a collection: files, folders and melodies, read record by record, here or by other processes.

    for file, rows, problems in read(sources, Reading()): ...

`Reading` is a task: it reads one part of the sources, and works out what is kept of each melody (`rows_of`), so that
the writer has little left to do.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import NamedTuple

from roslin.collection.folding import folded_metadata
from roslin.collection.store import METADATA_COLUMNS
from roslin.errors import ArgumentError, CollectionError, FormatError, NotationError, Problem, RoslinError
from roslin.melody import Melody
from roslin.notation import Part, is_damage, parts, read_part
from roslin.notation.record import Origin, Record, Voices
from roslin.represent.strings import Description, describe
from roslin.rows import HALF_CHARACTER, half_character

Sources = str | Path | Melody | Iterable[str | Path | Melody]

_HIDDEN_FOLDER_SUFFIX = ".roslin"
_MELODIES_A_PIECE = 500


class MelodyRows(NamedTuple):
    """The parts of a melody in a collection: its metadata (`METADATA_COLUMNS`), rows of the database, its arrays."""

    metadata: tuple[str | None, ...]
    changes: str | None
    extra: str | None
    digest: bytes
    folded: tuple[str | None, ...]
    about: Description
    notes: bytes
    barlines: bytes


class Incoming(NamedTuple):
    """The file that a record is counted under, what is kept of its melody (None: it was refused), and its problems."""

    file: str
    rows: MelodyRows | None
    problems: tuple[Problem, ...]
    is_skipped: bool = False  # an entry without music, which is no refusal
    origin: Origin | None = None
    silent: Melody | None = None

    @property
    def is_damage(self) -> bool:
        """Whether an unknown number of melodies was lost."""
        return self.rows is None and any(problem.is_damage for problem in self.problems)

    @classmethod
    def of(cls, file: str, record: Record) -> Incoming:
        melody = record.melody
        if melody is not None and (half := half_character([*texts_of(melody)])):
            name = (melody.id or "").encode(errors="replace").decode()
            return cls(file, None, (Problem(HALF_CHARACTER, "text", half, file=file, record=name),))
        rows = None if melody is None else rows_of(melody)
        return cls(file, rows, record.problems, record.is_skipped, record.origin, record.silent)


def texts_of(melody: Melody) -> Iterator[str]:
    """The texts about a melody that are not plain ASCII."""
    known = (*(getattr(melody, name) for name in METADATA_COLUMNS), *melody.extra, *melody.extra.values())
    return (text for text in known if isinstance(text, str) and not text.isascii())


def rows_of(melody: Melody) -> MelodyRows:
    """What a collection stores for a melody: plain texts, numbers and bytes, which travel faster than melodies do."""
    changes = [[c.onset_ticks, c.clef, c.key_signature, c.metre] for c in melody.changes]
    notes = melody.notes.tobytes()
    return MelodyRows(
        tuple(getattr(melody, name) for name in METADATA_COLUMNS),
        json.dumps(changes) if changes else None,
        json.dumps(dict(melody.extra), ensure_ascii=False) if melody.extra else None,
        hashlib.blake2b(notes, digest_size=8).digest(),
        folded_metadata(melody),
        describe(melody),
        notes,
        melody.barlines_ticks.tobytes(),
    )


@dataclass(frozen=True, slots=True)
class _ToRead:
    """A part of a file, melodies that were given as such, or why a file cannot be read."""

    part: Part | None = None
    melodies: tuple[Melody, ...] = ()
    refusal: Record | None = None
    path: Path = Path("melodies")  # as it was given
    is_named: bool = False  # itself, and not the folder that it is in
    is_end: bool = False  # of a source


@dataclass(frozen=True, slots=True)
class Reading:
    """How sources are read. Called with a piece of them, it gives what came of its records."""

    strict: bool = False
    voices: Voices = "apart"

    def __call__(self, piece: _ToRead) -> list[Incoming]:
        """All records of a piece. The maker of the piece has seen its file."""
        if piece.part is not None and piece.part.lines is None and not piece.part.path.exists():
            raise CollectionError(f"{piece.part.path}: not every process that reads sees this file; all must")
        return list(self.each(piece))

    def each(self, piece: _ToRead) -> Iterator[Incoming]:
        for record in self._records(piece):
            yield Incoming.of(piece.path.name, record)

    def _records(self, piece: _ToRead) -> Iterator[Record]:
        yield from map(Record, piece.melodies)
        if piece.refusal is not None:
            yield piece.refusal
        if piece.part is not None:
            try:
                for record in read_part(piece.part, strict=self.strict, voices=self.voices):
                    yield named(record, piece.part.path, piece.path)
            except (RoslinError, MemoryError) as error:
                yield _refusal(error, piece.part.path, piece.path, is_named=piece.is_named)


# Does a task for each piece, in order: `map` itself, or the `map` of a cluster's work.
Spread = Callable[[Reading, Iterable[_ToRead]], Iterator[list[Incoming]]]


def read(sources: Sources, reading: Reading, spread: Spread | None = None) -> Iterator[Incoming]:
    """Every record of the sources, and a refusal for each source, or for a set of sources, without any melody."""
    begun = deque[_ToRead]()

    def noted(pieces: Iterator[_ToRead]) -> Iterator[_ToRead]:
        for piece in pieces:
            begun.append(piece)
            yield piece

    answers: Iterator[Iterable[Incoming]]
    if spread is None:
        answers = map(reading.each, noted(_pieces(sources, lambda path: iter([Part(path)]))))
    else:
        answers = spread(reading, noted(_pieces(sources, lambda path: parts(path.resolve()))))
    ended, records, is_told = list[Path](), 0, False
    for found in answers:
        piece = begun.popleft()
        for each in found:
            records += not each.is_skipped
            is_told = is_told or each.rows is not None or each.is_damage
            yield each
        if piece.is_end:
            ended.append(piece.path)
            if not records:
                is_told = True
                yield _empty(piece.path)
        if piece.is_end or piece.melodies:
            records = 0
    if ended and not is_told:
        yield _empty(ended[0])


def _empty(path: Path) -> Incoming:
    problem = Problem("empty source", "at least one melody", "none", file=str(path), is_damage=True)
    return Incoming(path.name, None, (problem,))


def _pieces(sources: Sources, cut: Callable[[Path], Iterator[Part]]) -> Iterator[_ToRead]:
    given = iter([sources] if isinstance(sources, (str, Path, Melody)) else sources)
    for is_melody, some in groupby(given, lambda source: isinstance(source, Melody)):
        if is_melody:
            while melodies := tuple(islice(some, _MELODIES_A_PIECE)):
                yield _ToRead(melodies=melodies)  # type: ignore[arg-type]  # that is what they are
            continue
        for source in (Path(each) for each in some):  # type: ignore[arg-type]
            for path, named in files_of(source):
                try:
                    for part in cut(path):
                        yield _ToRead(replace(part, named=named), path=path, is_named=not named)
                except RoslinError as error:
                    yield _ToRead(refusal=_refusal(error, path.resolve(), path, is_named=not named), path=path)
            yield _ToRead(path=source, is_end=True)


def check_sources(sources: Sources) -> None:
    """Refuse a file that is not there before anything is made or replaced."""
    named = [sources] if isinstance(sources, (str, Path)) else sources if isinstance(sources, (list, tuple)) else ()
    for source in named:
        if not isinstance(source, (str, Path, Melody)):
            raise ArgumentError(f"a source must be a file, a folder or a melody; got {source!r}")
        if not isinstance(source, Melody) and not Path(source).exists():
            raise CollectionError(
                f"{source}: there is no such file or folder (notation as text: roslin.load gives melodies)"
            )


def files_of(path: Path) -> Iterator[tuple[Path, str]]:
    """A file is itself. A folder is every file in it, in order of name. Each with the path that its ids begin with."""
    if not path.is_dir():
        yield path, ""
        return
    for inner in sorted(path.rglob("*")):
        parts = inner.relative_to(path).parts
        hidden = any(part.startswith(".") or part.endswith(_HIDDEN_FOLDER_SUFFIX) for part in parts)
        if inner.is_file() and not hidden:
            yield inner, "/".join(parts)


def _refusal(error: Exception, read: Path, path: Path, *, is_named: bool) -> Record:
    if isinstance(error, NotationError):
        return Record(None, (replace(error.problem, file=str(path)),))
    reason = str(error).removeprefix(f"{read}: ") or "reading it takes more memory than there is"
    cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
    is_lost = isinstance(error, FormatError) and (is_named or is_damage(cause, path.name))
    return Record(None, (Problem(reason, file=str(path), is_damage=is_lost),))


def named(record: Record, read: Path, path: Path) -> Record:
    """A record with its file under the name that it was given by."""
    problems = record.problems
    melody, silent = (
        each if each is None or each.source else each.with_metadata(source=path.name)
        for each in (record.melody, record.silent)
    )
    if read != path:
        problems = tuple(replace(each, file=str(path) + each.file.removeprefix(str(read))) for each in problems)
    return replace(record, melody=melody, silent=silent, problems=problems)
