"""Melodies that the measure cannot tell apart: the same intervals, note values, metre and phrases, in any key.

A catalogue has many of them, and comparing each with everything would find the same pairs again. The first of each
kind, its representative, is compared for all. Its pairs are then the pairs of every melody of the kind (`unfold`).

The number of pairs grows with the square of the number of copies. More than `MOST_COPIES` melodies of one kind are a
placeholder rather than a tune: they are linked to the first of them only.
"""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from roslin.matchers.roslin.notes import encoded
from roslin.matchers.roslin.table import MelodyTable
from roslin.matchers.roslin.values import Encoded
from roslin.represent.packed import Packed
from roslin.types import Numbers, Words

MOST_COPIES = 1000


_AT_ONCE = 20_000
_DIGEST_BYTES = 16


def representatives(table: MelodyTable) -> Numbers:
    """For every melody, by number, the first melody that is the same; itself, if there is none before it."""
    return firsts_of(digests_of(table))


def same_among(melodies: Packed) -> Numbers:
    """For each of a few melodies, by its place among them, the place of the first that is the same."""
    return firsts_of(_as_digests(_digests_of(encoded(melodies))))


def firsts_of(digests: Words) -> Numbers:
    """For every melody, by number, the first one with the same digest."""
    order = np.lexsort((digests[:, 0], digests[:, 1]))  # of equal ones, the first stays first
    differs = (digests[order[1:]] != digests[order[:-1]]).any(axis=1)
    firsts = order[np.append(True, differs)[: len(order)]]
    found = np.empty(len(digests), np.int64)
    found[order] = firsts[np.append(0, np.cumsum(differs))[: len(order)]]
    return found


class Unfolded(NamedTuple):
    """Pairs of melodies by their numbers, in rising order, and for each the place of the pair that it repeats.

    `folded` melodies are linked to the first of their kind only, because there are too many of them.
    """

    first: Numbers
    second: Numbers
    of: Numbers
    folded: int


def unfold(one: Numbers, two: Numbers, copies: Numbers, new: Numbers | None = None) -> Unfolded:
    """The pairs of all melodies from those of their representatives; `copies` as by `firsts_of`.

    A representative paired with itself means all pairs of its kind. `new`: only pairs with one of these melodies.

    >>> first, second, of, _ = unfold(np.array([0, 0]), np.array([0, 3]), np.array([0, 0, 2, 3]))
    >>> first.tolist(), second.tolist(), of.tolist()
    ([0, 0, 1], [1, 3, 3], [0, 1, 1])
    """
    order = np.argsort(copies, kind="stable")  # kind by kind, the representative first
    sizes = np.bincount(copies, minlength=len(copies))
    starts = np.cumsum(sizes) - sizes
    # Of a kind that is too large, the representative alone has pairs, but one with each of the kind.
    few, itself = np.where(sizes > MOST_COPIES, 1, sizes), one == two
    here, there = few[one], np.where(itself, sizes[two], few[two])
    totals = here * there
    of = np.repeat(np.arange(len(one)), totals)
    within = np.arange(len(of)) - np.repeat(np.cumsum(totals) - totals, totals)
    ends = order[starts[one[of]] + within // there[of]], order[starts[two[of]] + within % there[of]]
    kept = ~itself[of] | (ends[0] < ends[1])
    if new is not None:
        kept &= np.isin(ends[0], new) | np.isin(ends[1], new)
    first, second = np.minimum(*ends)[kept], np.maximum(*ends)[kept]
    sorting = np.lexsort((second, first))
    paired = np.unique(np.concatenate([one, two]))
    folded = int((sizes[paired] - few[paired]).sum())
    return Unfolded(first[sorting], second[sorting], of[kept][sorting], folded)


def digests_of(table: MelodyTable) -> Words:
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


def _as_digests(digests: bytearray) -> Words:
    return np.frombuffer(digests, np.uint64).reshape(-1, 2)
