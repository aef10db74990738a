"""`p2`: the most notes that one move takes onto notes."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from tests.matchers.geometry import DEGENERATE, chord, melody_of, notes_of, one_note, random_polyphony, repeated
from tests.matchers.melodies import CASTLE, TUNES, moved

from roslin import Melody
from roslin.matchers import P2


def literal(query: Melody, candidate: Melody, divide: str) -> float:
    mine = {(onset, pitch) for onset, _, pitch in notes_of(query)}
    theirs = {(onset, pitch) for onset, _, pitch in notes_of(candidate)}
    moves = Counter((b[0] - a[0], b[1] - a[1]) for a, b in product(mine, theirs))
    most = max(moves.values(), default=0)
    return 1 - (2 * most / (len(mine) + len(theirs)) if divide == "both" else most / len(mine))


@pytest.mark.parametrize("divide", ["both", "query"])
@pytest.mark.parametrize("off_grid", [False, True])
def test_it_is_the_most_frequent_difference(divide: str, off_grid: bool) -> None:
    random = np.random.default_rng(2)
    for _ in range(60):
        query = random_polyphony(random, 9, off_grid=off_grid)
        candidates = [random_polyphony(random, 30, off_grid=off_grid) for _ in range(6)]
        expected = [literal(query, candidate, divide) for candidate in candidates]
        assert P2(divide=divide).distances(query, candidates).tolist() == pytest.approx(expected, abs=1e-15)


def test_by_hand() -> None:
    query = melody_of([(0, 1, 60), (1, 1, 62), (2, 1, 64)])
    candidate = melody_of([(0, 1, 67), (1, 1, 69), (2, 1, 70), (3, 1, 72)])
    assert P2().distances(query, [candidate])[0] == pytest.approx(3 / 7)
    assert P2(divide="query").distances(query, [candidate])[0] == pytest.approx(1 / 3)


def test_one_wrong_pitch_costs_one_note_and_durations_do_not_count() -> None:
    notes = [(float(k), 1.0, 60 + k) for k in range(8)]
    wrong = [*notes[:3], (3.0, 0.5, 40), *notes[4:]]
    assert P2().distances(melody_of(notes), [melody_of(wrong)])[0] == 1 / 8
    late = [*notes[:3], *((onset + 0.5, 1.0, pitch) for onset, _, pitch in notes[3:])]
    assert P2().distances(melody_of(notes), [melody_of(late)])[0] == 3 / 8


def test_degenerate_melodies() -> None:
    assert P2(divide="query").distances(one_note, DEGENERATE).tolist() == [0, 0, 0, 1]
    assert P2().distances(repeated, DEGENERATE).tolist() == pytest.approx([1 - 2 / 6, 0, 1 - 2 / 9, 1])
    assert P2().distances(chord, DEGENERATE).tolist() == pytest.approx([1 - 2 / 5, 1 - 2 / 9, 0, 1])


def test_long_melodies() -> None:
    random = np.random.default_rng(9)
    long = [melody_of([(float(k), 1.0, int(p)) for k, p in enumerate(random.integers(60, 72, 140))]) for _ in range(2)]
    assert P2().distances(long[0], [long[1], long[0]]).tolist() == pytest.approx([literal(long[0], long[1], "both"), 0])


def test_a_long_candidate_after_short_ones() -> None:
    long = melody_of([(float(k), 1.0, 60 + k % 5) for k in range(400)])
    assert P2().distances(repeated, [one_note, long, repeated]).tolist()[1:] == pytest.approx([1 - 2 / 405, 0])


def test_transposition_and_shift_do_not_matter_and_tempo_only_without_tempos() -> None:
    expected = P2().distances(CASTLE, TUNES).tolist()
    assert P2().distances(moved(CASTLE, up=4, later=1.5), TUNES).tolist() == expected
    there = [moved(tune, up=-3, later=7.25) for tune in TUNES]
    assert P2().distances(CASTLE, there).tolist() == expected
    slow = moved(CASTLE, slower=2.0)
    assert P2().distances(slow, [CASTLE])[0] > 0
    assert P2(tempos=(0.5, 1.0, 2.0)).distances(slow, TUNES).tolist() <= expected
    assert P2(tempos=(0.5,)).distances(slow, TUNES).tolist() == expected
