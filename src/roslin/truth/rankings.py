"""Experts' rankings: for every query, the rank that each expert gave each candidate (Typke et al. 2007, sections 3.2.3
and 3.3.1).

Rank 1 is the most similar. A candidate that an expert left out has no rank from them. Ranks of one query are a table of
shape (experts, documents) with NaN where there is none. Read from

  CSV   a header with query, expert, document, rank; an empty rank is a candidate that was shown and left out
  JSON  a list of such rows as objects, or {query: {expert: {document: rank or null}}},
        or {query: {expert: [document, [tied, tied], ...]}}, the most similar first

A tie is written with the mean of its places (1, 2.5, 2.5, 4; 1, 3, 3, 3, 5), or with the first of them where the next
rank leaves room for all (1, 2, 2, 4). In files any other whole rank given twice by one expert (1, 2, 2, 3) is taken for
a slip of the pen and refused, unless ties are asked for. Ranks count as they are written.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from roslin.display.text import counted
from roslin.errors import ArgumentError, UnknownNameError, shortened
from roslin.rows import (
    called,
    form_of,
    frame_rows,
    is_frame,
    is_missing,
    named,
    number,
    read_json,
    refuse,
    replacing,
    table_rows,
)
from roslin.types import Floats

Value = TypeVar("Value")
_COLUMNS = ("query", "expert", "document", "rank")


@dataclass(frozen=True, eq=False)
class QueryRankings:
    """The ranks of one query: `ranks[expert, document]`, NaN where the expert left the document out."""

    query: str
    experts: tuple[str, ...]
    documents: tuple[str, ...]
    ranks: Floats

    def column(self, document: str) -> Floats:
        if document not in self.documents:
            raise UnknownNameError(f"document of query {self.query!r}", document, self.documents)
        ranks = self.ranks[:, self.documents.index(document)]
        return ranks[~np.isnan(ranks)]


class ByQuery(Mapping[str, Value]):
    """An immutable mapping from queries."""

    _of: dict[str, Value]

    def __getitem__(self, query: str) -> Value:
        return self._of[query]

    def __iter__(self) -> Iterator[str]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)

    def known(self, queries: Sequence[str]) -> list[str]:
        """These queries, each once. A missing one raises an error that lists the existing ones."""
        for query in queries:
            if query not in self:
                raise UnknownNameError("query", query, self)
        return list(dict.fromkeys(queries))


class Rankings(ByQuery[QueryRankings]):
    """Maps a query to its ranks. It is immutable.

    >>> said = as_rankings([("q", "ann", "a", 1), ("q", "ann", "b", 2), ("q", "bob", "a", 1), ("q", "bob", "b", None)])
    >>> said["q"].ranks
    array([[ 1.,  2.],
           [ 1., nan]])
    """

    def __init__(self, queries: Iterable[QueryRankings], name: str = ""):
        self.name = name
        self._of = {each.query: each for each in queries}

    def __repr__(self) -> str:
        return (
            f"Rankings({self.name!r}, {counted(len(self), 'query', 'queries')}, {counted(len(self.experts), 'expert')})"
        )

    @property
    def experts(self) -> tuple[str, ...]:
        """All participants who were shown something, in the order of the rows."""
        return tuple(dict.fromkeys(expert for each in self.values() for expert in each.experts))

    def rows(self) -> Iterator[tuple[str, str, str, float | None]]:
        """(query, expert, document, rank), with None for an omitted candidate."""
        for query, each in self.items():
            for e, expert in enumerate(each.experts):
                for d, document in enumerate(each.documents):
                    rank = each.ranks[e, d]
                    yield query, expert, document, None if np.isnan(rank) else float(rank)

    def only(self, queries: Sequence[str]) -> Rankings:
        """Only these queries. A missing one raises an error that lists the existing ones."""
        return Rankings([self[query] for query in self.known(queries)], self.name)


# -- reading ----------------------------------------------------------------------------------------------------------


class _Places:
    """Judgements in their order with their places: a line of a file, or the number of a row or judgement."""

    def __init__(self, file: str = "", unit: str = "row", *, ties: bool = True, queries: Sequence[str] | None = None):
        self.file, self.unit, self.ties, self.queries = file, unit, ties, queries
        self._given: dict[tuple[str, str, str], int] = {}
        self.found: dict[str, dict[str, dict[str, float]]] = {}

    def at(self, number: int) -> dict[str, Any]:
        """The place of a judgement, as `refuse` takes it."""
        if self.unit == "line":
            return {"file": self.file, "line": number}
        return {"file": ", ".join(part for part in (self.file, f"{self.unit} {number}") if part)}

    def take(self, row: Sequence[Any], line: int) -> None:
        query, expert, document = (
            named(value.strip() if isinstance(value, str) else value, name, **self.at(line))
            for value, name in zip(row[:3], _COLUMNS[:3], strict=True)
        )
        if self.queries is not None and query not in self.queries:
            known = ", ".join(map(shortened, self.queries))
            raise refuse("unknown query", expected=f"one of {known}", found=shortened(query), **self.at(line))
        before = self._given.setdefault((query, expert, document), line)
        if before != line:
            who, what, asked = map(shortened, (expert, document, query))
            reason = f"expert {who} judges {what} again for query {asked} (first in {self.unit} {before})"
            raise refuse(reason, expected="one rank", **self.at(line))
        value = _rank(row[3], self.at(line))
        self.found.setdefault(query, {}).setdefault(expert, {})[document] = value

    def _refuse_slips(self, query: str, expert: str, ranks: Mapping[str, float]) -> None:
        for first, second in _slips(ranks):
            before, line = (self._given[query, expert, document] for document in (first, second))
            reason = f"expert {shortened(expert)} gives rank {ranks[first]:g} twice for query {shortened(query)}"
            room = "another rank, or room for a tie (1, 2, 2, 4 or 1, 2.5, 2.5, 4)"
            earlier = f"{shortened(first)} in {self.unit} {before}"
            raise refuse(f"{reason} ({earlier})", expected=room, found=shortened(second), **self.at(line))

    def rankings(self, name: str) -> Rankings:
        tables = []
        for query, experts in self.found.items():
            if not self.ties:
                for expert, each in experts.items():
                    self._refuse_slips(query, expert, each)
            documents = tuple(dict.fromkeys(id for each in experts.values() for id in each))
            ranks = np.array([[each.get(id, np.nan) for id in documents] for each in experts.values()])
            tables.append(QueryRankings(query, tuple(experts), documents, ranks.reshape(len(experts), len(documents))))
        return Rankings(tables, name)


def _slips(ranks: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    """Two documents of one whole rank that is neither the mean of their places nor followed by room for both."""
    by_rank: dict[float, list[str]] = {}
    for document, rank in ranks.items():
        if rank == rank:
            by_rank.setdefault(rank, []).append(document)
    ordered, before = sorted(by_rank), 0
    for rank, following in zip_longest(ordered, ordered[1:], fillvalue=0.0):
        tied = by_rank[rank]
        is_mean, has_room = rank == before + (len(tied) + 1) / 2, following >= rank + len(tied)
        if len(tied) > 1 and rank == int(rank) and not is_mean and not has_room:
            yield tied[0], tied[1]
        before += len(tied)


def _rank(value: Any, place: dict[str, Any]) -> float:
    if is_missing(value) or (isinstance(value, str) and not value.strip()):
        return float("nan")
    rank = number(value, "rank", **place)
    if not 1 <= rank < float("inf"):
        expected = "1 (the most similar) or more, or nothing"
        found = str(value) if isinstance(value, str) else repr(value)
        raise refuse("bad rank", expected=expected, found=shortened(found), **place)
    return rank


def as_rankings(rows: Rankings | Iterable[Any]) -> Rankings:
    """Rankings from rows (query, expert, document, rank), or from a data frame with these columns."""
    if isinstance(rows, Rankings):
        return rows
    places = _Places()
    if is_frame(rows):
        for cells, line in frame_rows(rows, _COLUMNS):
            places.take([cells[name] for name in _COLUMNS], line)
        return places.rankings("")
    if isinstance(rows, (str, bytes, Mapping)) or not isinstance(rows, Iterable):
        expected = "rows (query, expert, document, rank)"
        raise ArgumentError(f"rankings must be {expected}; got {type(rows).__name__} (for a file: read_rankings)")
    for line, row in enumerate(rows, start=1):
        if isinstance(row, (str, bytes)) or not isinstance(row, Sequence) or len(row) != len(_COLUMNS):
            raise refuse("broken row", expected="(query, expert, document, rank)", found=repr(row), **places.at(line))
        places.take(row, line)
    return places.rankings("")


def read_rankings(path: str | Path, *, ties: bool = False, queries: Sequence[str] | None = None) -> Rankings:
    """Rankings from a CSV or JSON file. `queries`: only these may occur. `ties`: any rank may be given twice."""
    path = Path(path)
    is_json = form_of(path) == ".json"
    places = _Places(str(path), "judgement" if is_json else "line", ties=ties, queries=queries)
    if is_json:
        _take_json(read_json(path), places)
    else:
        for cells, line in table_rows(path, _COLUMNS):
            places.take([cells[name] for name in _COLUMNS], line)
    if not places.found:
        raise refuse("no rankings", expected="at least one row", found="none", file=str(path))
    return places.rankings(called(path))


def _take_json(value: Any, places: _Places) -> None:
    """Lines of JSON are not kept by its reader; judgements are counted in their place."""
    if isinstance(value, list):
        for line, row in enumerate(value, start=1):
            if not isinstance(row, dict) or set(_COLUMNS) - {"rank"} - set(row):
                raise refuse("broken row", expected="an object with " + ", ".join(_COLUMNS), **places.at(line))
            places.take([row.get(name) for name in _COLUMNS], line)
        return
    if not isinstance(value, dict):
        expected = "a list of rows, or an object {query: {expert: ranks}}"
        raise refuse("not rankings", expected=expected, found=type(value).__name__, file=places.file)
    line = 0
    for query, experts in value.items():
        if not isinstance(experts, dict):
            expected = "an object {expert: ranks}"
            raise refuse(f"query {query}", expected=expected, found=type(experts).__name__, file=places.file)
        for expert, said in experts.items():
            for document, rank in _said(said, f"query {query}, expert {expert}", places.file):
                line += 1
                places.take((query, expert, document, rank), line)


def _said(said: Any, where: str, file: str) -> Iterator[tuple[str, Any]]:
    """One expert's answer to one query: ranks by document, or documents in order with ties in lists."""
    if isinstance(said, dict):
        yield from said.items()
        return
    if not isinstance(said, list):
        expected = "an object {document: rank} or a list of documents"
        raise refuse(where, expected=expected, found=type(said).__name__, file=file)
    placed = 0
    for entry in said:
        tied = entry if isinstance(entry, list) else [entry]
        for document in tied:
            yield document, placed + (len(tied) + 1) / 2
        placed += len(tied)


