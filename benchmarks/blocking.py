"""What the fast join of concordances loses: by how many melodies a bucket may hold, and with further alphabets.

    .venv/bin/python benchmarks/blocking.py rism.roslin /tmp/blocking

The exact join says which pairs there are; its work stays in the folder, so that a second run does not need it
again. For buckets of at most 50 to 800 melodies, and for alphabets beside the two of `blocking`: how many pairs would
be compared, and the share of the exact pairs that are among them, at four levels of certainty. Copies are left out:
they are found without comparing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from roslin import Collection
from roslin.concordances.blocking import ALPHABETS, MOST, Alphabet, Buckets, candidates_by, rare_buckets
from roslin.concordances.certainty import LEVELS
from roslin.concordances.copies import representatives
from roslin.concordances.find import REACH
from roslin.concordances.pairs import find_pairs
from roslin.display.table import Table
from roslin.matchers.roslin.scores import fitted, tables
from roslin.matchers.roslin.table import MelodyTable, table_of
from roslin.matchers.roslin.values import NO_INTERVAL, Encoded
from roslin.native import kernels
from roslin.search.engines.roslin import open_table
from roslin.search.work import Work
from roslin.types import UBytes

SAMPLED = 1500


def _rhythm(notes: Encoded) -> npt.NDArray[np.int64]:
    change = np.diff(notes.values.astype(np.int64), prepend=0)
    return (change >= 2).astype(np.int64) - (change <= -2)


def _contour(notes: Encoded) -> UBytes:
    """Three directions with three changes of note value."""
    is_first = notes.intervals == NO_INTERVAL
    direction = np.where(is_first, 0, np.sign(notes.intervals)).astype(np.int64)
    return np.where(is_first, 0, 3 * (direction + 1) + _rhythm(notes) + 2).astype(np.uint8)


def _five(notes: Encoded) -> UBytes:
    """Five sizes of interval with three changes of note value."""
    is_first = notes.intervals == NO_INTERVAL
    intervals = np.where(is_first, 0, notes.intervals).astype(np.int64)
    size = np.sign(intervals) * (1 + (np.abs(intervals) > 2))
    return np.where(is_first, 0, 3 * (size + 2) + _rhythm(notes) + 2).astype(np.uint8)


def _skipping(notes: Encoded) -> UBytes:
    """Semitones from the last note but one."""
    is_first = notes.intervals == NO_INTERVAL
    intervals = np.where(is_first, 0, notes.intervals).astype(np.int64)
    is_second = np.append(False, is_first[:-1])[: len(is_first)]
    both = np.clip(intervals + np.append(0, intervals[:-1])[: len(intervals)], -100, 100)
    return np.where(is_first | is_second, 0, both + 128).astype(np.uint8)


FURTHER = (
    Alphabet("contour", _contour, (4, 16)),
    Alphabet("five sizes", _five, (3, 16)),
    Alphabet("skipping", _skipping, (3, 12)),
)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    with Collection(arguments.collection) as collection, Work(arguments.threads) as work:
        found = find_pairs(collection, REACH, work, folder=arguments.folder)
        everything = open_table(collection)
        copies = representatives(everything)
    distinct = np.flatnonzero(copies == np.arange(len(copies)))
    table = table_of(everything.take(distinct), tables(fitted("both"), 1))
    own = np.isin(found.first, distinct) & np.isin(found.second, distinct)  # those of copies repeat them
    ends = [np.searchsorted(distinct, end[own]) for end in (found.first, found.second)]
    doubts = found.doubts[own]
    tried: list[tuple[Sequence[Alphabet], int]] = [(ALPHABETS, most) for most in (50, 100, MOST, 400, 800)]
    tried += [((*ALPHABETS, further), MOST) for further in FURTHER]
    rows = [_row(table, alphabets, most, ends, doubts) for alphabets, most in tried]
    print(Table(tuple(rows[0]), tuple(rows)))
    return 0


def _row(
    table: MelodyTable,
    alphabets: Sequence[Alphabet],
    most: int,
    ends: list[npt.NDArray[np.int64]],
    doubts: npt.NDArray[np.float64],
) -> dict[str, object]:
    index = _index(table, alphabets, most)
    of = [index.buckets[index.of_starts[k] : index.of_starts[k + 1]] for k in range(len(table))]
    shared = np.array([len(np.intersect1d(of[one], of[two])) > 0 for one, two in zip(*ends, strict=True)])
    candidates = candidates_by(index)
    chosen = np.random.default_rng(0).choice(len(table), min(SAMPLED, len(table)), replace=False)
    pairs = np.mean([len(candidates(number)) for number in chosen.tolist()]) / 2 * len(table)
    recall = {name: float(shared[doubts <= level].mean()) for name, level in {**LEVELS, "all kept": REACH}.items()}
    return {"alphabets": " + ".join(each.name for each in alphabets), "most": most, "M pairs": pairs / 1e6, **recall}


def _index(table: MelodyTable, alphabets: Sequence[Alphabet], most: int) -> Buckets:
    notes = table.take(np.arange(len(table)))
    parts = [rare_buckets(each.letters(notes), notes.offsets, each.lengths, most) for each in alphabets]
    sizes, members = (np.concatenate(each) for each in zip(*parts, strict=True))
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    of_starts = np.concatenate([[0], np.cumsum(np.bincount(members, minlength=len(table)))]).astype(np.int64)
    buckets = np.empty(len(members), np.int32)
    kernels.invert(starts, members, of_starts[:-1].copy(), buckets)
    return Buckets(starts, members, of_starts, buckets)


if __name__ == "__main__":
    sys.exit(main())
