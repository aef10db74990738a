"""What it costs that typed queries are read in a process of their own: milliseconds a query, there and here.

python benchmarks/reading_in_processes.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

from roslin.notation.query import read_query
from roslin.web.readers import shared_readers
from roslin.web.settings import Settings

_TIMES = 200
_QUERIES = ("%G-2@4/4 '4CDEC/CDEC/EF2G/", "%G-2@4/4 " + "'4CDEC/" * 80)


def main() -> None:
    """Print a row for each query."""
    settings, readers = Settings(""), shared_readers()
    print(f"{'characters':>10} {'in a process, ms':>17} {'here, ms':>9}")
    for query in _QUERIES:
        there = _median_ms(partial(readers.query, query, None, False, settings))
        here = _median_ms(partial(read_query, query))
        print(f"{len(query):>10} {there:>17.2f} {here:>9.2f}")
    readers.close()


def _median_ms(work: Callable[[], object]) -> float:
    work()
    took = []
    for _ in range(_TIMES):
        began = time.perf_counter()
        work()
        took.append((time.perf_counter() - began) * 1000)
    return statistics.median(took)


if __name__ == "__main__":
    main()
