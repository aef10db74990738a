"""The values that the kernels of the measure read: melodies as bytes and the worth of everything in whole units.

`notes.encoded` makes melodies, `scores.tables` makes tables. The headers in `roslin/native` declare structs with fields
of the same names.
"""

from __future__ import annotations

from typing import NamedTuple

from roslin.types import Bytes, Ints, Numbers

LANES = 16  # places for transpositions side by side; the last four of them are empty
FARTHEST = -(1 << 28)  # lower than any score, and far from where a sum of two of them overflows
NO_INTERVAL = 127  # of a melody's first note
PAIR, SKIP_MELODY, SKIP_QUERY = 0, 1, 2  # kinds of steps of an alignment


class Encoded(NamedTuple):
    """Notes of many melodies end to end; melody k is offsets[k] to offsets[k + 1]. `notes` describes the fields."""

    offsets: Numbers  # [melodies + 1]
    tempos: Bytes  # [melodies]: the median of each melody's values
    pitches: Bytes  # [notes]: pitch class, 0 to 11
    values: Bytes  # [notes]: g, the note value in quarters of an octave of time
    intervals: Bytes  # [notes]: semitones from the note before, NO_INTERVAL for the first
    kinds: Bytes  # [notes]: 3 x size of the interval + duration class, 0 to 11
    gaps: Bytes  # [notes]: duration class: short, usual or long
    labels: Bytes  # [notes]: 1 + 3 x metre + phrase; 0 if neither is known


class Tables(NamedTuple):
    """The worth of everything, in whole units. `scores.FittedWorth` describes the numbers."""

    equal: Ints  # [11]: of a pair of equal pitch, by the difference of its values, 0 to 10 and more
    near: Ints  # [11]: of a pair of unequal pitch, by the same
    pitch: Ints  # [12 * 16]: of an unequal pitch r semitones above the query's, at transposition u; 0 if it is equal
    is_equal: Ints  # [12 * 16]: 1 where a pitch r semitones above the query's is equal at transposition u
    contexts: Ints  # [2, 4]: of equal and unequal pitch, by 1 if the intervals before are equal + 2 if those after are
    kinds: Ints  # [12]: of each of two notes of equal pitch
    labels: Ints  # [16, 16]: by the labels of the two notes
    openings: Ints  # [3]: the price of the first note of a gap, by its duration class
    extension: int  # the price of every further note of a gap
    starts: Ints  # [3, longest + 1]: the price of notes left out before the first pair, of the shorter melody, of the
    # longer, of one of two equally long; as many as there are, or `longest` where there are more
    ends: Ints  # [3, longest + 1]: the same behind the last pair
    tempo_prices: Ints  # [1 or 4]: as written, by the medians, double, half
    lanes: Ints  # [16]: 0 for a transposition that is allowed, otherwise FARTHEST
