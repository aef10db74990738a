from __future__ import annotations

import io

import mido
import pytest

from roslin import TICKS_PER_QUARTER, Melody
from roslin.errors import MelodyError
from roslin.notation import pae
from roslin.playback import midi_bytes, note_list


def midi_notes(data: bytes) -> list[tuple[float, float, int]]:
    """A second route, the library mido: (start, length, pitch) in quarter notes."""
    file = mido.MidiFile(file=io.BytesIO(data))
    open_notes: dict[tuple[int, int], int] = {}
    found = []
    for track in file.tracks:
        time = 0
        for message in track:
            time += message.time
            if message.type == "note_on" and message.velocity:
                open_notes[message.channel, message.note] = time
            elif message.type in ("note_off", "note_on"):
                start = open_notes.pop((message.channel, message.note))
                found.append((start / file.ticks_per_beat, (time - start) / file.ticks_per_beat, message.note))
    assert not open_notes
    return sorted(found)


def meta(data: bytes, kind: str) -> list[mido.MetaMessage]:
    return [message for message in mido.MidiFile(file=io.BytesIO(data)).tracks[0] if message.type == kind]


def test_midi_has_the_notes_of_the_table() -> None:
    melody = pae.read("%G-2@3/4$bB =2/'4C8DE({6FGA;3})/4C+/C''C^E^G")
    expected = sorted(
        (onset / TICKS_PER_QUARTER, length / TICKS_PER_QUARTER, pitch)
        for onset, length, pitch in melody.notes[["onset_ticks", "duration_ticks", "pitch_midi"]].tolist()
    )
    for found, wanted in zip(midi_notes(midi_bytes(melody)), expected, strict=True):
        assert found == pytest.approx(wanted)


def test_tempo_metre_and_name() -> None:
    melody = pae.read("%G-2@6/8 '8C").with_metadata(title="Ein schöner Tag")
    assert meta(midi_bytes(melody), "set_tempo")[0].tempo == 600_000
    assert meta(midi_bytes(melody, 120), "set_tempo")[0].tempo == 500_000
    (sign,) = meta(midi_bytes(melody), "time_signature")
    assert (sign.numerator, sign.denominator) == (6, 8)
    assert "Ein schöner Tag".encode() in midi_bytes(melody)
    for metre, pair in {"c": (4, 4), "c/": (2, 2), "3": (3, 4), "3/4|2/4": (3, 4)}.items():
        (sign,) = meta(midi_bytes(melody.with_metadata(metre=metre)), "time_signature")
        assert (sign.numerator, sign.denominator) == pair
    for no_such in ("4/5", "nonsense", None):
        assert meta(midi_bytes(melody.with_metadata(metre=no_such)), "time_signature") == []


@pytest.mark.parametrize("tempo", [0, -3, 1001, float("nan"), float("inf")])
def test_impossible_tempo(tempo: float) -> None:
    melody = pae.read("'4C")
    for write in (midi_bytes, note_list):
        with pytest.raises(MelodyError, match="the tempo must be from 4 to 1000 quarter notes per minute; got"):
            write(melody, tempo)


def test_note_list() -> None:
    melody = pae.read("%G-2@3/4 =/'4CD8E")
    assert note_list(melody) == [
        {"row": 0, "start": 0.0, "duration": 0.6, "pitch": 60},
        {"row": 1, "start": 0.6, "duration": 0.6, "pitch": 62},
        {"row": 2, "start": 1.2, "duration": 0.3, "pitch": 64},
    ]
    assert note_list(melody, 60)[1] == {"row": 1, "start": 1.0, "duration": 1.0, "pitch": 62}
    assert note_list(melody, skip_silence=False)[0]["start"] == 1.8


def test_grace_notes_sound_before_their_note() -> None:
    notes = note_list(pae.read("'4CqqDEr4F"), 60)
    assert [(note["pitch"], note["start"], note["duration"]) for note in notes] == [
        (60, 0.0, 1.0),
        (62, 0.75, 0.125),
        (64, 0.875, 0.125),
        (65, 1.0, 1.0),
    ]


def test_grace_notes_at_the_beginning_delay_it() -> None:
    notes = note_list(pae.read("gC4D"), 60)
    assert [(note["pitch"], note["start"]) for note in notes] == [(60, 0.0), (62, 0.125)]
    assert [start for start, _, _ in midi_notes(midi_bytes(pae.read("gC4D")))] == [0.0, 0.125]


def test_many_grace_notes_share_the_room() -> None:
    onsets, graces = [0.0] + [0.25] * 101, [False] + [True] * 100 + [False]
    melody = Melody.from_notes(onsets, [0.25] * 102, [60] * 102, graces=graces)
    notes = note_list(melody, 60)
    assert min(note["start"] for note in notes) == 0.0
    assert all(note["duration"] > 0 for note in notes)
    assert len(midi_bytes(melody)) > 102 * 6


def test_almost_nothing() -> None:
    assert note_list(Melody.from_notes([], [], [])) == []
    assert midi_notes(midi_bytes(Melody.from_notes([], [], []))) == []
    only_graces = Melody.from_notes([0, 0], [0, 0], [60, 62], graces=[True, True])
    assert [note["start"] for note in note_list(only_graces, 60)] == [0.0, 0.125]
    late = Melody.from_notes([2_000_000], [1], [60])
    assert len(midi_notes(midi_bytes(late))) == 1
