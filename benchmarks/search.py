"""Exact search with the Earth Mover's Distance over half a million melodies.

    .venv/bin/python benchmarks/search.py                       all cases; half an hour
    .venv/bin/python benchmarks/search.py --queries 15 --quick  fewer queries, without brute force, threads and growth
    .venv/bin/python benchmarks/search.py --only "segment, one" some of the cases
    .venv/bin/python benchmarks/search.py --tunes --quick       whole tunes of 50 to 200 notes instead of fragments

Queries are melodies of the collection, always the same ones, each left out of its own result: half a million fragments,
or with `--tunes` the tunes of the books that the music21 package carries (some 8,000). For whole melodies and for
segments of seven notes, of tunes also for their first twenty, at one tempo and at five, the 10 and the 50 nearest: CPU
time of a search (median, p90, worst), as a multiple of the time to read the index once, and of a search that is told
the distance of the last result beforehand (what finding the limit costs); share of melodies that get an EMD; in the
end, what five tempos cost as a multiple of one. Peers, in the same run: reading the index; a straightforward
brute force over all alignments of all melodies (timed on a sample of them, and scaled up); two threads; the first tenth
of the melodies. On that sample the search must give the list of the brute force.

Targets: 80 times reading the index; a median of 0.1 % for the 10 nearest; two threads 1.7 times one; 500 times the
brute force at the median; under 1 GB of memory.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import time
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from real_data import FRAGMENTS, packed_fragments
from roslin.deadline import Work
from roslin.matchers import EMD
from roslin.native import kernels
from roslin.notation import records
from roslin.represent.line import melodic_line
from roslin.represent.packed import Packed
from roslin.represent.points import point_sets
from roslin.search.engines.emd import Index, NearestByEmd, build_index
from roslin.search.refine import Best, refine
from roslin.transport.align import Document, Query, Setting, pair_of
from roslin.types import Floats

SEED = 4
SEGMENT = 7
BEGINNING = 20
TUNE_NOTES = (50, 200)
FIVE = (0.5, 2 / 3, 1.0, 1.5, 2.0)
ROUNDS = 3
BRUTE_SAMPLE = 400


@dataclass(frozen=True)
class Case:
    """What is searched for."""

    name: str
    notes: slice
    setting: Setting
    k: int


CASES = [
    Case(f"{what}, {tempo}, top {k}", notes, EMD(tempos=tempos), k)
    for what, notes in (("whole", slice(None)), ("segment", slice(SEGMENT)), ("beginning", slice(BEGINNING)))
    for tempo, tempos in (("one tempo", (1.0,)), ("five tempos", FIVE))
    for k in (10, 50)
]


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fragments", type=Path, nargs="?", default=FRAGMENTS)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--only", default="", help="only cases whose name has this in it, such as 'segment, one'")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tunes", action="store_true", help="search whole tunes instead of fragments")
    arguments = parser.parse_args()
    packed = _tunes() if arguments.tunes else packed_fragments(arguments.fragments)
    began = time.process_time()
    index = build_index(packed)
    print(f"{len(index)} melodies, {len(index.times)} notes; index {index.size / 1e6:.0f} MB,", end=" ")
    print(f"made in {time.process_time() - began:.1f} s of CPU")
    reading = min(_reading(index) for _ in range(7))
    print(f"reading the index once: {1e3 * reading:.1f} ms", flush=True)
    numbers = np.sort(np.random.default_rng(SEED).choice(len(index), arguments.queries, replace=False))
    seconds = {}
    for case in (case for case in CASES if arguments.only in case.name):
        if arguments.tunes or case.notes != slice(BEGINNING):
            seconds[case.name] = _case(case, numbers, packed, index, reading, arguments.quick)
    for name, many in seconds.items():
        if "five tempos" in name and (one := seconds.get(name.replace("five tempos", "one tempo"))):
            print(f"{name}: {sum(many) / sum(one):.2f} times one tempo")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")
    return 0


def _tunes() -> Packed:
    """The tunes of music21's books, the highest notes of each, as a collection would hand them out."""
    corpus = Path(str(import_module("music21").__file__)).parent / "corpus"
    found = []
    for path in sorted(corpus.rglob("*.abc")):
        melodies = (record.melody for record in records(path, strict=False))
        lines = [melodic_line(melody) for melody in melodies if melody is not None]
        found += [line for line in lines if TUNE_NOTES[0] <= len(line) <= TUNE_NOTES[1]]
    offsets = np.concatenate([[0], np.cumsum([len(line) for line in found])]).astype(np.int64)
    return Packed(np.concatenate(found), offsets, np.empty(0, np.int64), np.zeros(len(offsets), np.int64))


