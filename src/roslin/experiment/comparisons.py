"""The choice of the next two or three candidates to compare: the most informative ones. Pure and seeded.

All answers so far give a strength for every candidate, by Bradley-Terry (pairs) or Plackett-Luce (the best of three):
the chance that one of a set is chosen is proportional to exp(strength). Strengths are approximately normal around their
most probable values (Laplace's approximation, with a normal prior). The expected information of an answer is its mutual
information with the strengths, the expected information gain of Lindley (1956). It is estimated from strengths drawn
from that approximation, for every set, or for a random thousand if there are more.

Before that, comparisons link candidates that no chain of comparisons links yet, because Bradley-Terry needs a common
scale. If the query hides among its candidates, a tenth of the comparisons, at random turns, are checks of attention:
the query is one of the candidates, and should be chosen.

A participant never compares the same two candidates twice, not even inside two sets of three. `most_comparisons` is
the number that one participant can certainly make.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from roslin.experiment.events import ExpertChoice
from roslin.experiment.plan import chance_of
from roslin.truth.choice_models import Vote, choice_slope_and_curve, newton
from roslin.types import Flags, Floats, Numbers

_PRECISION = 1 / 3.0**2  # of the prior: two strengths in three are within 3 of 0
_CHECKED = 10  # one comparison in ten is a check of attention
_SETS = 1000  # considered
_DRAWN_STRENGTHS = 48


def is_check(turn: int, wanted: int, *seed: object) -> bool:
    """Whether the comparison of a turn (from 0) is a check of attention. `seed`: as below, and the query."""
    checks = -(-wanted // _CHECKED)
    return wanted > checks and turn in chance_of(*seed, "checks").permutation(wanted)[:checks]


def next_comparison(
    documents: Sequence[str],
    everybody: Iterable[ExpertChoice],
    own: Iterable[ExpertChoice],
    size: int,
    *seed: object,
    among: str = "",
) -> tuple[str, ...]:
    """The documents that a participant compares next; none if all comparisons were made.

    `everybody`: the choices of all participants for this query, with those of this one (`own`). `seed`: the seed of the
    study and the name of the participant. `among`: a document to include while it has comparisons left.
    """
    names = tuple(sorted(documents))
    place = {name: k for k, name in enumerate(names)}
    mine, choices = list(own), list(everybody)
    sets = _unasked(len(names), size, [[place[name] for name in choice.documents] for choice in mine])
    if not len(sets):
        return ()
    if among:
        checks = sets[(sets == place[among]).any(axis=1)]
        sets = checks if len(checks) else sets
    chance = chance_of(*seed, len(mine))
    parts = _parts(len(names), [[place[name] for name in choice.documents] for choice in choices])
    linked = np.count_nonzero(np.diff(np.sort(parts[sets], axis=1), axis=1), axis=1)  # parts by each set, less one
    sets = sets[linked == linked.max()]
    if len(sets) > _SETS:
        sets = sets[chance.choice(len(sets), _SETS, replace=False)]
    best = sets[int(np.argmax(_gains(sets, *fitted_strengths(names, choices), chance)))]
    return tuple(names[k] for k in chance.permutation(best))


def fitted_strengths(documents: Sequence[str], choices: Iterable[ExpertChoice]) -> tuple[Floats, Floats]:
    """The most probable strength of every document, and their covariance. A tie counts in equal parts."""
    place = {name: k for k, name in enumerate(documents)}
    told, size = list(choices), len(documents)
    among, shares = np.zeros((len(told), size), dtype=bool), np.zeros((len(told), size))
    for row, choice in enumerate(told):
        compared = [place[name] for name in choice.documents]
        among[row, compared] = True
        shares[row, compared if choice.best is None else place[choice.best]] = 1.0
    shares /= shares.sum(axis=1, keepdims=True)

    def slope_and_curve(means: Floats) -> tuple[Floats, Floats]:
        slope, curve = choice_slope_and_curve(among, shares, np.ones(len(told)), means)
        return slope - _PRECISION * means, curve + np.eye(size) * _PRECISION

    means, curve = newton(slope_and_curve, np.zeros(size), longest=3.0, enough=1e-4, steps=30)
    return means, np.linalg.inv(curve).astype(np.float64)


def as_votes(query: str, expert: str, choices: Iterable[ExpertChoice]) -> list[Vote]:
    """Choices as votes: the best of three is preferred to each of the others."""
    votes = []
    for choice in choices:
        if choice.best is None:
            votes += [Vote(query, expert, first, second, "s") for first, second in combinations(choice.documents, 2)]
        else:
            others = [name for name in choice.documents if name != choice.best]
            votes += [Vote(query, expert, choice.best, other, "a") for other in others]
    return votes


@lru_cache(maxsize=32)
def _all_sets(count: int, size: int) -> Numbers:
    return np.array(list(combinations(range(count), size)), dtype=np.int64).reshape(-1, size)


def _unasked(count: int, size: int, asked: Iterable[Sequence[int]]) -> Numbers:
    """The sets without a pair that was compared before."""
    together, sets = _together(count, asked), _all_sets(count, size)
    known = [together[sets[:, first], sets[:, second]] for first, second in combinations(range(size), 2)]
    left: Numbers = sets[~np.any(known, axis=0)]
    return left


def _together(count: int, asked: Iterable[Sequence[int]]) -> Flags:
    together = np.zeros((count, count), dtype=bool)
    for places in asked:
        together[np.ix_(places, places)] = True
    return together


def _parts(count: int, asked: Iterable[Sequence[int]]) -> Numbers:
    """The number of the part of each candidate. Inside a part, chains of comparisons link any two candidates."""
    from scipy.sparse.csgraph import connected_components

    parts: Numbers = connected_components(_together(count, asked), directed=False)[1]
    return parts


def _gains(sets: Numbers, means: Floats, covariance: Floats, chance: np.random.Generator) -> Floats:
    """The expected information gain of each set, in nats."""
    from scipy.special import entr, softmax

    half = chance.standard_normal((_DRAWN_STRENGTHS // 2, len(means)))
    spread = np.concatenate([half, -half]) @ np.linalg.cholesky(covariance).T
    strengths = (means + spread)[:, sets]
    chances = softmax(strengths, axis=2)
    gains: Floats = entr(chances.mean(axis=0)).sum(axis=-1) - entr(chances).sum(axis=-1).mean(axis=0)
    return gains
