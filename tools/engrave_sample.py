"""Engrave random incipits one after the other, list those that cannot be drawn, and check what the drawings say.

    python tools/engrave_sample.py ../shared/data/rism/incipits.jsonl.gz --count 1000

Every drawing is made anew (the cache is not used). Then verovio is asked what it would play from the same MEI, and
pitch and onset of each note are compared with the melody's. With --plaine-easie the same is done for music that verovio
gets as Plaine & Easie from Roslin's writer, on those incipits where the two can be compared (no grace notes, no ties):
the measurement behind drawing from MEI. Exit code 1 when a note is missing or wrong in the MEI, or when more than 1 in
100 cannot be drawn.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from roslin.engrave import engrave, mei_from_melody
from roslin.errors import RoslinError, SandboxError
from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.notation import pae, records
from roslin.sandbox import Worker

SEED = 20260
MOST_UNDRAWN = 0.01
ONSET_QUARTERS = 0.002  # verovio rounds its time stamps


def main() -> int:
    """Print the failures and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("incipits", type=Path)
    parser.add_argument("--count", type=int, default=1000, help="how many incipits")
    parser.add_argument("--plaine-easie", action="store_true", help="also measure verovio's reading of Plaine & Easie")
    arguments = parser.parse_args()
    read = [record.melody for record in records(arguments.incipits, strict=False) if record.melody is not None]
    sample = random.Random(SEED).sample(read, min(arguments.count, len(read)))
    with Worker() as worker:
        undrawn = _draw_all(sample, worker)
        wrong = _check_sound(sample, worker)
        if arguments.plaine_easie:
            _check_plaine_easie(sample, worker)
    return int(wrong > 0 or undrawn > MOST_UNDRAWN * len(sample))


def _draw_all(sample: list[Melody], worker: Worker) -> int:
    reasons: Counter[str] = Counter()
    began = time.perf_counter()
    for melody in sample:
        drawing = engrave(melody, worker=worker, use_cache=False)
        if not drawing.drawn:
            reasons[drawing.reason.partition(":")[0]] += 1
            _say(f"not drawn: {melody.id}: {drawing.reason}: {melody.music}")
    seconds = time.perf_counter() - began
    undrawn = sum(reasons.values())
    _say(f"{len(sample)} incipits (seed {SEED}): {len(sample) - undrawn} drawn, {undrawn} not, {seconds:.1f} s")
    for reason, count in reasons.most_common():
        _say(f"  {count:5d}  {reason}")
    return undrawn


def _check_sound(sample: list[Melody], worker: Worker) -> int:
    """How many melodies verovio plays otherwise than the table says, from our MEI.

    Verovio gives grace notes time of their own, so onsets are compared for the melody without them, pitches with them.
    """
    wrong = 0
    for melody in sample:
        plain = replace(melody, notes=melody.notes[~melody.notes["is_grace"]])
        try:
            found = _difference(melody, worker, onsets=len(plain) == len(melody))
            if found is None and 0 < len(plain) < len(melody):
                found = _difference(plain, worker, onsets=True)
        except RoslinError:  # counted among those that are not drawn
            continue
        if found is not None:
            wrong += 1
            _say(f"otherwise: {melody.id}: {found}: {melody.metre} {melody.music}")
    _say(f"MEI: {wrong} of {len(sample)} melodies with a missing or different note")
    return wrong


def _difference(melody: Melody, worker: Worker, *, onsets: bool) -> str | None:
    answer = worker.call("sounding", {"data": mei_from_melody(melody), "format": "mei"})
    played = {name: (onset, pitch) for onset, pitch, name in answer["notes"]}
    for row, note in enumerate(melody.notes):
        onset, pitch = played.get(f"note-{row}", (-1.0, -1))
        late = abs(onset - float(note["onset_ticks"]) / TICKS_PER_QUARTER) > ONSET_QUARTERS
        if pitch != note["pitch_midi"] or (late and onsets):
            return f"note {row}: onset {onset}, pitch {pitch}"
    return None


def _check_plaine_easie(sample: list[Melody], worker: Worker) -> None:
    compared = wrong = failed = refused = 0
    for melody in sample:
        try:
            text = pae.write(melody, "json")
        except RoslinError:
            refused += 1
            continue
        if melody.notes["is_grace"].any() or "+" in text:
            continue
        compared += 1
        try:
            answer = worker.call("sounding", {"data": text, "format": "pae", "options": {"expandNever": True}})
        except SandboxError:
            failed += 1
            continue
        played = sorted((round(onset, 2), pitch) for onset, pitch, _ in answer["notes"])
        table = sorted(
            (round(float(note["onset_ticks"]) / TICKS_PER_QUARTER, 2), int(note["pitch_midi"])) for note in melody.notes
        )
        wrong += len(played) != len(table) or any(
            abs(a[0] - b[0]) > 0.02 or a[1] != b[1] for a, b in zip(played, table, strict=True)
        )
    _say(f"Plaine & Easie: {refused} not writable; of {compared} compared {failed} fail, {wrong} with a different note")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
