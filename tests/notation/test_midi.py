"""MIDI files byte by byte: each rule of docs/concepts/reading/scores.md on a file written by hand, then round trips."""

from __future__ import annotations

import io
import random
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.notation.samples import midi, midi_track

from roslin import load
from roslin.errors import MelodyError, NotationError
from roslin.melody import TICKS_PER_QUARTER, Melody, base40_from_midi
from roslin.notation.midi import limits, matches, read, read_midi, write_midi
from roslin.notation.record import Record
from roslin.starter import tunes_path

Q = TICKS_PER_QUARTER
END = "00 FF 2F 00"
C_QUARTER = "00 90 3C 50  60 80 3C 40"  # 96 ticks
HEADER_BYTES = 14
FIRST_EVENT = HEADER_BYTES + 8 + 1  # the column of the first byte of the first track


def track(*events: str, end: str = END) -> bytes:
    body = bytes.fromhex(" ".join(events) + end)
    return b"MTrk" + len(body).to_bytes(4, "big") + body


def smf(*tracks: bytes, kind: int = 0, division: int = 96, count: int | None = None) -> bytes:
    numbers = (kind, len(tracks) if count is None else count, division)
    return b"MThd\0\0\0\6" + b"".join(number.to_bytes(2, "big") for number in numbers) + b"".join(tracks)


def meta(kind: int, text: str | bytes) -> str:
    value = text.encode() if isinstance(text, str) else text
    return f"00 FF {kind:02X} {len(value):02X} {value.hex()} "


def only(data: bytes, **options: Any) -> Melody:
    (record,) = read_midi(data, **options)
    assert not record.problems or not options.get("strict", True)
    return record.melody_or_raise()


def notes_of(melody: Melody) -> list[tuple[float, float, int]]:
    """(onset, length, pitch) in quarters."""
    rows = melody.notes[["onset_ticks", "duration_ticks", "pitch_midi"]].tolist()
    return [(onset / Q, length / Q, pitch) for onset, length, pitch in rows]


def warning(data: bytes, **options: Any) -> tuple[Record, str]:
    """The record of a file with one problem, which strict reading refuses for the same reason."""
    strict = read_midi(data, strict=True, **options)[0]
    assert strict.melody is None
    lenient = read_midi(data, strict=False, **options)[0]
    assert lenient.problems[0] == strict.problems[0]
    return lenient, str(lenient.problems[0])


def refusal(data: bytes, **options: Any) -> str:
    for strict in (True, False):
        (record,) = read_midi(data, strict=strict, **options)
        assert record.melody is None
    return str(record.problems[0])


# --- notes ------------------------------------------------------------------------------------------------------------


def test_one_note() -> None:
    melody = only(smf(track(C_QUARTER)))
    assert notes_of(melody) == [(0, 1, 60)]
    assert melody.notation == "midi"
    assert melody.notes["source_column"].tolist() == [0]
    assert (melody.title, melody.voice, melody.key, melody.metre, melody.text) == (None,) * 5
    assert dict(melody.extra) == {"track": "1", "channel": "1"}


def test_running_status_and_velocity_zero_as_note_off() -> None:
    data = smf(track("00 90 3C 50", "60 3C 00", "00 3E 50", "60 3E 00"))
    assert notes_of(only(data)) == [(0, 1, 60), (1, 1, 62)]


def test_running_status_goes_on_after_a_meta_event() -> None:
    data = smf(track("00 90 3C 50", meta(1, "hm"), "60 3C 00"))
    assert notes_of(only(data)) == [(0, 1, 60)]


def test_rests_are_gaps_and_long_deltas_count() -> None:
    data = smf(track("81 40 90 3C 50", "60 80 3C 40"))
    assert notes_of(only(data)) == [(2, 1, 60)]


def test_other_events_change_nothing() -> None:
    others = ("00 C0 05", "00 D0 10", "00 E0 00 40", "00 A0 3C 10", "00 B0 40 7F", "00 F0 03 7E 7F F7", "00 F7 01 00")
    tempo = meta(0x51, bytes([7, 161, 32]))
    assert notes_of(only(smf(track(*others, tempo, C_QUARTER)))) == [(0, 1, 60)]


def test_first_started_ends_first_where_a_pitch_overlaps_itself() -> None:
    data = smf(track("00 90 3C 50", "60 90 3C 50", "60 80 3C 40", "60 80 3C 40"))
    assert notes_of(only(data)) == [(0, 2, 60), (1, 2, 60)]


def test_a_repeated_note_whose_start_comes_before_the_old_end() -> None:
    data = smf(track("00 90 3C 50", "60 90 3C 50", "00 80 3C 40", "60 80 3C 40"))
    assert notes_of(only(data)) == [(0, 1, 60), (1, 1, 60)]


def test_note_offs_of_nothing_are_left_out() -> None:
    assert notes_of(only(smf(track("00 80 40 40", C_QUARTER)))) == [(0, 1, 60)]


@pytest.mark.parametrize("controller", ["78", "7B"])
def test_all_notes_off_ends_the_notes_of_its_channel(controller: str) -> None:
    data = smf(track("00 90 3C 50", "00 91 40 50", f"60 B0 {controller} 00", "60 81 40 40"))
    assert [notes_of(record.melody_or_raise()) for record in read_midi(data)] == [[(0, 1, 60)], [(0, 2, 64)]]


