"""CantusCorpus 1.0: how many melodies are read, and how well `roslin concordances` finds chants of one Cantus id.

    pip download --no-deps pycantus       carries the corpus (CC BY-NC-SA 4.0); unzip it
    .venv/bin/python benchmarks/chant.py pycantus/dataset_files/cantuscorpus_v1.0/chants.csv
    .venv/bin/python benchmarks/chant.py chants.csv --melodies 5000 --exact

The corpus is read in full. The join takes every chant of Cantus ids drawn at random, up to so many melodies. Formulas
are left out: verses, versicles and lessons are sung to tones, whatever their words. So are melodies below 12 notes, and
ids of one melody only count for precision.

Recall: of the pairs of melodies with one Cantus id, how many are found. Precision: of the pairs found, how many have
one id. An id is a text: the same melody with other words counts against precision, another melody of the same text
against recall.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from roslin import Collection, Melody
from roslin.concordances.certainty import LEVELS
from roslin.concordances.join import find_pairs
from roslin.deadline import Work
from roslin.display.table import Table
from roslin.notation import records

SUNG = {"A", "R", "H", "I", "In", "Gr", "Al", "Of", "Cm", "Tc", "Sq"}  # with melodies of their own
LEAST_NOTES = 12


def main() -> int:
    """Read the corpus, join a sample, print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chants", type=Path, help="chants.csv of CantusCorpus")
    parser.add_argument("--melodies", type=int, default=5000, help="size of the sample; 0 is all of them")
    parser.add_argument("--exact", action="store_true", help="compare every two melodies")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    began = time.process_time()
    counts: Counter[str] = Counter()
    melodies = list(read(arguments.chants, counts))
    print(Table(("chants", "count"), tuple({"chants": name, "count": counts[name]} for name in counts)))
    print(f"\nread in {time.process_time() - began:.0f} s of CPU\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        chosen = sample(melodies, arguments.melodies or len(melodies))
        with Collection.build(chosen, Path(folder) / "chant.roslin") as collection:
            join(collection, arguments.threads, exact=arguments.exact)
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
    return 0


def read(path: Path, counts: Counter[str]) -> Iterator[Melody]:
    """Melodies of the genres that count; `counts` has everything in the file."""
    for record in records(path):
        melody = record.melody
        counts["melodies" if melody is not None else f"refused: {record.problems[0].reason}"] += 1
        if melody is None:
            assert record.problems[0].line
            continue
        counts["read with a warning"] += bool(record.problems)
        counts["with a differentia"] += "differentia_music" in melody.extra
        if melody.extra.get("genre") in SUNG and "cantus_id" in melody.extra and len(melody) >= LEAST_NOTES:
            yield melody


def sample(melodies: list[Melody], most: int) -> list[Melody]:
    """Every melody of Cantus ids drawn at random."""
    of_id: dict[str, list[Melody]] = defaultdict(list)
    for melody in melodies:
        of_id[melody.extra["cantus_id"]].append(melody)
    drawn = random.Random(31).sample(sorted(of_id), len(of_id))
    chosen: list[Melody] = []
    for name in drawn:
        if len(chosen) + len(of_id[name]) <= most:
            chosen += of_id[name]
    return chosen


def join(collection: Collection, threads: int, *, exact: bool) -> None:
    """The join, and what it finds at each level."""
    began, cpu = time.perf_counter(), time.process_time()
    with Work(threads) as work:
        found = find_pairs(collection, LEVELS["perhaps"], work, exact=exact)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(f"{len(collection):,} melodies joined in {seconds:.0f} s, {cpu:.0f} s of CPU\n")
    names = [melody.extra["cantus_id"] for melody in collection]
    ids = np.unique(names, return_inverse=True)[1]
    per_id = np.bincount(ids)
    same = int((per_id * (per_id - 1) // 2).sum())
    rows = []
    for level, doubt in LEVELS.items():
        kept = found.doubts <= doubt
        first, second = found.first[kept], found.second[kept]
        right = ids[first] == ids[second]
        rows.append({"level": level, "pairs": len(first), "of one id": int(right.sum()),
                     "recall": right.sum() / same, "precision": right.mean() if len(right) else None})  # fmt: skip
    print(f"pairs of one Cantus id: {same:,}; ids: {len(per_id):,}")
    print(Table(("level", "pairs", "of one id", "recall", "precision"), tuple(rows)))


if __name__ == "__main__":
    sys.exit(main())
