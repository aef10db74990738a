"""How often a melody is found by notes repeated where it has long ones, with ties tried and without.

    python tools/repeated_notes.py rism.roslin [COUNT]

The melodies are a fixed sample of the collection. Each query is the beginning of one: as it is, in quarters, with a
wrong note, or with half of the notes of a quarter or longer written as two. Found are the melody and those that have
exactly its first twelve notes. `roslin.notation.query.surest` tries ties; a melody that is searched for does without.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

import numpy as np

from roslin import Collection, Melody
from roslin.melody import TICKS_PER_QUARTER
from roslin.notation.query import surest
from roslin.represent.line import melodic_line
from roslin.run import Run

COUNT, SEED, LONGEST, FIRST = 200, 20, 12, 10
Notes = tuple[list[float], ...]  # onsets and durations in quarters, MIDI numbers


def ways(notes: Notes, random: np.random.Generator) -> Iterator[tuple[str, Notes]]:
    """The beginnings that are asked for, each with its name."""
    for count in (8, LONGEST):
        onsets, durations, pitches = beginning = tuple(each[:count] for each in notes)
        yield f"first {count}", beginning
        yield f"first {count}, in quarters", (list(map(float, range(count))), [1.0] * count, pitches)
        wrong = pitches.copy()
        wrong[int(random.integers(1, count - 1))] += int(random.choice([-3, -2, -1, 1, 2, 3]))
        yield f"first {count}, one wrong", (onsets, durations, wrong)
        yield f"first {count}, half of the long notes as two", _split(beginning, random)


def _split(notes: Notes, random: np.random.Generator) -> Notes:
    split: Notes = ([], [], [])
    for onset, duration, pitch in zip(*notes, strict=True):
        parts = 2 if duration >= 1 and random.random() < 0.5 else 1
        for part in range(parts):
            split[0].append(onset + part * duration / parts)
            split[1].append(duration / parts)
            split[2].append(pitch)
    return split


def _sample(collection: Collection, count: int) -> Iterator[tuple[Melody, Notes]]:
    for number in np.random.default_rng(SEED).permutation(len(collection)):
        line = melodic_line(collection[int(number)])
        if len(line) <= LONGEST:
            continue
        times = (line[name] / TICKS_PER_QUARTER for name in ("onset_ticks", "duration_ticks"))
        onsets, durations = (each.tolist() for each in times)
        yield collection[int(number)], (onsets, durations, line["pitch_midi"].tolist())
        count -= 1
        if not count:
            return


def _melody(notes: Notes) -> Melody:
    onsets, durations, pitches = notes
    return Melody.from_notes(onsets, durations, list(map(int, pitches)))


def _rank(run: Run, right: set[str]) -> int:
    return min((hit.rank for hit in run if hit.id in right), default=FIRST + 1)


def main(path: str, count: int = COUNT) -> None:
    """Print the shares found first and among the first ten."""
    random, ranks = np.random.default_rng(SEED), defaultdict[str, list[tuple[int, int, bool]]](list)
    with Collection(path) as collection:
        search = partial(collection.search, k=FIRST)
        for melody, notes in _sample(collection, count):
            beginning = _melody(tuple(each[:LONGEST] for each in notes))
            right = {str(melody.id), *(hit.id for hit in search(beginning) if hit.same)}
            for way, written in ways(notes, random):
                query = _melody(written)
                used, run, _ = surest([query], search)
                ranks[way].append((_rank(search(query), right), _rank(run, right), used is not query))
    print(f"{'':42}{'as typed':>14}{'ties tried':>14}  ties used")
    for way, found in ranks.items():
        typed, tried, is_used = np.array(found).T
        shares = (f"{np.mean(each == 1):.3f} / {np.mean(each <= FIRST):.3f}" for each in (typed, tried))
        print(f"{way:42}{'  '.join(shares)}  {np.mean(is_used):.3f}")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
