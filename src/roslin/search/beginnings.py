"""Beginnings: melodies cut to their first onsets before they are compared, for matchers that compare only wholes.

Cut melodies have no index, so every one that is asked for is compared. A matcher whose distances depend on all
candidates at once cannot be stopped on the way; for it the number of candidates is limited.
"""

from __future__ import annotations

import numpy as np

from roslin.melody import Melody
from roslin.represent.line import melodic_line
from roslin.represent.packed import Packed

MOST_AT_ONCE = 50_000

_LONGER = 1.25  # how many times as many onsets as the query a beginning has: ornaments need room


def onsets_compared(query: Melody) -> int:
    """How many onsets a beginning has that is compared with this query."""
    return int(np.ceil(_LONGER * len(melodic_line(query))))


def beginnings(packed: Packed, onsets: int) -> Packed:
    """Each melody up to so many different onsets. Bar lines are left as they are."""
    lengths = np.diff(packed.offsets)
    onset = packed.notes["onset_ticks"]
    is_new = np.ones(len(onset), dtype=np.int64)
    is_new[1:] = onset[1:] != onset[:-1]
    is_new[packed.offsets[:-1][lengths > 0]] = 1
    counted = np.concatenate([[0], np.cumsum(is_new)])
    number = counted[1:] - np.repeat(counted[packed.offsets[:-1]], lengths)  # of the onset in its melody, from 1
    kept = number <= onsets
    offsets = np.concatenate([[0], np.cumsum(kept)])[packed.offsets].astype(np.int64)
    return Packed(packed.notes[kept], offsets, packed.barlines, packed.bar_offsets)
