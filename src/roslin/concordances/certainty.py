"""How sure a pair is, in words: by the number of chance matches, or by its distance where a radius was asked for.

Whatever a level limits is called a pair's doubt: the smaller, the surer. A level that is stricter by the factor
`stricter` says which groups are stable (`groups`).
"""

from __future__ import annotations

from dataclasses import dataclass

from roslin.run.meaning import by_chance, expected_words, meaning_of

__all__ = ["Certainty"]

_STRICTER_CHANCE, _STRICTER_RADIUS = 10.0, 2.0


@dataclass(frozen=True, slots=True)
class Certainty:
    """A level, and what it limits: the distance by a matcher, or, without one, chance matches.

    >>> Certainty(0.001).level_words, Certainty(0.1, "twv").level_words
    ('at most 0.001 such matches expected by chance', 'distance at most 0.1 by twv')
    """

    level: float
    matcher: str = ""

    @property
    def level_words(self) -> str:
        """What every pair keeps to."""
        return f"distance at most {self.level:g} by {self.matcher}" if self.matcher else f"at most {self._by_chance}"

    @property
    def _by_chance(self) -> str:
        return by_chance(self.level)

    @property
    def stricter(self) -> float:
        """So many times as strict a level must find a pair that is beyond doubt."""
        return _STRICTER_RADIUS if self.matcher else _STRICTER_CHANCE

    @property
    def stricter_words(self) -> str:
        """The same in words: "at ..."."""
        return "half the radius" if self.matcher else f"a level {_STRICTER_CHANCE:g} times as strict"

    def word(self, doubt: float) -> str:
        """How sure a pair is.

        >>> Certainty(0.02).word(0.0001), Certainty(0.1, "twv").word(0.0625)
        ('same tune', 'distance 0.0625')
        """
        return f"distance {doubt:.3g}" if self.matcher else meaning_of(doubt)

    def number(self, doubt: float) -> str:
        """The number behind it, short.

        >>> Certainty(0.02).number(0.0001), Certainty(0.1, "twv").number(0.0625)
        ('E 0.0001', 'by twv')
        """
        return f"by {self.matcher}" if self.matcher else f"E {expected_words(doubt)}"

    def words(self, doubt: float) -> str:
        """The number in words.

        >>> Certainty(0.02).words(0.003), Certainty(0.1, "twv").words(0.0625)
        ('0.003 such matches expected by chance', 'distance 0.0625 by twv')
        """
        return f"distance {doubt:.3g} by {self.matcher}" if self.matcher else by_chance(doubt)
