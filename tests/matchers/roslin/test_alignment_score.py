"""The exact score by two routes: twelve transpositions side by side, and one at a time with all places kept."""

from __future__ import annotations

import numpy as np
import pytest

from roslin import Melody, load
from roslin.matchers.roslin._alignment import align_all, self_scores
from roslin.matchers.roslin._path import best_path, step_worths
from roslin.matchers.roslin.notes import contours, encoded, one
from roslin.matchers.roslin.scores import COMPARED, fitted, tables
from roslin.starter import tunes_path

TUNES = load(tunes_path())[:40]


@pytest.mark.parametrize("compared", COMPARED)
@pytest.mark.parametrize("place", ["anywhere", "start", "whole"])
def test_both_routes_agree_and_a_score_is_the_sum_of_its_steps(compared: str, place: str) -> None:
    melodies = encoded(TUNES)
    if compared == "contour":
        melodies = contours(melodies)
    known = tables(fitted(compared), 400, compared=compared, place=place)
    numbers, scores = np.arange(len(TUNES)), np.empty(len(TUNES), np.int32)
    for query in range(0, 40, 7):
        asked = one(melodies, query)
        align_all(asked, melodies, known, numbers, scores)
        for number in range(0, 40, 3):
            steps = np.empty((1000, 3), np.int64)
            melody = one(melodies, number)
            score, tempo, lane, count = best_path(asked, melody, 0, known, steps)
            worths = np.empty(count, np.int32)
            ends = step_worths(asked, melody, tempo, lane, known, steps[:count], worths)
            assert score == scores[number]
            assert score == worths.sum() - sum(ends) - known.tempo_prices[tempo]


def test_a_melody_beside_itself_needs_no_search() -> None:
    melodies, known = encoded(TUNES), tables(fitted("both"), 400)
    own, found = np.empty(len(TUNES), np.int32), np.empty(1, np.int32)
    self_scores(melodies, known, own)
    for number in range(len(TUNES)):
        align_all(one(melodies, number), melodies, known, np.array([number]), found)
        assert found[0] == own[number]


def test_the_last_note_has_its_own_length_and_rests_count_as_time() -> None:
    notes = encoded([Melody.from_notes([0, 1, 3, 4], [1, 1, 0.5, 2], [60, 72, 71, 71])])
    assert notes.values.tolist() == [0, 4, 0, 4]
    assert notes.pitches.tolist() == [0, 0, 11, 11]
    assert notes.intervals.tolist() == [127, 12, -1, 0]
    assert notes.tempos.tolist() == [0]
    assert notes.gaps.tolist() == [1, 2, 1, 2]
    assert notes.kinds.tolist() == [4, 11, 4, 2]
    assert contours(notes).pitches.tolist() == [1, 2, 0, 1]


def test_nothing_to_encode() -> None:
    notes = encoded([Melody.from_notes([], [], []), Melody.from_notes([0], [1], [60])])
    assert notes.offsets.tolist() == [0, 0, 1]
    assert notes.labels.tolist() == [0]
