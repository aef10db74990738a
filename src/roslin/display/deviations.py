"""What was read otherwise than it was written, in short lines for whoever wrote it: "read 'X' as x at column 5"."""

from __future__ import annotations

from collections.abc import Iterable

from roslin.errors import Problem

_PLACES_NAMED = 4


def deviations(problems: Iterable[Problem]) -> list[str]:
    """A line for each kind of deviation, in the order in which they come, with the places where it stands.

    >>> deviations([Problem("sharp", "", "'X'", 3, taken="x"), Problem("sharp", "", "'X'", 9, taken="x")])
    ["read 'X' as x at columns 3 and 9"]
    >>> deviations([Problem("mark of doubt", "", "'?'", 7, line=2, taken="nothing")])
    ["left out '?' at line 2, column 7"]
    """
    places: dict[tuple[str, int], list[int]] = {}
    for problem in problems:
        places.setdefault((_what(problem), problem.line), []).append(problem.column)
    return [f"{what}{_where(line, columns)}" for (what, line), columns in places.items()]


def _what(problem: Problem) -> str:
    if problem.taken == "nothing":
        return f"left out {problem.found}"
    return f"read {problem.found} as {problem.taken}" if problem.taken else problem.reason


def _where(line: int, columns: list[int]) -> str:
    named = [str(column) for column in dict.fromkeys(columns) if column]
    if not named:
        return f" at line {line}" if line else ""
    at = f" at line {line}, " if line else " at "
    if len(named) == 1:
        return f"{at}column {named[0]}"
    if len(named) > _PLACES_NAMED:
        named = [*named[: _PLACES_NAMED - 1], f"{len(named) - _PLACES_NAMED + 1} more"]
    return f"{at}columns {', '.join(named[:-1])} and {named[-1]}"
