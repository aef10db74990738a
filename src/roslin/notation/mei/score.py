"""One <score> (or <part>) in the order of the document, bar by bar.

A bar is as long as its longest voice, so a pick-up bar is short by itself; a bar of rest everywhere is as long as the
metre says. All staves stay together, even where one of them has too much or too little in a bar.

Of variants the lemma or what else editors prefer is taken, or else the first reading. Deleted music is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

from roslin.melody import MAX_TICKS, TICKS_PER_QUARTER
from roslin.notation.mei.layer import READ_THROUGH, VARIANTS, Context, Controls, LayerWalk, chosen
from roslin.notation.mei.notes import Pitch, Staff, define, integer, settle_ppq, signs_in
from roslin.notation.record import Repeats
from roslin.notation.scores import Element, refusal

MAX_STAVES = 500
_LEFT_OUT = frozenset({"del", "oStaff", "oLayer", "tabGrp", "annot"})
_SECTIONS = frozenset({"section", "ending", "ossia", "score"}) | READ_THROUGH


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


def staff_definitions(definition: Element, group_label: str) -> Iterator[tuple[Element, str]]:
    """The staves that a definition names, each with the label of the group that it stands in."""
    for child in definition.children:
        if child.tag == "staffDef":
            yield child, group_label
        elif child.tag in ("staffGrp", "score") or child.tag in READ_THROUGH:
            yield from staff_definitions(child, label(child) or group_label)


def label(element: Element) -> str:
    """The name of a staff or of a group, from an element inside or an attribute."""
    inside = element.first("label")
    return (inside.all_text() if inside is not None else "") or element.get("label")


def parts_in(element: Element, tag: str) -> Iterator[Element]:
    """The staves of a bar, or the layers of a staff; of an ossia the main staff (the other is an <oStaff>)."""
    for child in element.children:
        if child.tag == tag:
            yield child
        elif child.tag in VARIANTS:
            for reading in chosen(child):
                yield from parts_in(reading, tag)
        elif child.tag == "ossia" or child.tag in READ_THROUGH:
            yield from parts_in(child, tag)


class Score:
    """One score: its staves fill while it is read."""

    def __init__(
        self,
        element: Element,
        notation: str,
        repeats: Repeats,
        *,
        written_pitch: bool,
        sounding: Callable[[str], Pitch | None] | None,
    ):
        self.element = element
        self.staves: dict[str, Staff] = {}
        told = (e for e in element.iter("note", "accid") if "accid.ges" in e.attributes)
        # MusicXML tells the alteration of every note: a note without one has none.
        infer = notation != "musicxml" and next(told, None) is None
        # What is made of another notation has been checked there.
        self.tells_notes = notation == "mei"
        self.context = Context(Controls.of(element), written_pitch, sounding, infer, self.tells_notes, repeats)
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
            if id(element) not in self.context.met:
                where = "a note in a layer, a chord, a beam or a tuplet"
                self._staff(number, element).warn(element, "note at a place that is not read", where, "elsewhere")
        elif element.tag in VARIANTS:
            for reading in chosen(element):
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
                self._score_definition(child)
            elif child.tag == "staffDef":
                self._staff_definition(child, "")
            elif child.tag == "staff":
                self._bar(section)  # no bars: everything in the section is one stretch of time
                return
            elif child.tag in VARIANTS:
                for reading in chosen(child):
                    self._section(reading)
            elif child.tag in _SECTIONS:
                self._section(child)

    def _score_definition(self, definition: Element) -> None:
        for element, group_label in staff_definitions(definition, ""):
            self._staff_definition(element, group_label)
        signs = signs_in(definition)
        for staff in self.staves.values():
            define(staff, definition, signs, self.time)

    def _staff_definition(self, definition: Element, group_label: str) -> None:
        staff = self._staff(definition.get("n") or str(len(self.staves) + 1), definition)
        staff.name = staff.name or label(definition) or group_label
        define(staff, definition, signs_in(definition), self.time)

    def _bar(self, bar: Element) -> None:
        lengths: list[Fraction] = []
        rests: list[Fraction] = []
        for element in parts_in(bar, "staff"):
            staff = self._staff(element.get("n") or "1", element)
            staff.bar_alterations = {}
            if staff.ppq_in_doubt:
                settle_ppq(staff, element)
            for place, layer in enumerate(parts_in(element, "layer"), start=1):
                walk = LayerWalk(self.context, staff, integer(layer.get("n")) or place, self.bars, self.time)
                walk.read(layer)
                lengths.append(walk.time - self.time)
                rests.append(walk.rest_quarters)
        self.bars += 1
        self.time += max(lengths, default=Fraction(0)) or max(rests, default=Fraction(0))
        if self.time * TICKS_PER_QUARTER >= MAX_TICKS:
            expected = f"less than {MAX_TICKS // TICKS_PER_QUARTER} quarter notes"
            raise refusal("longer than any music", expected, "more", bar.line, bar.column)
        if bar.tag == "measure" and bar.get("right") != "invis" and self.time > 0:
            for staff in self.staves.values():
                staff.barlines.append(self.time)
