"""Which titles of tune books are the same, for the benchmark and for the melodies that `roslin` is fitted on."""

from __future__ import annotations

import pytest

from roslin.benchmark.tasks import title_key


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
