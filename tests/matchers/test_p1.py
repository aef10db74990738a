"""`p1`: the whole query, or nothing."""

from __future__ import annotations

import numpy as np
import pytest
from tests.matchers.geometry import DEGENERATE, chord, melody_of, notes_of, one_note, random_polyphony, repeated
from tests.matchers.melodies import CASTLE, TUNES, moved

from roslin import Melody, matcher
from roslin.errors import ArgumentError, UnknownNameError
from roslin.matchers import P1


def literal(query: Melody, candidate: Melody, divide: str) -> float:
    mine = {(onset, pitch) for onset, _, pitch in notes_of(query)}
    theirs = {(onset, pitch) for onset, _, pitch in notes_of(candidate)}
    for at, high in theirs:
        for onset, pitch in mine:
            if {(a + at - onset, p + high - pitch) for a, p in mine} <= theirs:
                return 1 - 2 * len(mine) / (len(mine) + len(theirs)) if divide == "both" else 0.0
    return 1.0


@pytest.mark.parametrize("divide", ["both", "query"])
def test_it_is_what_trying_every_move_gives(divide: str) -> None:
    random = np.random.default_rng(1)
    found = 0
    for _ in range(60):
        query = random_polyphony(random, 4)
        candidates = [random_polyphony(random, 14) for _ in range(6)]
        candidates.append(Melody(np.sort(np.concatenate([moved(query, up=3, later=2.0).notes, candidates[0].notes]))))
        expected = [literal(query, candidate, divide) for candidate in candidates]
        assert P1(divide=divide).distances(query, candidates).tolist() == pytest.approx(expected, abs=1e-15)
        found += sum(distance < 1 for distance in expected[:-1])
        assert expected[-1] < 1
    assert 20 < found < 340  # both answers are tested


def test_by_hand() -> None:
    query = melody_of([(0, 1, 60), (1, 1, 64)])
    there = melody_of([(0, 1, 65), (0.5, 1, 67), (1, 1, 69), (1, 1, 48)])
    late = melody_of([(0, 1, 60), (1.5, 1, 64)])
    assert P1().distances(query, [there, late]).tolist() == pytest.approx([1 / 3, 1])
    assert P1(divide="query").distances(query, [there, late]).tolist() == [0, 1]


def test_doublings_count_once() -> None:
    doubled = melody_of([(0, 1, 60), (0, 2, 60), (1, 1, 64)])
    assert P1().distances(doubled, [melody_of([(0, 1, 60), (1, 1, 64)]), doubled]).tolist() == [0, 0]


def test_degenerate_melodies() -> None:
    assert P1(divide="query").distances(one_note, DEGENERATE).tolist() == [0, 0, 0, 1]
    assert P1().distances(one_note, DEGENERATE).tolist() == pytest.approx([0, 1 - 2 / 6, 1 - 2 / 5, 1])
    assert P1().distances(repeated, DEGENERATE).tolist() == [1, 0, 1, 1]
    assert P1().distances(chord, DEGENERATE).tolist() == [1, 1, 0, 1]


def test_transposition_and_shift_do_not_matter_and_tempo_only_without_tempos() -> None:
    expected = P1().distances(CASTLE, TUNES).tolist()
    assert P1().distances(moved(CASTLE, up=4, later=1.5), TUNES).tolist() == expected
    slow = moved(CASTLE, slower=2.0)
    assert P1().distances(slow, [CASTLE])[0] == 1
    assert P1(tempos=(0.5, 1.0, 2.0)).distances(slow, [CASTLE])[0] == 0


def test_parameters() -> None:
    assert repr(matcher("p1(tempos=[1, 2], divide='query')")) == "p1(divide='query', tempos=(1.0, 2.0))"
    for name in ("p1", "p2", "p3"):
        with pytest.raises(UnknownNameError, match=f"unknown divide of {name} 'notes'; known: both, query"):
            matcher(f"{name}(divide='notes')")
        for value in ("()", "9", "(0,)", "(True,)", "('a',)", "(9.0,)", "(-1.0,)"):
            with pytest.raises(ArgumentError, match=r"tempos must be one or more numbers from 0\.125 to 8; got"):
                matcher(f"{name}(tempos={value})")
