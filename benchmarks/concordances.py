"""All pairs of the RISM sample: the exact join, the fast one, and one search for each melody, in the same run.

    .venv/bin/python benchmarks/concordances.py              the 37,773 incipits
    .venv/bin/python benchmarks/concordances.py --first 4000 a part of them

Of both joins: seconds and CPU seconds with two threads, pairs compared, pairs found at three levels, and what the fast
one finds of the exact one. The baseline is one search for each melody, timed on a sample of them and scaled up. Then
the groups at the strictest level by kind, and how far pairs agree with what the catalogue says: pairs from different
records that metadata call the same music (`same_work_*_dev.qrel`), of which the share that is found is printed, and of
the pairs found in different records with named composers, the share whose composers agree.

Targets: the exact join in 300 s, the fast one in 120 s.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from real_data import INCIPITS
from roslin import Collection
from roslin.concordances.concordance import Concordances
from roslin.concordances.pairs import FoundPairs, find_pairs
from roslin.concordances.tables import kinds_table
from roslin.display.table import Table
from roslin.search.work import Work
from roslin.truth import read_truth

LEVELS = (0.001, 0.02, 1.0)
SEARCHED = 200
TARGETS = {"exact": 300.0, "fast": 120.0}


def main() -> int:
    """Print the tables; exit code 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, help="only so many incipits")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rism.roslin"
        with Collection.build(INCIPITS, path) as everything:
            melodies = list(everything)[: arguments.first] if arguments.first else None
        collection = Collection.build(melodies, Path(folder) / "part.roslin") if melodies else Collection(path)
        with collection:
            return report(collection, arguments.threads)


def report(collection: Collection, threads: int) -> int:
    """All the tables."""
    warm(collection)
    widest = LEVELS[-1]
    rows: list[dict[str, object]] = []
    found, taken = {}, {}
    for name in TARGETS:
        began, cpu = time.perf_counter(), time.process_time()
        with Work(threads) as work:
            found[name] = find_pairs(collection, widest, work, exact=name == "exact")
        taken[name], cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
        rows.append({"way": name, "seconds": taken[name], "cpu": cpu_seconds, "compared": found[name].compared})
        print(rows[-1], file=sys.stderr, flush=True)
    rows.append({"way": "a search each", "cpu": baseline(collection), "seconds": None, "compared": None})
    print(Table(("way", "seconds", "cpu", "compared"), tuple(rows)))
    print()
    print(recall(found["exact"], found["fast"]))
    strict = only(found["exact"], LEVELS[0])
    print()
    print(kinds_table(Concordances(collection, strict)))
    print()
    print(against_metadata(collection, found["exact"]))
    return int(any(taken[name] > target for name, target in TARGETS.items()))


def warm(collection: Collection) -> None:
    """Compile, and make the collection's own files, before anything is timed."""
    collection.search(collection[0], k=3)
    new = np.arange(2)
    for exact in (True, False):
        with Work() as work:
            find_pairs(collection, LEVELS[0], work, exact=exact, new=new)


def baseline(collection: Collection) -> float:
    """CPU seconds of a search for every melody with as many hits as the pairs need, from a sample."""
    numbers = np.linspace(0, len(collection) - 1, SEARCHED).astype(int)
    queries = [collection[int(number)] for number in numbers]
    began = time.process_time()
    for query in queries:
        collection.search(query, k=20)
    return (time.process_time() - began) * len(collection) / SEARCHED


def only(found: FoundPairs, level: float) -> FoundPairs:
    """The pairs at a stricter level."""
    kept = found.expected <= level
    columns = {name: getattr(found, name)[kept] for name in ("first", "second", "distances", "expected", "is_copy")}
    return FoundPairs(**columns, level=level, compared=found.compared, melodies=found.melodies)


def as_keys(found: FoundPairs) -> np.ndarray:
    """One number for each pair."""
    return found.first * found.melodies + found.second


def recall(exact: FoundPairs, fast: FoundPairs) -> Table:
    """What the fast join finds of the exact one, at each level."""
    rows = []
    for level in LEVELS:
        all_of, some = as_keys(only(exact, level)), as_keys(only(fast, level))
        share = float(np.isin(all_of, some).mean()) if len(all_of) else None
        rows.append({"level": level, "exact": len(all_of), "fast": len(some), "recall": share})
    return Table(("level", "exact", "fast", "recall"), tuple(rows))


def against_metadata(collection: Collection, found: FoundPairs) -> Table:
    """Pairs beside what the catalogue says, at each level."""
    known = [known_pairs(collection, name) for name in ("strict", "hard")]
    rows = []
    for level in LEVELS:
        pairs = only(found, level)
        groups = Concordances(collection, pairs)
        together = {int(each): number for number, group in enumerate(groups.groups) for each in group.members}
        row: dict[str, object] = {"level": level}
        for name, truth in zip(("strict", "hard"), known, strict=True):
            hits = sum(one in together and together.get(one) == together.get(two) for one, two in truth)
            row[f"{name}: of {len(truth)} in one group"] = hits / len(truth) if truth else None
        named = agree = 0
        for one, two in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True):
            first, second = groups.source(one), groups.source(two)
            if first.record != second.record and not (first.is_anonymous or second.is_anonymous):
                named += 1
                agree += first.composer.partition(",")[0] == second.composer.partition(",")[0]
        row |= {"pairs with two composers": named, "same composer": agree / named if named else None}
        rows.append(row)
    return Table(tuple(rows[0]), tuple(rows))


def known_pairs(collection: Collection, name: str) -> list[tuple[int, int]]:
    """The pairs of a list of metadata that are both in the collection."""
    truth = read_truth(INCIPITS.parent / f"same_work_{name}_dev.qrel")
    pairs = [(query, id) for query, groups in truth.items() for group in groups for id in group]
    inside = sorted({tuple(sorted(pair)) for pair in pairs if pair[0] in collection and pair[1] in collection})
    return [(int(one), int(two)) for one, two in (collection.numbers(list(pair)) for pair in inside)]


if __name__ == "__main__":
    sys.exit(main())
