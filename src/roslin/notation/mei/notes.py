"""Notes of a score in exact time and spelling, the values of MEI attributes that make them, and the joining of ties.

Time is a `Fraction` of quarter notes until the very end, so that no rounding adds up. Pitch is a letter, an octave and
an alteration, so that spelling survives transposition.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from roslin.melody import TICKS_PER_QUARTER, base40_from_midi
from roslin.melody.pitches import MOST_SIGNS, pitch_numbers, usual_steps
from roslin.notation.scores import Element

LETTERS = {letter: step for step, letter in enumerate("cdefgab")}

ALTERATIONS = {"s": 1, "f": -1, "ss": 2, "x": 2, "ff": -2, "xs": 3, "sx": 3, "ts": 3, "tf": -3, "n": 0}
ALTERATIONS |= {"nf": -1, "ns": 1}
# Quarter tones and the like: the nearest semitone, with a warning.
NEAREST = {"su": 1, "sd": 1, "fu": -1, "fd": -1, "nu": 0, "nd": 0, "1qs": 0, "1qf": 0, "3qs": 1, "3qf": -1}

QUARTERS = {"maxima": Fraction(32), "long": Fraction(16), "breve": Fraction(8)}
QUARTERS |= {str(2**power): Fraction(4, 2**power) for power in range(12)}
MENSURAL = frozenset(
    {"longa", "brevis", "semibrevis", "minima", "semiminima", "fusa", "semifusa", "nc", "neume", "syllable", "mensur"}
)


def integer(text: str) -> int | None:
    """A whole number of at most nine digits."""
    try:
        return int(text) if len(text) < 10 else None
    except ValueError:
        return None


def dots(text: str) -> Fraction:
    """How much longer dots make a note; more than eight count as eight."""
    count = min(max(integer(text) or 0, 0), 8)
    return 2 - Fraction(1, 2**count)


def dot_elements(element: Element) -> int:
    """The dots that a note has as elements of their own."""
    return sum(child.tag == "dot" for child in element.children)


def ratio(element: Element) -> Fraction:
    """How much shorter notes in a tuplet are. Without @numbase, they take the time of the next lower power of two."""
    number = integer(element.get("num")) or 3
    base = integer(element.get("numbase"))
    if number < 1:
        return Fraction(1)
    if base is None or base < 1:
        base = 1 << max((number - 1).bit_length() - 1, 0)
    return Fraction(base, number)


_MOST_TOGETHER = 100  # notes of one pitch at one time among which the end of a tie is looked for


@dataclass(frozen=True, slots=True)
class Pitch:
    """A spelled pitch: `step` counts letters from C in octave 0 (middle C is 28), `alteration` semitones."""

    step: int
    alteration: int

    @property
    def midi(self) -> int:
        """60 is middle C."""
        return self._numbers()[0]

    @property
    def base40(self) -> int:
        """162 is middle C. Beyond double sharps and flats there is no number: that of the usual spelling is taken."""
        midi, base40 = self._numbers()
        return base40 if abs(self.alteration) <= MOST_SIGNS else int(base40_from_midi(midi))

    def _numbers(self) -> tuple[int, int]:
        octave, letter = divmod(self.step, 7)
        return pitch_numbers(letter, octave, self.alteration)

    def moved(self, semitones: int, steps: int | None) -> Pitch:
        """Transposed by semitones and letters; without a number of letters, by those usual for the interval."""
        step = self.step + (usual_steps(semitones) if steps is None else steps)
        return Pitch(step, self.midi + semitones - Pitch(step, 0).midi)


@dataclass(slots=True)
class ScoreNote:
    """A note of a staff; onset and duration in quarter notes.

    `tied`: a tie leaves it, to the note with the id `tied_to` where that is known; `held`: one arrives. `bar` counts
    bars from the start; `starts_bar` and `ends_bar`: it is the first or the last in its voice there.
    """

    onset: Fraction
    duration: Fraction
    pitch: Pitch
    layer: int
    is_grace: bool = False
    id: str = ""
    tied: bool = False
    held: bool = False
    tied_to: str = ""
    bar: int = 0
    starts_bar: bool = False
    ends_bar: bool = False

    @property
    def end(self) -> Fraction:
        """When it stops sounding."""
        return self.onset + self.duration

    def row(self, voice: int) -> tuple[int, int, int, int, bool, int, int]:
        """The row of a note table. Both ends are rounded, not the length: no error can grow."""
        onset, end = round(self.onset * TICKS_PER_QUARTER), round(self.end * TICKS_PER_QUARTER)
        length = max(end - onset, 0 if self.is_grace else 1)
        return (onset, length, self.pitch.midi, self.pitch.base40, self.is_grace, voice, 0)


def merge_ties(notes: list[ScoreNote]) -> list[ScoreNote]:
    """Join each tied note with the one that goes on: where it ends, at its pitch, with a tie arriving.

    Where no tie arrives, any note of the staff at that place and pitch will do, one of the same voice first: many files
    leave out the ends of ties. A voice that does not fill its bar leaves a gap before the next; a tie that names its
    end reaches over that. A tie over more (into a second ending) or to another pitch joins nothing: its notes stay two.
    """
    arriving: dict[tuple[Fraction, int], list[ScoreNote]] = {}
    named: dict[str, ScoreNote] = {}
    for note in notes:
        if not note.is_grace:
            together = arriving.setdefault((note.onset, note.pitch.midi), [])
            if len(together) < _MOST_TOGETHER:
                together.append(note)
            named[note.id] = note
    joined: set[int] = set()
    whole: dict[int, ScoreNote] = {}  # the first note of the chain that a held note has joined
    for note in sorted((n for n in notes if n.tied and not n.is_grace), key=lambda n: n.onset):
        following = [n for n in arriving.get((note.end, note.pitch.midi), ()) if id(n) not in joined]
        candidates = [n for n in following if n.held] or following
        if not candidates and note.tied_to in named and _goes_on(note, named[note.tied_to]):
            candidates = [n for n in (named[note.tied_to],) if id(n) not in joined]
        if candidates:
            target = min(candidates, key=lambda n: (n.id != note.tied_to, n.layer != note.layer))
            joined.add(id(target))
            whole[id(target)] = whole.get(id(note), note)
    for note in notes:
        if id(note) in joined:
            start = whole[id(note)]
            start.duration = max(start.duration, note.end - start.onset)
    return [note for note in notes if id(note) not in joined]


def _goes_on(note: ScoreNote, target: ScoreNote) -> bool:
    same = bool(target.id) and target.held and target.pitch.midi == note.pitch.midi
    return same and note.ends_bar and target.starts_bar and target.bar == note.bar + 1
