"""Words for people: "transposed up a perfect fourth, 1.5 times slower, starting at bar 3". Names of notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from roslin.display.words import _, ngettext, number
from roslin.melody import TICKS_PER_QUARTER, Melody, bar_number, note_name
from roslin.melody.intervals import an_interval, interval_name
from roslin.tolerances import ON_GRID

# Base-40 intervals within an octave, in semitones; the others have no common name.
_SEMITONES_OF_BASE40 = {0: 0, 5: 1, 6: 2, 11: 3, 12: 4, 17: 5, 18: 6, 22: 6, 23: 7, 28: 8, 29: 9, 34: 10, 35: 11}


def spelled(melody: Melody, row: int | None) -> str:
    """A note as "3 F♯4": its row, counted from 1, and its name; "-" where there is none.

    >>> spelled(Melody.from_notes([0, 1], [1, 1], [60, 66]), 1)
    '2 F♯4'
    """
    return "-" if row is None else f"{row + 1} {note_name(int(melody.notes['pitch_base40'][row]))}"


def places_named(melody: Melody, places: Iterable[Sequence[int]]) -> str:
    """The notes of each place by name. A place is some rows of the note table.

    >>> places_named(Melody.from_notes([0, 1, 2], [1] * 3, [60, 62, 64]), [(0,), (2,)])
    'C4; E4'
    """
    spelling = melody.notes["pitch_base40"]
    return "; ".join("–".join(note_name(int(spelling[row])) for row in rows) for rows in places)


def in_words(intervals: Iterable[int]) -> str:
    """Intervals in semitones as words.

    >>> in_words([2, 0, -4])
    'major second up, repeated, major third down'
    """
    ways = {1: _("{interval} up"), -1: _("{interval} down")}
    return ", ".join(
        ways[1 if size > 0 else -1].format(interval=interval_name(abs(size))) if size else _("repeated")
        for size in intervals
    )


def transposition_words(transposition: float, pitch: str = "semitone") -> str:
    """A transposition, in the unit of a scheme of `represent/points.py`.

    >>> transposition_words(-15), transposition_words(0), transposition_words(0.4)
    ('transposed down a minor tenth', 'not transposed', 'transposed up by 0.40 semitones')
    """
    if abs(transposition) < ON_GRID:
        return _("not transposed")
    way = _("transposed up {interval}") if transposition > 0 else _("transposed down {interval}")
    return way.format(interval=_how_far(abs(transposition), pitch))


def _how_far(size: float, pitch: str) -> str:
    if pitch == "fifths":
        return _("by {number} on the line of fifths").format(number=f"{size:g}")
    if pitch == "base40":
        octaves, rest = divmod(round(size * 40 / 12), 40)
        if rest not in _SEMITONES_OF_BASE40:
            return _("by {number} base-40 steps").format(number=round(size * 40 / 12))
        size = 12 * octaves + _SEMITONES_OF_BASE40[rest]
    if abs(size - round(size)) > ON_GRID:
        return _("by {number} semitones").format(number=number(size, 2))
    return an_interval(round(size))


def tempo_words(tempo: float) -> str:
    """How the candidate's tempo differs from the query's.

    >>> tempo_words(1.5), tempo_words(0.5), tempo_words(1)
    ('1.5 times slower', '2 times faster', 'at the same tempo')
    """
    if abs(tempo - 1) < ON_GRID:
        return _("at the same tempo")
    if tempo > 1:
        return _("{factor} times slower").format(factor=f"{tempo:.4g}")
    return _("{factor} times faster").format(factor=f"{1 / tempo:.4g}")


def place_words(start: float, candidate: Melody) -> str:
    """Where in the candidate the query starts, in quarters."""
    onsets = candidate.notes["onset_ticks"]
    if start < onsets[0] / TICKS_PER_QUARTER - ON_GRID:
        return _("starting before its first note")
    bar = bar_number(start, candidate)
    if bar is None:
        # Half a quarter has the plural too.
        many = 1 if abs(start - 1) < ON_GRID else 2
        return ngettext("starting after {count} quarter", "starting after {count} quarters", many).format(
            count=f"{start:.4g}"
        )
    return _("starting at bar {number}").format(number=bar) if bar else _("starting in the pick-up")
