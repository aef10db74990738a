"""The tool that makes a campaign of music21's tune books: which titles are the same, and what a beginning is."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from music21_campaign import LEAST_NOTES, NOTES, title_key, tunes


@pytest.mark.parametrize(
    ("title", "same"),
    [
        ("MONEY MUSK -- STRATHSPEY", "Money Musk"),
        ("Soldier's Joy (The)", "The Soldiers Joy"),
        ("Là belle Catherine", "La Belle Catherine."),
        ("Hare in the Corn", "Hare in a corn"),
    ],
)
def test_titles_that_are_the_same(title: str, same: str) -> None:
    assert title_key(title) == title_key(same)


def test_titles_that_are_not() -> None:
    assert title_key("Fisher's Hornpipe") != title_key("Fisher's Jig")


def test_beginnings() -> None:
    seen = set()
    for book, key, melody in islice(tunes(), 60):
        assert book == "aird"
        assert key not in seen
        assert LEAST_NOTES <= len(melody) <= NOTES
        assert melody.barlines_ticks.max(initial=0) <= melody.notes["onset_ticks"][-1]
        seen.add(key)
