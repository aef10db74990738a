"""The exact score by two routes: twelve transpositions side by side, and one at a time with all places kept."""

from __future__ import annotations

import numpy as np
import pytest

from roslin import Melody, load
from roslin.matchers.roslin.scores import COMPARED, FARTHEST, fitted, tables
from roslin.matchers.roslin.table import backwards, contours, encoded, one
from roslin.native import kernels
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
        kernels.align_all(asked, melodies, known, numbers, scores)
        for number in range(0, 40, 3):
            melody = one(melodies, number)
            steps = np.empty((len(asked.pitches) + len(melody.pitches), 3), np.int64)
            found, ends = np.empty(4, np.int64), np.empty(4, np.int64)
            kernels.best_path(asked, melody, 0, known, steps, found)
            score, tempo, lane, count = found.tolist()
            worths = np.empty(count, np.int32)
            kernels.step_worths(asked, melody, tempo, lane, known, steps[:count], worths, ends)
            assert score == scores[number]
            assert score == worths.sum() - ends.sum() - known.tempo_prices[tempo]


def test_a_melody_beside_itself_needs_no_search() -> None:
    melodies, known = encoded(TUNES), tables(fitted("both"), 400)
    own, found = np.empty(len(TUNES), np.int32), np.empty(1, np.int32)
    kernels.self_scores(melodies, known, own)
    for number in range(len(TUNES)):
        kernels.align_all(one(melodies, number), melodies, known, np.array([number]), found)
        assert found[0] == own[number]


def test_each_query_with_the_melody_of_its_number() -> None:
    melodies, known = encoded(TUNES), tables(fitted("both"), 400)
    turned, scores, found = backwards(melodies), np.empty(len(TUNES), np.int32), np.empty(1, np.int32)
    kernels.align_each(melodies, turned, known, scores)
    for number in range(len(TUNES)):
        kernels.align_all(one(melodies, number), turned, known, np.array([number]), found)
        assert found[0] == scores[number]


def test_a_path_needs_no_longer_table_of_ends_than_a_score() -> None:
    """Where more notes are left out than the table has prices for, the last price counts in both."""
    melodies, known = encoded(TUNES), tables(fitted("both"), 2)
    asked, numbers, scores = one(melodies, 3), np.arange(len(TUNES)), np.empty(len(TUNES), np.int32)
    kernels.align_all(asked, melodies, known, numbers, scores)
    for number in range(len(TUNES)):
        melody, found, ends = one(melodies, number), np.empty(4, np.int64), np.empty(4, np.int64)
        steps = np.empty((len(asked.pitches) + len(melody.pitches), 3), np.int64)
        kernels.best_path(asked, melody, 0, known, steps, found)
        score, tempo, lane, count = found.tolist()
        worths = np.empty(count, np.int32)
        kernels.step_worths(asked, melody, tempo, lane, known, steps[:count], worths, ends)
        assert score == scores[number] == worths.sum() - ends.sum() - known.tempo_prices[tempo]


def test_a_melody_without_notes_has_no_path() -> None:
    melodies, known = encoded([Melody.from_notes([], [], []), TUNES[0]]), tables(fitted("both"), 400)
    found = np.empty(4, np.int64)
    for query, number in ((0, 1), (1, 0), (0, 0)):
        asked, melody = one(melodies, query), one(melodies, number)
        steps = np.empty((len(asked.pitches) + len(melody.pitches), 3), np.int64)
        kernels.best_path(asked, melody, 0, known, steps, found)
        assert found.tolist() == [FARTHEST, 0, 0, 0]


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
