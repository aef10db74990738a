"""A melody written as MEI for engraving: every note of the table has an id with the number of its row.

One staff for each voice. A voice is cut into pieces where a note begins or ends and at bar lines, grace notes and
changes of signature. A note of several pieces is tied. Row 17 of the note table is `note-17`, its second piece
`note-17-2`. Lengths that no plain or dotted value has become tuplets with the smallest number that makes them writable.
Times are ticks, 40320 a quarter.

Beams are set by the metre: one group a beat, three eighths in 6/8 and its kin. Bars of rest in a row become one rest
with their number. Music without bar lines is cut at places where nothing sounds through, without a visible line, so
that it can be broken into systems.

MEI and not Plaine & Easie: it can hold voices, any tuplet and our ids, and verovio draws it unchanged
(dev/measurements/readers.md has the comparison). Music that cannot be written raises `NotationError`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from roslin.errors import NotationError, Problem
from roslin.melody import TICKS_PER_QUARTER, Melody, SignatureChange, base40_from_midi
from roslin.melody.pitches import LETTERS, fifths_of, is_spelled, spelled
from roslin.melody.variants import metre_fraction
from roslin.notation.lengths import Piece, dotted, pieces_of, ticks_in_tuplet, tuplet_at, usual_time, values_for
from roslin.notation.pae.incipit import WHOLE_NOTE_TICKS, read_clef, read_key_signature, read_time_signature

MAX_DRAWN_VOICES = 8
MAX_DRAWN_NOTES = 5000
MAX_BAR_LINES = 2000

_INVISIBLE_BAR_TICKS = 8 * TICKS_PER_QUARTER

ACCIDENTALS = {-2: "ff", -1: "f", 0: "n", 1: "s", 2: "x"}
SOUNDING = ACCIDENTALS | {2: "ss"}

_METRE_SIGNS = {"c": 'sym="common"', "c/": 'sym="cut"', "2": 'count="2" unit="2" form="num"'}
_METRE_SIGNS["3"] = 'count="3" unit="4" form="num"'

_NAMES = ("long", "breve", "1", "2", "4", "8", "16", "32", "64", "128", "256", "512")
_TICKS = {name: 4 * WHOLE_NOTE_TICKS >> power for power, name in enumerate(_NAMES)}
FLAGGED = frozenset(_NAMES[5:])
_VALUES = dotted(_TICKS, 2)
VALUE_TICKS = {value: ticks for ticks, value in _VALUES.items()}
_MOST_TIED = 12  # a longer chain of ties is no notation: the music was never in bars


@dataclass(frozen=True, slots=True)
class _Bar:
    onset: int
    end: int
    line: str  # MEI's name of the bar line at its end
    joined: bool = False  # several bars of rest in one


@dataclass(slots=True)
class _Element:
    markup: str
    kind: str = "sign"  # or "note" (a chord too), "rest", "grace", "tuplet"
    beat: int = -1  # notes of one beat are joined; -1: never


@dataclass(slots=True)
class _Signatures:
    alterations: Mapping[str, int] = field(default_factory=dict)
    measure_ticks: int = WHOLE_NOTE_TICKS
    beat_ticks: int = TICKS_PER_QUARTER

    def change(self, key: str | None, metre: str | None) -> _Signatures:
        if key is not None:
            self.alterations = read_key_signature(key).alterations
        if metre is not None:
            time = read_time_signature(metre)
            self.measure_ticks, self.beat_ticks = time.measure_ticks, _beat_ticks(time.text)
        return self


def mei_from_melody(melody: Melody) -> str:
    """The melody as a MEI document."""
    return _Score(melody).document()


class _Score:
    def __init__(self, melody: Melody):
        notes = melody.notes
        self.melody = melody
        self.onsets: list[int] = notes["onset_ticks"].tolist()
        self.durations: list[int] = notes["duration_ticks"].tolist()
        self.graces: list[bool] = notes["is_grace"].tolist()
        self.onset_array = notes["onset_ticks"]
        self.end_array = notes["onset_ticks"] + np.where(notes["is_grace"], 0, notes["duration_ticks"])
        self.ends: list[int] = self.end_array.tolist()
        self.spellings = spellings_of(melody)
        self.voices = voices_of(melody)
        _check_number("voices", len(self.voices), MAX_DRAWN_VOICES)
        _check_number("notes", len(notes), MAX_DRAWN_NOTES)
        _check_number("bar lines", len(melody.barlines_ticks), MAX_BAR_LINES)
        self.changes = sorted(melody.changes, key=lambda change: change.onset_ticks)
        self.bars = list(self._bars())

    def document(self) -> str:
        staves = [_VoiceStaff(self, rows) for rows in self.voices]
        definitions = "".join(staff.definition(number) for number, staff in enumerate(staves, start=1))
        measures = []
        for bar in self.bars:
            layers = "".join(
                f'<staff n="{n}"><layer n="1">{staff.layer(bar)}</layer></staff>' for n, staff in enumerate(staves, 1)
            )
            ties = "".join(tie for staff in staves for tie in staff.take_ties())
            measures.append(f'{self._new_signatures(bar)}<measure right="{bar.line}">{layers}{ties}</measure>')
        symbol = ' symbol="bracket"' if len(staves) > 1 else ""
        return (
            '<mei xmlns="http://www.music-encoding.org/ns/mei" meiversion="5.0"><music><body><mdiv><score>'
            f"<scoreDef><staffGrp{symbol}>{definitions}</staffGrp></scoreDef>"
            f"<section>{''.join(measures)}</section></score></mdiv></body></music></mei>"
        )

    def _new_signatures(self, bar: _Bar) -> str:
        """Key and metre that change with a bar line: there verovio counts bars of rest by them."""
        signs = "".join(_key_and_metre(change) for change in self.changes if 0 < change.onset_ticks == bar.onset)
        return f"<scoreDef>{signs}</scoreDef>" if signs else ""

    def _bars(self) -> Iterator[_Bar]:
        """Bars that leave out nothing, with whole bars of rest in a row taken together."""
        end = int(self.end_array.max()) or _Signatures().change(None, self.melody.metre).measure_ticks
        lines = sorted({tick for tick in self.melody.barlines_ticks.tolist() if tick > 0})
        marks = [0, *lines] if lines and lines[-1] >= end else [0, *lines, end]
        empty: _Bar | None = None
        for onset, stop in pairwise(marks):
            line = "single" if lines and stop <= lines[-1] else "invis"
            bar = _Bar(onset, stop, line)
            if empty is not None:
                if self._is_rest(onset, stop):
                    empty = _Bar(empty.onset, stop, line, joined=True)
                    continue
                yield empty
                empty = None
            if self._is_rest(onset, stop):
                empty = bar
            else:
                yield from self._shorter(bar)
        if empty is not None:
            yield empty

    def _is_rest(self, onset: int, stop: int) -> bool:
        """Whether one or more whole bars hold nothing: no note, no grace note, no change of signature."""
        metres = [change.metre for change in self.changes if change.onset_ticks < stop and change.metre]
        if (stop - onset) % _Signatures().change(None, metres[-1] if metres else self.melody.metre).measure_ticks:
            return False
        begins, ends = self.onset_array, self.end_array
        notes = ((begins < stop) & (ends > onset)) | ((begins >= onset) & (begins < stop))
        return not notes.any() and not any(onset <= change.onset_ticks < stop for change in self.changes)

    def _shorter(self, bar: _Bar) -> Iterator[_Bar]:
        """A long stretch without bar lines, cut where nothing sounds through; most bars come back as they are."""
        onset = bar.onset
        if bar.end - bar.onset > 2 * _INVISIBLE_BAR_TICKS:
            inside = (self.onset_array > bar.onset) & (self.onset_array < bar.end)
            for tick in np.unique(self.onset_array[inside]).tolist():
                enough = tick - onset >= _INVISIBLE_BAR_TICKS and bar.end - tick >= _INVISIBLE_BAR_TICKS // 2
                sounding = ((self.onset_array < tick) & (self.end_array > tick)).any()
                if enough and (tick - onset) % (TICKS_PER_QUARTER // 2) == 0 and not sounding:
                    yield _Bar(onset, tick, "invis")
                    onset = tick
        yield _Bar(onset, bar.end, bar.line)


@dataclass(slots=True)
class _VoiceStaff:
    score: _Score
    rows: list[int]
    signatures: _Signatures = field(init=False)
    pieces: list[Piece] = field(init=False)
    grace_rows: dict[int, list[int]] = field(init=False)
    next_piece: int = 0
    next_change: int = 0
    in_bar: dict[tuple[str, int], int] = field(default_factory=dict)  # accidentals that hold until the bar line
    written: dict[int, int] = field(default_factory=dict)  # row: the number of its pieces so far
    ties: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        score = self.score
        self.signatures = _Signatures().change(score.melody.key_signature, score.melody.metre)
        self.grace_rows = {}
        for row in self.rows:
            if score.graces[row]:
                self.grace_rows.setdefault(score.onsets[row], []).append(row)
        plain = [row for row in self.rows if not score.graces[row]]
        cuts = {bar.onset for bar in score.bars} | {score.bars[-1].end} | set(self.grace_rows)
        cuts |= {change.onset_ticks for change in score.changes if change.onset_ticks <= score.bars[-1].end}
        self.pieces = list(pieces_of(plain, score.onsets, score.ends, cuts))

    def definition(self, number: int) -> str:
        melody = self.score.melody
        usual = "G-2" if float(melody.notes["pitch_midi"][self.rows].mean()) >= 57 else "F-4"
        clef = (melody.clef if len(self.score.voices) == 1 else None) or usual
        signs = _clef_sign(clef) + _key_sign(melody.key_signature or "") + _metre_sign(melody.metre or "")
        return f'<staffDef n="{number}" lines="5">{signs}</staffDef>'

    def take_ties(self) -> list[str]:
        ties, self.ties = self.ties, []
        return ties

    def layer(self, bar: _Bar) -> str:
        pieces = []
        while self.next_piece < len(self.pieces) and self.pieces[self.next_piece].onset < bar.end:
            pieces.append(self.pieces[self.next_piece])
            self.next_piece += 1
        silent = len(pieces) == 1 and not pieces[0].rows and bar.onset not in self.grace_rows
        elements = self._signs(bar.onset)
        whole_rest = self._whole_rest(bar) if silent else ""
        index = 0
        if whole_rest:
            elements.append(_Element(whole_rest))
            index = len(pieces)
        while index < len(pieces):
            elements += self._signs(pieces[index].onset)
            written, index = self._run(bar, pieces, index)
            elements += written
        if bar is self.score.bars[-1]:
            elements += self._signs(bar.end)
        if bar.line != "invis":
            self.in_bar.clear()
        return _beamed(elements)

    def _whole_rest(self, bar: _Bar) -> str:
        """A rest for the whole bar, or for several; "" when the metre has no such bar."""
        measures, left_over = divmod(bar.end - bar.onset, self.signatures.measure_ticks)
        if left_over:
            return ""
        if measures > 1 and (bar.joined or len(self.score.voices) == 1):
            return f'<multiRest num="{measures}"/>'
        return "<mRest/>" if measures == 1 else ""

    def _signs(self, tick: int) -> list[_Element]:
        elements = []
        changes = self.score.changes
        while self.next_change < len(changes) and changes[self.next_change].onset_ticks <= tick:
            change = changes[self.next_change]
            self.signatures.change(change.key_signature, change.metre)
            clef = _clef_sign(change.clef) if change.clef and len(self.score.voices) == 1 else ""
            with_bar_line = any(0 < change.onset_ticks == bar.onset for bar in self.score.bars)
            elements.append(_Element(clef + ("" if with_bar_line else _key_and_metre(change))))
            self.next_change += 1
        written = [self._grace(row) for row in self.grace_rows.pop(tick, [])]
        joined = "".join(element.markup for element in written)
        if len(written) > 1 and all(element.beat == 0 for element in written):
            joined = f"<beam>{joined}</beam>"
        return [*elements, _Element(joined, "grace")] if written else elements

    def _grace(self, row: int) -> _Element:
        ticks = self.score.durations[row]
        name = next((name for name, length in _TICKS.items() if length <= ticks), "8")
        kind = "acc" if ticks else "unacc"
        return _Element(self._note(row, f'dur="{name}" grace="{kind}"'), "grace", 0 if name in FLAGGED else -1)

    def _run(self, bar: _Bar, pieces: list[Piece], index: int) -> tuple[list[_Element], int]:
        piece = pieces[index]
        values = _note_values(piece.ticks)
        if values is not None:
            return self._piece(bar, piece, values), index + 1
        changes = {change.onset_ticks for change in self.score.changes}
        count, stop = tuplet_at(pieces, index, _note_values, changes, "notation")
        inner: list[_Element] = []
        for member in pieces[index:stop]:
            inner += self._signs(member.onset) if member is not piece else []
            inner += self._piece(bar, member, _note_values(ticks_in_tuplet(member, count)) or [])
        for element in inner:
            element.beat = min(element.beat, 0)  # a tuplet has its own beam
        notes = [element for element in inner if element.kind != "grace"]
        one_beam = len(notes) > 1 and all(element.kind == "note" and element.beat == 0 for element in notes)
        bracket = "" if one_beam else ' bracket.visible="true"'
        opened = f'<tuplet num="{count}" numbase="{usual_time(count)}" num.format="count"{bracket}>'
        return [_Element(f"{opened}{_beamed(inner)}</tuplet>", "tuplet")], stop

    def _piece(self, bar: _Bar, piece: Piece, values: Sequence[tuple[str, int]]) -> list[_Element]:
        elements = []
        onset = piece.onset
        for name, dots in values:
            length = f'dur="{name}"' + (f' dots="{dots}"' if dots else "")
            if not piece.rows:
                markup = f"<rest {length}/>"
            elif len(piece.rows) == 1:
                markup = self._note(piece.rows[0], length)
            else:
                markup = f"<chord {length}>{''.join(self._note(row, '') for row in piece.rows)}</chord>"
            beat = self._beat(bar, onset) if name in FLAGGED else -1
            elements.append(_Element(markup, "note" if piece.rows else "rest", beat))
            onset += VALUE_TICKS[name, dots]
        return elements

    def _beat(self, bar: _Bar, tick: int) -> int:
        """Which beam group of the bar a moment is in. A pick-up is counted from its end."""
        measure = self.signatures.measure_ticks
        start = bar.end - measure if bar.onset == 0 and bar.end < measure else bar.onset
        return (tick - start) // self.signatures.beat_ticks

    def _note(self, row: int, length: str) -> str:
        letter, octave, alter = self.score.spellings[row]
        earlier = self.written.get(row, 0)
        self.written[row] = earlier + 1
        name = _id(row, earlier)
        place = (letter, octave)
        accidental = f' accid.ges="{SOUNDING[alter]}"' if alter else ""
        if earlier:
            self.ties.append(f'<tie startid="#{_id(row, earlier - 1)}" endid="#{name}"/>')
        elif alter != self.in_bar.get(place, self.signatures.alterations.get(letter, 0)):
            accidental = f' accid="{ACCIDENTALS[alter]}"'
            self.in_bar[place] = alter
        return f'<note xml:id="{name}" {length} pname="{letter.lower()}" oct="{octave}"{accidental}/>'


def _check_number(what: str, number: int, most: int) -> None:
    if number > most:
        raise NotationError(Problem(f"too many {what} for a drawing", f"at most {most}", str(number)))


def _id(row: int, piece: int) -> str:
    return f"note-{row}" if not piece else f"note-{row}-{piece + 1}"


def _beamed(elements: list[_Element]) -> str:
    """Markup with notes of one beat under a beam. Rests end a beam. Grace notes inside one do not end it."""
    out: list[str] = []
    group: list[_Element] = []
    for element in elements:
        joins = bool(group) and (element.kind == "grace" or (element.kind, element.beat) == ("note", group[0].beat))
        if group and not joins:
            out.append(_beam(group))
            group = []
        if joins or (element.kind == "note" and element.beat >= 0):
            group.append(element)
        else:
            out.append(element.markup)
    return "".join([*out, _beam(group)])


def _beam(group: list[_Element]) -> str:
    """Notes and the grace notes between them. A beam needs two notes, and ends with a note."""
    last = max((index for index, element in enumerate(group) if element.kind == "note"), default=0)
    inside, after = ("".join(element.markup for element in part) for part in (group[: last + 1], group[last + 1 :]))
    return (f"<beam>{inside}</beam>" if last else inside) + after


# -- the signs: spelled pitches, clef, key signature, time signature, note values --------------------------------------


def voices_of(melody: Melody) -> list[list[int]]:
    """The rows of each voice; a melody without notes is refused."""
    if not len(melody):
        raise NotationError(Problem("there are no notes"))
    voices = melody.notes["voice"]
    return [np.flatnonzero(voices == voice).tolist() for voice in np.unique(voices)]


def spellings_of(melody: Melody) -> list[tuple[str, int, int]]:
    """Letter, octave and alteration of each note; the usual ones where its two pitches contradict each other."""
    pitches = zip(melody.notes["pitch_base40"].tolist(), melody.notes["pitch_midi"].tolist(), strict=True)
    usual = (base40 if is_spelled(base40, midi) else int(base40_from_midi(midi)) for base40, midi in pitches)
    return [(LETTERS[letter], octave, alter) for letter, octave, alter in map(spelled, usual)]


def _clef_sign(text: str) -> str:
    clef = read_clef(text)[0] or "G-2"
    lower = ' dis="8" dis.place="below"' if clef[0] == "g" else ""
    return f'<clef shape="{clef[0].upper()}" line="{clef[-1]}"{lower}/>'


def _key_sign(text: str, *, cancel: bool = False) -> str:
    """The key signature; `cancel` writes one without signs too, for a change of key."""
    alterations = read_key_signature(text).alterations
    if not alterations:
        return '<keySig sig="0"/>' if cancel else ""
    if fifths := fifths_of(alterations):
        return f'<keySig sig="{abs(fifths)}{"s" if fifths > 0 else "f"}"/>'
    signs = (
        f'<keyAccid pname="{letter.lower()}" accid="{ACCIDENTALS[alter]}" oct="{5 if letter in "CDE" else 4}"/>'
        for letter, alter in alterations.items()
    )
    return f"<keySig>{''.join(signs)}</keySig>"


def _key_and_metre(change: SignatureChange) -> str:
    key = _key_sign(change.key_signature, cancel=True) if change.key_signature is not None else ""
    return key + (_metre_sign(change.metre) if change.metre else "")


def _metre_sign(text: str) -> str:
    """The time signature; "3/4|4/4" alternates; old signs that have no modern form are left out."""
    signs = []
    for part in read_time_signature(text).text.split("|"):
        if part in _METRE_SIGNS:
            signs.append(f"<meterSig {_METRE_SIGNS[part]}/>")
        elif fraction := metre_fraction(part):
            signs.append(f'<meterSig count="{fraction[0]}" unit="{fraction[1]}"/>')
    if len(signs) > 1:
        return f'<meterSigGrp func="alternating">{"".join(signs)}</meterSigGrp>'
    return "".join(signs)


def _note_values(ticks: int) -> list[tuple[str, int]] | None:
    return values_for(ticks, _VALUES, _MOST_TIED)


def _beat_ticks(metre: str) -> int:
    """How long a beam group is: a quarter, three eighths in 6/8 and its kin, the bar in 3/8."""
    upper, _, lower = metre.partition("|")[0].partition("/")
    if not (upper.isdigit() and lower.isdigit()):
        return TICKS_PER_QUARTER
    unit = WHOLE_NOTE_TICKS // int(lower)
    return 3 * unit if int(upper) % 3 == 0 and int(lower) >= 8 else max(unit, TICKS_PER_QUARTER)
