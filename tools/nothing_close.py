"""How often the page says that nothing close was found for melodies that were made up.

    python tools/nothing_close.py rism.roslin [COUNT]

Each melody is a walk on a major or minor scale, mostly by step, with figures of note values that fill bars, 8 to 20
notes long; it has no relative in any collection. Each is asked of the page's own service. Printed: the share without
anything close, and the best number of chance matches by its share of the queries.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np

from roslin import Melody
from roslin.notation.pae import write
from roslin.web import service
from roslin.web.library import Library
from roslin.web.progress import Wait
from roslin.web.schemas.requests import SearchParams
from roslin.web.settings import Settings

SEED, COUNT, NOTES = 15, 200, (8, 20)
LEAST = 0.95  # of the melodies, that are said to have nothing close
SCALES = ((0, 2, 4, 5, 7, 9, 11), (0, 2, 3, 5, 7, 8, 10))
# Steps of the scale from note to note, and how often.
STEPS = {-4: 2, -3: 5, -2: 12, -1: 27, 0: 11, 1: 25, 2: 11, 3: 5, 4: 2}
# Figures that fill a half note or a quarter, in quarters, and how often.
FIGURES = {
    (1.0,): 8,
    (0.5, 0.5): 6,
    (2.0,): 3,
    (1.5, 0.5): 4,
    (0.75, 0.25): 1,
    (0.5, 0.25, 0.25): 1,
    (0.25, 0.25, 0.25, 0.25): 1,
}
_MIDDLE, _PULL = 2, 5  # the degree to which a walk comes back from so many steps away


def made_melodies(count: int = COUNT, seed: int = SEED) -> Iterator[Melody]:
    """Random melodies, the same every time."""
    random = np.random.default_rng(seed)
    figures, often = list(FIGURES), np.array(list(FIGURES.values()), dtype=float)
    for _ in range(count):
        notes = int(random.integers(NOTES[0], NOTES[1] + 1))
        lengths: list[float] = []
        while len(lengths) < notes:
            lengths += figures[random.choice(len(figures), p=often / often.sum())]
        scale, tonic = SCALES[int(random.integers(2))], int(random.integers(60, 72))
        pitches = [tonic + 12 * (degree // 7) + scale[degree % 7] for degree in _degrees(random, notes)]
        onsets = np.concatenate([[0.0], np.cumsum(lengths)])[:notes]
        bar = float(random.choice([2.0, 3.0, 4.0]))
        bars = np.arange(bar, onsets[-1] + lengths[notes - 1], bar)
        yield Melody.from_notes(onsets.tolist(), lengths[:notes], pitches, barlines=bars.tolist())


def _degrees(random: np.random.Generator, notes: int) -> list[int]:
    steps, often = list(STEPS), np.array(list(STEPS.values()), dtype=float)
    degrees = [int(random.choice([0, 2, 4]))]
    while len(degrees) < notes:
        step = steps[random.choice(len(steps), p=often / often.sum())]
        away = degrees[-1] - _MIDDLE
        degrees.append(degrees[-1] + (-abs(step) if away > _PULL else abs(step) if away < -_PULL else step))
    return degrees


def best_expected(library: Library, melodies: Iterator[Melody]) -> list[tuple[bool, float]]:
    """For each melody, whether the page found something close, and the best number of chance matches."""
    found = []
    for melody in melodies:
        answer = service.find(library, SearchParams(q=write(melody), notation="pae", all=True, k=1), Wait())
        found.append((answer.run.is_close, min(float(hit.expected or 0.0) for hit in answer.run)))
    return found


def main() -> int:
    """Ask, count and print; exit code 1 if something close is claimed too often."""
    library = Library(Settings(sys.argv[1], warm_up=False, log_requests=False))
    count = int(sys.argv[2]) if len(sys.argv) > 2 else COUNT
    found = best_expected(library, made_melodies(count))
    nothing = sum(not is_close for is_close, _ in found)
    print(f"nothing close for {nothing} of {count} melodies, {100 * nothing / count:.1f} %")
    best = np.sort([expected for _, expected in found])
    for limit in (0.001, 0.01, 0.02, 0.1, 0.3, 1.0, 3.0, 10.0):
        print(f"  best E at most {limit:<6g} {100 * np.mean(best <= limit):5.1f} %")
    library.close()
    return int(nothing < LEAST * count)


if __name__ == "__main__":
    sys.exit(main())
