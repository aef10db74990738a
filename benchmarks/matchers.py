"""Every matcher over half a million melodies: time for a query, and ratios to named peers in the same run.

    .venv/bin/python benchmarks/matchers.py            all of the fragments
    .venv/bin/python benchmarks/matchers.py --quick    the first 20,000 of them, fewer queries
    .venv/bin/python benchmarks/matchers.py us p2 p3   only these matchers

Queries are melodies of the collection, always the same ones. Candidates come in the pieces in which a search hands them
out; matchers with an index, or whose distances depend on all candidates, get them at once, and their first query, which
makes the index, is shown by itself. A matcher that would take longer than 20 seconds for a query is timed on a sample
of the candidates, and its time scaled up. Times are CPU times.

Peers and targets:
    us       at most 2 times a bare numpy count over the same lists of the same index
    p2, p3   at least 50 times as fast as the same algorithm in plain Python, which must give the same distances
    shapeh   at least 100 times as fast as the 0.14 ms a document that the original program takes
"""

from __future__ import annotations

import argparse
import heapq
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from real_data import FRAGMENTS, packed_fragments
from roslin import Melody, matcher, matchers
from roslin.matchers import US, Matcher
from roslin.represent.packed import Packed, pack

SEED = 4
PIECE = 4096
FIRST_LOOK = 500
LONGEST = 20.0
PYTHON_SAMPLE = 300
ROUNDS = 15
SHAPEH_MILLISECONDS = 0.14
US_AT_MOST, GEOMETRIC_AT_LEAST, SHAPEH_AT_LEAST = 2.0, 50.0, 100.0

Notes = list[tuple[int, int, int]]  # onset, duration, pitch


def main() -> int:
    """Print the figures; exit code 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matchers", nargs="*", help="names, with parameters where wanted; all by default")
    parser.add_argument("--fragments", type=Path, default=FRAGMENTS)
    parser.add_argument("--queries", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    packed = packed_fragments(arguments.fragments)
    if arguments.quick:
        packed = packed.part(0, 20_000)
    count = min(arguments.queries, 2) if arguments.quick else arguments.queries
    numbers = np.sort(np.random.default_rng(SEED).choice(len(packed), count, replace=False)).tolist()
    queries = [Melody(packed.take(np.array([number])).notes) for number in numbers]
    lengths = ", ".join(str(len(query)) for query in queries)
    print(f"{len(packed)} melodies, {len(packed.notes)} notes; {count} queries of {lengths} notes\n")
    print(f"{'matcher':16s} {'ms/query':>12s} {'us/document':>12s} {'first ms':>10s}  documents timed", flush=True)
    chosen = [matcher(name) for name in arguments.matchers or matchers()]
    per_document = {each.name: _time(each, queries, packed) for each in chosen}
    print()
    missed = []
    for each in chosen:
        if each.name == "us":
            ratio = _us_over_numpy(queries, packed)
            print(f"us: {ratio:.2f} times a bare numpy count (at most {US_AT_MOST:g})")
            missed.append(ratio > US_AT_MOST)
        elif each.name in PYTHON:
            ratio = _python_over(each, queries, packed)
            print(f"{each.name}: {ratio:.0f} times as fast as plain Python (at least {GEOMETRIC_AT_LEAST:g})")
            missed.append(ratio < GEOMETRIC_AT_LEAST)
        elif each.name == "shapeh":
            ratio = SHAPEH_MILLISECONDS / 1e3 / per_document[each.name]
            print(f"shapeh: {ratio:.0f} times as fast as the original program (at least {SHAPEH_AT_LEAST:g})")
            missed.append(ratio < SHAPEH_AT_LEAST)
    return int(any(missed))


def _time(chosen: Matcher, queries: list[Melody], packed: Packed) -> float:
    """CPU seconds for a document, the median over queries; prints them."""
    small = _some(packed, FIRST_LOOK)
    chosen.distances(queries[0], small)  # compiled
    at_once, sample = chosen.is_indexed or not chosen.is_independent, packed
    if not at_once:
        whole = _seconds(lambda: chosen.distances(queries[0], small)) / FIRST_LOOK * len(packed)
        if whole > LONGEST:
            sample = _some(packed, max(int(len(packed) * LONGEST / whole), FIRST_LOOK))
    pieces = [sample] if at_once else [
        sample.part(start, min(start + PIECE, len(sample))) for start in range(0, len(sample), PIECE)
    ]  # fmt: skip

    def search(query: Melody) -> None:
        for piece in pieces:
            chosen.distances(query, piece)

    first = f"{1e3 * _seconds(lambda: search(queries[0])):10.0f}" if at_once else " " * 10
    seconds = statistics.median(_seconds(lambda query=query: search(query)) for query in queries) / len(sample)  # type: ignore[misc]
    print(
        f"{chosen!r:16s} {1e3 * seconds * len(packed):12.1f} {1e6 * seconds:12.4f} {first}  {len(sample)}", flush=True
    )
    return seconds


def _some(packed: Packed, count: int) -> Packed:
    """So many of the melodies, evenly spread."""
    return packed.take(np.linspace(0, len(packed) - 1, count).astype(np.int64))


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


# -- peers ------------------------------------------------------------------------------------------------------------


def _us_over_numpy(queries: list[Melody], packed: Packed) -> float:
    """The median over queries and rounds, one after the other in turn, so that both meet the same load."""
    chosen = US()
    chosen.distances(queries[0], packed)
    index = packed.keep((chosen.name, chosen.n), chosen._index)
    ratios = []
    for query in queries:
        lists = list(zip(*index.find(chosen._index(pack([query])).grams), strict=True))
        expected = 1 - _count(index.melodies, lists, len(packed)) / len(lists)
        assert np.allclose(chosen.distances(query, packed), expected)
        for _ in range(ROUNDS):
            ours = _clock(lambda query=query: chosen.distances(query, packed))  # type: ignore[misc]
            ratios.append(ours / _clock(lambda lists=lists: _count(index.melodies, lists, len(packed))))  # type: ignore[misc]
    return statistics.median(ratios)


def _count(melodies: npt.NDArray[np.int32], lists: list[tuple[int, int]], number: int) -> npt.NDArray[np.int64]:
    counts = np.zeros(number, np.int64)
    for start, stop in lists:
        counts[melodies[start:stop]] += 1
    return counts


def _clock(work: Callable[[], object]) -> float:
    """Seconds on the clock: CPU time is too coarse for a millisecond."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _python_over(chosen: Matcher, queries: list[Melody], packed: Packed) -> float:
    """How many times as long plain Python takes, on a sample; it must give the same distances."""
    sample = np.sort(np.random.default_rng(SEED).choice(len(packed), PYTHON_SAMPLE, replace=False))
    documents = [_notes(packed.take(np.array([number]))) for number in sample]
    many = packed.part(0, PIECE)
    slow = fast = 0.0
    for query in queries:
        mine = list(zip(*(query.notes[name].tolist() for name in COLUMNS), strict=True))
        began = time.process_time()
        expected = [PYTHON[chosen.name](mine, theirs) for theirs in documents]
        slow += (time.process_time() - began) / len(documents)
        assert np.allclose(chosen.distances(query, packed.take(sample)), expected)
        fast += _seconds(lambda query=query: [chosen.distances(query, many) for _ in range(5)]) / 5 / len(many)  # type: ignore[misc]
    return slow / fast


