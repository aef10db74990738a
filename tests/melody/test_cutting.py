"""Parts of a melody by notes and by bars."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roslin import ArgumentError, Melody, RoslinError, load
from roslin.errors import PlaceError
from roslin.melody import TICKS_PER_QUARTER, MelodyNote, SignatureChange, bar_number
from roslin.notation import pae

TUNE = load("%G-2@3/4$bB '4G/''CDE/2.F/4D8E'B4-/2.A//")[0].with_metadata(id="tune", title="A tune", text="la", key="F")


def quarters(melody: Melody, column: str = "onset_ticks") -> list[float]:
    return [ticks / TICKS_PER_QUARTER for ticks in melody.notes[column].tolist()]


def lines(melody: Melody) -> list[float]:
    return [ticks / TICKS_PER_QUARTER for ticks in melody.barlines_ticks.tolist()]


# -- notes ------------------------------------------------------------------------------------------------------------


def test_one_note() -> None:
    assert TUNE[0] == MelodyNote(Fraction(0), Fraction(1), 67, 185, False, 0)
    assert repr(TUNE[6]) == "MelodyNote('E5', onset=8, duration=1/2)"
    assert TUNE[-2].name == "B♭4"
    assert TUNE[np.int64(4)] == TUNE[4]
    assert list(TUNE) == [TUNE[k] for k in range(len(TUNE))]
    assert TUNE[1] in TUNE


def test_ornaments_and_voices_say_so() -> None:
    melody = Melody.from_notes([0, 0, 0], [0, 1, 1], [72, 60, 48], graces=[True, False, False], voices=[0, 0, 1])
    assert [repr(note) for note in melody] == [
        "MelodyNote('C5', onset=0, duration=0, grace note)",
        "MelodyNote('C4', onset=0, duration=1)",
        "MelodyNote('C3', onset=0, duration=1, voice=1)",
    ]


def test_a_place_beyond_the_end_is_an_index_error_of_ours() -> None:
    for place in (9, -10):
        with pytest.raises(PlaceError, match=rf"the melody has 9 notes; there is none at {place}"):
            TUNE[place]
    with pytest.raises(IndexError):
        TUNE[9]
    with pytest.raises(ArgumentError, match="the melody has 1 note;"):
        TUNE[:1][1]


def test_what_is_no_place() -> None:
    with pytest.raises(ArgumentError, match=r"notes are chosen by their place or by a slice; got 'C'"):
        TUNE["C"]  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match=r"notes are chosen by their place or by a slice; got 1\.5"):
        TUNE[1.5]  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match=r"must be consecutive notes, as in melody\[3:8\]; got slice"):
        TUNE[::2]


# -- parts by notes ---------------------------------------------------------------------------------------------------


def test_a_slice_starts_at_0_and_keeps_what_is_true() -> None:
    part = TUNE[2:6]
    assert [note.name for note in part] == ["D5", "E5", "F5", "D5"]
    assert quarters(part) == [0, 1, 2, 5]
    assert lines(part) == [2, 5]
    assert (part.id, part.title, part.text, part.key) == ("tune", "A tune", "la", "F")
    assert (part.clef, part.key_signature, part.metre) == ("G-2", "bB", "3/4")
    assert (part.music, part.notation) == (None, None)
    assert part.notes["source_column"].tolist() == [0, 0, 0, 0]
    assert TUNE[2:6] == TUNE[2:-3] == TUNE[np.int64(2) : np.int64(6)]


def test_the_whole_is_itself_and_the_beginning_keeps_its_rests() -> None:
    late = load("%G-2@2/4 =/4-'C/DE//")[0]
    assert late[:] is late
    assert late[-99:99] is late
    assert quarters(late[:1]) == [3]
    assert lines(late[:1]) == [2, 4]
    assert quarters(late[1:]) == [0, 1]
    assert lines(late[1:]) == [2]


def test_no_notes_is_a_part_too() -> None:
    for part in (TUNE[3:3], TUNE[8:2], TUNE[99:], TUNE[:0]):
        assert (len(part), lines(part), part.end_ticks) == (0, [], 0)


def test_signatures_that_changed_before_a_part_hold_in_it() -> None:
    melody = load("%G-2@2/4$xF '4CD/@3/4 $bBE EFG/%C-1 ABC//")[0]
    assert melody.changes[0].onset_ticks == 2 * TICKS_PER_QUARTER
    part = melody[3:]
    assert (part.clef, part.key_signature, part.metre) == ("G-2", "bBE", "3/4")
    assert part.changes == (SignatureChange(2 * TICKS_PER_QUARTER, clef="C-1"),)
    assert melody[2:].metre == "3/4"
    assert melody[:2].changes == ()  # what would hold after it
    assert (melody[5:].clef, melody[5:].changes) == ("C-1", ())


def test_chords_voices_and_ornaments_stay() -> None:
    melody = Melody.from_notes(
        [0, 1, 1, 1, 2],
        [1, 0.25, 2, 1, 1],
        [60, 71, 72, 48, 74],
        graces=[False, True, False, False, False],
        voices=[0, 0, 0, 1, 0],
    )
    part = melody[1:4]
    assert quarters(part) == [0, 0, 0]
    assert part.notes["is_grace"].tolist() == [True, False, False]
    assert part.notes["voice"].tolist() == [0, 0, 1]
    assert part.end_ticks == 2 * TICKS_PER_QUARTER


@given(st.integers(-12, 12), st.integers(-12, 12))
def test_a_slice_has_the_notes_that_a_list_would_have(first: int, stop: int) -> None:
    part, expected = TUNE[first:stop], list(TUNE)[first:stop]
    assert [note.pitch_base40 for note in part] == [note.pitch_base40 for note in expected]
    if expected:
        assert len({note.onset - old.onset for note, old in zip(part, expected, strict=True)}) == 1
        assert part[0].onset == 0


# -- bars -------------------------------------------------------------------------------------------------------------


def test_bars_as_musicians_count_them() -> None:
    assert list(TUNE.bar_numbers) == [0, 1, 2, 3, 4]
    assert [note.name for note in TUNE.bars(0)] == ["G4"]
    assert [note.name for note in TUNE.bars(1, 2)] == ["C5", "D5", "E5", "F5"]
    assert quarters(TUNE.bars(1, 2)) == [0, 1, 2, 3]
    assert lines(TUNE.bars(1, 2)) == [3, 6]
    assert lines(TUNE.bars(3)) == [3]  # the rest at its end is part of it
    assert TUNE.bars(4)[0].name == "A4"
    assert TUNE.bars(3).to_pae() == "%G-2@3/4$bB ''4D8E'B4-/"
    assert load("%G-2@3/4 '4CDE/FGA//")[0].bar_numbers == range(1, 3)


def test_bars_of_rest_are_counted_as_they_are_printed() -> None:
    tune = load("%G-2@4/4 =14/'4CDEC/2EG/=3/1C/")[0]
    assert tune.bar_numbers == range(1, 21)
    assert [bar_number(float(note.onset), tune) for note in tune] == [15, 15, 15, 15, 16, 16, 20]
    assert str(tune.bars(20)) == "1 note: C4"
    assert len(tune.bars(3, 5)) == 0
    upbeat = load("%G-2@c '4G/=2/CDEC/@3/4 =2/CDE/")[0]
    assert [bar_number(float(note.onset), upbeat) for note in upbeat] == [0, 3, 3, 3, 3, 6, 6, 6]
    without = load("%G-2 =14/'4CDEC/")[0]
    assert without.bar_numbers == range(1, 3), "without a metre nobody knows how long a bar is"


def test_every_bar_is_where_bar_number_finds_its_notes() -> None:
    for bar in TUNE.bar_numbers:
        found = [note.pitch_midi for note in TUNE if bar_number(float(note.onset), TUNE) == bar]
        assert [note.pitch_midi for note in TUNE.bars(bar)] == found


def test_all_bars_together_are_the_melody() -> None:
    again = TUNE.bars(0, 4)
    assert again.notes[["onset_ticks", "duration_ticks", "pitch_midi"]].tolist() == (
        TUNE.notes[["onset_ticks", "duration_ticks", "pitch_midi"]].tolist()
    )
    assert lines(again) == lines(TUNE)
    assert sum(TUNE.bars(bar).notes["duration_ticks"].sum() for bar in TUNE.bar_numbers) == (
        TUNE.notes["duration_ticks"].sum()
    )


def test_a_note_over_a_bar_line_is_cut_at_the_ends_of_a_part() -> None:
    tied = load("%G-2@2/4 '4CD+/DE+/EF//")[0]
    assert len(tied) == 4
    middle = tied.bars(2)
    assert [note.name for note in middle] == ["D4", "E4"]
    assert quarters(middle) == [0, 1]
    assert quarters(middle, "duration_ticks") == [1, 1]
    assert quarters(tied.bars(2, 3), "duration_ticks") == [1, 2, 1]
    assert quarters(tied.bars(1, 3), "duration_ticks") == [1, 2, 2, 1]


def test_a_note_held_into_a_bar_comes_in_the_order_of_the_table() -> None:
    held = Melody.from_notes([0, 2], [4, 2], [48, 72], barlines=[2, 4])
    assert [note.name for note in held.bars(2)] == ["C5", "C3"]


def test_ornaments_belong_to_the_bar_of_their_note() -> None:
    melody = pae.read("%G-2@2/4 '4CD/gEFG//")
    assert [note.name for note in melody.bars(1)] == ["C4", "D4"]
    assert [note.name for note in melody.bars(2)][:2] == ["E4", "F4"]
    last = Melody.from_notes([0, 4], [4, 0], [60, 62], graces=[False, True], barlines=[2])
    assert [note.name for note in last.bars(2)] == ["C4", "D4"]  # one that leads nowhere


def test_a_bar_of_rest_has_no_notes() -> None:
    assert len(load("%G-2@2/4 '4CD/=/EF//")[0].bars(2)) == 0


@pytest.mark.parametrize(
    ("melody", "bars", "message"),
    [
        (TUNE, (5,), r"bars must be from 0 to 4 \(0 is the pick-up\); got 5"),
        (TUNE, (-1, 2), r"bars must be from 0 to 4 .*; got -1"),
        (TUNE, ("1",), r"bars must be from 0 to 4 .*; got '1'"),
        (TUNE, (1.0,), r"bars must be from 0 to 4 .*; got 1\.0"),
        (TUNE, (3, 2), r"the first bar must not come after the last; got 3 and 2"),
        (load("%G-2@3/4 '4CDE/FGA//")[0], (0, 1), r"bars must be from 1 to 2; got 0"),
        (load("'4CDE")[0], (1,), r"has no bar lines, so it has no bars; cut it by notes"),
    ],
)
def test_bars_that_are_not_there(melody: Melody, bars: tuple[int, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        melody.bars(*bars)


def test_melodies_without_bar_lines_have_no_bars() -> None:
    assert list(load("'4CDE")[0].bar_numbers) == []
    assert list(Melody.from_notes([], [], [], barlines=[0]).bar_numbers) == []
    with pytest.raises(RoslinError, match="no bars"):
        Melody.from_notes([], [], []).bars(1)
