"""Facets of the RISM sample: what counting, narrowing and folding take beside the search that found the list.

    .venv/bin/python benchmarks/facets.py

Searches for the first eight notes of 30 melodies of the sample (fixed), 50 and 1,000 deep, and prints the median
milliseconds of each search, of counting all facets of its list, of counting them for all melodies of the collection,
of folding copies, and of reading the table of facets, which happens once; each also as a ratio to the search 50 deep.

Target: counting a list of 1,000 takes less than a fifth of the search 50 deep.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from real_data import INCIPITS
from roslin import Collection
from roslin.collection.facets import facets_of
from roslin.concordances.copies import same_among

QUERIES = 30
NOTES = 8
SEED = 20
DEPTHS = (50, 1000)
TARGET = 0.2


def main() -> int:
    """Print the figures; exit code 1 when the target is missed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rism.roslin"
        with Collection.build(INCIPITS, path) as collection:
            return _measured(collection)


def _measured(collection: Collection) -> int:
    places = np.random.default_rng(SEED).permutation(len(collection))
    queries = [melody[:NOTES] for melody in collection.melodies(places[: 3 * QUERIES]) if len(melody) >= NOTES]
    collection.search(queries[0], k=3)  # compiles, and makes the index
    same_among(collection.packed().take(places[:10]))
    took: dict[str, list[float]] = {"reading the table, once": [_milliseconds(lambda: facets_of(collection))]}
    table, everything = facets_of(collection), np.arange(len(collection))
    for query in queries[:QUERIES]:
        for depth in DEPTHS:
            began = time.perf_counter()
            run = collection.search(query, k=depth)
            took.setdefault(f"searching {depth:,} deep", []).append(1000 * (time.perf_counter() - began))
            numbers = collection.numbers(run.ids)
            _add(took, f"counting a list of {depth:,}", partial(table.count, numbers, {"key": ["g"]}))
            _add(took, f"folding a list of {depth:,}", partial(_folded, collection, numbers))
        _add(took, f"counting all {len(collection):,}", lambda: table.count(everything, {}))
    search_ms = statistics.median(took["searching 50 deep"])
    for name, times in sorted(took.items()):
        median = statistics.median(times)
        print(f"{name:28} {median:8.2f} ms   {median / search_ms:6.2f} of the search")
    return int(statistics.median(took["counting a list of 1,000"]) > TARGET * search_ms)


def _folded(collection: Collection, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return same_among(collection.packed().take(numbers))


def _add(took: dict[str, list[float]], name: str, work: Callable[[], object]) -> None:
    took.setdefault(name, []).append(_milliseconds(work))


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    sys.exit(main())
