"""Seconds as note values: how a melody that was sung or played may be written.

People do not keep a tempo exactly, so the beat may move a little from note to note. Of all ways to write what was heard
the most plausible is taken: close to the times, with a steady beat, simple values, and long notes on beats. Beats of
two halves and beats of three are both tried, and the better is kept. The search page computes the same in the browser
(`rhythm.js`), and a test compares them.
"""

from __future__ import annotations

import numpy as np

from roslin.types import Floats

# Quarters, and how rare such notes are at the beginnings of melodies: minus the logarithm of their share in the RISM
# catalogue, counted from the eighth, the most frequent.
_VALUES = np.array([0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4])
_RARE = np.array([0.8, 0, 2.2, 0.3, 1.8, 1.2, 2.7, 2.7])
_QUICKEST, _SLOWEST = 0.25, 1.6  # seconds of a quarter
_TEMPO_STEP = 0.04  # between the tempos considered, as a share
_TEMPO_MOVES = 5  # steps that the tempo may change from note to note
_USUAL_QUARTER = 0.7  # seconds
_OF_TEMPO = 0.5  # how far tempos are from the usual one, as a logarithm
_OF_CHANGE = 0.07  # how much a tempo changes from note to note
_OF_LENGTH, _OF_ONSET = 0.09, 0.03  # how inexact a length is: a share of it, and seconds
_ACROSS = 1.2  # the price of a note that begins off the beat and sounds across the next
_UPBEAT = 0.6  # the price of beginning off the beat
_COMPOUND = 1  # the price of beats of three
_GRID = 0.25  # quarters between the places in a beat
_SIMPLE, _TRIPLE = 4, 6  # places in a beat
_LONGEST_NOTE = 4.0  # seconds; a longer time between two onsets is a pause, of the longest value at any tempo
_SHORTEST = 0.01  # seconds
_TOGETHER = 0.03  # seconds; notes that begin within it are a chord

_TEMPOS = _QUICKEST * np.exp(np.arange(np.ceil(np.log(_SLOWEST / _QUICKEST) / _TEMPO_STEP)) * _TEMPO_STEP)
_CHANGES = ((np.arange(-_TEMPO_MOVES, _TEMPO_MOVES + 1) * _TEMPO_STEP) / _OF_CHANGE) ** 2


def note_values(lengths: Floats) -> tuple[Floats, Floats]:
    """Lengths in seconds as note values: quarters, and the seconds of a quarter there.

    >>> note_values(np.array([0.5, 0.26, 0.25, 1.04]))[0].tolist()
    [1.0, 0.5, 0.5, 2.0]
    """
    lengths = np.maximum(lengths, _SHORTEST)
    (simple, *values), (compound, *triple) = (_followed(lengths, places) for places in (_SIMPLE, _TRIPLE))
    quarters, seconds = triple if compound + _COMPOUND < simple else values
    return quarters, seconds


def _followed(lengths: Floats, places: int) -> tuple[float, Floats, Floats]:
    """The cheapest way through the lengths in beats of this many places: its price, quarters, seconds of a quarter."""
    steps = np.rint(_VALUES / _GRID).astype(int)
    ends = np.arange(places)
    begins = (ends[None, :] - steps[:, None]) % places  # of a value that ends at a place
    across = np.where((begins > 0) & (begins + steps[:, None] > places), _ACROSS, 0.0)
    expected = _VALUES * _TEMPOS[:, None]
    costs = (np.log(_TEMPOS / _USUAL_QUARTER) / _OF_TEMPO)[:, None] ** 2 + np.where(ends > 0, _UPBEAT, 0.0)
    count = len(_TEMPOS)
    window = np.arange(count)[:, None] + np.arange(2 * _TEMPO_MOVES + 1)
    tempo, place = np.indices((count, places))
    moved_by, chosen = (np.empty((len(lengths), count, places), dtype=np.int8) for _ in range(2))
    for k, length in enumerate(lengths):
        spread = np.hypot(_OF_LENGTH, _OF_ONSET / np.minimum(length, expected))
        misses = (np.log(length / expected) / spread) ** 2 + _RARE
        if length > _LONGEST_NOTE:
            misses[:, :-1], misses[:, -1] = np.inf, 0.0
        padded = np.pad(costs, ((_TEMPO_MOVES, _TEMPO_MOVES), (0, 0)), constant_values=np.inf)
        changed = padded[window] + _CHANGES[:, None]
        moved_by[k] = changed.argmin(axis=1)
        least = np.take_along_axis(changed, moved_by[k][:, None].astype(int), axis=1)[:, 0]
        ways = least[:, begins] + misses[:, :, None] + across
        chosen[k] = ways.argmin(axis=1)
        costs = ways[tempo, chosen[k], place]
    here, at = (int(number) for number in np.unravel_index(costs.argmin(), costs.shape))
    price = float(costs[here, at])
    quarters, seconds = np.empty(len(lengths)), np.empty(len(lengths))
    for k in range(len(lengths) - 1, -1, -1):
        value = chosen[k, here, at]
        quarters[k], seconds[k] = _VALUES[value], _TEMPOS[here]
        at = int(begins[value, at])
        here += int(moved_by[k, here, at]) - _TEMPO_MOVES
    return price, quarters, seconds


def quarters_from_seconds(onsets: Floats, offsets: Floats) -> tuple[Floats, Floats]:
    """Onsets and durations in quarters of the notes of one melody, in the order of their onsets, from 0.

    A note lasts until the next begins, but for a silence that is most of a beat and longer than the note itself. Notes
    that begin together are a chord. A note that is held into later ones ends where one of them does.
    """
    if not len(onsets):
        return onsets, offsets
    is_new = np.concatenate([[True], np.diff(onsets) > _TOGETHER])
    chord = np.cumsum(is_new) - 1
    begins = onsets[is_new]
    last = np.maximum.reduceat(offsets, np.flatnonzero(is_new))
    lengths = np.append(np.diff(begins), last[-1] - begins[-1])
    quarters, seconds = note_values(lengths)
    starts = np.concatenate([[0.0], np.cumsum(quarters)])
    sounding = np.maximum(offsets - begins[chord], _SHORTEST)
    silence = lengths[chord] - sounding
    nearest = _VALUES[np.abs(np.log(_VALUES / (sounding / seconds[chord])[:, None])).argmin(axis=1)]
    is_rest = (silence > 0.75 * seconds[chord]) & (silence > sounding) & (nearest < quarters[chord])
    edges = np.append(begins, begins[-1] + lengths[-1])
    after = np.clip(np.searchsorted(edges, offsets), 1, len(edges) - 1)
    until = after - (offsets - edges[after - 1] < edges[after] - offsets)  # the edge closest to the end
    held = starts[np.maximum(until, chord + 1)] - starts[chord]
    return starts[chord], np.where(is_rest, nearest, held)
