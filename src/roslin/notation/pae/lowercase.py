"""Music whose note names are all in lower case, as people type it: '4cdec.

In the code the lower-case letters b, g and f are signs: a flat, a grace note, a repetition. Where no letter is a
capital they can only be notes, with one exception: b directly before another note name stays a flat. Each letter that
could be meant otherwise is told.
"""

from __future__ import annotations

import re

from roslin.errors import Problem
from roslin.notation.record import MAX_PROBLEMS

_SIGNS = r"[a-g0-9xnti'\",.{}()/|:;=!+_^\-~?\s]*"
_ALL_LOWER = re.compile(_SIGNS)
_NAME = re.compile("[ac-g]")
_FLAT_OR_NAME = re.compile(r"(bb?)(?=[ac-g])|[a-g]")
_SIGNS_OF_THE_CODE = "bgf"


def capitals(music: str, start: int) -> tuple[str, tuple[Problem, ...]]:
    """The music with its note names in capitals, if there are none in `music[start:]`; and what was read so.

    >>> capitals("'4cdb", 0)[0]
    "'4CDB"
    """
    if _ALL_LOWER.fullmatch(music, start) is None or _NAME.search(music, start) is None:
        return music, ()
    written = list(music)
    names = re.compile("[a-g]").search(music, start)
    problems = [_read("letters in lower case", names.start() + 1 if names else 1, "note names")]
    for found in _FLAT_OR_NAME.finditer(music, start):
        sign, column = found[0], found.start() + 1
        if not found[1]:
            written[column - 1] = sign.upper()
        if (found[1] or sign in _SIGNS_OF_THE_CODE) and len(problems) < MAX_PROBLEMS:
            taken = f"{sign} (flat)" if found[1] else f"the note {sign.upper()}"
            problems.append(_read(repr(sign), column, taken))
    return "".join(written), tuple(problems)


def _read(found: str, column: int, taken: str) -> Problem:
    return Problem("note name in lower case", "note names from A to G", found, column, taken=taken)
