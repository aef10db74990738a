"""Melodies made of another: some of its notes or bars, higher or lower, longer or shorter; and which bar is where.

A part begins at time 0 with the clef, key signature and metre in force there. Every variant has the metadata of the
melody, and loses the source's text (`music`, `notation`), which is that of the whole.

Bars. Bar 1 is the first whole bar, bar 0 a pick-up before it: a first bar that is shorter than the second. The notes
after the last bar line make a bar too. Many bars of rest in one sign count as many bars as the metre makes of them.

Transposing. Letters move by the interval's steps. The key signature and the name of the key move too; without a common
name (nine sharps) they are left out. A note that would need three sharps or flats is spelled in the usual way. Of the
two intervals of a number of semitones (an augmented fourth or a diminished fifth) Roslin takes the one with fewer
sharps and flats in the key signature, then in the notes, then the one with the more usual name.

Stretching. Onsets and ends are multiplied exactly and rounded to whole ticks, so that notes that touched still touch.
The metre keeps its beats and changes their value: 3/4 in notes twice as long is 3/2. Where the new value is no note
value (a factor of 3), the metre is left out.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from roslin.errors import ArgumentError, FilterError, MelodyError
from roslin.melody.intervals import read_intervals
from roslin.melody.pitches import (
    LETTERS,
    MOST_SIGNS,
    NATURAL_SEMITONES,
    alterations,
    in_usual_order,
    is_spelled,
    pitch_numbers,
    signature_text,
    spelled,
    steps_of,
)
from roslin.melody.table import (
    BASE40_RANGE,
    MAX_TICKS,
    PITCH_RANGE,
    TICKS_PER_QUARTER,
    NoteTable,
    base40_from_midi,
    locked,
    sorted_table,
)
from roslin.types import Numbers

if TYPE_CHECKING:
    from roslin.melody.melody import Melody

_METRE_SIGNS = {"c": "4/4", "c/": "2/2"}
METRE_FRACTION = re.compile(r"([1-9]\d{0,2})/([1-9]\d{0,2})")


def metre_fraction(metre: str) -> tuple[int, int] | None:
    """The beats of a metre and their value; None where it is no fraction.

    >>> metre_fraction("6/8"), metre_fraction("c"), metre_fraction("3/4|2/4")
    ((6, 8), (4, 4), None)
    """
    found = METRE_FRACTION.fullmatch(_METRE_SIGNS.get(metre, metre))
    return None if found is None else (int(found[1]), int(found[2]))


def bar_number(start: float, melody: Melody) -> int | None:
    """The bar at a place in quarters, from 1; 0 is a pick-up. None: no bar lines.

    >>> from roslin import load
    >>> tune = load("%G-2@3/4 '4G/''CDE/2.F/")[0]
    >>> [bar_number(start, tune) for start in (0, 1, 3.5, 4)]
    [0, 1, 1, 2]
    """
    if not len(melody.barlines_ticks):
        return None
    lines = _lines(melody)
    return _first(lines) - 1 + int(np.searchsorted(lines, round(start * TICKS_PER_QUARTER), side="right"))


def bar_numbers(melody: Melody) -> range:
    """The numbers of all bars; none without bar lines."""
    if not len(melody.barlines_ticks):
        return range(0)
    lines = _lines(melody)
    return range(_first(lines), _first(lines) + len(lines) - (melody.end_ticks <= lines[-1]))


def bar_edges(melody: Melody, first: int, last: int) -> tuple[int, int]:
    """Where the first of several bars begins and the last ends, in ticks. The melody's last bar has no end."""
    known = bar_numbers(melody)
    if not known:
        raise ArgumentError("the melody has no bar lines, so it has no bars; cut it by notes, as in melody[:8]")
    for bar in (first, last):
        if not isinstance(bar, (int, np.integer)) or bar not in known:
            upbeat = " (0 is the pick-up)" if known[0] == 0 else ""
            raise ArgumentError(f"bars must be from {known[0]} to {known[-1]}{upbeat}; got {bar!r}")
    if first > last:
        raise ArgumentError(f"the first bar must not come after the last; got {first} and {last}")
    lines = _lines(melody)
    return int(lines[first - known[0]]), MAX_TICKS if last == known[-1] else int(lines[last - known[0] + 1])


