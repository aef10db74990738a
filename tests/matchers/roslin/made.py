"""Melodies and tables made at random, and the score once more, written as simply as possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from roslin import Melody
from roslin.matchers import Roslin
from roslin.matchers.roslin.scores import FARTHEST, LANES, NO_INTERVAL, Encoded, FittedWorth, Planner, Tables
from roslin.matchers.roslin.scores import tables as tables_of
from roslin.matchers.roslin.table import MelodyTable
from roslin.search.engines.roslin import Aligned

# Numbers of our own, so that a new fit changes no test.
PLAIN = FittedWorth(
    equal=(4.24, 2.43, 2.33, 2.02, 1.75, 1.42, 1.31, 1.48, 1.34, 1.57, 1.30),
    pitch=(0.27, -0.47, -0.72, -0.73, -1.34, -1.60),
    near=(2.00, 0.47, -0.04, 0.03, -0.60, -0.49, -0.73, -0.52, -0.63, -0.49, -0.67),
    kinds=(-0.01, -0.42, 0.06, -0.36, -0.12, 0.46, 0.15, 0.26, 0.28, 0.15, 0.38, 0.15),
    equal_context=(0.0, -0.11, 0.05, 0.86),
    near_context=(0.0, 0.30, 0.21, 0.15),
    openings=(1.42, 2.70, 2.44),
    extension=1.38,
    start_any=(0.89, 1.11),
    start_more=(1.03, 1.51),
    end_any=(0.57, 0.47),
    end_more=(0.61, 0.0),
    tempo=(1.41, 2.5),
    metre=(0.0,) * 6,
    phrase=(0.0,) * 6,
)
LABELLED = replace(PLAIN, metre=(0.45, -0.15, -0.79, 0.15, 0.09, 0.19), phrase=(-0.24, -0.43, -1.23, 0.71, 0.22, 0.90))


def tables(worth: FittedWorth = PLAIN, longest: int = 2048, lanes: Sequence[int] = range(12)) -> Tables:
    """Tables with only these transpositions."""
    allowed = np.full(LANES, FARTHEST, dtype=np.int32)
    allowed[list(lanes)] = 0
    return tables_of(worth, longest)._replace(lanes=allowed)


def made_melodies(random: Generator, sizes: list[int], pitches: int = 12, values: int = 9) -> Encoded:
    """Melodies with so many notes each, of so many pitch classes and note values."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    count = int(offsets[-1])
    pitch = random.integers(pitches, size=count)
    interval = np.diff(pitch, prepend=0) + 12 * random.integers(-1, 2, size=count) * (random.random(count) < 0.1)
    interval[offsets[:-1][np.diff(offsets) > 0]] = NO_INTERVAL
    value = random.integers(-(values // 2), values // 2 + 1, size=count)
    gap = random.integers(3, size=count)
    small = [pitch, value, interval, 3 * random.integers(4, size=count) + gap, gap, random.integers(10, size=count)]
    tempos = random.choice([-4, -1, 0, 0, 0, 2, 4, 9], size=len(sizes))
    return Encoded(offsets, tempos.astype(np.int8), *(each.astype(np.int8) for each in small))


def variants(random: Generator, melodies: Encoded, of: int, share: float) -> Encoded:
    """The same, but some are changed copies of one of them, transposed and at another tempo."""
    columns = [each.copy() for each in melodies[2:]]
    tempos, source = melodies.tempos.copy(), slice(*melodies.offsets[of : of + 2])
    for number in np.flatnonzero(random.random(len(tempos)) < share):
        place = slice(*melodies.offsets[number : number + 2])
        length = min(place.stop - place.start, source.stop - source.start)
        target, origin = slice(place.start, place.start + length), slice(source.start, source.start + length)
        kept = random.random(length) < random.choice([0.6, 0.8, 1.0])
        for column, each in zip(columns, melodies[2:], strict=True):
            column[target] = np.where(kept, each[origin], column[target])
        columns[0][place] = (columns[0][place] + random.integers(12)) % 12
        shift = random.choice([0, 0, 4, -4, 3])
        columns[1][place] += shift
        tempos[number] = melodies.tempos[of] + shift
    return Encoded(melodies.offsets, tempos, *columns)


def all_tables() -> Iterator[tuple[str, Tables]]:
    """Tables of every mode."""
    plain, labelled = tables(PLAIN, longest=400), tables(LABELLED, longest=400)
    yield "plain", plain
    yield "labels", labelled
    yield "as written", tables(LABELLED, longest=400, lanes=[0])
    yield "some transpositions", tables(PLAIN, longest=400, lanes=[0, 3, 5, 7])
    for count in (1, 2, 3):
        yield f"{count} tempos", labelled._replace(tempo_prices=labelled.tempo_prices[:count])
    flat = np.full(11, 100, np.int32)
    yield "no rhythm", labelled._replace(equal=flat, near=flat // 4, tempo_prices=np.zeros(1, np.int32))
    yield (
        "no pitch",
        labelled._replace(
            near=labelled.equal,
            pitch=np.zeros_like(labelled.pitch),
            contexts=np.zeros_like(labelled.contexts),
            kinds=np.zeros_like(labelled.kinds),
        ),
    )
    yield "short table of ends", tables(PLAIN, longest=3)
    cheap = np.array([10, 20, 30], np.int32)
    yield "openings below the extension", labelled._replace(openings=cheap)
    yield "dear tempos", plain._replace(tempo_prices=np.array([0, 90, 40, 300], np.int32))


def plain_score(query: Encoded, melody: Encoded, tables: Tables) -> int:
    """The score of two melodies, from the definition."""
    size, length = len(query.pitches), len(melody.pitches)
    if not size or not length:
        return FARTHEST
    role = 2 if size == length else int(size > length)
    other = 2 if role == 2 else 1 - role
    longest = tables.starts.shape[1] - 1
    difference = int(melody.tempos[0]) - int(query.tempos[0])
    best = FARTHEST
    for shift, price in zip([0, difference, 4, -4], tables.tempo_prices.tolist(), strict=False):
        for lane in np.flatnonzero(tables.lanes[:12] == 0).tolist():
            ways: dict[tuple[str, int, int], int] = {}
            for i in range(size):
                for j in range(length):
                    start = -int(tables.starts[role, min(i, longest)] + tables.starts[other, min(j, longest)])
                    before = [ways.get((state, i - 1, j - 1), FARTHEST) for state in "pqm"]
                    pair = max(start, *before) + _worth(query, i, melody, j, shift, lane, tables)
                    ways["p", i, j] = pair
                    ways["m", i, j] = _left_out(ways, "m", i, j - 1, int(tables.openings[melody.gaps[j]]), tables)
                    ways["q", i, j] = _left_out(ways, "q", i - 1, j, int(tables.openings[query.gaps[i]]), tables)
                    rest, other_rest = min(size - 1 - i, longest), min(length - 1 - j, longest)
                    ends = int(tables.ends[role, rest] + tables.ends[other, other_rest])
                    best = max(best, pair - ends - price)
    return best


def _left_out(ways: dict[tuple[str, int, int], int], state: str, i: int, j: int, opening: int, tables: Tables) -> int:
    first = max(ways.get((each, i, j), FARTHEST) for each in "pqm") - opening
    return max(first, ways.get((state, i, j), FARTHEST) - int(tables.extension))


def _worth(query: Encoded, i: int, melody: Encoded, j: int, shift: int, lane: int, tables: Tables) -> int:
    span = min(abs(int(melody.values[j]) - int(query.values[i]) - shift), 10)
    seen = int(i > 0 and j > 0 and query.intervals[i] == melody.intervals[j])
    if i + 1 < len(query.pitches) and j + 1 < len(melody.pitches):
        seen += 2 * int(query.intervals[i + 1] == melody.intervals[j + 1])
    both = int(tables.labels[query.labels[i], melody.labels[j]])
    turn = (int(melody.pitches[j]) - int(query.pitches[i])) % 12
    if tables.is_equal[turn * LANES + lane]:
        kinds = int(tables.kinds[query.kinds[i]] + tables.kinds[melody.kinds[j]])
        return int(tables.equal[span] + tables.contexts[0, seen]) + kinds + both
    return int(tables.near[span] + tables.contexts[1, seen] + tables.pitch[turn * LANES + lane]) + both


def aligned(query: Encoded, table: MelodyTable, worth: Tables) -> Aligned:
    """A query beside the melodies of a table, for scores and bounds alone."""
    return Aligned(Melody.from_notes([], [], []), query, table, Planner(worth), 0, table.own_scores, Roslin())
