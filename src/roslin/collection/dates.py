"""Dates as catalogues write them, reduced to the year in which they begin.

"1755", "[ca. 1740]", "[between 1784 and 1817]" have a year, "[174-?]" a decade, "17--", "18.sc" (RISM: the eighteenth
century) and "18th century" only a century. A year anywhere in the text is surer than a decade, that than a century.
"""

from __future__ import annotations

import re

from roslin.errors import FilterError

_YEAR = re.compile(r"(?<!\d)(1\d{3}|20\d\d)(?!\d)")
_DECADE = re.compile(r"(?<!\d)(1\d{2}|20\d)-(?!\d)")
_HUNDREDS = re.compile(r"(?<!\d)(1\d|20)-{1,2}(?!\d)")
# RISM writes 18.sc, 18.in, 18.me, 18.ex, 18.1d (its first half), 18.2d.
_CENTURY = re.compile(
    r"(?<!\d)(1\d|2[01])(?:\.(?:sc|in|me|ex|\dd|\dt|\dq)|(?:st|th|e|ème|\.)?\s*(?:cent|c\b|jh|jahrh|si[eè]cle|sec))",
    re.IGNORECASE,
)
_CENTURY_YEARS = 100
_FIRST, _LAST = 11, 21  # the centuries of the years that dates are reduced to


def year_of(text: str) -> int | None:
    """The year in which a date begins, from 1000 to 2099; None where the text has none.

    >>> [year_of(text) for text in ("[between 1784 and 1817]", "[174-?]", "17--", "18.sc", "n.d.")]
    [1784, 1740, 1700, 1700, None]
    """
    if found := _YEAR.search(text):
        return int(found[1])
    if found := _DECADE.search(text):
        return int(found[1]) * 10
    if found := _HUNDREDS.search(text):
        return int(found[1]) * _CENTURY_YEARS
    if found := _CENTURY.search(text):
        return (int(found[1]) - 1) * _CENTURY_YEARS
    return None


def century_of(year: int) -> int:
    """The century to which people count a year: 1700 to 1799 are the eighteenth.

    >>> century_of(1700), century_of(1799), century_of(1800)
    (18, 18, 19)
    """
    return year // _CENTURY_YEARS + 1


def years_of(century: int) -> tuple[int, int]:
    """The first and the last year of a century.

    >>> years_of(18)
    (1700, 1799)
    """
    return (century - 1) * _CENTURY_YEARS, century * _CENTURY_YEARS - 1


def century_number(text: str) -> int:
    """The century that a text names by its number."""
    if text.strip().isdecimal() and len(text) < len("1000") and _FIRST <= int(text) <= _LAST:
        return int(text)
    raise FilterError(f"century must be a number from {_FIRST} to {_LAST}; got {text!r}")
