"""One <score> (or <part>) in the order of the document, bar by bar.

A bar is as long as its longest voice, so a pick-up bar is short by itself. A bar of rest in all voices has the length
of the metre. All staves stay together, even where one of them has too much or too little in a bar.

Of variants the lemma or what else editors prefer is taken, or else the first reading. Deleted music is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from roslin.melody import MAX_TICKS, TICKS_PER_QUARTER
from roslin.notation.mei.notes import (
    ALTERATIONS,
    LETTERS,
    MENSURAL,
    NEAREST,
    QUARTERS,
    Pitch,
    ScoreNote,
    Staff,
    define,
    dots,
    integer,
    ratio,
    settle_ppq,
    sign_in_music,
    signs_in,
)
from roslin.notation.record import Repeats, refusal
from roslin.notation.scores import MAX_DENOMINATOR, Element

VARIANTS = ("app", "choice", "subst")
READ_THROUGH = frozenset(
    {"add", "beam", "beamSpan", "corr", "damage", "expan", "ligature", "orig", "reg", "restore", "sic", "supplied"}
    | {"unclear"}
)
_PREFERRED = ("lem", "corr", "reg", "expan", "add")
MAX_STAVES = 500
_LEFT_OUT = frozenset({"del", "oStaff", "oLayer", "tabGrp", "annot"})
_SECTIONS = frozenset({"section", "ending", "ossia", "score"}) | READ_THROUGH


@dataclass(slots=True)
class Controls:
    """The elements of a score that refer to notes by their ids."""

    tied: dict[str, str] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    tuplet_starts: dict[str, Fraction] = field(default_factory=dict)
    tuplet_ends: set[str] = field(default_factory=set)
    octave_starts: dict[str, tuple[int, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, score: Element) -> Controls:
        controls = cls()
        for element in score.iter("tie", "tupletSpan", "octave"):
            start, end = element.get("startid").lstrip("#"), element.get("endid").lstrip("#")
            if element.tag == "tie":
                if start:
                    controls.tied[start] = end
                if end:
                    controls.held.add(end)
            elif start and end and element.tag == "tupletSpan":
                controls.tuplet_starts[start] = ratio(element)
                controls.tuplet_ends.add(end)
            elif start and end:
                octaves = {"8": 1, "15": 2, "22": 3}.get(element.get("dis"), 1)
                controls.octave_starts[start] = (-octaves if element.get("dis.place") == "below" else octaves, end)
        return controls


def _chosen(element: Element) -> list[Element]:
    preferred = element.first(*_PREFERRED)
    return [preferred] if preferred is not None else element.children[:1]


class LayerWalk:
    """One voice of one bar: time starts at the bar line and moves with every note, rest and space."""

    def __init__(self, score: Score, staff: Staff, layer: int):
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
        if tag in MENSURAL or element.get("dur") in MENSURAL:
            raise refusal("mensural or neume notation", "common notation", f"<{tag}>", element.line, element.column)
        id = element.get("xml:id")
        if id in self.score.controls.tuplet_starts:
            self.ratio = self.score.controls.tuplet_starts[id]
        if handler := _EVENTS.get(tag):
            handler(self, element)
        if id in self.score.controls.tuplet_ends:
            self.ratio = Fraction(1)

    def _inside(self, element: Element) -> None:
        for child in element.children:
            self._event(child)

    def _variants(self, element: Element) -> None:
        for reading in _chosen(element):
            self._inside(reading)

    def _grace_group(self, element: Element) -> None:
        self.in_grace_group = True
        self._inside(element)
        self.in_grace_group = False

    def _tuplet(self, element: Element) -> None:
        """A tuplet; or two notes in alternation, each written with the length of both together."""
        outside, self.ratio = self.ratio, self.ratio * (ratio(element) if element.tag == "tuplet" else Fraction(1, 2))
        self._inside(element)
        self.ratio = outside

    def _signature(self, element: Element) -> None:
        sign_in_music(self.staff, element, self.time)

    def _rest(self, element: Element) -> None:
        if "grace" not in element.attributes and not self.in_grace_group:
            self._advance(self._length(element) or Fraction(0))

    def _bar_rest(self, element: Element) -> None:
        bars = (integer(element.get("num")) or 1) if element.tag == "multiRest" else 1
        self.rest_quarters = self.staff.bar_quarters * min(max(bars, 1), 10_000)

    def _repeated_bar(self, element: Element) -> None:
        start, length, notes = self.staff.last_bar.get(self.layer, (self.start, Fraction(0), []))
        if not notes:
            self.rest_quarters = length or self.staff.bar_quarters
            return
        for repeats in (self.staff.repeats, self.score.repeats):
            repeats.add(len(notes), element.line, element.column)
        for note in notes:
            onset = note.onset - start + self.start
            self._add(ScoreNote(onset, note.duration, note.pitch, self.layer, note.is_grace))
        self.time = self.start + length

    def _unread_repeat(self, element: Element) -> None:
        self.staff.warn(element, "repeat sign that is not played out", "notes", f"<{element.tag}>")
        beats = {"beatRpt": self.staff.beat_quarters, "halfmRpt": self.staff.bar_quarters / 2}
        self.time += beats.get(element.tag, self.staff.bar_quarters)

    def _chord(self, element: Element) -> None:
        length = self._length(element)
        members = list(element.iter("note"))
        self.score.met.update(map(id, members))
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
            self._advance(taken)

    def _single(self, element: Element) -> None:
        self.score.met.add(id(element))
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
            self._advance(length)

    def _advance(self, length: Fraction) -> None:
        """Advance the time. A fraction with a useless denominator is rounded to the nearest tick."""
        self.time += length
        if self.time.denominator > MAX_DENOMINATOR:
            self.time = Fraction(round(self.time * TICKS_PER_QUARTER), TICKS_PER_QUARTER)

    def _is_grace(self, element: Element) -> bool:
        return self.in_grace_group or "grace" in element.attributes

    def _note(self, element: Element, length: Fraction, grace: bool, chord: Element | None) -> None:
        id = element.get("xml:id")
        self._octave_line(id)
        ties = element.get("tie") or (chord.get("tie") if chord is not None else "")
        controls = self.score.controls
        held = id in controls.held or "m" in ties or "t" in ties
        pitch = _pitch_of(element, self.staff, self.score, self.octaves, held)
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

    def _length(self, element: Element, *, quiet: bool = False) -> Fraction | None:
        """The length of a note, chord, rest or space in quarters; None if it is not given."""
        name = element.get("dur.ges") or element.get("dur") or self.staff.default_duration
        written = QUARTERS.get(name)
        if name and written is None and not name.endswith(("p", "s", "r")) and not quiet:
            self.staff.warn(element, "unknown length", "@dur such as 4 or breve", repr(name[:20]))
        if written is not None:
            as_elements = sum(child.tag == "dot" for child in element.children)
            written *= dots(element.get("dots.ges") or element.get("dots") or str(as_elements or ""))
            if not self._is_grace(element):
                written *= self.ratio
        pulses = integer(element.get("dur.ppq"))
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


_EVENTS: dict[str, Callable[[LayerWalk, Element], None]] = {
    "note": LayerWalk._single,
    "chord": LayerWalk._chord,
    **dict.fromkeys(("rest", "space"), LayerWalk._rest),
    **dict.fromkeys(("mRest", "mSpace", "multiRest"), LayerWalk._bar_rest),
    "mRpt": LayerWalk._repeated_bar,
    **dict.fromkeys(("mRpt2", "multiRpt", "beatRpt", "halfmRpt"), LayerWalk._unread_repeat),
    **dict.fromkeys(("tuplet", "fTrem"), LayerWalk._tuplet),
    **dict.fromkeys(("bTrem", *READ_THROUGH), LayerWalk._inside),
    "graceGrp": LayerWalk._grace_group,
    **dict.fromkeys(VARIANTS, LayerWalk._variants),
    **dict.fromkeys(("clef", "keySig", "meterSig"), LayerWalk._signature),
}


_UNPITCHED = frozenset({"loc", "tab.course", "tab.fret", "tab.line", "tab.string"})  # percussion, tablature


def _pitch_of(element: Element, staff: Staff, score: Score, octaves: int, held: bool) -> Pitch | None:
    """The pitch, written or sounding as the score is read; None for a note without one, or with one out of range."""
    letter = LETTERS.get(element.get("pname").lower())
    if letter is None:
        if score.tells_notes and not (staff.is_unpitched or _UNPITCHED.intersection(element.attributes)):
            found = repr(element.get("pname")[:20]) if element.get("pname") else "none"
            staff.warn(element, "note without a name", "@pname from a to g", found)
        return None
    semitones, steps = staff.transposition
    written = score.written_pitch
    known = score.sounding(element.get("xml:id")) if score.sounding else None
    if known is not None:
        back = -steps if steps is not None else None
        return known.moved(-semitones, back) if written and (semitones or steps) else known
    sounding_octave = integer(element.get("oct.ges"))
    octave = integer(element.get("oct") or staff.default_octave)
    if sounding_octave is None and octave is not None:
        sounding_octave = octave + octaves
    if sounding_octave is None or not -1 <= sounding_octave <= 12:
        staff.warn(element, "note without an octave", "@oct from 0 to 9", repr(element.get("oct")))
        return None
    step = 7 * sounding_octave + letter
    pitch = Pitch(step, _alteration(element, staff, score, step, held))
    if not written and (semitones or steps):
        pitch = pitch.moved(semitones, steps)
    if not 0 <= pitch.midi <= 127:
        staff.warn(element, "pitch out of range", "a MIDI pitch from 0 to 127", str(pitch.midi))
        return None
    return pitch


def _alteration(element: Element, staff: Staff, score: Score, step: int, held: bool) -> int:
    places = [element, *(child for child in element.children if child.tag == "accid")]
    for name in ("accid.ges", "accid"):
        for place in places:
            if sign := place.get(name):
                if sign not in ALTERATIONS:
                    staff.warn(place, "accidental that is no semitone", "sharp, flat or natural", repr(sign[:20]))
                alteration = ALTERATIONS.get(sign, NEAREST.get(sign, 0))
                staff.bar_alterations[step] = staff.last_alterations[step] = alteration
                return alteration
    if not score.infers_accidentals:
        return 0
    if held and step in staff.last_alterations:
        return staff.last_alterations[step]
    key = staff.key_alterations.get(step % 7, 0)
    alteration = staff.last_alterations[step] = staff.bar_alterations.get(step, key)
    return alteration


# Scores, bar by bar


def movements(document: Element) -> Iterator[list[Element]]:
    """The score of each movement; where it has none, its separate parts."""
    for movement in document.iter("mdiv", "music"):
        if movement.tag == "music" and movement.first("body") is not None:
            continue
        score = movement.first("score")
        if score is not None:
            yield [score]
        else:
            yield [part for parts in movement.children if parts.tag == "parts" for part in parts.children]


def _staff_definitions(definition: Element, group_label: str) -> Iterator[tuple[Element, str]]:
    """The staves that a definition names, each with the label of its group."""
    for child in definition.children:
        if child.tag == "staffDef":
            yield child, group_label
        elif child.tag in ("staffGrp", "score") or child.tag in READ_THROUGH:
            yield from _staff_definitions(child, _label(child) or group_label)


def _label(element: Element) -> str:
    inside = element.first("label")
    return (inside.all_text() if inside is not None else "") or element.get("label")


def _parts_in(element: Element, tag: str) -> Iterator[Element]:
    """The staves of a bar, or the layers of a staff; of an ossia the main staff (the other is an <oStaff>)."""
    for child in element.children:
        if child.tag == tag:
            yield child
        elif child.tag in VARIANTS:
            for reading in _chosen(child):
                yield from _parts_in(reading, tag)
        elif child.tag == "ossia" or child.tag in READ_THROUGH:
            yield from _parts_in(child, tag)


class Score:
    """One score: its staves fill while it is read.

    `sounding` gives the pitch of a note by its id, where the source knows better than the MEI that was made from it.
    `repeats` counts for the whole file.
    """

    def __init__(
        self,
        element: Element,
        notation: str,
        repeats: Repeats,
        *,
        written_pitch: bool,
        sounding: Callable[[str], Pitch | None] | None,
    ):
        self.element, self.written_pitch, self.sounding, self.repeats = element, written_pitch, sounding, repeats
        self.controls = Controls.of(element)
        self.staves: dict[str, Staff] = {}
        told = (e for e in element.iter("note", "accid") if "accid.ges" in e.attributes)
        # MusicXML has the alteration of every note: a note without one has none. In other scores, the key and the
        # printed accidentals define how the notes sound unless they are told.
        self.infers_accidentals = notation != "musicxml" and next(told, None) is None
        # What is made of another notation has been checked there.
        self.tells_notes = notation == "mei"
        self.met: set[int] = set()  # the notes that were reached (by `id`), read or reported
        self.time = Fraction(0)
        self.bars = 0

    def read(self) -> list[Staff]:
        self._section(self.element)
        if self.tells_notes:
            self._tell_what_was_not_met(self.element, "1")
        return list(self.staves.values())

    def _tell_what_was_not_met(self, element: Element, number: str) -> None:
        """Notes where none are looked for, such as beside the layers of a staff; not those of other variants."""
        if element.tag == "note":
            if id(element) not in self.met:
                where = "a note in a layer, a chord, a beam or a tuplet"
                self._staff(number, element).warn(element, "note in an unexpected place", where, "elsewhere")
        elif element.tag in VARIANTS:
            for reading in _chosen(element):
                self._tell_what_was_not_met(reading, number)
        elif element.tag not in _LEFT_OUT:
            number = element.get("n") or number if element.tag == "staff" else number
            for child in element.children:
                self._tell_what_was_not_met(child, number)

    def _staff(self, number: str, element: Element) -> Staff:
        if number not in self.staves:
            if len(self.staves) >= MAX_STAVES:
                raise refusal("too many staves", f"at most {MAX_STAVES}", "more", element.line, element.column)
            self.staves[number] = Staff(number)
        return self.staves[number]

    def _section(self, section: Element) -> None:
        for child in section.children:
            if child.tag == "measure":
                self._bar(child)
            elif child.tag == "scoreDef":
                for element, group_label in _staff_definitions(child, ""):
                    self._staff_definition(element, group_label)
                signs = signs_in(child)
                for staff in self.staves.values():
                    define(staff, child, signs, self.time)
            elif child.tag == "staffDef":
                self._staff_definition(child, "")
            elif child.tag == "staff":
                self._bar(section)  # no bars: everything in the section is one stretch of time
                return
            elif child.tag in VARIANTS:
                for reading in _chosen(child):
                    self._section(reading)
            elif child.tag in _SECTIONS:
                self._section(child)

    def _staff_definition(self, definition: Element, group_label: str) -> None:
        staff = self._staff(definition.get("n") or str(len(self.staves) + 1), definition)
        staff.name = staff.name or _label(definition) or group_label
        define(staff, definition, signs_in(definition), self.time)

    def _bar(self, bar: Element) -> None:
        lengths: list[Fraction] = []
        rests: list[Fraction] = []
        for element in _parts_in(bar, "staff"):
            staff = self._staff(element.get("n") or "1", element)
            staff.bar_alterations = {}
            if staff.ppq_in_doubt:
                settle_ppq(staff, element)
            for place, layer in enumerate(_parts_in(element, "layer"), start=1):
                walk = LayerWalk(self, staff, integer(layer.get("n")) or place)
                walk.read(layer)
                lengths.append(walk.time - self.time)
                rests.append(walk.rest_quarters)
        self.bars += 1
        self.time += max(lengths, default=Fraction(0)) or max(rests, default=Fraction(0))
        if self.time * TICKS_PER_QUARTER >= MAX_TICKS:
            expected = f"less than {MAX_TICKS // TICKS_PER_QUARTER} quarter notes"
            raise refusal("far too long", expected, "more", bar.line, bar.column)
        if bar.tag == "measure" and bar.get("right") != "invis" and self.time > 0:
            for staff in self.staves.values():
                staff.barlines.append(self.time)
