"""Exact agreement: melodies that have every note of a query, and melodies whose every note the query has.

Agreement is a fact, whatever chance gives. Notes agree when the intervals between them are equal and, where rhythm
counts, their lengths are in the same proportion (the last note may be cut short or held). Where only rhythm or contour
is compared, too little agrees to call it the same notes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from roslin.matchers.roslin.roslin import Roslin

if TYPE_CHECKING:
    from roslin.matchers.roslin._alignment import Encoded

__all__ = ["LEAST_SAME", "same_notes"]

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LEAST_SAME = 4  # notes; fewer are in nearly every melody


def same_notes(query: Encoded, melodies: Encoded, chosen: Roslin, compared: str) -> Numbers:
    """For each melody, how many notes it and the query have in common if they agree on all of them; otherwise 0.

    All of them are the notes of the shorter one, which must be side by side in the longer.
    """
    size, sizes = len(query.pitches), np.diff(melodies.offsets)
    same = np.zeros(len(sizes), np.int64)
    if compared not in ("both", "melody"):
        return same
    if size >= LEAST_SAME:
        same[_has_all(query, melodies, chosen, compared)] = size
    if chosen.place != "whole":
        is_part = _is_part(query, melodies, chosen, compared) & (sizes >= LEAST_SAME) & (sizes < size)
        same[is_part] = sizes[is_part]
    return same


def _has_all(query: Encoded, melodies: Encoded, chosen: Roslin, compared: str) -> Numbers:
    """The melodies that have every note of the query."""
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
            at = at[_ratio(melodies, at + step, at) == _ratio(query, step, 0)]
    return np.unique(np.searchsorted(melodies.offsets, at, side="right") - 1)


def _is_part(query: Encoded, melodies: Encoded, chosen: Roslin, compared: str) -> Flags:
    """For each melody, whether the query has every note of it."""
    size, sizes, firsts = len(query.pitches), np.diff(melodies.offsets), melodies.offsets[:-1]
    found = np.zeros(len(sizes), bool)
    for begin in range(1 if chosen.place == "start" else size):
        left = np.flatnonzero(~found & (sizes > 0) & (sizes <= size - begin))
        if chosen.place == "end":
            left = left[sizes[left] == size - begin]
        if chosen.key == "written":
            left = left[melodies.pitches[firsts[left]] == query.pitches[begin]]
        step = 1
        while len(left):
            ended = sizes[left] == step
            found[left[ended]] = True
            left = left[~ended]
            if begin + step >= size:
                break
            left = left[melodies.intervals[firsts[left] + step] == query.intervals[begin + step]]
            if compared == "both":
                is_last = sizes[left] == step + 1
                agrees = _ratio(melodies, firsts[left] + step, firsts[left]) == _ratio(query, begin + step, begin)
                left = left[is_last | agrees]
            step += 1
    return found


def _ratio(melodies: Encoded, at: Numbers | int, first: Numbers | int) -> npt.NDArray[np.int16]:
    """How much longer a note is than the first, in quarters of an octave of time."""
    return np.asarray(melodies.values[at].astype(np.int16) - melodies.values[first].astype(np.int16))
