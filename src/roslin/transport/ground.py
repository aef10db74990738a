"""Ground distances: how far apart two notes are.

    euclidean   sqrt(dt^2 + dp^2)                     the paper's
    cityblock   |dt| + |dp|
    tonal       sqrt(dt^2 + K(p1, p2)^2)              section 5 of the paper proposes it

K is the dissimilarity of two pitches in a key. The paper leaves it open and names Krumhansl (1990); the definition here
is ours. The twelve pitch classes have a rating in a key, 0 to 1: Krumhansl and Kessler's probe-tone ratings (1982)
(represent/keys.py) stretched to that range. Then

    K(p, q) = |p - q| * (1 + stability * |rating(p) - rating(q)|) / (1 + stability / 2)

so that equal pitches are at 0, a step between two tones of equal standing costs less than one that leaves the tonic
chord, and K grows with the interval as the Euclidean distance does. The key is that of the area around the two notes
(section 5): the notes of the document before and after the one that the query's note is laid onto (`local_keys`). The
query is transposed into the document and heard there, so its own notes have no say; and the area follows a document
that modulates.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from roslin.represent.keys import KEYS, PROFILES, Key
from roslin.types import Floats

GROUND_NAMES = ("cityblock", "euclidean", "tonal")

STABILITY = 1.0


def tonal_table(key: Key, stability: float = STABILITY) -> Floats:
    """(128, 128): K of any two MIDI pitches in a key."""
    profile = PROFILES[key.number]
    rating = ((profile - profile.min()) / (profile.max() - profile.min()))[np.arange(128) % 12]
    steps = np.abs(np.subtract.outer(np.arange(128.0), np.arange(128.0)))
    table: Floats = steps * (1 + stability * np.abs(np.subtract.outer(rating, rating))) / (1 + stability / 2)
    return table


@cache
def tonal_tables() -> Floats:
    """(24, 128, 128): K of any two MIDI pitches in every key, by the number of the key."""
    tables = np.array([tonal_table(key) for key in KEYS])
    tables.flags.writeable = False
    return tables


def tonal_costs(keys: npt.NDArray[np.int64], pitches: Floats) -> Floats:
    """(128, notes): K of any MIDI pitch and each of some notes, in the key of the area around the note."""
    return np.ascontiguousarray(tonal_tables()[keys, :, np.rint(pitches).astype(np.int64)].T)
