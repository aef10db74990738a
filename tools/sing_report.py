"""How well the page hears people who sing and whistle.

    python tools/sing_report.py rism.roslin

Prints the table of dev/measurements/singing.md: under each condition, the share of notes that are heard right. The
notes are the first of a fixed sample of melodies. All performers are simulated (`simulated_singers`), and the same
every time. How often a sung melody is found is measured by `roslin benchmark sung`.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
from playwright.sync_api import Page

from roslin import Collection
from roslin.melody import TICKS_PER_QUARTER
from roslin.represent.line import melodic_line
from simulated_singers import (
    ABILITIES,
    WHISTLER,
    Counted,
    Numbers,
    Performer,
    count,
    hear,
    listening_page,
    perform,
    sound,
)

LONG, MELODIES = 12, 25  # notes of a melody, and melodies under each condition
SEED = 21

_VOICE, _WHISTLE = Performer(note_error=10), replace(WHISTLER, note_error=10, wander=0)
_HARD = replace(_VOICE, vibrato=60, slide=0.12, scoop=100, noise=20)
CONDITIONS: dict[str, Performer] = {
    "a voice, 25 dB above the noise": _VOICE,
    "vibrato of 60 cents either way": replace(_VOICE, vibrato=60),
    "slides of 150 ms": replace(_VOICE, slide=0.15),
    "slurred, no syllables": replace(_VOICE, syllables=0.0, slide=0.1),
    "short notes, half of each silent": replace(_VOICE, staccato=0.5),
    "10 dB above the noise": replace(_VOICE, noise=10),
    "vibrato, slides and scoops, 20 dB above the noise": _HARD,
    "the key drifts by 8 cents a note": replace(_VOICE, drift=8),
    "every note off by 25 cents": replace(_VOICE, note_error=25),
    "scoops of 80 to 110 ms before a quarter of the notes": replace(_VOICE, scoop=150, scooped=0.25),
    **{f"a singer of {ability} ability": singer for ability, singer in ABILITIES.items()},
    "a whistle, 20 dB above the noise": _WHISTLE,
    "a whistle, slides of 120 ms": replace(_WHISTLE, slide=0.12),
    "a whistle, 10 dB above the noise": replace(_WHISTLE, noise=10),
    "an untrained whistler": WHISTLER,
}


def beginnings(collection: Collection) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """Of each melody the quarters from note to note, the quarters that each sounds, and the pitches."""
    for number in np.random.default_rng(SEED).permutation(len(collection)).tolist():
        line = melodic_line(collection[number])
        if len(line) > LONG:
            part = line[:LONG]
            quarters = np.diff(line["onset_ticks"][: LONG + 1]) / TICKS_PER_QUARTER
            yield quarters, part["duration_ticks"] / TICKS_PER_QUARTER, part["pitch_midi"].astype(float)


def notes_right(collection: Collection, page: Page) -> None:
    """What is heard of melodies under each condition."""
    melodies = list(islice(beginnings(collection), MELODIES))
    print("| sung or whistled | notes | right | other pitch | not heard | added |\n|---|---|---|---|---|---|")
    for name, performer in CONDITIONS.items():
        rng, total = np.random.default_rng(SEED), Counted()
        for quarters, sounding, pitches in melodies:
            done = perform(performer, quarters, pitches, rng, sounding)
            heard = hear(page, sound(performer, done, rng))
            total += count(pitches.astype(int).tolist(), [note["pitch"] for note in heard])
        print(
            f"| {name} | {total.notes} | {100 * total.share:.1f}% | {total.wrong} | {total.missing} | {total.extra} |",
            flush=True,
        )


def main() -> int:
    """Perform, hear, count and print."""
    chromium = shutil.which("chromium") or sys.exit("needs Chromium")
    with Collection(sys.argv[1]) as collection, listening_page(chromium) as page:
        notes_right(collection, page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
