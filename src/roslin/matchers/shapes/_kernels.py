"""Numba kernels of `shapeh` and `time`: alignment of n-grams, many documents side by side.

Documents are put into blocks of `LANES`, shortest first, so that those of a block are about equally long, and all of
a block are aligned with the query at once: every step of the innermost loops is the same for each document, which
lets the compiler use wide registers. The shorter documents of a block are filled up with grams that cost nothing to
leave out and never match: with these, M(i, j) = M(i, n) for every j beyond the end n, and no score changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel

__all__ = [
    "CODES",
    "LANES",
    "LARGEST_INTERVAL",
    "PADDING",
    "PairBlocks",
    "PairQuery",
    "Worth",
    "interval_pairs",
    "shape_scores",
    "time_pairs",
    "time_scores",
]

# Documents in a block.
LANES = 64
# Two intervals of up to 127 semitones, up or down, are a number of 16 bits; the largest is not among them and fills up.
CODES = 65536
PADDING = 65535
LARGEST_INTERVAL = 127
_SIZES = 2 * LARGEST_INTERVAL + 1
_SAME_TIME = 1000.0  # lengths that agree to so many parts are the same
_NEVER = 1e9  # a control value that no melody comes near

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.uint16]


@kernel
def interval_pairs(pitch: npt.NDArray[np.int16], offsets: Numbers, order: Numbers) -> tuple[Codes, Numbers, Numbers]:
    """(codes, starts, counts): two intervals in one number, for each note that two others follow.

    Block k is rows starts[k] to starts[k + 1] of `codes`, with the grams of the documents `order[k * LANES:]` in its
    columns. `counts` says how often each code occurs.
    """
    blocks = (len(order) + LANES - 1) // LANES
    starts = np.zeros(blocks + 1, np.int64)
    for block in range(blocks):
        longest = 0
        for k in order[block * LANES : (block + 1) * LANES]:
            longest = max(longest, offsets[k + 1] - offsets[k] - 2)
        starts[block + 1] = starts[block] + longest
    codes = np.full((starts[-1], LANES), PADDING, np.uint16)
    counts = np.zeros(CODES, np.int64)
    for place in range(len(order)):
        k = order[place]
        row, lane = starts[place // LANES], place % LANES
        for note in range(offsets[k], offsets[k + 1] - 2):
            first = np.int64(pitch[note + 1]) - pitch[note] + LARGEST_INTERVAL
            second = np.int64(pitch[note + 2]) - pitch[note + 1] + LARGEST_INTERVAL
            code = first * _SIZES + second
            codes[row, lane] = code
            counts[code] += 1
            row += 1
    return codes, starts, counts


@kernel
def _start(columns: Array, best: Array, gaps: Array, floor: float) -> None:
    """M(i, 0) for every document of a block."""
    columns[0, :] = 0.0
    for i in range(len(gaps)):
        columns[i + 1, :] = max(columns[i, 0] + gaps[i], floor)
    best[:] = -np.inf


class PairBlocks(NamedTuple):
    """The documents as `interval_pairs` puts them together, and what a pair of intervals is worth.

    codes         (rows, LANES): a document in each column of a block
    starts        (blocks + 1,): rows starts[k] to starts[k + 1] are block k
    gap_of_code   (CODES,): the score of a pair that is left out
    classes       (CODES,): which kind of shape each pair has
    """

    codes: Codes
    starts: Numbers
    gap_of_code: Array
    classes: npt.NDArray[np.uint8]


class PairQuery(NamedTuple):
    """The pairs of intervals of a query, in order; all but the last field are (m,).

    codes     the pairs
    match     the score of each where it is found
    gap       the score of each where it is left out
    kinds     which kind of shape each has
    needed    (kinds,): the different kinds among them
    """

    codes: Numbers
    match: Array
    gap: Array
    kinds: Numbers
    needed: Numbers


@kernel
def shape_scores(blocks_of: PairBlocks, asked: PairQuery, mismatch: Array, floor: float, takes_best: bool) -> Array:
    """The score of every document, in the order of the blocks.

    `mismatch[a, b]` is the score of two pairs of the kinds a and b. No score falls below the floor. The best score
    anywhere counts (`takes_best`), or that at the end of both.
    """
    codes, starts, gap_of_code, class_of_code = blocks_of
    query, match, gap, query_class, classes_needed = asked
    m, blocks = len(query), len(starts) - 1
    scores = np.empty((blocks, LANES))
    columns, best = np.empty((m + 1, LANES)), np.empty(LANES)
    diagonal, gap_here = np.empty(LANES), np.empty(LANES)
    code_here = np.empty(LANES, np.int64)
    class_here = np.empty(LANES, np.int64)
    mismatch_here = np.empty((len(mismatch), LANES))
    for block in range(blocks):
        _start(columns, best, gap, floor)
        for row in range(starts[block], starts[block + 1]):
            for lane in range(LANES):
                code = codes[row, lane]
                code_here[lane] = code
                gap_here[lane] = gap_of_code[code]
                class_here[lane] = class_of_code[code]
            for c in classes_needed:
                for lane in range(LANES):
                    mismatch_here[c, lane] = mismatch[c, class_here[lane]]
            for lane in range(LANES):
                diagonal[lane] = columns[0, lane]
                columns[0, lane] = max(columns[0, lane] + gap_here[lane], floor)
            for i in range(m):
                wanted, gain, loss, c = query[i], match[i], gap[i], query_class[i]
                for lane in range(LANES):
                    left = columns[i + 1, lane]
                    cost = gain if code_here[lane] == wanted else mismatch_here[c, lane]
                    value = max(diagonal[lane] + cost, left + gap_here[lane])
                    value = max(max(value, columns[i, lane] + loss), floor)
                    diagonal[lane] = left
                    columns[i + 1, lane] = value
                    best[lane] = max(best[lane], value)
        scores[block] = best if takes_best else columns[m]
    return scores.ravel()


@kernel(error_model="numpy")
def _variation(x: float, y: float, z: float) -> float:
    """How much the curve with the control values (0, x, y, z) rises and falls in all.

    Its derivative is half of a*u*u + b*u + c. Between 0, the roots of that, and 1 the curve only rises or only falls.
    Without branches: a root that does not exist or lies outside becomes an end, where it adds nothing.
    """
    a, b, c = 3.0 * (x - y) + z, 2.0 * y - 4.0 * x, y
    root = np.sqrt(max(b * b - 4.0 * a * c, 0.0))
    q = -0.5 * (b + (root if b >= 0.0 else -root))
    one = q / a if a != 0.0 else 0.0
    other = c / q if q != 0.0 else 0.0
    one, other = min(max(one, 0.0), 1.0), min(max(other, 0.0), 1.0)
    early, late = min(one, other), max(one, other)
    half, third = 0.5 * b, a / 3.0
    at_early = early * (c + early * (half + early * third))
    at_late = late * (c + late * (half + late * third))
    return float(0.5 * (abs(at_early) + abs(at_late - at_early) + abs(c + half + third - at_late)))


@kernel(error_model="numpy")
def _curve(pitch: npt.NDArray[np.int16], duration: Numbers, note: int, lane: int, curves: Array) -> None:
    """The control values of four notes, relative to the first of them: pitch, time, and time in thousandths."""
    length = max(duration[note], 1)
    for k in range(3):
        ratio = max(duration[note + k + 1], 1) / length
        curves[k, lane] = np.float64(pitch[note + k + 1]) - pitch[note]
        curves[3 + k, lane] = ratio
        curves[6 + k, lane] = np.rint(_SAME_TIME * ratio)


@kernel(error_model="numpy")
def time_pairs(
    query_pitch: npt.NDArray[np.int16],
    query_duration: Numbers,
    pitch: npt.NDArray[np.int16],
    duration: Numbers,
    same_pitch: float,
    same_time: float,
    rhythm: float,
) -> tuple[Array, Array, Array]:
    """(scores of all pairs of grams, of those of the query left out, of those of the document), as `time_scores`."""
    m, n = max(len(query_pitch) - 3, 0), max(len(pitch) - 3, 0)
    query, document = np.empty((9, m)), np.empty((9, n))
    gap, gap_there, scores = np.empty(m), np.empty(n), np.empty((m, n))
    for i in range(m):
        _curve(query_pitch, query_duration, i, i, query)
        gap[i] = -_variation(query[0, i], query[1, i], query[2, i])
    for j in range(n):
        _curve(pitch, duration, j, j, document)
        gap_there[j] = -_variation(document[0, j], document[1, j], document[2, j])
    for i in range(m):
        for j in range(n):
            apart = query[:, i] - document[:, j]
            by_pitch = same_pitch if not apart[0:3].any() else -_variation(apart[0], apart[1], apart[2])
            by_time = same_time if not apart[6:9].any() else -_variation(apart[3], apart[4], apart[5])
            scores[i, j] = by_pitch + rhythm * by_time
    return scores, gap, gap_there


class Worth(NamedTuple):
    """What `time` gives for two groups of four notes.

    same_pitch   where the pitches agree
    same_time    where the lengths agree, in units of their own
    rhythm       what a unit of length counts in units of pitch
    """

    same_pitch: float
    same_time: float
    rhythm: float


@kernel(error_model="numpy")
def time_scores(
    query_pitch: npt.NDArray[np.int16],
    query_duration: Numbers,
    pitch: npt.NDArray[np.int16],
    duration: Numbers,
    offsets: Numbers,
    order: Numbers,
    worth: Worth,
    floor: float,
    takes_best: bool,
) -> tuple[Array, float]:
    """(the score of every document, in the given order; that of a document that has nothing of the query).

    The query has four notes at least.
    """
    same_pitch, same_time, rhythm = worth
    m, blocks = len(query_pitch) - 3, (len(order) + LANES - 1) // LANES
    query, gap = np.empty((9, m)), np.empty(m)
    for i in range(m):
        _curve(query_pitch, query_duration, i, i, query)
        gap[i] = -_variation(query[0, i], query[1, i], query[2, i])
    scores = np.empty((blocks, LANES))
    columns, best, diagonal, cost = np.empty((m + 1, LANES)), np.empty(LANES), np.empty(LANES), np.empty(LANES)
    here, gap_here = np.empty((9, LANES)), np.empty(LANES)
    for block in range(blocks):
        documents = order[block * LANES : (block + 1) * LANES]
        rows = 0
        for k in documents:
            rows = max(rows, offsets[k + 1] - offsets[k] - 3)
        _start(columns, best, gap, floor)
        for row in range(rows):
            here[:] = _NEVER
            for lane in range(len(documents)):
                note = offsets[documents[lane]] + row
                if note + 3 < offsets[documents[lane] + 1]:
                    _curve(pitch, duration, note, lane, here)
            for lane in range(LANES):
                lost = _variation(here[0, lane], here[1, lane], here[2, lane])
                gap_here[lane] = 0.0 if here[0, lane] == _NEVER else -lost
            for lane in range(LANES):
                diagonal[lane] = columns[0, lane]
                columns[0, lane] = max(columns[0, lane] + gap_here[lane], floor)
            for i in range(m):
                x, y, z = query[0, i], query[1, i], query[2, i]
                s, t, u = query[3, i], query[4, i], query[5, i]
                a, b, c = query[6, i], query[7, i], query[8, i]
                for lane in range(LANES):
                    steps = _variation(x - here[0, lane], y - here[1, lane], z - here[2, lane])
                    lengths = _variation(s - here[3, lane], t - here[4, lane], u - here[5, lane])
                    is_step = (x == here[0, lane]) & (y == here[1, lane]) & (z == here[2, lane])
                    is_length = (a == here[6, lane]) & (b == here[7, lane]) & (c == here[8, lane])
                    by_pitch = same_pitch if is_step else -steps
                    by_time = same_time if is_length else -lengths
                    cost[lane] = by_pitch + rhythm * by_time
                loss = gap[i]
                for lane in range(LANES):
                    left = columns[i + 1, lane]
                    value = max(diagonal[lane] + cost[lane], left + gap_here[lane])
                    value = max(max(value, columns[i, lane] + loss), floor)
                    diagonal[lane] = left
                    columns[i + 1, lane] = value
                    best[lane] = max(best[lane], value)
        scores[block] = best if takes_best else columns[m]
    return scores.ravel(), gap.sum()
