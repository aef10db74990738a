"""Melodies that the measure cannot tell apart: the same intervals, note values, metre and phrases, in any key.

A catalogue holds many of them, and comparing each with everything would find the same pairs again. The first of each
kind, its representative, is compared for all.
"""

from __future__ import annotations

import hashlib
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from roslin.matchers.roslin._alignment import Encoded
from roslin.matchers.roslin.notes import encoded
from roslin.matchers.roslin.table import MelodyTable
from roslin.represent.packed import Packed

__all__ = ["Digests", "digests_of", "firsts_of", "representatives", "same_among"]

Digests = npt.NDArray[np.uint64]  # [melodies, 2]: the same for melodies that are the same
Numbers = npt.NDArray[np.int64]

_AT_ONCE = 20_000
_DIGEST_BYTES = 16


def representatives(table: MelodyTable) -> Numbers:
    """For every melody, by number, the first melody that is the same; itself, if there is none before it."""
    return firsts_of(digests_of(table))


def same_among(melodies: Packed) -> Numbers:
    """For each of a few melodies, by its place among them, the place of the first that is the same."""
    return firsts_of(_as_digests(_digests_of(encoded(melodies))))


def firsts_of(digests: Digests) -> Numbers:
    """For every melody, by number, the first one with the same digest."""
    order = np.lexsort((digests[:, 0], digests[:, 1]))  # of equal ones, the first stays first
    differs = (digests[order[1:]] != digests[order[:-1]]).any(axis=1)
    firsts = order[np.append(True, differs)[: len(order)]]
    found = np.empty(len(digests), np.int64)
    found[order] = firsts[np.append(0, np.cumsum(differs))[: len(order)]]
    return found


def digests_of(table: MelodyTable) -> Digests:
    """What the measure sees of each melody."""
    digests = bytearray()
    for start in range(0, len(table), _AT_ONCE):
        digests += _digests_of(table.take(np.arange(start, min(start + _AT_ONCE, len(table)))))
    return _as_digests(digests)


def _digests_of(notes: Encoded) -> bytearray:
    columns = [np.ascontiguousarray(column).tobytes() for column in (notes.intervals, notes.values, notes.labels)]
    digests = bytearray()
    for begin, end in pairwise(notes.offsets.tolist()):
        key = b"".join([column[begin:end] for column in columns])
        digests += hashlib.blake2b(key, digest_size=_DIGEST_BYTES).digest()
    return digests


def _as_digests(digests: bytearray) -> Digests:
    return np.frombuffer(digests, np.uint64).reshape(-1, 2)