def _lines(melody: Melody) -> Numbers:
    lines = np.unique(np.concatenate([[0], melody.barlines_ticks]))
    within = [tick for start, end in pairwise(lines.tolist()) for tick in _within_rest(melody, start, end)]
    return np.union1d(lines, within).astype(lines.dtype) if within else lines


def _within_rest(melody: Melody, start: int, end: int) -> Iterator[int]:
    """Where bars would end from one bar line to the next, if nothing sounds there but whole bars of rest."""
    metres = [melody.metre, *(each.metre for each in melody.changes if each.metre and each.onset_ticks <= start)]
    found = metre_fraction(metres[-1] or "")
    measure = 4 * found[0] * TICKS_PER_QUARTER // found[1] if found else 0
    if not measure or end - start <= measure or (end - start) % measure:
        return
    onsets = melody.notes["onset_ticks"]
    if not np.any((onsets < end) & (onsets + melody.notes["duration_ticks"] > start)):
        yield from range(start + measure, end, measure)


def _first(lines: Numbers) -> int:
    return 0 if len(lines) > 2 and lines[1] < lines[2] - lines[1] else 1


def cut_notes(melody: Melody, first: int, stop: int) -> Melody:
    """The rows from `first` to before `stop`. Rests before the first note of the melody stay where it does."""
    if (first, stop) == (0, len(melody)):
        return melody
    rows = melody.notes[first:stop].copy()
    begin = int(rows["onset_ticks"][0]) if first and len(rows) else 0
    sounding = rows[~rows["is_grace"]]
    end = int((sounding["onset_ticks"] + sounding["duration_ticks"]).max(initial=begin))
    return _part(melody, rows, begin, MAX_TICKS if stop == len(melody) and len(rows) else end)


def cut_time(melody: Melody, begin: int, end: int) -> Melody:
    """The music between two moments, in ticks. A note that extends beyond one of them is cut there."""
    notes = melody.notes
    onsets, grace = notes["onset_ticks"], notes["is_grace"]
    ends = onsets + np.where(grace, 0, notes["duration_ticks"])
    rows = notes[(onsets < end) & ((ends > begin) | (onsets >= begin))].copy()
    grace = rows["is_grace"]
    starts = np.maximum(rows["onset_ticks"], begin)
    stops = np.minimum(rows["onset_ticks"] + rows["duration_ticks"], end)
    rows["duration_ticks"] = np.where(grace, rows["duration_ticks"], stops - starts)
    rows["onset_ticks"] = starts
    return _part(melody, rows, begin, end)


def _part(melody: Melody, rows: NoteTable, begin: int, end: int) -> Melody:
    rows["onset_ticks"] -= begin
    lines = melody.barlines_ticks[(melody.barlines_ticks > begin - (begin == 0)) & (melody.barlines_ticks <= end)]
    signs: dict[str, Any] = {"clef": melody.clef, "key_signature": melody.key_signature, "metre": melody.metre}
    later = []
    for change in sorted(melody.changes, key=lambda change: change.onset_ticks):
        if 0 < begin >= change.onset_ticks:
            signs = {name: value if (new := getattr(change, name)) is None else new for name, value in signs.items()}
        elif change.onset_ticks < end:
            later.append(replace(change, onset_ticks=change.onset_ticks - begin))
    return _variant(melody, rows, barlines_ticks=locked(lines - begin), changes=tuple(later), **signs)


def _variant(melody: Melody, rows: NoteTable, **changes: Any) -> Melody:
    """The melody with other notes, and without the text of its source."""
    rows["source_column"] = 0
    return replace(melody, notes=sorted_table(rows), music=None, notation=None, **changes)


