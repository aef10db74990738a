"""Pairs of melodies by their numbers: pairs that were found, pairs of duplicates, and pairs from an earlier comparison.

The measure `roslin` cannot distinguish melodies with the same intervals, note values, metre and phrases, in any key. A
catalogue has many such copies, and comparing each with everything would find the same pairs again. So the first of each
kind, its representative, is compared for all, and its pairs are repeated for every melody of the kind (`unfold`). The
number of pairs grows with the square of the number of copies. More than `MOST_COPIES` melodies of one kind are a
placeholder rather than a tune: they are linked to the first of them only.

A later comparison continues an earlier one (`EarlierPairs`). A melody is new when no melody had its digest before,
whatever its id and number are. A pair is taken over when both of its digests are still there. By a radius, this finds
the pairs of a full comparison, because distances do not move. A probability depends on the whole collection, through
the matches that are expected by chance. So a pair of two old melodies that was beyond `concordance.FARTHEST_DOUBT` may
be within the level now. This pair is missing, because it is not compared again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from roslin.concordances.certainty import Certainty, probability
from roslin.errors import ArgumentError
from roslin.matchers.roslin.scores import Encoded
from roslin.matchers.roslin.table import MelodyTable, encoded
from roslin.represent.packed import Packed
from roslin.types import Flags, Floats, Numbers, Words

MOST_COPIES = 1000
PAIR_COLUMNS = {
    "first": np.int64, "second": np.int64, "distances": np.float64, "expected": np.float64, "is_copy": np.bool_,
}  # fmt: skip
_DIGESTED_AT_ONCE = 20_000  # melodies
_DIGEST_BYTES = 16
_SEEN = ("onset_ticks", "duration_ticks", "pitch_midi", "pitch_base40", "is_grace", "voice")


@dataclass(frozen=True, slots=True, eq=False)
class FoundPairs:
    """Pairs of melodies by their numbers, the smaller first, in rising order; their distances and chance matches.

    `expected` is the number of melodies as close as this to one of the two, and to the other, that is expected by
    chance: the geometric mean. `is_copy` marks pairs that the measure cannot distinguish; the first of such melodies is
    compared with others for all of them.
    """

    first: Numbers
    second: Numbers
    distances: Floats
    expected: Floats
    is_copy: Flags
    level: float
    compared: int  # distinguishable pairs that were scored exactly
    melodies: int
    is_exact: bool = True  # whether every two were compared, and not only those that share something rare
    is_all: bool = True  # whether pairs of two old melodies were looked for, and not only those with a new one
    matcher: str = ""  # by whose distance they were found; then the level is a radius, and there is no chance
    folded: int = 0  # melodies that are linked to the first of more than `MOST_COPIES` only
    left_copies: int = 0  # indistinguishable pairs that are too common for the level

    def __len__(self) -> int:
        return len(self.first)

    def narrowed(self, level: float) -> FoundPairs:
        kept = self.doubts <= level
        columns = {name: getattr(self, name)[kept] for name in PAIR_COLUMNS}
        left = self.left_copies + int((self.is_copy & ~kept).sum())
        return replace(self, **columns, level=level, left_copies=left)

    @property
    def doubts(self) -> Floats:
        """The doubt of each pair, which the level limits (`certainty`)."""
        return self.distances if self.matcher else 1.0 - self.probabilities

    @property
    def probabilities(self) -> Floats:
        return probability(self.expected, self.distances)


# -- copies of a melody -----------------------------------------------------------------------------------------------


def same_among(melodies: Packed) -> Numbers:
    """For each of a few melodies, by its place among them, the place of the first that is the same."""
    return firsts_of(_as_digests(_digests_of(encoded(melodies))))


def firsts_of(digests: Words) -> Numbers:
    """For every melody, by number, the first one with the same digest; itself, if there is none before it."""
    order = np.lexsort((digests[:, 0], digests[:, 1]))  # of equal ones, the first stays first
    differs = (digests[order[1:]] != digests[order[:-1]]).any(axis=1)
    firsts = order[np.append(True, differs)[: len(order)]]
    found = np.empty(len(digests), np.int64)
    found[order] = firsts[np.append(0, np.cumsum(differs))[: len(order)]]
    return found


class Unfolded(NamedTuple):
    """Pairs of melodies by their numbers, in rising order, and for each the place of the pair that it repeats."""

    first: Numbers
    second: Numbers
    of: Numbers
    folded: int  # melodies that are linked to the first of their kind only, because there are too many of them


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
    """A digest of each melody as the measure sees it."""
    digests = bytearray()
    for start in range(0, len(table), _DIGESTED_AT_ONCE):
        digests += _digests_of(table.take(np.arange(start, min(start + _DIGESTED_AT_ONCE, len(table)))))
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


def digests_of_notes(packed: Packed) -> Words:
    """A digest of all that a matcher can see of each melody: its notes and bar lines."""
    digests = bytearray()
    for start in range(0, len(packed), _DIGESTED_AT_ONCE):
        part = packed.part(start, min(start + _DIGESTED_AT_ONCE, len(packed)))
        columns = [(np.ascontiguousarray(part.notes[name]), part.offsets) for name in _SEEN]
        columns.append((np.ascontiguousarray(part.barlines), part.bar_offsets))
        for number in range(len(part)):
            key = hashlib.blake2b(digest_size=_DIGEST_BYTES)
            for values, offsets in columns:
                rows = values[offsets[number] : offsets[number + 1]]
                key.update(len(rows).to_bytes(8, "little") + rows.tobytes())
            digests += key.digest()
    return _as_digests(digests)


# -- pairs of an earlier comparison -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class EarlierPairs:
    """Pairs by the numbers that melodies had then, without those of copies; and the digest of every melody then."""

    folder: Path
    digests: Words
    first: Numbers
    second: Numbers
    distances: Floats
    certainty: Certainty
    is_exact: bool

    def check(self, wanted: Certainty) -> None:
        known = self.certainty
        if known.matcher != wanted.matcher:
            found = f"by the distance of {known.matcher}" if known.matcher else "by their probability"
            asked = f"by that of {wanted.matcher}" if wanted.matcher else "by their probability"
            raise ArgumentError(f"{self.folder}: its pairs were found {found}, and must be found {asked} here")
        if known.level < wanted.level:
            raise ArgumentError(
                f"{self.folder}: its pairs have {known.level_words}, and must go as far as {wanted.level_words}; "
                "what is beyond that is not in it"
            )

    def new_among(self, digests: Words) -> Numbers:
        firsts = firsts_of(np.concatenate([self.digests, digests]))[len(self.digests) :]
        return np.flatnonzero(firsts >= len(self.digests))

    def pairs_among(self, digests: Words) -> tuple[Numbers, Numbers, Floats]:
        """The pairs whose melodies still exist, by today's numbers; the first of several copies represents all."""
        today = firsts_of(np.concatenate([digests, self.digests]))[len(digests) :]
        first, second = today[self.first], today[self.second]
        is_there = np.maximum(first, second) < len(digests)
        first, second = first[is_there], second[is_there]
        return np.minimum(first, second), np.maximum(first, second), self.distances[is_there]