def test_a_note_without_an_end_is_held_to_the_end_of_its_track() -> None:
    record, problem = warning(smf(track("00 90 3C 50", "60 90 3E 50", "60 80 3E 40")))
    assert notes_of(record.melody_or_raise()) == [(0, 2, 60), (1, 1, 62)]
    assert problem.startswith(f"column {FIRST_EVENT}: notes without an end")
    assert "found 1 notes" in problem


def test_a_note_that_starts_at_the_end_of_its_track_is_left_out() -> None:
    record, _ = warning(smf(track(C_QUARTER, "00 90 3E 50")))
    assert notes_of(record.melody_or_raise()) == [(0, 1, 60)]


def test_a_note_without_length_is_a_grace_note() -> None:
    melody = only(smf(track("00 90 3E 50", "00 80 3E 40", C_QUARTER)))
    assert melody.notes[["pitch_midi", "duration_ticks", "is_grace"]].tolist() == [(62, 0, True), (60, Q, False)]


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("division", "ticks"), [(1, Q), (96, 420), (480, 84), (32767, 1), (1024, 39), (220, 183)])
def test_ticks_are_converted_exactly_or_rounded(division: int, ticks: int) -> None:
    melody = only(smf(track("01 90 3C 50", "01 80 3C 40"), division=division))
    assert melody.notes["onset_ticks"].tolist() == [ticks]
    assert melody.notes["onset_ticks"][0] == int(Fraction(Q, division) + Fraction(1, 2))


def test_rounding_does_not_add_up() -> None:
    data = smf(track(*("01 90 3C 50 01 80 3C 40 " for _ in range(110))), division=220)
    assert only(data, strict=True).end_ticks == Q


@pytest.mark.parametrize("division", [0xE728, 0xE804, 0xE250, 0xE350])  # 25, 24, 30 and 29.97 frames per second
def test_time_in_seconds_is_read_with_a_warning(division: int) -> None:
    record, problem = warning(smf(track("00 90 3C 50", "28 80 3C 40"), division=division))
    (note,) = notes_of(record.melody_or_raise())
    frames, parts = 256 - (division >> 8), division & 0xFF
    seconds = 40 / (parts * (30000 / 1001 if frames == 29 else frames))
    assert note[1] == Melody.from_seconds([0], [seconds], [60])[0].duration
    assert problem.startswith("column 13: time in seconds, note values found from them")


def number(value: int) -> str:
    """A length of time as a MIDI file has it."""
    return f"{0x80 | value >> 7:02X} {value & 0x7F:02X}"


def keyed(times: list[int]) -> list[str]:
    """Notes one after the other, each of another pitch."""
    pitches = range(60, 59 + len(times))
    lengths = [after - before for before, after in pairwise(times)]
    return [f"00 90 {p:02X} 50 {number(length)} 80 {p:02X} 40" for p, length in zip(pitches, lengths, strict=True)]


PLAYED = [0, 517, 779, 1037, 1606, 2101, 2372, 2634, 3185, 4190]  # quarters and eighths, as a hand plays them


@pytest.mark.parametrize(
    ("unit", "tempos"),
    [
        ({"division": 1000}, ("00 FF 51 03 0F 42 40",)),  # a second
        ({"division": 500}, ()),  # half a second, where nothing is said
        ({"division": 0xE728}, ()),  # 25 frames of 40 parts, a thousand a second
    ],
    ids=["its tempo", "no tempo", "frames"],
)
def test_notes_played_to_no_beat_get_the_values_that_the_page_finds(
    unit: dict[str, int], tempos: tuple[str, ...]
) -> None:
    record = read_midi(smf(track(*tempos, *keyed(PLAYED)), **unit))[0]
    values = [length for _, length, _ in notes_of(record.melody_or_raise())]
    assert values == [1, 0.5, 0.5, 1, 1, 0.5, 0.5, 1, 2]
    onsets, lengths = np.array(PLAYED[:-1]) / 1000, np.diff(PLAYED) / 1000
    assert notes_of(record.melody_or_raise()) == notes_of(Melody.from_seconds(onsets, lengths, range(60, 69)))
    assert "seconds" in str(record.problems[0])


