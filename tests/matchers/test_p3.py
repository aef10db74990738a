"""`p3`: the longest time for which both sound the same."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from tests.matchers.geometry import (
    DEGENERATE,
    Note,
    chord,
    melody_of,
    notes_of,
    one_note,
    random_polyphony,
    repeated,
)
from tests.matchers.melodies import CASTLE, TUNES, moved

from roslin import Melody
from roslin.matchers import P3
from roslin.melody import note_table


def merged(notes: list[Note]) -> list[Note]:
    """Notes of one pitch that touch or overlap as one."""
    found: list[Note] = []
    for pitch, onset, duration in sorted((pitch, onset, duration) for onset, duration, pitch in notes if duration > 0):
        if found and found[-1][2] == pitch and onset <= found[-1][0] + found[-1][1]:
            start, length, _ = found.pop()
            found.append((start, max(length, onset + duration - start), pitch))
        else:
            found.append((onset, duration, pitch))
    return found


def literal(query: Melody, candidate: Melody, divide: str) -> float:
    """The sweep of the sheet: a heap of turning points, and for each transposition value, slope and last place."""
    mine, theirs = merged(notes_of(query)), merged(notes_of(candidate))
    heap: list[tuple[float, int, int]] = []
    for onset, duration, pitch in mine:
        for start, length, high in theirs:
            a, b, s, e = onset, onset + duration, start, start + length
            for shift, slope in ((s - b, 1), (s - a, -1), (e - b, -1), (e - a, 1)):
                heapq.heappush(heap, (shift, high - pitch, slope))
    value: dict[int, float] = {}
    slopes: dict[int, int] = {}
    last: dict[int, float] = {}
    most = 0.0
    while heap:
        shift, up, slope = heapq.heappop(heap)
        value[up] = value.get(up, 0) + slopes.get(up, 0) * (shift - last.get(up, shift))
        slopes[up], last[up] = slopes.get(up, 0) + slope, shift
        most = max(most, value[up])
    whole = sum(duration for _, duration, _ in mine)
    other = sum(duration for _, duration, _ in theirs)
    return 1 - (2 * most / (whole + other) if divide == "both" else most / whole)


def by_shifts(query: Melody, candidate: Melody) -> float:
    """A third way, for notes on half quarters: every shift in quarters of a quarter, step by step."""

    def cells(melody: Melody) -> set[tuple[int, int]]:
        return {
            (int(4 * onset // 40320) + k, pitch)
            for onset, duration, pitch in notes_of(melody)
            for k in range(int(4 * duration // 40320))
        }

    mine, theirs = cells(query), cells(candidate)
    most = max(
        len({(at + shift, pitch + up) for at, pitch in mine} & theirs)
        for shift in range(-40, 40)
        for up in range(-6, 7)
    )
    return 1 - 2 * most / (len(mine) + len(theirs))


@pytest.mark.parametrize("divide", ["both", "query"])
@pytest.mark.parametrize("off_grid", [False, True])
def test_it_is_the_sweep_with_a_heap(divide: str, off_grid: bool) -> None:
    random = np.random.default_rng(4)
    for _ in range(50):
        query = random_polyphony(random, 8, off_grid=off_grid)
        candidates = [random_polyphony(random, 20, off_grid=off_grid) for _ in range(5)]
        expected = [literal(query, candidate, divide) for candidate in candidates]
        assert P3(divide=divide).distances(query, candidates).tolist() == pytest.approx(expected, abs=1e-12)


def test_it_is_what_trying_every_shift_gives() -> None:
    random = np.random.default_rng(5)
    for _ in range(20):
        query, candidate = random_polyphony(random, 6), random_polyphony(random, 9)
        assert P3().distances(query, [candidate])[0] == pytest.approx(by_shifts(query, candidate), abs=1e-12)


def test_by_hand() -> None:
    query = melody_of([(0, 1, 60), (1, 1, 62)])
    candidate = melody_of([(0, 2, 67), (2, 2, 69)])
    assert P3().distances(query, [candidate])[0] == pytest.approx(1 / 3)
    assert P3(divide="query").distances(query, [candidate])[0] == 0


def test_repeated_notes_are_one_long_note_and_doublings_count_once() -> None:
    long = melody_of([(0, 5, 60)])
    doubled = melody_of([(0, 5, 60), (1, 3, 60), (0, 5, 60)])
    assert P3().distances(repeated, [long, doubled]).tolist() == [0, 0]
    assert P3().distances(doubled, [repeated, long]).tolist() == [0, 0]


def test_degenerate_melodies() -> None:
    assert P3(divide="query").distances(one_note, DEGENERATE).tolist() == [0, 0, 0, 1]
    assert P3().distances(repeated, DEGENERATE).tolist() == pytest.approx([1 - 2 / 6, 0, 1 - 4 / 13, 1])
    assert P3().distances(chord, DEGENERATE).tolist() == pytest.approx([1 - 2 / 9, 1 - 4 / 13, 0, 1])
    silent = Melody(note_table([(0, 0, 60, 162, False, 0, 0)]))  # a note that does not last
    for divide in ("both", "query"):
        assert P3(divide=divide).distances(silent, [silent, one_note]).tolist() == [1, 1]
        assert P3(divide=divide).distances(one_note, [silent]).tolist() == [1]


def test_transposition_and_shift_do_not_matter_and_tempo_only_without_tempos() -> None:
    expected = P3().distances(CASTLE, TUNES).tolist()
    assert P3().distances(moved(CASTLE, up=4, later=1.5), TUNES).tolist() == expected
    there = [moved(tune, up=-3, later=7.25) for tune in TUNES]
    assert P3().distances(CASTLE, there).tolist() == expected
    slow = moved(CASTLE, slower=2.0)
    assert P3().distances(slow, [CASTLE])[0] > 0
    assert P3(tempos=(0.5,)).distances(slow, TUNES).tolist() == expected
    assert P3(tempos=(0.5, 1.0, 2.0)).distances(slow, [CASTLE])[0] == 0


def test_long_melodies() -> None:
    random = np.random.default_rng(9)
    long = [melody_of([(k, 1, int(p)) for k, p in enumerate(random.integers(60, 72, 140))]) for _ in range(2)]
    assert P3().distances(long[0], [long[1], long[0]]).tolist() == pytest.approx([literal(long[0], long[1], "both"), 0])


def test_the_longest_candidates_are_sorted() -> None:
    random = np.random.default_rng(6)
    onsets = np.sort(random.integers(0, 3 * 40320, 25)) / 40320 * 7
    long = Melody.from_notes(onsets, [1] * 25, random.integers(58, 70, 25))
    query = Melody.from_notes(onsets[5:14] + 1 / 40320, [1] * 9, long.notes["pitch_midi"][5:14])
    assert P3().distances(query, [long])[0] == pytest.approx(literal(query, long, "both"), abs=1e-12)
    assert P3(divide="query").distances(query, [long])[0] == 0
