"""The signs of a score in MEI: how a pitch is spelled, clef, key signature and time signature."""

from __future__ import annotations

from roslin.melody import SignatureChange, base40_from_midi
from roslin.melody.pitches import LETTERS, is_spelled, spelled
from roslin.notation.pae.signatures import read_clef, read_key_signature, read_time_signature

ACCIDENTALS = {-2: "ff", -1: "f", 0: "n", 1: "s", 2: "x"}
SOUNDING = ACCIDENTALS | {2: "ss"}
_SHARPS, _FLATS = "FCGDAEB", "BEADGCF"

_METRE_SIGNS = {"c": 'sym="common"', "c/": 'sym="cut"', "2": 'count="2" unit="2" form="num"'}
_METRE_SIGNS["3"] = 'count="3" unit="4" form="num"'


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
    for sign, order, name in ((1, _SHARPS, "s"), (-1, _FLATS, "f")):
        usual = set(order[: len(alterations)])
        if usual == set(alterations) and set(alterations.values()) == {sign}:
            return f'<keySig sig="{len(alterations)}{name}"/>'
    signs = (
        f'<keyAccid pname="{letter.lower()}" accid="{ACCIDENTALS[alter]}" oct="{5 if letter in "CDE" else 4}"/>'
        for letter, alter in alterations.items()
    )
    return f"<keySig>{''.join(signs)}</keySig>"


def key_and_metre(change: SignatureChange) -> str:
    """What a change says about key and metre."""
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