def check_rankings_path(path: str | Path) -> None:
    """Refuse a name under which rankings would not be read as what was written."""
    if Path(path).suffix.lower() != ".csv":
        raise ArgumentError(f"rankings are written to a file that ends with .csv; got {Path(path).name}")


def write_rankings(rankings: Rankings, path: str | Path) -> None:
    """Write rankings as CSV, with a row per participant and candidate. An empty rank means that it was omitted."""
    import csv

    check_rankings_path(path)
    with replacing(Path(path)) as unfinished, unfinished.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for query, expert, document, rank in rankings.rows():
            writer.writerow([query, expert, document, "" if rank is None else repr(rank).removesuffix(".0")])


# -- agreement ---------------------------------------------------------------------------------------------------------
#
# Do the experts agree, and who does not? Kendall's W, Krippendorff's alpha, outliers, the check of attention.
#
# W is about the order of all candidates: those that an expert left out share the mean of the places that are left.
# Alpha (ordinal) is about the ranks as given: what was left out is missing. Both are 1 for perfect agreement; noise
# gives about 1 / experts for W and 0 for alpha.


_FAR = 3.0  # how many deviations below the median expert make an outlier
_MAD_TO_SIGMA = 1.4826


def kendall_w(rankings: QueryRankings) -> float:
    """Kendall's coefficient of concordance, corrected for ties: 0 to 1. NaN for fewer than two of either."""
    ranks = _places(rankings.ranks)
    people, items = ranks.shape
    if people < 2 or items < 2:
        return float("nan")
    sums = ranks.sum(axis=0)
    spread = float(((sums - sums.mean()) ** 2).sum())
    ties = sum(float((counts**3 - counts).sum()) for counts in (np.unique(row, return_counts=True)[1] for row in ranks))
    most = people**2 * (items**3 - items) / 12 - people * ties / 12
    return spread / most if most > 0 else float("nan")


