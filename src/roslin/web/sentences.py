"""Melodies, results and matchers in words: for titles, for people who listen to the page, and for musicians.

A result is one sentence: "The same tune, a fourth higher, from bar 3; 2 notes differ." The sentence contains only what
the explanation knows: transposition and length of the notes where most pairs of notes agree on one, and how many notes
have no partner. Matchers are named by what they do. Their exact names are for researchers and for addresses.

>>> from roslin import load
>>> for line in in_bars(load("%G-2@3/4 '4G/''8.C6DE4-/2.xF/")[0]):
...     print(line)
Upbeat: G 4 quarter note
Bar 1: C 5 dotted eighth note, D 5 sixteenth note, E 5 sixteenth note, rest (quarter note)
Bar 2: F sharp 5 dotted half note
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby

import numpy as np
import numpy.typing as npt

from roslin.display.words import N_, _, ngettext, number, words
from roslin.matchers import Explanation, Matcher
from roslin.melody import TICKS_PER_QUARTER, Melody, MelodyNote, bar_number
from roslin.melody.pitches import spelled
from roslin.represent.keys import key_name
from roslin.run.meaning import expected_words, meaning_of
from roslin.tolerances import ON_GRID
from roslin.web.answers import MatchAnswer

_HEADS = {
    "same tune": N_("The same tune"),
    "probably": N_("Probably the same tune"),
    "perhaps": N_("Perhaps the same tune"),
}
_SAME_NOTES = N_("The same notes")
_NOT_SURE = N_("Similar")
_INTERVALS = (
    N_("a semitone"), N_("a whole tone"), N_("a minor third"), N_("a major third"), N_("a fourth"), N_("a tritone"),
    N_("a fifth"), N_("a minor sixth"), N_("a major sixth"), N_("a minor seventh"), N_("a major seventh"),
)  # fmt: skip
_OCTAVE = 12
_SIDE_BY_SIDE = ("alignment", "places", "likeness", "sum")  # kinds with a step for each note


# Notes that belong together in two melodies.
Matched = Explanation | MatchAnswer


def result_sentence(
    match: Matched | None, query: Melody, candidate: Melody, expected: float | None, compare: str = "", same: int = 0
) -> str:
    """How a melody resembles the query; `expected` is how many would by chance, `compare` what of them was compared.

    `same` is the number of notes on which they agree, if those are all that one of them has.
    """
    if match is None:
        return _("The time limit was reached before the notes were compared.")
    if not len(match.candidate_notes):
        return _("None of its notes corresponds to a note of the query.")
    head = _(_SAME_NOTES) if same else _(_HEADS.get("" if expected is None else meaning_of(expected), _NOT_SURE))
    said = [head, *_changes(match, candidate, compare)]
    return f"{', '.join(said)}; {_agreement(match, query, candidate, compare)}."


def chance_words(expected: float) -> str:
    """A number of chance matches in plain words.

    >>> chance_words(0.003), chance_words(1e-9)
    ('0.003 such matches expected by chance', 'fewer than 0.0001 such matches expected by chance')
    """
    told = expected_words(expected)
    shown = expected_number(expected)
    few = _("fewer than {number} such matches expected by chance")
    return (few if told.startswith("<") else _("{number} such matches expected by chance")).format(number=shown)


def expected_number(expected: float) -> str:
    """The number itself, as its reader writes numbers.

    >>> expected_number(0.00042), expected_number(1234.5)
    ('0.00042', '1,200')
    """
    told = expected_words(expected).removeprefix("< ")
    return number(float(told), len(told.partition(".")[2]))


def interval_words(semitones: int) -> str:
    """How far it is from one pitch to another.

    >>> interval_words(5), interval_words(12), interval_words(15), interval_words(24)
    ('a fourth', 'an octave', 'an octave and a minor third', '2 octaves')
    """
    octaves, rest = divmod(semitones, _OCTAVE)
    whole = ngettext("an octave", "{count} octaves", octaves).format(count=octaves)
    if not octaves:
        return _(_INTERVALS[rest - 1])
    return _("{octaves} and {interval}").format(octaves=whole, interval=_(_INTERVALS[rest - 1])) if rest else whole


def _changes(match: Matched, candidate: Melody, compare: str) -> Iterator[str]:
    """The changes to the query: transposed, stretched, moved to a later bar."""
    up = match.transposition
    if up is not None and abs(up - round(up)) < ON_GRID and round(up) and compare != "rhythm":
        words = _("{interval} higher") if up > 0 else _("{interval} lower")
        yield words.format(interval=interval_words(abs(round(up))))
    if compare not in ("melody", "contour"):
        yield from _lengths(match)
    if match.place is not None:
        yield from _place(match.place, candidate)


def _lengths(match: Matched) -> Iterator[str]:
    if match.tempo is None:
        if len(match.candidate_notes) > 1:
            yield _("in another rhythm")
    elif abs(match.tempo - 2) < ON_GRID:
        yield _("in notes twice as long")
    elif abs(match.tempo - 0.5) < ON_GRID:
        yield _("in notes half as long")
    elif abs(match.tempo - 1) > ON_GRID:
        yield _("in notes {factor} times as long").format(factor=f"{match.tempo:.3g}")


def _place(place: float, candidate: Melody) -> Iterator[str]:
    bar, first = bar_number(place, candidate), int(candidate.notes["onset_ticks"][0]) / TICKS_PER_QUARTER
    if place > first + ON_GRID:
        yield _("from its middle") if bar is None else _("from bar {number}").format(number=bar)


def _agreement(match: Matched, query: Melody, candidate: Melody, compare: str) -> str:
    """How many notes agree. Where one melody ends, the other may go on: only what both have counts."""
    asked = ~query.notes["is_grace"]
    has_partner = int(asked[list(match.query_notes)].sum())
    if match.kind not in _SIDE_BY_SIDE:
        return _("{count} of {total} notes have a partner in it").format(count=has_partner, total=int(asked.sum()))
    before, between, after = _without_partner(asked, match.query_notes)
    its_before, its_between, its_after = _without_partner(~candidate.notes["is_grace"], match.candidate_notes)
    # A changed note is one without a partner on both sides, so it is counted once.
    differ = max(between, its_between) + min(before, its_before) + min(after, its_after)
    if differ and compare == "rhythm":
        return ngettext("one note value differs", "{count} note values differ", differ).format(count=differ)
    if differ:
        return ngettext("one note differs", "{count} notes differ", differ).format(count=differ)
    if not before and not after:
        return _("every note value agrees") if compare == "rhythm" else _("every note agrees")
    if its_before or its_after:
        return _("{count} of {total} notes have a partner in it").format(count=has_partner, total=int(asked.sum()))
    if compare == "rhythm":
        words = ngettext(
            "one note value of the incipit agrees", "all {count} note values of the incipit agree", has_partner
        )
    else:
        words = ngettext("one note of the incipit agrees", "all {count} notes of the incipit agree", has_partner)
    return words.format(count=has_partner)


def _without_partner(is_note: npt.NDArray[np.bool_], rows: Sequence[int]) -> tuple[int, int, int]:
    """How many notes have no partner: before the first one that has, between these, and after the last."""
    first, last = min(rows, default=0), max(rows, default=-1)
    between = int(is_note[first : last + 1].sum()) - int(is_note[list(rows)].sum())
    return int(is_note[:first].sum()), between, int(is_note[last + 1 :].sum())


# By how often they are raised, the letters from C upwards. German calls them by names of their own.
_NOTES = {
    0: (N_("C"), N_("D"), N_("E"), N_("F"), N_("G"), N_("A"), N_("B")),
    1: (N_("C sharp"), N_("D sharp"), N_("E sharp"), N_("F sharp"), N_("G sharp"), N_("A sharp"), N_("B sharp")),
    -1: (N_("C flat"), N_("D flat"), N_("E flat"), N_("F flat"), N_("G flat"), N_("A flat"), N_("B flat")),
}
_NOTE_VALUES = {
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
_NOTES_READ = 300  # notes of a melody that are said; who listens to more than that takes a file
_NOTES_IN_NAME = 6  # notes by which a melody without a name is called


def in_bars(melody: Melody) -> list[str]:
    """A line for each bar in which something begins; one for all of a melody without bar lines."""
    said = list(_things(melody))
    lines = [_bar(bar, [words for _bar_of, words in group]) for bar, group in groupby(said, key=lambda each: each[0])]
    return [*lines, _("and so on")] if len(melody) > _NOTES_READ else lines


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
    """A key as its reader calls it. One that has no name of ours stays as it is.

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
    if quarters in _NOTE_VALUES:
        return _(_NOTE_VALUES[quarters])
    for factor, said in (
        (_DOTTED, _("dotted {value}")),
        (_TWICE_DOTTED, _("double dotted {value}")),
        (_TRIPLET, _("triplet {value}")),
    ):
        if quarters / factor in _NOTE_VALUES:
            return said.format(value=_(_NOTE_VALUES[quarters / factor]))
    whole = quarters.denominator == 1
    return _("{count} quarter notes long").format(count=number(float(quarters), 0 if whole else 2))


