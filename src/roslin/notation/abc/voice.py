"""One voice of a tune while it is read: what its signs mean in time and pitch.

Time is an integer number of ticks from the start of the tune. Notes are kept as written, tied notes apart, because
repeats may be played out later; `tables` merges ties. Inside a tuplet time is counted from the tuplet's start, so that
a tuplet that no integer divides (eleven, thirteen) still ends where it should.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from roslin.melody import SignatureChange, base40_from_midi
from roslin.notation.abc.fields import KeyField, MetreField, VoiceProperties

_SEMITONES = (0, 2, 4, 5, 7, 9, 11)
_BASE40 = (2, 8, 14, 19, 25, 31, 37)
# The usual interval of so many semitones in base-40 numbers: unison, minor second, major second, ... major seventh.
_BASE40_INTERVAL = (0, 5, 6, 11, 12, 17, 18, 23, 28, 29, 34, 35)


@dataclass(slots=True)
class AbcNote:
    """One note as written. `ties` says that a tie leads on from it."""

    onset: int
    duration: int
    pitch_midi: int
    pitch_base40: int
    is_grace: bool
    column: int
    ties: bool = False

    def moved(self, by: int) -> AbcNote:
        """The same note so many ticks later."""
        return AbcNote(
            self.onset + by, self.duration, self.pitch_midi, self.pitch_base40, self.is_grace, self.column, self.ties
        )


@dataclass(frozen=True, slots=True)
class Mark:
    """A sign that steers repeats: "start" |:, "end" :|, "ending" [1 (with its numbers), "double" || or |]."""

    time: int
    kind: str
    numbers: tuple[int, ...] = ()


def merged(first: SignatureChange, then: SignatureChange) -> SignatureChange:
    """Two changes as one, at the time of the second: it says more, or something else."""
    return SignatureChange(
        then.onset_ticks,
        first.clef if then.clef is None else then.clef,
        first.key_signature if then.key_signature is None else then.key_signature,
        first.metre if then.metre is None else then.metre,
    )


@dataclass(slots=True)
class Voice:
    """The state of one voice. `unit` is the unit note length in ticks."""

    name: str
    unit: int = 0
    key: KeyField = field(default_factory=KeyField)
    metre: MetreField = field(default_factory=MetreField)
    part: VoiceProperties = field(default_factory=VoiceProperties)
    propagation: str = "pitch"
    time: int = 0
    bar_start: int = 0
    notes: list[AbcNote] = field(default_factory=list)
    barlines: list[int] = field(default_factory=list)
    changes: list[SignatureChange] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    # Alterations that hold until the bar line: by (letter, octave), or by (letter, 0) when all octaves follow.
    bar_alterations: dict[tuple[int, int], int] = field(default_factory=dict)
    # Alterations of the notes from which a tie leads to the next one, by (letter, octave).
    tied: dict[tuple[int, int], int] = field(default_factory=dict)
    event: list[AbcNote] = field(default_factory=list)  # the last note or chord; empty after a rest
    event_steps: dict[tuple[int, int], int] = field(default_factory=dict)
    next_factor: tuple[int, int] = (1, 1)  # what a broken rhythm leaves to the next note
    tuplet_left: int = 0
    tuplet_ratio: tuple[int, int] = (1, 1)
    tuplet_start: int = 0
    tuplet_written: int = 0
    shift_octaves: int = 0
    transpose: int = 0
    first_key: KeyField = field(default_factory=KeyField)  # in force at the first note; later ones are changes
    first_metre: MetreField = field(default_factory=MetreField)

    def begin(self, unit: int, key: KeyField, metre: MetreField, propagation: str) -> None:
        """Start with what the header says."""
        said = self.part
        self.unit, self.propagation = unit, propagation
        self.key = self.first_key = key
        self.metre = self.first_metre = metre
        self.set_part(key.part)
        self.set_part(said)

    def follow(self, base: Voice) -> None:
        """Take key, lengths and shifts from the voice above."""
        self.unit, self.key, self.metre, self.propagation = base.unit, base.key, base.metre, base.propagation
        self.shift_octaves, self.transpose = base.shift_octaves, base.transpose
        self.bar_alterations.clear()
        self.time = max(self.time, base.bar_start)

    def set_part(self, part: VoiceProperties) -> None:
        """Take over what modifiers say, and keep what they do not mention."""
        said = {name: value for name in ("name", "clef", "clef_octaves", "octaves", "transpose")
                if (value := getattr(part, name)) is not None}  # fmt: skip
        if said:
            self.part = replace(self.part, **said)
            self.shift_octaves = (self.part.clef_octaves or 0) + (self.part.octaves or 0)
            self.transpose = self.part.transpose or 0

    def pitch(self, letter: int, octave: int, alteration: int | None) -> tuple[int, int, int]:
        """(MIDI number, base-40 number, alteration) of a letter from C = 0, with its accidental or without one."""
        place = (letter, octave if self.propagation == "octave" else 0)
        if alteration is not None:
            if self.propagation != "not":
                self.bar_alterations[place] = alteration
        else:
            alteration = self.tied.get((letter, octave))
            if alteration is None:
                alteration = self.bar_alterations.get(place)
            if alteration is None:
                alteration = self.key.alterations[letter]
        octave += self.shift_octaves
        midi = 12 * octave + 12 + _SEMITONES[letter] + alteration + self.transpose
        base40 = 40 * octave + _BASE40[letter] + alteration
        if self.transpose:
            octaves, semitones = divmod(self.transpose, 12)
            base40 += 40 * octaves + _BASE40_INTERVAL[semitones]
            if semitones and abs(alteration) > 1 and 0 <= midi <= 127:  # no such interval need exist above it
                base40 = int(base40_from_midi(midi))
        return midi, base40, alteration

    def advance(self, written: int) -> int:
        """Move on by a written length; gives how long that lasts in the tuplet, if there is one."""
        before = self.time
        if self.tuplet_left:
            self.tuplet_left -= 1
            self.tuplet_written += written
            shorter, usual = self.tuplet_ratio
            self.time = self.tuplet_start + (self.tuplet_written * usual * 2 + shorter) // (2 * shorter)
        else:
            self.time += written
        return self.time - before

    def start_tuplet(self, notes: int, in_time_of: int, count: int) -> None:
        """The next `count` notes: so many `notes` in the time of `in_time_of`."""
        self.tuplet_left, self.tuplet_ratio = count, (notes, in_time_of)
        self.tuplet_start, self.tuplet_written = self.time, 0

    def sound(self, chord: list[AbcNote], steps: dict[tuple[int, int], int], written: int) -> None:
        """Place a note or chord whose first note has a written length; the others keep theirs."""
        onset = self.time
        ratio = self.tuplet_ratio if self.tuplet_left else (1, 1)
        lasts = self.advance(written)
        for note in chord:
            note.onset = onset
            note.duration = max(1, lasts if note.duration == written else note.duration * ratio[1] // ratio[0])
        self.notes += chord
        self.event, self.event_steps, self.tied = chord, steps, {}

    def rest(self, written: int) -> None:
        """Silence."""
        self.advance(written)
        self.event, self.event_steps, self.tied = [], {}, {}

    def tie(self) -> bool:
        """Tie the last note or chord to what follows; False when there is none."""
        if len(self.tied) < len(
            self.event_steps
        ):  # otherwise a row of ties would go over all its notes again and again
            for note in self.event:
                note.ties = True
            self.tied = dict(self.event_steps)
        return bool(self.event)

    def bar(self) -> None:
        """A bar line: accidentals end here."""
        self.bar_alterations.clear()
        if self.time and (not self.barlines or self.barlines[-1] != self.time):
            self.barlines.append(self.time)
        self.bar_start = self.time

    def change(self, *, clef: str | None = None, key: KeyField | None = None, metre: MetreField | None = None) -> None:
        """A signature in the middle of the tune."""
        if key is not None:
            self.key = key
        if metre is not None:
            self.metre = metre
        if self.time or self.notes:
            signature = key.signature if key is not None else None
            new = SignatureChange(self.time, clef, signature, metre.text if metre is not None else None)
            if self.changes and self.changes[-1].onset_ticks == self.time:
                new = merged(self.changes.pop(), new)
            self.changes.append(new)
        else:
            self.first_key, self.first_metre = self.key, self.metre
