"""Any bytes at all: the MIDI reader gives melodies or located problems, without a crash, a hang or much memory."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzzing import MIDI_PIECES, bounded, mutated

from roslin import Melody, load
from roslin.notation.midi import read_midi, write_midi
from roslin.starter import tunes_path

MUTATED_FILES = 2_000

HEADER = b"MThd\0\0\0\6\0\0\0\1\1\xe0"


def seeds() -> list[bytes]:
    """Tunes with everything that a track can hold: signatures, words, several voices, running status, RIFF."""
    tunes = [melody.with_metadata(text="Words of the song") for melody in load(tunes_path())[:40]]
    duet = Melody.from_notes(
        range(12), [1] * 12, range(60, 72), voices=[0, 1] * 6, metre="3/4", barlines=[1, 4, 7, 10], key_signature="bBE"
    )
    running = bytes.fromhex("00 90 3C 50 60 3C 00 00 3E 50 60 3E 00 00 F0 02 7E F7 00 B0 7B 00 00 FF 2F 00")
    bare = HEADER + b"MTrk" + len(running).to_bytes(4, "big") + running
    riff = b"RIFF\0\0\0\0RMIDdata" + len(bare).to_bytes(4, "little") + bare
    return [*map(write_midi, tunes), *[write_midi(duet)] * 10, *[bare] * 10, *[riff] * 5]


def check_reading(data: bytes, quantise: str | None = None) -> list[Melody]:
    """Both ways of reading; what the strict one takes, the other takes too."""
    strict, lenient = (read_midi(data, strict=strict, quantise=quantise) for strict in (True, False))
    assert strict
    assert lenient
    for record in (*strict, *lenient):
        for problem in record.problems:
            assert problem.reason
            assert 0 <= problem.column <= len(data) + 1
    for record in strict:
        assert (record.melody is None) == bool(record.problems)
    if any(record.melody is not None for record in strict):
        assert all(one.melody in (None, other.melody) for one, other in zip(strict, lenient, strict=True))
    melodies = [record.melody for record in lenient if record.melody is not None]
    for melody in melodies:
        check_melody(melody)
    return melodies


def check_melody(melody: Melody) -> None:
    notes = melody.notes
    assert len(notes)
    assert (notes["onset_ticks"] >= 0).all()
    assert (notes["onset_ticks"][1:] >= notes["onset_ticks"][:-1]).all()
    assert (notes["duration_ticks"][~notes["is_grace"]] > 0).all()
    assert (abs(notes["pitch_base40"] - 40 * (notes["pitch_midi"] / 12 - 1)) < 10).all()
    assert (notes["pitch_base40"] >= -40).all()
    lines = melody.barlines_ticks
    assert (lines[1:] > lines[:-1]).all()


def check_writing(melody: Melody) -> None:
    notes = melody.notes
    (again,) = read_midi(write_midi(melody), strict=False)
    kept = again.melody.notes["pitch_midi"].tolist() if again.melody else []
    assert sorted(kept) == sorted(notes["pitch_midi"][~notes["is_grace"]].tolist())


@pytest.mark.long
def test_mutated_files() -> None:
    source = random.Random(2005)
    files = seeds()
    read = 0
    for number in range(MUTATED_FILES):
        data = mutated(source, source.choice(files), MIDI_PIECES)
        with bounded():
            melodies = check_reading(data, "1/16+1/8t" if number % 4 == 0 else None)
        read += bool(melodies)
        for melody in melodies:
            check_writing(melody)
    assert read > MUTATED_FILES // 3


@given(st.binary(max_size=60))
@settings(max_examples=300)
def test_random_events(body: bytes) -> None:
    check_reading(HEADER + b"MTrk" + len(body).to_bytes(4, "big") + body)


@given(st.binary(max_size=60))
@settings(max_examples=200)
def test_random_bytes(data: bytes) -> None:
    for start in (b"", b"MThd", HEADER, b"RIFF", b"RIFF\0\0\0\0RMIDdata"):
        check_reading(start + data)


ALL_KEYS_DOWN = b"".join(bytes([0, 0x90 | channel, pitch, 64]) for channel in range(16) for pitch in range(128))
SHORT_BARS = b"\0\xff\x58\2\1\7"
LONG_NOTE = b"\0\x90\x3c\x40\xff\xff\xff\x7f\x80\x3c\x40\0\xff\x2f\0"


@pytest.mark.long
@pytest.mark.parametrize(
    "body",
    [
        b"\xff" * 100_000,
        b"\0" * 100_000,
        b"\x80" * 100_000,
        b"\0\xff\1\0" * 15_000,
        b"\0\xff\5\4abc " * 15_000,
        b"\0\xff\1\xff\xff\xff\x7f",
        b"\0\xf0\xff\xff\xff\x7f",
        b"\0\xb0\1\1" + b"\0\1\1" * 15_000,
        b"\0\x90\x3c\x40" * 10_000,
        b"\0\x90\x3c\x40" * 10_000 + b"\1\x80\x3c\x40" * 10_000,
        b"\xff\xff\xff\x7f\x90\x3c\x40\0\x80\x3c\x40" * 5_000,
        b"\1\xff\x59\2\1\0\1\xff\x59\2\2\0" * 5_000,
        b"\1\xff\x58\2\1\0\1\xff\x58\2\2\0" * 5_000,
        ALL_KEYS_DOWN + b"\0\xb0\x7b\0" * 15_000,
        SHORT_BARS + LONG_NOTE,
    ],
    ids=lambda body: f"{body[:9].hex(' ')}...",
)
def test_towers_of_one_event(body: bytes) -> None:
    with bounded():
        read_midi(HEADER + b"MTrk" + len(body).to_bytes(4, "big") + body, strict=False)


@pytest.mark.parametrize(
    "data",
    [
        HEADER + b"MTrk\xff\xff\xff\xff\0\x90\x3c\x40",
        HEADER[:10] + b"\xff\xff\1\xe0" + b"MTrk\0\0\0\4\0\xff\x2f\0",
        b"MThd\xff\xff\xff\xff" + HEADER[8:],
        HEADER + b"MTrk" * 20_000,
        HEADER + b"MTrk\0\0\0\0" * 20_000,
        HEADER + b"\0\0\0\0MTrk\0\0\0\0" * 20_000,
        HEADER + b"AAAA\0\0\0\0" * 20_000,
        HEADER + b"MTrk\0\0\0\x15" + SHORT_BARS + LONG_NOTE,
        HEADER[:8] + b"\0\1\1\0\0\1" + (b"MTrk\0\0\0\x15" + SHORT_BARS + LONG_NOTE) * 256,
        b"RIFF\xff\xff\xff\xffRMID" + b"LIST\0\0\0\0" * 20_000,
        b"RIFF\xff\xff\xff\xffRMIDdata\xff\xff\xff\xff" + HEADER,
    ],
    ids=lambda data: f"{len(data)}",
)
def test_bogus_lengths_and_endless_chunks(data: bytes) -> None:
    with bounded():
        check_reading(data)
