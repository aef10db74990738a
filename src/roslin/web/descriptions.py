"""A melody in words, bar by bar, for those who listen to the page, and for its titles.

>>> from roslin import load
>>> for line in in_bars(load("%G-2@3/4 '4G/''8.C6DE4-/2.xF/")[0]):
...     print(line)
Upbeat: G 4 quarter note
Bar 1: C 5 dotted eighth note, D 5 sixteenth note, E 5 sixteenth note, rest (quarter note)
Bar 2: F sharp 5 dotted half note
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import groupby

from roslin.display.words import N_, _, number, words
from roslin.melody import Melody, MelodyNote, bar_number
from roslin.melody.pitches import spelled
from roslin.represent.key_names import key_name

# By how often they are raised, the letters from C upwards. German calls them by names of their own.
_NOTES = {
    0: (N_("C"), N_("D"), N_("E"), N_("F"), N_("G"), N_("A"), N_("B")),
    1: (N_("C sharp"), N_("D sharp"), N_("E sharp"), N_("F sharp"), N_("G sharp"), N_("A sharp"), N_("B sharp")),
    -1: (N_("C flat"), N_("D flat"), N_("E flat"), N_("F flat"), N_("G flat"), N_("A flat"), N_("B flat")),
}
_LENGTHS = {
    Fraction(8): N_("breve"),
    Fraction(4): N_("whole note"),
    Fraction(2): N_("half note"),
    Fraction(1): N_("quarter note"),
    Fraction(1, 2): N_("eighth note"),
    Fraction(1, 4): N_("sixteenth note"),
    Fraction(1, 8): N_("32nd note"),
    Fraction(1, 16): N_("64th note"),
}
_KEY = re.compile(r"([A-G])( sharp| flat)? (major|minor)")
_SHARPS = {None: 0, " sharp": 1, " flat": -1}
_DOTTED, _TWICE_DOTTED, _TRIPLET = Fraction(3, 2), Fraction(7, 4), Fraction(2, 3)
_SAID = 300  # notes of a melody that are said; who listens to more than that takes a file
_NAMED = 6  # notes by which a melody without a name is called


def in_bars(melody: Melody) -> list[str]:
    """A line for each bar in which something begins; one for all of a melody without bar lines."""
    said = list(_things(melody))
    lines = [_bar(bar, [words for _bar_of, words in group]) for bar, group in groupby(said, key=lambda each: each[0])]
    return [*lines, _("and so on")] if len(melody) > _SAID else lines


def note_words(base40: int) -> str:
    """The name of a pitch, without its octave.

    >>> from roslin import load
    >>> note_words(load("'xF")[0][0].pitch_base40)
    'F sharp'
    """
    letter, _octave, sharps = spelled(base40)
    if sharps in _NOTES:
        return _(_NOTES[sharps][letter])
    doubled = _("{note} double sharp") if sharps > 0 else _("{note} double flat")
    return doubled.format(note=_(_NOTES[0][letter]))


def key_words(key: str) -> str:
    """A key as its reader calls it; one that has no name of ours stays as it is.

    >>> key_words("B flat minor"), key_words("2e mode")
    ('B flat minor', '2e mode')
    """
    found = _KEY.fullmatch(key_name(key) or "")
    if found is None:
        return key
    tonic = _NOTES[_SHARPS[found[2]]]["CDEFGAB".index(found[1])]
    if found[3] == "major":
        return _("{tonic} major").format(tonic=_(tonic))
    name = _(tonic).lower() if words().language == "de" else _(tonic)  # German writes minor keys with a small letter
    return _("{tonic} minor").format(tonic=name)


def length_words(quarters: Fraction) -> str:
    """The value of a note.

    >>> length_words(Fraction(3, 4)), length_words(Fraction(1, 3)), length_words(Fraction(5))
    ('dotted eighth note', 'triplet eighth note', '5 quarter notes long')
    """
    if quarters in _LENGTHS:
        return _(_LENGTHS[quarters])
    for factor, said in (
        (_DOTTED, _("dotted {value}")),
        (_TWICE_DOTTED, _("double dotted {value}")),
        (_TRIPLET, _("triplet {value}")),
    ):
        if quarters / factor in _LENGTHS:
            return said.format(value=_(_LENGTHS[quarters / factor]))
    whole = quarters.denominator == 1
    return _("{count} quarter notes long").format(count=number(float(quarters), 0 if whole else 2))


def query_name(query: Melody) -> str:
    """What to call a query: its title, or how it begins.

    >>> from roslin import load
    >>> query_name(load("'4CDEFGABG")[0])
    'C-D-E-F-G-A …'
    """
    if query.title:
        return query.title
    begins = "-".join(note_words(int(base40)) for base40 in query.notes["pitch_base40"][:_NAMED])
    return f"{begins} …" if len(query) > _NAMED else begins


def _things(melody: Melody) -> Iterator[tuple[int | None, str]]:
    """Each note and each rest, with the bar in which it begins."""
    end = Fraction(0)
    for note in list(melody)[:_SAID]:
        if note.onset > end:
            yield bar_number(float(end), melody), _("rest ({length})").format(length=length_words(note.onset - end))
        yield bar_number(float(note.onset), melody), _note(note)
        end = max(end, note.onset + (0 if note.is_grace else note.duration))


def _note(note: MelodyNote) -> str:
    octave = spelled(note.pitch_base40)[1]
    words = _("grace note {note} {octave}") if note.is_grace else _("{note} {octave} {length}")
    return words.format(note=note_words(note.pitch_base40), octave=octave, length=length_words(note.duration))


def _bar(bar: int | None, things: list[str]) -> str:
    notes = ", ".join(things)
    if bar is None:
        return notes
    return (
        _("Bar {number}: {notes}").format(number=bar, notes=notes) if bar else _("Upbeat: {notes}").format(notes=notes)
    )
