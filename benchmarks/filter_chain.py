"""The "White Cockade" chain of paper 002 over 500,000 melodies, against a bare numpy scan of the same columns.

    .venv/bin/python benchmarks/build_scale.py --keep /tmp/scale.roslin
    .venv/bin/python benchmarks/filter_chain.py /tmp/scale.roslin

The chain counts what each of its four steps leaves, finds the sequences of intervals and returns the survivors. The
scan has everything in arrays already and makes one mask: (a) of the three numeric columns alone, (b) with the sequences
looked for in the strings of what passes those. The target is 10x of (b), the scan of all columns; (a) is printed too.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from roslin import Collection
from roslin.collection.filters import contains, duration_ratio, max_interval, pitch_range
from roslin.represent.intervals import parse_intervals

TARGET = 10.0
ROUNDS = 15
SEQUENCES = ("fifth up, third down, unison, sixth up", "third up, unison, unison, sixth up")


def main() -> int:
    """Print the times and ratios; exit code 1 when the target is missed or the answers differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    arguments = parser.parse_args()
    with Collection(arguments.collection) as collection:
        chain = (pitch_range(12, 15), max_interval(8, 9), duration_ratio(None, 0.51), contains(*SEQUENCES))
        rows = collection.connection.execute(
            "SELECT pitch_range, max_interval, duration_ratio, diatonic FROM features JOIN strings USING (number) "
            "ORDER BY number"
        ).fetchall()
        numbers = np.array([[np.nan if v is None else v for v in row[:3]] for row in rows], dtype=np.float64).T.copy()
        strings = np.array([row[3] for row in rows], dtype=np.bytes_)
        patterns = [parse_intervals(sequence, "diatonic").encode() for sequence in SEQUENCES]

        def numeric_scan() -> Any:
            low, step, ratio = numbers
            return (low >= 12) & (low <= 15) & (step >= 8) & (step <= 9) & (ratio <= 0.51)

        def whole_scan() -> Any:
            found = np.flatnonzero(numeric_scan())
            letters = strings[found]
            return found[np.any([np.strings.find(letters, pattern) >= 0 for pattern in patterns], axis=0)]

        report = collection.filter(*chain).report
        sys.stdout.write(f"{report}\n\n")
        same = np.array_equal(report.numbers, whole_scan())
        times = {
            "chain": _milliseconds(lambda: collection.filter(*chain)),
            "numpy (a), numeric columns": _milliseconds(numeric_scan),
            "numpy (b), all columns": _milliseconds(whole_scan),
        }
    for name, value in times.items():
        sys.stdout.write(f"{name:28s} {value:8.2f} ms  chain / this: {times['chain'] / value:5.1f}\n")
    sys.stdout.write(f"the same melodies: {'yes' if same else 'NO'}; target: chain under {TARGET:g} times (b)\n")
    return int(not same or times["chain"] / times["numpy (b), all columns"] >= TARGET)


def _milliseconds(work: Callable[[], object]) -> float:
    work()
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e3


if __name__ == "__main__":
    sys.exit(main())
