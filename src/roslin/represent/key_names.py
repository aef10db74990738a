"""The names of keys: "g", "G minor", "g-Moll", "Sol mineur" are one key, "G" and "G major" another.

Without a word for the mode, a capital letter is a major key and a small one a minor key, as catalogues write. Flats and
sharps stand behind the letter ("Bb", "B|b", "B flat") or, as in RISM, before it ("bB", "xf"). With a German word for
the mode B is B flat and H is B; without one only H can be told.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_SYLLABLES = {"do": "C", "ut": "C", "re": "D", "mi": "E", "fa": "F", "sol": "G", "la": "A", "si": "B"}
_MODES = {
    **dict.fromkeys(("major", "maj", "dur", "majeur", "maggiore", "mayor"), "major"),
    **dict.fromkeys(("minor", "min", "moll", "mineur", "minore", "menor", "m"), "minor"),
    **{mode: mode for mode in ("ionian", "dorian", "phrygian", "lydian", "mixolydian", "aeolian", "locrian")},
}
_GERMAN = ("dur", "moll")
_SHARP = ("x", "#", "♯", "is", "sharp", "diese", "diesis")
_FLAT = ("b", "♭", "es", "s", "flat", "bemol", "bemolle")
_NAME = re.compile(
    r"(?P<before>(?-i:[bx#]))?(?P<tonic>do|ut|re|mi|fa|sol|la|si|[A-H])"
    r"(?:[\s-]+(?P<word>sharp|flat|diese|diesis|bemol(?:le)?)|[\s|'-]*(?P<sign>x|\#|♯|b|♭)|(?P<suffix>is|es|s))?"
    r"(?:[\s-]*(?P<mode>[a-z.]+))?",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def key_name(text: str) -> str | None:
    """The name of a key in one spelling; None where the text names none.

    >>> [key_name(text) for text in ("g", "G minor", "g-Moll", "Sol mineur")]
    ['G minor', 'G minor', 'G minor', 'G minor']
    >>> key_name("G"), key_name("B|b"), key_name("Es-Dur"), key_name("2e mode")
    ('G major', 'B flat major', 'E flat major', None)
    """
    apart = unicodedata.normalize("NFD", text.strip("[]() \t\n"))
    found = _NAME.fullmatch(" ".join("".join(sign for sign in apart if not unicodedata.combining(sign)).split()))
    if found is None:
        return None
    tonic, mode = found["tonic"], "major" if found["mode"] == "M" else (found["mode"] or "").lower()
    sign = (found["sign"] or found["suffix"] or found["word"] or "").lower()
    if (found["before"] and (sign or len(tonic) > 1)) or (mode and mode not in _MODES):
        return None
    if len(tonic) > 1 and not mode and tonic[0].islower():
        return None  # no custom says which mode that is
    sharps = _sharps(sign or (found["before"] or "").lower(), tonic)
    letter = _SYLLABLES.get(tonic.lower(), tonic.upper())
    if sharps is None:
        return None
    if letter == "H":
        letter = "B"
    elif letter == "B" and mode in _GERMAN and not sharps:
        sharps = -1
    named = _MODES[mode] if mode else "major" if tonic[0].isupper() else "minor"
    return f"{letter}{(' flat', '', ' sharp')[sharps + 1]} {named}"


def _sharps(sign: str, tonic: str) -> int | None:
    """1 for a sharp, -1 for a flat; None for what is no sign behind this letter, such as the s of "Gs"."""
    if sign == "s" and tonic.upper() not in ("A", "E"):
        return None
    return 1 if sign in _SHARP else -1 if sign in _FLAT else 0
