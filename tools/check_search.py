"""Search against comparing everything: 2,000 queries for each engine, the same lists to the last digit.

    .venv/bin/python tools/check_search.py                  every engine
    .venv/bin/python tools/check_search.py emd segments     some

Queries are pieces of 1 to 60 notes of RISM's incipits, some with changed notes, with one thread and with two; matchers
and modes take turns. The collection holds every 36th incipit (fewer where comparing everything is slow), and is closed
and opened again in between.
"""

from __future__ import annotations

import sys
import tempfile
from math import inf
from pathlib import Path

import numpy as np

from real_data import INCIPITS
from roslin import Collection, Matcher, Melody, matcher, records
from roslin.represent.line import melodic_line

QUERIES, K, OPENED = 2000, 10, 500
# For each engine: the matchers that take turns, and every how many incipits the collection holds.
ENGINES = {
    "roslin": (
        (
            "roslin",
            "roslin(compare='both')",
            "roslin(compare='melody')",
            "roslin(compare='rhythm')",
            "roslin(place='start')",
            "roslin(place='whole')",
            "roslin(key='written')",
        ),
        36,
    ),
    "emd": (("emd", "emd(ground='cityblock')", "emd(tempos=(0.8, 1.0, 1.25))"), 72),
    "segments": (("twv", "twv(both=True)", "twv_covered"), 90),
    "everything": (("dp", "orio", "p2", "us"), 45),
}


def main() -> int:
    """Print how many lists differ; exit code 1 if any does."""
    found = [record.melody for record in records(INCIPITS)]
    melodies = [melody for melody in found if melody is not None and len(melodic_line(melody))]
    return int(max([_differ(engine, melodies) for engine in sys.argv[1:] or ENGINES]))


def _differ(engine: str, melodies: list[Melody]) -> bool:
    modes, every = ENGINES[engine]
    rng, wrong = np.random.default_rng(11), 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "some.roslin"
        Collection.build(melodies[::every], path).close()
        for start in range(0, QUERIES, OPENED):
            with Collection(path) as collection:
                for number in range(start, start + OPENED):
                    query = _query(melodies[int(rng.integers(len(melodies)))], rng)
                    wrong += _differs(collection, query, matcher(modes[number % len(modes)]), 1 + number % 2)
                print(
                    f"{engine}: {start + OPENED} queries of {len(collection)} melodies, {wrong} lists differ",
                    flush=True,
                )
    return wrong > 0


def _differs(collection: Collection, query: Melody, chosen: Matcher, threads: int) -> bool:
    """Whether a list is not the beginning of that of all melodies, or has other distances than the matcher gives."""
    run = collection.search(query, chosen, K, threads=threads)
    distances = dict(zip(collection.ids(), chosen.distances(query, collection).tolist(), strict=True))
    if chosen.estimates_chance:  # the order of evidence; all are compared for a list of all
        in_order = collection.search(query, chosen, len(collection)).ids[:K]
    else:
        in_order = [id for _, id in sorted((distance, id) for id, distance in distances.items() if distance < inf)][:K]
    return [(hit.id, hit.distance) for hit in run] != [(id, distances[id]) for id in in_order]


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
