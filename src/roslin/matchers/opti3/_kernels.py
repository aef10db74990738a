"""Numba kernels of the measures that `fm` is made of: one query, all candidates, one pass.

All return distances from 0 to 1. Two strings that are both empty are alike.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel
from roslin.matchers.edit._string_kernels import edit_distance, masks_of
from roslin.represent._kernels import best_key

__all__ = [
    "BAR_WITHOUT_LINES",
    "RHYTHM_CLASSES",
    "bar_keys",
    "harmony_distances",
    "interval_distances",
    "pitch_distances",
    "rhythm_classes",
    "rhythm_distances",
    "shared_grams",
]

RHYTHM_CLASSES = 5
_LARGEST = 127
_SIZES = 2 * _LARGEST + 1
_KEYS = 24
# Where no bar line is given, four quarters count as a bar (points.py does the same).
BAR_WITHOUT_LINES = 4 * 40320
_EMPTY = -1

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Pitches = npt.NDArray[np.int16]


@kernel
def _longest(offsets: Numbers) -> int:
    longest = 0
    for k in range(len(offsets) - 1):
        longest = max(longest, offsets[k + 1] - offsets[k])
    return longest


@kernel
def _share(distance: int, m: int, n: int) -> float:
    return distance / max(m, n) if max(m, n) > 0 else 0.0


# -- n-grams of intervals ---------------------------------------------------------------------------------------------


@kernel
def _slot(table: Numbers, gram: int) -> int:
    """Where a gram is in the table, or would be put; the size of the table is a power of two."""
    place = (gram ^ (gram >> 7) ^ (gram >> 21)) & (len(table) - 1)
    while table[place] != _EMPTY and table[place] != gram:
        place = (place + 1) & (len(table) - 1)
    return place


@kernel
def shared_grams(
    query: Pitches, pitch: Pitches, offsets: Numbers, length: int
) -> tuple[Numbers, Numbers, Numbers, int]:
    """(common, in both, grams, grams of the query), the first three for every candidate.

    With f the number of times that a gram of `length` intervals occurs: the sum over grams of the smaller f; the sum of
    both f over the grams that both melodies have; and how many grams there are.
    """
    size = 16
    while size < 4 * len(query):
        size *= 2
    table, asked, found = np.full(size, _EMPTY, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    used = np.empty(max(_longest(offsets), 1), np.int64)
    wraps = 1
    for _ in range(length):
        wraps *= _SIZES
    gram = 0
    for note in range(1, len(query)):
        gram = (gram * _SIZES + query[note] - query[note - 1] + _LARGEST) % wraps
        if note >= length:
            place = _slot(table, gram)
            table[place] = gram
            asked[place] += 1
    count = len(offsets) - 1
    common, both, grams = np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.int64)
    for k in range(count):
        start, end = offsets[k], offsets[k + 1]
        grams[k] = max(end - start - length, 0)
        gram, places = 0, 0
        for note in range(start + 1, end):
            gram = (gram * _SIZES + pitch[note] - pitch[note - 1] + _LARGEST) % wraps
            if note - start >= length:
                place = _slot(table, gram)
                if table[place] == gram:
                    if found[place] == 0:
                        used[places] = place
                        places += 1
                    found[place] += 1
        for place in used[:places]:
            common[k] += min(asked[place], found[place])
            both[k] += asked[place] + found[place]
            found[place] = 0
    return common, both, grams, max(len(query) - length, 0)


# -- strings ----------------------------------------------------------------------------------------------------------


@kernel
def interval_distances(query: Pitches, pitch: Pitches, offsets: Numbers) -> Array:
    """Edit distance of the intervals, by the longer of the two."""
    m = max(len(query) - 1, 0)
    asked = np.empty(m, np.int64)
    for i in range(m):
        asked[i] = np.int64(query[i + 1]) - query[i] + _LARGEST
    masks = masks_of(asked, _SIZES)
    up, down = np.empty(masks.shape[1], np.uint64), np.empty(masks.shape[1], np.uint64)
    text = np.empty(_longest(offsets), np.int64)
    distances = np.empty(len(offsets) - 1)
    for k in range(len(offsets) - 1):
        start = offsets[k]
        n = max(offsets[k + 1] - start - 1, 0)
        for j in range(n):
            text[j] = np.int64(pitch[start + j + 1]) - pitch[start + j] + _LARGEST
        distances[k] = _share(edit_distance(masks, m, text, n, up, down), m, n)
    return distances


@kernel
def _twice_the_median(values: Pitches, room: Numbers) -> int:
    """Twice the median, a whole number; `room` is changed."""
    n = len(values)
    for i in range(n):
        room[i] = values[i]
    ordered = np.sort(room[:n])
    return int(ordered[(n - 1) // 2] + ordered[n // 2])


@kernel
def pitch_distances(query: Pitches, pitch: Pitches, offsets: Numbers, lowest: int, highest: int) -> Array:
    """Edit distance of the pitches above the lowest note, by the longer of the two, in the best transposition.

    Transpositions go from `lowest` to `highest`; the difference of the medians is one more.
    """
    m = len(query)
    bottom, span = int(query.min()), int(query.max() - query.min())
    masks = masks_of(query.astype(np.int64) - bottom, span + 1)
    up, down = np.empty(masks.shape[1], np.uint64), np.empty(masks.shape[1], np.uint64)
    room = np.empty(max(_longest(offsets), m), np.int64)
    median = _twice_the_median(query, room) - 2 * bottom
    text = np.empty(len(room), np.int64)
    distances = np.ones(len(offsets) - 1)
    for k in range(len(offsets) - 1):
        notes = pitch[offsets[k] : offsets[k + 1]]
        n = len(notes)
        if n == 0:
            continue
        low = int(notes.min())
        between = (_twice_the_median(notes, room) - 2 * low - median) // 2
        best = max(m, n)
        for step in range(lowest, highest + 2):
            shift = between if step > highest else step
            if step > highest and lowest <= between <= highest:
                continue
            for j in range(n):
                symbol = notes[j] - low - shift
                text[j] = symbol if 0 <= symbol <= span else span + 1
            best = min(best, edit_distance(masks, m, text, n, up, down))
        distances[k] = best / max(m, n)
    return distances


# -- rhythm -----------------------------------------------------------------------------------------------------------


@kernel
def rhythm_classes(onsets: Numbers, beat: float, room: Numbers, classes: Numbers) -> int:
    """Times between onsets as classes, 0 (much shorter than a beat) to 4; how many there are. Beat 0: the median."""
    n = max(len(onsets) - 1, 0)
    for j in range(n):
        room[j] = onsets[j + 1] - onsets[j]
    if beat <= 0.0 and n > 0:
        beat = float(np.sort(room[:n])[(n - 1) // 2])
    for j in range(n):
        share = room[j] / beat
        classes[j] = 4 if share > 3.3 else 3 if share > 1.8 else 2 if share > 0.9 else 1 if share > 0.45 else 0
    return n


@kernel
def rhythm_distances(query: Numbers, onsets: Numbers, offsets: Numbers, beat: float) -> Array:
    """Edit distance of the classes of times between onsets, by the longer of the two."""
    size = max(_longest(offsets), len(query))
    text, room = np.empty(size, np.int64), np.empty(size, np.int64)
    m = rhythm_classes(query, beat, room, text)
    masks = masks_of(text[:m], RHYTHM_CLASSES)
    up, down = np.empty(masks.shape[1], np.uint64), np.empty(masks.shape[1], np.uint64)
    distances = np.empty(len(offsets) - 1)
    for k in range(len(offsets) - 1):
        n = rhythm_classes(onsets[offsets[k] : offsets[k + 1]], beat, room, text)
        distances[k] = _share(edit_distance(masks, m, text, n, up, down), m, n)
    return distances


# -- harmony ----------------------------------------------------------------------------------------------------------


@kernel
def bar_keys(onsets: Numbers, pitches: Pitches, lines: Numbers, profiles: Numbers, keys: Numbers) -> int:
    """One key for each bar in which a note starts; how many there are. `profiles[c]`: what class c adds to 24 keys."""
    agreement = np.zeros(_KEYS, np.int64)
    bars, line, bar, first = 0, 0, np.int64(-1), 0
    for note in range(len(onsets)):
        if len(lines):
            while line < len(lines) and lines[line] <= onsets[note]:
                line += 1
            own = np.int64(line)
        else:
            own = onsets[note] // BAR_WITHOUT_LINES
        if own != bar:
            if bar >= 0:
                keys[bars] = best_key(agreement, first, 0)
                bars += 1
                agreement[:] = 0
            bar, first = own, pitches[note] % 12
        agreement += profiles[pitches[note] % 12]
    if bar >= 0:
        keys[bars] = best_key(agreement, first, 0)
        bars += 1
    return bars


@kernel
def harmony_distances(
    query_onsets: Numbers,
    query_pitches: Pitches,
    query_lines: Numbers,
    onsets: Numbers,
    pitches: Pitches,
    offsets: Numbers,
    lines: Numbers,
    line_offsets: Numbers,
    profiles: Numbers,
) -> Array:
    """Edit distance of the keys of the bars, by the longer of the two, in the best of the twelve transpositions."""
    size = max(_longest(offsets), len(query_onsets))
    keys, text = np.empty(size, np.int64), np.empty(size, np.int64)
    m = bar_keys(query_onsets, query_pitches, query_lines, profiles, keys)
    masks = masks_of(keys[:m], _KEYS)
    up, down = np.empty(masks.shape[1], np.uint64), np.empty(masks.shape[1], np.uint64)
    distances = np.empty(len(offsets) - 1)
    for k in range(len(offsets) - 1):
        notes = slice(offsets[k], offsets[k + 1])
        own_lines = lines[line_offsets[k] : line_offsets[k + 1]]
        n = bar_keys(onsets[notes], pitches[notes], own_lines, profiles, keys)
        best = max(m, n)
        for shift in range(12):
            for j in range(n):
                text[j] = keys[j] // 12 * 12 + (keys[j] + shift) % 12
            best = min(best, edit_distance(masks, m, text, n, up, down))
        distances[k] = _share(best, m, n)
    return distances
