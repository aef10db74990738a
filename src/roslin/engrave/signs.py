"""The signs of a score in MEI: note values, spelled pitches, clef, key signature and time signature."""

from __future__ import annotations

from roslin.melody import TICKS_PER_QUARTER, SignatureChange, base40_from_midi
from roslin.melody.pitches import LETTERS, fifths_of, is_spelled, spelled
from roslin.notation.lengths import dotted, values_for
from roslin.notation.pae.signatures import WHOLE_NOTE_TICKS, read_clef, read_key_signature, read_time_signature

ACCIDENTALS = {-2: "ff", -1: "f", 0: "n", 1: "s", 2: "x"}
SOUNDING = ACCIDENTALS | {2: "ss"}

_METRE_SIGNS = {"c": 'sym="common"', "c/": 'sym="cut"', "2": 'count="2" unit="2" form="num"'}
_METRE_SIGNS["3"] = 'count="3" unit="4" form="num"'

_NAMES = ("long", "breve", "1", "2", "4", "8", "16", "32", "64", "128", "256", "512")
_TICKS = {name: 4 * WHOLE_NOTE_TICKS >> power for power, name in enumerate(_NAMES)}
FLAGGED = frozenset(_NAMES[5:])
_VALUES = dotted(_TICKS, 2)
VALUE_TICKS = {value: ticks for ticks, value in _VALUES.items()}
_MOST_TIED = 12  # a longer chain of ties is no notation: the music was never in bars


def spelling(base40: int, midi: int) -> tuple[str, int, int]:
    """Letter, octave and alteration; the usual spelling where the two pitches of a note contradict each other."""
    letter, octave, alter = spelled(base40 if is_spelled(base40, midi) else int(base40_from_midi(midi)))
    return LETTERS[letter], octave, alter


def clef_sign(text: str) -> str:
    """ "G-2" as MEI; "g-2" sounds an octave lower."""
    clef = read_clef(text)[0] or "G-2"
    lower = ' dis="8" dis.place="below"' if clef[0] == "g" else ""
    return f'<clef shape="{clef[0].upper()}" line="{clef[-1]}"{lower}/>'


def key_sign(text: str, *, cancel: bool = False) -> str:
    """The key signature; `cancel` writes one without signs too, for a change of key."""
    alterations = read_key_signature(text).alterations
    if not alterations:
        return '<keySig sig="0"/>' if cancel else ""
    if fifths := fifths_of(alterations):
        return f'<keySig sig="{abs(fifths)}{"s" if fifths > 0 else "f"}"/>'
    signs = (
        f'<keyAccid pname="{letter.lower()}" accid="{ACCIDENTALS[alter]}" oct="{5 if letter in "CDE" else 4}"/>'
        for letter, alter in alterations.items()
    )
    return f"<keySig>{''.join(signs)}</keySig>"


def key_and_metre(change: SignatureChange) -> str:
    """Key and metre of a change."""
    key = key_sign(change.key_signature, cancel=True) if change.key_signature is not None else ""
    return key + (metre_sign(change.metre) if change.metre else "")


def metre_sign(text: str) -> str:
    """The time signature; "3/4|4/4" alternates; old signs that have no modern form are left out."""
    signs = []
    for part in read_time_signature(text).text.split("|"):
        upper, _, lower = part.partition("/")
        if part in _METRE_SIGNS:
            signs.append(f"<meterSig {_METRE_SIGNS[part]}/>")
        elif upper.isdigit() and lower.isdigit():
            signs.append(f'<meterSig count="{upper}" unit="{lower}"/>')
    if len(signs) > 1:
        return f'<meterSigGrp func="alternating">{"".join(signs)}</meterSigGrp>'
    return "".join(signs)


# -- note values: lengths in ticks as plain or dotted notes, alone, tied, or in a tuplet ------------------------------


def note_values(ticks: int) -> list[tuple[str, int]] | None:
    """Note values that add up to a length, longest first, or None."""
    return values_for(ticks, _VALUES, _MOST_TIED)


def grace_value(ticks: int) -> str:
    """The longest plain value that is not longer than a grace note; an eighth for one without a length."""
    return next((name for name, length in _TICKS.items() if length <= ticks), "8")


def beat_ticks(metre: str) -> int:
    """How long a beam group is: a quarter, three eighths in 6/8 and its kin, the bar in 3/8."""
    upper, _, lower = metre.partition("|")[0].partition("/")
    if not (upper.isdigit() and lower.isdigit()):
        return TICKS_PER_QUARTER
    unit = WHOLE_NOTE_TICKS // int(lower)
    return 3 * unit if int(upper) % 3 == 0 and int(lower) >= 8 else max(unit, TICKS_PER_QUARTER)
