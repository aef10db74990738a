"""A melody in the notation that its page prints: complete, so that it can be pasted into a search."""

from __future__ import annotations

from roslin.errors import NotationError
from roslin.melody import Melody
from roslin.notation.pae import as_catalogued, write


def written(melody: Melody) -> tuple[str, str] | None:
    """The name of the notation and the text; None for what neither can write (lengths as they were played, voices).

    Plaine & Easie and ABC are given as their source has them, everything else in Plaine & Easie.
    """
    if melody.notation == "pae" and melody.music:
        return "Plaine & Easie", as_catalogued(melody)
    if melody.notation == "abc" and melody.music:
        return "ABC", melody.music
    try:
        return "Plaine & Easie", write(melody)
    except NotationError:
        return None
