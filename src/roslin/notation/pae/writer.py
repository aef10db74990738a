"""A melody written in the Plaine & Easie Code, so that it reads back to the same notes, bars and changes.

The melody is cut into pieces where a note begins or ends and at every grace note, bar line and change of clef, key or
metre. Notes that sound together are a chord. A note of several pieces is tied. A piece whose length no plain or dotted
value has goes into a group "4(...;n)" with the smallest n (3, 5, 7, ...) that makes it writable.

The code has one voice: a melody with several is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import groupby

from roslin.errors import ArgumentError
from roslin.melody import Melody, SignatureChange
from roslin.melody.pitches import LETTERS, is_spelled, spelled
from roslin.notation.lengths import Piece, dotted, pieces_of, ticks_in_tuplet, tuplet_at, values_for
from roslin.notation.pae.incipit import NO_ALTERATIONS, WHOLE_NOTE_TICKS, read_key_signature, read_time_signature
from roslin.notation.pae.music import HIGHEST_WRITTEN, LENGTH_TICKS, LOWEST_WRITTEN
from roslin.notation.record import MAX_NOTES, refusal

_ACCIDENTALS = {-2: "bb", -1: "b", 0: "n", 1: "x", 2: "xx"}
# Larger texts are unreadable: a note held through all others of a long piece is written again with each of them.
MAX_TOGETHER = 32
MAX_VALUES = 1_000  # tied values of one note, or rests one after another

# The sign for neumes, "7.", is no note value.
_SINGLE = {
    ticks: digit + "." * dots for ticks, (digit, dots) in dotted(LENGTH_TICKS, 3).items() if (digit, dots) != ("7", 1)
}


def write(melody: Melody, style: str = "line") -> str:
    """A melody in one of the representations: "line", "fields" (@clef: lines), "json", "marc" or "music".

    >>> write(Melody.from_notes([0, 1, 2], [1, 1, 2], [60, 62, 64]))
    "%G-2 '4CD2E"
    """
    if style not in _STYLES:
        raise ArgumentError(f"style must be one of {', '.join(_STYLES)}; got {style!r}")
    return _STYLES[style](melody.clef or "G-2", melody.key_signature or "", melody.metre or "", write_music(melody))


def as_catalogued(melody: Melody) -> str:
    """Music that was read from Plaine & Easie, unchanged, in one line with its clef, metre and key.

    >>> from roslin import load
    >>> as_catalogued(load("@clef:G-2\\n@keysig:bB\\n@timesig:3/4\\n@data:'4CDE")[0])
    "%G-2@3/4$bB '4CDE"
    """
    clef, key, metre = melody.clef or "", melody.key_signature or "", melody.metre or ""
    return _line(clef, key, metre, melody.music or "") if clef or key or metre else melody.music or ""


def _line(clef: str, key: str, metre: str, music: str) -> str:
    return f"%{clef}" + (f"@{metre}" if metre else "") + (f"${key}" if key else "") + f" {music}"


def _named(names: tuple[str, ...], values: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, value in zip(names, values, strict=True) if value}


_FIELD_NAMES = ("clef", "keysig", "timesig", "data")
_STYLES: dict[str, Callable[..., str]] = {
    "line": _line,
    "fields": lambda *parts: "\n".join(f"@{name}:{value}" for name, value in _named(_FIELD_NAMES, parts).items()),
    "json": lambda *parts: json.dumps(_named(_FIELD_NAMES, parts)),
    "marc": lambda *parts: " ".join(f"${name} {value}" for name, value in _named(("g", "n", "o", "p"), parts).items()),
    "music": lambda *parts: parts[-1],
}


def write_music(melody: Melody) -> str:
    """The music string alone."""
    return _PaeWriter(melody).write()


class _PaeWriter:
    def __init__(self, melody: Melody):
        self.melody = melody
        self.out: list[str] = []
        self.heads = 0
        self.octave: int | None = None
        self.length = ""
        self.key = read_key_signature(melody.key_signature).alterations if melody.key_signature else NO_ALTERATIONS
        self.measure = read_time_signature(melody.metre).measure_ticks if melody.metre else WHOLE_NOTE_TICKS
        self.bar_alterations: dict[tuple[str, int], int] = {}
        self.bars = {int(tick) for tick in melody.barlines_ticks}
        self.changes: dict[int, list[SignatureChange]] = {}
        for change in melody.changes:
            self.changes.setdefault(change.onset_ticks, []).append(change)
        notes = melody.notes
        self.graces: dict[int, list[int]] = {}
        for row in notes["is_grace"].nonzero()[0].tolist():
            self.graces.setdefault(int(notes["onset_ticks"][row]), []).append(row)
        self.midi, self.base40 = notes["pitch_midi"].tolist(), notes["pitch_base40"].tolist()
        self.onsets, self.durations = notes["onset_ticks"].tolist(), notes["duration_ticks"].tolist()
        self.ends = (notes["onset_ticks"] + notes["duration_ticks"]).tolist()
        self.at_bar_start = True
        if len(set(notes["voice"].tolist())) > 1:
            raise refusal("voices cannot be written in Plaine & Easie", "one voice, with chords")

    def write(self) -> str:
        pieces = list(self._pieces())
        index = 0
        while index < len(pieces):
            self._signs(pieces[index].onset)
            index = self._run(pieces, index)
        end = pieces[-1].end if pieces else 0
        self._signs(end)
        return "".join(self.out).strip()

    def _pieces(self) -> Iterator[Piece]:
        plain = (~self.melody.notes["is_grace"]).nonzero()[0].tolist()
        for piece in pieces_of(plain, self.onsets, self.ends, {0, *self.bars, *self.changes, *self.graces}):
            if (found := len(piece.rows)) > MAX_TOGETHER:
                raise refusal("too many notes at once for Plaine & Easie", f"at most {MAX_TOGETHER}", str(found))
            yield piece

    def _run(self, pieces: list[Piece], index: int) -> int:
        piece = pieces[index]
        measures, left_over = divmod(piece.ticks, self.measure)
        whole_bars = measures and not left_over and piece.end in self.bars and self.at_bar_start
        if not piece.rows and whole_bars:
            self.out.append(f"={measures}" if measures > 1 else "=")
            return index + 1
        lengths = _values(piece.ticks)
        if lengths:
            self._piece(piece, lengths)
            return index + 1
        stops = {*self.bars, *self.changes}
        count, stop = tuplet_at(pieces, index, _values, stops, "Plaine & Easie")
        total = _SINGLE.get(pieces[stop - 1].end - piece.onset, "")  # a group that the end cuts off may have none
        self.out.append(f"{total}(")
        self.length = ""
        for inner in pieces[index:stop]:
            if inner is not piece:
                self._signs(inner.onset)
            self._piece(inner, _values(ticks_in_tuplet(inner, count)) or [])
        self.out.append(f";{count})")
        return stop

    def _signs(self, tick: int) -> None:
        self.at_bar_start = tick == 0 or tick in self.bars
        if tick in self.bars:
            self.bars.discard(tick)
            self.out.append("/")
            self.bar_alterations.clear()
        changes = self.changes.pop(tick, ())
        for change in changes:
            for sign, value in (("%", change.clef), ("$", change.key_signature), ("@", change.metre)):
                self.out.append(f"{sign}{value}" if value is not None else "")
            if change.key_signature is not None:
                self.key = read_key_signature(change.key_signature).alterations
            if change.metre is not None:
                self.measure = read_time_signature(change.metre).measure_ticks
        if changes:
            self.out.append(" ")
        self._grace_notes(self.graces.pop(tick, []))

    def _grace_notes(self, rows: list[int]) -> None:
        for duration, group in groupby(rows, key=self.durations.__getitem__):
            chord = list(group)
            if duration == 0:
                for row in chord:
                    self.out.append("g")
                    self._note(row)
                continue
            values = _values(duration)
            if values is None or len(values) > 1:
                raise refusal("a grace note that Plaine & Easie cannot write", found=f"{duration} ticks")
            self.out.append("qq" if len(chord) > 1 else "q")
            for row in chord:
                self._note(row, values[0])
            self.out.append("r" if len(chord) > 1 else "")

    def _piece(self, piece: Piece, values: list[str]) -> None:
        # A "+" after the last note of a chord ties all of it, one before "^" only its own note: so notes that end
        # here come last.
        held = {row for row in piece.rows if self.ends[row] > piece.end}
        rows = sorted(piece.rows, key=lambda row: row not in held)
        begun = {row for row in piece.rows if self.onsets[row] < piece.onset}
        places = {_spelling(self.base40[row], self.midi[row])[:2] for row in rows}
        if len(places) < len(rows) and (held or begun or len(values) > 1):
            raise refusal("two tied notes on one line or space cannot be written in Plaine & Easie")
        for position, value in enumerate(values):
            inner = position < len(values) - 1
            for number, row in enumerate(rows):
                self.out.append("^" if number else "")
                self._note(row, "" if number else value, tied=row in begun or position > 0)
                if row in held and not inner and len(held) < len(rows):
                    self.out.append("+")
            if not rows:
                self._value(value)
                self.out.append("-")
            elif inner or len(held) == len(rows):
                self.out.append("+")

    def _value(self, value: str) -> None:
        if value and value != self.length:
            self.out.append(value)
            self.length = value

    def _note(self, row: int, value: str = "", tied: bool = False) -> None:
        """Octave, value, accidental, letter: the order of the specification; what holds already is left out."""
        self.heads += 1
        if self.heads > MAX_NOTES:
            raise refusal("too long for Plaine & Easie", f"at most {MAX_NOTES} notes, tied ones counted")
        letter, octave, alter = _spelling(self.base40[row], self.midi[row])
        if octave != self.octave:
            self.octave = octave
            self.out.append("'" * (octave - 3) if octave >= 4 else "," * (4 - octave))
        self._value(value)
        name = (letter, octave)
        if not tied and alter != self.bar_alterations.get(name, self.key.get(letter, 0)):
            self.out.append(_ACCIDENTALS[alter])
            self.bar_alterations[name] = alter
        self.out.append(letter)


def _values(ticks: int) -> list[str] | None:
    return values_for(ticks, _SINGLE, MAX_VALUES)


def _spelling(base40: int, midi: int) -> tuple[str, int, int]:
    letter, octave, alter = spelled(base40)
    if not LOWEST_WRITTEN <= octave <= HIGHEST_WRITTEN:
        raise refusal("a pitch beyond the octaves of Plaine & Easie", "C1 to B7", f"MIDI pitch {midi}")
    if not is_spelled(base40, midi):
        raise refusal("a pitch whose spelling and sound disagree", f"base-40 number of MIDI pitch {midi}", str(base40))
    return LETTERS[letter], octave, alter
