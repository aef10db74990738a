"""A fixed sample of pairs at three levels of certainty, to be judged by eye.

    .venv/bin/python tools/sample_pairs.py rism.roslin > pairs.txt

40 pairs that are rated "same tune", 30 "probably", 30 "perhaps", of different records and without copies. For each pair
its probability, what the catalogue says, and the notes: pitch, and length in quarters. The judgements of the sample of
RISM are in docs/measurements/concordances-by-eye.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from roslin import Collection, Melody
from roslin.concordances.certainty import LEVELS
from roslin.concordances.pairs import FoundPairs, find_pairs
from roslin.melody import TICKS_PER_QUARTER
from roslin.notation.record import record_of
from roslin.represent.line import melodic_line
from roslin.search.work import Work

COUNTS = {"same": 40, "probably": 30, "perhaps": 30}
SEED = 17
LONGEST = 26  # notes that are printed
_STEPS = ("C", "C#", "D", "Eb", "E", "F", "F#", "G", "Ab", "A", "Bb", "B")


def main(path: Path) -> int:
    """Print the sample."""
    with Collection(path) as collection:
        with Work(threads=2) as work:
            found = find_pairs(collection, LEVELS["perhaps"], work)
        for word, places in sampled(collection, found).items():
            for number, place in enumerate(places, start=1):
                first, second = int(found.first[place]), int(found.second[place])
                print(f"{word} {number}: probability {found.probabilities[place]:.2f}")
                print(described(collection[first]), described(collection[second]), sep="\n")
    return 0


def sampled(collection: Collection, found: FoundPairs) -> dict[str, list[int]]:
    """The places of the pairs of each level; of pairs that repeat one for copies, the first."""
    records = np.array([record_of(id) for id in collection.ids()])
    counted = ~found.is_copy & (records[found.first] != records[found.second])
    _, first_of = np.unique(np.column_stack([found.distances, found.expected]), axis=0, return_index=True)
    counted &= np.isin(np.arange(len(found)), first_of)
    rng, chosen, surer = np.random.default_rng(SEED), {}, -1.0
    for word, most in LEVELS.items():
        among = np.flatnonzero(counted & (found.doubts > surer) & (found.doubts <= most))
        chosen[word] = np.sort(rng.choice(among, COUNTS[word], replace=False)).tolist()
        surer = most
    return chosen


def described(melody: Melody) -> str:
    """What the catalogue says, and the notes."""
    notes = melodic_line(melody)[:LONGEST]
    played = " ".join(
        f"{_STEPS[pitch % 12]}{pitch // 12 - 1}:{ticks / TICKS_PER_QUARTER:.3g}"
        for pitch, ticks in zip(notes["pitch_midi"].tolist(), notes["duration_ticks"].tolist(), strict=True)
    )
    said = " | ".join((melody.id or "", melody.composer or "-", melody.title or "-", melody.text or ""))
    return f"   {said}\n      {played}"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
