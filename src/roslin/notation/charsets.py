"""The character sets that a file may name as its own.

Python also knows codecs that unpack archives, undo escapes or refuse everything, and they are not for files of others.
"""

from __future__ import annotations

import codecs
import re

EXPECTED = "a character set such as UTF-8 or ISO-8859-1"
_CHARACTER_SETS = re.compile(r"ascii|big5|cp\d|euc_|gb|hp-|hz|iso|johab|koi8|kz|mac|ptcp|shift_|tis|utf-(8|16|32)")


def character_set(name: str) -> codecs.CodecInfo | None:
    """The codec of a character set, None for a name that is none.

    >>> [found.name if (found := character_set(name)) else None for name in ("latin1", "zlib", "klingon")]
    ['iso8859-1', None, None]
    """
    try:
        codec = codecs.lookup(name)
    except LookupError:
        return None
    return codec if codec.incrementaldecoder is not None and _CHARACTER_SETS.match(codec.name) else None
