"""A third witness for scores: the notes of a file from its own numbers, without verovio, MEI or music21.

MusicXML says how long everything lasts (<duration>), so onsets are sums. A bar is as long as the longest part in it,
rests for a whole bar aside. **kern is only counted: its onsets need a real reader. Ties are left alone: every written
note counts, grace notes too; cue notes and hidden notes are notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import zip_longest
from unittest import mock
from xml.etree import ElementTree

from roslin.notation.musicxml import unpacked
from roslin.notation.scores import decode_xml

_SEMITONES = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}


def ties_apart() -> AbstractContextManager[object]:
    """Within it, Roslin's readers of scores give every written note, as the other witnesses do: ties are not joined."""
    return mock.patch("roslin.notation.mei.records.merge_ties", list)


def written_notes(data: bytes, kind: str) -> int:
    """How many notes with a pitch a file has, tied ones one by one."""
    if kind == "kern":
        return sum(_kern_notes(data.decode("utf-8", "replace")))
    root = ElementTree.fromstring(decode_xml(unpacked(data)))
    if kind == "mei":
        return sum(1 for element in root.iter() if element.tag.endswith("}note") and "pname" in element.attrib)
    return sum(1 for note in root.iter("note") if note.find("pitch") is not None)


def _kern_notes(text: str) -> Iterator[int]:
    kinds: list[str] = []
    for line in text.splitlines():
        fields = line.split("\t")
        if line.startswith("**"):
            kinds = fields
        elif line.startswith("*"):
            kinds = _kinds_after(fields, kinds)
        elif line and line[0] not in "!=":
            for kind, token in zip(kinds, fields, strict=False):
                if kind == "**kern":
                    yield sum(1 for one in token.split() if re.search("[a-gA-G]", one) and "r" not in one)


def _kinds_after(fields: list[str], kinds: list[str]) -> list[str]:
    after: list[str] = []
    for place, (sign, kind) in enumerate(zip(fields, kinds, strict=False)):
        joined = sign == "*v" and place > 0 and fields[place - 1] == "*v"
        if sign != "*-" and not joined:
            after += [kind] * (2 if sign == "*^" else 1)
    return after


@dataclass(slots=True)
class Bar:
    """One bar of one part, in quarters; onsets count from its bar line. `rest`: of the rests for a whole bar."""

    notes: list[tuple[Fraction, int]] = field(default_factory=list)
    length: Fraction = Fraction(0)
    rest: Fraction = Fraction(0)
    bar_rests: int = 0


def bars_of_musicxml(data: bytes) -> list[list[Bar]]:
    """The bars of each part of a score written part by part."""
    root = ElementTree.fromstring(decode_xml(unpacked(data)))
    return [_bars(part) for part in root.iter("part")]


def onsets_of_musicxml(parts: list[list[Bar]]) -> Iterator[tuple[Fraction, int]]:
    """(onset in quarters, MIDI pitch as written) of every note of a score."""
    now = Fraction(0)
    for together in zip_longest(*parts, fillvalue=Bar()):
        for bar in together:
            yield from ((now + onset, pitch) for onset, pitch in bar.notes)
        now += max(bar.length for bar in together) or max(bar.rest for bar in together)


def drawn_ties(data: bytes) -> int:
    """Notes of a MusicXML file from which a tie is drawn (<tied>) that does not sound (<tie>)."""
    root = ElementTree.fromstring(decode_xml(unpacked(data)))
    return sum(
        any(tied.get("type") == "start" for tied in note.iter("tied"))
        and all(tie.get("type") != "start" for tie in note.findall("tie"))
        for note in root.iter("note")
    )


def _bars(part: ElementTree.Element) -> list[Bar]:
    divisions = Fraction(1)
    bars: list[Bar] = []
    for measure in part.iter("measure"):
        bar = Bar()
        bars.append(bar)
        now = start = Fraction(0)
        for element in measure:
            divisions = Fraction(element.findtext("divisions") or divisions)
            length = Fraction(element.findtext("duration") or 0) / divisions
            if element.tag == "backup":
                now -= length
            elif element.tag == "forward":
                now += length
            elif element.tag == "note":
                if element.find("chord") is None:
                    start, now = now, now + length
                _take(bar, element, start, now)
    return bars


def _take(bar: Bar, note: ElementTree.Element, start: Fraction, end: Fraction) -> None:
    pitch, rest = note.find("pitch"), note.find("rest")
    if rest is not None and (rest.get("measure") == "yes" or note.find("type") is None):
        bar.rest = max(bar.rest, end - start)
        bar.bar_rests += 1
        return
    bar.length = max(bar.length, end)
    if pitch is not None:
        octave, alter = int(pitch.findtext("octave") or 0), float(pitch.findtext("alter") or 0)
        midi = _SEMITONES[(pitch.findtext("step") or "").strip()] + 12 * (octave + 1) + int(alter)
        bar.notes.append((start, midi))
