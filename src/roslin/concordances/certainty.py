"""How sure a pair is, in words: by its probability, or by its distance where a radius was asked for.

Whatever a level limits is called a pair's doubt: the smaller, the surer. Without a matcher that is what its probability
of being the same tune (`probability`) lacks to 1, otherwise its distance. A level that is stricter by the factor
`stricter` says which groups are stable (`groups`).
"""

from __future__ import annotations

from dataclasses import dataclass

from roslin.concordances.groups import STRICTER
from roslin.display.words import N_, _, number
from roslin.errors import ArgumentError

# The doubt that each word allows at most, and the word that stands beside a pair.
LEVELS = {"same": 0.1, "probably": 0.5, "perhaps": 0.8}
_WORDS = {"same": N_("same tune"), "probably": N_("probably"), "perhaps": N_("perhaps")}
_BEYOND = N_("no more alike than chance")
_STRICTER_RADIUS = 2.0


@dataclass(frozen=True, slots=True)
class Certainty:
    """The largest doubt, and what it is: a distance by a matcher, or, without one, 1 less a probability.

    >>> Certainty(0.1).level_words, Certainty(0.1, "twv").level_words
    ('a probability of at least 90 %', 'distance at most 0.1 by twv')
    """

    level: float
    matcher: str = ""

    @classmethod
    def of(cls, text: str) -> Certainty:
        """From a word, or a probability.

        >>> Certainty.of("probably").level, Certainty.of("0.95").level, Certainty.of("95 %").level
        (0.5, 0.05, 0.05)
        """
        said = text.strip().lower()
        if said in LEVELS:
            return cls(LEVELS[said])
        try:
            probability = float(said.removesuffix("%")) / (100 if said.endswith("%") else 1)
        except ValueError:
            probability = 0.0
        if not 0 < probability < 1:
            words = ", ".join(LEVELS)
            raise ArgumentError(f"the level must be one of {words}, or a probability between 0 and 1; got {text!r}")
        return cls(round(1 - probability, 12))

    @property
    def level_words(self) -> str:
        """What every pair keeps to."""
        if self.matcher:
            said = _("distance at most {number} by {matcher}")
            return said.format(number=f"{self.level:g}", matcher=self.matcher)
        return _("a probability of at least {percent}").format(percent=_percent(self.level))

    @property
    def stricter(self) -> float:
        """So many times as small must the doubt be of a pair that is beyond doubt."""
        return _STRICTER_RADIUS if self.matcher else STRICTER

    @property
    def stricter_words(self) -> str:
        """The same in words: "at ..."."""
        if self.matcher:
            return _("half the radius")
        return _("a probability of {least}").format(least=_percent(self.level / self.stricter))

    def word(self, doubt: float) -> str:
        """How sure a pair is.

        >>> Certainty(0.1).word(0.02), Certainty(0.1, "twv").word(0.0625)
        ('same tune', 'distance 0.0625')
        """
        if self.matcher:
            return _("distance {number}").format(number=f"{doubt:.3g}")
        return _(next((_WORDS[word] for word, most in LEVELS.items() if doubt <= most), _BEYOND))

    def number(self, doubt: float) -> str:
        """The number behind it, short.

        >>> Certainty(0.1).number(0.026), Certainty(0.1).number(1e-6), Certainty(0.1, "twv").number(0.0625)
        ('97 %', '> 99.9 %', 'by twv')
        """
        return _("by {matcher}").format(matcher=self.matcher) if self.matcher else _percent(doubt)

    def words(self, doubt: float) -> str:
        """The number in words.

        >>> Certainty(0.1).words(0.003), Certainty(0.1).words(1e-6), Certainty(0.1, "twv").words(0.0625)
        ('a probability of 99.7 %', 'a probability of more than 99.9 %', 'distance 0.0625 by twv')
        """
        if self.matcher:
            return _("distance {number} by {matcher}").format(number=f"{doubt:.3g}", matcher=self.matcher)
        percent = _percent(doubt)
        said = _("a probability of more than {percent}") if percent.startswith(">") else _("a probability of {percent}")
        return said.format(percent=percent.removeprefix("> "))


def _percent(doubt: float) -> str:
    """What a doubt leaves, with a decimal where 99 and 100 would say too little; never more than there is."""
    if doubt < 0.001:
        return f"> {number(99.9, 1)} %"
    share = 100 * (1 - doubt)
    return f"{number(share, 0 if doubt > 0.01 or round(share, 1) == round(share) else 1)} %"