def test_a_tempo_that_changes_is_followed_in_notes_played_to_no_beat() -> None:
    """The second half is at half the speed of the clock, and sounds the same."""
    slow = [time if time <= 1606 else 1606 + (time - 1606) // 2 for time in PLAYED]
    changes = ["00 FF 51 03 0F 42 40", f"{number(1606)} FF 51 03 1E 84 80"]
    record = read_midi(smf(track(*changes), track(*keyed(slow)), kind=1, division=1000))[0]
    assert [length for _, length, _ in notes_of(record.melody_or_raise())] == [1, 0.5, 0.5, 1, 1, 0.5, 0.5, 1, 2]


def test_strict_reading_keeps_the_times_of_notes_played_to_no_beat() -> None:
    melody = only(smf(track(*keyed(PLAYED)), division=1000), strict=True)
    assert [1000 * onset for onset, *_ in notes_of(melody)] == pytest.approx(PLAYED[:-1], abs=1)


def test_notes_played_to_no_beat_take_the_grid_that_is_asked_for() -> None:
    melody = only(smf(track(*keyed(PLAYED)), division=500), quantise="1/8")
    assert [onset for onset, *_ in notes_of(melody)] == [0, 1, 1.5, 2, 3, 4, 4.5, 5.5, 6.5]


@pytest.mark.parametrize("step", [Fraction(1, 4), Fraction(1, 3), Fraction(1, 5), Fraction(1, 7), Fraction(1, 16)])
def test_notes_on_any_part_of_a_quarter_keep_their_times(step: Fraction) -> None:
    onsets = [step * number for number in (0, 3, 4, 5, 9, 10, 12, 14)]
    data = write_midi(Melody.from_notes(onsets, [step] * 8, range(60, 68)))
    assert [note.onset for note in only(data)] == onsets
    assert read_midi(data)[0].problems == ()


def test_notes_played_to_a_metronome_keep_their_times() -> None:
    """A hundredth of a second off, at 120 quarters a minute."""
    late = np.random.default_rng(2).normal(0, 0.02, 24)
    onsets = np.maximum(np.cumsum([1, 0.5, 0.5] * 8) + late, 0)
    melody = only(write_midi(Melody.from_notes(onsets, [0.4] * 24, range(60, 84))))
    assert [onset for onset, *_ in notes_of(melody)] == pytest.approx(onsets.tolist(), abs=0.01)


@pytest.mark.parametrize(("division", "found"), [(0, "no unit of time"), (0xE700, "25 of 0"), (0xFF01, "1 of 1")])
def test_impossible_divisions(division: int, found: str) -> None:
    problem = refusal(smf(track(C_QUARTER), division=division))
    assert problem.startswith("column 13: ")
    assert found in problem


def test_a_piece_longer_than_any_music() -> None:
    silence = "FF FF FF 7F FF 01 00 " * 30
    assert "too long" in refusal(smf(track(silence, C_QUARTER), division=1))


# --- types, tracks, channels ------------------------------------------------------------------------------------------

TWO_CHANNELS = ("00 90 3C 50", "00 91 30 50", "60 80 3C 40", "00 81 30 40")


def test_type_0_has_a_melody_for_each_channel() -> None:
    upper, lower = (record.melody_or_raise() for record in read_midi(smf(track(*TWO_CHANNELS))))
    assert (notes_of(upper), upper.extra["channel"]) == ([(0, 1, 60)], "1")
    assert (notes_of(lower), lower.extra["channel"]) == ([(0, 1, 48)], "2")


def test_type_1_has_a_melody_for_each_track_and_channels_are_voices() -> None:
    data = smf(track(meta(3, "Duet")), track(*TWO_CHANNELS), track(meta(3, "Flute"), C_QUARTER), kind=1)
    first, second = (record.melody_or_raise() for record in read_midi(data))
    assert first.notes[["pitch_midi", "voice"]].tolist() == [(60, 0), (48, 1)]
    assert (first.title, first.voice, first.extra["track"], first.extra["channel"]) == ("Duet", None, "2", "1,2")
    assert (second.title, second.voice, second.extra["track"]) == ("Duet", "Flute", "3")


def test_type_2_tracks_are_pieces_of_their_own() -> None:
    metre = meta(0x58, bytes([3, 2, 24, 8]))
    data = smf(track(meta(3, "A"), metre, C_QUARTER), track(meta(3, "B"), C_QUARTER), kind=2)
    first, second = (record.melody_or_raise() for record in read_midi(data))
    assert (first.title, first.metre, first.voice) == ("A", "3/4", None)
    assert (second.title, second.metre, second.voice) == ("B", None, None)


def test_choice_of_track_and_channel() -> None:
    data = smf(track(C_QUARTER), track(*TWO_CHANNELS), kind=1)
    assert only(data, track=2, channel=2).notes["pitch_midi"].tolist() == [48]
    assert only(data, track=2).notes["voice"].tolist() == [0, 1]
    assert [len(record.melody_or_raise()) for record in read_midi(data, channel=1)] == [1, 1]
    assert refusal(data, track=3) == "no such track; expected 1 to 2; found 3"
    assert "no notes; expected at least one note in what was chosen; found 3" in refusal(data, channel=7)
    with pytest.raises(NotationError, match="no such channel; expected a channel from 1 to 16; found 17"):
        read_midi(data, channel=17)


def test_percussion_is_left_out_unless_asked_for() -> None:
    data = smf(track("00 99 24 50", "60 89 24 40"), track(C_QUARTER), kind=1)
    assert only(data).notes["pitch_midi"].tolist() == [60]
    assert only(data, channel=10).notes["pitch_midi"].tolist() == [36]
    assert "no notes" in refusal(smf(track("00 99 24 50", "60 89 24 40")))


# --- metre, key, words ------------------------------------------------------------------------------------------------


def metre(beats: int, power: int, delta: str = "00") -> str:
    return f"{delta} FF 58 04 {beats:02X} {power:02X} 18 08 "


def key(sharps: int, minor: int = 0, delta: str = "00") -> str:
    return f"{delta} FF 59 02 {sharps % 256:02X} {minor:02X} "


def test_time_signatures_and_bar_lines() -> None:
    eight = "00 90 3C 50 60 80 3C 40 " * 8
    data = smf(track(metre(3, 2), metre(2, 2, "84 40")), track(eight), kind=1)  # 576 ticks: two bars of 3/4
    melody = only(data)
    assert melody.metre == "3/4"
    assert [(change.onset_ticks, change.metre) for change in melody.changes] == [(6 * Q, "2/4")]
    assert [line / Q for line in melody.barlines_ticks] == [3, 6, 8]


def test_a_short_first_bar_is_a_pick_up() -> None:
    data = smf(track(metre(1, 2), metre(3, 2, "60")), track(C_QUARTER * 7), kind=1)
    melody = only(data)
    assert (melody.metre, melody.changes) == ("3/4", ())
    assert [line / Q for line in melody.barlines_ticks] == [1, 4, 7]


def test_without_a_time_signature_there_are_no_bars() -> None:
    melody = only(smf(track(C_QUARTER * 8)))
    assert (melody.metre, melody.barlines_ticks.tolist()) == (None, [])


def test_the_tracks_own_signatures_come_first() -> None:
    data = smf(track(metre(4, 2), key(2)), track(key(-1), C_QUARTER), track(C_QUARTER), kind=1)
    own, shared = (record.melody_or_raise() for record in read_midi(data))
    assert (own.key, own.metre) == ("F major", "4/4")
    assert (shared.key, shared.metre) == ("D major", "4/4")


def test_the_later_of_two_signatures_at_one_time_holds() -> None:
    assert only(smf(track(metre(4, 2), metre(6, 3), C_QUARTER))).metre == "6/8"


@pytest.mark.parametrize(
    ("sharps", "minor", "name", "signature"),
    [(0, 0, "C major", None), (2, 0, "D major", "xFC"), (-3, 1, "C minor", "bBEA"), (7, 1, "A# minor", "xFCGDAEB")],
)
def test_key_signatures(sharps: int, minor: int, name: str, signature: str | None) -> None:
    melody = only(smf(track(key(sharps, minor), C_QUARTER)))
    assert (melody.key, melody.key_signature) == (name, signature)


def test_a_change_of_key() -> None:
    melody = only(smf(track(key(-1), "00 90 46 50 60 80 46 40", key(0), "00 90 46 50 60 80 46 40", C_QUARTER)))
    assert [(change.onset_ticks, change.key_signature) for change in melody.changes] == [(Q, "n")]


@pytest.mark.parametrize(
    ("sharps", "minor", "pitch", "base40"),
    [
        (0, 0, 70, 162 + 34),  # B flat
        (4, 0, 70, 162 + 30),  # A sharp
        (-4, 0, 61, 162 + 5),  # D flat
        (4, 0, 61, 162 + 1),  # C sharp
        (-2, 1, 61, 162 + 1),  # C sharp in G minor
        (-6, 0, 71, 162 + 39),  # C flat, written in the octave above
        (7, 0, 60, 162 - 4),  # B sharp, written in the octave below
        (7, 0, 0, 2 - 40),  # B sharp would be below the table
    ],
)
def test_spelling_follows_the_key_signature(sharps: int, minor: int, pitch: int, base40: int) -> None:
    melody = only(smf(track(key(sharps, minor), f"00 90 {pitch:02X} 50 60 80 {pitch:02X} 40")))
    assert melody.notes["pitch_base40"].tolist() == [base40]


def test_spelling_without_a_key_signature_is_the_usual_one() -> None:
    events = "".join(f"00 90 {pitch:02X} 50 60 80 {pitch:02X} 40 " for pitch in range(128))
    for data in (smf(track(events)), smf(track(key(0), events))):
        assert only(data).notes["pitch_base40"].tolist() == base40_from_midi(range(128)).tolist()


@pytest.mark.parametrize(
    ("syllables", "text"),
    [
        (["Ro", "slin ", "Cas", "tle"], "Roslin Castle"),
        (["Ros-", "lin", "Cas-", "tle"], "Roslin Castle"),
        (["'Twas in that sea-", "son"], "'Twas in that season"),
        (["word "] * 100, " ".join(["word"] * 60)),
        (["x" * 100] * 4, " ".join(["x" * 100] * 2)),
    ],
)
def test_lyrics_are_the_first_words(syllables: list[str], text: str) -> None:
    assert only(smf(track(*(meta(5, syllable) for syllable in syllables), C_QUARTER))).text == text


def test_karaoke_words_stand_in_a_track_of_their_own() -> None:
    words = [meta(1, text) for text in ("@KMIDI KARAOKE FILE", "\\Auld", " lang", "/syne")]
    melody = only(smf(track(*words), track(C_QUARTER), kind=1))
    assert melody.text == "Auld lang syne"


def test_names_and_remarks() -> None:
    names = (meta(2, "nobody"), meta(3, "  Auld\tlang syne "), meta(3, "second"), meta(4, "Violin"), meta(1, "by hand"))
    melody = only(smf(track(*names, C_QUARTER)))
    assert (melody.title, melody.voice) == ("Auld lang syne", "Violin")
    assert (melody.extra["copyright"], melody.extra["comment"]) == ("nobody", "by hand")


@pytest.mark.parametrize("value", ["Müller".encode(), "Müller".encode("latin-1")])
def test_names_in_either_encoding(value: bytes) -> None:
    assert only(smf(track(meta(3, value), C_QUARTER))).title == "Müller"


def test_so_many_bars_that_they_are_left_out() -> None:
    silence = "FF FF FF 7F FF 01 00 "
    melody = only(smf(track(metre(1, 7), silence, C_QUARTER), division=1))
    assert (melody.metre, melody.barlines_ticks.tolist()) == ("1/128", [])


# --- quantisation -----------------------------------------------------------------------------------------------------


def performed(times: list[tuple[int, int]]) -> bytes:
    """Notes from and to ticks of 480 to a quarter."""
    quarters = [Fraction(onset, 480) for onset, _ in times]
    lengths = [Fraction(end - onset, 480) for onset, end in times]
    return write_midi(Melody.from_notes(quarters, lengths, [60 + number for number in range(len(times))]))


def test_nothing_is_moved_unless_asked_for() -> None:
    melody = only(performed([(7, 470)]))
    assert notes_of(melody) == [(7 / 480, 463 / 480, 60)]
    assert "quantisation_error" not in melody.extra


@pytest.mark.parametrize("grid", ["1/16", Fraction(1, 4), [Fraction(1, 4)]])
def test_a_grid_of_sixteenths(grid: Any) -> None:
    melody = only(performed([(0, 118), (126, 230), (230, 485), (492, 500)]), quantise=grid)
    assert notes_of(melody) == [(0, 0.25, 60), (0.25, 0.25, 61), (0.5, 0.5, 62), (1, 0.25, 63)]
    assert melody.extra["quantisation_error"] == "mean 0.0146, max 0.0250 quarters"


def test_each_quarter_takes_the_grid_that_fits_it() -> None:
    data = performed([(0, 160), (165, 315), (318, 480), (483, 600), (602, 720), (955, 1450)])
    melody = only(data, quantise="1/16+1/8t")
    assert melody.notes["onset_ticks"].tolist() == [0, Q // 3, 2 * Q // 3, Q, Q + Q // 4, 2 * Q]
    assert melody.notes["duration_ticks"].tolist() == [Q // 3, Q // 3, Q // 3, Q // 4, Q // 4, Q]


@pytest.mark.parametrize("grid", ["sixteenth", "1/0", "2/16", "", Fraction(0), Fraction(1, 11), Fraction(5), []])
def test_grids_that_make_no_sense(grid: Any) -> None:
    with pytest.raises(NotationError, match="unknown grid; expected a note value like 1/16"):
        read_midi(smf(track(C_QUARTER)), quantise=grid)


# --- damage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (
            smf(track(C_QUARTER, end="")),
            f"column {FIRST_EVENT + 8}: track without its end; expected the event FF 2F 00",
        ),
        (smf(track(C_QUARTER, "00 90 3E", end="")), f"column {FIRST_EVENT + 8}: track ends inside an event"),
        (smf(track(C_QUARTER, "00 90 BE 50")), f"column {FIRST_EVENT + 8}: value too large; expected bytes from 00"),
        (smf(track(C_QUARTER, "00 F4")), f"column {FIRST_EVENT + 8}: event that no file may have"),
        (smf(track(C_QUARTER, "FF FF FF FF 00")), f"column {FIRST_EVENT + 8}: number too long; expected at most four"),
        (smf(track(C_QUARTER, "00 FF 01 FF FF FF 7F")), f"column {FIRST_EVENT + 8}: event longer than its track"),
        (smf(track(C_QUARTER, "00 F0 10")), f"column {FIRST_EVENT + 8}: event longer than its track"),
        (smf(track(C_QUARTER, "00 FF 2F 00")), f"column {FIRST_EVENT + 12}: events after the end of the track"),
        (smf(track(metre(0, 2), C_QUARTER)), f"column {FIRST_EVENT}: unreadable time signature"),
        (smf(track(metre(4, 8), C_QUARTER)), f"column {FIRST_EVENT}: unreadable time signature"),
        (smf(track(key(8), C_QUARTER)), f"column {FIRST_EVENT}: unreadable key signature; expected -7 to 7"),
        (smf(track(key(1, 2), C_QUARTER)), f"column {FIRST_EVENT}: unreadable key signature"),
        (smf(track(C_QUARTER), count=3), "column 11: wrong number of tracks; expected 3 as in the header; found 1"),
        (smf(track(C_QUARTER), kind=7), "column 9: unknown type of MIDI file, read as type 1"),
        (smf(track(C_QUARTER), b"\0" * 9, track(), count=2), "column 35: bytes between tracks"),
        (smf(b"MTrk\0\0\0\3" + track(C_QUARTER)[8:]), "column 19: wrong length of track; expected the bytes up to its"),
        (smf(track(C_QUARTER)) + b"x", "column 35: bytes after the last track; expected nothing; found 78"),
        (smf(track(C_QUARTER))[:-4], "column 19: wrong length of track; expected the bytes up to its end; found 12"),
        (smf(b"\0\1\2\3junk", track(C_QUARTER), count=1), "column 15: bytes between tracks; expected a chunk"),
        (smf(track("00 3C 50"), track(C_QUARTER), kind=1), f"column {FIRST_EVENT}: event without a status"),
    ],
)
def test_damage_is_located_and_the_rest_is_read(data: bytes, problem: str) -> None:
    record, found = warning(data)
    assert notes_of(record.melody_or_raise()) == [(0, 1, 60)]
    assert problem in found


