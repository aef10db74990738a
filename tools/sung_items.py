"""How often a melody is found by its first notes, sung, whistled or tapped by simulated people.

    python tools/sung_items.py rism.roslin

The melodies are a fixed sample. Each is performed (`simulated_singers`), the sound goes through the scripts of the page
(`heard_notes`), and the text that these write goes through the page's own search. Printed for each way: the share of
the melodies among the first ten.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from playwright.sync_api import Page

from heard_notes import listening_page, text_heard, text_tapped
from roslin import Collection
from roslin.melody import TICKS_PER_QUARTER
from roslin.represent.line import melodic_line
from roslin.web import service
from roslin.web.library import Library
from roslin.web.progress import Wait
from roslin.web.schemas import SearchParams
from roslin.web.settings import Settings
from simulated_singers import SINGER, TAPPER, WHISTLER, Performer, perform, sound

__all__ = ["WAYS", "Item", "Query", "found_at", "known_items"]

COUNT, NOTES, SEED, FIRST = 200, 8, 20, 10


@dataclass(frozen=True, slots=True)
class Item:
    """The beginning of a melody of the collection."""

    id: str
    quarters: npt.NDArray[np.float64]  # from each onset to the next
    sounding: npt.NDArray[np.float64]  # without the rests
    pitches: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Query:
    """What the page is asked: its text, and what is compared, if not the usual."""

    text: str
    compare: Literal["", "rhythm"] = ""
    place: Literal["", "start"] = ""


def known_items(collection: Collection, count: int = COUNT, notes: int = NOTES, seed: int = SEED) -> Iterator[Item]:
    """A sample of the melodies with more notes than that, the same every time."""
    wanted = count
    for number in np.random.default_rng(seed).permutation(len(collection)):
        melody = collection[int(number)]
        line = melodic_line(melody)
        if len(line) <= notes:
            continue
        quarters = np.diff(line["onset_ticks"][: notes + 1]) / TICKS_PER_QUARTER
        sounding = line["duration_ticks"][:notes] / TICKS_PER_QUARTER
        yield Item(str(melody.id), quarters, sounding, line["pitch_midi"][:notes].astype(float))
        wanted -= 1
        if not wanted:
            return


def performed(performer: Performer, item: Item, rng: np.random.Generator, page: Page) -> Query:
    """Sung or whistled, and heard."""
    done = perform(performer, item.quarters, item.pitches, rng, item.sounding)
    return Query(text_heard(page, sound(performer, done, rng)))


def tapped(item: Item, rng: np.random.Generator, page: Page, ends: bool = True) -> Query:
    """Tapped, with a tap where the last note ends, as the page asks for, or without it."""
    done = perform(TAPPER, item.quarters, item.pitches, rng)
    taps = [*done.onsets, done.offsets[-1]] if ends else [*done.onsets]
    return Query(text_tapped(page, taps), compare="rhythm", place="start")


Way = Callable[[Item, np.random.Generator, Page], Query]
WAYS: dict[str, Way] = {
    "sung": partial(performed, SINGER),
    "sung with a wide vibrato": partial(performed, replace(SINGER, vibrato=60, slide=0.12)),
    "whistled": partial(performed, WHISTLER),
    "tapped": tapped,
    "tapped, the end of the last note left out": partial(tapped, ends=False),
}


def found_at(library: Library, item: Item, query: Query) -> int | None:
    """The rank at which the page lists the melody among the first ten."""
    if not query.text:
        return None
    asked = SearchParams(q=query.text, notation="pae", compare=query.compare, place=query.place, k=FIRST, all=True)
    ranks = [result.rank for result in service.find(library, asked, Wait()).results if result.melody.id == item.id]
    return ranks[0] if ranks else None


def main() -> int:
    """Perform, hear, ask and count."""
    library = Library(Settings(Path(sys.argv[1]), warm_up=False, log_requests=False, search_seconds=600))
    items = list(known_items(library.collection))
    chromium = shutil.which("chromium") or sys.exit("needs Chromium")
    with listening_page(chromium) as page:
        for name, way in WAYS.items():
            rng = np.random.default_rng(SEED)
            ranks = [found_at(library, item, way(item, rng, page)) for item in items]
            print(f"{name}: {np.mean([rank is not None for rank in ranks]):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
