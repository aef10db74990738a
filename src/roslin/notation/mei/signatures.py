"""Clef, key signature, metre, transposition and units of a staff, from definitions and from signs between the notes."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from roslin.notation.mei.staff import Staff
from roslin.notation.mei.values import ALTERATIONS, LETTERS, integer
from roslin.notation.scores import Element

_UNPITCHED = ("perc", "TAB")  # shapes of clefs
_SHARPS, _FLATS = "FCGDAEB", "BEADGCF"
_MAJOR_KEYS = ("Cb", "Gb", "Db", "Ab", "Eb", "Bb", "F", "C", "G", "D", "A", "E", "B", "F#", "C#")
# How far along the circle of fifths the keynote of a mode lies from that of major.
_MODES = {"major": 0, "minor": 3, "dorian": 2, "phrygian": 4, "lydian": -1, "mixolydian": 1, "aeolian": 3}


def define(staff: Staff, definition: Element, signs: Iterable[Element], onset: Fraction) -> None:
    """Clef, key, metre, transposition and units, from attributes and from the signs inside (`signs_in`)."""
    for sign in signs:
        sign_in_music(staff, sign, onset)
    get = definition.get
    _set_clef(staff, onset, get("clef.shape"), get("clef.line"), get("clef.dis"), get("clef.dis.place"))
    if (signature := get("key.sig") or get("keysig")) and signature != "mixed":
        _set_key(staff, onset, signature, get("key.mode"), definition)
    _set_metre(staff, onset, get("meter.count"), get("meter.unit"), get("meter.sym"), definition)
    if (semitones := integer(get("trans.semi"))) is not None:
        staff.transposition = (semitones, integer(get("trans.diat")))
    if (pulses := integer(get("ppq"))) is not None and pulses > 0:
        staff.declared_ppq = Fraction(pulses)
        staff.ppq_in_doubt = staff.ppq is not None and staff.ppq != pulses
        staff.ppq = staff.ppq or staff.declared_ppq
    staff.default_duration = get("dur.default") or staff.default_duration
    staff.default_octave = get("oct.default") or staff.default_octave


def signs_in(definition: Element) -> list[Element]:
    """The clef, key signature and metre that a definition holds as elements: the last of each."""
    found: dict[str, Element] = {}
    for child in definition.children:
        sign = next(iter(child.children), child) if child.tag == "meterSigGrp" else child
        if sign.tag in ("clef", "keySig", "meterSig"):
            found[sign.tag] = sign
    return list(found.values())


def sign_in_music(staff: Staff, element: Element, onset: Fraction) -> None:
    """A clef, key signature or metre from this onset on; other elements say nothing."""
    get = element.get
    if element.tag == "clef":
        _set_clef(staff, onset, get("shape"), get("line"), get("dis"), get("dis.place"))
    elif element.tag == "keySig":
        _set_key(staff, onset, get("sig"), get("mode"), element)
    elif element.tag == "meterSig":
        _set_metre(staff, onset, get("count"), get("unit"), get("sym"), element)


def _set_clef(staff: Staff, onset: Fraction, shape: str, line: str, displacement: str, place: str) -> None:
    staff.is_unpitched = shape in _UNPITCHED if shape else staff.is_unpitched
    staff.sign(onset, "clef", _clef(shape, line, displacement, place))


def _clef(shape: str, line: str, displacement: str, place: str) -> str | None:
    if shape == "GG":
        shape, line, displacement, place = "G", line or "2", "8", "below"
    if shape not in ("G", "C", "F") or line not in ("1", "2", "3", "4", "5"):
        return None
    return f"{'g' if shape == 'G' and displacement == '8' and place == 'below' else shape}-{line}"


def _set_key(staff: Staff, onset: Fraction, signature: str, mode: str, element: Element) -> None:
    count = integer(signature[:-1]) if signature[-1:] in ("s", "f") else 0
    sharps = signature.endswith("s")
    if signature and count is not None and 0 <= count <= 7:
        letters = (_SHARPS if sharps else _FLATS)[:count]
        alterations = dict.fromkeys(letters, 1 if sharps else -1)
    else:
        accidentals = [child for child in element.children if child.tag == "keyAccid"]
        named = {a.get("pname").lower(): ALTERATIONS.get(a.get("accid"), 0) for a in accidentals}
        alterations = {name.upper(): value for name, value in named.items() if name in LETTERS}
        if not alterations:
            return
        count = None
    staff.key_alterations = {LETTERS[name.lower()]: value for name, value in alterations.items()}
    signs = {1: "x", -1: "b"}
    text = ""
    for value, sign in signs.items():
        names = "".join(name for name, altered in alterations.items() if altered == value)
        text += sign + names if names else ""
    staff.sign(onset, "key_signature", text or ("n" if staff.now.key_signature else None))
    if onset == 0 and not staff.notes and staff.start.key is None:
        staff.start.key = _key_name(element, mode, count if sharps or count is None else -count)


def _key_name(element: Element, mode: str, fifths: int | None) -> str | None:
    """The key in words, where the mode is known: "D major", "F# minor"."""
    if not mode:
        return None
    if letter := element.get("pname") or element.get("key.pname"):
        accidental = element.get("accid") or element.get("key.accid")
        return letter.upper() + {"s": "#", "f": "b"}.get(accidental, "") + " " + mode
    place = None if fifths is None or mode not in _MODES else fifths + 7 + _MODES[mode]
    return f"{_MAJOR_KEYS[place]} {mode}" if place is not None and 0 <= place < len(_MAJOR_KEYS) else None


def _set_metre(staff: Staff, onset: Fraction, count: str, unit: str, symbol: str, element: Element) -> None:
    if not (count and unit):
        count, unit = {"common": ("4", "4"), "cut": ("2", "2")}.get(symbol, ("", ""))
    beats = [integer(number) for number in count.split("+")]
    value = integer(unit)
    if not count or not value or value < 1 or any(number is None or number < 1 for number in beats):
        if count:
            staff.warn(element, "unreadable metre", "a metre such as 3/4", repr(f"{count}/{unit}"[:20]))
        return
    staff.beat_quarters = Fraction(4, value)
    staff.bar_quarters = staff.beat_quarters * sum(number or 0 for number in beats)
    staff.sign(onset, "metre", f"{count}/{unit}")
