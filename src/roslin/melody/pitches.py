"""Pitches as they are spelled: letters, accidentals and names of base-40 numbers, and what a key signature alters.

An octave of Hewlett's base-40 numbers has five places for each letter, from double flat to double sharp, and a place
that no note has between letters a whole tone apart; C is at 2, so that 162 is middle C. The difference of two notes is
the same for every interval of one name.
"""

from __future__ import annotations

from collections.abc import Mapping

LETTERS = "CDEFGAB"
NATURAL_SEMITONES = (0, 2, 4, 5, 7, 9, 11)  # of the letters, above C
BASE40_NATURALS = (2, 8, 14, 19, 25, 31, 37)  # the base-40 numbers of the letters

ORDER_OF_SHARPS, ORDER_OF_FLATS = "FCGDAEB", "BEADGCF"
# Keynotes a fifth apart: the major keys from seven flats to seven sharps, then those of the minor keys beyond.
LINE_OF_FIFTHS = (
    "Cb", "Gb", "Db", "Ab", "Eb", "Bb", "F", "C", "G", "D", "A", "E", "B", "F#", "C#", "G#", "D#", "A#",
)  # fmt: skip
# Letters for 0 to 11 semitones, the usual ones first.
_STEPS = ((0,), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (3, 4), (4, 5), (5, 4), (5, 6), (6, 5), (6, 7))

MOST_SIGNS = 2  # sharps or flats of one note
_SIGNATURE_SIGNS = {"x": 1, "b": -1, "n": 0}
_NAMES_OF_SIGNS = {0: "", 1: "♯", 2: "𝄪", -1: "♭", -2: "𝄫"}


def spelled(base40: int) -> tuple[int, int, int]:
    """Place of the letter in `LETTERS`, octave (4 from middle C) and sharps (flats below 0) of a base-40 number.

    A number that no note has counts as a letter with three sharps.

    >>> spelled(162), spelled(156)
    ((0, 4, 0), (6, 3, -1))
    """
    octave, within = divmod(base40, 40)
    letter = max(place for place, natural in enumerate(BASE40_NATURALS) if natural - MOST_SIGNS <= within)
    return letter, octave, within - BASE40_NATURALS[letter]


def pitch_numbers(letter: int, octave: int, sharps: int) -> tuple[int, int]:
    """MIDI and base-40 number of a letter (by its place in `LETTERS`) with this many sharps.

    >>> pitch_numbers(0, 4, 0), pitch_numbers(6, 3, -1)
    ((60, 162), (58, 156))
    """
    return 12 * (octave + 1) + NATURAL_SEMITONES[letter] + sharps, 40 * octave + BASE40_NATURALS[letter] + sharps


def is_spelled(base40: int, pitch_midi: int) -> bool:
    """Whether a base-40 number is a note, and one that sounds as this MIDI pitch."""
    letter, octave, sharps = spelled(base40)
    return sharps <= MOST_SIGNS and pitch_numbers(letter, octave, sharps)[0] == pitch_midi


def note_name(base40: int) -> str:
    """Letter, accidental and octave of a base-40 number, middle C being C4.

    >>> note_name(162), note_name(179), note_name(156)
    ('C4', 'F4', 'B♭3')
    """
    letter, octave, sharps = spelled(base40)
    return f"{LETTERS[letter]}{_NAMES_OF_SIGNS.get(sharps, '?')}{octave}"


def alterations(key_signature: str) -> dict[str, int]:
    """The letters that a key signature in the spelling of Plaine & Easie alters: 1 sharp, -1 flat.

    >>> alterations("bB[EA]")
    {'B': -1, 'E': -1, 'A': -1}
    """
    found: dict[str, int] = {}
    sign = 0
    for character in key_signature:
        if character in _SIGNATURE_SIGNS:
            sign = _SIGNATURE_SIGNS[character]
        elif character in LETTERS:
            found[character] = sign
    return {letter: sharps for letter, sharps in found.items() if sharps}


def signature_text(sharps: Mapping[str, int]) -> str:
    """A key signature in the spelling of Plaine & Easie, from the sharps (flats below 0) of its letters.

    >>> signature_text({"F": 1, "C": 1}), signature_text({"B": -1, "E": -1})
    ('xFC', 'bBE')
    """
    text = ""
    for sign, value in (("xx", 2), ("x", 1), ("b", -1), ("bb", -2)):
        letters = "".join(letter for letter, of_letter in sharps.items() if of_letter == value)
        text += sign + letters if letters else ""
    return text


def altered_by(fifths: int) -> dict[str, int]:
    """The letters that this many sharps (flats below 0) alter, in the usual order; beyond seven they double.

    >>> altered_by(2), altered_by(-1)
    ({'F': 1, 'C': 1}, {'B': -1})
    """
    order, sign = (ORDER_OF_SHARPS, 1) if fifths > 0 else (ORDER_OF_FLATS, -1)
    letters = [order[number % 7] for number in range(abs(fifths))]
    return {letter: sign * letters.count(letter) for letter in letters}


def fifths_of(sharps: Mapping[str, int]) -> int | None:
    """The inverse of `altered_by`; None for letters that no usual signature alters."""
    fifths = sum(sharps.values())
    return fifths if dict(sharps) == altered_by(fifths) else None


def steps_of(semitones: int) -> list[int]:
    """The staff steps that an interval of this many semitones may have, the usual ones first.

    >>> steps_of(4), steps_of(-4), steps_of(14)
    ([2, 3], [-2, -3], [8, 9])
    """
    octaves, rest = divmod(abs(semitones), 12)
    return [(1 if semitones >= 0 else -1) * (7 * octaves + steps) for steps in _STEPS[rest]]


def in_usual_order(sharps: Mapping[str, int]) -> dict[str, int]:
    """The altered letters as signatures are written: sharps from F on, then flats from B on.

    >>> in_usual_order({"C": 1, "D": 0, "F": 1})
    {'F': 1, 'C': 1}
    """
    raised = {letter: sharps[letter] for letter in ORDER_OF_SHARPS if sharps.get(letter, 0) > 0}
    return raised | {letter: sharps[letter] for letter in ORDER_OF_FLATS if sharps.get(letter, 0) < 0}
