"""The bytes of a MIDI file to its tracks: their notes and signatures, the unit of time, problems with a place.

Damage ends a track, not the file; only a limit or the header refuses it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, TypeVar

from roslin.errors import NotationError, Problem
from roslin.melody import TICKS_PER_QUARTER
from roslin.melody.pitches import LINE_OF_FIFTHS, altered_by, signature_text
from roslin.notation.midi import limits
from roslin.notation.record import note_problem

PERCUSSION = 10
WHOLE = 4 * TICKS_PER_QUARTER
MAX_DENOMINATOR_POWER = 7  # a 128th: the last whose bar is a whole number of ticks

# The meta events that are read or written.
TEXT_EVENT, NAME_EVENT, INSTRUMENT_EVENT, LYRICS_EVENT = 0x01, 0x03, 0x04, 0x05
END_EVENT, TEMPO_EVENT, METRE_EVENT, KEY_EVENT = 0x2F, 0x51, 0x58, 0x59
META_EVENTS = {
    TEXT_EVENT: "text", 0x02: "copyright", NAME_EVENT: "name", INSTRUMENT_EVENT: "instrument", LYRICS_EVENT: "lyrics",
    TEMPO_EVENT: "tempo", METRE_EVENT: "metre", KEY_EVENT: "key",
}  # fmt: skip


class Note(NamedTuple):
    """A note in the file's ticks; channels from 1."""

    onset: int
    end: int
    channel: int
    pitch: int