def _places(ranks: Floats) -> Floats:
    """Each expert's ranks as places 1 to n; ties, and candidates left out, share the mean of theirs."""
    from scipy.stats import rankdata

    if not ranks.size:
        return ranks
    places: Floats = rankdata(np.where(np.isnan(ranks), np.inf, ranks), axis=1)
    return places


def krippendorff_alpha(rankings: QueryRankings) -> float:
    """Krippendorff's alpha for ordinal data: candidates are units, experts are observers. NaN where nothing varies."""
    ranks = rankings.ranks
    values, codes = np.unique(ranks[~np.isnan(ranks)], return_inverse=True)
    counts = np.zeros((ranks.shape[1], len(values)))
    np.add.at(counts, (np.nonzero(~np.isnan(ranks))[1], codes), 1)
    counts = counts[counts.sum(axis=1) > 1]  # a rank alone in its unit can be compared with none
    sizes = counts.sum(axis=1, keepdims=True)
    coincidences = (counts / (sizes - 1)).T @ counts - np.diag((counts / (sizes - 1)).sum(axis=0))
    totals = coincidences.sum(axis=1)
    up_to = np.cumsum(totals) - totals / 2
    distance = (up_to[:, None] - up_to) ** 2
    expected = float((np.outer(totals, totals) * distance).sum())
    if not expected > 0:
        return float("nan")
    return 1 - float(totals.sum() - 1) * float((coincidences * distance).sum()) / expected


