"""Results of a system for many queries, from files, mappings, data frames, or what `Collection.search` returns.

Files: TREC runs (`query Q0 document rank score tag`), JSON ({query: [id, ...]} or {query: {id: score}}), CSV and
Parquet with the columns query, document and score, distance or rank. The largest score is first; tied scores keep the
order of their ranks, and after that of their lines.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from roslin.errors import ArgumentError
from roslin.rows import column_rows, frame_rows, number, read_json, refuse, table_rows, whole_number

if TYPE_CHECKING:
    from roslin.search.run import Run

__all__ = ["Results", "read_run"]

_TREC = ("query", "Q0", "document", "rank", "score", "tag")


class Results(Mapping[str, tuple[str, ...]]):
    """Maps a query to its ranking, best first. `scores(query)` has the scores, where the source had them.

    `scored_by` says what the source had: a score, or a distance or rank, whose sign was turned to make it a score.

    >>> results = Results({"q": {"a": 0.5, "b": 0.9}}, name="mine")
    >>> results["q"], results.scores("q")
    (('b', 'a'), (0.9, 0.5))
    """

    def __init__(
        self,
        rankings: Mapping[str, Sequence[str] | Mapping[str, float]],
        *,
        name: str = "run",
        scored_by: str = "score",
    ):
        self.name = name
        self.scored_by = scored_by
        self._rankings: dict[str, tuple[str, ...]] = {}
        self._scores: dict[str, tuple[float, ...]] = {}
        for query, ranking in rankings.items():
            if isinstance(ranking, np.ndarray):
                ranking = ranking.tolist()
            if isinstance(ranking, (str, bytes)) or not isinstance(ranking, (Sequence, Mapping)):
                raise ArgumentError(
                    f"query {query!r}: a ranking must be a list of ids or {{id: score}}; got {ranking!r}"
                )
            if isinstance(ranking, Mapping):
                self._take(query, [(id, _score(value, id, query)) for id, value in ranking.items()])
            else:
                self._rankings[query] = tuple(ranking)

    def _take(self, query: str, pairs: Iterable[tuple[str, float]]) -> None:
        ordered = sorted(pairs, key=lambda pair: -pair[1])  # stable: ties keep their order
        self._rankings[query] = tuple(id for id, _ in ordered)
        self._scores[query] = tuple(score for _, score in ordered)

    @classmethod
    def from_rows(
        cls, rows: Iterable[tuple[str, str, float]], *, name: str = "run", scored_by: str = "score"
    ) -> Results:
        """From (query, document, score) in the order that decides between equal scores; a document may come twice."""
        by_query: dict[str, list[tuple[str, float]]] = {}
        for query, document, score in rows:
            by_query.setdefault(query, []).append((document, score))
        results = cls({}, name=name, scored_by=scored_by)
        for query, pairs in by_query.items():
            results._take(query, pairs)
        return results

    def named(self, name: str) -> Results:
        """The same results under another name."""
        other = copy(self)
        other.name = name
        return other

    def __getitem__(self, query: str) -> tuple[str, ...]:
        return self._rankings[query]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rankings)

    def __len__(self) -> int:
        return len(self._rankings)

    def __repr__(self) -> str:
        return f"Results({self.name!r}, {len(self)} queries)"

    def scores(self, query: str) -> tuple[float, ...] | None:
        """The scores of a ranking, largest first; None where the source had only an order."""
        return self._scores.get(query)


def _score(value: Any, id: str, query: str) -> float:
    try:
        score = float(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"query {query!r}: the score of {id!r} must be a number; got {value!r}") from None
    if math.isnan(score):
        raise ArgumentError(f"query {query!r}: the score of {id!r} is NaN; expected a number")
    return score


def read_run(source: Any, *, name: str | None = None) -> Results:
    """Results from a path, a mapping, a data frame, one `Run` or several, or rows (query, document, score)."""
    if isinstance(source, Results):
        return source
    if isinstance(source, (str, Path)):
        return _from_file(Path(source), name)
    called = name or "run"
    if isinstance(source, Mapping):
        return Results(source, name=called)
    if hasattr(source, "columns") or hasattr(source, "column_names"):
        return _from_table(frame_rows(source, ["query", "document", "score|distance|rank"], ["rank"]), called, "")
    if _is_run(source):
        source = [source]
    if isinstance(source, Iterable):
        return _from_items(list(source), name)
    raise ArgumentError(f"a run must be a path, a mapping, a data frame or a list of rows; got {type(source).__name__}")


def _is_run(value: Any) -> TypeGuard[Run]:
    """Whether this is a `Run`. Who has one has imported the search room; others need not wait for its compiler."""
    room = sys.modules.get("roslin.search.run")
    return room is not None and isinstance(value, room.Run)


def _from_items(items: list[Any], name: str | None) -> Results:
    runs = [item for item in items if _is_run(item)]
    if runs and len(runs) == len(items):
        rows = [(run.query, hit.id, -hit.distance) for run in runs for hit in run]
        results = Results.from_rows(rows, name=name or runs[0].matcher, scored_by="distance")
        for run in runs:  # a query that found nothing was still asked
            results._rankings.setdefault(run.query, ())
        return results
    rows = []
    for place, item in enumerate(items, start=1):
        if isinstance(item, (str, bytes)) or not isinstance(item, Sequence) or len(item) != 3:
            raise ArgumentError(f"row {place} of the run must be (query, document, score); got {item!r}")
        query, document, score = item
        rows.append((str(query), str(document), _score(score, str(document), str(query))))
    return Results.from_rows(rows, name=name or "run")


def _from_file(path: Path, name: str | None) -> Results:
    called = name or path.stem
    if path.suffix == ".json":
        value = read_json(path)
        if not isinstance(value, dict):
            raise refuse("not a run", expected="an object {query: ranking}", found=type(value).__name__, file=str(path))
        try:
            return Results(value, name=called)
        except ArgumentError as error:
            raise refuse(str(error), file=str(path)) from None
    if path.suffix in (".csv", ".tsv", ".parquet"):
        rows = table_rows(path, ["query", "document", "score|distance|rank"], ["rank"])
        return _from_table(rows, called, str(path))
    return _from_trec(path, called)


def _from_trec(path: Path, name: str) -> Results:
    rows = []
    for row in column_rows(path, _TREC):
        query, _, document, rank, score, _ = row.cells
        place = whole_number(rank, "rank", file=row.file, line=row.line)
        rows.append((query, document, number(score, "score", file=row.file, line=row.line), place))
    rows.sort(key=lambda row: row[3])
    return Results.from_rows(((query, document, score) for query, document, score, _ in rows), name=name)


def _from_table(rows: Iterable[tuple[dict[str, Any], int]], name: str, file: str) -> Results:
    """A distance or a rank is a score with its sign turned; a rank beside a score decides between ties."""
    taken = []
    kind = "score"
    for cells, line in rows:
        kind = next(column for column in ("score", "distance", "rank") if column in cells)
        value = number(cells[kind], kind, file=file, line=line)
        rank = number(cells["rank"], "rank", file=file, line=line) if "rank" in cells else 0.0
        taken.append((str(cells["query"]), str(cells["document"]), value if kind == "score" else -value, rank))
    taken.sort(key=lambda row: row[3])
    scored = ((query, document, score) for query, document, score, _ in taken)
    return Results.from_rows(scored, name=name, scored_by=kind)
