"""Rows from files, each with its place: columns separated by tabs or spaces, CSV with a header, Parquet, data frames.

Truths and runs share these readers, so that a broken line is reported in the same words everywhere: file, line, what
was expected, what was found. Lines may end with LF or CRLF. A file may be compressed with gzip or zstd: its first bytes
decide, and its name without `.gz` or `.zst` decides the contents.

Files that users name are written here too, whole or not at all: an older one is there until the new one is complete.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
import re
import shutil
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from roslin.errors import FormatError, MissingExtraError, Problem, shortened

# What a column may be called: Roslin's own name first, then those of ir_measures, ranx and trec tools.
COLUMN_NAMES: dict[str, tuple[str, ...]] = {
    "query": ("query", "query_id", "q_id", "qid", "topic", "input.query"),
    "document": ("document", "doc_id", "docid", "docno", "doc"),
    "group": ("group",),
    "relevance": ("relevance", "rel", "label"),
    "score": ("score", "sim"),
    "distance": ("distance",),
    "rank": ("rank",),
    "expert": ("expert", "judge", "subject", "participant", "worker", "workerid"),
    "years": ("years", "experience_years"),  # the second is what a study asks for and exports
    "first": ("first", "input.doca"),
    "second": ("second", "input.docb"),
    "answer": ("answer", "answer.radio"),
}

_NOT_IN_A_WORD = re.compile(r"[\s%]")
_WRITTEN = re.compile(r"(?:%[0-9A-F]{2})+")
_HALF = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
HALF_CHARACTER = "half a character"  # the reason of a refusal
MAX_EXPANSION = 200  # how many times its packed size a large file may have unpacked; real ones stay below 50
LARGE_BYTES = 50_000_000  # below this, expansion does no harm
_COMPRESSED = (".gz", ".zst")
_ZSTD_STEP_BYTES = 1024  # these come to 32 MB at most: a block of 4 bytes can expand to 128 kB
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_LONGEST_PART = 400  # of a message; ids in it are cut before
_MOST_DIGITS = 400  # no number of that length is finite


class Row(NamedTuple):
    """The cells of one line and its place; `line` counts from 1."""

    cells: tuple[str, ...]
    file: str
    line: int


def refuse(reason: str, *, expected: str = "", found: str = "", file: str = "", line: int = 0) -> FormatError:
    """The error for a file that cannot be read, in the words of every other one."""
    what = shortened(reason, _LONGEST_PART), shortened(expected, _LONGEST_PART), shortened(found, _LONGEST_PART)
    return FormatError(str(Problem(*what, 0, line, file)))


def library(name: str, what: str, extra: str) -> Any:
    """A library that only an extra of the package installs; `what` needs it."""
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtraError(what, name, extra) from None


def form_of(path: Path) -> str:
    """The suffix of a file's contents, in small letters: `.json` for `mine.json.gz`."""
    return _uncompressed(path).suffix.lower()


def called(path: Path) -> str:
    """The name of what a file holds: that of the file, without its ends.

    >>> called(Path("runs/mine.run.gz"))
    'mine'
    """
    return _uncompressed(path).stem


