"""How well the page hears people who sing and whistle.

    python tools/sing_report.py rism.roslin

Prints the table of dev/measurements/singing.md: under each condition, the share of notes that are heard right. All
performers are simulated (`simulated_singers`), and the same every time. How often a melody is found that was sung,
whistled or tapped is measured by `sung_items`.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace

import numpy as np
from playwright.sync_api import Page

from heard_notes import Counted, count, hear, listening_page
from known_items import known_items
from roslin import Collection
from simulated_singers import ABILITIES, WHISTLER, Performer, perform, sound

LONG, MELODIES = 12, 25  # notes of a melody, and melodies under each condition
OTHER_SEED = 21  # these are not the melodies that are looked for

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


def notes_right(collection: Collection, page: Page) -> None:
    """What is heard of melodies under each condition."""
    items = list(known_items(collection, MELODIES, LONG, OTHER_SEED))
    print("| sung or whistled | notes | right | other pitch | not heard | added |\n|---|---|---|---|---|---|")
    for name, performer in CONDITIONS.items():
        rng, total = np.random.default_rng(OTHER_SEED), Counted()
        for item in items:
            done = perform(performer, item.quarters, item.pitches, rng, item.sounding)
            heard = hear(page, sound(performer, done, rng))
            total += count(item.pitches.astype(int).tolist(), [note["pitch"] for note in heard])
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
