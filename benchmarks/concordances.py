"""All pairs of the RISM sample: the exact join, the fast one, and one search for each melody, in the same run.

    .venv/bin/python benchmarks/concordances.py              the 37,795 incipits
    .venv/bin/python benchmarks/concordances.py --first 4000 a part of them

Of both joins: seconds and CPU seconds with two threads, pairs compared, pairs found at three levels, and what the fast
one finds of the exact one. The baseline is one search for each melody, timed on a sample of them and scaled up.

Then the groups at the strictest level by kind, and what the catalogue says. Pairs of different records that are the
same music by their metadata: those of `same_work_*_dev.qrel`, and in the dumps of MARCXML, where libraries and
catalogue numbers are known, those with the same composer and either the same catalogue number and place in the work, or
the same title and movement. How many of them are in one group; and of the pairs found that have such metadata on both
sides, how many agree.

Targets: the exact join in 300 s, the fast one in 120 s.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from real_data import DUMPS, INCIPITS
from roslin import Collection
from roslin.collection.folding import fold
from roslin.concordances.certainty import LEVELS
from roslin.concordances.concordance import Concordances, SourceRecord, kinds_table, surname
from roslin.concordances.join import find_pairs
from roslin.concordances.pairs import FoundPairs
from roslin.deadline import Work
from roslin.display.table import Table
from roslin.truth import read_truth

SEARCHED = 200
TEMPOS = {"adagio", "allegretto", "allegro", "andante", "andantino", "grave", "largo", "larghetto", "presto", "vivace"}
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
            is_missed = timed(collection, arguments.threads)
        with Collection.build(DUMPS, Path(folder) / "dumps.roslin") as dumps:
            in_dumps(dumps, arguments.threads)
    return int(is_missed)


def timed(collection: Collection, threads: int) -> bool:
    """The two joins and the baseline, and what they find; whether a target is missed."""
    warm(collection)
    rows: list[dict[str, object]] = []
    found, taken = {}, {}
    for name in TARGETS:
        began, cpu = time.perf_counter(), time.process_time()
        with Work(threads) as work:
            found[name] = find_pairs(collection, LEVELS["perhaps"], work, exact=name == "exact")
        taken[name], cpu_seconds = time.perf_counter() - began, time.process_time() - cpu
        rows.append({"way": name, "seconds": taken[name], "cpu": cpu_seconds, "compared": found[name].compared})
        print(rows[-1], file=sys.stderr, flush=True)
    rows.append({"way": "a search each", "cpu": baseline(collection), "seconds": None, "compared": None})
    print(Table(("way", "seconds", "cpu", "compared"), tuple(rows)), recall(found["exact"], found["fast"]), sep="\n\n")
    print(f"\n{len(collection):,} incipits, level same:\n")
    print(kinds_table(Concordances(collection, only(found["exact"], LEVELS["same"]))))
    truths = {f"list {name}": listed(collection, name) for name in ("strict", "hard")}
    print("", against(collection, found["exact"], truths), sep="\n")
    return any(taken[name] > target for name, target in TARGETS.items())


def in_dumps(collection: Collection, threads: int) -> None:
    """What is found where libraries and catalogue numbers are known."""
    with Work(threads) as work:
        found = find_pairs(collection, LEVELS["perhaps"], work)
    same = Concordances(collection, only(found, LEVELS["same"]))
    libraries = [len({same.source(each).library for each in group.members.tolist()} - {""}) for group in same.groups]
    print(f"\n{len(collection):,} incipits of the dumps, level same:\n", kinds_table(same), sep="\n")
    print(f"\ngroups that join libraries: {sum(count > 1 for count in libraries)} of {len(libraries)}\n")
    sources = [SourceRecord.of(melody) for melody in collection]
    print(against(collection, found, {kind: by_metadata(sources, kind) for kind in ("number", "title", "own title")}))
    print("", precision(sources, found), sep="\n")


def warm(collection: Collection) -> None:
    """Compile, and make the collection's own files, before anything is timed."""
    collection.search(collection[0], k=3)
    new = np.arange(2)
    for exact in (True, False):
        with Work() as work:
            find_pairs(collection, LEVELS["same"], work, exact=exact, new=new)


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
    kept = found.doubts <= level
    columns = {name: getattr(found, name)[kept] for name in ("first", "second", "distances", "expected", "is_copy")}
    return FoundPairs(**columns, level=level, compared=found.compared, melodies=found.melodies)