# Higher or lower

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
            limits = f"pitches must stay from {PITCH_RANGE[0]} to {PITCH_RANGE[1]}"
            raise ArgumentError(f"{limits}; transposed by {interval!r}, one would be {pitch}")
    if steps is None:
        steps = min(steps_of(semitones), key=lambda steps: _signs(melody, semitones, steps))
    notes = melody.notes.copy()
    notes["pitch_midi"] = pitches
    notes["pitch_base40"] = [
        _spelled(base40, pitch, semitones, steps)
        for base40, pitch in zip(melody.notes["pitch_base40"].tolist(), pitches.tolist(), strict=True)
    ]
    return _variant(
        melody,
        notes,
        key=_key(melody.key, semitones, steps),
        key_signature=_signature(melody.key_signature or "", semitones, steps) or None,
        changes=tuple(
            change
            if change.key_signature is None
            else replace(change, key_signature=_signature(change.key_signature, semitones, steps) or _NO_SIGNS)
            for change in melody.changes
        ),
    )


def inverted(melody: Melody) -> Melody:
    """The melody mirrored at its first note, moved by octaves where it would leave the range of pitches."""
    if not len(melody):
        return melody
    notes = melody.notes.copy()
    pitches = 2 * int(notes["pitch_midi"][0]) - notes["pitch_midi"].astype(int)
    octaves = max(0, math.ceil((PITCH_RANGE[0] - pitches.min()) / 12))
    octaves -= max(0, math.ceil((pitches.max() - PITCH_RANGE[1]) / 12))
    pitches += 12 * octaves
    if pitches.min() < PITCH_RANGE[0] or pitches.max() > PITCH_RANGE[1]:
        raise ArgumentError("the melody has too wide a range to be inverted")
    base40 = 2 * int(notes["pitch_base40"][0]) - notes["pitch_base40"].astype(int) + 40 * octaves
    usual = base40_from_midi(pitches)
    notes["pitch_midi"] = pitches
    notes["pitch_base40"] = [
        each if is_spelled(each, pitch) else other
        for each, pitch, other in zip(base40.tolist(), pitches.tolist(), usual.tolist(), strict=True)
    ]
    return _variant(melody, notes, key=None, key_signature=None, changes=())


def retrograde(melody: Melody) -> Melody:
    """The melody from its end to its beginning, without grace notes."""
    notes = melody.notes[~melody.notes["is_grace"]].copy()
    end = melody.end_ticks
    notes["onset_ticks"] = end - notes["onset_ticks"] - notes["duration_ticks"]
    bars = np.sort(end - melody.barlines_ticks[melody.barlines_ticks <= end])
    return _variant(melody, notes, barlines_ticks=bars, changes=())


DIRECTIONS: dict[str, Callable[[Melody], Melody]] = {
    "inverted": inverted,
    "retrograde": retrograde,
    "both": lambda melody: retrograde(inverted(melody)),
}


def _size(interval: int | str) -> tuple[int, int | None]:
    """Semitones and staff steps, both below 0 downwards; None: the steps are not said."""
    wanted = "a whole number of semitones, or one interval with its direction, such as 'perfect fifth up'"
    try:
        if not isinstance(interval, str):
            return operator.index(interval), None
        found = read_intervals(interval, "chromatic")
    except FilterError as error:
        raise ArgumentError(f"{interval!r}: {error}") from None
    except TypeError:
        found = []
    if len(found) != 1 or not (found[0].direction or found[0].size == found[0].steps == 0):
        raise ArgumentError(f"a melody is transposed by {wanted}; got {interval!r}")
    named = found[0]
    return named.size * named.direction, None if named.steps is None else named.steps * named.direction


def _moved(letter: int, sharps: int, semitones: int, steps: int) -> tuple[int, int, int]:
    octaves, place = divmod(letter + steps, 7)
    natural = 12 * octaves + NATURAL_SEMITONES[place] - NATURAL_SEMITONES[letter]
    return place, octaves, sharps + semitones - natural


