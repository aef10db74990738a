"""Text as filters compare it: without accents, in one case, whatever form Unicode has for it.

"Grétry", "GRÉTRY", "gretry" and "Gre" + accent + "try" are folded to the same letters. A key is folded to its name in
one spelling (represent/key_names.py), a date to its first year. What is folded when a collection is written is found by
what is folded when it is asked for, so a change here is a change of the collection's format.

Scoring, library and date are what catalogues say beside the fields of a melody, in `Melody.extra`. The library is the
siglum; where there is none, it is the source that the melody comes from.
"""

from __future__ import annotations

import unicodedata

from roslin.collection.dates import year_of
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
    """What the source of a melody says in a field, as it is written there.

    >>> tune = Melody.from_notes([0], [1], [60], source="a tune book", extra={"date": "ca. 1740"})
    >>> said_of(tune, "date"), said_of(tune, "library"), said_of(tune, "scoring")
    ('ca. 1740', 'a tune book', None)
    """
    if field in _OWN_FIELDS:
        own: str | None = getattr(melody, field)
        return own
    said = (melody.extra.get(name) for name in _EXTRA_FIELDS[field])
    return next(filter(None, said), melody.source if field == "library" else None)


def folded_field(field: str, value: str) -> str:
    """What stands in a field, folded; a key by its name, a date by its first year.

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
