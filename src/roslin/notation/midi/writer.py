"""A melody as the bytes of a MIDI file, exact wherever such a file can be (docs/concepts/reading/scores.md)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from roslin.errors import MelodyError
from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.melody.pitches import fifths_of
from roslin.melody.variants import metre_fraction
from roslin.notation.midi.tracks import (
    END_EVENT,
    INSTRUMENT_EVENT,
    KEY_EVENT,
    LYRICS_EVENT,
    MAX_DENOMINATOR_POWER,
    METRE_EVENT,
    NAME_EVENT,
    PERCUSSION,
    TEMPO_EVENT,
    TEXT_EVENT,
    WHOLE,
)
from roslin.notation.pae.incipit import read_key_signature, read_time_signature

_MAX_DELTA = 2**28 - 1
_MAX_DIVISION = 2**15 - 1
_PLAYER_DIVISION = 480  # what most programs write and all read
_Event = tuple[int, bytes]  # when, and the message


def write_midi(melody: Melody, *, beats_per_minute: float = 100) -> bytes:
    """A MIDI file: type 0 for one voice, else type 1 with a channel for each voice of its second track.

    A beat is a quarter note. The division is 480 where that is exact, else the smallest that is; onsets that need all
    40320 ticks, which no MIDI file has, are rounded to 20160. Grace notes take no time and are left out.

    >>> write_midi(Melody.from_notes([0], [1], [60]))[:14].hex(" ")
    '4d 54 68 64 00 00 00 06 00 00 00 01 01 e0'
    """
    if not 4 <= beats_per_minute <= 1000:
        raise MelodyError(f"beats_per_minute must be from 4 to 1000; got {beats_per_minute}")
    voices = np.unique(melody.notes["voice"]).tolist()
    if len(voices) > 15:
        raise MelodyError(f"a MIDI file has 15 channels for voices; the melody has {len(voices)} voices")
    sounding = melody.notes[~melody.notes["is_grace"]]
    onsets = sounding["onset_ticks"]
    columns = (onsets, onsets + sounding["duration_ticks"], sounding["pitch_midi"], sounding["voice"])
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    signs = [*_metre_signs(melody), *_key_signs(melody)]
    division = _division([*(row[0] for row in rows), *(row[1] for row in rows), *(time for time, _ in signs)])
    opening = [(0, _meta(TEMPO_EVENT, round(60_000_000 / beats_per_minute).to_bytes(3, "big")))]
    opening += _text_event(NAME_EVENT, melody.title) + _text_event(LYRICS_EVENT, melody.text)
    opening += [(_scaled(time, division), sign) for time, sign in signs]
    name = _text_event(NAME_EVENT if len(voices) > 1 else INSTRUMENT_EVENT, melody.voice)
    notes = name + _note_events(rows, voices, division)
    tracks = [opening, notes] if len(voices) > 1 else [opening + notes]
    header = b"".join(number.to_bytes(2, "big") for number in (len(tracks) - 1, len(tracks), division))
    return _chunk(b"MThd", header) + b"".join(_chunk(b"MTrk", _track_bytes(track)) for track in tracks)


def _note_events(rows: list[tuple[int, int, int, int]], voices: list[int], division: int) -> list[_Event]:
    events = []
    for onset, end, pitch, voice in rows:
        channel = voices.index(voice)
        channel += channel >= PERCUSSION - 1
        start = _scaled(onset, division)
        stop = max(_scaled(end, division), start + 1)
        events += [(start, 1, bytes((0x90 | channel, pitch, 80))), (stop, 0, bytes((0x80 | channel, pitch, 64)))]
    events.sort(key=lambda event: event[:2])
    return [(time, message) for time, _, message in events]


def _text_event(kind: int, text: str | None) -> list[_Event]:
    return [(0, _meta(kind, text.encode(errors="replace")))] if text else []


def _scaled(ticks: int, division: int) -> int:
    return (2 * ticks * division + TICKS_PER_QUARTER) // (2 * TICKS_PER_QUARTER)


def _division(times: list[int]) -> int:
    """Ticks to a quarter note for the file: exact for all these times wherever a MIDI file can be."""
    exact = TICKS_PER_QUARTER // math.gcd(TICKS_PER_QUARTER, *times)
    for division in (math.lcm(exact, _PLAYER_DIVISION), exact):
        if division <= _MAX_DIVISION:
            return division
    return TICKS_PER_QUARTER // 2


def _metre_signs(melody: Melody) -> list[_Event]:
    """Time signatures. A pick-up gets its own signature, as most programs write it."""
    metres = [(0, melody.metre)] + [(change.onset_ticks, change.metre) for change in melody.changes]
    read = [(time, found) for time, text in metres if text and (found := _metre_fraction(text))]
    first_bar = int(melody.barlines_ticks[0]) if len(melody.barlines_ticks) else 0
    if read and read[0][0] == 0 and 0 < first_bar < read[0][1][0] * (WHOLE // read[0][1][1]):
        pick_up = _written_metre(Fraction(first_bar, WHOLE))
        if pick_up and all(time > first_bar for time, _ in read[1:]):
            read = [(0, pick_up), (first_bar, read[0][1]), *read[1:]]
    return [
        (time, _meta(METRE_EVENT, bytes((beats, unit.bit_length() - 1, 24 * 4 // min(unit, 96), 8))))
        for time, (beats, unit) in read
    ]


def _metre_fraction(text: str) -> tuple[int, int] | None:
    """Beats and unit of "3/4", "c", "c/"; None where MIDI cannot express it."""
    if fraction := metre_fraction(text):
        return fraction if fraction[0] < 256 and fraction[1] in _UNITS else None
    time = read_time_signature(text)
    return _written_metre(Fraction(time.measure_ticks, WHOLE)) if time.text else None


def _written_metre(bar: Fraction) -> tuple[int, int] | None:
    beats, unit = (bar * 4, 4) if (bar * 4).denominator == 1 else (Fraction(bar.numerator), bar.denominator)
    return (int(beats), unit) if 0 < beats < 256 and unit in _UNITS else None


_UNITS = tuple(1 << power for power in range(MAX_DENOMINATOR_POWER + 1))


def _key_signs(melody: Melody) -> list[_Event]:
    minor = "minor" in (melody.key or "").lower()
    keys = [(0, melody.key_signature or ("n" if melody.key in ("C major", "A minor") else None))]
    keys += [(change.onset_ticks, change.key_signature) for change in melody.changes]
    signs = []
    for time, text in keys:
        sharps = fifths_of(read_key_signature(text).alterations) if text else None
        if sharps is not None:
            signs.append((time, _meta(KEY_EVENT, bytes((sharps % 256, minor)))))
    return signs


def _track_bytes(events: list[_Event]) -> bytes:
    written = bytearray()
    time = 0
    for when, message in sorted(events, key=lambda event: event[0]):
        delta, time = when - time, when
        while delta > _MAX_DELTA:  # an empty text bridges a silence longer than one number can express
            written += _number_bytes(_MAX_DELTA) + _meta(TEXT_EVENT, b"")
            delta -= _MAX_DELTA
        written += _number_bytes(delta) + message
    return bytes(written) + b"\0" + _meta(END_EVENT, b"")


def _meta(kind: int, value: bytes) -> bytes:
    return bytes((0xFF, kind)) + _number_bytes(len(value)) + value


def _number_bytes(value: int) -> bytes:
    parts = [value & 0x7F]
    while value := value >> 7:
        parts.append(value & 0x7F | 0x80)
    return bytes(reversed(parts))


def _chunk(name: bytes, content: bytes) -> bytes:
    return name + len(content).to_bytes(4, "big") + content
