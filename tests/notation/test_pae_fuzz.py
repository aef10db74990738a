"""Any text at all: the reader answers with a melody or a located problem, never with a crash or a hang."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzzing import bounded, mutated

from roslin.errors import NotationError
from roslin.melody import Melody
from roslin.notation import pae
from roslin.starter import tunes_path

MUTATED_STRINGS = 24_000

SEEDS = [
    "{''6E'B8G}{GA}-''C{'3B8..G}",
    "4('6DEFGA;5)8({'3DEFGA};5)",
    "!{'8ABAG}!ff/'4ABAG/i/i/",
    "'8.68{AB''C}{DEF}",
    "'2A-//%F-4$xFC ,8B-4-2-/@3/2 '1C2-//",
    "''2D^'A^xF+/D^A^F",
    "2^''D'AxF>/2_/4_//2p^AxF>",
    "2''G/8{_AB}/4_",
    "'2A''qq{'8B''8C}r{''8D'8B}''4C",
    "{'8Ay''{'8B''8C}r''8D}'4AgB(C)",
    "=35/'4xFbbB+/BnF~?",
    '/-24/"4TFFFF/4.F_8F♯G2E/(3/4)yFDz[sic]&#xdc;',
]
SIGNS = "ABCDEFG0123456789xbn.',-=/:+_^>{}(;)gqyr!fi%$@~tpu \"#XNYzZ[]&?*é\0\n🎵"


def check_reading(text: str) -> Melody | None:
    """Both ways of reading; what the strict one takes, the other takes too, with the same notes."""
    incipit = pae.incipit_from_mapping({"clef": "G-2", "keysig": "bBE", "timesig": "3/4", "data": text})
    strict, lenient = (pae.read_incipit(incipit, strict=strict) for strict in (True, False))
    for record in (strict, lenient):
        for problem in record.problems:
            assert problem.reason
            assert 0 <= problem.column <= len(text) + 1
    if strict.melody is not None:
        assert not strict.problems
        assert lenient.melody == strict.melody
    melody = lenient.melody
    if melody is not None:
        notes = melody.notes
        assert len(notes)
        assert (notes["onset_ticks"][1:] >= notes["onset_ticks"][:-1]).all()
        assert (notes["duration_ticks"][~notes["is_grace"]] > 0).all()
        assert ((notes["source_column"] >= 1) & (notes["source_column"] <= len(text))).all()
    return melody


@pytest.mark.long
def test_mutated_strings() -> None:
    source = random.Random(2005)
    seeds = SEEDS + [
        line.split('"pae": "')[1].split('"')[0] for line in tunes_path().read_text("utf-8").splitlines()[:60]
    ]
    read = 0
    for number in range(MUTATED_STRINGS):
        with bounded():
            melody = check_reading(mutated(source, source.choice(seeds), SIGNS))
        read += melody is not None
        if melody is not None and number % 10 == 0:
            check_writing(melody)
    assert read > MUTATED_STRINGS // 2


def check_writing(melody: Melody) -> None:
    try:
        text = pae.write(melody)
    except NotationError:
        return  # a length that no tuplet makes writable
    again = pae.read(text)
    for name in ("onset_ticks", "duration_ticks", "pitch_midi", "pitch_base40", "is_grace"):
        assert again.notes[name].tolist() == melody.notes[name].tolist(), (melody.music, text)


@pytest.mark.long
@given(st.text(alphabet=SIGNS, max_size=60))
@settings(max_examples=600)
def test_random_signs(text: str) -> None:
    check_reading(text)


@pytest.mark.long
@given(st.text(max_size=80))
@settings(max_examples=300)
def test_random_text_in_any_representation(text: str) -> None:
    for start in ("", "%G-2@3/4 ", "@clef:G-2\n@data:", '{"clef": "', "$g G-2 $p "):
        for record in pae.read_text(start + text, strict=False):
            assert record.melody is not None or record.problems


@pytest.mark.long
@pytest.mark.parametrize(
    "text",
    [
        "(" * 5000,
        "{" * 5000 + "C",
        "!" * 5001,
        "'4C!" * 3000,
        "'4C" + "/i" * 20_000,
        "!!" * 3000 + "ffff",
        "'" * 10_000 + "C",
        "8." * 20_000 + "C",
        "x" * 20_000,
        "q" * 9_000 + "C",
        "C" + "^C" * 20_000,
        "C" + "+C" * 20_000,
        "C_" * 8_000,
        "y" * 3_000 + "C",
        "=" + "9" * 20_000,
        "(8CDE;" + "9" * 20_000,
        "@" + "9" * 5_000 + "/" + "9" * 5_000 + " C",
        "[" * 300_000,
        "C" + "_" * 300_000,
        "C_" + "'" * 300_000 + "C",
        "'4^" + "C" * 5_000 + ">" + "_" * 5_000,
        "y" + "C" * 100_000,
        "qC" * 60_000,
        "(" + "'" * 300_000,
        "-1" * 100_000,
        "&" * 100_000,
        "%" * 50_000 + "$" * 50_000 + "@" * 50_000,
    ],
    ids=lambda text: f"{text[:12]}...",
)
def test_towers_of_one_sign(text: str) -> None:
    with bounded():
        check_reading(text)
