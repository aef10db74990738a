"""How often the search page finds a melody that is sung, whistled or tapped, by the ability of the singer.

    python tools/sung_items.py rism.roslin [WAY ...]

Prints the table of dev/measurements/singing.md: how often the melody comes first, is among the first ten, and is not
denied by the headline (`known_items`). The queries are the first 12 notes of 60 melodies, performed by simulated people
(`simulated_singers`). *As notes* means that the performance is searched for as it is, in seconds, each note on the
semitone closest to it. *By the page's ears* means that its sound goes through the scripts of the page in a browser
(`heard_notes`), which write the query.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from playwright.sync_api import Page

from heard_notes import listening_page, text_heard, text_tapped
from known_items import FIRST, SEED, Item, Outcome, Query, known_items, outcome
from roslin.evaluate.exchanges import mean_intervals
from roslin.web.library import Library
from roslin.web.settings import Settings
from simulated_singers import ABILITIES, TAPPER, WHISTLER, Performer, perform, sound

COUNT, NOTES = 60, 12
_FROM = 52.0  # MIDI; all sing in one key, and in tune with it, where no script looks for their own


def as_notes(performer: Performer, _: Page, item: Item, rng: np.random.Generator) -> Query:
    """Sung, and each note taken as the semitone closest to it."""
    done = perform(replace(performer, lowest=_FROM, highest=_FROM), item.quarters, item.pitches, rng, item.sounding)
    rows = zip(done.onsets.tolist(), (done.offsets - done.onsets).tolist(), done.pitches.tolist(), strict=True)
    return Query(json.dumps({"seconds": [[onset, length, round(pitch)] for onset, length, pitch in rows]}), "jsonl")


def performed(performer: Performer, page: Page, item: Item, rng: np.random.Generator) -> Query:
    """Sung or whistled, and heard."""
    done = perform(performer, item.quarters, item.pitches, rng, item.sounding)
    return Query(text_heard(page, sound(performer, done, rng)))


def tapped(page: Page, item: Item, rng: np.random.Generator, ends: bool = True) -> Query:
    """Tapped, with a tap where the last note ends, as the page asks for, or without it."""
    done = perform(TAPPER, item.quarters, item.pitches, rng)
    taps = [*done.onsets, done.offsets[-1]] if ends else [*done.onsets]
    return Query(text_tapped(page, taps), compare="rhythm", place="start")


Way = Callable[[Page, Item, np.random.Generator], Query]
WAYS: dict[str, Way] = {
    **{f"{ability} ability, as notes": partial(as_notes, singer) for ability, singer in ABILITIES.items()},
    **{f"{ability} ability, by the page's ears": partial(performed, singer) for ability, singer in ABILITIES.items()},
    "whistled": partial(performed, WHISTLER),
    "tapped": tapped,
    "tapped, the end of the last note left out": partial(tapped, ends=False),
}


def _row(name: str, outcomes: Sequence[Outcome]) -> str:
    cells = []
    for kind in ("first", "found", "listed"):
        shares = np.array([getattr(each, kind) for each in outcomes], dtype=float)
        low, high = mean_intervals(shares)
        cells.append(f"{100 * shares.mean():.1f}% [{100 * low:.1f}, {100 * high:.1f}]")
    return f"| {name} | {' | '.join(cells)} |"


def main() -> int:
    """Perform, hear, ask, count and print."""
    path, *asked = sys.argv[1:]
    chromium = shutil.which("chromium") or sys.exit("needs Chromium")
    library = Library(Settings(path, log_requests=False, search_seconds=600))
    items = list(known_items(library.collection, COUNT, NOTES))
    print(f"| the first {NOTES} notes | first | first {FIRST} | listed |\n|---|---|---|---|")
    with listening_page(chromium) as page:
        for name in asked or WAYS:
            rng = np.random.default_rng(SEED)
            print(_row(name, [outcome(library, item, WAYS[name](page, item, rng)) for item in items]), flush=True)
    library.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
