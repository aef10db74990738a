"""What a score says about its notes from outside, by their ids: ties, tuplets, octave lines; and how to take them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from roslin.notation.mei.notes import Pitch
from roslin.notation.mei.values import ratio
from roslin.notation.record import Repeats
from roslin.notation.scores import Element


@dataclass(slots=True)
class Controls:
    """What a score says about its notes from outside: by their ids."""

    tied: dict[str, str] = field(default_factory=dict)
    held: set[str] = field(default_factory=set)
    tuplet_starts: dict[str, Fraction] = field(default_factory=dict)
    tuplet_ends: set[str] = field(default_factory=set)
    octave_starts: dict[str, tuple[int, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, score: Element) -> Controls:
        """Those of a score."""
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


@dataclass(frozen=True, slots=True)
class Context:
    """What holds for every note of a score.

    `sounding` gives the pitch of a note by its id, where the source knows better than the MEI that was made from it;
    `infer_accidentals`: nothing in the score says how its notes sound but the key and what is printed. `tells_names`: a
    note without a name is a problem. `repeats` counts for the whole file. `met` are the notes that were come to (by
    `id`), read or told.
    """

    controls: Controls
    written_pitch: bool
    sounding: Callable[[str], Pitch | None] | None
    infer_accidentals: bool
    tells_names: bool
    repeats: Repeats
    met: set[int] = field(default_factory=set)
