"""The same melody higher or lower, with its spelling, its key signature and its key."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roslin import ArgumentError, Melody, load
from roslin.melody import SignatureChange
from roslin.melody.pitches import is_spelled, spelled


def names(melody: Melody) -> str:
    return " ".join(note.name for note in melody)


CDE = load("'4CDE")[0]
SCALE = load("%G-2$xF 'GAB''CDEFG")[0].with_metadata(key="G major")


@pytest.mark.parametrize(
    ("interval", "notes"),
    [
        ("unison", "C4 D4 E4"),
        ("minor second up", "D♭4 E♭4 F4"),
        ("augmented unison up", "C♯4 D♯4 E♯4"),
        ("major second up", "D4 E4 F♯4"),
        ("up a minor third", "E♭4 F4 G4"),
        ("augmented second up", "D♯4 E♯4 F𝄪4"),
        ("augmented fourth up", "F♯4 G♯4 A♯4"),
        ("diminished fifth up", "G♭4 A♭4 B♭4"),
        ("perfect fifth down", "F3 G3 A3"),
        ("minor third down", "A3 B3 C♯4"),
        ("octave down", "C3 D3 E3"),
        ("major tenth up", "E5 F♯5 G♯5"),
        ("15th up", "C6 D6 E6"),
        ("diminished second up", "D𝄫4 E𝄫4 F♭4"),
        (0, "C4 D4 E4"),
        (1, "D♭4 E♭4 F4"),
        (-1, "B3 C♯4 D♯4"),
        (2, "D4 E4 F♯4"),
        (6, "F♯4 G♯4 A♯4"),
        (-12, "C3 D3 E3"),
        ("+7", "G4 A4 B4"),
        ("2 semitones down", "B♭3 C4 D4"),
        ("tritone down", "G♭3 A♭3 B♭3"),
    ],
)
def test_intervals(interval: int | str, notes: str) -> None:
    assert names(CDE.transposed(interval)) == notes


def test_what_sounds_and_what_is_written_agree() -> None:
    for interval in (*range(-24, 25), "augmented sixth up", "diminished seventh down"):
        for note in SCALE.transposed(interval):
            assert is_spelled(note.pitch_base40, note.pitch_midi)


@pytest.mark.parametrize(
    ("interval", "signature", "key"),
    [
        ("perfect fourth up", None, "C major"),
        ("major second up", "xFCG", "A major"),
        ("minor third up", "bBE", "Bb major"),
        ("minor second down", "xFCGDAE", "F# major"),
        ("augmented unison up", None, "G# major"),  # eight sharps cannot be written
        (1, "bBEAD", "Ab major"),
        (-1, "xFCGDAE", "F# major"),
        (6, "bBEADG", "Db major"),
    ],
)
def test_key_signature_and_key_move_too(interval: int | str, signature: str | None, key: str) -> None:
    moved = SCALE.transposed(interval)
    assert (moved.key_signature, moved.key) == (signature, key)


def test_semitones_take_the_key_with_fewer_signs() -> None:
    flat = load("%G-2$bBEA 'GB''E")[0].with_metadata(key="Eb major")
    assert flat.transposed(1).key == "E major"  # and not F flat major
    assert names(flat.transposed(1)) == "G♯4 B4 E5"
    assert names(flat.transposed("minor second up")) == "A♭4 C♭5 F♭5"


@pytest.mark.parametrize(
    ("signature", "interval", "moved"),
    [
        ("n", "perfect fifth up", "xF"),
        ("xFCGDAEB", "perfect fifth down", "xFCGDAE"),
        ("bB[E]", "major second up", None),
        ("xFbB", "major second up", "xFG"),
        ("bE", "major second up", "xC"),
    ],
)
def test_signatures_of_every_kind(signature: str, interval: str, moved: str | None) -> None:
    assert CDE.with_metadata(key_signature=signature).transposed(interval).key_signature == moved


@pytest.mark.parametrize(
    ("key", "moved"),
    [
        ("D minor", "E minor"),
        ("B♭ major", "C major"),
        ("E♭ dorian", "F dorian"),
        ("A♭", "B♭"),
        ("B", "C#"),
        ("b", "c#"),
        ("B|b", "C"),
        ("A|b", "B|b"),
        ("E|b", "F"),
        ("fx", "gx"),
        ("F# minor", "G# minor"),
        ("C#", "D#"),
        ("Mi mineur", None),
        ("", None),
        (None, None),
        ("E#", None),  # F double sharp
    ],
)
def test_names_of_keys(key: str | None, moved: str | None) -> None:
    assert CDE.with_metadata(key=key).transposed("major second up").key == moved


def test_changes_of_key_move_too() -> None:
    changes = (SignatureChange(10, key_signature="bB"), SignatureChange(20, metre="3/4"))
    moved = CDE.with_metadata(changes=changes).transposed("perfect fifth up")
    assert moved.changes == (SignatureChange(10, key_signature="n"), SignatureChange(20, metre="3/4"))


def test_the_source_text_is_no_longer_true_and_the_rest_stays() -> None:
    moved = SCALE.with_metadata(id="s", title="Scale", extra={"a": "b"}).transposed(2)
    assert (moved.music, moved.notation, set(moved.notes["source_column"].tolist())) == (None, None, {0})
    assert (moved.id, moved.title, moved.clef, dict(moved.extra)) == ("s", "Scale", "G-2", {"a": "b"})
    assert SCALE.transposed(0) is SCALE
    assert SCALE.transposed("unison") is SCALE


def test_a_note_beyond_double_accidentals_is_spelled_in_the_usual_way() -> None:
    assert names(load("'4xxF")[0].transposed("augmented unison up")) == "G♯4"
    odd = Melody.from_notes([0], [1], [60], base40=[165])  # a number that no note has
    assert names(odd.transposed("major second up")) == "D4"
    low = Melody.from_notes([0], [1], [12], base40=[-2])  # B sharp; an octave lower it is no number of the table
    assert names(low.transposed("octave down")) == "C-1"


@given(st.lists(st.integers(30, 90), min_size=1, max_size=12), st.integers(-24, 24))
def test_there_and_back(pitches: list[int], semitones: int) -> None:
    melody = Melody.from_notes(range(len(pitches)), [1] * len(pitches), pitches)
    there = melody.transposed(semitones)
    assert (there.notes["pitch_midi"] - melody.notes["pitch_midi"]).tolist() == [semitones] * len(pitches)
    assert there.transposed(-semitones).notes["pitch_midi"].tolist() == pitches


@given(st.integers(-5, 5), st.sampled_from(["major third", "perfect fifth", "minor second", "octave"]))
def test_a_named_interval_moves_every_letter_alike_and_back(start: int, interval: str) -> None:
    melody = SCALE.transposed(start)
    there = melody.transposed(f"{interval} up")
    pairs = zip(there, melody, strict=True)
    steps = {(spelled(new.pitch_base40)[0] - spelled(old.pitch_base40)[0]) % 7 for new, old in pairs}
    assert len(steps) == 1
    assert list(there.transposed(f"{interval} down")) == list(melody)


@pytest.mark.parametrize(
    ("interval", "message"),
    [
        (1.5, r"transposed by a whole number of semitones, or one interval .*; got 1\.5"),
        (None, r"a whole number of semitones, or one interval with its direction, .*; got None"),
        ("perfect fifth", r"one interval with its direction, such as 'perfect fifth up'; got 'perfect fifth'"),
        ("", r"one interval with its direction, .*; got ''"),
        ("octave up, octave up", r"one interval with its direction, .*; got 'octave up, octave up'"),
        ("diminished second", r"one interval with its direction, .*; got 'diminished second'"),
        ("fifth up", r"'fifth up': column 1: expected a quality, as in 'perfect fifth up'"),
        ("prefect fifth up", r"'prefect fifth up': column 1: expected an interval such as .*; found 'prefect'"),
        ("major fifth up", r"expected an interval that exists; found 'major fifth'"),
        (64, r"pitches must stay from 0 to 127; transposed by 64, one would be 128"),
        (-61, r"pitches must stay from 0 to 127; transposed by -61, one would be -1"),
    ],
)
def test_what_cannot_be_done(interval: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        CDE.transposed(interval)


def test_nothing_can_be_transposed_anywhere() -> None:
    assert len(Melody.from_notes([], [], []).transposed(500)) == 0
