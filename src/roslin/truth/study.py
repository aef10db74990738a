"""Everything about rankings at once: groups, and beside them what they are worth.

For every query: its groups, how many groups noise would give, how certain each boundary is, which candidates rank high
with few votes, how consistent the list is, how far the experts agree, and how many more of them neighbours would need.
`roslin truth group` and the report show the same study.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.display.table import FrameLibrary, Table
from roslin.display.text import counted, some_of
from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth.choice_models import (
    FittedStrengths,
    QueryVotes,
    Vote,
    bradley_terry,
    count_votes,
    group_votes,
    plackett_luce,
    segment_votes,
    segments,
    strength_groups,
    truth_of_strengths,
)
from roslin.truth.consistency import Boundary, ListConsistency, boundaries, query_consistency, spurious
from roslin.truth.grouping import Grouped, Method, group_starts, groups_of, truth_of_groups
from roslin.truth.model import Groups, Truth, arranged_order, counted_ranks, votes_needed
from roslin.truth.rankings import QueryRankings, Rankings, as_rankings, kendall_w, krippendorff_alpha
from roslin.truth.tables import Neighbours, groups, more_experts, people, strengths
from roslin.types import Floats, Progress

# The columns of `Study.lists` that a screen has room for.
SHOWN = ("query", "group", "document", "median", "mean", "votes", "largest_p", "confidence")


@dataclass(frozen=True, eq=False)
class QueryStudy:
    """One query: its list, what noise would give, how consistent the list is, and how far the experts agree.

    `null` is None and `boundaries` is empty where nothing was shuffled, `neighbours` is empty where no power was asked
    for.
    """

    grouped: Grouped
    null: NullGroups | None
    consistency: ListConsistency
    neighbours: list[Neighbours]
    kendall_w: float
    alpha: float
    boundaries: tuple[Boundary, ...] = ()

    @property
    def sentence(self) -> str:
        """Groups found beside groups of noise, in words."""
        return self.null.sentence() if self.null else counted(len(self.grouped.starts), "group")

    @property
    def line_at(self) -> dict[int, Boundary]:
        """The line above each candidate that begins a group, by its position."""
        return {line.position: line for line in self.boundaries}

    @property
    def spurious(self) -> float | None:
        """How many lines are expected to be spurious; None where nothing was shuffled."""
        return None if self.null is None else spurious(self.boundaries)

    @property
    def doubts(self) -> list[str]:
        """Doubts, one sentence each: boundaries that may be spurious, candidates that rank high with few votes."""
        arranged, said = self.grouped.arranged, []
        if self.boundaries:
            doubtful = [line.below for line in self.boundaries if line.is_doubtful]
            which = f"; more likely spurious than real: above {some_of(doubtful)}" if doubtful else ""
            lines = counted(len(self.boundaries), "line")
            said.append(f"about {spurious(self.boundaries):.1f} of {lines} may be spurious{which}")
        if arranged.thin:
            thin = [f"{arranged.documents[k]} ({arranged.votes[k]})" for k in arranged.thin]
            most = arranged.votes[min(arranged.thin) :].max()
            said.append(
                f"high by few votes: {some_of(thin)}; later candidates have up to {most} "
                "(--min-votes or --unranked last would change that)"
            )
        return said

    @property
    def agreement(self) -> str:
        """How far the experts agree, in words; nothing where that cannot be said."""
        named = (("Kendall's W", self.kendall_w), ("Krippendorff's alpha", self.alpha))
        return ", ".join(f"{name} {value:.2f}" for name, value in named if value == value)


@dataclass(frozen=True, eq=False)
class Study:
    """Rankings of all participants, the method, and its result for each query. It prints as tables.

    `left_out` names the participants who failed the attention check and do not count.
    """

    rankings: Rankings
    method: Method
    queries: dict[str, QueryStudy]
    left_out: tuple[str, ...] = ()

    @property
    def truth(self) -> Truth:
        """The groups of every query, as a truth."""
        return truth_of_groups({query: each.grouped for query, each in self.queries.items()}, self.method)

    @property
    def summary(self) -> Table:
        """A row for each query: groups, groups found in noise, agreement, consistency (ADR-1)."""
        rows = []
        for query, each in self.queries.items():
            arranged, null = each.grouped.arranged, each.null
            sizes = len(arranged.experts), len(arranged.documents), len(each.grouped.starts)
            noise = (None, None) if null is None else (null.mean, null.p)
            agreement = each.kendall_w, each.alpha, each.consistency.value
            rows.append((query, *sizes, *noise, each.spurious, len(arranged.thin), *agreement))
        columns = ("query", "experts", "candidates", "groups", "noise", "p", "spurious", "thin", "W", "alpha", "ADR-1")
        note = (
            "noise: mean number of groups when every expert's ranks are shuffled; p: how often that gives at least as "
            "many groups as were found. spurious: how many lines between groups are expected to be so, from ranks that "
            "are shuffled within neighbouring groups. thin: candidates above others with more than twice their votes. "
            "W: Kendall's concordance; alpha: Krippendorff's (ordinal), not the level of the tests. ADR-1: consistency."
        )
        return Table.of(columns, rows, f"Queries, grouped by {self.method.name}", note=note, key="summary")

    @property
    def experts(self) -> Table:
        """A row for each participant, the least agreeing first."""
        return people(self.rankings, self.left_out)

    def lists(self, titles: Mapping[str, str] | None = None) -> Table:
        """A row for each candidate, in the order of the lists, with `titles` if known."""
        rows = [row for query in self.queries for row in self._list(query, titles or {})]
        columns = ("query", "group", "document", "title", "median", "mean", "deviation", "low_10", "quartile_1")
        more = ("quartile_3", "high_10", "votes", "largest_p", "noise_groups", "noise_p", "confidence", "thin")
        return Table((*columns, *more), tuple(rows), "Lists", key="lists")

    def _list(self, query: str, titles: Mapping[str, str]) -> Iterable[dict[str, Any]]:
        each = self.queries[query]
        arranged = each.grouped.arranged
        medians, means = arranged.medians, arranged.means
        lines = each.line_at
        group = 0
        for k, document in enumerate(arranged.documents):
            group += k in each.grouped.starts
            sample = arranged.sample(k)
            low, first, third, high = np.quantile(sample, [0.1, 0.25, 0.75, 0.9]).tolist()
            yield {
                "query": query,
                "group": group,
                "document": document,
                "title": titles.get(document, ""),
                "median": float(medians[k]),
                "mean": float(means[k]),
                "deviation": float(np.std(sample, ddof=1)) if len(sample) > 1 else None,
                "low_10": low,
                "quartile_1": first,
                "quartile_3": third,
                "high_10": high,
                "votes": int(arranged.votes[k]),
                "thin": "thin" if k in arranged.thin else "",
                "largest_p": float(each.grouped.pvalues[:k, k].max()) if k else None,
                "confidence": lines[k].confidence if k in lines else None,
                "noise_groups": each.null.mean if each.null else None,
                "noise_p": each.null.p if each.null else None,
            }

    def to_frame(self, library: FrameLibrary = "pandas") -> Any:
        """The lists as a data frame of pandas or polars."""
        return self.lists().to_frame(library)

    def __str__(self) -> str:
        return "\n\n".join(f"{table.title}\n\n{table}" for table in self._shown)

    def _repr_html_(self) -> str:
        return "".join(table.to_html() for table in self._shown)

    @property
    def _shown(self) -> tuple[Table, ...]:
        return self.summary, self.lists().only(*SHOWN)


def study_rankings(
    rows: Iterable[Any],
    method: Method | None = None,
    shuffles: int = 1000,
    seed: int = 2005,
    *,
    power: bool = True,
    progress: Progress = lambda _done, _query: None,
) -> Study:
    """Group rankings, and estimate the reliability of the groups. `rows` are as for `group_rankings`.

    `shuffles` = 0 omits the shuffled rankings, and no `power` omits the number of participants needed.

    >>> rows = [("q", f"expert {n}", d, r) for n in range(9) for d, r in (("a", 1), ("b", 2 + n % 2), ("c", 3 - n % 2))]
    >>> found = study_rankings(rows, shuffles=200)
    >>> found.truth["q"]
    (('a',), ('b', 'c'))
    >>> found.queries["q"].sentence
    '2 groups; shuffled rankings give 1.3 (as many or more: p = 0.3)'
    """
    rankings, chosen = as_rankings(rows), method or Method()
    considered = chosen.considered(rankings)
    found = {}
    for number, (query, said) in enumerate(considered.items()):
        progress(number, query)
        grouped = groups_of(said, chosen)
        found[query] = QueryStudy(
            grouped,
            null_groups(said, chosen, shuffles, seed, grouped=grouped) if shuffles else None,
            query_consistency(grouped.groups, said, replace(chosen, tails=1)),
            more_experts(said, chosen, seed=seed) if power else [],
            kendall_w(said),
            krippendorff_alpha(said),
            boundaries(grouped, chosen, shuffles, seed) if shuffles else (),
        )
    return Study(rankings, chosen, found, tuple(name for name in rankings.experts if name not in considered.experts))


# -- model study -------------------------------------------------------------------------------------------------------
#
# Groups from models of what people said, strengths of rankings or of votes, and beside them what noise would give.
#
# `study` does the same for groups from tests of ranks.


VOTE_MODELS = ("segments", "bradley-terry")


@dataclass(frozen=True, eq=False)
class ModelStudy:
    """The truth of a model, its table, and for every query the groups found in noise.

    `nulls` is empty if nothing was shuffled. `of` is the kind of data: rankings or votes.
    """

    truth: Truth
    table: Table
    nulls: dict[str, NullGroups]
    of: str

    @property
    def sentences(self) -> list[str]:
        """A sentence for each query: groups found, and groups found in noise."""
        return [f"query {query}: {null.sentence(self.of)}" for query, null in self.nulls.items()]

    def to_frame(self, library: FrameLibrary = "pandas") -> Any:
        """The table as a data frame of pandas or polars."""
        return self.table.to_frame(library)

    def __str__(self) -> str:
        return "\n".join([*self.sentences, "", str(self.table)] if self.nulls else [str(self.table)])

    def _repr_html_(self) -> str:
        return self.table.to_html()


def study_strengths(
    rows: Iterable[Any],
    method: Method | None = None,
    resamples: int = 200,
    shuffles: int = 100,
    seed: int = 2005,
    *,
    progress: Progress = lambda _done, _query: None,
) -> ModelStudy:
    """Groups by strength after Plackett and Luce, with `resamples` panels of participants and `shuffles` of their
    ranks.

    >>> rows = [("q", f"expert {n}", d, r) for n in range(9) for d, r in (("a", 1), ("b", 2 + n % 2), ("c", 3 - n % 2))]
    >>> study_strengths(rows).sentences
    ['query q: 2 groups; shuffled rankings give 1.3 (as many or more: p = 0.26)']
    """
    chosen = method or Method(unranked="last")
    fitted, nulls = {}, {}
    for number, (query, said) in enumerate(as_rankings(rows).items()):
        progress(number, query)
        fitted[query] = plackett_luce(said, chosen.unranked, resamples, seed)
        if shuffles:
            nulls[query] = null_strengths(said, fitted[query], chosen, shuffles, seed)
    truth = truth_of_strengths(fitted, chosen)
    return ModelStudy(truth, strengths(fitted, truth), nulls, "rankings")


def study_votes(
    votes: Sequence[Vote],
    model: str = "segments",
    margin: int = 2,
    method: Method | None = None,
    shuffles: int = 200,
    seed: int = 2005,
    *,
    progress: Progress = lambda _done, _query: None,
) -> ModelStudy:
    """Groups from preference votes: `segments`, in which a lead of `margin` votes counts, or `bradley-terry`.

    Of the method, Bradley-Terry takes rule, tails and alpha.

    >>> votes = [Vote("q", "", "a", "b", "a")] * 9 + [Vote("q", "", "b", "c", "s")] * 8
    >>> study_votes(votes).truth["q"]
    (('a',), ('b', 'c'))
    """
    chosen = method or Method()
    if model not in VOTE_MODELS:
        raise UnknownNameError("model", model, VOTE_MODELS)
    group: Callable[[QueryVotes], Groups]
    if model == "segments":
        truth, group = segment_votes(votes, margin), partial(segments, margin=margin)
    else:
        truth, group = (
            group_votes(votes, chosen.rule, chosen.tails, chosen.alpha),
            lambda each: strength_groups(bradley_terry(each), chosen),
        )
    nulls = {}
    for number, (query, votes_of) in enumerate(count_votes(votes).items() if shuffles else ()):
        progress(number, query)
        nulls[query] = null_votes(votes_of, group, shuffles, seed)
    return ModelStudy(truth, groups(truth), nulls, "votes")


# -- groups of noise ---------------------------------------------------------------------------------------------------
#
# The number of groups that noise gives: the same procedure on shuffled rankings or votes.
#
# Each expert's ranks are shuffled among all candidates of the query, including unranked ones. The right number of
# groups is then 1. At alpha 0.25 the more eager functions of Urbano et al. (2010) find several (Any-1 about 5 among 20
# candidates), although their lists are the most consistent: consistency alone does not make a group real.
#
# A thousand shuffles are a million tests. Exact and permutation tests are made only where both samples are small, else
# the asymptotic test, which is within 0.03 of them. The bootstrap of Plackett-Luce is made to first order.
#
# Preference votes are shuffled pair by pair: the votes for neither are spread over all pairs that were asked, and a
# coin decides every other vote. Segments end at pairs that were not asked, so their estimate is too low rather than too
# high.


# Shuffles done at once, so that p-values of all pairs of 1,000 shuffles of 50 candidates take some 20 MB, not 800.
_SHUFFLES_AT_ONCE = 250


@dataclass(frozen=True, eq=False)
class NullGroups:
    """Groups found, and the number of groups in each shuffle."""

    found: int
    shuffled: npt.NDArray[np.int64]

    @property
    def mean(self) -> float:
        """How many groups noise gives on average."""
        return float(self.shuffled.mean())

    @property
    def p(self) -> float:
        """How often noise gives at least as many groups as were found. The observed groups count as one shuffle."""
        return float((np.count_nonzero(self.shuffled >= self.found) + 1) / (len(self.shuffled) + 1))

    def sentence(self, what: str = "rankings") -> str:
        """Groups found beside groups of noise, in words."""
        return (
            f"{counted(self.found, 'group')}; shuffled {what} give {self.mean:.1f} (as many or more: p = {self.p:.2g})"
        )


def null_groups(
    rankings: QueryRankings, method: Method, shuffles: int = 1000, seed: int = 2005, *, grouped: Grouped | None = None
) -> NullGroups:
    """Group the rankings of one query, unless they are `grouped`, and `shuffles` shuffled copies of them."""
    chance = _chance(shuffles, seed)
    counts = []
    for first in range(0, shuffles, _SHUFFLES_AT_ONCE):
        shape = (min(_SHUFFLES_AT_ONCE, shuffles - first), *rankings.ranks.shape)
        counts.append(count_groups(chance.permuted(np.broadcast_to(rankings.ranks, shape), axis=-1), method))
    return NullGroups(len((grouped or groups_of(rankings, method)).starts), np.concatenate(counts))


def _chance(shuffles: int, seed: int) -> np.random.Generator:
    if shuffles < 1:
        raise ArgumentError(f"shuffles must be at least 1; got {shuffles}")
    return np.random.default_rng(seed)


def null_strengths(
    rankings: QueryRankings, fitted: FittedStrengths, method: Method, shuffles: int = 100, seed: int = 2005
) -> NullGroups:
    """The groups of a Plackett-Luce fit, and those of `shuffles` shuffled copies of its rankings."""
    chance = _chance(shuffles, seed)
    counts = []
    for _ in range(shuffles):
        shuffled = replace(rankings, ranks=chance.permuted(rankings.ranks, axis=-1))
        each = plackett_luce(shuffled, method.unranked, len(fitted.bootstrap), quick=True)
        counts.append(len(strength_groups(each, method)))
    return NullGroups(len(strength_groups(fitted, method)), np.array(counts))


def null_votes(
    votes: QueryVotes, group: Callable[[QueryVotes], Groups], shuffles: int = 1000, seed: int = 2005
) -> NullGroups:
    """The groups that `group` makes of the votes of one query, and of `shuffles` shuffled copies of them."""
    chance = _chance(shuffles, seed)
    first, second = np.nonzero(np.triu(votes.compared))
    given = (votes.wins + votes.wins.T + votes.same)[first, second]
    same_in_all = int(votes.same[first, second].sum())
    counts = []
    for _ in range(shuffles):
        same, wins = np.zeros_like(votes.same), np.zeros_like(votes.wins)
        together = chance.multivariate_hypergeometric(given, same_in_all)
        for_first = chance.binomial(given - together, 0.5)
        same[first, second] = same[second, first] = together
        wins[first, second], wins[second, first] = for_first, given - together - for_first
        counts.append(len(group(replace(votes, wins=wins, same=same))))
    return NullGroups(len(group(votes)), np.array(counts))


def count_groups(ranks: Floats, method: Method) -> npt.NDArray[np.int64]:
    """The number of groups of many lists at once, for ranks of shape (lists, experts, documents)."""
    votes = np.count_nonzero(~np.isnan(ranks), axis=-2)
    enough = votes >= votes_needed(method.min_votes, ranks.shape[-2])
    # A candidate with too few votes goes to the end, where it cannot begin a group that counts.
    counted = np.where(enough[:, None, :], counted_ranks(ranks, method.unranked), np.nan)
    order = arranged_order(counted, votes, np.arange(ranks.shape[-1]))
    arranged = np.take_along_axis(counted, order[:, None, :], axis=-1)
    begins = group_starts(method.pvalues(arranged, quick=True) < method.alpha, method)
    within = np.arange(ranks.shape[-1]) < enough.sum(axis=-1)[:, None]
    counts: npt.NDArray[np.int64] = np.count_nonzero(begins & within, axis=-1)
    return counts
