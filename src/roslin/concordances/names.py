"""The names by which a catalogue knows its sources: the record of a melody, and the composer of a record."""

from __future__ import annotations

import re

from roslin.collection.folding import fold

ANONYMUS = "Anonymus"
_NOBODY = frozenset(
    {"", "anon", "anonym", "anonyme", "anonymer", "anonimo", "anonymous", "anonymus", "s.n", "unbekannt", "unknown"}
)
_DOUBT = re.compile(r"[\[\]()?]*\?[\[\]()?]*|[\[\]]")  # a name in brackets, or with a mark of doubt, is the same name


def plain_name(composer: str) -> str:
    """A composer's name without brackets and marks of doubt.

    >>> plain_name("[Pergolesi, Giovanni Battista (?)]")
    'Pergolesi, Giovanni Battista'
    """
    return _DOUBT.sub("", composer).strip()


def folded_name(composer: str) -> str:
    """A composer's name in one spelling.

    >>> folded_name("[Grétry, André-Ernest-Modeste?]") == folded_name("Gretry, André-Ernest-Modeste")
    True
    """
    return fold(plain_name(composer)).rstrip(" .,;")


def surname(composer: str) -> str:
    """What catalogues write before the comma, in one spelling.

    >>> surname("Händel, Georg Friedrich") == surname("Handel, George Frideric")
    True
    """
    return folded_name(composer).partition(",")[0]


def is_nobody(composer: str | None) -> bool:
    """Whether this names no composer.

    >>> is_nobody(None), is_nobody("[Anonymus]"), is_nobody("Anonymous"), is_nobody("Hasse, Johann Adolf")
    (True, True, True, False)
    """
    return folded_name(composer or "") in _NOBODY
