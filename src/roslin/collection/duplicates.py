"""Near-duplicates among candidates: identical incipits, and incipits that are part of another (paper 002, section 3.1).

Two incipits count as identical when they have the same chromatic intervals and the same rhythm string, so that
a transposition, another clef or another unit of notation makes no difference (section 3.2.3: the experts were told to
regard transpositions as identical). One is contained in another when its intervals and its rhythm string, taken
together, are an unbroken part of the other's.

The rhythm string only says longer, shorter or the same. To demand exact rhythm, pass `durations`, which gives the
durations of a melody's line in ticks: then they must also be in the same proportions. Melodies with fewer than two
notes have no intervals and are always kept.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.errors import FilterError

Durations = Callable[[int], Sequence[int]]
_GRAM = 4  # letters; containers are looked up by pieces of this length


class NearDuplicate(NamedTuple):
    """A melody that was removed, the one that stands for it, and why: "identical" or "contained"."""

    number: int
    because_of: int
    reason: str


def remove_near_duplicates(
    connection: sqlite3.Connection, numbers: Iterable[int], durations: Durations | None = None
) -> tuple[npt.NDArray[np.int64], list[NearDuplicate]]:
    """The numbers that are kept, ascending, and those that are not.

    Of identical incipits the one with the lowest number is kept; a contained one points to the longest incipit that
    contains it (of several, the one with the lowest number). What is pointed to is always kept.
    """
    search = _Search(durations)
    removed, kept = [], []
    wanted = [int(number) for number in numbers]
    letters = _letters(connection, wanted)
    for number in wanted:
        if number not in letters:
            raise FilterError(f"numbers must be those of melodies in the collection; got {number}")
    for number in sorted(letters, key=lambda number: (-len(letters[number]), number)):
        found = search.find(number, letters[number]) if letters[number] else None
        if found is not None:
            removed.append(found)
            continue
        kept.append(number)
        search.add(number, letters[number])
    return np.array(sorted(kept), dtype=np.int64), sorted(removed)


def _letters(connection: sqlite3.Connection, numbers: list[int]) -> dict[int, str]:
    """For each number one character for each pair of notes: interval and rhythm together."""
    rows = connection.execute(
        "SELECT strings.number, chromatic, rhythm FROM json_each(?) AS wanted "
        "CROSS JOIN strings ON strings.number = wanted.value",
        (json.dumps(numbers),),
    )
    return {number: "".join(map(_together, chromatic, rhythm)) for number, chromatic, rhythm in rows}


def _together(interval: str, rhythm: str) -> str:
    return chr(128 * "LS=".index(rhythm) + ord(interval))


class _Search:
    """What is kept so far, longest first, and where to find pieces of it."""

    def __init__(self, durations: Durations | None):
        self.durations = durations
        self.kept: dict[int, str] = {}
        self.pieces: dict[int, dict[str, list[int]]] = {_GRAM: {}}

    def add(self, number: int, letters: str) -> None:
        self.kept[number] = letters
        for length, index in self.pieces.items():
            _index(index, number, letters, length)

    def find(self, number: int, letters: str) -> NearDuplicate | None:
        for other in self._candidates(letters):
            for start in _places(letters, self.kept[other]):
                if self.durations is None or _same_proportions(self.durations(number), self.durations(other)[start:]):
                    same_length = len(letters) == len(self.kept[other])
                    return NearDuplicate(number, other, "identical" if same_length else "contained")
        return None

    def _candidates(self, letters: str) -> list[int]:
        """The kept melodies that have the rarest piece of these letters, in the order in which they were kept."""
        length = min(_GRAM, len(letters))
        if length not in self.pieces:
            self.pieces[length] = {}
            for number, kept in self.kept.items():
                _index(self.pieces[length], number, kept, length)
        index = self.pieces[length]
        return min((index.get(piece, []) for piece in _grams(letters, length)), key=len)


def _grams(letters: str, length: int) -> set[str]:
    return {letters[start : start + length] for start in range(len(letters) - length + 1)}


def _index(index: dict[str, list[int]], number: int, letters: str, length: int) -> None:
    for piece in _grams(letters, length):
        index.setdefault(piece, []).append(number)


def _places(part: str, whole: str) -> Iterator[int]:
    start = whole.find(part)
    while start >= 0:
        yield start
        start = whole.find(part, start + 1)


def _same_proportions(part: Sequence[int], whole: Sequence[int]) -> bool:
    return all(int(a) * int(whole[0]) == int(b) * int(part[0]) for a, b in zip(part, whole, strict=False))
