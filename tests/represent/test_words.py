from __future__ import annotations

import pytest

from roslin import Melody
from roslin.melody import bar_number, note_name
from roslin.represent.words import in_words, place_words, places_named, spelled, tempo_words, transposition_words

BARRED = Melody.from_notes(range(12), [1] * 12, [60] * 12, barlines=[4, 8, 12])
WITH_PICK_UP = Melody.from_notes(range(12), [1] * 12, [60] * 12, barlines=[1, 5, 9])


@pytest.mark.parametrize(
    ("semitones", "words"),
    [
        (0, "not transposed"),
        (1, "transposed up a minor second"),
        (-2, "transposed down a major second"),
        (5, "transposed up a perfect fourth"),
        (6, "transposed up an augmented fourth"),
        (-7, "transposed down a perfect fifth"),
        (12, "transposed up an octave"),
        (-14, "transposed down a major ninth"),
        (19, "transposed up a perfect twelfth"),
        (24, "transposed up a fifteenth"),
        (-1.25, "transposed down by 1.25 semitones"),
    ],
)
def test_transpositions(semitones: float, words: str) -> None:
    assert transposition_words(semitones) == words


@pytest.mark.parametrize(
    ("steps", "words"),
    [(17, "up a perfect fourth"), (5, "up a minor second"), (-51, "down a minor tenth"), (3, "up by 3 base-40 steps")],
)
def test_transpositions_in_base_40(steps: int, words: str) -> None:
    assert transposition_words(steps * 12 / 40, "base40") == f"transposed {words}"


def test_transposition_on_the_line_of_fifths() -> None:
    assert transposition_words(-3, "fifths") == "transposed down by 3 on the line of fifths"


@pytest.mark.parametrize(
    ("tempo", "words"), [(1, "at the same tempo"), (1.5, "1.5 times slower"), (2 / 3, "1.5 times faster")]
)
def test_tempos(tempo: float, words: str) -> None:
    assert tempo_words(tempo) == words


@pytest.mark.parametrize(
    ("melody", "start", "bar", "words"),
    [
        (BARRED, 0, 1, "starting at bar 1"),
        (BARRED, 3.999, 1, "starting at bar 1"),
        (BARRED, 8, 3, "starting at bar 3"),
        (WITH_PICK_UP, 0, 0, "starting in the pick-up"),
        (WITH_PICK_UP, 1, 1, "starting at bar 1"),
        (Melody.from_notes([0, 1], [1, 1], [60, 60]), 2.5, None, "starting after 2.5 quarters"),
        (Melody.from_notes([2, 3], [1, 1], [60, 60]), 1, None, "starting before its first note"),
    ],
)
def test_places(melody: Melody, start: float, bar: int | None, words: str) -> None:
    assert bar_number(start, melody) == bar
    assert place_words(start, melody) == words


@pytest.mark.parametrize(
    ("base40", "name"), [(162, "C4"), (163, "C♯4"), (161, "C♭4"), (197, "B4"), (196, "B♭4"), (199, "B𝄪4"), (165, "?")]
)
def test_names_of_notes(base40: int, name: str) -> None:
    assert name in note_name(base40)


@pytest.mark.parametrize(("row", "text"), [(0, "1 C4"), (2, "3 E4"), (None, "-")])
def test_spelled(row: int | None, text: str) -> None:
    assert spelled(Melody.from_notes([0, 1, 2], [1] * 3, [60, 62, 64]), row) == text


def test_places_and_intervals() -> None:
    melody = Melody.from_notes([0, 1, 2], [1] * 3, [60, 61, 64])
    assert places_named(melody, [(0, 1), (2,)]) == "C4–C♯4; E4"
    assert places_named(melody, []) == ""
    assert in_words([0, 7, -12]) == "repeated, perfect fifth up, octave down"
    assert in_words([]) == ""
