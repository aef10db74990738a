"""Groups from models of what people said, strengths of rankings or of votes, and beside them what noise would give.

`study` does the same for groups from tests of ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from roslin.display.frames import FrameLibrary
from roslin.display.table import Table
from roslin.errors import UnknownNameError
from roslin.truth.bradley_terry import group_votes, vote_groups
from roslin.truth.grouping import Method
from roslin.truth.model import Groups, Truth
from roslin.truth.null import NullGroups, null_strengths, null_votes
from roslin.truth.plackett_luce import plackett_luce, truth_of_strengths
from roslin.truth.preferences import QueryVotes, Vote, count_votes, segment_votes, segments
from roslin.truth.rankings import as_rankings
from roslin.truth.study import Progress
from roslin.truth.tables import groups, strengths

__all__ = ["VOTE_MODELS", "ModelStudy", "study_strengths", "study_votes"]

VOTE_MODELS = ("segments", "bradley-terry")


@dataclass(frozen=True, eq=False)
class ModelStudy:
    """The truth that a model gives, its table, and for every query the groups that noise gives.

    `nulls` is empty where nothing was shuffled; `of` says what was: rankings or votes.
    """

    truth: Truth
    table: Table
    nulls: dict[str, NullGroups]
    of: str

    @property
    def sentences(self) -> list[str]:
        """Groups found beside groups of noise, a sentence for each query."""
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
    """Groups by strength after Plackett and Luce; `resamples` draws of the experts, and `shuffles` of their ranks.

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
    """Groups from preference votes: `segments`, where a lead of `margin` votes counts, or `bradley-terry`.

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
        truth, group = group_votes(votes, chosen.rule, chosen.tails, chosen.alpha), partial(vote_groups, method=chosen)
    nulls = {}
    for number, (query, counted) in enumerate(count_votes(votes).items() if shuffles else ()):
        progress(number, query)
        nulls[query] = null_votes(counted, group, shuffles, seed)
    return ModelStudy(truth, groups(truth), nulls, "votes")
