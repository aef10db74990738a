"""From ranks to groups: walk down the arranged list, begin a group where a candidate differs (Urbano et al. 2010).

The rule selects the earlier candidates that it must differ from:

  all    from every one in reach: large groups. With two tails this is the original of Typke et al. (2007)
  any    from at least one in reach: small groups
  prev   from the one just before it

The scope limits these: `group`, the current group (Urbano et al. 2010), or `list`, everything before it (Typke et al.
2007). `prev` looks at one candidate in either scope. A difference is a p-value below alpha, strictly; 0.25 in both.
One-tailed tests ask whether the earlier candidate has the smaller ranks.

`METHODS` has two whole methods by name. `typke2005` is the one of Typke et al. (2007) and Urbano et al. (2010), and
what `Method()` is. `roslin`, which `roslin truth group` and the dashboard of a study use, survives careless experts: a
candidate that an expert left out counts as last, one that fewer than a quarter of the experts ranked is judged not
relevant, and experts who failed the check of attention do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from roslin.display.text import some_of
from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth.model import UNRANKED, Arranged, Groups, Truth, arrange, votes_needed
from roslin.truth.rankings import QueryRankings, Rankings, as_rankings, attentive
from roslin.truth.ranktests import CORRECTIONS, TESTS, corrected_pairs, pairwise_less, two_tailed
from roslin.types import Flags, Floats, Numbers

# A rule: (differs from the one before, differs from all in reach, differs from any in reach) -> begins a group.
RULES: dict[str, Callable[[Flags, Flags, Flags], Flags]] = {
    "all": lambda _prev, every, _any: every,
    "any": lambda _prev, _every, some: some,
    "prev": lambda prev, _every, _any: prev,
}
# A scope: where what is in reach begins, given where the current group does.
SCOPES: dict[str, Callable[[Numbers], Numbers]] = {"group": lambda start: start, "list": np.zeros_like}


@dataclass(frozen=True)
class Method:
    """The method that makes groups from rankings. Its defaults are those of both papers.

    `rule`, `scope`: when a candidate begins a group, as described for the module. `test`, `tails`, `alpha`: two
    candidates differ where the p-value of this test (`roslin.truth.ranktests`) is below alpha. `correction` of the
    p-values of a list: `holm` or `bh`. `unranked`: a candidate that a participant omitted does not count (`drop`) or
    counts as `last`. `min_votes`: the number of participants (below 1: their share) who must have ranked a candidate.
    Other candidates are judged not relevant. `attention`: whether participants who failed the attention check are
    omitted (`roslin.truth.agreement`).

    >>> Method("any", tails=1).name, method_named("roslin").unranked
    ('Any-1', 'last')
    """

    rule: str = "all"
    tails: int = 2
    alpha: float = 0.25
    scope: str = "group"
    test: str = "asymptotic"
    unranked: str = "drop"
    min_votes: float = 1
    correction: str | None = None
    attention: bool = False

    def __post_init__(self) -> None:
        known: tuple[tuple[str, object, Iterable[Any]], ...] = (
            ("rule", self.rule, RULES),
            ("scope", self.scope, SCOPES),
            ("test", self.test, TESTS),
            ("way to count unranked candidates", self.unranked, UNRANKED),
            ("correction", self.correction, (None, *CORRECTIONS)),
        )
        for kind, name, names in known:
            if name not in names:
                raise UnknownNameError(kind, str(name), map(str, names))
        if self.tails not in (1, 2):
            raise ArgumentError(f"tails must be 1 or 2; got {self.tails!r}")
        if not 0 < self.alpha <= 1:
            raise ArgumentError(f"alpha must be above 0 and at most 1; got {self.alpha!r}")
        votes_needed(self.min_votes, 1)

    @property
    def name(self) -> str:
        """As in Urbano et al. (2010): All-2, Any-1, ..."""
        return f"{self.rule.capitalize()}-{self.tails}"

    def considered(self, rankings: Rankings) -> Rankings:
        """The rankings of the participants who count."""
        return attentive(rankings) if self.attention else rankings

    def pvalues(self, ranks: Floats, *, quick: bool = False) -> Floats:
        """p[..., i, j] for the difference of i, the earlier, and j, corrected if required. Ranks are in arranged order.

        `quick`: as in `pairwise_less`.
        """
        less = pairwise_less(ranks, self.test, quick=quick)
        votes = np.count_nonzero(~np.isnan(ranks), axis=-2)
        return corrected_pairs(two_tailed(less) if self.tails == 2 else less, self.correction, votes)


SIX_FUNCTIONS = tuple(Method(rule, tails) for tails in (2, 1) for rule in ("all", "any", "prev"))

# Whole methods by name: the papers', and ours.
METHODS: dict[str, Method] = {
    "roslin": Method(unranked="last", min_votes=0.25, attention=True),
    "typke2005": Method(),
}


def method_named(name: str) -> Method:
    """A whole method by its name: `roslin` or `typke2005`."""
    if name not in METHODS:
        raise UnknownNameError("method", name, METHODS)
    return METHODS[name]


def function_named(name: str) -> Method:
    """A function of Urbano et al. (2010) by its name; small and capital letters are the same.

    >>> function_named("any-1").rule
    'any'
    """
    known = {method.name: method for method in SIX_FUNCTIONS}
    found = known.get(name.capitalize())
    if found is None:
        raise UnknownNameError("grouping", name, known)
    return found


@dataclass(frozen=True, eq=False)
class Grouped:
    """A grouped list: what was arranged, p[i, j] of every pair (i before j), and where each group begins."""

    arranged: Arranged
    pvalues: Floats
    starts: tuple[int, ...]

    @property
    def groups(self) -> Groups:
        """The documents of each group, in arranged order."""
        documents = self.arranged.documents
        return tuple(documents[start:end] for start, end in pairwise((*self.starts, len(documents))))


def group_rankings(
    rows: Iterable[Any],
    rule: str = "all",
    tails: int = 2,
    alpha: float = 0.25,
    scope: str = "group",
    *,
    test: str = "asymptotic",
    unranked: str = "drop",
    min_votes: float = 1,
    correction: str | None = None,
    attention: bool = False,
) -> Truth:
    """A truth from rows (query, expert, document, rank). `Method` explains the choices.

    The defaults are those of the papers. `grouped_truth(rankings, method_named("roslin"))` groups as `roslin truth
    group` does. A candidate that no participant ranked (or fewer than `min_votes`) is judged not relevant. A query with
    a single participant cannot be tested. It is one group, and the truth's `notes` mention it.

    >>> rows = [("q", f"expert {n}", d, r) for n in range(9) for d, r in (("a", 1), ("b", 2 + n % 2), ("c", 3 - n % 2))]
    >>> group_rankings(rows)["q"]
    (('a',), ('b', 'c'))
    """
    method = Method(rule, tails, alpha, scope, test, unranked, min_votes, correction, attention)
    return grouped_truth(as_rankings(rows), method)


def grouped_truth(rankings: Rankings, method: Method) -> Truth:
    """The truth that a method makes from rankings."""
    considered = method.considered(rankings)
    return truth_of_groups({query: groups_of(said, method) for query, said in considered.items()}, method)


def truth_of_groups(grouped: Mapping[str, Grouped], method: Method) -> Truth:
    """The groups of every query. Candidates that no or too few experts ranked are judged not relevant."""
    return Truth(
        {query: each.groups for query, each in grouped.items()},
        nonrelevant={query: each.arranged.left_out for query, each in grouped.items()},
        name=method.name,
        notes=[note for query, each in grouped.items() for note in _notes(query, each)],
    )


def groups_of(rankings: QueryRankings, method: Method) -> Grouped:
    """The groups of one query, with the data they follow from. All participants of `rankings` count."""
    arranged = arrange(rankings, method.unranked, method.min_votes)
    pvalues = method.pvalues(arranged.ranks)
    begins = group_starts(pvalues < method.alpha, method)
    return Grouped(arranged, pvalues, tuple(np.flatnonzero(begins).tolist()))


def group_starts(differs: Flags, method: Method) -> Flags:
    """Where groups begin: (..., n) from differs[..., i, j], i before j. Many lists may be given at once."""
    size = differs.shape[-1]
    begins = np.zeros(differs.shape[:-1], dtype=bool)
    if not size:
        return begins
    rule, scope = RULES[method.rule], SCOPES[method.scope]
    begins[..., 0] = True
    start = np.zeros(differs.shape[:-2], dtype=np.int64)
    for pivot in range(1, size):
        before = differs[..., :pivot, pivot]
        in_reach = np.arange(pivot) >= scope(start)[..., None]
        every, some = np.all(before | ~in_reach, axis=-1), np.any(before & in_reach, axis=-1)
        begins[..., pivot] = rule(before[..., -1], every, some)
        start = np.where(begins[..., pivot], pivot, start)
    return begins


def _notes(query: str, grouped: Grouped) -> list[str]:
    notes = []
    experts = grouped.arranged.experts
    if len(experts) == 1:
        notes.append(f"query {query}: only one expert ({experts[0]}); no difference can be tested")
    if not grouped.arranged.documents:
        notes.append(f"query {query}: nobody ranked any candidate often enough; its list is empty")
    if grouped.arranged.by_few:
        few, needed = grouped.arranged.by_few, grouped.arranged.needed
        why = f"judged not relevant, as fewer than {needed} of {len(experts)} experts ranked"
        notes.append(f"query {query}: {why}: {some_of(few)}")
    medians, means, votes = grouped.arranged.medians, grouped.arranged.means, grouped.arranged.votes
    same = (medians[1:] == medians[:-1]) & (means[1:] == means[:-1]) & (votes[1:] == votes[:-1])
    for k in np.flatnonzero(same):
        first, second = grouped.arranged.documents[k : k + 2]
        notes.append(f"query {query}: {first} and {second} have the same median, mean and votes; their ids decide")
    return notes


# -- panels ------------------------------------------------------------------------------------------------------------
#
# What truth would other experts have given? As many of them, drawn with replacement from those at hand, grouped again.
#
# An expert who is drawn is drawn for all queries, with everything they said: what they share (a school, an instrument,
# a bad day) stays together. An expert who is drawn twice counts as two.


def panel_truths(rankings: Rankings, method: Method, panels: int = 200, seed: int = 2005) -> Iterator[Truth]:
    """The truth of each panel. A query that no participant of a panel judged has an empty list.

    Participants who failed the attention check are in no panel.
    """
    if panels < 2:
        raise ArgumentError(f"panels must be at least 2; got {panels}")
    rankings, method = method.considered(rankings), replace(method, attention=False)
    people = rankings.experts
    if len(people) < 2:
        raise ArgumentError(f"other panels can be drawn from two experts or more; got {len(people)}")
    chance = np.random.default_rng(seed)
    row_of = {query: {expert: k for k, expert in enumerate(each.experts)} for query, each in rankings.items()}
    for _ in range(panels):
        drawn = [people[k] for k in chance.integers(len(people), size=len(people))]
        panel = []
        for query, each in rankings.items():
            present = [expert for expert in drawn if expert in row_of[query]]
            ranks = each.ranks[[row_of[query][expert] for expert in present]]
            panel.append(QueryRankings(query, tuple(present), each.documents, ranks))
        yield grouped_truth(Rankings(panel), method)
