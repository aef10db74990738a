"""One table of a TOML file, asked key by key; whatever is wrong is refused with file, line and key.

`tomllib` says where a file stops being TOML, but forgets where a value stood. `line_of` finds it again: it reads no
values, only what stands at the beginning of a line outside strings and brackets.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roslin.errors import ExperimentError, Problem, RoslinError

Key = tuple[str | int, ...]
"""Where a value is: names of tables and keys, and places in arrays from 0, as ("queries", 2, "id")."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
"""A word that can be the name of a folder or of a column."""

MOST_WHOLE = 2**53
"""The largest whole number: all programs that read a plan agree on it."""

_LONG_NUMBER = re.compile(r"[=,\[]\s*[+-]?([0-9][0-9_]{4000,})")
_HEADER = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_BARE_OR_QUOTED = r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'"""
_ASSIGNED = re.compile(rf"\s*((?:{_BARE_OR_QUOTED})(?:\s*\.\s*(?:{_BARE_OR_QUOTED}))*)\s*=")
_PIECES = re.compile(r'"""|\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#|[\[\]{}]')


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file, and its values."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        problem = Problem("no UTF-8", file=str(path), found=f"byte {error.start + 1}", expected="text in UTF-8")
        raise ExperimentError(str(problem)) from None
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", str(error))
        line, column = (int(number or 0) for number in place.groups()) if place else (0, 0)
        reason = f"no TOML: {str(error)[: place.start()] if place else error}"
        raise ExperimentError(str(Problem(reason, line=line, column=column, file=str(path)))) from None
    except (ValueError, RecursionError):  # tomllib does not say where these are
        raise ExperimentError(str(_unreadable(path, text))) from None


def _unreadable(path: Path, text: str) -> Problem:
    """A number or a nesting that Python refuses to read, with its line."""
    long = _LONG_NUMBER.search(text)
    if long is None:
        return Problem("too many brackets inside one another", expected="at most a few", file=str(path))
    line, expected = text.count("\n", 0, long.start(1)) + 1, f"a number up to {MOST_WHOLE}"
    return Problem("a number with too many digits", expected, f"{len(long[1])} digits", line=line, file=str(path))


def line_of(text: str, key: Key) -> int:
    """The line, from 1, on which a value is given; that of the table around it where it has none; 0: nowhere."""
    best, found = 0, 0
    for where, line in _places(text):
        shared = len(where) if where == key[: len(where)] else 0
        if shared > best:
            best, found = shared, line
    return found


def _places(text: str) -> list[tuple[Key, int]]:
    """Every header and every assignment outside brackets, with its line."""
    found: list[tuple[Key, int]] = []
    table: Key = ()
    counts: dict[Key, int] = {}
    depth, quote = 0, ""
    for number, line in enumerate(text.splitlines(), start=1):
        is_start = not depth and not quote
        header = _HEADER.match(line) if is_start else None
        if header:
            table = _header(_names(header[2]), counts, is_array=header[1] == "[[")
            found.append((table, number))
            continue
        assigned = _ASSIGNED.match(line) if is_start else None
        if assigned:
            found.append(((*table, *_names(assigned[1])), number))
        depth, quote = _after(line[assigned.end() :] if assigned else line, depth, quote)
    return found


def _header(names: Sequence[str], counts: dict[Key, int], *, is_array: bool) -> Key:
    """The key of a table; the newest of an array of tables is meant where its name stands."""
    where: Key = ()
    for place, name in enumerate(names, start=1):
        where = (*where, name)
        if place == len(names) and is_array:
            counts[where] = counts.get(where, -1) + 1
        if where in counts:
            where = (*where, counts[where])
    return where


def _names(dotted: str) -> list[str]:
    return [name[1:-1] if name[0] in "\"'" else name for name in re.findall(_BARE_OR_QUOTED, dotted)]


def _after(line: str, depth: int, quote: str) -> tuple[int, str]:
    """How many brackets are open after a line, and in which long string it ends."""
    place = 0
    while place < len(line):
        if quote:
            end = line.find(quote, place)
            if end < 0:
                return depth, quote
            place, quote = end + 3, ""
            continue
        piece = _PIECES.search(line, place)
        if piece is None or piece[0] == "#":
            break
        place = piece.end()
        if piece[0] in ('"""', "'''"):
            quote = piece[0]
        elif piece[0] in "[{":
            depth += 1
        elif piece[0] in "]}":
            depth -= 1
    return depth, quote