class MetreChange(NamedTuple):
    """A time signature and when it starts to hold."""

    time: int
    beats: int
    unit: int

    @property
    def text(self) -> str:
        return f"{self.beats}/{self.unit}"

    @property
    def bar_ticks(self) -> int:
        return self.beats * (WHOLE // self.unit)


class KeyChange(NamedTuple):
    """A key signature and when it starts to hold."""

    time: int
    sharps: int  # below 0: flats
    minor: bool

    @property
    def signature(self) -> str:
        return signature_text(altered_by(self.sharps)) or "n"

    @property
    def name(self) -> str:
        return f"{LINE_OF_FIFTHS[self.sharps + 7 + 3 * self.minor]} {'minor' if self.minor else 'major'}"


@dataclass(slots=True)
class Track:
    """The contents of one track. Notes are in the file's ticks, signatures in ours once all is read."""

    number: int
    notes: list[Note] = field(default_factory=list)
    metres: list[MetreChange] = field(default_factory=list)
    keys: list[KeyChange] = field(default_factory=list)
    tempos: list[tuple[int, int]] = field(default_factory=list)  # ticks of the file, microseconds of a quarter
    lyrics: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


class Clock(NamedTuple):
    """Our ticks for one tick of the file, as a fraction."""

    numerator: int
    denominator: int

    def ticks(self, time: int) -> int:
        return (2 * time * self.numerator + self.denominator) // (2 * self.denominator)


@dataclass(slots=True)
class File:
    """A whole file; `kind` is its type, 0, 1 or 2."""

    kind: int
    clock: Clock
    tracks: list[Track]
    problems: list[Problem]
    has_beats: bool = True  # False: its unit of time is a part of a second


def _problem_at(place: int, reason: str, expected: str, found: str) -> Problem:
    """A problem at a byte, counted from 0 here and from 1 in what people read."""
    return Problem(reason, expected, found, column=place + 1)


def _refused_at(place: int, reason: str, expected: str, found: str = "more") -> NotationError:
    return NotationError(_problem_at(place, reason, expected, found))


def _shown(value: bytes) -> str:
    return value.hex(" ").upper() or "the end of the file"


_Sign = TypeVar("_Sign", MetreChange, KeyChange)


class _DamageError(Exception):
    """A place in a track from which reading cannot go on."""


def read_file(data: bytes) -> File:
    """The tracks of a file. A refusal is raised as a `NotationError`."""
    if len(data) > limits.MAX_BYTES:
        raise _refused_at(limits.MAX_BYTES, "file too large", f"at most {limits.MAX_BYTES} bytes")
    start, end = _envelope(data)
    if data[start : start + 4] != b"MThd":
        raise _refused_at(start, "not a MIDI file", "MThd", _shown(data[start : start + 4]))
    header = data[start + 8 : start + 14]
    length = int.from_bytes(data[start + 4 : start + 8], "big")
    if len(header) < 6 or length < 6:
        available = min(len(data) - start, length + 8)
        raise _refused_at(start + min(available, 8), "incomplete header", "14 bytes", str(available))
    kind, count, division = (int.from_bytes(header[place : place + 2], "big") for place in (0, 2, 4))
    problems: list[Problem] = []
    if kind > 2:
        problems.append(_problem_at(start + 8, "unknown type of MIDI file, read as type 1", "0, 1 or 2", str(kind)))
        kind = 1
    clock = _clock(division, start + 12, problems)
    tracks = _read_tracks(data, start + 8 + length, end, problems)
    for track in tracks:
        track.metres, track.keys = _in_ticks(track.metres, clock), _in_ticks(track.keys, clock)
    if len(tracks) != count:
        expected = f"{count} as in the header"
        problems.append(_problem_at(start + 10, "wrong number of tracks", expected, str(len(tracks))))
    return File(kind, clock, tracks, problems, has_beats=not division & 0x8000)


def _envelope(data: bytes) -> tuple[int, int]:
    if not data.startswith(b"RIFF"):
        return 0, len(data)
    place = 12
    while place + 8 <= len(data):
        size = int.from_bytes(data[place + 4 : place + 8], "little")
        if data[place : place + 4] == b"data":
            return place + 8, min(len(data), place + 8 + size)
        place += 8 + size + size % 2
    raise _refused_at(len(data), "RIFF file without music", "a chunk named data", "none")


def _clock(division: int, place: int, problems: list[Problem]) -> Clock:
    if not division & 0x8000:
        if not division:
            raise _refused_at(place, "no unit of time", "a division above 0", "0")
        return Clock(TICKS_PER_QUARTER, division)
    frames, parts = 256 - (division >> 8), division & 0xFF
    if frames not in (24, 25, 29, 30) or not parts:
        raise _refused_at(place, "unknown unit of time", "24, 25, 29 or 30 frames per second", f"{frames} of {parts}")
    # Time in seconds knows no beats: the notes are given values later, and until then a quarter is half a second.
    reason = "time in seconds, note values found from them"
    problems.append(_problem_at(place, reason, "time in parts of a quarter note", f"{frames} frames per second"))
    second = Fraction(30000, 1001) if frames == 29 else Fraction(frames)
    ratio = 2 * TICKS_PER_QUARTER / (second * parts)
    return Clock(ratio.numerator, ratio.denominator)


def _read_tracks(data: bytes, place: int, end: int, problems: list[Problem]) -> list[Track]:
    reader = _TrackReader()
    tracks: list[Track] = []
    while end - place >= 8:
        name, body = data[place : place + 4], place + 8
        if not _is_chunk_name(name):
            problems.append(_problem_at(place, "bytes between tracks", "a chunk", _shown(name)))
            place = _next_track(data, place, end)
            continue
        stop = body + int.from_bytes(data[place + 4 : body], "big")
        if name == b"MTrk":
            if len(tracks) == limits.MAX_TRACKS:
                raise _refused_at(place, "too many tracks", f"at most {limits.MAX_TRACKS}", "more")
            length, wrong = stop - body, not _leads_on(data, body, stop, end)
            if wrong:
                stop = _next_track(data, body, end)
            tracks.append(reader.read(data, body, stop, len(tracks) + 1))
            if wrong:
                problem = _problem_at(place + 4, "wrong length of track", "the bytes up to its end", str(length))
                tracks[-1].problems.insert(0, problem)
        place = stop
    if place < end:
        problems.append(_problem_at(place, "bytes after the last track", "nothing", _shown(data[place : place + 4])))
    return tracks


def _leads_on(data: bytes, body: int, stop: int, end: int) -> bool:
    """Whether a track that should end at `stop` does: with its end event, with the file, or before another chunk."""
    if stop > end:
        return False
    return stop == end or data.endswith(b"\xff\x2f\0", body, stop) or _is_chunk_name(data[stop : stop + 4])


def _is_chunk_name(name: bytes) -> bool:
    return len(name) == 4 and name.isascii() and name.isalnum()


def _next_track(data: bytes, place: int, end: int) -> int:
    found = data.find(b"MTrk", place, end)
    return end if found < 0 else found


class _TrackReader:
    def __init__(self) -> None:
        self.events_left, self.notes_left = limits.MAX_EVENTS, limits.MAX_NOTES
        self.signatures_left = limits.MAX_SIGNATURES

    def read(self, data: bytes, start: int, end: int, number: int) -> Track:
        self.track = Track(number)
        self.chunk, self.start = data[start:end], start
        self.place = self.event = self.time = 0
        self.open: list[dict[int, deque[tuple[int, int]]]] = [{} for _ in range(16)]
        try:
            self._events()
        except _DamageError as damage:
            reason, expected, found = damage.args
            self._warn(reason, expected, found, self.event)
        except IndexError:
            self._warn("track ends inside an event", "a complete event", "the end of the track", self.event)
        self._close_all()
        return self.track

    def _events(self) -> None:
        """The loop over all events. Running status continues across meta events, as many programs write it."""
        chunk, size, status = self.chunk, len(self.chunk), 0
        for _ in range(self.events_left):
            if self.place >= size:
                self._warn("track without its end", "the event FF 2F 00", "the end of the track", size)
                return
            self.event = place = self.place
            delta = chunk[place]
            self.place = place + 1
            if delta & 0x80:
                self.place = place
                delta = self._number()
            self.time += delta
            self.events_left -= 1
            byte = chunk[self.place]
            if byte >= 0xF0:
                self.place += 1
                if self._meta_or_system(byte):
                    return
                continue
            if byte & 0x80:
                status = byte
                self.place += 1
            elif not status:
                raise _DamageError("event without a status", "a byte from 80 to FF", f"{byte:02X}")
            self._channel_event(status)
        raise _refused_at(self.start + self.event, "too many events", f"at most {limits.MAX_EVENTS}", "more")

    def _number(self) -> int:
        value = 0
        for _ in range(4):
            byte = self.chunk[self.place]
            self.place += 1
            value = value << 7 | byte & 0x7F
            if not byte & 0x80:
                return value
        raise _DamageError("number too long", "at most four bytes", "five or more")

    def _channel_event(self, status: int) -> None:
        kind, first = status & 0xF0, self.chunk[self.place]
        second = 0
        self.place += 1
        if kind not in (0xC0, 0xD0):
            second = self.chunk[self.place]
            self.place += 1
        if (first | second) & 0x80:
            raise _DamageError("value too large", "bytes from 00 to 7F", f"{max(first, second):02X}")
        channel = status & 0x0F
        if kind == 0x90 and second:
            if not self.notes_left:
                raise _refused_at(self.start + self.event, "too many notes", f"at most {limits.MAX_NOTES}", "more")
            self.notes_left -= 1
            self.open[channel].setdefault(first, deque()).append((self.time, self.event))
        elif kind in (0x80, 0x90):
            if waiting := self.open[channel].get(first):
                self._close(channel, first, waiting.popleft()[0])
        elif kind == 0xB0 and first in (120, 123):  # all sound off, all notes off
            for pitch, waiting in self.open[channel].items():
                for onset, _ in waiting:
                    self._close(channel, pitch, onset)
            self.open[channel].clear()

    def _close(self, channel: int, pitch: int, onset: int) -> None:
        self.track.notes.append(Note(onset, self.time, channel + 1, pitch))

    def _close_all(self) -> None:
        """Notes that nothing ended last until the end of the track; those that start there are left out."""
        left = [
            (channel, pitch, onset, event)
            for channel, keys in enumerate(self.open)
            for pitch, waiting in keys.items()
            for onset, event in waiting
        ]
        if left:
            first = min(event for *_, event in left)
            self._warn("notes without an end, held to the end of the track", "a note-off", f"{len(left)} notes", first)
        for channel, pitch, onset, _ in left:
            if onset < self.time:
                self._close(channel, pitch, onset)

    def _meta_or_system(self, status: int) -> bool:
        if status not in (0xF0, 0xF7, 0xFF):
            raise _DamageError("event that no file may have", "a channel, meta or exclusive event", f"{status:02X}")
        kind = -1
        if status == 0xFF:
            kind = self.chunk[self.place]
            self.place += 1
        length = self._number()
        content = self.place
        if length > len(self.chunk) - content:
            raise _DamageError("event longer than its track", f"at most {len(self.chunk) - content} bytes", str(length))
        self.place += length
        if kind == END_EVENT:
            if self.place < len(self.chunk):
                self._warn("events after the end of the track", "nothing", "more bytes", self.place)
            return True
        if kind in META_EVENTS:
            self._take(META_EVENTS[kind], self.chunk[content : content + min(length, 4 * limits.MAX_TEXT)])
        return False

    def _take(self, what: str, value: bytes) -> None:
        if what == "metre":
            if len(value) < 2 or not value[0] or value[1] > MAX_DENOMINATOR_POWER:
                self._warn("unreadable time signature", "beats, and a unit up to 128", _shown(value[:2]), self.event)
            else:
                self._count_signature()
                self.track.metres.append(MetreChange(self.time, value[0], 1 << value[1]))
        elif what == "key":
            sharps = int.from_bytes(value[:1], "big", signed=True)
            if len(value) < 2 or abs(sharps) > 7 or value[1] > 1:
                self._warn("unreadable key signature", "-7 to 7, and 0 or 1", _shown(value[:2]), self.event)
            else:
                self._count_signature()
                self.track.keys.append(KeyChange(self.time, sharps, bool(value[1])))
        elif what == "tempo":
            if int.from_bytes(value) and len(value) == 3:
                self.track.tempos.append((self.time, int.from_bytes(value)))
        elif what in ("lyrics", "text"):
            texts = self.track.lyrics if what == "lyrics" else self.track.texts
            if value and len(texts) < limits.MAX_TEXT:
                texts.append(_decoded(value))
        elif what not in self.track.names and (name := " ".join(_decoded(value).split())):
            self.track.names[what] = name

    def _count_signature(self) -> None:
        if not self.signatures_left:
            raise _refused_at(self.start + self.event, "too many signatures", f"at most {limits.MAX_SIGNATURES}")
        self.signatures_left -= 1

    def _warn(self, reason: str, expected: str, found: str, event: int) -> None:
        note_problem(self.track.problems, _problem_at(self.start + event, reason, expected, found))


def _in_ticks(signs: list[_Sign], clock: Clock) -> list[_Sign]:
    """Signatures in our ticks and in order of time; of two at one time the later one counts."""
    by_time = {clock.ticks(sign.time): sign for sign in sorted(signs, key=lambda sign: sign.time)}
    return [sign._replace(time=time) for time, sign in by_time.items()]


def _decoded(value: bytes) -> str:
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        text = value.decode("latin-1")
    return text if text.isprintable() else "".join(sign if sign.isprintable() else " " for sign in text)
