"""The voices of a tune: what signs mean in time and pitch, repeats played out, and the note table.

Time is an integer number of ticks from the start of the tune. Notes are kept as written, tied notes apart, because
repeats may be played out later; `note_table_of` merges ties. Inside a tuplet time is counted from the tuplet's start,
so that a tuplet that no integer divides (eleven, thirteen) still ends where it should. Repeats are worked out from the
marks of one voice as stretches of time; every voice, bar line and change of signature is copied by them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from roslin.melody import MAX_TICKS, NoteTable, SignatureChange, base40_from_midi, note_table
from roslin.melody.pitches import pitch_numbers
from roslin.notation.abc.fields import KeyField, MetreField, VoiceProperties
from roslin.notation.record import MAX_NOTES, Repeats, refusal

# The usual interval of each number of semitones in base-40 numbers: unison, minor second, major second, ... major
# seventh.
_BASE40_INTERVAL = (0, 5, 6, 11, 12, 17, 18, 23, 28, 29, 34, 35)


@dataclass(slots=True)
class AbcNote:
    """One note as written. `ties`: a tie starts at it."""

    onset: int
    duration: int
    pitch_midi: int
    pitch_base40: int
    is_grace: bool
    column: int
    ties: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A sign that steers repeats: "start" |:, "end" :|, "ending" [1 (with its numbers), "double" || or |]."""

    time: int
    kind: str
    numbers: tuple[int, ...] = ()


def merged(first: SignatureChange, then: SignatureChange) -> SignatureChange:
    """Two changes as one, at the time of the second, which has precedence."""
    said = {name: value for name in ("clef", "key_signature", "metre") if (value := getattr(then, name)) is not None}
    return replace(first, onset_ticks=then.onset_ticks, **said)


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

    def begin(self, header: Voice) -> None:
        said = self.part
        self.unit, self.propagation = header.unit, header.propagation
        self.key = self.first_key = header.key
        self.metre = self.first_metre = header.metre
        self.set_part(header.part)
        self.set_part(said)

    def follow(self, base: Voice) -> None:
        self.unit, self.key, self.metre, self.propagation = base.unit, base.key, base.metre, base.propagation
        self.shift_octaves, self.transpose = base.shift_octaves, base.transpose
        self.bar_alterations.clear()
        self.time = max(self.time, base.bar_start)

    def set_part(self, part: VoiceProperties) -> None:
        said = {name: value for name in ("name", "clef", "clef_octaves", "octaves", "transpose")
                if (value := getattr(part, name)) is not None}  # fmt: skip
        if said:
            self.part = replace(self.part, **said)
            self.shift_octaves = (self.part.clef_octaves or 0) + (self.part.octaves or 0)
            self.transpose = self.part.transpose or 0

    def pitch(self, letter: int, octave: int, alteration: int | None) -> tuple[int, int, int]:
        """(MIDI number, base-40 number, alteration) of a letter from C = 0, with its accidental or without one."""
        place = (letter, octave if self.propagation == "octave" else 0)
        if alteration is None:
            in_bar = self.bar_alterations.get(place, self.key.alterations[letter])
            alteration = self.tied.get((letter, octave), in_bar)
        elif self.propagation != "not":
            self.bar_alterations[place] = alteration
        octave += self.shift_octaves
        midi, base40 = pitch_numbers(letter, octave, alteration)
        if self.transpose:
            midi += self.transpose
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
        self.advance(written)
        self.event, self.event_steps, self.tied = [], {}, {}

    def tie(self) -> bool:
        """Tie the last note or chord to what follows; False when there is none."""
        if len(self.tied) < len(self.event_steps):  # else a row of ties would go over all its notes again and again
            for note in self.event:
                note.ties = True
            self.tied = dict(self.event_steps)
        return bool(self.event)

    def bar(self) -> None:
        self.bar_alterations.clear()
        if self.time and (not self.barlines or self.barlines[-1] != self.time):
            self.barlines.append(self.time)
        self.bar_start = self.time

    def change(self, *, clef: str | None = None, key: KeyField | None = None, metre: MetreField | None = None) -> None:
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


# Repeats, and the note table

Stretch = tuple[int, int]


class _Section:
    def __init__(self, start: int):
        self.start = start
        self.body_end: int | None = None
        self.endings: list[tuple[tuple[int, ...], int, int]] = []
        self.open: tuple[tuple[int, ...], int] | None = None

    def close(self, time: int) -> None:
        if self.open:
            numbers, start = self.open
            self.endings.append((numbers, start, time))
            self.open = None

    def begin_ending(self, numbers: tuple[int, ...], time: int) -> None:
        self.close(time)
        if self.body_end is None:
            self.body_end = time
        self.open = (numbers, time)

    def played(self, end: int, repeated: bool) -> list[Stretch]:
        self.close(end)
        if self.body_end is None:
            return [(self.start, end)] * (2 if repeated else 1)
        passes = max(max(numbers) for numbers, _, _ in self.endings)
        order: list[Stretch] = []
        for number in range(1, passes + 1):
            order.append((self.start, self.body_end))
            order += [(start, stop) for numbers, start, stop in self.endings if number in numbers]
        return order


