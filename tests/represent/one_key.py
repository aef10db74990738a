"""Keys with names, and the key of some notes together, from the definition: `local_keys` is compared with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roslin.native import kernels
from roslin.represent.keys import PROFILES
from roslin.tolerances import RECOMPUTED

_CENTRED = PROFILES - PROFILES.mean(axis=1, keepdims=True)


_NAMES = ("C", "C sharp", "D", "E flat", "E", "F", "F sharp", "G", "A flat", "A", "B flat", "B")


@dataclass(frozen=True, slots=True)
class Key:
    """A tonic (0 = C) and a mode."""

    tonic: int
    is_minor: bool

    @property
    def number(self) -> int:
        return 12 * self.is_minor + self.tonic

    def __str__(self) -> str:
        return f"{_NAMES[self.tonic]} {'minor' if self.is_minor else 'major'}"


KEYS = tuple(Key(tonic, is_minor) for is_minor in (False, True) for tonic in range(12))


def find_key(pitches: npt.ArrayLike, weights: npt.ArrayLike) -> Key:
    """The key whose ratings agree best with how long each pitch class sounds."""
    classes = np.asarray(np.rint(pitches), dtype=np.int64) % 12
    sounding = np.bincount(classes, np.asarray(weights, dtype=np.float64), minlength=12)
    agreement = _CENTRED / np.linalg.norm(_CENTRED, axis=1, keepdims=True) @ (sounding - sounding.mean())
    number = kernels.best_key(agreement, int(classes[0]), RECOMPUTED * (1 + sounding.sum()))
    return Key(number % 12, number >= 12)