def test_damage_in_one_track_leaves_the_other() -> None:
    data = smf(track("00 90 40 50 60 80 40 40", "00 F4"), track(C_QUARTER), kind=1)
    broken, whole = read_midi(data, strict=True)
    assert broken.melody is None
    assert notes_of(whole.melody_or_raise()) == [(0, 1, 60)]


def test_chunks_of_other_programs_are_skipped() -> None:
    data = smf(b"XFIH\0\0\0\2ab", track(C_QUARTER), count=1)
    assert notes_of(only(data)) == [(0, 1, 60)]


def test_a_longer_header() -> None:
    data = b"MThd\0\0\0\x08" + smf()[8:] + b"\0\0" + track(C_QUARTER)
    assert only(data[:10] + b"\0\1" + data[12:]).notes["pitch_midi"].tolist() == [60]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "column 1: not a MIDI file; expected MThd; found the end of the file"),
        (b"MThe", "column 1: not a MIDI file; expected MThd; found 4D 54 68 65"),
        (b"MThd\0\0\0\6\0", "column 9: incomplete header; expected 14 bytes; found 9"),
        (b"MThd\0\0\0\2\0\0\0\1\1\340", "column 9: incomplete header; expected 14 bytes; found 10"),
        (smf(), "no notes; expected at least one note"),
        (smf(track()), "no notes"),
        (
            smf(track("00 3C 50")),
            f"column {FIRST_EVENT}: event without a status; expected a byte from 80 to FF; found 3C",
        ),
        (b"RIFF\4\0\0\0RMID", "column 13: RIFF file without music; expected a chunk named data; found none"),
    ],
)
def test_files_without_any_music(data: bytes, problem: str) -> None:
    assert problem in refusal(data)


