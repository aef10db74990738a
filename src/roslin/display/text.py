"""Text for people and files: deviations of a reading, its problems in translation, numbers of things, text for XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from roslin.display.words import _, words
from roslin.errors import Problem

_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_PLACES_NAMED = 4
_VALUES = re.compile(r"'[^']*'|\d+|\b[A-G]$|[N♮Y♭]$")  # in the texts of readers: signs, numbers, note names


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things, with the word for one or for many (by default with an s).

    >>> counted(1, "note"), counted(0, "note"), counted(1200, "melody", "melodies")
    ('1 note', '0 notes', '1,200 melodies')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def some_of(names: Sequence[str], most: int = 5) -> str:
    """The first of these names, and how many more there are.

    >>> some_of(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def for_xml(text: str) -> str:
    """A text without the signs that no XML document can hold, not even escaped.

    >>> for_xml("Salve\\x01 Regina")
    'Salve Regina'
    """
    return _NOT_IN_XML.sub("", text)


def deviations(problems: Iterable[Problem]) -> list[str]:
    """A line for each kind of deviation of a reading from what was written, in their order, with all places.

    >>> deviations([Problem("sharp", "", "'X'", 3, taken="x"), Problem("sharp", "", "'X'", 9, taken="x")])
    ["read 'X' as x at columns 3 and 9"]
    >>> deviations([Problem("mark of doubt", "", "'?'", 7, line=2, taken="nothing")])
    ["left out '?' at line 2, column 7"]
    """
    places: dict[tuple[str, int], list[int]] = {}
    for problem in problems:
        frame = _("left out {found}") if problem.taken == "nothing" else _("read {found} as {taken}")
        said = translated(problem)
        what = frame.format(found=said.found, taken=said.taken) if problem.taken else said.reason
        places.setdefault((what, problem.line), []).append(problem.column)
    return [f"{what}{_where(line, columns)}" for (what, line), columns in places.items()]


def translated(problem: Problem) -> Problem:
    """The problem with the texts of its reader in the words in use."""
    if words().language == "en":
        return problem
    reason, expected, found, taken = map(_of_reader, (problem.reason, problem.expected, problem.found, problem.taken))
    return replace(problem, reason=reason, expected=expected, found=found, taken=taken)


def problem_words(problem: Problem) -> str:
    """The problem as one line in the words in use."""
    if words().language == "en":
        return str(problem)
    said, at = translated(problem), _("Column {column}")
    if problem.line > 1:
        at = _("Line {line}, column {column}")
    what = f"{at.format(line=problem.line, column=problem.column)}: {said.reason}" if problem.column else said.reason
    frames = ((_("expected {expected}"), said.expected), (_("found {found}"), said.found))
    return "; ".join([what, *(frame.format(expected=text, found=text) for frame, text in frames if text)])


def _of_reader(text: str) -> str:
    """A text of a reader in the words in use. The values in it, and what follows a colon, are left alone."""
    if not text or _(text) != text:
        return text and _(text)
    head, colon, rest = text.partition(": ")
    values = iter(_VALUES.findall(head))
    frame = _(head) if _(head) != head else _(_VALUES.sub("{value}", head))
    return f"{re.sub('{value}', lambda _: next(values, ''), frame)}{colon}{rest}"


def _where(line: int, columns: list[int]) -> str:
    named = [str(column) for column in dict.fromkeys(columns) if column]
    if not named:
        return _(" at line {line}").format(line=line) if line else ""
    if len(named) == 1:
        at = _(" at line {line}, column {column}") if line else _(" at column {column}")
        return at.format(line=line, column=named[0])
    if len(named) > _PLACES_NAMED:
        named = [*named[: _PLACES_NAMED - 1], _("{count} more").format(count=len(named) - _PLACES_NAMED + 1)]
    both = _("{first} and {second}").format(first=", ".join(named[:-1]), second=named[-1])
    at = _(" at line {line}, columns {columns}") if line else _(" at columns {columns}")
    return at.format(line=line, columns=both)