def query_name(query: Melody) -> str:
    """The name of a query: its title, or how it begins.

    >>> from roslin import load
    >>> query_name(load("'4CDEFGABG")[0])
    'C-D-E-F-G-A …'
    """
    if query.title:
        return query.title
    begins = "-".join(note_words(int(base40)) for base40 in query.notes["pitch_base40"][:_NOTES_IN_NAME])
    return f"{begins} …" if len(query) > _NOTES_IN_NAME else begins


def _things(melody: Melody) -> Iterator[tuple[int | None, str]]:
    """Each note and each rest, with the bar in which it begins."""
    end = Fraction(0)
    for note in list(melody)[:_NOTES_READ]:
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
    words = "{notes}" if bar is None else _("Bar {number}: {notes}") if bar else _("Upbeat: {notes}")
    return words.format(number=bar, notes=notes)


METHODS = {
    "roslin": N_("Same tune, any key and tempo (recommended)"),
    "dp": N_("Same intervals in a row, rhythm ignored"),
    "dp(place='inside')": N_("Same intervals somewhere in the melody, rhythm ignored"),
    "lcts": N_("Same notes in the same order, others between them allowed"),
    "alignment": N_("Note by note, similar pitches partly credited"),
    "mongeau_sankoff": N_("Pitches and lengths, notes split or joined"),
    "gam": N_("Same turns from interval to interval"),
    "shapeh": N_("Same ups and downs, rare turns first"),
    "time": N_("Same curves of pitch and length"),
    "shapetime": N_("Same ups and downs, then rhythm"),
    "emd": N_("Pitches at similar moments, the whole melody at once"),
    "twv": N_("Pitches at similar moments, passage by passage"),
    "twv_covered": N_("Pitches at similar moments, passages in one tempo"),
    "orio": N_("Short figures in common, exact or rough"),
    "us": N_("Figures of five intervals in common"),
    "rismonline": N_("All intervals exactly, one after the other"),
    "p1": N_("All notes with matching pitch and onset, any key"),
    "p2": N_("Most notes with matching pitch and onset, any key"),
    "p3": N_("Same pitches sounding for the longest time, any key"),
    "fm": N_("Intervals, rough rhythm and harmony together"),
    "ngrsumco": N_("Figures of three intervals in common, however often"),
    "ngrukkon": N_("Figures of three intervals, shared and not shared"),
    "diffed": N_("Intervals inserted, left out or changed"),
    "rawed": N_("Notes inserted, left out or changed, best key"),
    "rhytfuzz": N_("Rough rhythm, pitch ignored"),
    "harmcore": N_("Harmony that each bar suggests"),
}


def method_words(matcher: Matcher) -> str:
    """A short description of a matcher. One with other parameters has a remark. A plug-in has its summary.

    >>> from roslin import matcher
    >>> method_words(matcher("us")), method_words(matcher("us(n=4)"))
    ('Figures of five intervals in common', 'Figures of five intervals in common, with other parameters')
    """
    if words := METHODS.get(repr(matcher)):
        return _(words)
    if words := METHODS.get(matcher.name):
        return _("{method}, with other parameters").format(method=_(words))
    return _(matcher.summary) or repr(matcher)
