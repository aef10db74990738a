"""Compiled loops. Arrays in, numbers out; imported only when one of them is called."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

__all__ = ["best_key", "keys_around", "metrical_stress", "next_top", "top_rows", "weighted_edit_distance"]

Numbers = npt.NDArray[np.int64]


@kernel
def weighted_edit_distance(
    query: npt.NDArray[np.uint8],
    candidate: npt.NDArray[np.uint8],
    insertion: float,
    deletion: float,
    replacement: npt.NDArray[np.float64],
) -> float:
    """The cheapest way to turn `query` into `candidate`; `replacement[a, b]` is the cost of b in place of a."""
    row = np.empty(candidate.size + 1)
    row[0] = 0.0
    for j in range(candidate.size):
        row[j + 1] = row[j] + insertion
    for i in range(query.size):
        diagonal = row[0]
        row[0] += deletion
        for j in range(candidate.size):
            above = row[j + 1]
            best = diagonal + replacement[query[i], candidate[j]]
            if above + deletion < best:
                best = above + deletion
            if row[j] + insertion < best:
                best = row[j] + insertion
            row[j + 1] = best
            diagonal = above
    return float(row[candidate.size])


@kernel
def next_top(
    row: int, end: int, onset_ticks: Numbers, pitch_midi: npt.NDArray[np.int16], is_grace: npt.NDArray[np.bool_]
) -> tuple[int, int]:
    """(the first highest note at the next onset, the row after that onset), from `row` on; (-1, end) if none is left.

    This is the rule of `line.py`: grace notes do not count.
    """
    while row < end and is_grace[row]:
        row += 1
    if row == end:
        return -1, end
    top, onset, highest = row, onset_ticks[row], pitch_midi[row]
    row += 1
    while row < end and (onset_ticks[row] == onset or is_grace[row]):
        if pitch_midi[row] > highest and not is_grace[row]:
            top, highest = row, pitch_midi[row]
        row += 1
    return top, row


@kernel
def top_rows(
    onset_ticks: Numbers, pitch_midi: npt.NDArray[np.int16], is_grace: npt.NDArray[np.bool_], offsets: Numbers
) -> tuple[Numbers, Numbers]:
    """(rows, where each line starts among them): the first highest note at each onset, without grace notes."""
    rows = np.empty(len(onset_ticks), np.int64)
    starts = np.empty(len(offsets), np.int64)
    starts[0] = 0
    count = 0
    for k in range(len(offsets) - 1):
        row, end = offsets[k], offsets[k + 1]
        while row < end:
            top, row = next_top(row, end, onset_ticks, pitch_midi, is_grace)
            if top >= 0:
                rows[count] = top
                count += 1
        starts[k + 1] = count
    return rows[:count].copy(), starts


@kernel
def best_key(agreement: npt.NDArray[Any], first: int, margin: float) -> int:
    """The number of the key (represent/keys.py) that agrees best, or less than that by at most `margin`.

    Of equals, major before minor, then the tonic that comes next above the pitch class `first`: so the key of a
    transposed melody is the transposed key.
    """
    least = agreement.max() - margin
    for mode in range(2):
        for step in range(12):
            key = 12 * mode + (first + step) % 12
            if agreement[key] >= least:
                return key
    return first


@kernel
def keys_around(
    times: npt.NDArray[np.float64],
    classes: Numbers,
    weights: npt.NDArray[np.float64],
    offsets: Numbers,
    reach: int,
    directions: npt.NDArray[np.float64],
) -> Numbers:
    """The key around each note (represent/keys.py): of the notes at so many onsets before and after, and at its own.

    `classes` are pitch classes, `directions` (24, 12) what they are correlated with.
    """
    keys = np.empty(len(times), np.int64)
    agreement, sounding = np.empty(24), np.empty(12)
    starts = np.empty(len(times) + 1, np.int64)
    for k in range(len(offsets) - 1):
        onsets = 0
        for i in range(offsets[k], offsets[k + 1]):
            if i == offsets[k] or times[i] != times[i - 1]:
                starts[onsets] = i
                onsets += 1
        starts[onsets] = offsets[k + 1]
        for onset in range(onsets):
            begin, end = starts[max(onset - reach, 0)], starts[min(onset + reach + 1, onsets)]
            sounding[:] = 0.0
            for i in range(begin, end):
                sounding[classes[i]] += weights[i]
            for key in range(24):
                agreement[key] = (directions[key] * (sounding - sounding.mean())).sum()
            found = best_key(agreement, classes[begin], 1e-9 * (1.0 + sounding.sum()))
            keys[starts[onset] : starts[onset + 1]] = found
    return keys


# Parts of a bar, the strongest last: a note at a multiple of 1/parts has this stress.
_STRESS = ((6, 0.25), (4, 0.25), (3, 0.5), (2, 0.5), (1, 1.0))
_WEAKEST = 0.125


@kernel
def metrical_stress(
    onset: Numbers, stop: Numbers, offsets: Numbers, barlines: Numbers, bar_offsets: Numbers, bar_without_lines: int
) -> npt.NDArray[np.float64]:
    """The stress of every note (represent/points.py), from 1/8 to 1. Onsets rise; `stop` is where each note ends."""
    stress = np.full(len(onset), _WEAKEST)
    most = 0
    for k in range(len(offsets) - 1):
        most = max(most, bar_offsets[k + 1] - bar_offsets[k])
    lines, lengths = np.zeros(most + 1, np.int64), np.empty(most + 1, np.int64)
    for k in range(len(offsets) - 1):
        bars = _sort_lines(barlines[bar_offsets[k] : bar_offsets[k + 1]], lines)
        for bar in range(bars - 1):
            lengths[bar] = lines[bar + 1] - lines[bar]
        lengths[bars - 1] = bar_without_lines
        pick_up = 0
        if bars > 1:
            end = stop[offsets[k] : offsets[k + 1]].max() if offsets[k + 1] > offsets[k] else 0
            usual = _most_frequent(lengths[1 : bars - 1]) if bars > 2 else max(lengths[0], end - lines[1])
            pick_up = max(usual - lengths[0], 0)
            lengths[0], lengths[bars - 1] = max(lengths[0], usual), usual
        bar = 0
        for i in range(offsets[k], offsets[k + 1]):
            while bar + 1 < bars and lines[bar + 1] <= onset[i]:
                bar += 1
            into = onset[i] - lines[bar] + (pick_up if bar == 0 else 0)
            for parts, value in _STRESS:
                if into * parts % lengths[bar] == 0:
                    stress[i] = value
    return stress


@kernel
def _sort_lines(barlines: Numbers, lines: Numbers) -> int:
    """Where bars begin, each place once and in order, into `lines`, after the 0 that is there; gives their number."""
    count = 1
    for line in barlines:
        place = count
        while lines[place - 1] > line:
            place -= 1
        if lines[place - 1] != line:
            lines[place + 1 : count + 1] = lines[place:count].copy()
            lines[place] = line
            count += 1
    return count


@kernel
def _most_frequent(lengths: Numbers) -> int:
    """The most frequent length, the longest of several."""
    best, most = lengths[0], 0
    for length in lengths:
        if most > 0 and length == best:
            continue
        times = 0
        for other in lengths:
            times += other == length
        if times > most or (times == most and length > best):
            best, most = length, times
    return int(best)
