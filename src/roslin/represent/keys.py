"""Keys: the ratings of the pitch classes in the 24 keys, and the key that some notes are in.

Reference: C. Krumhansl and E. Kessler's probe-tone ratings (1982), and Krumhansl and Schmuckler's way to find a key
with them (Krumhansl 1990): the key is the one of 24 whose ratings correlate best with how long each pitch class sounds.
Of equals, major comes before minor, then the tonic that is next above the first note: so the key of a transposed melody
is the transposed key. Keys have numbers: 0 to 11 are the major ones from C up, 12 to 23 the minor ones.

`key_name` reads the name of a key. Without a word for the mode, a capital letter is a major key and a small one a minor
key, as catalogues write. Flats and sharps follow the letter ("Bb", "B|b", "B flat") or, as in RISM, precede it ("bB",
"xf"). With a German word for the mode B is B flat and H is B; without one only H can be recognised.

`local_keys` gives each note the key of its area: the notes at the `AREA_REACH` onsets before it and after it, and those
at its own. An area counts onsets, not time, so that it is the same in any tempo. Its length is a compromise: of 677
incipits of RISM with a key in the catalogue and 24 notes or more, the key is right from their first 8 notes for 61 %,
from 17 (an area) for 67 %, from 24 for 70 %; and a longer area would reach across a modulation.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from roslin.native import kernels
from roslin.types import Floats

# As printed in Krumhansl 1990: C, C sharp, ... B in C major and in C minor.
RATINGS: Floats = np.array([
    [6.35, 2.23, 3.48, 2.33, 4.38, 4.09, 2.52, 5.19, 2.39, 3.66, 2.29, 2.88],
    [6.33, 2.68, 3.52, 5.38, 2.60, 3.53, 2.54, 4.75, 3.98, 2.69, 3.34, 3.17],
])  # fmt: skip
RATINGS.flags.writeable = False

AREA_REACH = 8  # onsets of an area on either side of a note


def all_keys(ratings: Floats) -> Floats:
    """(24, 12): ratings of the pitch classes in C major and C minor, (2, 12), moved to every key."""
    return np.array([np.roll(mode, tonic) for mode in ratings for tonic in range(12)])


PROFILES = all_keys(RATINGS)
PROFILES.flags.writeable = False
_CENTRED = PROFILES - PROFILES.mean(axis=1, keepdims=True)
# The ratings of each key with a mean of 0 and a length of 1: what they are correlated with.
_DIRECTIONS = _CENTRED / np.linalg.norm(_CENTRED, axis=1, keepdims=True)


def local_keys(
    times: npt.ArrayLike,
    pitches: npt.ArrayLike,
    weights: npt.ArrayLike,
    offsets: npt.ArrayLike | None = None,
    reach: int = AREA_REACH,
) -> npt.NDArray[np.int64]:
    """The number of the key around each note, of notes in order of time (Typke et al. 2007, section 5).

    The area is that of `reach` onsets before and after. It is smaller where the melody begins or ends earlier.
    `offsets` has the beginning of each of several melodies and the end of the last.

    >>> line = [60, 62, 64, 65, 67, 64, 60, 66, 68, 70, 71, 73, 70, 66]
    >>> local_keys(range(14), line, [1] * 14, reach=3)[[0, -1]].tolist()
    [0, 6]
    """
    onsets = np.asarray(times, dtype=np.float64)
    ends = np.array([0, len(onsets)]) if offsets is None else np.asarray(offsets)
    keys = np.empty(len(onsets), np.int64)
    kernels.keys_around(
        onsets,
        np.asarray(np.rint(pitches), dtype=np.int64) % 12,
        np.asarray(weights, dtype=np.float64),
        np.asarray(ends, dtype=np.int64),
        reach,
        _DIRECTIONS,
        keys,
    )
    return keys


_SYLLABLES = {"do": "C", "ut": "C", "re": "D", "mi": "E", "fa": "F", "sol": "G", "la": "A", "si": "B"}
_MODES = {
    **dict.fromkeys(("major", "maj", "dur", "majeur", "maggiore", "mayor"), "major"),
    **dict.fromkeys(("minor", "min", "moll", "mineur", "minore", "menor", "m"), "minor"),
    **{mode: mode for mode in ("ionian", "dorian", "phrygian", "lydian", "mixolydian", "aeolian", "locrian")},
}
_GERMAN = ("dur", "moll")
_SHARP = ("x", "#", "♯", "is", "sharp", "diese", "diesis")
_FLAT = ("b", "♭", "es", "s", "flat", "bemol", "bemolle")
_KEY_NAME = re.compile(
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
    found = _KEY_NAME.fullmatch(" ".join("".join(sign for sign in apart if not unicodedata.combining(sign)).split()))
    if found is None:
        return None
    tonic, mode = found["tonic"], "major" if found["mode"] == "M" else (found["mode"] or "").lower()
    sign = (found["sign"] or found["suffix"] or found["word"] or "").lower()
    if (found["before"] and (sign or len(tonic) > 1)) or (mode and mode not in _MODES):
        return None
    if len(tonic) > 1 and not mode and tonic[0].islower():
        return None  # there is no convention for their mode
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
