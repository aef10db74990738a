"""The same melody higher or lower, spelled as a musician would: letters move by the interval's steps.

The key signature and the name of the key move too; what then has no common name (nine sharps) is left out. A note that
would need three sharps or flats is spelled in the usual way.

A number of semitones does not say how to spell, so of the two intervals of that size (an augmented fourth or
a diminished fifth) the one is taken that leaves fewer sharps and flats in the key signature, then in the notes, then
the one with the more usual name.
"""

from __future__ import annotations

import operator
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from roslin.errors import ArgumentError, FilterError
from roslin.melody.intervals import read_intervals
from roslin.melody.pitches import BASE40_NATURALS, LETTERS, MOST_SIGNS, NATURAL_SEMITONES, alterations, spelled
from roslin.melody.table import BASE40_RANGE, PITCH_RANGE, base40_from_midi, sorted_table

if TYPE_CHECKING:
    from roslin.melody.melody import Melody

# Staff steps of 0 to 11 semitones, the usual ones first.
_STEPS = ((0,), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2), (3, 4), (4, 5), (5, 4), (5, 6), (6, 5), (6, 7))
_ORDER_OF_SHARPS = "FCGDAEB"
_NO_SIGNS = "n"  # a signature without signs, where one must be written
_KEY = re.compile(r"([A-Ga-g])(\|?)([bx#♭♯]?)( .+)?")  # D major, Bb, f# minor, and RISM's B|b


def transposed(melody: Melody, interval: int | str) -> Melody:
    """The melody moved by semitones, or by a named interval."""
    semitones, steps = _size(interval)
    if semitones == 0 and not steps:
        return melody
    pitches = melody.notes["pitch_midi"].astype(int) + semitones
    for pitch in (pitches.min(initial=PITCH_RANGE[0]), pitches.max(initial=PITCH_RANGE[0])):
        if not PITCH_RANGE[0] <= pitch <= PITCH_RANGE[1]:
            raise ArgumentError(
                f"pitches must stay from {PITCH_RANGE[0]} to {PITCH_RANGE[1]}; "
                f"transposed by {interval!r}, one would be {pitch}"
            )
    if steps is None:
        steps = min(_steps_of(semitones), key=lambda steps: _signs(melody, semitones, steps))
    notes = melody.notes.copy()
    notes["pitch_midi"] = pitches
    notes["pitch_base40"] = [
        _spelled(base40, pitch, semitones, steps)
        for base40, pitch in zip(melody.notes["pitch_base40"].tolist(), pitches.tolist(), strict=True)
    ]
    notes["source_column"] = 0
    return replace(
        melody,
        notes=sorted_table(notes),
        music=None,
        notation=None,
        key=_key(melody.key, semitones, steps),
        key_signature=_signature(melody.key_signature or "", semitones, steps) or None,
        changes=tuple(
            change
            if change.key_signature is None
            else replace(change, key_signature=_signature(change.key_signature, semitones, steps) or _NO_SIGNS)
            for change in melody.changes
        ),
    )


def _size(interval: int | str) -> tuple[int, int | None]:
    """Semitones and staff steps, both below 0 downwards; None: the steps are not said."""
    wanted = "a whole number of semitones, or one interval with its direction, such as 'perfect fifth up'"
    if not isinstance(interval, str):
        try:
            return operator.index(interval), None
        except TypeError:
            raise ArgumentError(f"a melody is transposed by {wanted}; got {interval!r}") from None
    try:
        found = read_intervals(interval, "chromatic")
    except FilterError as error:
        raise ArgumentError(f"{interval!r}: {error}") from None
    if len(found) != 1 or not (found[0].direction or found[0].size == found[0].steps == 0):
        raise ArgumentError(f"a melody is transposed by {wanted}; got {interval!r}")
    named = found[0]
    return named.size * named.direction, None if named.steps is None else named.steps * named.direction


def _steps_of(semitones: int) -> list[int]:
    octaves, rest = divmod(abs(semitones), 12)
    return [(1 if semitones > 0 else -1) * (7 * octaves + steps) for steps in _STEPS[rest]]


def _moved(letter: int, sharps: int, semitones: int, steps: int) -> tuple[int, int, int]:
    """Letter, octaves further and sharps of a note after it moved."""
    octaves, place = divmod(letter + steps, 7)
    natural = 12 * octaves + NATURAL_SEMITONES[place] - NATURAL_SEMITONES[letter]
    return place, octaves, sharps + semitones - natural


def _spelled(base40: int, pitch: int, semitones: int, steps: int) -> int:
    """The base-40 number of a note that has moved to a pitch."""
    letter, octave, sharps = spelled(base40)
    if sharps <= MOST_SIGNS:
        place, octaves, new = _moved(letter, sharps, semitones, steps)
        number = 40 * (octave + octaves) + BASE40_NATURALS[place] + new
        if abs(new) <= MOST_SIGNS and BASE40_RANGE[0] <= number <= BASE40_RANGE[1]:
            return number
    return int(base40_from_midi(pitch))


def _signs(melody: Melody, semitones: int, steps: int) -> tuple[int, int]:
    """How many sharps and flats the key signature and the notes have after the move."""
    moved = [_moved(*spelled(number)[::2], semitones, steps)[2] for number in melody.notes["pitch_base40"].tolist()]
    signature = _altered(melody.key_signature or "", semitones, steps)
    return sum(map(abs, signature.values())), sum(map(abs, moved))


def _altered(signature: str, semitones: int, steps: int) -> dict[str, int]:
    """The sharps of the letters after the seven notes of a signature moved."""
    before = alterations(signature)
    moved = {}
    for letter, name in enumerate(LETTERS):
        place, _, sharps = _moved(letter, before.get(name, 0), semitones, steps)
        moved[LETTERS[place]] = sharps
    return moved


def _signature(signature: str, semitones: int, steps: int) -> str:
    """A key signature after the move; "" for one without signs, or with more than can be written."""
    altered = _altered(signature, semitones, steps)
    if any(abs(sharps) > 1 for sharps in altered.values()):
        return ""
    sharps = "".join(letter for letter in _ORDER_OF_SHARPS if altered[letter] == 1)
    flats = "".join(letter for letter in reversed(_ORDER_OF_SHARPS) if altered[letter] == -1)
    return (f"x{sharps}" if sharps else "") + (f"b{flats}" if flats else "")


def _key(words: str | None, semitones: int, steps: int) -> str | None:
    """The name of a key after the move, written as it was; None where it has no common name, or is not understood."""
    found = _KEY.fullmatch(words or "")
    if found is None:
        return None
    name, bar, sign, rest = found.groups()
    place, _, sharps = _moved(LETTERS.index(name.upper()), {"": 0, "b": -1, "♭": -1}.get(sign, 1), semitones, steps)
    if abs(sharps) > 1:
        return None
    if sign in ("♭", "♯"):
        new = " ♯♭"[sharps].strip()
    else:
        new = " xb"[sharps].strip() if bar or sign == "x" else " #b"[sharps].strip()
    letter = LETTERS[place] if name.isupper() else LETTERS[place].lower()
    return f"{letter}{bar if new else ''}{new}{rest or ''}"
