"""A melody as a file for notation programs: MusicXML and ABC, with its notes, bars, clef, key and metre.

As in MEI (`score`), a note of several pieces is tied, and odd lengths are tuplets. MusicXML has a part for each voice,
ABC one voice with chords. Music that cannot be written raises `NotationError`. Read again, a file gives the notes,
signatures and bar lines of the melody; signs that a format does not have (mensural metres, alternating ones) are left
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from xml.etree.ElementTree import Element, SubElement, tostring

from roslin.engrave.score import spellings_of, voices_of
from roslin.errors import NotationError, Problem
from roslin.melody import TICKS_PER_QUARTER, Melody, SignatureChange
from roslin.melody.pitches import LINE_OF_FIFTHS, fifths_of
from roslin.notation.lengths import Piece, dotted, pieces_of, ticks_in_tuplet, tuplet_at, usual_time, values_for
from roslin.notation.pae.incipit import WHOLE_NOTE_TICKS, read_clef, read_key_signature, read_time_signature
from roslin.represent.keys import key_name

_TYPES = (
    "long", "breve", "whole", "half", "quarter", "eighth", "16th", "32nd", "64th", "128th", "256th", "512th",
)  # fmt: skip
_TICKS = {name: 4 * WHOLE_NOTE_TICKS >> power for power, name in enumerate(_TYPES)}
_VALUES = {ticks: (name, dots, ticks) for ticks, (name, dots) in dotted(_TICKS, 2).items()}
_MOST_TIED = 12
_SIGNS = {"c": "4/4", "c/": "2/2", "3": "3/4", "2": "2/2"}  # metres of one sign
_ALTERATIONS = {-2: "flat-flat", -1: "flat", 0: "natural", 1: "sharp", 2: "double-sharp"}
_ABC_ALTERATIONS = {-2: "__", -1: "_", 0: "=", 1: "^", 2: "^^"}
_ABC_UNIT_TICKS = WHOLE_NOTE_TICKS // 8
_BARS_IN_LINE = 4

_Value = tuple[str, int, int]  # type, dots, ticks as written


@dataclass(frozen=True, slots=True)
class _Written:
    """Notes that begin, or continue, together; a rest without rows. `group` is a tuplet's number, 0 outside."""

    onset: int
    rows: tuple[int, ...]
    value: _Value
    tied: frozenset[int] = frozenset()  # rows that were begun before
    held: frozenset[int] = frozenset()  # rows that continue
    group: int = 0
    in_group: int = 0  # how many values the group has, in its first
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class _Grace:
    onset: int
    rows: tuple[int, ...]


_Sign = _Written | _Grace | SignatureChange | None  # None: a bar line


class _VoiceSigns:
    def __init__(self, melody: Melody, rows: Sequence[int], end: int):
        notes = melody.notes
        self.durations: list[int] = notes["duration_ticks"].tolist()
        self.onsets: list[int] = notes["onset_ticks"].tolist()
        self.ends = [onset + duration for onset, duration in zip(self.onsets, self.durations, strict=True)]
        self.spellings = spellings_of(melody)
        self.bars = {tick for tick in melody.barlines_ticks.tolist() if tick > 0}
        self.changes: dict[int, list[SignatureChange]] = {}
        for change in melody.changes:
            self.changes.setdefault(change.onset_ticks, []).append(change)
        is_grace: list[bool] = notes["is_grace"].tolist()
        self.graces: dict[int, list[int]] = {}
        for row in rows:
            if is_grace[row]:
                self.graces.setdefault(self.onsets[row], []).append(row)
        cuts = {0, end, *self.bars, *self.changes, *self.graces}
        self.pieces = list(pieces_of([row for row in rows if not is_grace[row]], self.onsets, self.ends, cuts))

    def signs(self, notation: str) -> Iterator[_Sign]:
        pieces, index = self.pieces, 0
        while index < len(pieces):
            piece = pieces[index]
            yield from self._before(piece.onset)
            stop = index + 1
            count = 0
            if _values(piece.ticks) is None:
                count, stop = tuplet_at(pieces, index, _values, {*self.bars, *self.changes}, notation)
            members = pieces[index:stop]
            values = [_values(ticks_in_tuplet(each, count) if count else each.ticks) or [] for each in members]
            many = sum(map(len, values)) if count else 0
            for member, of_member in zip(members, values, strict=True):
                if member is not piece:
                    yield from self._before(member.onset)
                yield from self._written(member, of_member, count, many, member is piece, member is members[-1])
            index = stop
        yield from self._before(pieces[-1].end if pieces else 0)

    def _before(self, tick: int) -> Iterator[_Sign]:
        if tick in self.bars:
            self.bars.discard(tick)
            yield None
        if changes := self.changes.pop(tick, None):
            clef, key, metre = (
                next((value for each in reversed(changes) if (value := getattr(each, name)) is not None), None)
                for name in ("clef", "key_signature", "metre")
            )
            yield SignatureChange(tick, clef, key, metre)
        if graces := self.graces.pop(tick, None):
            yield _Grace(tick, tuple(graces))

    def _written(
        self, piece: Piece, values: Sequence[_Value], group: int, many: int, is_first: bool, is_last: bool
    ) -> Iterator[_Written]:
        begun = frozenset(row for row in piece.rows if self.onsets[row] < piece.onset)
        held = frozenset(row for row in piece.rows if self.ends[row] > piece.end)
        everything, onset = frozenset(piece.rows), piece.onset
        for number, value in enumerate(values):
            is_end = number == len(values) - 1
            yield _Written(
                onset, piece.rows, value, begun if not number else everything, held if is_end else everything, group,
                many if is_first and not number else 0, is_last and is_end,
            )  # fmt: skip
            onset += value[2] * usual_time(group) // group if group else value[2]