def test_riff_envelope() -> None:
    inner = smf(track(C_QUARTER))
    data = b"RIFF\0\0\0\0RMID" + b"DISP\3\0\0\0abc\0" + b"data" + len(inner).to_bytes(4, "little") + inner + b"LISTxxxx"
    assert matches(data)
    assert notes_of(only(data)) == [(0, 1, 60)]


def test_detection() -> None:
    assert matches(smf())
    assert not matches(b"RIFF\0\0\0\0WAVE")
    assert not matches(b"X:1\nT:MThd")
    assert not matches(b"")


@pytest.mark.parametrize(
    ("limit", "value", "data", "problem"),
    [
        ("MAX_BYTES", 20, smf(track(C_QUARTER)), "column 21: file too large; expected at most 20 bytes; found more"),
        ("MAX_NOTES", 1, smf(track(C_QUARTER * 2)), "column 31: too many notes; expected at most 1; found more"),
        ("MAX_EVENTS", 2, smf(track(C_QUARTER)), "column 27: too many events; expected at most 2; found more"),
        ("MAX_TRACKS", 1, smf(track(C_QUARTER), track(), kind=1), "column 35: too many tracks; expected at most 1"),
        (
            "MAX_SIGNATURES",
            1,
            smf(track(key(1), key(2), C_QUARTER)),
            "column 29: too many signatures; expected at most 1",
        ),
    ],
)
def test_limits(monkeypatch: pytest.MonkeyPatch, limit: str, value: int, data: bytes, problem: str) -> None:
    monkeypatch.setattr(limits, limit, value)
    assert refusal(data).startswith(problem)


