"""The state of reading Plaine & Easie: the notes so far, in time and pitch, and everything that is still open.

A tied note is first a separate note that prolongs another, so that tuplets can scale and repetitions can copy notes;
`Music.notes` merges ties at the end. Time is a whole number of ticks throughout, even in a tuplet of eleven.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from roslin.display.words import N_
from roslin.errors import Problem
from roslin.melody import TICKS_PER_QUARTER, NoteTable, SignatureChange, note_table
from roslin.melody.pitches import LETTERS, pitch_numbers
from roslin.notation.lengths import usual_time
from roslin.notation.record import Repeats, note_problem

MAX_CHORD_NOTES = 100  # the code has names for 77 pitches
MAX_MEASURES_OF_REST = 9_999

# Note values: the digits of the code as multiples of a quarter, from 16 quarters to a 128th.
LENGTH_TICKS = {
    digit: round(quarters * TICKS_PER_QUARTER)
    for digit, quarters in zip("0912486357", (16, 8, 4, 2, 1, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32), strict=True)
}
MAX_DOTS = 4
LOWEST_WRITTEN, HIGHEST_WRITTEN = 1, 7  # octaves: three commas and four apostrophes are the most that the code allows

# Old catalogues write a tie (or a slur) as "_" and then the second note; version 2 writes "_" for both. A string is old
# when a tie is followed by its own note again, or when it has other signs that only those catalogues use.
_OLD_TIES = re.compile(r"[\"♯]|-[0-9]+\s*(?:/|$)|(?<![A-G])t[A-G]|([A-G])_[^A-G=\-]{0,40}\1")


@lru_cache(maxsize=1024)
def _pitch_numbers(letter: str, octave: int, alter: int) -> tuple[int, int]:
    return pitch_numbers(LETTERS.index(letter), octave, alter)


class Span(NamedTuple):
    """A place in time and among the written notes, and its column in the text."""

    time: int
    row: int
    column: int


_START = Span(0, 0, 0)


@dataclass(slots=True, eq=False)
class WrittenNote:
    """One note head. `prolongs` is the note that it is tied to, if any."""

    onset: int
    duration: int
    letter: str
    octave: int
    alter: int
    midi: int
    base40: int
    is_grace: bool
    column: int
    prolongs: WrittenNote | None


@dataclass(slots=True, eq=False)
class Music:
    """One music string, and the music read from it up to `position`."""

    text: str
    position: int
    alterations: Mapping[str, int]
    measure: int  # the length of a bar
    repeats: Repeats
    strict: bool
    version: int | None = None
    # Only version 2 closes a chord with ">"; then "^" opens one instead of joining two notes.
    chords_have_end: bool = field(init=False)
    ties_are_old: bool = field(init=False)

    # Results.
    problems: list[Problem] = field(default_factory=list)
    unreadable: int = 0  # signs that were left out
    doubtful_notes: int = 0  # lower-case letters that were taken for notes
    barlines: list[int] = field(default_factory=list)
    changes: list[SignatureChange] = field(default_factory=list)
    written: list[WrittenNote] = field(default_factory=list)
    in_order: bool = True  # no two notes start together
    time: int = 0

    # In force for the next note.
    octave: int = 4
    lengths: tuple[int, ...] = (TICKS_PER_QUARTER,)
    length_index: int = 0
    length_end: int = -1  # where the text of the lengths ends: a tuplet directly behind it fills the last one
    accidental: int | None = None
    accidental_column: int = 0
    bar_alterations: dict[tuple[str, int], int] = field(default_factory=dict)
    ties: dict[tuple[str, int], WrittenNote] = field(default_factory=dict)
    tie_column: int = 0
    grace: str = ""  # "g" or "q" while notes are grace notes
    grace_column: int = 0
    grace_notes_left: int = 0  # 0: up to the sign that ends them

    # The last note or chord (empty after a rest), and where its text ends.
    event: list[WrittenNote] = field(default_factory=list)
    event_end: int = -1

    # Begun and not ended.
    joins_chord: bool = False
    chord_column: int = 0
    beam_columns: list[int] = field(default_factory=list)
    tuplet: Span | None = None
    tuplet_total: int = 0
    tuplet_count: int = 0
    fermata: bool = False
    figure: Span | None = None
    bar_start: Span = _START
    last_bar: tuple[Span, Span] | None = None
    measures_of_rest: int = 0

    def __post_init__(self) -> None:
        self.chords_have_end = ">" in self.text if self.version is None else self.version == 2
        self.ties_are_old = self.version != 2 and "_" in self.text and _OLD_TIES.search(self.text) is not None

    def problem(self, reason: str, column: int, expected: str = "", found: str = "", taken: str = "") -> None:
        note_problem(self.problems, Problem(reason, expected, found, column, taken=taken), strict=self.strict)

    def found_at(self, position: int) -> str:
        return repr(self.text[position]) if position < len(self.text) else N_("the end")

    def here(self, column: int) -> Span:
        return Span(self.time, len(self.written), column)

    # -- notes and rests ----------------------------------------------------------------------------------------------

    def next_length(self) -> int:
        lengths, index = self.lengths, self.length_index
        if len(lengths) == 1:
            return lengths[0]
        self.length_index = (index + 1) % len(lengths)
        return lengths[index]

    def note(self, letter: str) -> None:
        self.position += 1
        octave = self.octave
        alter = self.accidental
        if alter is not None:
            self.accidental = None
            self.bar_alterations[letter, octave] = alter
        elif self.ties and not self.grace and (letter, octave) in self.ties:
            alter = self.ties[letter, octave].alter
        else:
            alter = self.bar_alterations.get((letter, octave)) if self.bar_alterations else None
            if alter is None:
                alter = self.alterations.get(letter, 0)
        self.add(letter, octave, alter, self.position)

    def add(self, letter: str, octave: int, alter: int, column: int) -> None:
        """Add a note: to the chord before it, as a grace note, or as the next event in time."""
        midi, base40 = _pitch_numbers(letter, octave, alter)
        if not 0 <= midi <= 127:
            self.problem("pitch out of range, left out", column, "a pitch from 0 to 127 in MIDI numbers", str(midi))
            self.joins_chord = self.joins_chord and self.chords_have_end
            return
        if self.joins_chord and self.event:
            if len(self.event) >= MAX_CHORD_NOTES:
                self.problem("chord too large, note left out", column, f"at most {MAX_CHORD_NOTES} notes", "more")
                return
            first = self.event[0]
            onset, duration, is_grace = first.onset, first.duration, first.is_grace
            self.in_order = False
            self.joins_chord = self.chords_have_end
        else:
            if self.ties:
                self.drop_stale_ties()
            self.event = []
            onset, is_grace = self.time, bool(self.grace)
            if is_grace:
                duration = 0 if self.grace == "g" else self.lengths[self.length_index]
                self.in_order = False
                if self.grace_notes_left == 1:
                    self.grace = ""
                self.grace_notes_left = max(self.grace_notes_left - 1, 0)
            else:
                duration = self.next_length()
                self.time = onset + duration
            self.joins_chord = bool(self.chord_column)  # inside ^...> every further note joins the first
        prolongs = self._tied_note(letter, octave, alter) if self.ties and not is_grace else None
        note = WrittenNote(onset, duration, letter, octave, alter, midi, base40, is_grace, column, prolongs)
        self.written.append(note)
        self.event.append(note)
        self.event_end = self.position

    def drop_accidental(self) -> None:
        if self.accidental is not None:
            self.accidental = None
            self.problem("accidental without a note", self.accidental_column, "a note", self.found_at(self.position))

    def rest_measures(self, digits: str, column: int) -> None:
        if len(digits) > 4:
            self.problem("too many bars of rest", column, f"at most {MAX_MEASURES_OF_REST}", digits[:20])
            digits = "1"
        self.lose_ties()
        self.measures_of_rest = int(digits or 1)
        self.time += self.measure * self.measures_of_rest
        self.event = []

    # -- ties ---------------------------------------------------------------------------------------------------------

    def open_ties(self, column: int, notes: list[WrittenNote]) -> None:
        if notes[0].is_grace:
            self.problem("tie after a grace note, read as a slur", column, "a note of full size before the tie")
            return
        self.tie_column = column
        for note in notes:
            self.ties[note.letter, note.octave] = note

    def _tied_note(self, letter: str, octave: int, alter: int) -> WrittenNote | None:
        earlier = self.ties.get((letter, octave))
        if earlier is None or earlier.alter != alter:
            return None
        del self.ties[letter, octave]
        self.tie_column = 0
        return earlier

    def drop_stale_ties(self) -> None:
        """A tie that met no note of its pitch in the event that just ended leads nowhere."""
        ended = self.event and not self.grace and not self.event[0].is_grace
        if ended and any(note not in self.event for note in self.ties.values()):
            self.lose_ties()

    def lose_ties(self) -> None:
        if self.ties and self.tie_column:
            self.problem("tie to another pitch, read as a slur", self.tie_column, "the same note after the tie")
        self.ties.clear()
        self.tie_column = 0

    # -- tuplets and repetitions --------------------------------------------------------------------------------------

    def end_tuplet(self) -> None:
        """Scale the notes of the group so that they fill the total before the parenthesis."""
        group, self.tuplet = self.tuplet, None
        assert group is not None
        length = self.time - group.time
        if length <= 0:
            return
        count, total, notes = self.tuplet_count or 3, self.tuplet_total, self.written[group.row :]
        heads = len({note.onset for note in notes if not note.is_grace})
        if total and not length <= 2 * total <= 4 * length and heads != self.tuplet_count:
            # "6(6ABCDEF)": the value before the group repeats the value of its notes
            expected = "a total between half and twice what the notes last"
            found_there = f"{total / TICKS_PER_QUARTER:g} quarters for {length / TICKS_PER_QUARTER:g}"
            self.problem("the notes of the group do not fit the value before it", group.column, expected, found_there)
            total = 0
        total = total or round(length * usual_time(count) / count)
        for note in notes:  # every onset and end is rounded by itself, so that the last note ends with the group
            onset = note.onset - group.time
            moved = (2 * onset * total + length) // (2 * length)
            if not note.is_grace:
                note.duration = (2 * (onset + note.duration) * total + length) // (2 * length) - moved
            note.onset = group.time + moved
        self.time = group.time + total

    def repeat(self, first: Span, last: Span) -> None:
        """The notes between two places again, with the ties among them and those that lead in and out."""
        originals = self.written[first.row : last.row]
        self.repeats.add(len(originals), column=self.position)
        copies: dict[int, WrittenNote] = {}
        for note in originals:
            prolongs = copies.get(id(note.prolongs)) if note.prolongs is not None else None
            copies[id(note)] = replace(note, onset=note.onset + self.time - first.time, prolongs=prolongs)
        leading_out = {name: copies[id(note)] for name, note in self.ties.items() if id(note) in copies}
        for note in copies.values():
            if note.onset == self.time and not note.is_grace and note.prolongs is None:
                note.prolongs = self._tied_note(note.letter, note.octave, note.alter)
        self.written += copies.values()
        self.ties.update(leading_out)
        self.time += last.time - first.time
        self.event = []

    def notes(self, first_column: int = 0) -> NoteTable:
        """The note table, ties merged; columns count from `first_column`."""
        lengths = {id(note): note.duration for note in self.written}
        for note in self.written:
            if note.prolongs is not None:
                root = note.prolongs
                while root.prolongs is not None:
                    root = root.prolongs
                note.prolongs = root  # so that the next one has one step to go
                lengths[id(root)] += note.duration
        rows = [
            (note.onset, lengths[id(note)], note.midi, note.base40, note.is_grace, 0, note.column - first_column)
            for note in self.written
            if note.prolongs is None
        ]
        return note_table(rows, in_order=self.in_order)