def _uncompressed(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() in _COMPRESSED else path


def to_word(text: str) -> str:
    """One word, as columns need it: white space and % are written as in web addresses."""
    return _NOT_IN_A_WORD.sub(lambda match: quote(match[0]), text) or "-"


def _from_word(text: str) -> str:
    """The inverse of `to_word`; any other %XX is part of an id."""

    def decoded(written: re.Match[str]) -> str:
        text = unquote(written[0])
        return text if all(sign == "%" or sign.isspace() for sign in text) else written[0]

    return _WRITTEN.sub(decoded, text) if "%" in text else text


def _lines(path: Path, other: str | None = None) -> list[str]:
    """Lines that end with LF, CRLF or CR; nothing else ends one (str.splitlines knows eight more)."""
    return read_text(path, other).replace("\r\n", "\n").replace("\r", "\n").split("\n")


def read_text(path: Path, other: str | None = None) -> str:
    """A text file, whatever its line ends. A byte that is no UTF-8 is refused with its line, or read as `other`."""
    raw = _read_bytes(path)
    for encoding in ("utf-8-sig", other) if other else ("utf-8-sig",):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError as error:
            first_wrong = error.start
    before = raw[:first_wrong].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    column = len(before) - before.rfind(b"\n")
    found = f"the byte {raw[first_wrong]:#04x} at column {column}; save the file as UTF-8"
    expected = f"UTF-8 or {other}" if other else "UTF-8"
    line = before.count(b"\n") + 1
    raise refuse("the file is not text", expected=expected, found=found, file=str(path), line=line)


def _read_bytes(path: Path) -> bytes:
    raw = path.read_bytes()
    if raw.startswith(_GZIP):
        most = most_unpacked(len(raw))
        try:
            unpacked = gzip.GzipFile(fileobj=io.BytesIO(raw)).read(most + 1)
        except (EOFError, OSError, zlib.error) as error:
            raise refuse(f"damaged gzip ({error})", expected="a whole file", file=str(path)) from None
        if len(unpacked) > most:
            raise _too_much(most, path)
        return unpacked
    if raw.startswith(_ZSTD):
        return _from_zstd(raw, path)
    if path.suffix.lower() in _COMPRESSED:
        raise refuse(
            "not compressed, although it has the suffix of a compressed file", expected="gzip or zstd", file=str(path)
        )
    return raw


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write a file that takes the place of another once it is complete.

    A link stays, and so do the permissions of the older file. A pipe or a device is written to itself.
    """
    target = path.resolve() if path.is_symlink() else path
    if target.exists() and not target.is_file():
        yield target
        return
    unfinished = target.with_name(f"{target.name}.part")
    try:
        yield unfinished
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, unfinished)
        unfinished.replace(target)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


def write_whole(path: Path, content: str | bytes, permissions: int = 0o666) -> None:
    """Write a file, whole or not at all. `permissions` are those of a new file, without what the umask takes away."""
    with replacing(path) as unfinished:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, permissions)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all, compressed where its name ends with `.gz` or `.zst`."""
    raw, ending = text.encode(), path.suffix.lower()
    if ending == ".gz":
        raw = gzip.compress(raw, mtime=0)
    elif ending == ".zst":
        raw = library("zstandard", f"{path}: writing zstd", "zstd").compress(raw)
    write_whole(path, raw)


def most_unpacked(packed_bytes: int) -> int:
    """The most bytes that a compressed file may expand to: enough for any text, too few to fill the memory."""
    return max(LARGE_BYTES, MAX_EXPANSION * packed_bytes)


def _from_zstd(raw: bytes, path: Path) -> bytes:
    """All frames, unpacked piece by piece, because a few bytes can expand to any number."""
    zstandard = library("zstandard", f"{path}: reading zstd", "zstd")
    most, unpacked = most_unpacked(len(raw)), bytearray()
    frame = zstandard.ZstdDecompressor().decompressobj()
    for start in range(0, len(raw), _ZSTD_STEP_BYTES):
        rest = raw[start : start + _ZSTD_STEP_BYTES]
        while rest:
            if frame.eof:
                frame = zstandard.ZstdDecompressor().decompressobj()
            try:
                unpacked += frame.decompress(rest)
            except zstandard.ZstdError as error:
                raise refuse(f"damaged zstd ({error})", expected="a whole file", file=str(path)) from None
            rest = frame.unused_data
        if len(unpacked) > most:
            raise _too_much(most, path)
    if not frame.eof:
        raise refuse("damaged zstd (it is cut off)", expected="a whole file", file=str(path))
    return bytes(unpacked)


def _too_much(most: int, path: Path) -> FormatError:
    return refuse("unpacks to too much", expected=f"at most {most} bytes", found="more", file=str(path))


def column_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """Lines with these columns, split at tabs where a line has any, else at white space. Empty lines are skipped."""
    file, count = str(path), len(columns)
    for line, text in enumerate(_lines(path), start=1):
        if "\t" in text or "%" in text:
            cells = [cell.strip() for cell in text.split("\t")] if "\t" in text else text.split()
            cells = [_from_word(cell) for cell in cells]
        else:
            cells = text.split()
        if len(cells) != count or not all(cells):
            if not any(cells):
                continue
            expected = f"{count} columns ({' '.join(columns)})"
            found = f"{len(cells)} column{'' if len(cells) == 1 else 's'}"
            if not all(cells):
                found = f"an empty column {cells.index('') + 1}"
            raise refuse("broken line", expected=expected, found=found, file=file, line=line)
        yield Row(tuple(cells), file, line)


def table_rows(
    path: Path, needed: Sequence[str], optional: Sequence[str] = (), *, other_encoding: str | None = None
) -> Iterator[tuple[dict[str, Any], int]]:
    """Rows of a CSV (or TSV) file with a header, or of a Parquet file, as (column -> value, line)."""
    if form_of(path) == ".parquet":
        yield from frame_rows(_read_parquet(path), needed, optional, file=str(path))
        return
    lines = _lines(path, other_encoding)
    delimiter = "\t" if lines and "\t" in lines[0] else ","
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter, strict=True)
    try:
        header = next(reader, [])
        names = _columns(header, needed, optional, str(path))
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                expected = f"{len(header)} columns"
                raise refuse(
                    "broken line", expected=expected, found=str(len(cells)), file=str(path), line=reader.line_num
                )
            yield {name: cells[position] for name, position in names.items()}, reader.line_num
    except csv.Error as error:
        raise refuse(f"broken line ({error})", expected="CSV", file=str(path), line=reader.line_num) from None


def is_frame(value: Any) -> bool:
    """Whether something is a data frame of pandas or polars, or an Arrow table."""
    return hasattr(type(value), "columns") or hasattr(type(value), "column_names")


