"""What the values of MEI attributes mean: whole numbers, lengths, dots, tuplets, accidentals."""

from __future__ import annotations

from fractions import Fraction

from roslin.notation.scores import Element

LETTERS = {letter: step for step, letter in enumerate("cdefgab")}

ALTERATIONS = {"s": 1, "f": -1, "ss": 2, "x": 2, "ff": -2, "xs": 3, "sx": 3, "ts": 3, "tf": -3, "n": 0}
ALTERATIONS |= {"nf": -1, "ns": 1}
# Quarter tones and the like: the nearest semitone, with a warning.
NEAREST = {"su": 1, "sd": 1, "fu": -1, "fd": -1, "nu": 0, "nd": 0, "1qs": 0, "1qf": 0, "3qs": 1, "3qf": -1}

QUARTERS = {"maxima": Fraction(32), "long": Fraction(16), "breve": Fraction(8)}
QUARTERS |= {str(2**power): Fraction(4, 2**power) for power in range(12)}
MENSURAL = frozenset(
    {"longa", "brevis", "semibrevis", "minima", "semiminima", "fusa", "semifusa", "nc", "neume", "syllable", "mensur"}
)


def integer(text: str) -> int | None:
    """A whole number of at most nine digits."""
    try:
        return int(text) if len(text) < 10 else None
    except ValueError:
        return None


def dots(text: str) -> Fraction:
    """How much longer dots make a note; more than eight count as eight."""
    count = min(max(integer(text) or 0, 0), 8)
    return 2 - Fraction(1, 2**count)


def dot_elements(element: Element) -> int:
    """The dots that a note has as elements of their own."""
    return sum(child.tag == "dot" for child in element.children)


def ratio(element: Element) -> Fraction:
    """How much shorter notes in a tuplet are. Without @numbase, they take the time of the next lower power of two."""
    number = integer(element.get("num")) or 3
    base = integer(element.get("numbase"))
    if number < 1:
        return Fraction(1)
    if base is None or base < 1:
        base = 1 << max((number - 1).bit_length() - 1, 0)
    return Fraction(base, number)
