"""From notes as written to a note table: repeats played out if asked, ties merged.

Repeats are worked out from the marks of one voice as stretches of time in the order in which they are played; every
voice, bar line and change of signature is then copied by time. Times are in ticks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from roslin.errors import NotationError, Problem
from roslin.melody import MAX_TICKS, NoteTable, SignatureChange, note_table
from roslin.notation.abc.voice import AbcNote, Mark, Voice, merged
from roslin.notation.record import Repeats

# More than this in one tune is a runaway repetition, not music.
MAX_NOTES = 200_000

Stretch = tuple[int, int]


class _Section:
    """From one repeat sign to the next: a body, and perhaps endings."""

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
            continue  # only the end of an ending; otherwise a double bar repeats nothing
        order += section.played(mark.time, repeated=mark.kind == "end")
        section = _Section(mark.time)
        if len(order) > MAX_NOTES:
            raise NotationError(Problem("too many repeats", f"at most {MAX_NOTES} stretches to play"))
    order += section.played(max(end, section.start), repeated=False)
    order = [(start, stop) for start, stop in order if stop > start]
    if sum(stop - start for start, stop in order) >= MAX_TICKS:
        raise NotationError(Problem("longer than any music once repeats are played out"))
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
        notes += [note.moved(now - start) for note in voice.notes[first:last]]
        now += stop - start
    return notes


def times_played(times: Iterable[int], order: list[Stretch]) -> list[int]:
    """Bar lines in the order of play; a bar line belongs to the stretch that it ends."""
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
            result.append(_moved(wanted, now - wanted.onset_ticks))
        result += [_moved(change, now - start) for change in changes[before:last]]
        state = states[max(before, last)]
        now += stop - start
    return result


def _moved(change: SignatureChange, by: int) -> SignatureChange:
    return SignatureChange(change.onset_ticks + by, change.clef, change.key_signature, change.metre)


def table(voices: list[list[AbcNote]]) -> NoteTable:
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
