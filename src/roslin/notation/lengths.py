"""Music as it is written down: pieces of time in which the same notes sound, note values for a length, and tuplets.

The writers of Plaine & Easie and of scores share these rules. Times are ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from roslin.notation.record import refusal

_TUPLETS = (3, 5, 7, 9, 11, 13, 15)
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of time in which the same notes sound; without notes it is a rest."""

    onset: int
    end: int
    rows: tuple[int, ...]

    @property
    def ticks(self) -> int:
        return self.end - self.onset


def pieces_of(rows: Iterable[int], onsets: Sequence[int], ends: Sequence[int], cuts: Iterable[int]) -> Iterator[Piece]:
    """The pieces of these notes, in the order of their onsets; `cuts` are other places where a piece ends."""
    waiting = list(reversed(list(rows)))
    edges = {*cuts, *(onsets[row] for row in waiting), *(ends[row] for row in waiting)}
    sounding: list[int] = []
    for left, right in pairwise(sorted(edges)):
        sounding = [row for row in sounding if ends[row] > left]
        while waiting and onsets[waiting[-1]] == left:
            sounding.append(waiting.pop())
        yield Piece(left, right, tuple(sounding))


def dotted(lengths: Mapping[str, int], most_dots: int) -> dict[int, tuple[str, int]]:
    """The plain and dotted note values, (name, dots), by their lengths, longest first."""
    found = {
        2 * ticks - (ticks >> dots): (name, dots)
        for dots in range(most_dots + 1)
        for name, ticks in lengths.items()
        if ticks % (1 << dots) == 0
    }
    return dict(sorted(found.items(), reverse=True))


def values_for(ticks: int, values: Mapping[int, _Value], most: int) -> list[_Value] | None:
    """At most `most` of the values (from `dotted`) that add up to a length, longest first; None if there are none."""
    if ticks in values:
        return [values[ticks]]
    found: list[_Value] = []
    for length, value in values.items():
        times, ticks = divmod(ticks, length)
        if len(found) + times > most:
            return None
        found += [value] * times
    return found if found and not ticks else None


def usual_time(count: int) -> int:
    """How many plain notes a tuplet without a stated total takes the time of: 3:2, 5:4, 6:4, 7:4, 9:8; 2:3 and 4:3."""
    return 3 if count in (2, 4) else 1 << max(count - 1, 1).bit_length() - 1


def ticks_in_tuplet(piece: Piece, count: int) -> int:
    """How long a piece is written in a tuplet of `count`; 0 where that is no whole number."""
    ticks, rest = divmod(piece.ticks * count, usual_time(count))
    return 0 if rest else ticks


def tuplet_at(
    pieces: Sequence[Piece], index: int, values: Callable[[int], object], stops: Container[int], notation: str
) -> tuple[int, int]:
    """The smallest tuplet number that makes a piece writable, and the index of the piece after its group.

    The group continues while time is off the plain grid, but never across one of the `stops`.
    """
    for count in _TUPLETS:
        stop = index
        while stop < len(pieces) and values(ticks_in_tuplet(pieces[stop], count)):
            stop += 1
            here = pieces[stop - 1].end
            if values(here - pieces[index].onset) or here in stops:
                break
        if stop > index:
            return count, stop
    raise refusal(f"a length that {notation} cannot write", found=f"{pieces[index].ticks} ticks")
