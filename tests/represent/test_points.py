"""Weighted point sets: what becomes a point, where it lies, what it weighs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from roslin import Melody, load
from roslin.errors import UnknownNameError
from roslin.represent.points import point_sets


def weights(melody: Melody, scheme: str) -> list[float]:
    return [float(weight) for weight in point_sets([melody], weight=scheme).weight]


def quarters(pitches: list[int], **more: Any) -> Melody:
    return Melody.from_notes(range(len(pitches)), [1] * len(pitches), pitches, **more)


def test_points_of_several_melodies() -> None:
    sets = point_sets([load("'4C8DE2F")[0], quarters([]), load("4-''2.G")[0]])
    assert len(sets) == 3
    points, heavy = sets.one(0)
    assert points.tolist() == [[0, 60], [1, 62], [1.5, 64], [2, 65]]
    assert heavy.tolist() == [1, 0.5, 0.5, 2]
    assert sets.one(1)[0].shape == (0, 2)
    assert sets.one(2)[0].tolist() == [[1, 79]]
    assert sets.one(2)[1].tolist() == [3]


def test_every_note_of_a_chord_is_a_point_and_no_grace_note_is() -> None:
    melody = Melody.from_notes(
        [0, 0, 1, 1, 2], [1, 0.25, 1, 1, 1], [60, 71, 64, 48, 67], graces=[False, True, False, False, False]
    )
    sets = point_sets([quarters([50]), melody])
    points, heavy = sets.one(1)
    assert sorted(points.tolist()) == [[0, 60], [1, 48], [1, 64], [2, 67]]
    assert heavy.tolist() == [1, 1, 1, 1]
    assert sets.rows.tolist() == [0, 2, 3, 4, 5]  # the grace note comes first at its onset


def test_ties_are_one_note_and_rests_are_gaps() -> None:
    sets = point_sets(load("'4C+C4-4D"))
    assert sets.time.tolist() == [0, 3]
    assert sets.weight.tolist() == [2, 1]


def test_pitch_axes() -> None:
    melody = Melody.from_notes(range(8), [1] * 8, [60, 62, 64, 65, 67, 69, 71, 72])
    assert point_sets([melody], pitch="fifths").pitch.tolist() == [0, 2, 4, -1, 1, 3, 5, 0]
    base40 = point_sets([melody], pitch="base40").pitch
    assert base40[7] - base40[0] == pytest.approx(12)
    assert base40[4] - base40[0] == pytest.approx(23 * 0.3)


def test_spelling_counts_on_two_of_the_axes() -> None:
    sharp, flat = (Melody.from_notes([0], [1], [61], base40=[base]) for base in (163, 167))
    for pitch, expected in (("semitone", (61, 61)), ("fifths", (7, -5)), ("base40", (163 * 0.3, 167 * 0.3))):
        found = [float(point_sets([one], pitch=pitch).pitch[0]) for one in (sharp, flat)]
        assert found == pytest.approx(expected), pitch


def test_fifths_of_every_spelling() -> None:
    """From one place to the next on the line is a fifth up: 23 of 40 steps."""
    line = [(2 + 23 * place) % 40 for place in range(-15, 20)]
    one = Melody.from_notes(range(35), [1] * 35, [60] * 35, base40=[160 + base for base in line])
    assert point_sets([one], pitch="fifths").pitch.tolist() == list(range(-15, 20))


def accents(melody: Melody) -> list[float]:
    """What the scheme adds to the length, in parts of it."""
    return [
        heavy / length - 1 for heavy, length in zip(*(weights(melody, k) for k in ("accent", "duration")), strict=True)
    ]


def test_melodic_accent_of_thomassen_s_figure_5() -> None:
    assert accents(quarters([60, 60, 60, 62, 64, 62, 62])) == pytest.approx([1, 0, 0, 0.33, 0.5561, 0.17, 0])
    long = Melody.from_notes([0, 2, 3], [2, 1, 4], [60, 64, 62])
    assert weights(long, "accent") == pytest.approx([2 * 2, 1.83, 4 * 1.17])


def test_melodic_accent_as_music21_has_it() -> None:
    music21 = pytest.importorskip("music21", reason="needs music21: pip install 'roslin[test]'")
    random = np.random.default_rng(8)
    for notes in (1, 2, 3, 5, 40):
        pitches = random.integers(60, 66, notes).tolist()
        stream = music21.stream.Stream([music21.note.Note(pitch) for pitch in pitches])
        music21.analysis.metrical.thomassenMelodicAccent(stream.flatten().notes)
        expected = [note.editorial.melodicAccent for note in stream.flatten().notes]
        assert accents(quarters(pitches)) == pytest.approx(expected)


def test_of_a_chord_the_highest_note_has_the_accent() -> None:
    chords = Melody.from_notes([0, 0, 1, 1, 2], [1] * 5, [60, 40, 64, 50, 62])
    by_pitch = dict(zip(point_sets([chords]).pitch.tolist(), accents(chords), strict=True))
    assert by_pitch == {60: 1, 40: 0, 64: pytest.approx(0.83), 50: 0, 62: pytest.approx(0.17)}
    assert weights(quarters([]), "accent") == []


def test_length_uniform_and_square_root() -> None:
    melody = Melody.from_notes([0, 4, 4.25], [4, 0.25, 1], [60, 62, 64])
    assert weights(melody, "duration") == [4, 0.25, 1]
    assert weights(melody, "uniform") == [1, 1, 1]
    assert weights(melody, "sqrt") == [2, 0.5, 1]


def test_stress_in_four_quarters_and_in_three() -> None:
    four = quarters([60] * 9, barlines=[4, 8])
    assert weights(four, "stress") == [1, 0.25, 0.5, 0.25, 1, 0.25, 0.5, 0.25, 1]
    three = quarters([60] * 7, barlines=[3, 6])
    assert weights(three, "stress") == [1, 0.5, 0.5, 1, 0.5, 0.5, 1]
    eighths = Melody.from_notes([k / 2 for k in range(8)], [0.5] * 8, [60] * 8, barlines=[4])
    assert weights(eighths, "stress") == [0.5 * s for s in (1, 0.125, 0.25, 0.125, 0.5, 0.125, 0.25, 0.125)]


def test_stress_without_bar_lines_counts_four_quarters() -> None:
    assert weights(quarters([60] * 5), "stress") == [1, 0.25, 0.5, 0.25, 1]


def test_a_pick_up_is_counted_from_its_end() -> None:
    melody = quarters([60] * 9, barlines=[1, 5])
    assert weights(melody, "stress") == [0.25, 1, 0.25, 0.5, 0.25, 1, 0.25, 0.5, 0.25]
    half = quarters([60] * 6, barlines=[2, 6])
    assert weights(half, "stress") == [0.5, 0.25, 1, 0.25, 0.5, 0.25]


def test_a_pick_up_before_the_only_bar_line() -> None:
    assert weights(quarters([60] * 5, barlines=[1]), "stress") == [0.25, 1, 0.25, 0.5, 0.25]
    assert weights(quarters([60] * 5, barlines=[4]), "stress") == [1, 0.25, 0.5, 0.25, 1]


def test_the_usual_bar_is_the_most_frequent_one() -> None:
    melody = quarters([60] * 15, barlines=[1, 3, 7, 11])
    assert weights(melody, "stress")[:4] == [0.25, 1, 0.5, 1]


def test_turns() -> None:
    """Perceptual weights are sqrt(length) x (1 + stress + turn)."""

    def turns(melody: Melody) -> list[float]:
        plain = np.array(weights(melody, "perceptual")) / weights(melody, "sqrt")
        stress = np.array(weights(melody, "stress")) / weights(melody, "duration")
        return [round(turn, 9) for turn in (plain - 1 - stress).tolist()]

    assert turns(quarters([60, 62, 64, 62, 60])) == [1, 0, 1, 0, 1]
    assert turns(quarters([60, 62, 62, 64, 64, 62])) == [1, 0, 0, 0, 1, 1]
    assert turns(quarters([60, 60, 60])) == [1, 0, 1]
    assert turns(quarters([60])) == [1]
    chord = Melody.from_notes([0, 1, 1, 2], [1, 1, 1, 1], [60, 50, 62, 64])
    assert turns(chord) == [1, 0, 0, 1]


def test_a_melody_is_weighed_without_its_neighbours() -> None:
    first, second = quarters([60, 64, 62]), quarters([70, 70, 65, 71], barlines=[1])
    for scheme in ("stress", "perceptual"):
        together = point_sets([first, quarters([]), second], weight=scheme)
        assert together.one(0)[1].tolist() == weights(first, scheme)
        assert together.one(2)[1].tolist() == weights(second, scheme)


def test_unknown_schemes() -> None:
    with pytest.raises(UnknownNameError, match="unknown pitch 'hertz'; known: base40, fifths, semitone"):
        point_sets([], pitch="hertz")
    with pytest.raises(UnknownNameError, match="unknown weight 'mass'; known: accent, duration, perceptual, sqrt"):
        point_sets([], weight="mass")