def _values(ticks: int) -> list[_Value] | None:
    return values_for(ticks, _VALUES, _MOST_TIED)


def _end(melody: Melody) -> int:
    others = (melody.barlines_ticks, melody.notes["onset_ticks"])
    return max(melody.end_ticks, *(int(ticks.max(initial=0)) for ticks in others))


def _metre(text: str) -> tuple[str, str]:
    """Beats and beat type of a metre; of alternating ones the first; "" for old signs."""
    first = read_time_signature(text).text.partition("|")[0]
    upper, _, lower = _SIGNS.get(first, first).partition("/")
    return (upper, lower) if upper.isdigit() and lower.isdigit() else ("", "")


# -- MusicXML ----------------------------------------------------------------------------------------------------------


def musicxml_from_melody(melody: Melody) -> str:
    """The melody as MusicXML, part by part."""
    voices, end = voices_of(melody), _end(melody)
    root = Element("score-partwise", version="4.0")
    if melody.title:
        _with(_with(root, "work"), "work-title", melody.title)
    if melody.composer:
        _with(_with(root, "identification"), "creator", melody.composer, type="composer")
    parts = _with(root, "part-list")
    for number in range(1, len(voices) + 1):
        name = (melody.voice if len(voices) == 1 else "") or ""
        _with(_with(parts, "score-part", id=f"P{number}"), "part-name", name)
    for number, rows in enumerate(voices, start=1):
        _XmlPart(melody, _VoiceSigns(melody, rows, end), len(voices) == 1).write(_with(root, "part", id=f"P{number}"))
    return tostring(root, encoding="unicode", xml_declaration=False)


def _with(parent: Element, tag: str, text: object = None, **attributes: str) -> Element:
    child = SubElement(parent, tag, attributes)
    child.text = None if text is None else str(text)
    return child


