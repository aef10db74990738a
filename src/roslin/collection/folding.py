"""Text as filters compare it: without accents, in one case, whatever form Unicode has for it.

"Grétry", "GRÉTRY", "gretry" and "Gre" + accent + "try" are folded to the same letters. A key is folded to its name in
one spelling (represent/key_names.py). What is folded when a collection is written is found by what is folded when it is
asked for, so a change here is a change of the collection's format.
"""

from __future__ import annotations

import unicodedata

from roslin.melody import Melody
from roslin.represent.key_names import key_name

__all__ = ["FOLDED_FIELDS", "fold", "folded_field", "folded_metadata"]

FOLDED_FIELDS = ("title", "composer", "voice", "key", "metre", "text", "source")

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


def folded_field(field: str, value: str) -> str:
    """What stands in a field, folded; a key by its name.

    >>> folded_field("key", "g-Moll"), folded_field("title", "g-Moll")
    ('g minor', 'g-moll')
    """
    return fold((key_name(value) if field == "key" else None) or value)


def folded_metadata(melody: Melody) -> tuple[str | None, ...]:
    """All fields of a melody, folded."""
    values = ((field, getattr(melody, field)) for field in FOLDED_FIELDS)
    return tuple(folded_field(field, value) if value else None for field, value in values)
