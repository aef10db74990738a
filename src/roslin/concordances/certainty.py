"""How certain it is that two melodies are the same tune: the matches expected by chance, a probability, and words.

Chance, as for a query (`search.chance`): a fixed sample of the collection shows how much unrelated melodies usually
score with a melody, and the calibrated tail how quickly higher scores become rare. This gives E, the number of melodies
that would reach a score by chance. Turned round, each E is a score that a pair must reach (`Chances`). A pair is found
when it reaches the score of either of its melodies: a fragment is rare within a long melody, though most of the long
melody is missing in the fragment.

Two numbers together give the probability: E for each of the two melodies (their geometric mean), and the distance. E
alone treats a run of a scale within two long melodies as a match, the distance alone two short melodies that are alike
by chance.

    logit P = base - by_chance * ln E - by_distance * distance

The three numbers are fitted on RISM, where pairs of different records name the same composer or not, with half of the
composers; the other half tests them (dev/measurements/concordances.md, `tools/fit_concordances.py`). Two unrelated
melodies may have the same composer: the fit takes that off, and pairs judged by eye correct the rest.

The number that a level limits is a pair's doubt: the smaller, the more certain. Without a matcher it is one less the
probability, with a matcher the distance (`Certainty`). A level that is stricter by the factor `stricter` shows which
groups are stable (`groups`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from roslin.concordances.groups import STRICTER
from roslin.display.words import N_, _, number
from roslin.errors import ArgumentError
from roslin.matchers.roslin.scores import Planner, Tables
from roslin.matchers.roslin.table import MelodyTable, backwards, one, scorer
from roslin.native import kernels
from roslin.search.chance import TAIL_SHARE, Tail, between, middles_and_spreads
from roslin.tolerances import ON_GRID
from roslin.types import Floats, Numbers, Scores

NEVER = np.iinfo(np.int32).max  # of a melody so short that chance explains even the whole of it
_LEAST = 1e-300  # what the logarithm of no chance at all is taken of
# The largest doubt that each label allows.
LEVELS = {"same": 0.1, "probably": 0.5, "perhaps": 0.8}
_WORDS = {"same": N_("same tune"), "probably": N_("probably"), "perhaps": N_("perhaps")}
_BEYOND = N_("no more alike than chance")
_STRICTER_RADIUS = 2.0


@dataclass(frozen=True, slots=True)
class Certainty:
    """The largest doubt, and what it is: a distance by a matcher, or, without one, 1 less a probability.

    >>> Certainty(0.1).level_words, Certainty(0.1, "twv").level_words
    ('a probability of at least 90%', 'distance at most 0.1 by twv')
    """

    level: float
    matcher: str = ""

    @classmethod
    def of(cls, text: str) -> Certainty:
        """From a word, or a probability.

        >>> Certainty.of("probably").level, Certainty.of("95 %").level, Certainty.of("95%").level
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
        if self.matcher:
            said = _("distance at most {number} by {matcher}")
            return said.format(number=f"{self.level:g}", matcher=self.matcher)
        return _("a probability of at least {percent}").format(percent=_percent(self.level))

    @property
    def stricter(self) -> float:
        """How many times smaller a doubt must be for a pair to be beyond doubt."""
        return _STRICTER_RADIUS if self.matcher else STRICTER

    @property
    def stricter_words(self) -> str:
        """The stricter level in words, to follow "at"."""
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
        ('97%', '> 99.9%', 'by twv')
        """
        return _("by {matcher}").format(matcher=self.matcher) if self.matcher else _percent(doubt)

    def words(self, doubt: float) -> str:
        """The number in words.

        >>> Certainty(0.1).words(0.003), Certainty(0.1).words(1e-6), Certainty(0.1, "twv").words(0.0625)
        ('a probability of 99.7%', 'a probability of more than 99.9%', 'distance 0.0625 by twv')
        """
        if self.matcher:
            return _("distance {number} by {matcher}").format(number=f"{doubt:.3g}", matcher=self.matcher)
        percent = _percent(doubt)
        said = _("a probability of more than {percent}") if percent.startswith(">") else _("a probability of {percent}")
        return said.format(percent=percent.removeprefix("> "))


def _percent(doubt: float) -> str:
    """The certainty in percent, rounded down, with a decimal above 99."""
    if doubt < 0.001:
        return "> " + _("{percent}%").format(percent=number(99.9, 1))
    share = 100 * (1 - doubt)
    digits = 0 if doubt > 0.01 or round(share, 1) == round(share) else 1
    return _("{percent}%").format(percent=number(share, digits))


# -- the probability of a pair ----------------------------------------------------------------------------------------


class Fitted(NamedTuple):
    """The numbers of the formula above."""

    base: float
    by_chance: float
    by_distance: float


FITTED = Fitted(base=2.12, by_chance=0.473, by_distance=10.675)


def probability(expected: Floats, distances: Floats, numbers: Fitted = FITTED) -> Floats:
    """Of pairs, from their chance matches and their distances.

    >>> probability(np.array([1e-9, 0.01, 0.01]), np.array([0.1, 0.1, 0.5])).round(2)
    array([1.  , 0.96, 0.26])
    """
    odds = numbers.base - numbers.by_chance * np.log(np.maximum(expected, _LEAST)) - numbers.by_distance * distances
    return np.asarray(1.0 / (1.0 + np.exp(-odds)))


# -- chance -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Chances:
    """For each melody: the score at which the tail begins, how fast it falls from there, and its self-score.

    Among `searched` melodies, `searched * TAIL_SHARE * exp(-(score - begin) / scale)` score so much by chance.
    """

    begins: Floats
    scales: Floats
    own_scores: Scores
    searched: int

    def needed(self, level: float) -> Scores:
        """The score from which on each melody has at most `level` chance matches."""
        # The tail describes no more than its share of the melodies.
        rarer = np.log(min(level / (self.searched * TAIL_SHARE), 1.0))
        scores = np.maximum(np.ceil(self.begins - self.scales * rarer - ON_GRID), 0)
        return np.where((scores <= self.own_scores) & (self.scales > 0), scores, NEVER).astype(np.int32)

    def expected(self, which: Numbers, scores: Scores) -> Floats:
        """How many melodies would reach these scores with these melodies by chance; the tail's share at most."""
        above = np.maximum(np.minimum(scores, self.own_scores[which]) - self.begins[which], 0.0)
        scales = np.where(self.scales[which] > 0, self.scales[which], np.inf)
        return np.asarray(self.searched * TAIL_SHARE * np.exp(-above / scales))


def chances_of(
    table: MelodyTable, tables: Tables, tails: dict[int, Tail], sample: Numbers, numbers: Numbers
) -> tuple[Floats, Floats]:
    """(begins, scales) of the melodies with these numbers, from those of a sample."""
    planner = Planner(tables)
    queries = table.take(numbers)
    found, reversals = np.empty((len(numbers), len(sample))), np.empty(len(numbers), np.int32)
    kernels.align_each(queries, backwards(queries), tables, reversals)
    for row in range(len(numbers)):
        found[row] = scorer(one(queries, row), table, planner)(sample)
    middles, spreads = middles_and_spreads(found)
    begins, scales = np.empty(len(numbers)), np.empty(len(numbers))
    for size in np.unique(table.sizes[numbers]).tolist():
        of_size = table.sizes[numbers] == size
        begins[of_size], scales[of_size] = between(tails, size).of(
            middles[of_size], spreads[of_size], reversals[of_size]
        )
    return begins, scales
