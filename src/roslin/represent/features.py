"""The numbers of Typke et al. (2007), section 3.1, that describe a melody and that filters ask for.

    pitch_range      semitones between the lowest and the highest note
    duration_ratio   shortest note over longest note (rests do not count), in (0, 1]; 1: all equally long
    max_interval     semitones, the largest step between notes that follow each other; rests are ignored
    motives          repeated sequences of intervals, and how often each occurs

All are read from the melodic line (line.py), so a melody with chords is described by its top line. A feature that needs
more notes is None: without notes every feature, with one note the largest interval (its range is 0, its ratio 1).

Motives. The paper says that its detection "maximizes the motive length, even if this means fewer repetitions" and gives
no details. Our reading: take the longest sequence of at least two intervals that occurs at least twice without
overlapping itself; of several equally long ones the one that starts earliest. Count its occurrences from left to right
without overlap, note them, take these places out of the string (nothing found later may touch them), and go on until
nothing is repeated. So a short motive that only occurs inside longer ones is not listed by itself: ask whether a listed
motive contains it. Motives are looked for up to `LONGEST_MOTIVE` intervals, which bounds the work to the length of the
melody times that number. A longer repetition appears as several motives.
"""

from __future__ import annotations

from operator import sub
from typing import NamedTuple

from roslin.melody import Melody
from roslin.represent.line import melodic_line
from roslin.represent.strings import line_strings

LONGEST_MOTIVE = 100  # intervals


class Description(NamedTuple):
    """All features and strings of one melody."""

    note_count: int
    pitch_range: int | None
    max_interval: int | None
    duration_ratio: float | None
    chromatic: str
    diatonic: str
    contour: str
    rhythm: str
    motives: dict[str, int]


def describe(melody: Melody) -> Description:
    """Everything at once, cheaply: a collection calls this once for each melody.

    >>> describe(Melody.from_notes([0, 1, 2], [1, 1, 2], [60, 67, 64])).max_interval
    7
    """
    line = melodic_line(melody)
    midi, durations = line["pitch_midi"].tolist(), line["duration_ticks"].tolist()
    strings = line_strings(midi, line["pitch_base40"].tolist(), durations)
    return Description(
        len(midi),
        max(midi) - min(midi) if midi else None,
        max(map(abs, map(sub, midi[1:], midi)), default=None),
        min(durations) / max(durations) if durations else None,
        *strings,
        motives(strings.chromatic),
    )


def motives(intervals: str) -> dict[str, int]:
    """Repeated sequences of intervals in a string, longest first, with the number of their occurrences.

    >>> motives("ABcABcAB")
    {'ABc': 2}
    >>> motives("==A==")
    {'==': 2}
    """
    levels = _repeated(intervals)
    found: dict[str, int] = {}
    free = bytearray(b"\1" * len(intervals))
    for length in range(len(levels) + 1, 1, -1):
        groups = levels[length - 2]
        untouched = b"\1" * length
        for first in sorted(position for positions in groups.values() for position in positions):
            if free[first : first + length] != untouched:
                continue
            motive = intervals[first : first + length]
            # A motive is tried once, at its first free place: later there can only be fewer.
            places = [place for place in groups.pop(motive, ()) if free[place : place + length] == untouched]
            chosen = _without_overlap(places, length)
            if len(chosen) > 1:
                found[motive] = len(chosen)
                for place in chosen:
                    free[place : place + length] = bytes(length)
    return found


def _repeated(intervals: str) -> list[dict[str, list[int]]]:
    """For each length from 2, the sequences that occur at least twice without overlap, and where they start.

    A repeated sequence starts with a repeated sequence that is one shorter, so only those need to be made longer.
    """
    levels: list[dict[str, list[int]]] = []
    starts: list[int] = list(range(len(intervals) - 1))
    for length in range(2, min(LONGEST_MOTIVE, len(intervals) // 2) + 1):
        groups: dict[str, list[int]] = {}
        for start in starts:
            groups.setdefault(intervals[start : start + length], []).append(start)
        groups = {text: places for text, places in groups.items() if places[-1] - places[0] >= length}
        if not groups:
            break
        levels.append(groups)
        last = len(intervals) - length - 1
        starts = sorted(place for places in groups.values() for place in places if place <= last)
    return levels


def _without_overlap(places: list[int], length: int) -> list[int]:
    chosen: list[int] = []
    free_from = 0
    for place in places:
        if place >= free_from:
            chosen.append(place)
            free_from = place + length
    return chosen
