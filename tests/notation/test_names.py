"""Note names in the languages of musicians: known tunes, octaves, what could be meant otherwise, what is none."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest

from roslin import Collection, load
from roslin.errors import NotationError
from roslin.notation import detect
from roslin.notation.names import in_octaves_of, looks_like_names, read_names, with_octaves
from roslin.notation.query import read_query
from roslin.starter import tunes_path

ODE = [64, 64, 65, 67, 67, 65, 64, 62, 60, 60, 62, 64, 64, 62, 62]
FRERE = [60, 62, 64, 60, 60, 62, 64, 60, 64, 65, 67]
BIRTHDAY = [67, 67, 69, 67, 72, 71, 67, 67, 69, 67, 74, 72]
CHROMATIC = list(range(60, 73))


def pitches(text: str) -> list[int]:
    melody = read_query(text)
    assert melody.notation == "names"
    return [int(pitch) for pitch in melody.notes["pitch_midi"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("e e f g g f e d c c d e e d d", ODE),
        ("E E F G G F E D C C D E E D D", ODE),
        ("mi mi fa sol sol fa mi ré do do ré mi mi ré ré", ODE),
        ("mi mi fa sol sol fa mi re do do re mi mi re re", ODE),
        ("mi-mi-fa-so-so-fa-mi-re-do-do-re-mi-mi-re-re", ODE),
        ("E4 E4 F4 G4 G4 F4 E4 D4 C4 C4 D4 E4 E4 D4 D4", ODE),
        ("e' e' f' g' g' f' e' d' c' c' d' e' e' d' d'", ODE),
        ("e\u2019 e\u2019 f\u2019 g\u2019 g\u2019 f\u2019 e\u2019 d\u2019 c\u2019 c\u2019 d\u2019", ODE[:11]),
        ("e, e, f, g, g, f, e, d, c, c, d, e, e, d, d", ODE),
        ("c d e c\nc d e c\ne f g", FRERE),
        ("g g a g c h g g a g d c", [*BIRTHDAY[:10], 62, 60]),  # without octaves, d is nearer below
        ("g' g' a' g' c'' h' g' g' a' g' d'' c''", BIRTHDAY),
        ("sol4 sol4 la4 sol4 do5 si4 sol4 sol4 la4 sol4 ré5 do5", BIRTHDAY),
        ("c cis d dis e f fis g gis a b h c", CHROMATIC),
        ("c des d es e f ges g as a b h c", CHROMATIC),
        ("C C# D Eb E F F# G Ab A Bb B C", CHROMATIC),
        ("C C♯ D E♭ E F F♯ G A♭ A B♭ B C", CHROMATIC),
        ("C, C sharp, D, E flat, E, F, F sharp, G, A flat, A, B flat, B, C", CHROMATIC),
        ("do do# ré mib mi fa fa# sol lab la sib si do", CHROMATIC),
        ("do do dièse ré mi bémol mi fa fa dièse sol la bémol la si bémol si do", CHROMATIC),
        ("do do diesis re mi bemolle mi fa fa diesis sol la bemolle la si bemolle si do", CHROMATIC),
        ("ut ré mi", [60, 62, 64]),
        ("do re", [60, 62]),
        ("do ré", [60, 62]),
        ("Re mi", [62, 64]),
        ("sol la", [67, 69]),
        ("C c c' C,", [36, 48, 60, 24]),
        ("cisis eses deses", [62, 62, 60]),
        ("60 60 67 67 69 69 67", [60, 60, 67, 67, 69, 69, 67]),
        ("60, 61, 62,63 | 64-65", [60, 61, 62, 63, 64, 65]),
    ],
)
def test_tunes_that_everybody_knows(text: str, expected: list[int]) -> None:
    assert pitches(text) == expected


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("c d e h", ["read 'c d e h' as German note names: C4 D4 E4 B3 at line 1, column 1"]),
        ("d4 f#4 a4", ["read 'd4 f#4 a4' as note names: D4 F♯4 A4 at line 1, column 1"]),
        ("71 70 71", ["read '71 70 71' as MIDI numbers: B4 B♭4 B4 at line 1, column 1"]),
        ("do4 re4 mi4", ["read 'do4 re4 mi4' as syllables: C4 D4 E4 at line 1, column 1"]),
        ("g4 a4 b4", ["read 'b4' as B natural, as in English; German writes h at line 1, column 7"]),
        ("h4 a4\nb4", ["read 'b4' as B flat, as in German at line 2, column 1"]),
        ("c d e", ["read names without an octave as the closest to the one before at line 1, column 1"]),
    ],
)
def test_how_it_was_understood_is_told(text: str, lines: list[str]) -> None:
    said = read_query(text).deviations
    assert all(line in said for line in lines)
    with pytest.raises(NotationError, match="note names; expected a notation"):
        read_query(text, strict=True)


@pytest.mark.parametrize("length", range(3999, 4004))
def test_a_long_text_may_end_within_a_number(length: int) -> None:
    assert looks_like_names(("60 62 " * 1000)[:length].encode())


def test_where_nothing_can_be_meant_otherwise_no_more_is_told() -> None:
    assert len(read_query("f#4 g4 b4").deviations) == 1
    assert len(read_query("do4 re4 si4").deviations) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "c",
        "c d",
        "CDE",
        "cdef",
        "'4C D E",
        "%G-2 C D E",
        "c d e | f g",  # ABC
        "C2 D2 E2 F2",  # ABC: lengths
        "c8 d8 e8",
        "K:C\nc d e",
        "Sol majeur",
        "as you like it",
        "a bad cab",
        "la la land",
        "la",
        "la b",
        "C C G G A A G4",  # ABC: a length
        "cs d e",
        "dos re mi",
    ],
)
def test_what_is_not_taken_for_note_names(text: str) -> None:
    assert not looks_like_names(text.encode())


def test_a_word_that_is_none_is_left_out_where_names_are_asked_for() -> None:
    record = read_names("c d x e\nf ? g")
    assert record.melody is not None
    assert record.melody.notes["pitch_midi"].tolist() == [60, 62, 64, 65, 67]
    left_out = [
        (problem.line, problem.column, problem.found) for problem in record.problems if problem.taken == "nothing"
    ]
    assert left_out == [(1, 5, "'x'"), (2, 3, "'?'")]
    assert read_names("hello world, c").problems[0].reason == "not music"


def test_a_note_knows_where_it_stands() -> None:
    assert read_query("c4  d4\ne4").notes["source_column"].tolist() == [1, 5, 8]


def test_a_long_text_that_is_cut_within_a_sign() -> None:
    head = ("ré do mi " * 1000).encode()
    assert all(looks_like_names(head[:end]) for end in range(4090, 4100))


@pytest.mark.long
def test_no_real_incipit_is_taken_for_note_names(data_folder: Path) -> None:
    with gzip.open(data_folder / "rism" / "incipits.jsonl.gz", "rt", encoding="utf-8") as lines:
        music = [json.loads(line)["pae"] for line in lines]
    assert len(music) > 37_000
    assert [text for text in music if looks_like_names(text.encode())] == []
    assert [text for text in music if detect(text.encode(), "").name != "pae"] == []


def test_the_same_everywhere(tmp_path: Path) -> None:
    """In Python, by the collection; the command line and the page read through the same call."""
    with Collection.build(tunes_path(), tmp_path / "starter.roslin") as tunes, pytest.warns(UserWarning, match="note"):
        assert tunes.search("c d e c c d e c e f g", k=1)[0].id == "frere-jacques"
    [melody] = load("do ré mi")
    assert melody.notes["pitch_midi"].tolist() == [60, 62, 64]


@pytest.mark.parametrize(
    ("text", "heights", "octaves", "rarer"),
    [
        ("c g c", [60, 55, 60], "c' g c'", 1.0),  # the likeliest
        ("c g c", [62, 69, 62], "c' g' c'", math.exp(1.0 + 1.6 - 0.6)),  # in another key, a fifth up
        ("c g c", [64, 60, 55, 72], "c' g c''", math.exp(0.4 + 4.2 + 2.0 - 0.6)),  # up an eleventh
        ("c c d", [60, 36, 38], "c' c, d,", math.exp(4.2 + 4.0 + 6.0)),  # down two octaves
    ],
)  # fmt: skip
def test_names_in_the_octaves_of_other_notes(text: str, heights: list[int], octaves: str, rarer: float) -> None:
    found = in_octaves_of(read_names(text).melody_or_raise(), heights)
    assert found is not None
    assert with_octaves(found[0]) == octaves
    assert found[1] == pytest.approx(rarer)


@pytest.mark.parametrize(("text", "heights"), [("c g c", [60, 55]), ("c g c", [60, 55, 61]), ("c' g c'", [60, 55, 60])])
def test_names_that_other_notes_do_not_have_stay(text: str, heights: list[int]) -> None:
    assert in_octaves_of(read_names(text).melody_or_raise(), heights) is None