def test_a_stream_is_read_no_further_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_BYTES", 100)
    stream = io.BytesIO(b"MThd" + bytes(1000))
    (record,) = read(stream, strict=False)
    assert "file too large" in record.problems[0].reason
    assert stream.tell() == 101


# --- writing ----------------------------------------------------------------------------------------------------------


def same_notes(left: Melody, right: Melody) -> bool:
    names = ["onset_ticks", "duration_ticks", "pitch_midi", "voice"]
    return bool(left.notes[names].tolist() == right.notes[names].tolist())


def test_what_is_written() -> None:
    assert write_midi(Melody.from_notes([0, 1], [1, 1], [60, 62])) == smf(
        track(
            meta(0x51, (600_000).to_bytes(3, "big")), "00 90 3C 50", "83 60 80 3C 40", "00 90 3E 50", "83 60 80 3E 40"
        ),
        division=480,
    )


@pytest.mark.parametrize(
    ("lengths", "division"),
    [
        ([Fraction(1, 4)], 480),
        ([Fraction(1, 3)], 480),
        ([Fraction(1, 7)], 3360),
        ([Fraction(1, 9)], 1440),
        ([Fraction(1, 128)], 1920),
        ([Fraction(1, 128 * 9 * 7)], 8064),
        ([Fraction(1, 40320)], 20160),
    ],
)
def test_the_division_is_the_smallest_that_is_exact(lengths: list[Fraction], division: int) -> None:
    data = write_midi(Melody.from_notes([0], lengths, [60]))
    assert int.from_bytes(data[12:14], "big") == division


