"""What is known about a staff while the score goes by: its notes so far, its clef, key and metre, its unit of time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from roslin.errors import Problem
from roslin.notation.mei.notes import ScoreNote
from roslin.notation.mei.values import QUARTERS, dots, integer
from roslin.notation.record import MAX_PROBLEMS, Repeats
from roslin.notation.scores import Element


@dataclass(slots=True)
class Signatures:
    """What stands at the start of a staff, in the spelling of Plaine & Easie (as everywhere in Roslin)."""

    clef: str | None = None
    key_signature: str | None = None
    metre: str | None = None
    key: str | None = None


@dataclass(slots=True)
class Staff:
    """A staff: `start` is what stands at its head, `now` what holds where the reading is; times in quarters."""

    number: str
    name: str = ""
    notes: list[ScoreNote] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    barlines: list[Fraction] = field(default_factory=list)
    changes: dict[Fraction, dict[str, str]] = field(default_factory=dict)
    syllables: list[str] = field(default_factory=list)
    start: Signatures = field(default_factory=Signatures)
    now: Signatures = field(default_factory=Signatures)
    is_unpitched: bool = False  # percussion or tablature
    bar_quarters: Fraction = Fraction(4)
    beat_quarters: Fraction = Fraction(1)
    key_alterations: dict[int, int] = field(default_factory=dict)
    bar_alterations: dict[int, int] = field(default_factory=dict)
    last_alterations: dict[int, int] = field(default_factory=dict)
    transposition: tuple[int, int | None] = (0, None)
    declared_ppq: Fraction | None = None
    ppq: Fraction | None = None
    ppq_in_doubt: bool = False
    repeats: Repeats = field(default_factory=Repeats)  # from bars that are to be repeated
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
        """Remember a problem at the place of an element."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(reason, expected, found, element.column, line=element.line))


def settle_ppq(staff: Staff, bar: Element) -> None:
    """What @dur.ppq counts in, after a new @ppq.

    Programs write the @ppq of one part for all of them. What the written lengths in the bar say is believed: the unit
    that held before, the new one, or the one most notes have.
    """
    votes: Counter[Fraction] = Counter()
    for element in bar.iter("note", "chord", "rest", "space"):
        written, pulses = QUARTERS.get(element.get("dur")), integer(element.get("dur.ppq"))
        if written is not None and pulses is not None and pulses > 0:
            votes[Fraction(pulses) / (written * dots(element.get("dots")))] += 1
    if not votes:
        return
    known = [unit for unit in (staff.ppq, staff.declared_ppq) if unit in votes]
    staff.ppq = known[0] if known else votes.most_common(1)[0][0]
    staff.ppq_in_doubt = False
