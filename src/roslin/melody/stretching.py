"""The same melody in longer or shorter notes: every time multiplied by one factor.

Onsets and ends are multiplied exactly and rounded to whole ticks (a tick is 1/40320 of a quarter note), so that notes
that touched still touch. Factors such as 2, 1/2 or 3/2 are exact for all music that notation can write.

The metre keeps its beats and changes their value: 3/4 in notes twice as long is 3/2. Where the new value is no note
value (a factor of 3), the metre is left out.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from roslin.errors import ArgumentError, MelodyError
from roslin.melody.bars import metre_fraction
from roslin.melody.table import MAX_TICKS, locked, sorted_table
from roslin.types import Numbers

if TYPE_CHECKING:
    from roslin.melody.melody import Melody

_SHORTEST_UNIT = 128


def stretched(melody: Melody, factor: float | Fraction) -> Melody:
    """The melody with every time multiplied by a factor."""
    by = _checked(factor)
    if by == 1:
        return melody
    notes = melody.notes.copy()
    onsets, lengths = notes["onset_ticks"], notes["duration_ticks"]
    starts, ends = _times(onsets, by), _times(onsets + lengths, by)
    if ends.max(initial=0) >= MAX_TICKS:
        raise MelodyError(f"stretched by {factor}, the melody would be longer than {MAX_TICKS} ticks")
    if np.any((ends == starts) & (lengths > 0)):
        raise MelodyError(f"stretched by {factor}, a note would be shorter than a tick (1/40320 of a quarter note)")
    notes["onset_ticks"], notes["duration_ticks"], notes["source_column"] = starts, ends - starts, 0
    metre, changed = _metres([melody.metre, *(change.metre for change in melody.changes)], by)
    places = _times(np.array([change.onset_ticks for change in melody.changes], dtype=np.int64), by).tolist()
    return replace(
        melody,
        notes=sorted_table(notes),
        music=None,
        notation=None,
        metre=metre,
        barlines_ticks=locked(_times(melody.barlines_ticks, by)),
        changes=tuple(
            replace(change, onset_ticks=place, metre=new)
            for change, place, new in zip(melody.changes, places, changed, strict=True)
        ),
    )


def _checked(factor: Any) -> Fraction:
    if isinstance(factor, Real) and not isinstance(factor, bool) and 0 < float(factor) < math.inf:
        return Fraction(factor) if isinstance(factor, (int, float, Fraction)) else Fraction(float(factor))
    raise ArgumentError(f"a melody is stretched by a finite number above 0; got {factor!r}")


def _times(ticks: Numbers, by: Fraction) -> Numbers:
    """Ticks times a factor, rounded to the nearest; in whole numbers of any size, which numpy has not."""
    double = [2 * tick * by.numerator + by.denominator for tick in ticks.tolist()]
    return np.array([min(tick // (2 * by.denominator), MAX_TICKS) for tick in double], dtype=np.int64)


def _metres(metres: list[str | None], by: Fraction) -> tuple[str | None, list[str | None]]:
    """All metres with their beats stretched; none where one of them cannot be said."""
    new = [None if metre is None else _metre(metre, by) for metre in metres]
    if "" in new:
        new = [None] * len(metres)
    return new[0], new[1:]


def _metre(metre: str, by: Fraction) -> str:
    """3/4 as 3/2, c as 4/2; parts that alternate, 3/4|2/4, each; "" where there is no such metre."""
    parts = []
    for part in metre.split("|"):
        found = metre_fraction(part)
        unit = found[1] / by if found else Fraction(1, 2)
        if found is None or unit.denominator != 1 or unit > _SHORTEST_UNIT or unit.numerator & (unit.numerator - 1):
            return ""
        parts.append(f"{found[0]}/{unit}")
    return "|".join(parts)