@dataclass(frozen=True)
class Expert:
    """How one expert agrees with the others: the mean rank correlation with their mean order, over `queries` queries.

    `z` is its distance above chance, in standard deviations. An outlier is more than three deviations below the median
    expert. A deviation is the scaled median deviation of all experts, and at least what chance alone does to an
    agreement over as many candidates: with a handful of candidates no expert can be called one.
    """

    expert: str
    queries: int
    agreement: float
    z: float
    outlier: bool


def experts(rankings: Rankings) -> list[Expert]:
    """Every expert, the least agreeing first. An expert without comparable judgements has no agreement (NaN)."""
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in rankings.experts}
    for each in rankings.values():
        if len(each.experts) < 2:
            continue
        places = _places(each.ranks)
        total = places.sum(axis=0)
        for name, own in zip(each.experts, places, strict=True):
            correlation = _correlation(own, total - own)
            if correlation == correlation:
                found[name].append((correlation, len(own)))
    means = {name: float(np.mean([r for r, _ in pairs])) if pairs else float("nan") for name, pairs in found.items()}
    known = np.array([value for value in means.values() if value == value])
    middle = float(np.median(known)) if len(known) else 0.0
    usual = _MAD_TO_SIGMA * float(np.median(np.abs(known - middle))) if len(known) else 0.0
    result = []
    for name, pairs in found.items():
        # Without agreement a rank correlation of n items has the variance 1 / (n - 1), with or without ties.
        by_chance = math.sqrt(sum(1 / (n - 1) for _, n in pairs)) / len(pairs) if pairs else float("nan")
        outlier = bool(means[name] < middle - _FAR * max(usual, by_chance))
        result.append(Expert(name, len(pairs), means[name], means[name] / by_chance, outlier))
    return sorted(result, key=lambda expert: (expert.agreement != expert.agreement, expert.agreement))


def _correlation(own: Floats, others: Floats) -> float:
    """Spearman's rank correlation; NaN where either does not vary."""
    from scipy.stats import rankdata

    first, second = own - own.mean(), rankdata(others)
    second = second - second.mean()
    size = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / size if size > 1e-12 else float("nan")


@dataclass(frozen=True)
class Attention:
    """How often an expert put the query first (alone or tied) where it was among its own candidates."""

    expert: str
    shown: int
    passed: int

    @property
    def failed(self) -> bool:
        """Whether the expert put the query first in fewer than half of the checks."""
        return 2 * self.passed < self.shown


def attention(rankings: Rankings) -> list[Attention]:
    """The attention check of Typke et al. (2007), section 3.2.4, for everybody who had one."""
    shown: dict[str, list[bool]] = {}
    for query, each in rankings.items():
        if query not in each.documents:
            continue
        own = each.ranks[:, each.documents.index(query)]
        best = np.nanmin(np.where(np.isnan(each.ranks), np.inf, each.ranks), axis=1)
        for name, passed in zip(each.experts, own == best, strict=True):
            shown.setdefault(name, []).append(bool(passed))
    return [Attention(name, len(flags), sum(flags)) for name, flags in shown.items()]


def careless(rankings: Rankings) -> tuple[str, ...]:
    """The experts who failed the check of attention, in the order of the rows."""
    return tuple(each.expert for each in attention(rankings) if each.failed)


def attentive(rankings: Rankings) -> Rankings:
    """The same rankings without the experts who failed the check of attention, in all queries.

    Where at least two thirds of the experts failed, the check itself is in doubt, and all experts stay. So do all
    experts of rankings without a check.
    """
    checks = attention(rankings)
    failed = {each.expert for each in checks if each.failed}
    if not failed or 3 * len(failed) >= 2 * len(checks):
        return rankings
    tables = []
    for each in rankings.values():
        rows = [row for row, name in enumerate(each.experts) if name not in failed]
        experts_left = tuple(each.experts[row] for row in rows)
        tables.append(QueryRankings(each.query, experts_left, each.documents, each.ranks[rows]))
    return Rankings(tables, rankings.name)
