"""A melody against another of the same tune: which notes belong together, and what differs, note by note.

The usual measure lays the one onto the other. Notes that face each other are then compared as an eye compares them: by
pitch, when both are brought to one key, and by written length, when one has longer values throughout. Notes before and
after the part in common are counted, because incipits are cut at different places.

Rows are those of the note tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import TypeVar

from roslin.display.words import _, ngettext, number
from roslin.errors import ArgumentError
from roslin.matchers import Explanation, Matcher
from roslin.melody import Melody
from roslin.represent.words import transposition_words

_Number = TypeVar("_Number", int, Fraction)


@dataclass(frozen=True, slots=True)
class Variant:
    """The differences between a melody and the one above it.

    `columns` goes from rows of the melody to rows above it. `shown` is the melody in the key and clef of that one.
    """

    melody: Melody
    shown: Melody
    columns: dict[int, int]
    other_pitch: frozenset[int]
    other_length: frozenset[int]
    only_here: frozenset[int]
    missing: frozenset[int]  # rows above
    transposition: int  # semitones from the one above to this
    values: Fraction  # how many times as long its notes are
    before: int  # notes before the part in common; below 0, notes that are missing
    after: int
    metre: str = ""  # in words, where it is another

    @property
    def differences(self) -> int:
        return len(self.other_pitch) + len(self.other_length) + len(self.only_here) + len(self.missing)

    @property
    def words(self) -> str:
        counts = [len(rows) for rows in (self.other_pitch, self.other_length, self.only_here, self.missing)]
        pitches, lengths, only_here, missing = counts
        each = (
            (pitches, ngettext("{count} other pitch", "{count} other pitches", pitches)),
            (lengths, ngettext("{count} other length", "{count} other lengths", lengths)),
            (only_here, ngettext("{count} note only here", "{count} notes only here", only_here)),
            (missing, ngettext("{count} note missing", "{count} notes missing", missing)),
        )
        said = [words.format(count=number(count)) for count, words in each if count]
        said = said or [_("note for note the same")]
        said += _edge(self.before, _("begins {notes} earlier"), _("begins {notes} later"))
        said += _edge(self.after, _("continues for {notes}"), _("ends {notes} earlier"))
        if self.values != 1:
            said.append(_times(self.values))
        if self.metre:
            said.append(self.metre)
        return f"{'; '.join(said)}."

    @property
    def place_words(self) -> str:
        return transposition_words(-self.transposition) if self.transposition else ""


def compared(above: Melody, melody: Melody) -> Variant:
    """The melody against the one above it."""
    explained = _matcher().explain(above, [melody], 0)
    columns = {row: over for over, row in _facing(explained)}
    if not columns:
        nothing: frozenset[int] = frozenset()
        return Variant(melody, melody, {}, nothing, nothing, nothing, nothing, 0, Fraction(1), 0, 0)
    pitches, lengths = (
        (melody.notes[name].tolist(), above.notes[name].tolist()) for name in ("pitch_midi", "duration_ticks")
    )
    moved = _usual(pitches[0][row] - pitches[1][over] for row, over in columns.items())
    values = _usual(Fraction(lengths[0][row], max(lengths[1][over], 1)) for row, over in columns.items())
    other_pitch = {row for row, over in columns.items() if pitches[0][row] - pitches[1][over] != moved}
    other_length = {
        row
        for row, over in columns.items()
        if Fraction(lengths[0][row], max(lengths[1][over], 1)) != values and row not in other_pitch
    }
    overs = sorted({row for step in explained.steps for row in step.query_notes})
    rows = sorted({row for step in explained.steps for row in step.candidate_notes})
    reverse = {over: row for row, over in columns.items()}
    shown = melody
    with suppress(ArgumentError):  # beyond what can be written, it stays where it is
        shown = replace(melody.transposed(-moved), clef=above.clef)
    return Variant(
        melody,
        shown,
        columns,
        frozenset(other_pitch),
        frozenset(other_length),
        frozenset(_between(rows, columns) | _graces(melody, above, columns)),
        frozenset(_between(overs, reverse) | _graces(above, melody, reverse)),
        moved,
        values,
        sum(row < min(columns) for row in rows) - sum(over < min(reverse) for over in overs),
        sum(row > max(columns) for row in rows) - sum(over > max(reverse) for over in overs),
        _metre(above.metre or "", melody.metre or ""),
    )


@cache
def _matcher() -> Matcher:
    from roslin.matchers.roslin.roslin import Roslin

    return Roslin(compare="both")


def _facing(explained: Explanation) -> list[tuple[int, int]]:
    """Notes side by side, alike or not; of one that replaces several, the first. Both columns rise."""
    found: list[tuple[int, int]] = []
    for over, row in sorted({pair for step in explained.steps for pair in step.facing}):
        if not found or (over > found[-1][0] and row > found[-1][1]):
            found.append((over, row))
    return found


def _usual(numbers: Iterable[_Number]) -> _Number:
    return Counter(numbers).most_common(1)[0][0]


def _between(rows: Iterable[int], facing: dict[int, int]) -> set[int]:
    """Notes that face nothing, after the first and before the last that face something."""
    return {row for row in rows if min(facing) < row < max(facing) and row not in facing}


def _graces(melody: Melody, other: Melody, facing: dict[int, int]) -> set[int]:
    """Grace notes of notes with a partner, unless the same step also leads to the partner."""
    theirs = {(host, step) for _row, host, step in grace_steps(other)}
    return {row for row, host, step in grace_steps(melody) if host in facing and (facing[host], step) not in theirs}


def grace_steps(melody: Melody) -> list[tuple[int, int, int]]:
    """(row of a grace note, row of the note that it adorns, semitones between them)."""
    pitches, graces = melody.notes["pitch_midi"].tolist(), melody.notes["is_grace"].tolist()
    found, host = [], -1
    for row in reversed(range(len(pitches))):
        if not graces[row]:
            host = row
        elif host >= 0:
            found.append((row, host, pitches[row] - pitches[host]))
    return found


def _edge(notes: int, more: str, fewer: str) -> list[str]:
    if not notes:
        return []
    count = abs(notes)
    return [
        (more if notes > 0 else fewer).format(
            notes=ngettext("{count} note", "{count} notes", count).format(count=number(count))
        )
    ]


def _metre(above: str, here: str) -> str:
    """Another metre, in words.

    >>> _metre("c", "c/"), _metre("", "3/4"), _metre("3/4", "3/4")
    ('in c/ instead of c', 'in 3/4', '')
    """
    if above == here:
        return ""
    if not here:
        return _("without a metre")
    return (_("in {metre} instead of {other}") if above else _("in {metre}")).format(metre=here, other=above)


def _times(values: Fraction) -> str:
    """How long the notes are, in words.

    >>> _times(Fraction(2)), _times(Fraction(3, 4))
    ('in note values twice as long', 'in note values 3/4 times as long')
    """
    if values == 2:
        return _("in note values twice as long")
    if values == Fraction(1, 2):
        return _("in note values half as long")
    return _("in note values {factor} times as long").format(factor=values)
