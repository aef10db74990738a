"""The pitch of a note: from its letter, octave and accidentals, or from the source that the MEI was made of.

An accidental is what @accid.ges or @accid says. Only where a score has no @accid.ges at all are the key signature and
the accidentals earlier in the bar taken into account.
"""

from __future__ import annotations

from roslin.notation.mei.controls import Context
from roslin.notation.mei.notes import Pitch
from roslin.notation.mei.staff import Staff
from roslin.notation.mei.values import ALTERATIONS, LETTERS, NEAREST, integer
from roslin.notation.scores import Element

_UNPITCHED = frozenset({"loc", "tab.course", "tab.fret", "tab.line", "tab.string"})  # percussion, tablature


def pitch_of(element: Element, staff: Staff, context: Context, octaves: int, held: bool) -> Pitch | None:
    """The pitch, written or sounding as the context asks; None for a note without one, or with one out of range."""
    letter = LETTERS.get(element.get("pname").lower())
    if letter is None:
        if context.tells_names and not (staff.is_unpitched or _UNPITCHED.intersection(element.attributes)):
            found = repr(element.get("pname")[:20]) if element.get("pname") else "none"
            staff.warn(element, "note without a name", "@pname from a to g", found)
        return None
    semitones, steps = staff.transposition
    written = context.written_pitch
    known = context.sounding(element.get("xml:id")) if context.sounding else None
    if known is not None:
        back = -steps if steps is not None else None
        return known.moved(-semitones, back) if written and (semitones or steps) else known
    sounding_octave = integer(element.get("oct.ges"))
    octave = integer(element.get("oct") or staff.default_octave)
    if sounding_octave is None and octave is not None:
        sounding_octave = octave + octaves
    if sounding_octave is None or not -1 <= sounding_octave <= 12:
        staff.warn(element, "note without an octave", "@oct from 0 to 9", repr(element.get("oct")))
        return None
    step = 7 * sounding_octave + letter
    pitch = Pitch(step, _alteration(element, staff, context, step, held))
    if not written and (semitones or steps):
        pitch = pitch.moved(semitones, steps)
    if not 0 <= pitch.midi <= 127:
        staff.warn(element, "pitch out of range", "a MIDI pitch from 0 to 127", str(pitch.midi))
        return None
    return pitch


def _alteration(element: Element, staff: Staff, context: Context, step: int, held: bool) -> int:
    places = [element, *(child for child in element.children if child.tag == "accid")]
    for name in ("accid.ges", "accid"):
        for place in places:
            if sign := place.get(name):
                return _remember(staff, step, _sign(staff, place, sign))
    if not context.infer_accidentals:
        return 0
    if held and step in staff.last_alterations:
        return staff.last_alterations[step]
    key = staff.key_alterations.get(step % 7, 0)
    alteration = staff.last_alterations[step] = staff.bar_alterations.get(step, key)
    return alteration


def _remember(staff: Staff, step: int, alteration: int) -> int:
    staff.bar_alterations[step] = staff.last_alterations[step] = alteration
    return alteration


def _sign(staff: Staff, element: Element, sign: str) -> int:
    if sign in ALTERATIONS:
        return ALTERATIONS[sign]
    staff.warn(element, "accidental that is no semitone", "sharp, flat or natural", repr(sign[:20]))
    return NEAREST.get(sign, 0)
