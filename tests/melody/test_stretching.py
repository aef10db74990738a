"""The same melody in longer or shorter notes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roslin import ArgumentError, Melody, MelodyError, load
from roslin.melody import TICKS_PER_QUARTER, SignatureChange

TUNE = load("%G-2@3/4$bB '4G/''C8DE3F6.GA/4(8BAG)2F//")[0].with_metadata(id="tune", title="A tune")


def test_every_time_is_multiplied() -> None:
    doubled = TUNE.stretched(2)
    for column in ("onset_ticks", "duration_ticks"):
        assert doubled.notes[column].tolist() == (2 * TUNE.notes[column]).tolist()
    assert doubled.barlines_ticks.tolist() == (2 * TUNE.barlines_ticks).tolist()
    assert doubled.notes["pitch_base40"].tolist() == TUNE.notes["pitch_base40"].tolist()
    assert (doubled.id, doubled.title, doubled.key_signature, doubled.metre) == ("tune", "A tune", "bB", "3/2")
    assert (doubled.music, doubled.notation, set(doubled.notes["source_column"].tolist())) == (None, None, {0})
    assert doubled.bar_numbers == TUNE.bar_numbers
    assert TUNE.stretched(1) is TUNE


def test_ornaments_and_changes_are_stretched_too() -> None:
    melody = Melody.from_notes(
        [0, 0], [0.5, 1], [62, 60], graces=[True, False], changes=(SignatureChange(40320, metre="2/4", clef="C-1"),)
    )
    longer = melody.stretched(Fraction(3, 2))
    assert longer.notes["duration_ticks"].tolist() == [30240, 60480]
    assert longer.changes == (SignatureChange(60480, clef="C-1"),)  # there is no note value of a quarter and a half
    assert melody.stretched(0.5).changes == (SignatureChange(20160, clef="C-1", metre="2/8"),)


@pytest.mark.parametrize(
    ("metre", "factor", "expected"),
    [
        ("3/4", 2, "3/2"),
        ("3/4", 4, "3/1"),
        ("3/4", 8, None),
        ("3/4", Fraction(1, 2), "3/8"),
        ("6/8", 0.25, "6/32"),
        ("c", 2, "4/2"),
        ("c/", 0.5, "2/4"),
        ("3/4|2/4", 2, "3/2|2/2"),
        ("3/4", 1.5, None),
        ("4/64", 0.25, None),
        ("o", 2, None),
        (None, 2, None),
    ],
)
def test_metres(metre: str | None, factor: Any, expected: str | None) -> None:
    assert TUNE.with_metadata(metre=metre).stretched(factor).metre == expected


def test_one_metre_that_cannot_be_said_takes_the_others_with_it() -> None:
    changes = (SignatureChange(TICKS_PER_QUARTER, metre="o"),)
    moved = TUNE.with_metadata(changes=changes).stretched(2)
    assert (moved.metre, moved.changes) == (None, (SignatureChange(2 * TICKS_PER_QUARTER),))


@pytest.mark.parametrize("factor", [2, 0.5, Fraction(1, 3), 1 / 3, np.float32(0.25), np.int64(3), Fraction(5, 4)])
def test_factors_of_every_kind_are_exact_and_come_back(factor: Any) -> None:
    there = TUNE.stretched(factor)
    exact = Fraction(factor).limit_denominator(100) if not isinstance(factor, np.float32) else Fraction(1, 4)
    assert [note.onset for note in there] == [note.onset * exact for note in TUNE]
    back = there.stretched(1 / exact)
    assert back.notes[["onset_ticks", "duration_ticks"]].tolist() == (
        TUNE.notes[["onset_ticks", "duration_ticks"]].tolist()
    )


@given(st.floats(0.01, 100))
def test_what_cannot_be_exact_is_rounded_to_ticks_and_notes_still_touch(factor: float) -> None:
    there = TUNE.stretched(factor)
    expected = TUNE.notes["onset_ticks"] * factor
    assert np.abs(there.notes["onset_ticks"] - expected).max() <= 0.5 + 1e-6
    ends = there.notes["onset_ticks"] + there.notes["duration_ticks"]
    assert ends[:-1].tolist() == there.notes["onset_ticks"][1:].tolist()


@pytest.mark.parametrize("factor", [0, -1, float("nan"), float("inf"), "2", None, True, 1j])
def test_what_is_no_factor(factor: Any) -> None:
    with pytest.raises(ArgumentError, match="the factor must be finite and above 0; got "):
        TUNE.stretched(factor)


def test_too_short_and_too_long() -> None:
    with pytest.raises(MelodyError, match="stretched by 1e-09, a note would be shorter than a tick"):
        TUNE.stretched(1e-9)
    with pytest.raises(MelodyError, match="the melody would be longer than"):
        TUNE.stretched(1e300)
    assert len(Melody.from_notes([], [], []).stretched(1e300)) == 0
