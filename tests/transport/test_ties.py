"""Of equal alignments the first wins, in the order of tempos, document points, query points: against the slow way."""

from __future__ import annotations

import time

import numpy as np
import pytest

from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.points import point_sets
from roslin.transport.align import Document, Query, Setting, coincident, pair_of

EQUAL = 1e-9


def few_pitches(random: np.random.Generator, notes: int) -> Melody:
    """A melody that lies in many places of another: two pitches, two note values."""
    durations = random.integers(1, 3, notes)
    return Melody.from_notes(np.cumsum(durations) - durations[0], durations, 60 + 2 * random.integers(0, 2, notes))


@pytest.mark.parametrize(
    "setting",
    [Setting(), Setting(tempos=(0.5, 1.0, 2.0)), Setting(missing=None, tempos=(1.0, 2.0)), Setting(semitone=0.3)],
    ids=str,
)
def test_the_first_of_equal_alignments(setting: Setting) -> None:
    random = np.random.default_rng(19)
    for _ in range(60):
        query, document = (
            few_pitches(random, int(random.integers(1, 4))),
            few_pitches(random, int(random.integers(1, 12))),
        )
        points = point_sets([query, document], weight=setting.weight)
        pair = pair_of(Query.of(points, setting), Document.of(points, 1, setting), setting)
        best = (np.inf, 0.0, 0.0, 0.0)
        for tempo in setting.tempos:
            times = pair.document.time * pair.frame.time_unit / tempo
            heights = pair.document.pitch * pair.frame.pitch_unit
            places = [(t - x, h - y) for t, h in zip(times, heights) for x, y in zip(pair.query.x, pair.query.y)]  # noqa: B905
            x, y = np.array(places).T
            values = np.empty(len(x))
            shifts = np.ascontiguousarray(x), np.ascontiguousarray(y)
            kernels.distances_at(pair, np.full(len(x), tempo), *shifts, values)
            first = int(np.argmax(values <= values.min() + EQUAL))
            if values[first] < best[0] - EQUAL:
                best = (values[first], x[first], y[first], tempo)
        assert coincident(pair) == pytest.approx(best, abs=1e-9)


def test_ties_at_no_cost_are_solved_once_for_each_tempo() -> None:
    """One note lies on every note of a document: that is known from the first flow."""
    setting, document = Setting(tempos=(1.0, 2.0)), few_pitches(np.random.default_rng(5), 3000)
    points = point_sets([Melody.from_notes([0], [1], [60]), document], weight=setting.weight)
    pair = pair_of(Query.of(points, setting), Document.of(points, 1, setting), setting)
    counts, began = np.zeros(1, np.int64), time.process_time()
    assert coincident(pair, counts=counts)[0] == 0.0
    assert counts[0] <= 2
    assert time.process_time() - began < 60, "a limit of health, not of speed"
