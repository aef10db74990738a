"""Ground distances: how far apart two notes are.

    euclidean   sqrt(dt^2 + dp^2)                     the paper's
    cityblock   |dt| + |dp|
    tonal       sqrt(dt^2 + K(p1, p2)^2)              section 5 of the paper proposes it

K is the dissimilarity of two pitches in a key. The paper leaves it open and names Krumhansl (1990); the definition here
is ours. The twelve pitch classes have a rating in a key, 0 to 1: Krumhansl and Kessler's probe-tone ratings (1982)
stretched to that range. Then

    K(p, q) = |p - q| * (1 + stability * |rating(p) - rating(q)|) / (1 + stability / 2)

so that equal pitches are at 0, a step between two tones of equal standing costs less than one that leaves the tonic
chord, and K grows with the interval as the Euclidean distance does. The key is found among the 24 by the correlation of
durations with ratings (Krumhansl and Schmuckler), over the notes given to `find_key`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["GROUND_NAMES", "Key", "find_key", "tonal_table"]

GROUND_NAMES = ("cityblock", "euclidean", "tonal")

# Krumhansl & Kessler 1982, as printed in Krumhansl 1990: C, C sharp, ... B in C major and C minor.
_MAJOR = np.array([6.35, 2.23, 3.48, 2.33, 4.38, 4.09, 2.52, 5.19, 2.39, 3.66, 2.29, 2.88])
_MINOR = np.array([6.33, 2.68, 3.52, 5.38, 2.60, 3.53, 2.54, 4.75, 3.98, 2.69, 3.34, 3.17])
_NAMES = ("C", "C sharp", "D", "E flat", "E", "F", "F sharp", "G", "A flat", "A", "B flat", "B")
STABILITY = 1.0


@dataclass(frozen=True, slots=True)
class Key:
    """A tonic (0 = C) and a mode."""

    tonic: int
    is_minor: bool

    def __str__(self) -> str:
        return f"{_NAMES[self.tonic]} {'minor' if self.is_minor else 'major'}"


def _all_profiles() -> npt.NDArray[np.float64]:
    """(24, 12): ratings of the pitch classes in the 24 keys, major ones first."""
    return np.array([np.roll(profile, tonic) for profile in (_MAJOR, _MINOR) for tonic in range(12)])


def find_key(pitches: npt.ArrayLike, weights: npt.ArrayLike) -> Key:
    """The key whose ratings agree best with how long each pitch class sounds, of the notes given (one at least).

    Of equals, major before minor, then the tonic that comes next above the first note: so the key of a transposed
    melody is the transposed key.

    >>> str(find_key([60, 62, 64, 65, 67, 64, 60], [1, 1, 1, 1, 2, 1, 2]))
    'C major'
    """
    classes = np.asarray(np.rint(pitches), dtype=np.int64) % 12
    sounding = np.bincount(classes, np.asarray(weights, dtype=np.float64), minlength=12)
    profiles = _all_profiles()
    centred = profiles - profiles.mean(axis=1, keepdims=True)
    agreement = centred @ (sounding - sounding.mean()) / np.linalg.norm(centred, axis=1)
    best = np.flatnonzero(agreement >= agreement.max() - 1e-9 * (1 + sounding.sum()))
    first = min(best.tolist(), key=lambda k: (k >= 12, (k - classes[0]) % 12))
    return Key(first % 12, first >= 12)


def tonal_table(key: Key, stability: float = STABILITY) -> npt.NDArray[np.float64]:
    """(128, 128): K of any two MIDI pitches in a key."""
    profile = np.roll(_MINOR if key.is_minor else _MAJOR, key.tonic)
    rating = ((profile - profile.min()) / (profile.max() - profile.min()))[np.arange(128) % 12]
    steps = np.abs(np.subtract.outer(np.arange(128.0), np.arange(128.0)))
    table: npt.NDArray[np.float64] = (
        steps * (1 + stability * np.abs(np.subtract.outer(rating, rating))) / (1 + stability / 2)
    )
    return table
