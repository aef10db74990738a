"""The practice that comes with Roslin: a nursery tune in our own setting, in disguises, among tunes that are others."""

from __future__ import annotations

from roslin.melody import Melody
from roslin.notation import pae

__all__ = ["PRACTICE_QUERY", "usual_practice"]

PRACTICE_QUERY = "practice-query"
# "Hänschen klein" (traditional); among the others "Der Winter ist vergangen" (traditional).
_QUERY = "%G-2@c '4GE2E/4FD2D/4CDEF/4GG2G//"
_CANDIDATES = {
    "practice-higher": ("resembles", "%G-2$xFC@c '4AF2F/4GE2E/4DEFG/4AA2A//"),
    "practice-decorated": ("resembles", "%G-2@c '8GFEFE2E/8FEDED2D/8CEDFEGFA/4GG2G//"),
    "practice-longer": ("resembles", "%G-2@c '4.G8E2E/4.F8D2D/4.C8DEDEF/4GG2G//"),
    "practice-call": ("no", "%G-2@6/8 '8C/4E8G4''C'8G/4E8G4.E/4D8F4A8F/4.D4D//"),
    "practice-winter": ("no", "%G-2$bB@3/4 '4C/FFG/A2F/4AB''C/'2A4A//"),
    "practice-scale": ("no", "%G-2@3/4 ''4C'BA/GFE/2D4G/2.C//"),
}


def usual_practice() -> tuple[dict[str, Melody], dict[str, str]]:
    """The melodies of the practice, the query first, and what most people would say of each candidate."""
    query = {PRACTICE_QUERY: _QUERY} | {id: text for id, (_, text) in _CANDIDATES.items()}
    melodies = {id: pae.read(text).with_metadata(id=id) for id, text in query.items()}
    return melodies, {id: expected for id, (expected, _) in _CANDIDATES.items()}
