"""Keys: the ratings of the pitch classes in the 24 keys, and the key that some notes are in.

Reference: C. Krumhansl and E. Kessler's probe-tone ratings (1982), and Krumhansl and Schmuckler's way to find a key
with them (Krumhansl 1990): the key is the one of 24 whose ratings correlate best with how long each pitch class sounds.

Keys have numbers: 0 to 11 are the major ones from C up, 12 to 23 the minor ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["PROFILES", "RATINGS", "Key", "all_keys", "find_key"]

Array = npt.NDArray[np.float64]

_NAMES = ("C", "C sharp", "D", "E flat", "E", "F", "F sharp", "G", "A flat", "A", "B flat", "B")

# As printed in Krumhansl 1990: C, C sharp, ... B in C major and in C minor.
RATINGS: Array = np.array([
    [6.35, 2.23, 3.48, 2.33, 4.38, 4.09, 2.52, 5.19, 2.39, 3.66, 2.29, 2.88],
    [6.33, 2.68, 3.52, 5.38, 2.60, 3.53, 2.54, 4.75, 3.98, 2.69, 3.34, 3.17],
])  # fmt: skip
RATINGS.flags.writeable = False


@dataclass(frozen=True, slots=True)
class Key:
    """A tonic (0 = C) and a mode."""

    tonic: int
    is_minor: bool

    @property
    def number(self) -> int:
        """0 to 11 for the major keys, 12 to 23 for the minor ones."""
        return 12 * self.is_minor + self.tonic

    def __str__(self) -> str:
        return f"{_NAMES[self.tonic]} {'minor' if self.is_minor else 'major'}"


def all_keys(ratings: Array) -> Array:
    """(24, 12): ratings of the pitch classes in C major and C minor, (2, 12), moved to every key."""
    return np.array([np.roll(mode, tonic) for mode in ratings for tonic in range(12)])


PROFILES = all_keys(RATINGS)
PROFILES.flags.writeable = False


def find_key(pitches: npt.ArrayLike, weights: npt.ArrayLike) -> Key:
    """The key whose ratings agree best with how long each pitch class sounds, of the notes given (one at least).

    Of equals, major before minor, then the tonic that comes next above the first note: so the key of a transposed
    melody is the transposed key.

    >>> str(find_key([60, 62, 64, 65, 67, 64, 60], [1, 1, 1, 1, 2, 1, 2]))
    'C major'
    """
    from roslin.represent._kernels import best_key  # Numba loads only when something is compared

    classes = np.asarray(np.rint(pitches), dtype=np.int64) % 12
    sounding = np.bincount(classes, np.asarray(weights, dtype=np.float64), minlength=12)
    centred = PROFILES - PROFILES.mean(axis=1, keepdims=True)
    agreement = centred @ (sounding - sounding.mean()) / np.linalg.norm(centred, axis=1)
    number = best_key(agreement, int(classes[0]), 1e-9 * (1 + sounding.sum()))
    return Key(number % 12, number >= 12)
