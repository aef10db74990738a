"""Runs from files, mappings, data frames and rows.

Files: TREC runs, JSON ({query: [id, ...]}, {query: {id: score}}, or what `Run.to_json` writes), CSV, TSV and Parquet
with the columns query, document and score, distance or rank. Tied values keep the order of their ranks, and after that
of their lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from roslin.errors import ArgumentError, UnknownNameError
from roslin.rows import column_rows, frame_rows, number, read_json, refuse, table_rows, whole_number
from roslin.run.run import Kind, Ranking, Run, checked_value
from roslin.run.writing import JSON_MARK

__all__ = ["read_run"]

_TREC = ("query", "Q0", "document", "rank", "score", "tag")


def read_run(source: Any, *, name: str | None = None) -> Run:
    """A run from a path, a mapping, a data frame, one `Run` or several of one system, or rows (query, document, score).

    >>> read_run([("q", "a", 0.5), ("q", "b", 0.9)]).ids
    ['b', 'a']
    """
    if isinstance(source, Run):
        return source if name is None else source.named(name)
    if isinstance(source, (str, Path)):
        return _from_file(Path(source), name)
    called = name or "run"
    if isinstance(source, Mapping):
        return Run(source, name=called)
    if hasattr(source, "columns") or hasattr(source, "column_names"):
        return _from_table(frame_rows(source, ["query", "document", "score|distance|rank"], ["rank"]), called, "")
    if isinstance(source, Iterable):
        items = list(source)
        if items and all(isinstance(item, Run) for item in items):
            return Run.joined(items, name=name)
        return Run.from_rows(list(_checked_rows(items)), name=called)
    raise ArgumentError(f"a run must be a path, a mapping, a data frame or a list of rows; got {type(source).__name__}")


def _checked_rows(items: Sequence[Any]) -> Iterator[tuple[str, str, float]]:
    for place, item in enumerate(items, start=1):
        if isinstance(item, (str, bytes)) or not isinstance(item, Sequence) or len(item) != 3:
            raise ArgumentError(f"row {place} of the run must be (query, document, score); got {item!r}")
        query, document, score = item
        yield str(query), str(document), checked_value(score, "score", str(document), str(query))


def _from_file(path: Path, name: str | None) -> Run:
    called = name or path.stem
    if path.suffix == ".json":
        return _from_json(path, name)
    if path.suffix in (".csv", ".tsv", ".parquet"):
        rows = table_rows(path, ["query", "document", "score|distance|rank"], ["rank"])
        return _from_table(rows, called, str(path))
    return _from_trec(path, called)


def _from_json(path: Path, name: str | None) -> Run:
    value = read_json(path)
    if not isinstance(value, dict):
        raise refuse("not a run", expected="an object {query: ranking}", found=type(value).__name__, file=str(path))
    try:
        if JSON_MARK in value:
            return _from_own_json(value, name)
        return Run(value, name=name or path.stem)
    except ArgumentError as error:
        raise refuse(str(error), file=str(path)) from None
    except (AttributeError, KeyError, TypeError, UnknownNameError):
        raise refuse("not a run", expected="what Run.to_json writes", file=str(path)) from None


def _from_own_json(value: dict[str, Any], name: str | None) -> Run:
    about, kind = value[JSON_MARK], value[JSON_MARK]["kind"]
    rankings = []
    for query, rows in value["queries"].items():
        ids = tuple(str(row["document"]) for row in rows)
        values = (
            tuple(checked_value(row[kind], kind, row["document"], query) for row in rows) if kind != "order" else None
        )
        counted = tuple(
            checked_value(row["expected"], "expected", row["document"], query) for row in rows if "expected" in row
        )
        rankings.append(Ranking(query, ids, values, expected=counted if len(counted) == len(ids) > 0 else None))
    return Run(rankings, name=name or str(about["name"]), kind=kind)


def _from_trec(path: Path, name: str) -> Run:
    rows = []
    for row in column_rows(path, _TREC):
        query, _, document, rank, score, _ = row.cells
        place = whole_number(rank, "rank", file=row.file, line=row.line)
        rows.append((query, document, number(score, "score", file=row.file, line=row.line), place))
    rows.sort(key=lambda row: row[3])
    return Run.from_rows(((query, document, score) for query, document, score, _ in rows), name=name)


def _from_table(rows: Iterable[tuple[dict[str, Any], int]], name: str, file: str) -> Run:
    """A rank beside a score or a distance decides between ties."""
    taken = []
    kind: Kind = "score"
    for cells, line in rows:
        kind = next(column for column in ("score", "distance", "rank") if column in cells)
        value = number(cells[kind], kind, file=file, line=line)
        rank = number(cells["rank"], "rank", file=file, line=line) if "rank" in cells else 0.0
        taken.append((str(cells["query"]), str(cells["document"]), value, rank))
    taken.sort(key=lambda row: row[3])
    return Run.from_rows(((query, document, value) for query, document, value, _ in taken), name=name, kind=kind)
