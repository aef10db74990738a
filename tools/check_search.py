"""Search with `roslin` against comparing everything: 2,000 queries, the same lists to the last digit.

    .venv/bin/python tools/check_search.py

Queries are pieces of 1 to 60 notes of RISM's incipits, some with changed notes, in all modes that search through
bounds, with one thread and with two; the collection is every ninth incipit, closed and opened again in between.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from real_data import INCIPITS
from roslin import Collection, Melody, matcher, records
from roslin.represent.line import melodic_line

QUERIES, EVERY, K, OPENED = 2000, 9, 10, 500
MODES = (
    "roslin",
    "roslin(compare='both')",
    "roslin(compare='melody')",
    "roslin(compare='rhythm')",
    "roslin(place='start')",
    "roslin(place='whole')",
    "roslin(key='written')",
)


def main() -> int:
    """Print how many lists differ; exit code 1 if any does."""
    rng = np.random.default_rng(11)
    found = [record.melody for record in records(INCIPITS)]
    melodies = [melody for melody in found if melody is not None and len(melodic_line(melody))]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "some.roslin"
        Collection.build(melodies[::EVERY], path).close()
        for start in range(0, QUERIES, OPENED):
            with Collection(path) as collection:
                for number in range(start, start + OPENED):
                    chosen = matcher(MODES[number % len(MODES)])
                    query = _query(melodies[int(rng.integers(len(melodies)))], rng)
                    run = collection.search(query, chosen, K, threads=1 + number % 2)
                    distances = chosen.distances(query, collection).tolist()
                    expected = sorted(zip(distances, collection.ids(), strict=True))[:K]
                    wrong += [(hit.distance, hit.id) for hit in run] != expected
            print(f"{start + OPENED} queries, {wrong} lists differ", flush=True)
    return int(wrong > 0)


def _query(melody: Melody, rng: np.random.Generator) -> Melody:
    """A piece of a melody, every other time with a few pitches changed."""
    line = melodic_line(melody)
    length = int(rng.integers(1, min(len(line), 60) + 1))
    first = int(rng.integers(0, len(line) - length + 1))
    notes = line[first : first + length].copy()
    notes["onset_ticks"] -= notes["onset_ticks"][0]
    if rng.random() < 0.5:
        notes["pitch_midi"] += rng.integers(-2, 3, length) * (rng.random(length) < 0.2)
    return Melody(notes)


if __name__ == "__main__":
    sys.exit(main())