def stretches(marks: list[Mark], end: int) -> list[Stretch]:
    """The stretches of a tune in the order in which they are played."""
    order: list[Stretch] = []
    section = _Section(0)
    for position, mark in enumerate(marks):
        if mark.kind == "ending":
            section.begin_ending(mark.numbers, mark.time)
            continue
        following = marks[position + 1] if position + 1 < len(marks) else None
        if mark.kind == "end" and section.open:
            section.close(mark.time)
            if following and following.kind == "ending" and following.time == mark.time:
                continue  # the next ending of the same section
        elif mark.kind == "double" and not section.open:
            continue  # only the end of an ending; any other double bar repeats nothing
        order += section.played(mark.time, repeated=mark.kind == "end")
        section = _Section(mark.time)
        if len(order) > MAX_NOTES:
            raise refusal("too many repeats", f"at most {MAX_NOTES} stretches to play")
    order += section.played(max(end, section.start), repeated=False)
    order = [(start, stop) for start, stop in order if stop > start]
    if sum(stop - start for start, stop in order) >= MAX_TICKS:
        raise refusal("far too long with its repeats")
    return order


def played(voice: Voice, order: list[Stretch], repeats: Repeats) -> list[AbcNote]:
    """The notes of a voice, copied in the order of play; those that are added are counted before they are made."""
    onsets = [note.onset for note in voice.notes]
    ranges = [(start, bisect_left(onsets, start), bisect_left(onsets, stop), stop) for start, stop in order]
    start, first, _, stop = ranges[-1]
    ranges[-1] = (start, first, bisect_right(onsets, stop), stop)  # grace notes after the last note
    repeats.add(max(0, sum(last - first for _, first, last, _ in ranges) - len(voice.notes)))
    notes: list[AbcNote] = []
    now = 0
    for start, first, last, stop in ranges:
        notes += [replace(note, onset=note.onset + now - start) for note in voice.notes[first:last]]
        now += stop - start
    return notes


def times_played(times: Iterable[int], order: list[Stretch]) -> list[int]:
    """Bar lines in the order of play. A bar line belongs to the stretch that it ends."""
    written, now, result = list(times), 0, []
    for start, stop in order:
        first, last = bisect_left(written, start + 1), bisect_left(written, stop + 1)
        result += [time - start + now for time in written[first:last]]
        now += stop - start
    return sorted(set(result))


def changes_played(
    changes: list[SignatureChange], first: SignatureChange, order: list[Stretch]
) -> list[SignatureChange]:
    """Changes of signature in the order of play; a jump back to what stood before restores it."""
    onsets, states = [change.onset_ticks for change in changes], [first]
    for change in changes:
        states.append(merged(states[-1], change))
    result: list[SignatureChange] = []
    now, state = 0, first
    for start, stop in order:
        before, last = bisect_right(onsets, start), bisect_left(onsets, stop)
        wanted = states[before]
        if (wanted.clef, wanted.key_signature, wanted.metre) != (state.clef, state.key_signature, state.metre):
            result.append(replace(wanted, onset_ticks=now))
        result += [replace(change, onset_ticks=change.onset_ticks + now - start) for change in changes[before:last]]
        state = states[max(before, last)]
        now += stop - start
    return result


def note_table_of(voices: list[list[AbcNote]]) -> NoteTable:
    """The note table of all voices, ties merged."""
    rows: list[tuple[int, int, int, int, bool, int, int]] = []
    in_order = len(voices) == 1
    for number, notes in enumerate(voices):
        waiting: dict[int, tuple[int, int]] = {}  # pitch -> (row of the note that is tied, where it ends)
        last = -1
        for note in notes:
            onset, pitch = note.onset, note.pitch_base40
            if note.is_grace:
                in_order &= last < onset
                rows.append((onset, note.duration, note.pitch_midi, pitch, True, number, note.column))
                continue
            end = onset + note.duration
            index, tied_until = waiting.pop(pitch, (-1, -1))
            if tied_until == onset:
                row = rows[index]
                rows[index] = (row[0], end - row[0], *row[2:])
            else:
                index = len(rows)
                rows.append((onset, note.duration, note.pitch_midi, pitch, False, number, note.column))
                in_order &= last < onset
                last = onset
            if note.ties:
                waiting[pitch] = (index, end)
    return note_table(rows, in_order=in_order)
