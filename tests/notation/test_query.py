"""What people type and paste: one melody, and a line for everything that was read otherwise than it was written."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from roslin import Collection
from roslin.errors import NotationError, TimeLimitError
from roslin.melody import Melody
from roslin.notation.names import in_octaves_of, with_octaves
from roslin.notation.pae.incipit import capitals
from roslin.notation.query import Surest, read_query, readings, surest
from roslin.notation.typed import is_bare_abc, plain, without_quotes
from roslin.run import Ranking, Run
from roslin.starter import tunes_path

SCALE = [60, 62, 64, 65]
ONE_OCTAVE_UP = [72, 74, 76, 77]
FLAT = [60, 62, 63, 65]


def told(text: str, **options: Any) -> tuple[list[int], list[str]]:
    melody = read_query(text, **options)
    return melody.notes["pitch_midi"].tolist(), melody.deviations


@pytest.mark.parametrize(
    "text", ["'4CDEF", "  '4CDEF\n", "\n\n'4CDEF\n\n", "%G-2@4/4 '4CDEF/", "X:1\nL:1/4\nK:C\nCDEF"]
)
def test_what_is_written_well_is_read_without_a_word(text: str) -> None:
    assert told(text) == (SCALE, [])
    assert told(text, strict=True) == (SCALE, [])


@pytest.mark.parametrize(
    ("text", "pitches", "lines"),
    [
        ("%G2@4/4 '4CDEF", SCALE, ["read 'G2' as G-2 at column 2"]),
        ('"4CDEF', ONE_OCTAVE_UP, ["read '\"' as two octave marks at column 1"]),
        ("-3/'4CDEF", SCALE, ["read '-3' as =3 at column 1"]),
        ("'4CDEF/-3", SCALE, ["read '-3' as =3 at column 8"]),
        ("y'4CDzEF", SCALE, ["read 'y' as a slur at column 1", "read 'z' as the end of a slur at column 6"]),
        ("'4CD♭EF", FLAT, ["read '♭' as b (flat) at column 5"]),
        ("'4CDE|F|", SCALE, ["read '|' as / (bar line) at columns 6 and 8"]),
        ("'4CDEF?", SCALE, ["left out '?' at column 7"]),
        ("\u2019\u20194CDEF", ONE_OCTAVE_UP, ["read '\u2019' as \"'\" at columns 1 and 2"]),
        (
            "\u201d4CDEF",
            ONE_OCTAVE_UP,
            ["read '\u201d' as '\"' at column 1", "read '\"' as two octave marks at column 1"],
        ),
        ("'4CD\u00a0EF", SCALE, ["read U+00A0 as a space at column 5"]),
        ("\u201c'4CDEF\u201d", SCALE, ["left out \u201c...\u201d at column 1"]),
        ('"\'4CDEF"', SCALE, ['left out "..." at column 1']),
        ("`4CDEF", SCALE, ["read '`' as \"'\" at column 1"]),
        (
            "'4cdef",
            SCALE,
            ["read letters in lower case as note names at column 3", "read 'f' as the note F at column 6"],
        ),
        ("'4CDbeF", FLAT, ["read 'e' as the note E at column 6"]),
        ("CDEF|", SCALE, ["read 'CDEF|' as ABC in C major at line 1, column 1"]),
        ("C2D2E2F2", SCALE, ["read 'C2D2E2F2' as ABC in C major at line 1, column 1"]),
        ("C D E F2", SCALE, ["read 'C D E F2' as ABC in C major at line 1, column 1"]),
        ("C D E F4", SCALE, ["read 'C D E F4' as ABC in C major at line 1, column 1"]),
        ("c d e f|", ONE_OCTAVE_UP, ["read 'c d e f|' as ABC in C major at line 1, column 1"]),
        (
            "c d eb f",
            FLAT,
            [
                "read 'c d eb f' as note names: C4 D4 E♭4 F4 at line 1, column 1",
                "read names without an octave as the closest to the one before at line 1, column 1",
            ],
        ),
        ("X:1\nK:c\nCDEF", SCALE, ["read c as C major at line 2, column 3"]),
        ("K:C\nCD\u00a0EF", SCALE, ["read U+00A0 as a space at line 2, column 3"]),
        ("@clef:G2 @keysig: @timesig:4/4 @data:'4CDEF", SCALE, ["read 'G2' as G-2 at line 1"]),
        ("$gG-2$nCminor$o4/4$p'4CDEF", SCALE, ["read 'Cminor' as no key signature at column 8"]),
        ("'4CD/\nEF", SCALE, ["read 2 lines as one melody"]),
        ("%G-2@4/4\n'4CD/\n?EF", SCALE, ["read 3 lines as one melody", "left out '?' at line 3, column 1"]),
    ],
)
def test_what_people_have_is_read_and_told(text: str, pitches: list[int], lines: list[str]) -> None:
    assert told(text) == (pitches, lines)
    with pytest.raises(NotationError):
        read_query(text, strict=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no query; expected one melody"),
        (" \n", "no query; expected one melody"),
        ("4-", "no notes; expected at least one note"),
        ("%G-2 '4CDEF\n%G-2 '4CDEF", "several melodies; expected one melody"),
        ("X:1\nK:C\nCDE\n\nX:2\nK:C\nFGA", "several melodies; expected one melody"),
        ("Sol majeur", "not music; expected notes, such as c c g g a a g; found 'Sol majeur'"),
        ("so lala", "not music"),
        ("Ah! vous dirai-je, maman", "not music"),
        ("1 2 3", "no notes; expected MIDI numbers from 21 to 108; found '1 2 3'"),
        ("60 -1 62", "expected MIDI numbers from 21 to 108"),
        ("ZZ\n4ZZ", "1, column 1: no notes"),
    ],
)
def test_what_is_no_query(text: str, message: str) -> None:
    with pytest.raises(NotationError, match=message):
        read_query(text)


@pytest.mark.parametrize(
    ("text", "is_abc"),
    [
        ("GABc dedB", True),
        ("|:GAB|", True),
        ('"Am"A2B2|c4', True),
        ("^F G A", True),
        ("(3GAB c2 d2", True),
        ("G>A B2 c2", True),
        ("z4 C2 D2 E2", True),
        ("CDEF", False),  # both: Plaine & Easie comes first
        ("C C G G A A G2", True),
        ("CCGGAAG2", True),
        ("G3 A B G2", True),
        ("C2 D E F", True),
        ("C4DEF", False),
        ("CDE 4F", False),
        ("gAB", False),  # a grace note
        ("'4CDE|F", False),
        ("4cdef", False),
        ('"GAB"CDE', False),  # octave marks of old catalogues
        ("!'8GAB!f", False),
        ("Fa", False),
        ("", False),
        ("hello", False),
        ("%G-2 CDE|", False),
    ],
)
def test_abc_without_a_header_is_told_from_plaine_and_easie(text: str, is_abc: bool) -> None:
    assert is_bare_abc(text) is is_abc


def test_a_number_behind_the_last_letter_is_its_length() -> None:
    durations = read_query("C C G G A A G2").notes["duration_ticks"]
    assert (durations / durations[0]).tolist() == [1, 1, 1, 1, 1, 1, 2]


@pytest.mark.parametrize(
    ("text", "notations"),
    [
        ("c4 e g c4", ["names", "abc"]),
        ("G4 A4 B4 c4", ["names", "abc"]),  # an octave, or another length and an octave higher
        ("g2 a2 b2 c3", ["abc", "names"]),
        ("C4DEF", ["pae", "abc"]),
        ("c4 d4 e4 f4", ["names"]),  # the same in both
        ("c4 b3 c4 c5", ["names"]),  # five is no length of one note
        ("c2 c2 g2 g2 a2 a2 g4", ["abc"]),  # too wide a leap
        ("C C G G A A G4", ["abc"]),  # an octave starts with the first note
        ("c2 d2 | e2", ["abc"]),
        ("c d e f", ["names"]),
        ("do4 re4 mi3", ["names"]),
        ("f#4 g4 a3", ["names"]),
        ("'4CDEF", ["pae"]),
    ],
)
def test_a_text_that_makes_sense_in_two_notations_has_two_readings(text: str, notations: list[str]) -> None:
    assert [melody.notation for melody in readings(text)] == notations
    assert [melody.notation for melody in readings(text, notations[-1])] == notations[-1:]


def listed(*expected: float, **more: Any) -> Run:
    ids = tuple(f"m{number}" for number in range(len(expected)))
    return Run([Ranking("q", ids, tuple(-each for each in expected), expected=expected, **more)])


def surest_of(found: list[Melody], search: Callable[[Melody], Run], **melodies: Melody) -> Surest:
    other = read_query("'4C")
    return surest(found, search, lambda id: melodies.get(id, other))


def test_the_reading_with_the_most_certain_result_is_listed_and_told() -> None:
    lists = {"names": listed(0.5, 3.0), "abc": listed(0.01, 9.0)}
    used, run, _ = surest_of(readings("c4 e g c4"), lambda melody: lists[str(melody.notation)])
    assert used.notation == "abc"
    assert run.ids == lists["abc"].ids
    [remark] = run.remarks
    assert remark == (
        "The query was read as ABC with lengths. It can also be read as note names with octaves: "
        "choose the notation names."
    )
    equal, _, _ = surest_of(readings("c4 e g c4"), lambda _: listed(0.01))
    assert equal.notation == "names"


def test_note_names_without_octaves_have_up_to_four_readings() -> None:
    named = [with_octaves(melody) for melody in readings("c c g g a a g")]
    assert named == ["c' c' g g a a g", "c' c' g' g' a' a' g'"]
    assert len(readings("g g c b a g c e g e c d c")) == 4
    assert len(readings("c c g g a a g", "names")) == 2
    assert len(readings("do ré mi fa mi")) == 1  # no leap
    assert len(readings("c4 c g g f#")) == 1  # an octave is given
    syllables = [with_octaves(melody) for melody in readings("do do sol dièse")]
    assert syllables == ["do' do' sol diese", "do' do' sol' diese"]


def test_marks_for_octaves_that_are_told_can_be_typed() -> None:
    for melody in readings("h e as cis d"):
        typed = read_query(with_octaves(melody))
        assert typed.notes["pitch_base40"].tolist() == melody.notes["pitch_base40"].tolist()


def test_other_octaves_are_searched_for_and_the_two_surest_readings_are_told() -> None:
    def search(melody: Melody) -> Run:
        return listed(0.001 if melody.notes["pitch_midi"][2] > 60 else 0.5)

    used, run, count = surest_of(readings("c c g g a a g"), search)
    assert with_octaves(used) == "c' c' g' g' a' a' g'"
    assert count == 2
    [remark] = run.remarks
    assert remark == (
        "The octaves were read as c' c' g' g' a' a' g'. "
        "Another reading is c' c' g g a a g: type the marks to search for it."
    )


def test_a_result_with_all_the_names_has_the_octaves_that_were_meant() -> None:
    leaps = read_query("c' e' g'' e' c' g d''")

    def search(melody: Melody) -> Run:
        is_same = np.diff(melody.notes["pitch_midi"]).tolist() == np.diff(leaps.notes["pitch_midi"]).tolist()
        return listed(0.01, agreeing=int(is_same))

    read = readings("c e g e c g d")
    used, run, count = surest_of(read, search, m0=leaps)
    assert with_octaves(used) == "c' e' g'' e' c' g d''"
    # Up a third and an octave is e^4 times as rare as up a third, likewise down; and the range is 11 steps, not 8.
    [_, rarer] = in_octaves_of(read[0], leaps.notes["pitch_midi"].tolist()) or (None, 0.0)
    assert count == (len(read) + 1) * math.ceil(rarer)
    assert run[0].expected == pytest.approx(0.01 * count)
    assert run.headline == "Found"
    assert run.remarks[0].startswith("The octaves were read as c' e' g'' e' c' g d''. Another reading is c' e' g' ")
    assert used.deviations[-1].startswith("read names without an octave as the octaves with the most certain result")
    unsung, run, count = surest_of(read, lambda _: listed(0.01), m0=leaps)  # its notes differ in something else
    assert (with_octaves(unsung), count) == (with_octaves(read[0]), len(read))


def test_every_reading_brings_chance_matches_of_its_own() -> None:
    lists = {"names": listed(0.5, 3.0), "abc": listed(0.001, 2.0)}
    _, run, count = surest_of(readings("c4 e g c4"), lambda melody: lists[str(melody.notation)])
    assert count == 2
    assert [hit.expected for hit in run] == [0.002, 4.0]
    assert [hit.value for hit in run] == pytest.approx([-0.001 - math.log10(2), -2.0 - math.log10(2)])
    _, with_ties, count = surest_of([read_query("'4CC2DDE4F-F")], lambda _: listed(0.02))
    assert count == 2
    assert with_ties[0].expected == 0.04
    _, one, count = surest_of([read_query("'4CDEF")], lambda _: listed(0.02))
    assert count == 1
    assert one[0].expected == 0.02


def test_one_reading_is_searched_for_once_and_nothing_is_told() -> None:
    asked = list[str]()

    def search(melody: Any) -> Run:
        asked.append(str(melody.notation))
        return listed(0.001)

    _, run, _ = surest_of(readings("'4CCDE"), search)
    assert asked == ["pae"]
    assert run.remarks == ()


@pytest.mark.parametrize(
    "run",
    [
        listed(0.5, unfinished="Stopped."),
        Run([Ranking("q", ("m",), (0.5,))], kind="distance"),  # chance is not counted
    ],
)
def test_a_list_without_a_measure_of_certainty_is_that_of_the_first_reading(run: Run) -> None:
    asked = list[Any]()
    used, found, _ = surest_of(readings("c4 c4 g g c4"), lambda melody: asked.append(melody) or run)  # type: ignore[func-returns-value]
    assert [used] == asked
    assert used.notation == "names"
    assert found.ids == run.ids


@pytest.mark.parametrize(("with_ties", "is_used"), [(0.04, True), (0.06, False)])
def test_repeated_notes_are_read_as_ties_where_the_list_is_better_by_much(with_ties: float, is_used: bool) -> None:
    query = read_query("'4CC2DDE4F-F")
    used, run, _ = surest_of([query], lambda melody: listed(0.5 if melody is query else with_ties))
    assert (used is not query) is is_used
    assert len(run.remarks) == is_used
    if is_used:
        quarters = used.notes["duration_ticks"] // read_query("4C").notes["duration_ticks"]
        assert used.notes["pitch_midi"].tolist() == [60, 62, 64, 65, 65]  # the notes around a rest are two
        assert quarters.tolist() == [2, 4, 2, 1, 1]


@pytest.mark.parametrize("text", ["'4CDEF", "'4CCCC", "'4CCDD"])
def test_ties_are_not_tried_without_repeated_notes_or_with_too_few_others(text: str) -> None:
    asked = list[Any]()
    surest_of([read_query(text)], lambda melody: asked.append(melody) or listed(0.5))  # type: ignore[func-returns-value]
    assert len(asked) == 1


def test_another_reading_for_which_the_time_is_over_changes_nothing() -> None:
    def search(melody: Any) -> Run:
        if melody.notation == "names":
            return listed(0.5)
        raise TimeLimitError("too long")

    used, run, _ = surest_of(readings("c4 e g c4"), search)
    assert used.notation == "names"
    assert run.ids == ["m0"]


def test_a_tune_is_found_by_notes_repeated_where_it_has_long_ones(tmp_path: Path) -> None:
    typed = "%G-2 '8DD8.GG8AbBBAG''8.DD8bE"
    with Collection.build(tunes_path(), tmp_path / "starter.roslin") as tunes:
        found = tunes.search(typed, k=3)
        assert found[0].id.startswith("roslin-castle")
        assert found[0].meaning == "same notes"
        assert any("read as ties" in remark for remark in found.remarks)
        assert not tunes.search(read_query(typed), k=3).is_close  # a melody is searched for as it is


@pytest.mark.long
def test_no_real_incipit_is_taken_for_abc(data_folder: Path) -> None:
    with gzip.open(data_folder / "rism" / "incipits.jsonl.gz", "rt", encoding="utf-8") as lines:
        assert [music for line in lines if is_bare_abc(music := json.loads(line)["pae"])] == []


@pytest.mark.parametrize(
    ("music", "written"),
    [
        ("'4cdec", "'4CDEC"),
        ("4gfb", "4GFB"),
        ("4cbe", "4CbE"),
        ("4cbbe", "4CbbE"),
        ("4b/a", "4B/A"),
        ("4Cde", "4Cde"),
        ("4-", "4-"),
        ("bb", "bb"),
        ("hej", "hej"),
    ],
)
def test_lower_case_is_read_where_nothing_is_a_capital(music: str, written: str) -> None:
    found, problems = capitals(music, 0)
    assert found == written
    assert bool(problems) == (found != music)


def test_only_the_music_is_put_in_capitals() -> None:
    assert capitals("%g-2 '4cde", 5)[0] == "%g-2 '4CDE"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'4C", "'4C"),
        ("\u2018\u2032\u00b4", "'''"),
        ("\u2013\u2212", "--"),
        ("\u200b\u00a0", "  "),
        ("Grétry", "Grétry"),
    ],
)
def test_typographic_signs_are_those_of_a_keyboard(text: str, expected: str) -> None:
    written, problems = plain(text)
    assert written == expected
    assert [problem.column for problem in problems] == [n for n, sign in enumerate(text, 1) if expected[n - 1] != sign]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('"4C"', " 4C "),
        (' "4C" ', "  4C  "),
        ("\u00ab4C\u00bb", " 4C "),
        ("'4C'", "'4C'"),
        ('"', '"'),
        ('"4C', '"4C'),
        ("", ""),
    ],
)
def test_quotation_marks_around_a_line(line: str, expected: str) -> None:
    assert without_quotes(line)[0] == expected