def frame_rows(
    frame: Any, needed: Sequence[str], optional: Sequence[str] = (), *, file: str = ""
) -> Iterator[tuple[dict[str, Any], int]]:
    """Rows of a data frame (pandas or polars, or an Arrow table), as (column -> value, row number from 1)."""
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):  # a lazy frame of polars
        frame = frame.collect()
    if hasattr(frame, "column_names"):  # an Arrow table
        columns = {name: frame.column(name).to_pylist() for name in frame.column_names}
    else:
        columns = {str(name): frame[name].to_list() for name in frame.columns}
    header = list(columns)
    chosen = {name: columns[header[k]] for name, k in _columns(header, needed, optional, file).items()}
    for line, cells in enumerate(zip(*chosen.values(), strict=True), start=1):
        yield dict(zip(chosen, cells, strict=True)), line


def _columns(header: Sequence[str], needed: Sequence[str], optional: Sequence[str], file: str) -> dict[str, int]:
    names = [name.strip().lower() for name in header]
    place = {name: k for k, name in enumerate(names)}
    found = {}
    for wanted in [*needed, *optional]:
        hits = [(name, place[alias]) for name in wanted.split("|") for alias in COLUMN_NAMES[name] if alias in place]
        if hits:
            found[hits[0][0]] = hits[0][1]
            if names.count(names[hits[0][1]]) > 1:
                raise refuse("two columns have one name", expected="each once", found=header[hits[0][1]], file=file)
        elif wanted in needed:
            either = wanted.replace("|", " or ")
            raise refuse(f"no column {either}", expected=f"a header with {either}", found=", ".join(header), file=file)
    return found


def _read_parquet(path: Path) -> Any:
    arrow = library("pyarrow", f"{path}: reading Parquet", "parquet")
    from pyarrow import parquet

    try:
        return parquet.read_table(io.BytesIO(_read_bytes(path)))
    except (arrow.ArrowException, OSError) as error:
        raise refuse(f"not a Parquet file ({str(error).splitlines()[0]})", file=str(path)) from None


def read_json(path: Path) -> Any:
    """A JSON value. A fault is reported with its line."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)  # Python's own reader would keep the last of two values with one name, and lose the other
        if len(found) < len(pairs):
            twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
            expected = "each name once in an object"
            raise refuse("broken JSON", expected=expected, found=f"{twice} twice", file=str(path))
        return found

    def whole(digits: str) -> int | float:  # one too long for anything is infinite, as it is everywhere else
        return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)

    text = read_text(path)
    try:
        value = json.loads(text, object_pairs_hook=unique, parse_int=whole)
    except json.JSONDecodeError as error:
        raise refuse("broken JSON", expected=error.msg, file=str(path), line=error.lineno) from None
    except RecursionError:
        raise refuse("broken JSON", expected="a value that is not so deep", file=str(path)) from None
    if (half := _HALF.search(text)) and half_character(value):
        line = text.count("\n", 0, half.start()) + 1
        raise refuse(HALF_CHARACTER, expected="text", found=half[0], file=str(path), line=line)
    return value


def half_character(value: Any) -> str:
    r"""The first half of a character in a JSON value, as JSON writes it; nothing where all characters are whole.

    UTF-16 writes some characters in two halves, and JSON can name one alone, which no file, database or page can hold.
    The unit that contains one is refused: a file that is read as a whole, a line of JSON Lines, a melody of a list.

    >>> half_character({"title": "a \ud83c"}), half_character(["\N{MUSICAL SYMBOL G CLEF}"])
    ('\\ud83c', '')
    """
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        return f"\\u{ord(error.object[error.start]):04x}"
    return ""


def whole_number(value: Any, what: str, *, file: str = "", line: int = 0) -> int:
    """A whole number from a cell."""
    if isinstance(value, str) and value.isdecimal() and len(value) <= _MOST_DIGITS:
        return int(value)
    try:
        exact = float(value)
        if exact == int(exact):
            return int(exact)
    except (TypeError, ValueError, OverflowError):
        pass
    raise refuse(f"bad {what}", expected="a whole number", found=_shown(value), file=file, line=line)


def number(value: Any, what: str, *, file: str = "", line: int = 0) -> float:
    """A number from a cell; NaN is none."""
    try:
        exact = float(value)
    except (TypeError, ValueError):
        exact = math.nan
    except OverflowError:
        exact = math.inf if value > 0 else -math.inf
    if math.isnan(exact):
        raise refuse(f"bad {what}", expected="a number", found=_shown(value), file=file, line=line)
    return exact


def named(value: Any, what: str, *, file: str = "", line: int = 0) -> str:
    """A name from a cell; nothing is none."""
    text = "" if is_missing(value) else str(value)
    if not text:
        raise refuse(f"no {what}", expected="a name", found="nothing", file=file, line=line)
    return text


def is_missing(value: Any) -> bool:
    """Whether a cell is what CSV, pandas or polars have where there is no value. An empty text is a text."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # NA of pandas is neither equal to itself nor different
        return True


def _shown(value: Any) -> str:
    return repr(shortened(value) if isinstance(value, str) else value)
