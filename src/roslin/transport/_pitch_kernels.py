"""Numba kernels of the search: which transpositions of a document are possible at all.

1. Which pitches occur (`pitch_scan`). A document is one word, a bit for each semitone that occurs in it, counted from
   its lowest. Shifting that word by a query pitch lines up bit t with transposition t, so one operation tests 64
   transpositions. Query weight that has no document pitch within 0, 1, 2 semitones costs at least 1, 2, 3 semitones.
2. How much weight they have (`transpositions`). The lighter melody is moved completely. What it has below some pitch,
   more than the heavier has there, must cross that pitch; so must what it has above, more than the heavier has there.
   A lane for each transposition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel
from roslin.transport._lanes import LANES, add_excess, add_missing, no_lanes, within

__all__ = [
    "LARGEST",
    "LINE",
    "MOST_ROWS",
    "PITCH_LEVELS",
    "PITCH_STEPS",
    "RIM",
    "WIDEST",
    "Heights",
    "Place",
    "pitches_in_reach",
    "transpositions",
    "weight_below",
]

Integers = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.uint16]
Words = npt.NDArray[np.uint64]

# So many documents are tested together, which lets the compiler use wide registers.
BLOCK = 512
# Query weight without a document pitch so near costs 1, 2, 3 semitones, at least.
PITCH_LEVELS = 3
# The budget is cut into one part more than this: what fits into the six bits of the counters.
PITCH_STEPS = 63
# Transpositions are the bits of a word.
TRANSPOSITIONS = 64
# The widest spans of query and document together: transpositions must fit into a word, with room for PITCH_LEVELS.
WIDEST = 59
# So many semitones below and above a document count as pitches that weight may cross.
RIM = 8
MOST_ROWS = WIDEST + 2 * RIM + 1
# Numbers in one of the four lines of `Heights.weights`: lanes may begin at the last transposition of the last row.
LINE = MOST_ROWS + TRANSPOSITIONS - 1 + LANES
# The largest number of a lane.
LARGEST = (1 << 16) - 1

_U0, _U1, _U2, _U3, _U4, _U5 = (np.uint64(k) for k in range(6))
_B = np.uint64(BLOCK)
_COUNTER_BITS = 6
_K0, _K1, _K2, _K3, _K4, _K5 = (np.uint64((PITCH_LEVELS + k) * BLOCK) for k in range(_COUNTER_BITS))


class Place(NamedTuple):
    """Where one document is among the notes of all, and which pitches it has.

    start   its first note
    notes   how many it has
    low     its lowest pitch
    top     semitones from there to its highest
    """

    start: int
    notes: int
    low: int
    top: int


class Heights(NamedTuple):
    """The pitches of a query, counted in semitones from its lowest.

    span       the highest of them
    semitone   a semitone in units
    shifts     (different pitches,): how far the word of a document goes to the left for each
    steps      (different pitches, PITCH_LEVELS): what missing a level costs more than missing those inside it, in parts
               of the budget (PITCH_STEPS + 1 are the whole)
    weights    (4 * LINE,): the weight of the query at a pitch or below it, rounded down, that above it, rounded down,
               and both rounded up; from high pitches to low, so that a higher transposition is the next number
    parts      how many parts a unit of weight has in `weights`
    """

    span: int
    semitone: float
    shifts: Words
    steps: Integers
    weights: Shorts
    parts: float


@kernel
def pitches_in_reach(words: Words, heights: Heights) -> Words:
    """Stage 1, for all documents: at which transpositions enough of their pitches are those of the query.

    Bit `span of query + t` is the transposition that puts the query's lowest pitch t semitones above the document's
    lowest. A transposition that is not among them has no alignment within the budget.
    """
    count = len(words)
    left = np.empty((count + BLOCK - 1) // BLOCK * BLOCK, np.uint64)
    padded, work = np.zeros(BLOCK, np.uint64), np.empty((PITCH_LEVELS + _COUNTER_BITS) * BLOCK, np.uint64)
    for first in range(0, count, BLOCK):
        inside = words[first : first + BLOCK]
        if len(inside) < BLOCK:
            padded[: len(inside)] = inside
            inside = padded
        _pitch_scan(inside, heights.shifts, heights.steps, work, left[first : first + BLOCK])
    return left[:count]


@kernel
def _pitch_scan(words: Words, shifts: Words, steps: Integers, work: Words, alive: Words) -> None:
    """`pitches_in_reach` for BLOCK documents. The costs of 64 transpositions are counted bit by bit, side by side."""
    for q in range(BLOCK):
        p = np.uint64(q)
        word = words[p] << _U2  # two spare bits, for what lies below the lowest
        within = word | (word << _U1) | (word >> _U1)
        work[p] = word
        work[_B + p] = within
        work[_U2 * _B + p] = within | (within << _U1) | (within >> _U1)
        work[_K0 + p] = _U0
        work[_K1 + p] = _U0
        work[_K2 + p] = _U0
        work[_K3 + p] = _U0
        work[_K4 + p] = _U0
        work[_K5 + p] = _U0
        alive[p] = _U0  # for the time being: what is too dear
    for g in range(len(shifts)):
        shift = shifts[g]
        for level in range(PITCH_LEVELS):
            value = np.uint64(steps[g, level])
            if value == _U0:
                continue
            k0, k1, k2 = _U0 - (value & _U1), _U0 - ((value >> _U1) & _U1), _U0 - ((value >> _U2) & _U1)
            k3, k4, k5 = _U0 - ((value >> _U3) & _U1), _U0 - ((value >> _U4) & _U1), _U0 - ((value >> _U5) & _U1)
            base = np.uint64(level) * _B
            for q in range(BLOCK):
                p = np.uint64(q)
                missed = ~(work[base + p] << shift)
                a = missed & k0
                c = work[_K0 + p]
                work[_K0 + p] = c ^ a
                carry = c & a
                a = missed & k1
                c = work[_K1 + p]
                t = c ^ a
                work[_K1 + p] = t ^ carry
                carry = (c & a) | (carry & t)
                a = missed & k2
                c = work[_K2 + p]
                t = c ^ a
                work[_K2 + p] = t ^ carry
                carry = (c & a) | (carry & t)
                a = missed & k3
                c = work[_K3 + p]
                t = c ^ a
                work[_K3 + p] = t ^ carry
                carry = (c & a) | (carry & t)
                a = missed & k4
                c = work[_K4 + p]
                t = c ^ a
                work[_K4 + p] = t ^ carry
                carry = (c & a) | (carry & t)
                a = missed & k5
                c = work[_K5 + p]
                t = c ^ a
                work[_K5 + p] = t ^ carry
                alive[p] |= (c & a) | (carry & t)
    for q in range(BLOCK):
        work[_K0 + np.uint64(q)] = _U0
    for g in range(len(shifts)):
        shift = shifts[g]
        for q in range(BLOCK):
            p = np.uint64(q)
            work[_K0 + p] |= work[p] << shift
    for q in range(BLOCK):
        p = np.uint64(q)
        # At least one query pitch must lie on a document pitch, as in every alignment that is tried.
        alive[p] = (~alive[p] & work[_K0 + p]) >> _U2


@kernel
def weight_below(
    document: Place, pitches: npt.NDArray[np.int8], weights: npt.NDArray[np.float32], below: npt.NDArray[np.float64]
) -> float:
    """Fill in the weight of a document up to each pitch, from RIM below its lowest to RIM above its highest; all of it.

    `pitches` and `weights` are those of all documents.
    """
    start, m, low, top = document
    rows = top + 2 * RIM + 1
    for p in range(rows):
        below[p] = 0.0
    for j in range(start, start + m):
        below[int(pitches[j]) - low + RIM] += weights[j]
    total = 0.0
    for p in range(rows):
        total += below[p]
        below[p] = total
    return total


@kernel
def transpositions(
    words: np.uint64,
    top: int,
    is_light: bool,
    below: npt.NDArray[np.float64],
    scale: float,
    query_weights: Shorts,
    most: int,
) -> np.uint64:
    """Those of the transpositions in `words` at which the weight that must cross a pitch is not more than `most` parts.

    `is_light`: the document is lighter than the query. `below` are its weights from `weight_below`, of which one is
    `scale` parts; `top` is its span; `query_weights` are in `Heights`. Weights of the heavier melody are rounded up and
    those of the lighter down, so that never more must cross than really must; those of the query keep PART_ROUNDED
    (bounds.py) off, which is more than sums of fractions lose.
    """
    rows, total = top + 2 * RIM + 1, below[top + 2 * RIM] * scale
    left: np.uint64 = _U0
    for first in range(0, TRANSPOSITIONS, LANES):
        if (words >> np.uint64(first)) & np.uint64((1 << LANES) - 1) == _U0:
            continue
        crossing = no_lanes()
        for p in range(rows):
            under = below[p] * scale
            over, place = total - under, MOST_ROWS - 1 - p + first
            if is_light:
                crossing = add_missing(crossing, query_weights, 2 * LINE + place, int(under))
                crossing = add_missing(crossing, query_weights, 3 * LINE + place, int(over))
            else:
                crossing = add_excess(crossing, query_weights, place, int(min(under + 1.0, LARGEST)))
                crossing = add_excess(crossing, query_weights, LINE + place, int(min(over + 1.0, LARGEST)))
        left |= within(crossing, most) << np.uint64(first)
    return words & left
