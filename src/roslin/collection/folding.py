"""Text as filters compare it: without accents, in one case, whatever form Unicode has for it.

"Grétry", "GRÉTRY", "gretry" and "Gre" + accent + "try" are folded to the same letters. A key is folded to its name in
one spelling (represent/keys.py), a date to its first year. The same folding is used when a collection is written and
when it is searched, so a change here changes the format of collections.

Scoring, library and date come from the catalogue and are in `Melody.extra`. The library is the siglum; where there is
none, it is the source that the melody comes from.

Dates are reduced to the year in which they begin. "1755", "[ca. 1740]", "[between 1784 and 1817]" have a year,
"[174-?]" a decade, "17--", "18.sc" (RISM: the eighteenth century) and "18th century" only a century. A year anywhere in
the text is more certain than a decade, a decade more than a century.
"""

from __future__ import annotations

import re
import unicodedata

from roslin.errors import FilterError
from roslin.melody import Melody
from roslin.represent.keys import key_name

_OWN_FIELDS = ("title", "composer", "voice", "key", "metre", "text", "source")
_EXTRA_FIELDS = {"scoring": ("scoring",), "library": ("siglum", "library"), "date": ("date", "year")}
FOLDED_FIELDS = (*_OWN_FIELDS, *_EXTRA_FIELDS)

# Letters that Unicode does not take apart, as people without them on their keyboard write them.
_PLAIN_LETTERS = str.maketrans(
    {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
    | dict.fromkeys("‘’ʼ′`´", "'")
    | dict.fromkeys("“”„«»″", '"')
    | dict.fromkeys("‐‑‒–—−", "-")
)

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


def fold(text: str) -> str:
    """The letters of a text without accents and in lower case, with single spaces.

    >>> fold("GRÉTRY,  André"), fold("Smørgrav"), fold("Weiß")
    ('gretry, andre', 'smorgrav', 'weiss')
    """
    if not text.isascii():
        apart = unicodedata.normalize("NFKD", text.casefold())
        text = "".join(sign for sign in apart if not unicodedata.combining(sign)).translate(_PLAIN_LETTERS)
    return " ".join(text.lower().split())


def said_of(melody: Melody, field: str) -> str | None:
    """The value of a field, as the source of the melody writes it.

    >>> tune = Melody.from_notes([0], [1], [60], source="a tune book", extra={"date": "ca. 1740"})
    >>> said_of(tune, "date"), said_of(tune, "library"), said_of(tune, "scoring")
    ('ca. 1740', 'a tune book', None)
    """
    if field in _OWN_FIELDS:
        return getattr(melody, field)  # type: ignore[no-any-return]
    said = (melody.extra.get(name) for name in _EXTRA_FIELDS[field])
    return next(filter(None, said), melody.source if field == "library" else None)


def folded_field(field: str, value: str) -> str:
    """A field's value, folded: a key by its name, a date by its first year.

    >>> folded_field("key", "g-Moll"), folded_field("title", "g-Moll"), folded_field("date", "[ca. 1740]")
    ('g minor', 'g-moll', '1740')
    """
    if field == "date":
        year = year_of(value)
        return fold(value) if year is None else str(year)
    return fold((key_name(value) if field == "key" else None) or value)


def folded_metadata(melody: Melody) -> tuple[str | None, ...]:
    """All fields of a melody, folded; what folds to nothing is not known, nor is a date without a year."""
    values = ((field, said_of(melody, field)) for field in FOLDED_FIELDS)
    return tuple(_folded(field, value) if value else None for field, value in values)


def _folded(field: str, value: str) -> str | None:
    return None if field == "date" and year_of(value) is None else folded_field(field, value) or None


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