class _XmlPart:
    def __init__(self, melody: Melody, voice: _VoiceSigns, is_alone: bool):
        self.melody, self.voice, self.is_alone = melody, voice, is_alone
        self.key = read_key_signature(melody.key_signature or "").alterations
        self.in_bar: dict[tuple[str, int], int] = {}
        self.unit = TICKS_PER_QUARTER

    def write(self, part: Element) -> None:
        melody = self.melody
        signs = list(self.voice.signs("MusicXML"))
        self.unit = gcd(self.unit, *(_sounding(sign) for sign in signs if isinstance(sign, _Written)))
        first = min(self.voice.bars | set(melody.barlines_ticks.tolist()) - {0}, default=0)
        full = read_time_signature(melody.metre).measure_ticks if melody.metre else 0
        number = 0 if 0 < first < full else 1
        measure = _with(part, "measure", number=str(number), **({} if number else {"implicit": "yes"}))
        middle = float(melody.notes["pitch_midi"].mean())
        clef = (melody.clef if self.is_alone else None) or ("G-2" if middle >= 57 else "F-4")
        self._attributes(measure, clef, melody.key_signature or "", melody.metre, self.unit)
        for place, sign in enumerate(signs):
            if sign is None:
                self.in_bar.clear()
                if any(isinstance(each, (_Written, _Grace)) for each in signs[place:]):
                    number += 1
                    measure = _with(part, "measure", number=str(number))
                else:
                    measure = part[-1]
            elif isinstance(sign, SignatureChange):
                if sign.key_signature is not None:
                    self.key = read_key_signature(sign.key_signature).alterations
                clef = sign.clef if self.is_alone and sign.clef else ""
                self._attributes(measure, clef, sign.key_signature, sign.metre)
            elif isinstance(sign, _Grace):
                for row in sign.rows:
                    note = _with(measure, "note")
                    ticks = self.voice.durations[row]
                    _with(note, "grace", **({} if ticks else {"slash": "yes"}))
                    name = next((each for each, length in _TICKS.items() if 0 < length <= ticks), "eighth")
                    self._pitch(note, row)
                    _with(note, "type", name)
            else:
                self._notes(measure, sign)
        if signs and signs[-1] is not None:
            _with(_with(measure, "barline", location="right"), "bar-style", "none")

    def _attributes(self, measure: Element, clef: str, key: str | None, metre: str | None, unit: int = 0) -> None:
        attributes = Element("attributes")
        if unit:
            _with(attributes, "divisions", TICKS_PER_QUARTER // unit)
        if key is not None:
            signs = read_key_signature(key).alterations
            signature = _with(attributes, "key")
            if (fifths := fifths_of(signs)) is not None:
                _with(signature, "fifths", fifths)
            for letter, alter in signs.items() if fifths is None else ():
                _with(signature, "key-step", letter)
                _with(signature, "key-alter", alter)
        beats, unit_of_beat = _metre(metre or "")
        if metre and beats:
            symbol = {"c": "common", "c/": "cut"}.get(read_time_signature(metre).text)
            time = _with(attributes, "time", **({"symbol": symbol} if symbol else {}))
            _with(time, "beats", beats)
            _with(time, "beat-type", unit_of_beat)
        if read := read_clef(clef)[0] if clef else "":
            drawn = _with(attributes, "clef")
            _with(drawn, "sign", read[0].upper())
            _with(drawn, "line", read[-1])
            if read[0] == "g":
                _with(drawn, "clef-octave-change", -1)
        if len(attributes):
            measure.append(attributes)

    def _notes(self, measure: Element, sign: _Written) -> None:
        name, dots, _ = sign.value
        for place, row in enumerate(sign.rows or (None,)):
            note = _with(measure, "note")
            if place:
                _with(note, "chord")
            accidental = ""
            if row is None:
                _with(note, "rest")
            else:
                accidental = self._pitch(note, row, is_tied=row in sign.tied)
            _with(note, "duration", _sounding(sign) // self.unit)
            ties = [each for each, rows in (("stop", sign.tied), ("start", sign.held)) if row in rows]
            for kind in ties:
                note.append(Element("tie", type=kind))
            _with(note, "type", name)
            for _each in range(dots):
                _with(note, "dot")
            if accidental:
                _with(note, "accidental", accidental)
            if sign.group:
                change = _with(note, "time-modification")
                _with(change, "actual-notes", sign.group)
                _with(change, "normal-notes", usual_time(sign.group))
            edges = [("start", sign.in_group), ("stop", sign.group and sign.is_last)] if not place else []
            marks = [("tied", kind) for kind in ties] + [("tuplet", kind) for kind, is_there in edges if is_there]
            notations = _with(note, "notations") if marks else note
            for mark, kind in marks:
                notations.append(Element(mark, type=kind))

    def _pitch(self, note: Element, row: int, *, is_tied: bool = False) -> str:
        """Write a pitch. The accidental that is printed with it, if there is one."""
        letter, octave, alter = self.voice.spellings[row]
        pitch = _with(note, "pitch")
        _with(pitch, "step", letter)
        if alter:
            _with(pitch, "alter", alter)
        _with(pitch, "octave", octave)
        place = (letter, octave)
        if is_tied or alter == self.in_bar.get(place, self.key.get(letter, 0)):
            return ""
        self.in_bar[place] = alter
        return _ALTERATIONS[alter]


def _sounding(sign: _Written) -> int:
    ticks = sign.value[2]
    return ticks * usual_time(sign.group) // sign.group if sign.group else ticks


# -- ABC ---------------------------------------------------------------------------------------------------------------


def abc_from_melody(melody: Melody) -> str:
    """The melody as a tune in ABC. An accidental that a reader might overlook is written again."""
    voices = voices_of(melody)
    if len(voices) > 1:
        raise NotationError(Problem("voices cannot be written in ABC", "one voice, with chords", str(len(voices))))
    known = [("X", "1"), ("T", melody.title), ("C", melody.composer), ("M", _abc_metre(melody.metre)), ("L", "1/8")]
    known.append(("K", _abc_key(melody.key_signature or "", melody.key) + _abc_clef(melody.clef)))
    head = [f"{name}:{_one_line(text)}" for name, text in known if text]
    return "\n".join([*head, _AbcTune(melody, _VoiceSigns(melody, voices[0], _end(melody))).write(), ""])


def _one_line(text: str) -> str:
    return " ".join(text.replace("\\", " ").replace("%", "\\%").split())


def _abc_metre(metre: str | None) -> str:
    sign = {"c": "C", "c/": "C|"}.get(read_time_signature(metre).text) if metre else None
    return sign or "/".join(filter(None, _metre(metre or ""))) or "none"


def _abc_key(signature: str, key: str | None) -> str:
    """A key with this signature: the one that is known, or major, or the signs alone."""
    signs = read_key_signature(signature).alterations
    fifths = fifths_of(signs)
    if fifths is None or abs(fifths) > 7:
        return " ".join(["C exp", *(_ABC_ALTERATIONS[alter] + letter.lower() for letter, alter in signs.items())])
    is_minor = key_name(key or "") == key_name(f"{_abc_tonic(fifths + 3)} minor")
    return _abc_tonic(fifths + 3) + "m" if is_minor else _abc_tonic(fifths)


def _abc_tonic(fifths: int) -> str:
    return LINE_OF_FIFTHS[fifths + 7] if fifths + 7 < len(LINE_OF_FIFTHS) else "C"


def _abc_clef(clef: str | None) -> str:
    known = read_clef(clef)[0] if clef else ""
    if not known:
        return ""
    return f" clef={known[0].upper()}{known[-1]}" + ("-8" if _is_lowered(clef) else "")


def _is_lowered(clef: str | None) -> bool:
    """Whether notes sound an octave lower than they are written; in ABC they are written higher."""
    return bool(clef) and read_clef(clef or "")[0][:1] == "g"


class _AbcTune:
    def __init__(self, melody: Melody, voice: _VoiceSigns):
        self.voice = voice
        self.out: list[str] = []
        self.key = read_key_signature(melody.key_signature or "").alterations
        self.altered: set[str] = set()  # letters with an accidental in this bar, in whichever octave
        self.bars = 0
        self.lower = _is_lowered(melody.clef)

    def write(self) -> str:
        bar: int | None = 0
        for sign in self.voice.signs("ABC"):
            if sign is None:
                bar = None
                self.bars += 1
                self.altered.clear()
                self.out.append(" |\n" if self.bars % _BARS_IN_LINE == 0 else " | ")
                continue
            if isinstance(sign, SignatureChange):
                self._change(sign)
                continue
            bar = sign.onset if bar is None else bar
            is_beat = (sign.onset - bar) % TICKS_PER_QUARTER == 0
            if is_beat and self.out and not self.out[-1].endswith((" ", "\n", "}")):
                self.out.append(" ")
            if isinstance(sign, _Written):
                self._notes(sign)
                continue
            for row in sign.rows:
                ticks = self.voice.durations[row]
                self.out.append(f"{{{'' if ticks else '/'}{self._note(row)}{_abc_length(ticks) if ticks else ''}}}")
        return "".join(self.out).strip()

    def _change(self, change: SignatureChange) -> None:
        self.lower = _is_lowered(change.clef) if change.clef else self.lower
        if change.key_signature is not None:
            self.key = read_key_signature(change.key_signature).alterations
            self.out.append(f"[K:{_abc_key(change.key_signature, None)}{_abc_clef(change.clef)}]")
        elif change.clef:
            self.out.append(f"[K:{_abc_clef(change.clef).strip()}]")
        if change.metre is not None:
            self.out.append(f"[M:{_abc_metre(change.metre)}]")

    def _notes(self, sign: _Written) -> None:
        if sign.in_group:
            self.out.append(f"({sign.group}:{usual_time(sign.group)}:{sign.in_group}")
        length = _abc_length(sign.value[2])
        if not sign.rows:
            self.out.append(f"z{length}")
        elif len(sign.rows) == 1:
            self.out.append(self._note(sign.rows[0]) + length + "-" * bool(sign.held))
        else:
            inside = "".join(self._note(row) + "-" * (row in sign.held) for row in sign.rows)
            self.out.append(f"[{inside}]{length}")

    def _note(self, row: int) -> str:
        letter, octave, alter = self.voice.spellings[row]
        sign = ""
        if alter != self.key.get(letter, 0) or letter in self.altered:
            sign = _ABC_ALTERATIONS[alter]
            self.altered.add(letter)
        octave += self.lower
        if octave >= 5:
            return sign + letter.lower() + "'" * (octave - 5)
        return sign + letter + "," * (4 - octave)


def _abc_length(ticks: int) -> str:
    length = Fraction(ticks, _ABC_UNIT_TICKS)
    upper, lower = "" if length.numerator == 1 else str(length.numerator), length.denominator
    return upper if lower == 1 else f"{upper}/{lower}"