@dataclass(frozen=True, slots=True)
class TomlTable:
    """A table of a file. Every way to ask takes what counts where the key is not given; None: it must be."""

    path: Path
    source: str
    where: Key
    values: dict[str, Any]

    def check_keys(self, known: Collection[str]) -> None:
        """Refuse a key that nobody asks for."""
        for name in self.values:
            if name not in known:
                near = difflib.get_close_matches(name, list(known), n=1)
                expected = f"{near[0]!r}?" if near else f"one of {', '.join(known)}"
                raise self.error(name, "unknown key", expected, name)

    def error(self, name: str, reason: str, expected: str = "", found: object = None) -> ExperimentError:
        """What is wrong with a key ("" for the table itself), and where it stands."""
        key = (*self.where, name) if name else self.where
        line = line_of(self.source, key) if key else 0
        record = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in key).lstrip(".")
        problem = Problem(reason, expected, _shown(found), line=line, file=str(self.path), record=record)
        return ExperimentError(str(problem))

    @contextmanager
    def blaming(self, name: str) -> Iterator[None]:
        """Whatever is refused inside is refused because of this key."""
        try:
            yield
        except ExperimentError:
            raise  # its place is known
        except RoslinError as error:
            raise self.error(name, str(error)) from None

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str, otherwise: str | None = None) -> str:
        """Text that is not empty."""
        value = self._given(name, otherwise)
        if not isinstance(value, str) or (name in self.values and not value.strip()):
            raise self.error(name, "must be text", "text in quotes, not empty", value)
        return value

    def whole(self, name: str, otherwise: int | None, least: int = 1) -> int:
        """A whole number."""
        value = self._given(name, otherwise)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.error(name, "must be a whole number", f"{least} or more", value)
        if value > MOST_WHOLE:
            raise self.error(name, "the number is too large", f"{least} to {MOST_WHOLE}", value)
        return value

    def number(self, name: str, otherwise: float | None, least: float = 0.0) -> float:
        """A number."""
        value = self._given(name, otherwise)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not least <= value <= MOST_WHOLE:
            raise self.error(name, "must be a number", f"{least:g} to {MOST_WHOLE}", value)
        return float(value)

    def yes(self, name: str, otherwise: bool) -> bool:
        """True or false."""
        value = self._given(name, otherwise)
        if not isinstance(value, bool):
            raise self.error(name, "must be yes or no", "true or false", value)
        return value

    def one_of(self, name: str, names: Sequence[str], otherwise: str | None = None) -> str:
        """One of several words."""
        value = self._given(name, otherwise)
        if value not in names:
            raise self.error(name, "unknown value", f"one of {', '.join(names)}", value)
        return str(value)

    def texts(self, name: str, otherwise: Sequence[str] | None = None) -> tuple[str, ...]:
        """A list of texts; one text alone is a list of one."""
        value = self._given(name, otherwise)
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, (list, tuple)) or not all(isinstance(each, str) and each.strip() for each in listed):
            raise self.error(name, "must be a list of texts", 'texts in quotes, as ["one", "two"]', value)
        return tuple(listed)

    def words(self, name: str, languages: Sequence[str], otherwise: dict[str, str] | None = None) -> dict[str, str]:
        """A text in every language of the study: one text for all, or a table with one for each."""
        value = self._given(name, otherwise)
        if isinstance(value, str) and value.strip():
            return dict.fromkeys(languages, value)
        form = f"text in quotes, or one for each language, as {{ {languages[0]} = ... }}"
        if not isinstance(value, dict) or not all(isinstance(text, str) and text.strip() for text in value.values()):
            raise self.error(name, "must be text", form, value)
        for language in languages:
            if language not in value:
                raise self.error(name, "a language is missing", language, ", ".join(value))
        for language in value:
            if language not in languages:
                raise self.error(name, "unknown language", f"one of study.languages: {', '.join(languages)}", language)
        return dict(value)

    def table(self, name: str, known: Collection[str]) -> TomlTable:
        """A table below this one, empty where it is not given; `known` are its keys, none of them: any."""
        value = self._given(name, {})
        if not isinstance(value, dict):
            raise self.error(name, "must be a table", f"[{name}] and keys below it", value)
        return self._below((name,), value, known)

    def tables(self, name: str, known: Collection[str]) -> list[TomlTable]:
        """The tables of an array below this one."""
        value = self._given(name, [])
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise self.error(name, "must be tables", f"[[{name}]] and keys below it, for each", value)
        return [self._below((name, place), each, known) for place, each in enumerate(value)]

    def _below(self, where: Key, values: dict[str, Any], known: Collection[str]) -> TomlTable:
        below = TomlTable(self.path, self.source, (*self.where, *where), values)
        if known:
            below.check_keys(known)
        return below

    def _given(self, name: str, otherwise: object) -> Any:
        if name not in self.values and otherwise is None:
            raise self.error("", f"{name} is missing", f"a line {name} = ...")
        return self.values.get(name, otherwise)


def _shown(value: object) -> str:
    if value is None:
        return ""
    try:
        text = repr(value)
    except ValueError:  # Python writes no number of so many digits, and a list may hold one
        return "a number with too many digits"
    return text if len(text) <= 80 else f"{text[:77]}..."