def _spelled(base40: int, pitch: int, semitones: int, steps: int) -> int:
    letter, octave, sharps = spelled(base40)
    if sharps <= MOST_SIGNS:
        place, octaves, new = _moved(letter, sharps, semitones, steps)
        number = pitch_numbers(place, octave + octaves, new)[1]
        if abs(new) <= MOST_SIGNS and BASE40_RANGE[0] <= number <= BASE40_RANGE[1]:
            return number
    return int(base40_from_midi(pitch))


def _signs(melody: Melody, semitones: int, steps: int) -> tuple[int, int]:
    moved = [_moved(*spelled(number)[::2], semitones, steps)[2] for number in melody.notes["pitch_base40"].tolist()]
    signature = _altered(melody.key_signature or "", semitones, steps)
    return sum(map(abs, signature.values())), sum(map(abs, moved))


def _altered(signature: str, semitones: int, steps: int) -> dict[str, int]:
    before = alterations(signature)
    moved = (_moved(letter, before.get(name, 0), semitones, steps) for letter, name in enumerate(LETTERS))
    return {LETTERS[place]: sharps for place, _, sharps in moved}


def _signature(signature: str, semitones: int, steps: int) -> str:
    """A key signature after the move; "" for one without signs, or with more than can be written."""
    altered = _altered(signature, semitones, steps)
    return signature_text(in_usual_order(altered)) if max(map(abs, altered.values())) < 2 else ""


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


# In longer or shorter notes

_SHORTEST_UNIT = 128


def stretched(melody: Melody, factor: float | Fraction) -> Melody:
    """The melody with every time multiplied by a factor."""
    if not isinstance(factor, Real) or isinstance(factor, bool) or not 0 < float(factor) < math.inf:
        raise ArgumentError(f"the factor must be finite and above 0; got {factor!r}")
    by = Fraction(factor) if isinstance(factor, (int, float, Fraction)) else Fraction(float(factor))
    if by == 1:
        return melody
    notes = melody.notes.copy()
    onsets, lengths = notes["onset_ticks"], notes["duration_ticks"]
    starts, ends = _times(onsets, by), _times(onsets + lengths, by)
    if ends.max(initial=0) >= MAX_TICKS:
        raise MelodyError(f"stretched by {factor}, the melody would be longer than {MAX_TICKS} ticks")
    if np.any((ends == starts) & (lengths > 0)):
        raise MelodyError(f"stretched by {factor}, a note would be shorter than a tick (1/40320 of a quarter note)")
    notes["onset_ticks"], notes["duration_ticks"] = starts, ends - starts
    metres = [metre and _metre(metre, by) for metre in (melody.metre, *(change.metre for change in melody.changes))]
    metre, *changed = [None] * len(metres) if "" in metres else metres  # all of them, or none
    places = _times(np.array([change.onset_ticks for change in melody.changes], dtype=np.int64), by).tolist()
    return _variant(
        melody,
        notes,
        metre=metre,
        barlines_ticks=locked(_times(melody.barlines_ticks, by)),
        changes=tuple(
            replace(change, onset_ticks=place, metre=new)
            for change, place, new in zip(melody.changes, places, changed, strict=True)
        ),
    )


def _times(ticks: Numbers, by: Fraction) -> Numbers:
    """Ticks times a factor, rounded to the nearest; in whole numbers of any size, which numpy has not."""
    double = [2 * tick * by.numerator + by.denominator for tick in ticks.tolist()]
    return np.array([min(tick // (2 * by.denominator), MAX_TICKS) for tick in double], dtype=np.int64)


def _metre(metre: str, by: Fraction) -> str:
    """3/4 as 3/2, c as 4/2; parts that alternate, 3/4|2/4, each; "" where there is no such metre."""
    parts = []
    for part in metre.split("|"):
        found = metre_fraction(part)
        unit = found[1] / by if found else Fraction(1, 2)
        if found is None or unit.denominator != 1 or unit > _SHORTEST_UNIT or unit.numerator & (unit.numerator - 1):
            return ""
        parts.append(f"{found[0]}/{unit}")
    return "|".join(parts)
