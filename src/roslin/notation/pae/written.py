"""Notes as they are written, before ties are merged.

A tied note is a note of its own that prolongs another, so that tuplets and repetitions can move and copy notes freely;
`table` merges them at the end. Times are ticks.
"""

from __future__ import annotations

from roslin.melody import NoteTable, note_table


class WrittenNote:
    """One note head. `prolongs` is the note that it is tied to, if any."""

    __slots__ = ("alter", "base40", "column", "duration", "is_grace", "letter", "midi", "octave", "onset", "prolongs")

    def __init__(
        self,
        onset: int,
        duration: int,
        letter: str,
        octave: int,
        alter: int,
        midi: int,
        base40: int,
        is_grace: bool,
        column: int,
        prolongs: WrittenNote | None,
    ):
        self.onset, self.duration = onset, duration
        self.letter, self.octave, self.alter = letter, octave, alter
        self.midi, self.base40 = midi, base40
        self.is_grace, self.column, self.prolongs = is_grace, column, prolongs


def scale(notes: list[WrittenNote], start: int, written: int, total: int) -> None:
    """Make what was written over `written` ticks from `start` last `total`.

    Every onset and end is rounded by itself, so that errors do not add up and the last note ends with the group.
    """
    for note in notes:
        onset = note.onset - start
        moved = (2 * onset * total + written) // (2 * written)
        if not note.is_grace:
            end = (2 * (onset + note.duration) * total + written) // (2 * written)
            note.duration = end - moved
        note.onset = start + moved


def repeat(notes: list[WrittenNote], shift: int) -> list[WrittenNote]:
    """The same notes later; ties among them are kept, a tie to a note before them is not."""
    copies: dict[int, WrittenNote] = {}
    for note in notes:
        prolongs = copies.get(id(note.prolongs)) if note.prolongs is not None else None
        copies[id(note)] = WrittenNote(
            note.onset + shift,
            note.duration,
            note.letter,
            note.octave,
            note.alter,
            note.midi,
            note.base40,
            note.is_grace,
            note.column,
            prolongs,
        )
    return list(copies.values())


def table(notes: list[WrittenNote], first_column: int, in_order: bool) -> NoteTable:
    """The note table of a melody; columns count from `first_column`. `in_order`: no two notes start together."""
    tied = [note for note in notes if note.prolongs is not None]
    lengths = {id(note): note.duration for note in notes} if tied else {}
    for note in tied:
        root = note
        while root.prolongs is not None:
            root = root.prolongs
        note.prolongs = root  # so that the next one has one step to go
        lengths[id(root)] += note.duration
    return note_table(
        [
            (
                note.onset,
                lengths[id(note)] if tied else note.duration,
                note.midi,
                note.base40,
                note.is_grace,
                0,
                note.column - first_column,
            )
            for note in notes
            if note.prolongs is None
        ],
        in_order=in_order,
    )
