"""Any text at all: the ABC reader answers with melodies or located problems, never with a crash or a hang."""

from __future__ import annotations

import io
import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzzing import bounded, mutated

from roslin.melody import MAX_TICKS, Melody
from roslin.notation import abc

MUTATED_TUNES = 4_000
MEMORY_BYTES = 50 * 2**20

SEEDS = [
    'X:1\nT:Jig\nM:6/8\nL:1/8\nK:Ador\n|:"Am"A>Bc {gf}e2d|(3cBA [CEG]2-[CEG]|1 A3-A3:|2 z6|]\nw:la la\n',
    "X:2\nM:C|\nV:1 clef=treble-8\nV:2 octave=-1\nK:D exp _b ^f\n[V:1]F2 [K:G]F2|Z2|\n[V:2]A,2 & C,2|x2|\n",
    "L:1/4\n\nX:3\nI:propagate-accidentals octave\nK:Hp transpose=3\n!f!^f/ __B// (5:4:6 abcdef g<<a ~H.T e|[1,3 A:|\n",
    "%%abc-charset iso-8859-1\nX:4\nM:none\nK:none\n%%begintext\nxyz\n%%endtext\n+CE+A\\\nB`c`d y2 .|::|| [|]",
]
SIGNS = "ABCDEFGabcdefgzxZXy0123456789^_=,'/<>()[]{}|:-!+~.HTuv\"%\\&KMLVIUXw \n\r\té\0🎵"


def check(melody: Melody) -> None:
    notes = melody.notes
    assert len(notes) > 0
    assert (notes["onset_ticks"] >= 0).all()
    assert (notes["onset_ticks"] + notes["duration_ticks"] < 2 * MAX_TICKS).all()
    assert (notes["duration_ticks"][~notes["is_grace"]] > 0).all()
    assert ((notes["pitch_midi"] >= 0) & (notes["pitch_midi"] <= 127)).all()
    key = list(zip(notes["onset_ticks"].tolist(), (~notes["is_grace"]).tolist(), strict=True))
    assert key == sorted(key)
    music = melody.music or ""
    assert all(music[column - 1] in "ABCDEFGabcdefg" for column in notes["source_column"].tolist())


def check_text(text: str) -> None:
    strict = list(abc.read_tunes(text, strict=True))
    lenient = list(abc.read_tunes(text, strict=False))
    played = list(abc.read_tunes(text, strict=False, expand_repeats=True))
    assert len(strict) == len(lenient) == len(played) > 0
    for exact, loose, long in zip(strict, lenient, played, strict=True):
        if loose.melody is None:
            assert loose.problems[0].line > 0
            continue
        check(loose.melody)
        assert all(problem.line > 0 and problem.column > 0 for problem in loose.problems)
        if exact.melody is None:
            assert exact.problems[0].line > 0
            assert loose.problems[0] == exact.problems[0]
        else:
            assert exact.melody == loose.melody
        if long.melody is not None:
            check(long.melody)


@pytest.mark.long
def test_mutated_tunes() -> None:
    source = random.Random(20)
    for _ in range(MUTATED_TUNES):
        text = mutated(source, source.choice(SEEDS), SIGNS)
        with bounded():
            check_text(text)


@settings(max_examples=300)
@given(st.text(alphabet=SIGNS, max_size=200))
def test_random_signs(music: str) -> None:
    check_text("X:1\nK:C\n" + music)


@settings(max_examples=200)
@given(st.binary(max_size=300))
def test_random_bytes(data: bytes) -> None:
    abc.matches(data)
    assert list(abc.read(io.BytesIO(b"X:1\nK:C\n" + data), strict=False))


@pytest.mark.long
@pytest.mark.parametrize(
    "unit",
    [
        "{", "[", '"', "(", "!", "+", "[K:", "[V:", "(3", "A>", "A-", "^", ":", "|:", "[1", "|1", "&", "A/", "=", "y1",
        "%", "\\", "A{", "[A", '["', "Z9", "1+", "(3:2:999", "A,", "A'", "9", "<", "!a", "+a", "V:", "|[", "\nV:1\n",
        "\n%%begin", "\nX:1\nK:", "[K:D]A|:", "A|[K:D]B:|", "\nK:", "\nI:", "\r",
    ],
)  # fmt: skip
def test_long_runs_of_one_sign_end_soon(unit: str) -> None:
    text = "X:1\nK:C\nA" + unit * (60_000 // len(unit)) + "\n" + "AB" * 10
    with bounded():
        for expand in (False, True):
            assert list(abc.read_tunes(text, strict=False, expand_repeats=expand))


@pytest.mark.parametrize("prefix", ["K:", "M:", "L:", "V:", "T:", "w:", "I:", "U:", "+:"])
@pytest.mark.parametrize("unit", ["1+", "a", "a=", "=a", '"', "\\'", "- ", "&", " "])
def test_long_fields_end_soon(prefix: str, unit: str) -> None:
    with bounded():
        assert list(abc.read_tunes(f"X:1\n{prefix}{unit * 100_000}\nK:C\nA", strict=False))


@pytest.mark.long
def test_memory_is_bounded() -> None:
    text = "X:1\nK:C\n" + "[CEGc]" * 5_000 + ":|\n"
    tracemalloc.start()
    try:
        for expand in (False, True):
            assert list(abc.read_tunes(text, strict=False, expand_repeats=expand))
        assert tracemalloc.get_traced_memory()[1] < MEMORY_BYTES
    finally:
        tracemalloc.stop()
