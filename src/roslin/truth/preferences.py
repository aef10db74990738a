"""Preference votes ("is A or B more similar to the query, or are they the same?") to lists, by segments.

Urbano et al. 2010 (SIGIR workshop on crowdsourcing) asked 10 workers for each pair that a kind of quicksort needed. All
candidates are one segment. One of them, the pivot, is compared with the rest: what wins by a clear margin goes to a
segment before it, what loses to one after it, all others stay with it. Each segment goes on with another pivot until
none is left; segments are the groups. Votes say which pairs were asked, so the sorting can be done again from them: a
pivot is a candidate whose pairs with all others of its segment were asked, the earliest asked first.

The margin is the lead in votes (for minus against) that counts, 2 by default: in the published lists every pair with a
lead of 2 or more of 10 has its order. Where the last pair of a segment could have had either as its pivot, which of
them it was is not recorded: the smaller id is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError, UnknownNameError
from roslin.rows import refuse, table_rows
from roslin.truth.model import Groups, Truth

# What a vote may say: for the first, for the second, or for neither.
ANSWERS = {"a": (1, 0, 0), "b": (0, 1, 0), "s": (0, 0, 1)}


@dataclass(frozen=True)
class Vote:
    """One answer: a (the first is more similar), b (the second), s (they are the same)."""

    query: str
    expert: str
    first: str
    second: str
    answer: str


@dataclass(frozen=True, eq=False)
class QueryVotes:
    """The votes of one query, counted. Shape (documents, documents).

    `wins[i, j]`: votes for i against j. `same[i, j]`: votes that they are the same. `asked[i, j]`: when the pair was
    first asked, counted from 1; 0 for never.
    """

    documents: tuple[str, ...]
    wins: npt.NDArray[np.int64]
    same: npt.NDArray[np.int64]
    asked: npt.NDArray[np.int64]

    @property
    def compared(self) -> npt.NDArray[np.bool_]:
        """Which pairs have votes."""
        flags: npt.NDArray[np.bool_] = self.asked > 0
        return flags

    @property
    def linked(self) -> list[list[str]]:
        """The documents in parts: inside a part a chain of comparisons links any two."""
        from scipy.sparse.csgraph import connected_components

        count, part = connected_components(self.compared, directed=False)
        return [[id for id, own in zip(self.documents, part, strict=True) if own == k] for k in range(count)]


def read_votes(path: str | Path, queries: Sequence[str] | None = None) -> list[Vote]:
    """Votes from a CSV with query, first, second, answer, and expert where known; or as Mechanical Turk exports them.

    An empty answer is no vote. Free text in other columns may be in any encoding. `queries`: only the votes of these.
    """
    path = Path(path)
    votes = []
    given: dict[tuple[str, str, frozenset[str]], int] = {}
    columns = ("query", "first", "second", "answer")
    for cells, line in table_rows(path, columns, ("expert",), other_encoding="cp1252"):
        query, first, second, answer = (str(cells[name]).strip() for name in columns)
        expert = str(cells.get("expert", "")).strip()
        place: dict[str, Any] = {"file": str(path), "line": line}
        for name, value in (("query", query), ("first", first), ("second", second)):
            if not value:
                raise refuse(f"no {name}", expected="a name", found="nothing", **place)
        if answer and answer not in ANSWERS:
            raise refuse("bad answer", expected=f"one of {', '.join(ANSWERS)}", found=answer, **place)
        if first == second:
            raise refuse("a candidate is compared with itself", expected="two candidates", found=first, **place)
        if answer:
            before = given.setdefault((query, expert, frozenset((first, second))), line) if expert else line
            if before != line:
                reason = (
                    f"expert {expert} compares {first} and {second} again for query {query} (first in line {before})"
                )
                raise refuse(reason, expected="one answer", **place)
            votes.append(Vote(query, expert, first, second, answer))
    if not votes:
        raise refuse("no votes", expected="at least one row with an answer", found="none", file=str(path))
    known = dict.fromkeys(vote.query for vote in votes)
    for query in queries or ():
        if query not in known:
            raise UnknownNameError("query", query, known)
    return [vote for vote in votes if vote.query in queries] if queries else votes


def count_votes(votes: Iterable[Vote]) -> dict[str, QueryVotes]:
    """The votes of each query, counted."""
    by_query: dict[str, list[Vote]] = {}
    for vote in votes:
        by_query.setdefault(vote.query, []).append(vote)
    return {query: _count(each) for query, each in by_query.items()}


def _count(votes: Sequence[Vote]) -> QueryVotes:
    documents = tuple(sorted({id for vote in votes for id in (vote.first, vote.second)}))
    place = {id: k for k, id in enumerate(documents)}
    wins, same, asked = (np.zeros((len(documents), len(documents)), dtype=np.int64) for _ in range(3))
    for number, vote in enumerate(votes, start=1):
        i, j = place[vote.first], place[vote.second]
        for_first, for_second, for_neither = ANSWERS[vote.answer]
        wins[i, j] += for_first
        wins[j, i] += for_second
        same[i, j] += for_neither
        same[j, i] += for_neither
        asked[i, j] = asked[j, i] = asked[i, j] or number
    return QueryVotes(documents, wins, same, asked)


def segment_votes(votes: Iterable[Vote], margin: int = 2) -> Truth:
    """A truth by segmented comparison. `margin`: the lead in votes from which one candidate counts as more similar."""
    if margin < 1:
        raise ArgumentError(f"margin must be at least 1; got {margin}")
    counted = count_votes(votes)
    groups = {query: segments(each, margin) for query, each in counted.items()}
    notes = [note for query, each in counted.items() for note in _notes(query, each, groups[query])]
    return Truth(groups, name="segments", notes=notes)


def segments(votes: QueryVotes, margin: int = 2) -> Groups:
    """The segments of one query, the most similar first."""
    found = _split(list(range(len(votes.documents))), votes, margin, frozenset())
    return tuple(tuple(votes.documents[k] for k in segment) for segment in found)


def _notes(query: str, votes: QueryVotes, groups: Groups) -> list[str]:
    """A segment stays whole also where nobody was asked: that is no judgement, and worth saying."""
    place = {id: k for k, id in enumerate(votes.documents)}
    compared = votes.compared
    notes = []
    for group in groups:
        alone = [id for id in group if not any(compared[place[id], place[other]] for other in group)]
        if len(group) > 1 and alone:
            notes.append(f"query {query}: {alone[0]} is in a group of {len(group)} with none of which it was compared")
    return notes


def _split(segment: list[int], votes: QueryVotes, margin: int, used: frozenset[int]) -> list[list[int]]:
    pivot = _pivot(segment, votes, used)
    if pivot is None:
        return [segment] if segment else []
    lead = votes.wins[:, pivot] - votes.wins[pivot]
    before = [k for k in segment if lead[k] >= margin]
    after = [k for k in segment if lead[k] <= -margin]
    beside = [k for k in segment if abs(lead[k]) < margin]
    used |= {pivot}
    return [found for part in (before, beside, after) for found in _split(part, votes, margin, used)]


def _pivot(segment: list[int], votes: QueryVotes, used: frozenset[int]) -> int | None:
    """The candidate, not a pivot before, whose pairs with all others of the segment were asked the earliest."""
    asked = {k: [votes.asked[k, other] for other in segment if other != k] for k in segment if k not in used}
    able = {k: max(when) for k, when in asked.items() if when and min(when) > 0}
    return min(able, key=lambda k: (able[k], k)) if able else None