def test_metadata_comes_back() -> None:
    melody = Melody.from_notes(
        range(7), [1] * 7, range(60, 67), barlines=[1, 4, 7], title="Tune", voice="Air", text="First words",
        key="E minor", key_signature="xF", metre="3/4",
    )  # fmt: skip
    again = only(write_midi(melody))
    for name in ("title", "voice", "text", "key", "key_signature", "metre", "changes"):
        assert getattr(again, name) == getattr(melody, name), name
    assert again.barlines_ticks.tolist() == melody.barlines_ticks.tolist()


@pytest.mark.parametrize(
    ("written", "read_again"),
    [("c", "4/4"), ("c/", "2/2"), ("6/8", "6/8"), ("o", "12/4"), ("3", "3/4"), ("5/3", None), ("x", None),
     ("3/8|2/4", "3/8")],
)  # fmt: skip
def test_metres_that_midi_can_say(written: str, read_again: str | None) -> None:
    assert only(write_midi(Melody.from_notes([0], [9], [60], metre=written))).metre == read_again


def test_a_key_signature_that_midi_cannot_say_is_left_out() -> None:
    assert only(write_midi(Melody.from_notes([0], [1], [60], key_signature="bE"))).key is None


def test_a_title_that_no_encoding_has() -> None:
    assert only(write_midi(Melody.from_notes([0], [1], [60], title="\udc80Tune"))).title == "?Tune"


@pytest.mark.parametrize(("key", "again"), [("C major", "C major"), ("A minor", "A minor"), ("D dorian", None)])
def test_a_key_without_sharps_and_flats(key: str, again: str | None) -> None:
    assert only(write_midi(Melody.from_notes([0], [1], [60], key=key))).key == again


def test_changes_are_written() -> None:
    (melody,) = load("%G-2@3/4$xF 4CDE/$bB @2/4 4CD/EF/")
    again = only(write_midi(melody))
    assert [(c.onset_ticks, c.key_signature, c.metre) for c in again.changes] == [(3 * Q, "bB", "2/4")]
    assert again.barlines_ticks.tolist() == melody.barlines_ticks.tolist()


def test_voices_are_channels_of_one_track() -> None:
    melody = Melody.from_notes([0, 0, 1], [2, 1, 1], [72, 60, 62], voices=[0, 1, 1], voice="Duet")
    data = write_midi(melody)
    assert data[8:12] == b"\0\1\0\2"
    again = only(data)
    assert same_notes(melody, again)
    assert again.voice == "Duet"


def test_fifteen_voices_and_no_more() -> None:
    melody = Melody.from_notes([0] * 15, [1] * 15, range(50, 65), voices=range(15))
    assert same_notes(only(write_midi(melody)), melody)
    with pytest.raises(MelodyError, match="15 channels for voices; the melody has 16 voices"):
        write_midi(Melody.from_notes([0] * 16, [1] * 16, range(50, 66), voices=range(16)))


@pytest.mark.parametrize("tempo", [0, -3, 1001, float("nan")])
def test_impossible_tempi(tempo: float) -> None:
    with pytest.raises(MelodyError, match="beats_per_minute must be from 4 to 1000; got"):
        write_midi(Melody.from_notes([0], [1], [60]), beats_per_minute=tempo)


def test_tempo_is_written_and_changes_no_notes() -> None:
    melody = Melody.from_notes([0], [1], [60])
    fast = write_midi(melody, beats_per_minute=240)
    assert bytes.fromhex("FF 51 03 03 D0 90") in fast
    assert same_notes(only(fast), melody)


def test_grace_notes_are_left_out() -> None:
    melody = Melody.from_notes([0, 1, 1, 1], [1, 0, 0, 1], [60, 64, 65, 62], graces=[False, True, True, False])
    assert notes_of(only(write_midi(melody))) == [(0, 1, 60), (1, 1, 62)]
    only_graces = Melody.from_notes([2], [0], [60], graces=[True])
    assert "no notes" in refusal(write_midi(only_graces))


def test_a_silence_longer_than_one_number() -> None:
    melody = Melody.from_notes([1_000_000], [1], [60])
    assert same_notes(only(write_midi(melody)), melody)


def test_ten_thousand_notes() -> None:
    times = range(10_000)
    melody = Melody.from_notes(times, [1] * len(times), [time % 128 for time in times])
    assert same_notes(only(write_midi(melody)), melody)


@st.composite
def lines(draw: st.DrawFn) -> Melody:
    """Melodies whose ticks are even, so that a MIDI file can hold them; one note at a time in each voice."""
    voices = draw(st.integers(1, 3))
    rows = []
    for voice in range(voices):
        time = 0
        for gap, length, pitch in draw(
            st.lists(
                st.tuples(st.integers(0, 50_000), st.integers(1, 100_000), st.integers(0, 127)), min_size=1, max_size=9
            )
        ):
            rows.append((time + gap, length, pitch, voice))
            time += gap + length
    onsets, lengths, pitches, numbers = zip(*rows, strict=True)
    half = Fraction(2, Q)
    return Melody.from_notes([half * t for t in onsets], [half * t for t in lengths], pitches, voices=numbers)


@pytest.mark.long
@given(lines())
@settings(max_examples=200)
def test_round_trip_of_any_even_ticks(melody: Melody) -> None:
    assert same_notes(only(write_midi(melody), strict=True), melody)


