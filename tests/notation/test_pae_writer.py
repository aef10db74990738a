from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin.errors import NotationError
from roslin.melody import NOTE_DTYPE, Melody
from roslin.notation import load, pae, records
from roslin.starter import tunes_path

COLUMNS = [name for name in NOTE_DTYPE.names or () if name != "source_column"]


def assert_same_music(left: Melody, right: Melody) -> None:
    assert left.notes[COLUMNS].tolist() == right.notes[COLUMNS].tolist()
    assert left.barlines_ticks.tolist() == right.barlines_ticks.tolist()
    assert left.changes == right.changes
    assert (left.clef, left.key_signature, left.metre) == (right.clef, right.key_signature, right.metre)


@pytest.mark.parametrize(
    "music",
    [
        "'4CDEF/2G-",
        "=3/4--'C/xFbBnFF/F",
        "'8.68CDE/FGA",
        "4('6DEFGA;5)4(8ABC)/'1C+/2C-",
        "''2D^'A^xF/4D^A+8AB",
        "gC4Dqq6EFr2Gq8A4B",
        "'4CDE/i/!FG!ff",
        "'2A-//%F-4$xFC ,8B-4-2-/@3/2 '1C2-//",
        "0C9D1E2F4G8A6B3C5D7E",
        "4.C8..D4...E",
        "'4xxCbbD/,,,C''''B",
        "'4E^C+gGE^D",
        "'4C+/C/D+/D",
        "gC-gE-/'4C",
    ],
)
def test_writes_back_the_same_melody(music: str) -> None:
    melody = pae.read(f"%G-2@3/4$bB {music}")
    for style in ("line", "fields", "json", "marc"):
        assert_same_music(pae.read(pae.write(melody, style)), melody)


def test_the_form_of_each_representation() -> None:
    melody = pae.read("%C-1@3/4$bB '4CDB/2.C")
    assert pae.write(melody, "line") == "%C-1@3/4$bB '4CDB/2.C"
    assert pae.write(melody, "fields") == "@clef:C-1\n@keysig:bB\n@timesig:3/4\n@data:'4CDB/2.C"
    assert pae.write(melody, "json") == '{"clef": "C-1", "keysig": "bB", "timesig": "3/4", "data": "\'4CDB/2.C"}'
    assert pae.write(melody, "marc") == "$g C-1 $n bB $o 3/4 $p '4CDB/2.C"
    assert pae.write(melody, "music") == "'4CDB/2.C"
    with pytest.raises(ValueError, match="style must be one of line, fields, json, marc, music; got 'xml'"):
        pae.write(melody, "xml")


def test_every_starter_tune() -> None:
    for melody in load(tunes_path()):
        assert_same_music(pae.read(pae.write(melody)), melody)


@pytest.mark.long
def test_real_incipits(data_folder: Path) -> None:
    taken = 0
    for number, record in enumerate(records(data_folder / "rism" / "incipits.jsonl.gz", strict=False)):
        if number % 25 == 0 and record.melody is not None:
            melody = record.melody.with_metadata(clef=record.melody.clef or "G-2")
            assert_same_music(pae.read(pae.write(melody)), melody)
            taken += 1
    assert taken > 1500


eighths = st.integers(1, 24)


@given(st.lists(st.tuples(eighths, st.integers(36, 96), st.sampled_from([0, 1, 2, 3])), min_size=1, max_size=12))
@settings(max_examples=150)
def test_melodies_from_arrays(rows: list[tuple[int, int, int]]) -> None:
    onsets, durations, now = [], [], Fraction(0)
    for length, _, rest in rows:
        onsets.append(now)
        durations.append(Fraction(length, 8))
        now += Fraction(length, 8) + Fraction(rest, 4)
    melody = Melody.from_notes(onsets, durations, [pitch for _, pitch, _ in rows], clef="G-2")
    assert_same_music(pae.read(pae.write(melody)), melody)


def test_overlapping_notes_become_tied_chords() -> None:
    melody = Melody.from_notes([0, 1], [2, 2], [64, 60], clef="G-2")
    assert pae.write(melody, "music") == "'4E+C+^EC"
    assert_same_music(pae.read(pae.write(melody)), melody)


def test_what_the_code_cannot_write_is_refused() -> None:
    two_voices = Melody.from_notes([0, 0], [1, 1], [60, 64], voices=[0, 1])
    with pytest.raises(NotationError, match="voices cannot be written"):
        pae.write(two_voices)
    clash = Melody.from_notes([0, 0], [5, 5], [65, 66], base40=[179, 180])
    with pytest.raises(NotationError, match="two tied notes on one line or space"):
        pae.write(clash)
    odd = Melody.from_notes([0], [Fraction(1, 40320)], [60])
    with pytest.raises(NotationError, match="a length that Plaine & Easie cannot write"):
        pae.write(odd)
    grace = Melody.from_notes([0, 0], [Fraction(5, 7), 1], [60, 62], graces=[True, False])
    with pytest.raises(NotationError, match="a grace note that Plaine & Easie cannot write"):
        pae.write(grace)
    high = Melody.from_notes([0], [1], [110])
    with pytest.raises(NotationError, match="a pitch beyond the octaves of Plaine & Easie; expected C1 to B7"):
        pae.write(high)
    misspelled = Melody.from_notes([0], [1], [60], base40=[100])
    with pytest.raises(NotationError, match="a pitch whose spelling and sound disagree"):
        pae.write(misspelled)


@pytest.mark.long
def test_what_nobody_could_read_is_not_written() -> None:
    held = Melody.from_notes(range(40), [40 - n for n in range(40)], [60 + n for n in range(40)])
    with pytest.raises(NotationError, match="too many notes at once for Plaine & Easie; expected at most 32; found 33"):
        pae.write(held)
    with pytest.raises(NotationError, match="a length that Plaine & Easie cannot write"):
        pae.write(Melody.from_notes([0], [1_000_000], [60]))
    with pytest.raises(NotationError, match="too long for Plaine & Easie; expected at most 200000 notes"):
        pae.write(Melody.from_notes([n * 25_000 for n in range(300)], [25_000] * 300, [60] * 300))
