"""Words for intervals, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roslin.errors import FilterError, UnknownNameError
from roslin.melody.intervals import Kind, interval_name
from roslin.represent.strings import KINDS, interval_semitones, interval_words, parse_interval, parse_intervals

DIATONIC = "=BCDEFGHIJKLMNOPQRSTUVWXYZbcdefghijklmnopqrstuvwxyz"
CHROMATIC = DIATONIC + "Aa"


@pytest.mark.parametrize(
    "text",
    [
        "fifth up, third down, unison, sixth up",
        "Fifth Up; Third Down; Unison; Sixth Up",
        "up a fifth, down a third, unison, up a sixth",
        "up a fifth down a third unison up a sixth",
        "fifth up third down unison sixth up",
        "fifth up then third down then unison then sixth up",
        "  +5 -3 1 +6 ",
        "5+ 3- 1 6+",
        "5th up, 3rd down, 1st, 6th up",
        "+5,\u22123,1,+6",
        "rising fifth, falling third, prime, ascending sixth",
        "up by a fifth, downwards by a third, unison, upward a sixth",
    ],
)
def test_the_white_cockade_as_people_write_it(text: str) -> None:
    assert parse_intervals(text) == "Ec=F"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("+7 -4 0 +9", "Gd=I"),
        ("7+ 4- 0 9+", "Gd=I"),
        ("7 semitones up, 4 semitones down, 0, +9 semitones", "Gd=I"),
        ("perfect fifth up, minor third down, unison, diminished seventh up", "Gc=I"),
        ("octave up, augmented fourth down, diminished fifth down, tritone up", "LffF"),
        ("semitone up, tone down, augmented unison up, 8th down", "AbAl"),
        ("major tenth up, perfect eleventh down, 15th up, diminished octave up", "PqXK"),
    ],
)
def test_chromatic_intervals(text: str, expected: str) -> None:
    assert parse_intervals(text, "chromatic") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("third", "Cc"), ("third down", "c"), ("3", "Cc"), ("-3", "c"), ("unison", "="), ("1", "="), ("unison up", "=")],
)
def test_one_interval_in_one_direction_or_both(text: str, expected: str) -> None:
    assert parse_interval(text) == expected


def test_sizes_of_the_papers_bounds() -> None:
    names = ("octave", "minor tenth", "minor sixth", "diminished seventh")
    assert [interval_semitones(name) for name in names] == [12, 15, 8, 9]


@given(st.text(DIATONIC, min_size=1, max_size=12))
def test_words_of_diatonic_letters_read_back(pattern: str) -> None:
    assert parse_intervals(interval_words(pattern, "diatonic"), "diatonic") == pattern


@given(st.text(CHROMATIC, min_size=1, max_size=12))
def test_words_of_chromatic_letters_read_back(pattern: str) -> None:
    assert parse_intervals(interval_words(pattern, "chromatic"), "chromatic") == pattern


@pytest.mark.parametrize("semitones", range(27))
def test_names_have_the_size_they_name(semitones: int) -> None:
    assert interval_semitones(interval_name(semitones)) == semitones


@given(st.text(max_size=20), st.sampled_from(KINDS))
def test_any_text_is_read_or_refused(text: str, kind: Kind) -> None:
    try:
        pattern = parse_intervals(text, kind)
    except FilterError:
        return
    assert pattern
    assert set(pattern) <= set(CHROMATIC)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("", "diatonic", r"no intervals; expected an interval such as 'fifth up'.*; found ''"),
        ("fifth up, thrid down", "diatonic", r"column 11: expected an interval such as .*; found 'thrid'"),
        ("fifth up,", "diatonic", r"column 10: expected an interval .*; found 'the end'"),
        ("fifth up,, unison", "diatonic", r"column 10: expected an interval .*; found ','"),
        ("up a", "diatonic", r"column 5: expected an interval .*; found 'the end'"),
        ("fifth up, third, unison", "diatonic", r"column 11: expected 'up' or 'down'.*; found 'third'"),
        ("5", "diatonic", r"column 1: expected 'up' or 'down'.*; found '5'"),
        ("0", "diatonic", r"column 1: expected interval numbers from 1 \(unison\); found '0'"),
        ("+5+", "diatonic", r"column 1: expected one sign, before or after the number; found '\+5\+'"),
        ("-5+", "diatonic", r"column 1: expected one sign.*; found '-5\+'"),
        ("minor third up", "diatonic", r"column 1: expected a plain name .*; found 'minor third'"),
        ("unison, 3 semitones up", "diatonic", r"column 9: expected a plain name .*; found '3 semitones'"),
        ("tritone up", "diatonic", r"column 1: expected a plain name .*; found 'tritone'"),
        ("third up", "chromatic", r"column 1: expected a quality, as in .*; found 'third'"),
        ("major fifth up", "chromatic", r"column 1: expected an interval that exists; found 'major fifth'"),
        ("perfect third up", "chromatic", r"expected an interval that exists; found 'perfect third'"),
        ("diminished unison", "chromatic", r"expected an interval that exists; found 'diminished unison'"),
        ("+27", "chromatic", r"column 1: expected at most 26 semitones.*; found '\+27'"),
        ("+27", "diatonic", r"column 1: expected at most a 26th.*; found '\+27'"),
        ("'; DROP TABLE strings; --", "diatonic", r"column 1: expected an interval .*; found \"'\""),
    ],
)
def test_refusals_say_where_and_what(text: str, kind: Kind, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        parse_intervals(text, kind)


def test_one_interval_means_one() -> None:
    with pytest.raises(FilterError, match="expected one interval; found 2 in 'third up, unison'"):
        parse_interval("third up, unison")
    with pytest.raises(FilterError, match="expected one interval; found 0 in ' '"):
        parse_interval(" ")
    with pytest.raises(
        FilterError, match="expected the name of one interval, such as 'minor tenth'; found 'octave up'"
    ):
        interval_semitones("octave up")


def test_words_refuse_what_is_no_letter() -> None:
    with pytest.raises(FilterError, match="column 2: expected a letter or '='; found '5'"):
        interval_words("E5")
    with pytest.raises(FilterError, match="column 1: expected a letter or '='; found 'é'"):
        interval_words("é", "chromatic")
    with pytest.raises(FilterError, match="column 1: expected '=' for a unison; found 'A'"):
        interval_words("A", "diatonic")


def test_unknown_kinds_list_the_known_ones() -> None:
    for call in (parse_intervals, parse_interval, interval_words):
        with pytest.raises(UnknownNameError, match="unknown kind of interval 'modal'; known: chromatic, diatonic"):
            call("unison", "modal")  # type: ignore[arg-type]