COLUMNS = ("onset_ticks", "duration_ticks", "pitch_midi")


def _notes(packed: Packed) -> Notes:
    return list(zip(*(packed.notes[name].tolist() for name in COLUMNS), strict=True))


def _python_p2(query: Notes, document: Notes) -> float:
    mine = {(onset, pitch) for onset, _, pitch in query}
    theirs = {(onset, pitch) for onset, _, pitch in document}
    moves = Counter((b[0] - a[0], b[1] - a[1]) for a, b in product(mine, theirs))
    return 1 - 2 * max(moves.values()) / (len(mine) + len(theirs))


def _python_p3(query: Notes, document: Notes) -> float:
    """The turning points of all pairs in a heap, and for each transposition its value, slope and last place."""
    mine, theirs = _joined(query), _joined(document)
    heap = [
        turn
        for a, b, pitch in mine
        for s, e, high in theirs
        for turn in (
            (s - b, high - pitch, 1),
            (s - a, high - pitch, -1),
            (e - b, high - pitch, -1),
            (e - a, high - pitch, 1),
        )
    ]
    heapq.heapify(heap)
    value: dict[int, int] = {}
    slopes: dict[int, int] = {}
    last: dict[int, int] = {}
    most = 0
    while heap:
        shift, up, slope = heapq.heappop(heap)
        value[up] = value.get(up, 0) + slopes.get(up, 0) * (shift - last.get(up, shift))
        slopes[up], last[up] = slopes.get(up, 0) + slope, shift
        most = max(most, value[up])
    return 1 - 2 * most / sum(stop - start for start, stop, _ in [*mine, *theirs])


def _joined(notes: Notes) -> Notes:
    """(start, stop, pitch): notes of one pitch that touch or overlap as one."""
    found: Notes = []
    for pitch, start, stop in sorted((pitch, onset, onset + duration) for onset, duration, pitch in notes):
        if found and found[-1][2] == pitch and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], stop), pitch)
        else:
            found.append((start, stop, pitch))
    return found


PYTHON: dict[str, Callable[[Notes, Notes], float]] = {"p2": _python_p2, "p3": _python_p3}


if __name__ == "__main__":
    sys.exit(main())
