"""Beginnings of melodies sung, whistled or tapped by simulated people, as queries for `known_items`.

Each is performed (`simulated_singers`), and the sound goes through the scripts of the page (`heard_notes`), which write
the text of the query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from playwright.sync_api import Page

from heard_notes import text_heard, text_tapped
from known_items import Item, Query
from simulated_singers import SINGER, TAPPER, WHISTLER, Performer, perform, sound

__all__ = ["WAYS"]


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
    "sung": partial(performed, SINGER),
    "whistled": partial(performed, WHISTLER),
    "tapped": tapped,
    "sung with a wide vibrato": partial(performed, replace(SINGER, vibrato=60, slide=0.12)),
    "tapped, the end of the last note left out": partial(tapped, ends=False),
}
