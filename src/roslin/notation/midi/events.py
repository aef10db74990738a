"""What a MIDI file says, as values: notes and signatures of its tracks, the unit of its time, problems with a place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from roslin.errors import NotationError, Problem
from roslin.melody import TICKS_PER_QUARTER

PERCUSSION = 10
WHOLE = 4 * TICKS_PER_QUARTER
MAX_DENOMINATOR_POWER = 7  # a 128th: the last whose bar is a whole number of ticks

# The meta events that are read or written.
TEXT_EVENT, NAME_EVENT, INSTRUMENT_EVENT, LYRICS_EVENT = 0x01, 0x03, 0x04, 0x05
END_EVENT, TEMPO_EVENT, METRE_EVENT, KEY_EVENT = 0x2F, 0x51, 0x58, 0x59
META_EVENTS = {
    TEXT_EVENT: "text",
    0x02: "copyright",
    NAME_EVENT: "name",
    INSTRUMENT_EVENT: "instrument",
    LYRICS_EVENT: "lyrics",
    TEMPO_EVENT: "tempo",
    METRE_EVENT: "metre",
    KEY_EVENT: "key",
}

SHARPS, FLATS = "FCGDAEB", "BEADGCF"
_MAJOR_TONICS = ("Cb", "Gb", "Db", "Ab", "Eb", "Bb", "F", "C", "G", "D", "A", "E", "B", "F#", "C#")
_MINOR_TONICS = ("Ab", "Eb", "Bb", "F", "C", "G", "D", "A", "E", "B", "F#", "C#", "G#", "D#", "A#")


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
        """As it is written: 3/4."""
        return f"{self.beats}/{self.unit}"

    @property
    def bar_ticks(self) -> int:
        """The length of a bar."""
        return self.beats * (WHOLE // self.unit)


class KeyChange(NamedTuple):
    """A key signature and when it starts to hold."""

    time: int
    sharps: int  # below 0: flats
    minor: bool

    @property
    def signature(self) -> str:
        """In the spelling of Plaine & Easie: xFC, bBE; n for none."""
        if self.sharps < 0:
            return "b" + FLATS[: -self.sharps]
        return "x" + SHARPS[: self.sharps] if self.sharps else "n"

    @property
    def name(self) -> str:
        """In words: D major."""
        tonics = _MINOR_TONICS if self.minor else _MAJOR_TONICS
        return f"{tonics[self.sharps + 7]} {'minor' if self.minor else 'major'}"


@dataclass(slots=True)
class Track:
    """What one track says. Notes are in the file's ticks, signatures in ours once all is read."""

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
        """A time of the file in our ticks, rounded half up."""
        return (2 * time * self.numerator + self.denominator) // (2 * self.denominator)


@dataclass(slots=True)
class File:
    """A whole file; `kind` is its type, 0, 1 or 2."""

    kind: int
    clock: Clock
    tracks: list[Track]
    problems: list[Problem]
    has_beats: bool = True  # False: its unit of time is a part of a second


def problem_at(reason: str, expected: str, found: str, place: int) -> Problem:
    """A problem at a byte, counted from 0 here and from 1 in what people read."""
    return Problem(reason, expected, found, column=place + 1)


def refusal(reason: str, expected: str, found: str, place: int = -1) -> NotationError:
    """The same as an error that refuses the whole file; -1: at no particular byte."""
    return NotationError(problem_at(reason, expected, found, place))


def shown(value: bytes) -> str:
    """Bytes for people."""
    return value.hex(" ").upper() or "the end of the file"
