"""MEI, the format of the Music Encoding Initiative (versions 3 to 5, common notation): one melody for each staff.

    _Staff      what is known about a staff while the score goes by, and its notes so far
    _Score      walks through one <score> (or <part>) in the order of the document
    _LayerWalk  walks through one voice of one bar

Time runs from what stands in the bars: a bar is as long as its longest voice, so a pick-up bar is short by itself, and
a bar of rest everywhere is as long as the metre says. Lengths come from @dur.ges or @dur, dots and tuplets (exact
fractions), and from @dur.ppq where it says something else. Repeats and endings are kept as written. Of variants the
lemma, or else the first reading, is taken; deleted and ossia music is left out, and so are notes without a pitch.

An accidental is what @accid.ges or @accid says. Only where a score has no @accid.ges at all are the key signature and
the accidentals earlier in the bar taken into account. Mensural and neume notation is refused.

Lines and columns of problems are those of the XML.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import BinaryIO

import numpy as np

from roslin.errors import MelodyError, NotationError, Problem
from roslin.melody import TICKS_PER_QUARTER, Melody, SignatureChange, checked_table
from roslin.notation.record import Record
from roslin.notation.scores import (
    Element,
    Part,
    Pitch,
    ScoreNote,
    Selection,
    decode_xml,
    first_elements,
    merge_ties,
    parse_xml,
    read_stream,
)

__all__ = ["matches", "pitched_notes", "read", "read_tree", "tree"]

_NAMESPACE = "http://www.music-encoding.org/ns/mei"
_ROOTS = frozenset({"mei", "meiCorpus", "music"})

_LETTERS = {letter: step for step, letter in enumerate("cdefgab")}
_SHARPS, _FLATS = "FCGDAEB", "BEADGCF"
_MAJOR_KEYS = ("Cb", "Gb", "Db", "Ab", "Eb", "Bb", "F", "C", "G", "D", "A", "E", "B", "F#", "C#")
# How far along the circle of fifths the keynote of a mode lies from that of major.
_MODES = {"major": 0, "minor": 3, "dorian": 2, "phrygian": 4, "lydian": -1, "mixolydian": 1, "aeolian": 3}

_ALTERATIONS = {"s": 1, "f": -1, "ss": 2, "x": 2, "ff": -2, "xs": 3, "sx": 3, "ts": 3, "tf": -3, "n": 0}
_ALTERATIONS |= {"nf": -1, "ns": 1}
# Quarter tones and the like: the nearest semitone, with a warning.
_NEAREST = {"su": 1, "sd": 1, "fu": -1, "fd": -1, "nu": 0, "nd": 0, "1qs": 0, "1qf": 0, "3qs": 1, "3qf": -1}

_QUARTERS = {"maxima": Fraction(32), "long": Fraction(16), "breve": Fraction(8)}
_QUARTERS |= {str(2**power): Fraction(4, 2**power) for power in range(12)}
_MENSURAL = frozenset(
    {"longa", "brevis", "semibrevis", "minima", "semiminima", "fusa", "semifusa", "nc", "neume", "syllable", "mensur"}
)

_READ_THROUGH = frozenset(
    {"add", "beam", "beamSpan", "corr", "damage", "expan", "ligature", "orig", "reg", "restore", "sic", "supplied"}
    | {"unclear"}
)
_SECTIONS = frozenset({"section", "ending", "ossia", "score"}) | _READ_THROUGH
_PREFERRED = ("lem", "corr", "reg", "expan", "add")


def matches(head: bytes) -> bool:
    """Whether the first bytes of a file are those of MEI."""
    text, names = first_elements(head)
    if not names:
        return False
    return names[0] in ("mei", "meiCorpus") or (names[0] in _ROOTS and _NAMESPACE in text)


def read(
    stream: BinaryIO,
    *,
    strict: bool,
    part: Part | None = None,
    voice: int | None = None,
    written_pitch: bool = False,
) -> Iterator[Record]:
    """A record for each staff of each movement; see `scores.read_score`."""
    selection = Selection(part, voice, written_pitch)
    try:
        document = tree(decode_xml(read_stream(stream)))
        records = read_tree(document, "mei", selection, strict=strict)
    except NotationError as error:
        records = [Record(None, (error.problem,))]
    yield from records


def tree(text: str) -> Element:
    """The elements of a document."""
    return parse_xml(text, _ROOTS, "MEI")


def pitched_notes(document: Element) -> int:
    """How many notes with a pitch a document has, tied ones counted one by one."""
    return sum("pname" in note.attributes for note in document.iter("note"))


def read_tree(
    document: Element,
    notation: str,
    selection: Selection,
    *,
    strict: bool,
    problems: tuple[Problem, ...] = (),
    placed: bool = True,
    sounding: Callable[[str], Pitch | None] | None = None,
) -> list[Record]:
    """A record for each wanted staff with notes.

    `problems` concern the whole score. `placed` is False where the MEI was made from another notation: its lines mean
    nothing to whoever reads the message. `sounding` gives the pitch of a note by its id, where the source knows better
    than the MEI that was made from it.
    """
    scores = [_Score(element, selection, notation, sounding) for element in _scores(document)]
    staves: list[_Staff] = []
    for score in scores:
        score.read()
        staves += score.staves_in_order()
    staves = [staff for staff in staves if staff.notes or staff.problems]
    if not any(staff.notes for staff in staves):
        first = next((problem for staff in staves for problem in staff.problems), None)
        return [Record(None, (first or Problem("no notes", "at least one note", "none", line=document.line),))]
    chosen = [staves[place] for place in selection.chosen([staff.name for staff in staves])]
    if selection.voice is not None:
        chosen = _with_voice(chosen, selection.voice)
    about = _about(document)
    return [_record(staff, notation, about, selection, problems, strict=strict, placed=placed) for staff in chosen]


def _with_voice(staves: list[_Staff], voice: int) -> list[_Staff]:
    most = max(len(staff.layers()) for staff in staves)
    if not 0 <= voice < most:
        raise MelodyError(f"voice must be a number from 0 to {most - 1}; got {voice}")
    return [staff for staff in staves if voice < len(staff.layers())]


def _scores(document: Element) -> Iterator[Element]:
    """Scores; where a movement has none, its separate parts."""
    for movement in document.iter("mdiv", "music"):
        if movement.tag == "music" and movement.first("body") is not None:
            continue
        score = movement.first("score")
        if score is not None:
            yield score
        else:
            yield from (part for parts in movement.children if parts.tag == "parts" for part in parts.children)


def _record(
    staff: _Staff,
    notation: str,
    about: dict[str, str],
    selection: Selection,
    problems: tuple[Problem, ...],
    *,
    strict: bool,
    placed: bool,
) -> Record:
    own = staff.problems if placed else [Problem(p.reason, p.expected, p.found) for p in staff.problems]
    found = tuple(problem.at(record=staff.name) for problem in (*problems, *own))
    if found and strict:
        return Record(None, found[:1])
    layers = staff.layers()
    notes = merge_ties(staff.notes)
    if selection.voice is not None:
        notes = [note for note in notes if note.layer == layers[selection.voice]]
    if not notes:
        nothing = Problem("no notes", "at least one note", "none", record=staff.name)
        return Record(None, (*found, nothing)[:1])
    rows = np.array([note.row(layers.index(note.layer))[:-1] for note in notes], dtype=np.int64)
    try:
        table = checked_table(rows)
    except MelodyError as error:
        return Record(None, (Problem("notes out of range", "notes that can be played", str(error), record=staff.name),))
    start = staff.start
    melody = Melody(
        table,
        title=about.get("title"),
        composer=about.get("composer"),
        voice=staff.name or None,
        key=start.key,
        metre=start.metre,
        text=staff.words() or None,
        notation=notation,
        clef=start.clef,
        key_signature=start.key_signature,
        barlines_ticks=np.array([round(bar * TICKS_PER_QUARTER) for bar in staff.barlines], dtype=np.int64),
        changes=tuple(_changes(staff)),
        extra={"staff": staff.number},
    )
    return Record(melody, found)


def _changes(staff: _Staff) -> Iterator[SignatureChange]:
    for onset in sorted(staff.changes):
        yield SignatureChange(round(onset * TICKS_PER_QUARTER), **staff.changes[onset])


def _about(document: Element) -> dict[str, str]:
    """Title and composer, from wherever the header has them."""
    head = next(document.iter("meiHead"), None)
    if head is None:
        return {}
    found: dict[str, str] = {}
    for element in head.iter("title", "composer", "persName", "name", "creator"):
        composer = element.tag == "composer" or element.get("role") in ("composer", "cmp", "creator")
        kind = "title" if element.tag == "title" else "composer" if composer else ""
        text = element.all_text()
        if kind and text and kind not in found:
            found[kind] = text
    return found


# Staves


@dataclass(slots=True)
class _Signatures:
    """What stands at the start of a staff, in the spelling of Plaine & Easie (as everywhere in Roslin)."""

    clef: str | None = None
    key_signature: str | None = None
    metre: str | None = None
    key: str | None = None


@dataclass(slots=True)
class _Staff:
    number: str
    name: str = ""
    notes: list[ScoreNote] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    barlines: list[Fraction] = field(default_factory=list)
    changes: dict[Fraction, dict[str, str]] = field(default_factory=dict)
    syllables: list[str] = field(default_factory=list)
    start: _Signatures = field(default_factory=_Signatures)
    now: _Signatures = field(default_factory=_Signatures)
    bar_quarters: Fraction = Fraction(4)
    beat_quarters: Fraction = Fraction(1)
    key_alterations: dict[int, int] = field(default_factory=dict)
    bar_alterations: dict[int, int] = field(default_factory=dict)
    last_alterations: dict[int, int] = field(default_factory=dict)
    transposition: tuple[int, int | None] = (0, None)
    declared_ppq: Fraction | None = None
    ppq: Fraction | None = None
    ppq_in_doubt: bool = False
    default_duration: str = ""
    default_octave: str = ""
    last_bar: dict[int, tuple[Fraction, Fraction, list[ScoreNote]]] = field(default_factory=dict)

    def layers(self) -> list[int]:
        """The numbers of the voices with notes, in order."""
        return sorted({note.layer for note in self.notes})

    def words(self) -> str:
        """The text that is sung: syllables of one word end in a hyphen as long as it goes on."""
        return " ".join(self.syllables).replace("- ", "").rstrip("-")

    def sign(self, onset: Fraction, name: str, value: str | None) -> None:
        """A clef, key signature or metre from here on."""
        if value is None or getattr(self.now, name) == value:
            return
        setattr(self.now, name, value)
        if onset == 0 and not self.notes:
            setattr(self.start, name, value)
        else:
            self.changes.setdefault(onset, {})[name] = value

    def warn(self, element: Element, reason: str, expected: str, found: str) -> None:
        self.problems.append(Problem(reason, expected, found, element.column, line=element.line))


def _settle_ppq(staff: _Staff, bar: Element) -> None:
    """What @dur.ppq counts in, after a new @ppq.

    Programs write the @ppq of one part for all of them. What the written lengths in the bar say is believed: the unit
    that held before, the new one, or the one most notes have.
    """
    votes: Counter[Fraction] = Counter()
    for element in bar.iter("note", "chord", "rest", "space"):
        written, pulses = _QUARTERS.get(element.get("dur")), element.get("dur.ppq")
        if written is not None and pulses.isdecimal() and int(pulses):
            votes[Fraction(int(pulses)) / (written * _dots(element.get("dots")))] += 1
    if not votes:
        return
    known = [unit for unit in (staff.ppq, staff.declared_ppq) if unit in votes]
    staff.ppq = known[0] if known else votes.most_common(1)[0][0]
    staff.ppq_in_doubt = False


# Scores


@dataclass(slots=True)
class _Controls:
    """What a score says about its notes from outside: by their ids."""

    tied: dict[str, str] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    tuplet_starts: dict[str, Fraction] = field(default_factory=dict)
    tuplet_ends: set[str] = field(default_factory=set)
    octave_starts: dict[str, tuple[int, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, score: Element) -> _Controls:
        controls = cls()
        for element in score.iter("tie", "tupletSpan", "octave"):
            start, end = element.get("startid").lstrip("#"), element.get("endid").lstrip("#")
            if element.tag == "tie":
                if start:
                    controls.tied[start] = end
                if end:
                    controls.held.add(end)
            elif start and end and element.tag == "tupletSpan":
                controls.tuplet_starts[start] = _ratio(element)
                controls.tuplet_ends.add(end)
            elif start and end:
                octaves = {"8": 1, "15": 2, "22": 3}.get(element.get("dis"), 1)
                controls.octave_starts[start] = (-octaves if element.get("dis.place") == "below" else octaves, end)
        return controls


class _Score:
    """One score: its staves fill while it is read."""

    def __init__(
        self, element: Element, selection: Selection, notation: str, sounding: Callable[[str], Pitch | None] | None
    ):
        self.element = element
        self.selection = selection
        self.staves: dict[str, _Staff] = {}
        self.controls = _Controls.of(element)
        self.sounding = sounding
        told = (e for e in element.iter("note", "accid") if "accid.ges" in e.attributes)
        # MusicXML tells the alteration of every note: a note without one has none.
        self.infer_accidentals = notation != "musicxml" and next(told, None) is None
        self.time = Fraction(0)
        self.bars = 0

    def staves_in_order(self) -> list[_Staff]:
        return list(self.staves.values())

    def read(self) -> None:
        self._section(self.element)

    def staff(self, number: str) -> _Staff:
        if number not in self.staves:
            self.staves[number] = _Staff(number)
        return self.staves[number]

    def _section(self, section: Element) -> None:
        for child in section.children:
            if child.tag == "measure":
                self._bar(child)
            elif child.tag == "scoreDef":
                self._score_definition(child)
            elif child.tag == "staffDef":
                self._staff_definition(child, "")
            elif child.tag == "staff":
                self._bar(section)  # no bars: everything in the section is one stretch of time
                return
            elif child.tag in ("app", "choice", "subst"):
                for chosen in _chosen(child):
                    self._section(chosen)
            elif child.tag in _SECTIONS:
                self._section(child)

    def _score_definition(self, definition: Element) -> None:
        for element, label in _staff_definitions(definition, ""):
            self._staff_definition(element, label)
        for staff in self.staves.values():
            self._define(staff, definition)

    def _staff_definition(self, definition: Element, label: str) -> None:
        staff = self.staff(definition.get("n") or str(len(self.staves) + 1))
        staff.name = staff.name or _label(definition) or label
        self._define(staff, definition)

    def _define(self, staff: _Staff, definition: Element) -> None:
        """Clef, key, metre, transposition and units, from attributes and from elements inside."""
        for child in definition.children:
            self._signature(staff, child, self.time)
            if child.tag == "meterSigGrp":
                for inner in child.children[:1]:
                    self._signature(staff, inner, self.time)
        get = definition.get
        clef = _clef(get("clef.shape"), get("clef.line"), get("clef.dis"), get("clef.dis.place"))
        staff.sign(self.time, "clef", clef)
        if (signature := get("key.sig") or get("keysig")) and signature != "mixed":
            _set_key(staff, self.time, signature, get("key.mode"), definition)
        _set_metre(staff, self.time, get("meter.count"), get("meter.unit"), get("meter.sym"), definition)
        if (semitones := _integer(get("trans.semi"))) is not None:
            staff.transposition = (semitones, _integer(get("trans.diat")))
        if (pulses := _integer(get("ppq"))) is not None and pulses > 0:
            staff.declared_ppq = Fraction(pulses)
            staff.ppq_in_doubt = staff.ppq is not None and staff.ppq != pulses
            staff.ppq = staff.ppq or staff.declared_ppq
        staff.default_duration = get("dur.default") or staff.default_duration
        staff.default_octave = get("oct.default") or staff.default_octave

    def _signature(self, staff: _Staff, element: Element, onset: Fraction) -> None:
        get = element.get
        if element.tag == "clef":
            staff.sign(onset, "clef", _clef(get("shape"), get("line"), get("dis"), get("dis.place")))
        elif element.tag == "keySig":
            _set_key(staff, onset, get("sig"), get("mode"), element)
        elif element.tag == "meterSig":
            _set_metre(staff, onset, get("count"), get("unit"), get("sym"), element)

    def _bar(self, bar: Element) -> None:
        lengths: list[Fraction] = []
        rests: list[Fraction] = []
        for element in _staves_in(bar):
            staff = self.staff(element.get("n") or "1")
            staff.bar_alterations = {}
            if staff.ppq_in_doubt:
                _settle_ppq(staff, element)
            for place, layer in enumerate(_layers_in(element), start=1):
                walk = _LayerWalk(self, staff, _integer(layer.get("n")) or place)
                walk.read(layer)
                lengths.append(walk.time - self.time)
                rests.append(walk.rest_quarters)
        self.bars += 1
        self.time += max(lengths, default=Fraction(0)) or max(rests, default=Fraction(0))
        if bar.tag == "measure" and bar.get("right") != "invis" and self.time > 0:
            for staff in self.staves.values():
                staff.barlines.append(self.time)


class _LayerWalk:
    """One voice of one bar: time starts at the bar line and moves with every note, rest and space."""

    def __init__(self, score: _Score, staff: _Staff, layer: int):
        self.score, self.staff, self.layer = score, staff, layer
        self.start = self.time = score.time
        self.rest_quarters = Fraction(0)
        self.ratio = Fraction(1)
        self.in_grace_group = False
        self.octaves = 0
        self._octaves_until = ""
        self._notes: list[ScoreNote] = []

    def read(self, layer: Element) -> None:
        for child in layer.children:
            self._event(child)
        for note in self._notes:
            note.starts_bar, note.ends_bar = note.onset == self.start, note.end == self.time
        if self._notes or self.time > self.start:
            self.staff.last_bar[self.layer] = (self.start, self.time - self.start, self._notes)

    def _event(self, element: Element) -> None:
        tag = element.tag
        if tag in _MENSURAL or element.get("dur") in _MENSURAL:
            raise NotationError(
                Problem("mensural or neume notation", "common notation", f"<{tag}>", element.column, line=element.line)
            )
        id = element.get("xml:id")
        if id in self.score.controls.tuplet_starts:
            self.ratio = self.score.controls.tuplet_starts[id]
        handler = _EVENTS.get(tag)
        if handler is not None:
            handler(self, element)
        elif tag in _READ_THROUGH:
            self._inside(element)
        if id in self.score.controls.tuplet_ends:
            self.ratio = Fraction(1)

    def _inside(self, element: Element) -> None:
        for child in element.children:
            self._event(child)

    def _variants(self, element: Element) -> None:
        for chosen in _chosen(element):
            self._inside(chosen)

    def _grace_group(self, element: Element) -> None:
        self.in_grace_group = True
        self._inside(element)
        self.in_grace_group = False

    def _tuplet(self, element: Element) -> None:
        self._scaled(element, _ratio(element))

    def _tremolo(self, element: Element) -> None:
        """Two notes in alternation: each is written with the length of both together."""
        self._scaled(element, Fraction(1, 2))

    def _scaled(self, element: Element, ratio: Fraction) -> None:
        outside, self.ratio = self.ratio, self.ratio * ratio
        self._inside(element)
        self.ratio = outside

    def _signature(self, element: Element) -> None:
        self.score._signature(self.staff, element, self.time)

    def _rest(self, element: Element) -> None:
        if "grace" not in element.attributes and not self.in_grace_group:
            self.time += self._length(element) or 0

    def _bar_rest(self, element: Element) -> None:
        bars = (_integer(element.get("num")) or 1) if element.tag == "multiRest" else 1
        self.rest_quarters = self.staff.bar_quarters * min(max(bars, 1), 10_000)

    def _repeated_bar(self, _element: Element) -> None:
        start, length, notes = self.staff.last_bar.get(self.layer, (self.start, Fraction(0), []))
        if not notes:
            self.rest_quarters = length or self.staff.bar_quarters
            return
        for note in notes:
            copy = ScoreNote(
                note.onset - start + self.start, note.duration, note.pitch, self.layer, is_grace=note.is_grace
            )
            self._add(copy)
        self.time = self.start + length

    def _unread_repeat(self, element: Element) -> None:
        self.staff.warn(element, "repeat sign that is not played out", "notes", f"<{element.tag}>")
        beats = {"beatRpt": self.staff.beat_quarters, "halfmRpt": self.staff.bar_quarters / 2}
        self.time += beats.get(element.tag, self.staff.bar_quarters)

    def _chord(self, element: Element) -> None:
        length = self._length(element)
        members = list(element.iter("note"))
        grace = self._is_grace(element) or any("grace" in note.attributes for note in members)
        lengths = [self._length(note, quiet=True) if length is None else length for note in members]
        taken = length if length is not None else max((one for one in lengths if one), default=None)
        if taken is None:
            self.staff.warn(element, "chord without a length", "@dur", "none")
            return
        self._octave_line(element.get("xml:id"))
        for note in members:
            own = self._length(note, quiet=True) if "dur" in note.attributes else taken
            self._note(note, own or taken, grace, chord=element)
        self._words(element)
        if not grace:
            self.time += taken

    def _single(self, element: Element) -> None:
        grace = self._is_grace(element)
        length = self._length(element)
        if length is None:
            if "pname" in element.attributes and not grace:
                self.staff.warn(element, "note without a length", "@dur", "none")
                return
            length = Fraction(0)
        self._note(element, length, grace, chord=None)
        self._words(element)
        if not grace:
            self.time += length

    def _is_grace(self, element: Element) -> bool:
        return self.in_grace_group or "grace" in element.attributes

    def _note(self, element: Element, length: Fraction, grace: bool, chord: Element | None) -> None:
        id = element.get("xml:id")
        self._octave_line(id)
        ties = element.get("tie") or (chord.get("tie") if chord is not None else "")
        controls = self.score.controls
        held = id in controls.held or "m" in ties or "t" in ties
        pitch = self._pitch(element, held)
        if pitch is None:
            return
        tied = id in controls.tied or "m" in ties or "i" in ties
        note = ScoreNote(self.time, length, pitch, self.layer, grace, id, tied, held, controls.tied.get(id, ""))
        if not grace and not length:
            self.staff.warn(element, "note without a length", "@dur", "none")
            return
        self._add(note)
        if id and id == self._octaves_until:
            self.octaves, self._octaves_until = 0, ""

    def _add(self, note: ScoreNote) -> None:
        note.bar = self.score.bars
        self._notes.append(note)
        self.staff.notes.append(note)

    def _octave_line(self, id: str) -> None:
        if id and id in self.score.controls.octave_starts:
            self.octaves, self._octaves_until = self.score.controls.octave_starts[id]

    def _pitch(self, element: Element, held: bool) -> Pitch | None:
        letter = _LETTERS.get(element.get("pname").lower())
        if letter is None:
            return None  # percussion, tablature
        semitones, steps = self.staff.transposition
        written = self.score.selection.written_pitch
        known = self.score.sounding(element.get("xml:id")) if self.score.sounding else None
        if known is not None:
            back = -steps if steps is not None else None
            return known.moved(-semitones, back) if written and (semitones or steps) else known
        sounding_octave = _integer(element.get("oct.ges"))
        octave = _integer(element.get("oct") or self.staff.default_octave)
        if sounding_octave is None and octave is not None:
            sounding_octave = octave + self.octaves
        if sounding_octave is None or not -1 <= sounding_octave <= 12:
            self.staff.warn(element, "note without an octave", "@oct from 0 to 9", repr(element.get("oct")))
            return None
        step = 7 * sounding_octave + letter
        pitch = Pitch(step, self._alteration(element, step, held))
        if not written and (semitones or steps):
            pitch = pitch.moved(semitones, steps)
        if not 0 <= pitch.midi <= 127:
            self.staff.warn(element, "pitch out of range", "a MIDI pitch from 0 to 127", str(pitch.midi))
            return None
        return pitch

    def _alteration(self, element: Element, step: int, held: bool) -> int:
        places = [element, *(child for child in element.children if child.tag == "accid")]
        for name in ("accid.ges", "accid"):
            for place in places:
                if sign := place.get(name):
                    return self._remember(step, self._sign(place, sign))
        if not self.score.infer_accidentals:
            return 0
        if held and step in self.staff.last_alterations:
            return self.staff.last_alterations[step]
        key = self.staff.key_alterations.get(step % 7, 0)
        alteration = self.staff.last_alterations[step] = self.staff.bar_alterations.get(step, key)
        return alteration

    def _remember(self, step: int, alteration: int) -> int:
        self.staff.bar_alterations[step] = self.staff.last_alterations[step] = alteration
        return alteration

    def _sign(self, element: Element, sign: str) -> int:
        if sign in _ALTERATIONS:
            return _ALTERATIONS[sign]
        self.staff.warn(element, "accidental that is no semitone", "sharp, flat or natural", repr(sign[:20]))
        return _NEAREST.get(sign, 0)

    def _length(self, element: Element, *, quiet: bool = False) -> Fraction | None:
        """How long a note, chord, rest or space lasts, in quarters; None when nothing says it."""
        name = element.get("dur.ges") or element.get("dur") or self.staff.default_duration
        written = _QUARTERS.get(name)
        if name and written is None and not name.endswith(("p", "s", "r")) and not quiet:
            self.staff.warn(element, "unknown length", "@dur such as 4 or breve", repr(name[:20]))
        if written is not None:
            dots = element.get("dots.ges") or element.get("dots") or str(_dot_elements(element) or "")
            written *= _dots(dots)
            if not self._is_grace(element):
                written *= self.ratio
        pulses = _integer(element.get("dur.ppq"))
        if not pulses or pulses < 0 or self.staff.ppq is None or self._is_grace(element):
            return written
        played = Fraction(pulses) / self.staff.ppq
        # Less than a pulse apart: the program that wrote the pulses had to round a tuplet.
        if written is not None and abs(played - written) * self.staff.ppq < 1:
            return written
        return played

    def _words(self, element: Element) -> None:
        verse = element.first("verse")
        syllables = verse.children if verse is not None else [c for c in element.children if c.tag == "syl"]
        for syllable in syllables:
            if syllable.tag == "syl" and (text := syllable.all_text()):
                goes_on = syllable.get("wordpos") in ("i", "m") or syllable.get("con") == "d"
                self.staff.syllables.append(text.rstrip("-") + "-" if goes_on else text)
        if not syllables and (text := element.get("syl")):
            self.staff.syllables.append(text)


_EVENTS: dict[str, Callable[[_LayerWalk, Element], None]] = {
    "note": _LayerWalk._single,
    "chord": _LayerWalk._chord,
    "rest": _LayerWalk._rest,
    "space": _LayerWalk._rest,
    "mRest": _LayerWalk._bar_rest,
    "mSpace": _LayerWalk._bar_rest,
    "multiRest": _LayerWalk._bar_rest,
    "mRpt": _LayerWalk._repeated_bar,
    "mRpt2": _LayerWalk._unread_repeat,
    "multiRpt": _LayerWalk._unread_repeat,
    "beatRpt": _LayerWalk._unread_repeat,
    "halfmRpt": _LayerWalk._unread_repeat,
    "tuplet": _LayerWalk._tuplet,
    "fTrem": _LayerWalk._tremolo,
    "bTrem": _LayerWalk._inside,
    "graceGrp": _LayerWalk._grace_group,
    "app": _LayerWalk._variants,
    "choice": _LayerWalk._variants,
    "subst": _LayerWalk._variants,
    "clef": _LayerWalk._signature,
    "keySig": _LayerWalk._signature,
    "meterSig": _LayerWalk._signature,
}


# Small things


def _chosen(element: Element) -> list[Element]:
    """Of variants, the one that editors prefer, or the first."""
    preferred = element.first(*_PREFERRED)
    return [preferred] if preferred is not None else element.children[:1]


def _staff_definitions(definition: Element, label: str) -> Iterator[tuple[Element, str]]:
    """The staves that a definition names, each with the label of the group that it stands in."""
    for child in definition.children:
        if child.tag == "staffDef":
            yield child, label
        elif child.tag in ("staffGrp", "score") or child.tag in _READ_THROUGH:
            yield from _staff_definitions(child, _label(child) or label)


def _label(element: Element) -> str:
    label = element.first("label")
    return (label.all_text() if label is not None else "") or element.get("label")


def _staves_in(bar: Element) -> Iterator[Element]:
    for child in bar.children:
        if child.tag == "staff":
            yield child
        elif child.tag in ("app", "choice", "subst"):
            for chosen in _chosen(child):
                yield from _staves_in(chosen)
        elif child.tag == "ossia" or child.tag in _READ_THROUGH:
            yield from _staves_in(child)


def _layers_in(staff: Element) -> Iterator[Element]:
    for child in staff.children:
        if child.tag == "layer":
            yield child
        elif child.tag in ("app", "choice", "subst"):
            for chosen in _chosen(child):
                yield from _layers_in(chosen)
        elif child.tag == "ossia" or child.tag in _READ_THROUGH:
            yield from _layers_in(child)


def _integer(text: str) -> int | None:
    try:
        return int(text) if len(text) < 10 else None
    except ValueError:
        return None


def _dots(text: str) -> Fraction:
    dots = min(max(_integer(text) or 0, 0), 8)
    return 2 - Fraction(1, 2**dots)


def _dot_elements(element: Element) -> int:
    return sum(child.tag == "dot" for child in element.children)


def _ratio(element: Element) -> Fraction:
    """How much shorter notes in a tuplet are. Without @numbase, they take the time of the next lower power of two."""
    number = _integer(element.get("num")) or 3
    base = _integer(element.get("numbase"))
    if number < 1:
        return Fraction(1)
    if base is None or base < 1:
        base = 1 << max((number - 1).bit_length() - 1, 0)
    return Fraction(base, number)


def _clef(shape: str, line: str, displacement: str, place: str) -> str | None:
    if shape == "GG":
        return f"g-{line or 2}"
    if shape not in ("G", "C", "F") or line not in ("1", "2", "3", "4", "5"):
        return None
    return f"{'g' if shape == 'G' and displacement == '8' and place == 'below' else shape}-{line}"


def _set_key(staff: _Staff, onset: Fraction, signature: str, mode: str, element: Element) -> None:
    count = _integer(signature[:-1]) if signature[-1:] in ("s", "f") else 0
    sharps = signature.endswith("s")
    if signature and count is not None and 0 <= count <= 7:
        letters = (_SHARPS if sharps else _FLATS)[:count]
        alterations = dict.fromkeys(letters, 1 if sharps else -1)
    else:
        accidentals = [child for child in element.children if child.tag == "keyAccid"]
        if not accidentals:
            return
        alterations = {a.get("pname").upper(): _ALTERATIONS.get(a.get("accid"), 0) for a in accidentals}
        count = None
    staff.key_alterations = {_LETTERS[name.lower()]: value for name, value in alterations.items() if name in _SHARPS}
    signs = {1: "x", -1: "b"}
    text = ""
    for value, sign in signs.items():
        names = "".join(name for name, altered in alterations.items() if altered == value)
        text += sign + names if names else ""
    staff.sign(onset, "key_signature", text or ("n" if staff.now.key_signature else None))
    if onset == 0 and not staff.notes and staff.start.key is None:
        staff.start.key = _key_name(element, mode, count if sharps or count is None else -count)


def _key_name(element: Element, mode: str, fifths: int | None) -> str | None:
    """The key in words, where the mode is known: "D major", "F# minor"."""
    if not mode:
        return None
    if letter := element.get("pname") or element.get("key.pname"):
        accidental = element.get("accid") or element.get("key.accid")
        return letter.upper() + {"s": "#", "f": "b"}.get(accidental, "") + " " + mode
    place = None if fifths is None or mode not in _MODES else fifths + 7 + _MODES[mode]
    return f"{_MAJOR_KEYS[place]} {mode}" if place is not None and 0 <= place < len(_MAJOR_KEYS) else None


def _set_metre(staff: _Staff, onset: Fraction, count: str, unit: str, symbol: str, element: Element) -> None:
    if not (count and unit):
        count, unit = {"common": ("4", "4"), "cut": ("2", "2")}.get(symbol, ("", ""))
    beats = [_integer(number) for number in count.split("+")]
    value = _integer(unit)
    if not count or not value or value < 1 or any(number is None or number < 1 for number in beats):
        if count:
            staff.warn(element, "unreadable metre", "a metre such as 3/4", repr(f"{count}/{unit}"[:20]))
        return
    staff.beat_quarters = Fraction(4, value)
    staff.bar_quarters = staff.beat_quarters * sum(number or 0 for number in beats)
    staff.sign(onset, "metre", f"{count}/{unit}")