def as_keys(found: FoundPairs) -> np.ndarray:
    """One number for each pair."""
    return found.first * found.melodies + found.second


def recall(exact: FoundPairs, fast: FoundPairs) -> Table:
    """What the fast join finds of the exact one, at each level."""
    rows = []
    for word, level in LEVELS.items():
        all_of, some = as_keys(only(exact, level)), as_keys(only(fast, level))
        share = float(np.isin(all_of, some).mean()) if len(all_of) else None
        rows.append({"level": word, "exact": len(all_of), "fast": len(some), "recall": share})
    return Table(("level", "exact", "fast", "recall"), tuple(rows))


def listed(collection: Collection, name: str) -> list[tuple[int, int]]:
    """The pairs of a list of metadata that are both in the collection."""
    truth = read_truth(INCIPITS.parent / f"same_work_{name}_dev.qrel")
    pairs = [(query, id) for query, groups in truth.items() for group in groups for id in group]
    inside = sorted({tuple(sorted(pair)) for pair in pairs if pair[0] in collection and pair[1] in collection})
    return [(int(one), int(two)) for one, two in (collection.numbers(list(pair)) for pair in inside)]


def by_metadata(sources: list[SourceRecord], kind: str) -> list[tuple[int, int]]:
    """The pairs of different records that are the same music by what the catalogue says, in one of three ways."""
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, source in enumerate(sources):
        for key in works_of(source):
            if key[1] == kind:
                places[key].append(number)
    pairs = {pair for numbers in places.values() for pair in combinations(numbers, 2)}
    return sorted((one, two) for one, two in pairs if sources[one].record != sources[two].record)


def works_of(source: SourceRecord) -> list[tuple[str, ...]]:
    """What names a movement of a work: catalogue number and place, title and movement; each with the composer.

    A title that is a form (Sonatas, Psalms) or a movement that is a tempo names many works: without these, the title is
    called the work's own.
    """
    if source.is_anonymous:
        return []
    who, place = surname(source.composer), source.id.removeprefix(source.record).partition("~")[0]
    found: list[tuple[str, ...]] = []
    if source.catalogue:
        found.append((who, "number", fold(source.catalogue), place))
    if source.title and source.movement:
        title, movement = fold(source.title), fold(source.movement)
        found.append((who, "title", title, movement))
        if not (title.endswith("s") and " " not in title) and movement.partition(" ")[0] not in TEMPOS:
            found.append((who, "own title", title, movement))
    return found


def against(collection: Collection, found: FoundPairs, truths: dict[str, list[tuple[int, int]]]) -> Table:
    """Of the pairs of each truth, how many are in one group at each level."""
    rows = []
    for word, level in LEVELS.items():
        groups = Concordances(collection, only(found, level)).groups
        of = {int(each): number for number, group in enumerate(groups) for each in group.members}
        row: dict[str, object] = {"level": word}
        for name, truth in truths.items():
            hits = sum(one in of and of[one] == of.get(two) for one, two in truth)
            row[f"{name}: of {len(truth)} pairs in one group"] = hits / len(truth) if truth else None
        rows.append(row)
    return Table(tuple(rows[0]), tuple(rows))


def precision(sources: list[SourceRecord], found: FoundPairs) -> Table:
    """Of pairs of different records that name composers, and of those with titles and movements: how many agree."""
    rows = []
    for word, level in LEVELS.items():
        pairs = only(found, level)
        both = [(sources[one], sources[two]) for one, two in zip(pairs.first, pairs.second, strict=True)]
        named = [each for each in both if each[0].record != each[1].record and not any(x.is_anonymous for x in each)]
        full = [each for each in named if works_of(each[0]) and works_of(each[1])]
        rows.append(
            {
                "level": word,
                "pairs with two composers": len(named),
                "same composer": _share(surname(one.composer) == surname(two.composer) for one, two in named),
                "pairs with works": len(full),
                "same number or title": _share(bool(set(works_of(one)) & set(works_of(two))) for one, two in full),
            }
        )
    return Table(tuple(rows[0]), tuple(rows))


def _share(flags: Iterable[bool]) -> float | None:
    known = list(flags)
    return sum(known) / len(known) if known else None


if __name__ == "__main__":
    sys.exit(main())