def _reading(index: Index) -> float:
    """CPU seconds to touch every byte of the index, eight at a time."""
    arrays = [getattr(index, field.name) for field in fields(Index)]
    words = [array.view(np.uint8)[: array.nbytes // 8 * 8].view(np.uint64) for array in arrays]
    began = time.process_time()
    for array in words:
        array.sum()
    return time.process_time() - began


def _case(
    case: Case, numbers: npt.NDArray[np.int64], packed: Packed, index: Index, reading: float, is_quick: bool
) -> list[float]:
    """Print what a case takes; the CPU seconds of each search."""
    moving = [Query.of(point_sets(packed.take(numbers[[k]])), case.setting, case.notes) for k in range(len(numbers))]
    _search(moving[0], int(numbers[0]), case, packed, index, 1)  # in memory
    seconds, told, shares = [], [], []
    for query, number in zip(moving, numbers.tolist(), strict=True):
        began = time.process_time()
        found, compared = _search(query, number, case, packed, index, 1)
        seconds.append(time.process_time() - began)
        shares.append(compared / len(index))
        began = time.process_time()
        again, _ = _search(query, number, case, packed, index, 1, float(found.keys[case.k - 1]))
        told.append(time.process_time() - began)
        assert np.array_equal(found.numbers, again.numbers), "a search that knows the limit finds something else"
    ordered = sorted(seconds)
    p90 = ordered[int(0.9 * len(ordered))]
    median = statistics.median(seconds)
    print(f"\n{case.name}: median {1e3 * median:.0f} ms, p90 {1e3 * p90:.0f} ms, worst {1e3 * ordered[-1]:.0f} ms")
    print(f"  = {median / reading:.0f}, {p90 / reading:.0f}, {ordered[-1] / reading:.0f} times reading the index")
    print(f"  = {sum(seconds) / sum(told):.2f} times a search that is told the limit")
    print(f"  melodies with an EMD: median {100 * statistics.median(shares):.3f} %, worst {100 * max(shares):.2f} %")
    if is_quick:
        return seconds
    few = list(zip(moving, numbers.tolist(), strict=True))[: max(len(moving) // 5, 1)]
    print(f"  two threads: {_speedup(few, case, packed, index):.2f} times as fast (time on the clock)")
    brute = [_brute_force(query, number, case, packed, index) for query, number in few]
    print(f"  brute force: {statistics.median(brute) / median:.0f} times as long at the median")
    if case is CASES[0]:
        tenth = len(index) // 10
        part, part_index = packed.part(0, tenth), build_index(packed.part(0, tenth))
        began = time.process_time()
        for query, _ in few:
            _search(query, tenth, case, part, part_index, 1)
        small = time.process_time() - began
        whole = sum(seconds[: len(few)])
        print(f"  ten times the melodies take {whole / small:.1f} times as long")
    return seconds


def _search(
    query: Query, number: int, case: Case, packed: Packed, index: Index, threads: int, radius: float = np.inf
) -> tuple[Best, int]:
    """The best, and how many melodies were compared in full."""
    others = np.delete(np.arange(len(index)), [number] if number < len(index) else [])
    with Work(threads) as work:
        engine = NearestByEmd(query, case.setting, packed, index, others, work)
        return refine(engine, case.k, radius)[0], engine.compared


def _speedup(few: list[tuple[Query, int]], case: Case, packed: Packed, index: Index) -> float:
    clock = {1: float("inf"), 2: float("inf")}
    for _ in range(ROUNDS):  # turn and turn about: what else the machine does comes and goes
        for threads in clock:
            began = time.perf_counter()
            for query, number in few:
                _search(query, number, case, packed, index, threads)
            clock[threads] = min(clock[threads], time.perf_counter() - began)
    return clock[1] / clock[2]


def _brute_force(query: Query, number: int, case: Case, packed: Packed, index: Index) -> float:
    """CPU seconds to compare with everything, from a sample; the search must agree with it on that sample."""
    chosen = np.sort(np.random.default_rng(SEED + number).choice(len(index), BRUTE_SAMPLE, replace=False))
    points = point_sets(packed.take(chosen))
    documents = [Document.of(points, number, case.setting) for number in range(len(points))]
    began = time.process_time()
    distances = _compare(query, documents, case.setting)
    seconds = time.process_time() - began
    with Work() as work:
        found, _ = refine(NearestByEmd(query, case.setting, packed, index, chosen, work), case.k, np.inf)
    expected = np.sort(distances)[: case.k]
    assert np.allclose(found.keys[: case.k], expected, atol=1e-9), "the search lost something"
    return seconds * len(index) / BRUTE_SAMPLE


def _compare(query: Query, documents: list[Document], setting: Setting) -> Floats:
    """Every alignment of every document, one EMD each: what one would write first."""
    distances = np.full(len(documents), np.inf)
    for d, document in enumerate(documents):
        pair = pair_of(query, document, setting)
        times, pitches = document.time * query.time_unit, document.pitch * query.pitch_unit
        for tempo in setting.tempos if len(times) else ():
            shifts_x = np.subtract.outer(times / tempo, query.x).ravel()
            shifts_y = np.subtract.outer(pitches, query.y).ravel()
            found = np.empty(len(shifts_x))
            kernels.distances_at(pair, np.full(len(shifts_x), tempo), shifts_x, shifts_y, found)
            distances[d] = min(distances[d], found.min())
    return distances


if __name__ == "__main__":
    sys.exit(main())