@given(st.lists(st.tuples(st.integers(2, 200_000), st.integers(0, 127)), min_size=1, max_size=20))
@settings(max_examples=100)
def test_odd_ticks_are_at_most_one_off(steps: list[tuple[int, int]]) -> None:
    onsets = [sum(length for length, _ in steps[:number]) for number in range(len(steps))]
    melody = Melody.from_notes(
        [Fraction(onset, Q) for onset in onsets], [Fraction(n, Q) for n, _ in steps], [p for _, p in steps]
    )
    again = only(write_midi(melody), strict=True)
    assert abs(again.notes["onset_ticks"] - melody.notes["onset_ticks"]).max() <= 1
    assert abs(again.notes["duration_ticks"] - melody.notes["duration_ticks"]).max() <= 1


def test_the_starter_tunes_come_back() -> None:
    for melody in load(tunes_path()):
        again = only(write_midi(melody))
        sounding = melody.with_metadata(notes=melody.notes[~melody.notes["is_grace"]])
        assert same_notes(again, sounding), melody.id
        assert (again.title, again.metre, again.key_signature) == (melody.title, melody.metre, melody.key_signature)
        lines = melody.barlines_ticks.tolist()
        assert again.barlines_ticks.tolist() in (lines, lines[:-1]), melody.id  # an incomplete last bar has no line


def paired_by_mido(data: bytes) -> list[list[tuple[Fraction, Fraction, int]]]:
    """Onset, end and pitch of the notes of each track in quarters, by a second reader."""
    mido = pytest.importorskip("mido", reason="needs mido; install it with: pip install mido")
    file = mido.MidiFile(file=io.BytesIO(data))
    tracks = []
    for messages in file.tracks:
        time, waiting, notes = 0, defaultdict(list), []
        for message in messages:
            time += message.time
            if message.type == "note_on" and message.velocity:
                waiting[message.channel, message.note].append(time)
            elif message.type in ("note_on", "note_off") and waiting[message.channel, message.note]:
                onset = waiting[message.channel, message.note].pop(0)
                if message.channel != 9:
                    notes.append(
                        (Fraction(onset, file.ticks_per_beat), Fraction(time, file.ticks_per_beat), message.note)
                    )
        tracks.append(sorted(notes))
    return [notes for notes in tracks if notes]


def test_mido_reads_what_is_written() -> None:
    for melody in load(tunes_path())[::4]:
        sounding = melody.notes[~melody.notes["is_grace"]]
        ours = [
            (Fraction(onset, Q), Fraction(onset + length, Q), pitch)
            for onset, length, pitch in sounding[["onset_ticks", "duration_ticks", "pitch_midi"]].tolist()
        ]
        assert paired_by_mido(write_midi(melody)) == [sorted(ours)]


@pytest.mark.long
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_mido_reads_the_same_notes(kind: int) -> None:
    """Overlaps, running status, velocity 0, stray ends and percussion, at random."""
    source = random.Random(kind)
    for _ in range(40):
        tracks = []
        for channel in range(1 if kind == 0 else 3):
            events = [f"00 9{channel} 3C 40"]
            for _ in range(60):
                status = "" if source.random() < 0.5 else f"{source.choice('89')}{source.choice((channel, 9))} "
                velocity = source.choice((0, 64))
                events.append(f"{1 + source.randrange(100):02X} {status}{60 + source.randrange(5):02X} {velocity:02X}")
            ends = [f"01 8{end:X} {pitch:02X} 00" for end in (channel, 9) for pitch in range(60, 65)]
            tracks.append(track(*events, *ends * 60))
        data = smf(*tracks, kind=kind)
        ours = []
        for record in read_midi(data, strict=True):
            notes = record.melody_or_raise().notes
            rows = notes[["onset_ticks", "duration_ticks", "pitch_midi"]].tolist()
            ours.append(sorted((Fraction(t, Q), Fraction(t + length, Q), pitch) for t, length, pitch in rows))
        assert ours == paired_by_mido(data)


def test_threads_read_the_same() -> None:
    files = [write_midi(melody) for melody in load(tunes_path())[:40]]
    alone = [only(data) for data in files]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(only, files)) == alone


def test_tracks_and_channels_together_are_one_melody() -> None:
    tracks = midi(midi_track(2), midi_track(3, channel=1), midi_track(1, channel=9), kind=1)
    (record,) = read_midi(tracks, voices="together")
    melody = record.melody_or_raise()
    assert len(melody) == 5  # percussion is left out
    assert melody.notes["onset_ticks"].tolist() == [0, 0, TICKS_PER_QUARTER, TICKS_PER_QUARTER, 2 * TICKS_PER_QUARTER]
    assert sorted(melody.notes["voice"].tolist()) == [0, 0, 1, 1, 1]
    assert [len(one.melody or ()) for one in read_midi(tracks)] == [2, 3]
    (single,) = read_midi(tracks, voices="together", track=2)
    assert single.melody == read_midi(tracks, track=2)[0].melody
    pieces = midi(midi_track(2), midi_track(3), kind=2)
    assert [len(one.melody or ()) for one in read_midi(pieces, voices="together")] == [2, 3]
