"""Text or bytes to melodies and back: one `FORMATS` registry of readers.

A format has its suffixes, recognises its files by their first bytes, and reads a stream into records (`record.Record`),
one for each melody, read or refused.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Unpack

from roslin.errors import ArgumentError, FormatError, NotationError, Problem, RoslinError, UnknownNameError, shortened
from roslin.melody import Melody
from roslin.notation.record import MAX_REPEATED_IN_FILE, MOST_TIMES_PLAYED, VOICES, Options, Record, Voices, failed
from roslin.notation.sources import DAMAGED, PACKED, Stream, id_stem, open_streams
from roslin.notation.typed import is_bare_abc, is_plaine_and_easie
from roslin.values.registry import Registry

__all__ = [
    "FORMATS",
    "Format",
    "Options",
    "Part",
    "Record",
    "Source",
    "detect",
    "is_damage",
    "is_path",
    "load",
    "parts",
    "read_part",
    "records",
    "register_format",
    "unreadable",
    "with_ids",
]

Source = str | bytes | os.PathLike[str]
_HEAD_BYTES = 4096
_FILE_NAME = re.compile(r"[^%@{}\"'$]+\.[a-z][a-z0-9]{1,8}")  # music ends with a note, in upper case


@dataclass(frozen=True, slots=True)
class Format:
    """One notation: `read(stream, strict=...)` yields records, `matches(head)` looks at the first bytes.

    `options` are the names in `Options` that `read` also takes. `counts`: the ids in a file are only numbers. `skips`:
    `read(stream, skipped=True)` also yields entries without music.
    """

    name: str
    description: str
    suffixes: tuple[str, ...]
    matches: Callable[[bytes], bool]
    read: Callable[..., Iterator[Record]]
    options: tuple[str, ...] = ()
    counts: bool = False
    skips: bool = False

    def __post_init__(self) -> None:
        if not self.description or not all(suffix.startswith(".") for suffix in self.suffixes):
            raise ArgumentError(f"the format {self.name} needs a description, and suffixes that start with a dot")
        for option in self.options:
            if option not in Options.__annotations__:
                raise UnknownNameError(f"option of the format {self.name}", option, Options.__annotations__)


def _own(
    name: str, description: str, suffixes: tuple[str, ...], *, matches: str = "matches", read: str = "read", **more: Any
) -> Format:
    """A format whose reader, the module of its name, is imported when it is first needed: few programs need all."""

    def later(function: str) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            return getattr(import_module(called.__module__), function)(*given, **named)

        called.__qualname__, called.__module__ = function, f"{__name__}.{name}"
        return called

    return Format(name, description, suffixes, later(matches), later(read), **more)


_OF_SCORES = ("part", "voice", "voices", "written_pitch")
_OF_MIDI = ("track", "channel", "voices", "quantise")

# Order matters for detection: the more particular formats first. Plaine & Easie looks like nothing else, so it is last.
# What others add comes after all of ours.
FORMATS: Registry[Format] = Registry("format", Format, "roslin.formats", code_of=lambda format: format.read)
register_format = FORMATS.register
for _format in (
    _own("midi", "Standard MIDI files, types 0, 1 and 2", (".mid", ".midi", ".kar", ".rmi"), options=_OF_MIDI),
    _own("marcxml", "MARC with incipits in field 031 or 036", (".marcxml", ".xml", ".mrc", ".marc"), skips=True),
    _own("jsonl", "JSON Lines, one melody a line", (".jsonl",), matches="looks_like_jsonl", read="read_jsonl"),
    _own("musicxml", "MusicXML, plain or compressed", (".musicxml", ".mxl"), options=_OF_SCORES),
    _own("mei", "MEI", (".mei",), options=_OF_SCORES),
    _own("kern", "Humdrum **kern", (".krn", ".kern"), options=_OF_SCORES),
    _own("abc", "ABC, versions 1.6 to 2.1", (".abc",), options=("expand_repeats",), counts=True),
    _own("volpiano", "Volpiano, chant; one melody a line", (".volpiano",)),
    _own("gabc", "GABC of Gregorio, chant with its words", (".gabc",)),
    _own("cantus", "CSV of Cantus Database, melodies in Volpiano", (), skips=True),
    _own("names", "Note names: c d e, German h, do ré mi", (), matches="looks_like_names"),
    _own(
        "pae",
        "Plaine & Easie Code, versions 1 and 2",
        (".pae", ".json", ".txt"),
        matches="looks_like_pae",
        read="read_stream",
    ),
):
    register_format(_format)


def load(source: Source, format: str | None = None, strict: bool = False, **options: Unpack[Options]) -> list[Melody]:
    """The melodies in a file, in bytes, or in a string of notation.

    Roslin reads as much as it can, and `Melody.problems` lists anything that had to be reinterpreted. Only a melody
    without anything useful raises `NotationError`. With `strict`, any fault does. `Options` has further options.

    >>> load("%G-2@3/4 '4CDE/2.F")
    [Melody(None, 4 notes)]
    >>> load("X:1\\nK:C\\n|:CDE:|", expand_repeats=True)
    [Melody('1', 6 notes)]
    >>> load("'4CDXE")[0].problems[0].taken
    'x (sharp)'
    """
    return [record.melody_or_raise() for record in records(source, format, strict=strict, **options)]


def records(
    source: Source,
    format: str | None = None,
    *,
    strict: bool = False,
    named: str | None = None,
    skipped: bool = False,
    **options: Unpack[Options],
) -> Iterator[Record]:
    """One record for each melody in a source, with its problems. Streams: memory does not grow with the file.

    `named` gives every melody an id, and is the path that begins new ids ("": only the file name). `skipped` also
    returns entries without music (`Record.is_skipped`).
    """
    if format is not None:
        FORMATS.find(format)
    for option in options:
        if option not in Options.__annotations__:
            raise UnknownNameError("option", option, Options.__annotations__)
    asked = {option: value for option, value in options.items() if value is not None and value is not False}
    if asked.get("voices", "apart") not in VOICES:
        raise UnknownNameError("value of voices", str(asked["voices"]), VOICES)
    if asked.get("voices") == "apart":
        del asked["voices"]
    if isinstance(source, str) and not is_path(source):
        source = source.encode(errors="replace")
    name = "" if isinstance(source, bytes) else str(source)
    if isinstance(source, bytes):
        streams = iter([Stream("", lambda: nullcontext(io.BufferedReader(io.BytesIO(source))))])
    else:
        streams = open_streams(Path(source), named or None)
    try:
        for stream in streams:
            name = stream.name
            try:
                found = _read_stream(stream, format, asked, strict=strict, skipped=skipped)
                yield from found if named is None else with_ids(found, stream.stem)
            except (FormatError, *DAMAGED) as error:
                if not stream.is_member:
                    raise unreadable(error, name) from error
                yield Record(None, (Problem(_reason(error, name), file=name, is_damage=is_damage(error, name)),))
            except Exception as error:  # whatever a reader did not foresee is wrong with this file alone
                if isinstance(error, RoslinError) and not stream.is_member:
                    raise
                problem = failed(error, file=name)
                if not stream.is_member:
                    raise NotationError(problem) from error
                yield Record(None, (problem,))
    except DAMAGED as error:
        raise unreadable(error, name) from error


def _read_stream(
    stream: Stream, format: str | None, asked: Mapping[str, Any], *, strict: bool, skipped: bool
) -> Iterator[Record]:
    with stream.open() as opened:
        head = opened.peek(_HEAD_BYTES)[:_HEAD_BYTES]
        if stream.name and not head:
            raise FormatError(f"{stream.name}: empty; expected notation")
        chosen = FORMATS[format] if format else detect(head, stream.name)
        if "voices" not in chosen.options:  # one melody of all voices is what such a format has
            asked = {option: value for option, value in asked.items() if option != "voices"}
        for option in asked:
            if option not in chosen.options:
                knowing = ", ".join(format.name for format in FORMATS.values() if option in format.options)
                named = stream.name or "input"
                raise FormatError(f"{named}: {chosen.name} has no option {option!r}; formats that do: {knowing}")
        more = {"skipped": True} if skipped and chosen.skips else {}
        written = repeated = 0
        for number, record in enumerate(chosen.read(opened, strict=strict, **more, **asked), start=1):
            repeated += record.repeated
            written += max(0, len(record.melody or ()) - record.repeated)
            if repeated > max(MAX_REPEATED_IN_FILE, MOST_TIMES_PLAYED * written):
                first = record.problems[0] if record.problems else Problem("")
                name = shortened((record.melody.id if record.melody else first.record) or f"melody {number}")
                most = f"at most {MAX_REPEATED_IN_FILE} added to one file by repeats"
                expected = f"{most}, or {MOST_TIMES_PLAYED} times as many as are written in it"
                reason = "too many repeated notes"
                problem = Problem(reason, expected, str(repeated), line=first.line, record=name, is_damage=True)
                yield Record(None, (problem.at(file=stream.name),))
                return
            melody = record.melody
            if chosen.counts and stream.stem and melody is not None and melody.id:
                record = replace(record, melody=melody.with_metadata(id=f"{stream.stem}-{melody.id}"))
            yield record.at(file=stream.name)


def with_ids(found: Iterable[Record], stem: str, before: int = 0) -> Iterator[Record]:
    """The records of a file, with ids: one without gets the stem and its number. Refused ones are counted too."""
    for number, record in enumerate(found, start=before + 1):
        if record.melody is not None and not (record.melody.id or "").strip():
            record = replace(record, melody=record.melody.with_metadata(id=f"{stem}-{number}"))
        yield record


class _UnknownNotationError(FormatError):
    """A file that no reader takes for its own."""


def is_damage(error: Exception, name: str) -> bool:
    """Whether a file that cannot be read is damaged, or not what its name promises; a picture promises no music."""
    if isinstance(error, _UnknownNotationError):
        suffix = _suffix(name)
        return any(suffix in format.suffixes for format in FORMATS.values())
    return isinstance(error, (FormatError, *DAMAGED))


def _suffix(name: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(name).suffixes if suffix.lower() not in (".gz", ".zip")]
    return suffixes[-1] if suffixes else ""


def unreadable(error: Exception, name: str) -> FormatError:
    """The refusal of a file that cannot be read to its end."""
    return FormatError(f"{name or 'input'}: {_reason(error, name)}")


def _reason(error: Exception, name: str) -> str:
    text = str(error).removeprefix(f"{name or 'input'}: ")
    return text if isinstance(error, FormatError) else f"cannot be read to its end: {text}"


def is_path(text: str) -> bool:
    """A string is a path when there is such a file or folder, or when it ends as file names end and music does not."""
    if "\n" in text or "\0" in text or len(text) > 4096:
        return False
    if _FILE_NAME.fullmatch(text):
        return True
    try:
        return bool(text.strip()) and Path(text).exists()
    except (OSError, ValueError):
        return False


def detect(head: bytes, name: str) -> Format:
    """The format of a file by its first bytes, or by its name."""
    if not name:
        text = head.decode("utf-8", "replace")
        if FORMATS["volpiano"].matches(head):
            return FORMATS["volpiano"]
        if is_plaine_and_easie(text):
            return FORMATS["pae"]
        if FORMATS["names"].matches(head):
            return FORMATS["names"]
        if is_bare_abc(text):
            return FORMATS["abc"]
    for format in FORMATS.values():
        if format.matches(head):
            return format
    if head.startswith(PACKED) and not name.lower().endswith(".mxl"):
        what = "an archive inside an archive" if name else "packed bytes"
        raise FormatError(f"{name or 'input'}: {what}; expected notation")
    suffix = _suffix(name)
    for format in FORMATS.values():
        if suffix in format.suffixes:
            return format
    if not name:
        return FORMATS["pae"]  # a typed string: its reader reports where it is wrong
    known = ", ".join(FORMATS)
    raise _UnknownNotationError(f"{name}: unknown notation; expected one of {known}")


# -- files cut into parts, which several processes read ---------------------------------------------------------------

LINES_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Part:
    """A file, or some lines of JSON Lines: their bytes, and how many lines and records come before them.

    `named` is the path of the file below the folder that was given as a source; empty where the file itself was.
    """

    path: Path
    lines: bytes | None = None
    before: int = 0
    records_before: int = 0
    named: str = ""


def parts(path: Path) -> Iterator[Part]:
    """The parts of a file, in order. A damaged one raises `FormatError` after the lines that can be read."""
    for stream in open_streams(path):
        if stream.is_member:
            break
        with stream.open() as opened:
            if _has_lines(opened, stream.name):
                yield from _lines(path, opened)
                return
    yield Part(path)


def _has_lines(opened: io.BufferedReader, name: str) -> bool:
    try:
        return detect(opened.peek(_HEAD_BYTES)[:_HEAD_BYTES], name).name == "jsonl"
    except Exception:
        return False  # its reader reports what is wrong


def _lines(path: Path, opened: io.BufferedReader) -> Iterator[Part]:
    before, records_before, is_over = 0, 0, False
    while not is_over:
        held, damage = list[bytes](), None
        while len(held) < LINES_AT_ONCE and not is_over:
            try:
                line = opened.readline()
            except DAMAGED as error:
                line, damage = b"", error
            held.append(line)
            is_over = not line
        if lines := b"".join(held):
            yield Part(path, lines, before, records_before)
        before += len(held)
        records_before += sum(1 for line in held if line.strip())
        if damage is not None:
            raise unreadable(damage, str(path)) from damage


def read_part(part: Part, *, strict: bool = False, voices: Voices = "apart") -> Iterator[Record]:
    """The records of a part, as those of the whole file. Every melody has an id."""
    if part.lines is None:
        yield from records(part.path, strict=strict, voices=voices, named=part.named, skipped=True)
        return
    stem = id_stem(part.named or part.path.name)
    for record in with_ids(records(part.lines, "jsonl", strict=strict), stem, part.records_before):
        problems = tuple(
            replace(each, file=str(part.path), line=each.line + part.before if each.line else 0)
            for each in record.problems
        )
        yield replace(record, problems=problems)
