"""A music string while it is read: how far, what was found, and what is still open.

Notes are collected as written (written.py): a tied note is one of its own, so that tuplets can scale and repetitions
can copy it; ties are merged at the end. Time is an integer number of ticks throughout, also in a tuplet of eleven.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from roslin.errors import NotationError, Problem
from roslin.melody import NoteTable, SignatureChange
from roslin.notation.pae import signs, written
from roslin.notation.pae.signs import QUARTER_TICKS
from roslin.notation.pae.written import WrittenNote
from roslin.notation.record import MAX_PROBLEMS, Repeats

# More than this in one incipit is not music.
MAX_NOTES = 200_000


class Span:
    """A place in time and among the written notes, and the column where it stands."""

    __slots__ = ("column", "row", "time")

    def __init__(self, time: int, row: int, column: int):
        self.time, self.row, self.column = time, row, column


class Music:
    """One music string, and what has been read of it up to `position`."""

    def __init__(
        self,
        text: str,
        start: int,
        alterations: Mapping[str, int],
        measure: int,
        repeats: Repeats,
        *,
        strict: bool,
        version: int | None = None,
    ):
        self.text = text
        self.position = start
        self.alterations = alterations
        self.measure = measure
        self.repeats = repeats
        self.strict = strict
        # Only version 2 closes a chord with ">"; then "^" opens one instead of joining two notes.
        self.chords_have_end = ">" in text if version is None else version == 2
        self.ties_are_old = version != 2 and "_" in text and signs.OLD_TIES.search(text) is not None

        # What was found.
        self.problems: list[Problem] = []
        self.unreadable = 0  # signs that were left out
        self.doubtful_notes = 0  # lower-case letters that were taken for notes
        self.barlines: list[int] = []
        self.changes: list[SignatureChange] = []
        self.written: list[WrittenNote] = []
        self.in_order = True  # no two notes start together
        self.time = 0

        # What holds for the next note.
        self.octave = 4
        self.lengths: tuple[int, ...] = (QUARTER_TICKS,)
        self.length_index = 0
        self.length_end = -1  # where the text of the lengths ends: a tuplet directly behind it fills the last one
        self.accidental: int | None = None
        self.accidental_column = 0
        self.bar_alterations: dict[tuple[str, int], int] = {}
        self.ties: dict[tuple[str, int], WrittenNote] = {}
        self.tie_column = 0
        self.grace = ""  # "g" or "q" while notes are grace notes
        self.grace_column = 0
        self.grace_notes_left = 0  # 0: up to the sign that ends them

        # The last note or chord (empty after a rest), and where its text ends.
        self.event: list[WrittenNote] = []
        self.event_end = -1

        # What has begun and not ended.
        self.joins_chord = False
        self.chord_column = 0
        self.beam_columns: list[int] = []
        self.tuplet: Span | None = None
        self.tuplet_total = 0
        self.tuplet_count = 0
        self.fermata = False
        self.figure: Span | None = None
        self.bar_start = Span(0, 0, 0)
        self.last_bar: tuple[Span, Span] | None = None
        self.measures_of_rest = 0

    def match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Match a pattern whose first character has been seen already, so that it cannot fail."""
        match = pattern.match(self.text, self.position)
        assert match is not None
        return match

    def skip(self) -> None:
        """Go past a sign that changes neither pitch nor time."""
        self.position += 1

    def problem(self, reason: str, column: int, expected: str = "", found: str = "", taken: str = "") -> None:
        """Note a problem; strict reading ends with it."""
        if len(self.problems) >= MAX_PROBLEMS:
            return
        problem = Problem(reason, expected, found, column, taken=taken)
        if self.strict:
            raise NotationError(problem)
        self.problems.append(problem)

    def repeat(self, notes: int) -> None:
        """So many notes come again."""
        self.repeats.add(notes, column=self.position)

    def check_size(self) -> None:
        """Refuse more notes than a piece of music has."""
        if len(self.written) > MAX_NOTES:
            raise NotationError(Problem(f"more than {MAX_NOTES} notes", column=self.position))

    def found_at(self, position: int) -> str:
        """The sign at a position, for a message."""
        return repr(self.text[position]) if position < len(self.text) else "the end"

    def next_length(self) -> int:
        """The length of the next note or rest: one in force, or the next of a pattern."""
        lengths, index = self.lengths, self.length_index
        if len(lengths) == 1:
            return lengths[0]
        self.length_index = (index + 1) % len(lengths)
        return lengths[index]

    def tied_note(self, letter: str, octave: int, alter: int) -> WrittenNote | None:
        """The note that an open tie leads from to this pitch, if there is one; the tie is closed."""
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
        """Close all ties that are open: they lead to no note of their pitch."""
        if self.tie_column:
            self.problem("tie to another pitch, read as a slur", self.tie_column, "the same note after the tie")
        self.ties.clear()
        self.tie_column = 0

    def drop_accidental(self) -> None:
        """An accidental that no note followed is forgotten."""
        if self.accidental is not None:
            self.accidental = None
            self.problem("accidental without a note", self.accidental_column, "a note", self.found_at(self.position))

    def notes(self, first_column: int = 0) -> NoteTable:
        """The note table, ties merged; columns count from `first_column`."""
        return written.table(self.written, first_column, self.in_order)
