"""Notes of a score in exact time and spelling, and the joining of tied ones.

Time is a `Fraction` of quarter notes until the very end, so that no rounding adds up. Pitch is a letter, an octave and
an alteration, so that spelling survives transposition.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from roslin.melody import TICKS_PER_QUARTER, base40_from_midi

_SEMITONES = (0, 2, 4, 5, 7, 9, 11)  # C D E F G A B above C
_BASE40 = (2, 8, 14, 19, 25, 31, 37)  # as in melody.base40_from_midi: C is 2 above a multiple of 40
_MOST_TOGETHER = 100  # notes of one pitch at one time among which the end of a tie is looked for
_USUAL_STEPS = (0, 1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 6)  # letters for 0 to 11 semitones


@dataclass(frozen=True, slots=True)
class Pitch:
    """A spelled pitch: `step` counts letters from C in octave 0 (middle C is 28), `alteration` semitones."""

    step: int
    alteration: int

    @property
    def midi(self) -> int:
        """60 is middle C."""
        octave, letter = divmod(self.step, 7)
        return 12 * (octave + 1) + _SEMITONES[letter] + self.alteration

    @property
    def base40(self) -> int:
        """162 is middle C. Beyond double sharps and flats there is no number: that of the usual spelling is taken."""
        octave, letter = divmod(self.step, 7)
        if abs(self.alteration) <= 2:
            return 40 * octave + _BASE40[letter] + self.alteration
        return int(base40_from_midi(self.midi))

    def moved(self, semitones: int, steps: int | None) -> Pitch:
        """Transposed by semitones and letters; without a number of letters, by those usual for the interval."""
        if steps is None:
            octaves, rest = divmod(abs(semitones), 12)
            steps = (7 * octaves + _USUAL_STEPS[rest]) * (1 if semitones >= 0 else -1)
        step = self.step + steps
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
