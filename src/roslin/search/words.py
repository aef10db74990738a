"""Words for people: "transposed up a perfect fourth, 1.5 times slower, starting at bar 3"; names of notes."""

from __future__ import annotations

from roslin.melody import TICKS_PER_QUARTER, Melody, bar_number, note_name
from roslin.represent.intervals import interval_name
from roslin.transport.align import Alignment

__all__ = ["bar_number", "note_name", "place_words", "tempo_words", "transformation_words", "transposition_words"]

_SAME = 1e-6
# Base-40 intervals within an octave, in semitones; the others have no common name.
_SEMITONES_OF_BASE40 = {0: 0, 5: 1, 6: 2, 11: 3, 12: 4, 17: 5, 18: 6, 22: 6, 23: 7, 28: 8, 29: 9, 34: 10, 35: 11}


def transformation_words(alignment: Alignment, start: float, candidate: Melody, pitch: str = "semitone") -> str:
    """What was done to the query. `start` is where its first note then lies in the candidate, in quarters."""
    steps = transposition_words(alignment.transposition, pitch)
    return f"{steps}, {tempo_words(alignment.tempo)}, {place_words(start, candidate)}"


def transposition_words(transposition: float, pitch: str = "semitone") -> str:
    """A transposition, in the unit of a scheme of `represent/points.py`.

    >>> transposition_words(-15), transposition_words(0), transposition_words(0.4)
    ('transposed down a minor tenth', 'not transposed', 'transposed up by 0.40 semitones')
    """
    if abs(transposition) < _SAME:
        return "not transposed"
    way, size = "up" if transposition > 0 else "down", abs(transposition)
    if pitch == "fifths":
        return f"transposed {way} by {size:g} on the line of fifths"
    if pitch == "base40":
        octaves, rest = divmod(round(size * 40 / 12), 40)
        if rest not in _SEMITONES_OF_BASE40:
            return f"transposed {way} by {round(size * 40 / 12)} base-40 steps"
        size = 12 * octaves + _SEMITONES_OF_BASE40[rest]
    if abs(size - round(size)) > _SAME:
        return f"transposed {way} by {size:.2f} semitones"
    name = interval_name(round(size))
    return f"transposed {way} {'an' if name[0] in 'aeiou' else 'a'} {name}"


def tempo_words(tempo: float) -> str:
    """How the candidate's tempo differs from the query's.

    >>> tempo_words(1.5), tempo_words(0.5), tempo_words(1)
    ('1.5 times slower', '2 times faster', 'at the same tempo')
    """
    if abs(tempo - 1) < _SAME:
        return "at the same tempo"
    return f"{tempo:.4g} times slower" if tempo > 1 else f"{1 / tempo:.4g} times faster"


def place_words(start: float, candidate: Melody) -> str:
    """Where in the candidate the query starts."""
    onsets = candidate.notes["onset_ticks"]
    if start < onsets[0] / TICKS_PER_QUARTER - _SAME:
        return "starting before its first note"
    bar = bar_number(start, candidate)
    if bar is None:
        return f"starting after {start:.4g} quarter{'' if abs(start - 1) < _SAME else 's'}"
    return f"starting at bar {bar}" if bar else "starting in the pick-up"
