"""Two kinds of evidence beside an alignment: exact agreement of notes, and notes that coincide in time.

Agreement is a fact, whatever is expected by chance. Notes agree if the intervals between them are equal and, where
rhythm counts, their lengths are in the same proportion (the last note may be cut short or held). Where only rhythm or
contour is compared, too little agrees to call them the same notes, unless both melodies are the same throughout. A
melody that has all of the query, or with which the query begins, has everything of it that it could have. One that is a
passage from within the query has the same notes too, unless as many such passages are expected by chance.

Coinciding notes find tunes that are ornamented, reduced or have another voice. The alignment of `roslin` pays for every
note that only one of two melodies has. `p2` moves the query in time and pitch to where most notes coincide, so a turn
on every long note leaves the notes of the tune in place. The search uses it if the alignment finds nothing certain
(`is_certain`), for queries of at least `LEAST_COINCIDING` notes. Its null model is the sample of melodies that the
alignment is compared with (`roslin.search.chance`). With the median m of their distances and the distance s from there
to the nearest tenth of them,

    ln p = ln TAIL_SHARE - ((m - distance) / s - BEGIN) / SCALE        for distances below m - BEGIN s

BEGIN and SCALE are the same for queries of 13 to 45 notes, among incipits and songs alike. They were measured with
decoys: shuffled, inverted and foreign melodies. A melody has two chances to be found, so its expected chance matches
are multiplied by `DOUBT`, and only those that stay below one are believed. They replace a higher E of the alignment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.matchers import P2, Matcher, Roslin
from roslin.melody import Melody
from roslin.represent.packed import Packed
from roslin.run import Run
from roslin.run.meaning import BY_CHANCE, CLOSE
from roslin.search.chance import TAIL_SHARE
from roslin.types import Distances, Flags, Floats, Numbers

if TYPE_CHECKING:
    from roslin.matchers.roslin.scores import Encoded
    from roslin.matchers.roslin.table import MelodyTable


COINCIDING = P2()
LEAST_COINCIDING = 13  # fewer coincide too often by chance
_LEAST_SAMPLED = 100  # melodies; of fewer, the nearest tenth may be relatives of the query
_NEAREST = 0.1
_BEGIN, _SCALE = 1.77, 0.43
_DOUBT = 10.0  # chosen on the choosing share


def can_ask(query: Melody, chosen: Matcher) -> bool:
    """Whether notes that coincide can be asked for: melody and rhythm may count, anywhere, in any key.

    A tune reduced to its beats is often in equal values. `auto` then compares the melody alone, but they were meant.
    """
    return (
        type(chosen) is Roslin
        and (chosen.place, chosen.key) == ("anywhere", "any")
        and chosen.compare in ("auto", "both")
        and int(np.count_nonzero(~query.notes["is_grace"])) >= LEAST_COINCIDING
    )


def is_certain(agreeing: int, expected: float) -> bool:
    """Whether the alignment has found the tune: melodies with all notes of the query, or a first one with this E."""
    return agreeing > 0 or expected <= CLOSE


def has_certain(run: Run) -> bool:
    """The same for the list of a search."""
    (ranking,) = run.rankings.values()
    return is_certain(ranking.agreeing, min(ranking.expected or (np.inf,)))


def evidence_of(distances: Distances, sampled: Distances, searched: int) -> Floats:
    """Minus the logarithm (to base 10) of the expected chance matches; minus infinity where it is not believed."""
    if len(sampled) < _LEAST_SAMPLED:
        return np.full(len(distances), -np.inf)
    middle, near = np.quantile(sampled, (0.5, _NEAREST))
    if middle <= near:
        return np.full(len(distances), -np.inf)
    above = (middle - distances) / (middle - near) - _BEGIN
    evidence = (above / _SCALE - np.log(_DOUBT * TAIL_SHARE * searched)) / np.log(10)
    return np.where((above > 0) & (evidence >= -np.log10(BY_CHANCE)), evidence, -np.inf)


LEAST_SAME = 4  # notes; fewer are in nearly every melody
# Differences of note values, in quarters of an octave of time: by rounding of both, and of the logarithm alone.
_ROUNDED, _EXACT = 1.0, 1e-6


class Agreement(NamedTuple):
    """For each melody: on how many notes it agrees with the query, if one of the two has no others, else 0."""

    notes: Numbers
    is_full: Flags  # it has all of the query, or the query begins with it (where both end together: ends with it)

    def of(self, which: Numbers) -> Agreement:
        return Agreement(self.notes[which], self.is_full[which])


def same_notes(query: Melody, table: MelodyTable, packed: Packed, among: Numbers, chosen: Roslin) -> Agreement:
    """Which of some melodies agree with a query. All notes of the shorter one must be side by side in the longer.

    The table has rounded note values; what agrees by them is compared once more without rounding.
    """
    from roslin.matchers.roslin.table import encoded, unrounded

    compared = chosen.compared(query)
    if compared not in ("both", "melody"):
        asked, same = unrounded([query]), np.zeros(len(among), np.int64)
        alike = np.flatnonzero(table.sizes[among] == len(asked.pitches))
        throughout = Roslin(place="whole", key=chosen.key)
        same[alike] = _agreement(asked, unrounded(packed.take(among[alike])), throughout, "both", _EXACT).notes
        return Agreement(same, same > 0)
    found = _agreement(encoded([query]), table.take(among), chosen, compared, _ROUNDED)
    if compared == "both" and found.notes.any():
        left = np.flatnonzero(found.notes)
        exact = _agreement(unrounded([query]), unrounded(packed.take(among[left])), chosen, compared, _EXACT)
        found.notes[left], found.is_full[left] = exact
    return found


def _agreement(query: Encoded, melodies: Encoded, chosen: Roslin, compared: str, apart: float) -> Agreement:
    size, sizes = len(query.pitches), np.diff(melodies.offsets)
    same, is_full = np.zeros(len(sizes), np.int64), np.zeros(len(sizes), bool)
    if chosen.place != "whole":
        for begin in range(size - LEAST_SAME):
            left = np.flatnonzero((same == 0) & (sizes >= LEAST_SAME))
            is_part = _is_part(query, begin, left, melodies, chosen, compared, apart)
            same[is_part] = sizes[is_part]
            is_full[is_part] = begin == 0 or chosen.place == "end"
    if size >= LEAST_SAME:
        has_all = _has_all(query, melodies, chosen, compared, apart)
        same[has_all], is_full[has_all] = size, True
    return Agreement(same, is_full)


def _has_all(query: Encoded, melodies: Encoded, chosen: Roslin, compared: str, apart: float) -> Numbers:
    size, sizes = len(query.pitches), np.diff(melodies.offsets)
    firsts, room = melodies.offsets[:-1], sizes - size
    long_enough = np.flatnonzero(room == 0 if chosen.place == "whole" else room >= 0)
    if chosen.place in ("start", "whole"):
        at = firsts[long_enough]
    elif chosen.place == "end":
        at = firsts[long_enough] + room[long_enough]
    else:
        places = room[long_enough] + 1
        at = np.repeat(firsts[long_enough] - np.append(0, np.cumsum(places)[:-1]), places) + np.arange(places.sum())
    if chosen.key == "written":
        at = at[melodies.pitches[at] == query.pitches[0]]
    for step in range(1, size):
        at = at[melodies.intervals[at + step] == query.intervals[step]]
        if compared == "both" and step < size - 1:
            at = at[np.abs(_ratio(melodies, at + step, at) - _ratio(query, step, 0)) <= apart]
    return np.unique(np.searchsorted(melodies.offsets, at, side="right") - 1)


def _is_part(
    query: Encoded, begin: int, among: Numbers, melodies: Encoded, chosen: Roslin, compared: str, apart: float
) -> Numbers:
    """Of these melodies, those that are all of the query from one of its notes on, as far as they go."""
    size, sizes, firsts = len(query.pitches), np.diff(melodies.offsets), melodies.offsets[:-1]
    left = among[sizes[among] < size] if begin == 0 else among[sizes[among] <= size - begin]
    if chosen.place == "end":
        left = left[sizes[left] == size - begin]
    elif chosen.place == "start" and begin:
        return left[:0]
    if chosen.key == "written":
        left = left[melodies.pitches[firsts[left]] == query.pitches[begin]]
    found, step = [], 1
    while len(left):
        ended = sizes[left] == step
        found.append(left[ended])
        left = left[~ended]
        if begin + step >= size:
            break
        left = left[melodies.intervals[firsts[left] + step] == query.intervals[begin + step]]
        if compared == "both":
            is_last = sizes[left] == step + 1
            longer = _ratio(melodies, firsts[left] + step, firsts[left]) - _ratio(query, begin + step, begin)
            left = left[is_last | (np.abs(longer) <= apart)]
        step += 1
    return np.concatenate([*found, np.empty(0, np.int64)]).astype(np.int64)


def _ratio(melodies: Encoded, at: Numbers | int, first: Numbers | int) -> npt.NDArray[np.float64]:
    """How much longer a note is than the first, in quarters of an octave of time."""
    return np.asarray(melodies.values[at].astype(np.float64) - melodies.values[first])
