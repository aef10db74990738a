"""Runs as files: TREC, CSV, JSON and Parquet. `reading` reads them back.

A TREC run has the columns `query Q0 document rank score tag`. Its scores must fall from rank to rank, so distances and
ranks are written below 0. CSV and Parquet have query, rank, document, and distance or score; where chance
matches were counted, also these and their meaning. JSON keeps everything: the
name of the run, its kind, and lists that are empty. Texts are compressed where the name ends with `.gz` or `.zst`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roslin.errors import FormatError
from roslin.rows import form_of, library, replacing, to_word, write_text

if TYPE_CHECKING:
    from roslin.run.run import Hit, Ranking, Run

JSON_MARK = "roslin run"
_MEASURED = ("distance", "score")


def trec(run: Run) -> str:
    """A TREC run."""
    tag = to_word(run.name)
    lines = []
    for query, ranking in run.rankings.items():
        word = to_word(query)
        ranks = ranking.ranks or range(1, len(ranking.ids) + 1)
        for rank, id, score in zip(ranks, ranking.ids, _falling(run, ranking), strict=True):
            lines.append(f"{word} Q0 {to_word(id)} {rank} {score!r} {tag}\n")
    return "".join(lines)


def _falling(run: Run, ranking: Ranking) -> Iterable[float]:
    if ranking.values is None:
        return (float(-rank) for rank in ranking.ranks or range(1, len(ranking.ids) + 1))
    return ranking.values if run.kind == "score" else (0.0 - value for value in ranking.values)


def comma_separated(run: Run) -> str:
    """CSV with a header."""
    out = io.StringIO()
    columns = _measured(run)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["query", "rank", "document", *columns])
    for hit in run:
        values = (each(hit) for each in columns.values())
        cells = (value if isinstance(value, str) else repr(value) for value in values)
        writer.writerow([hit.query, hit.rank, hit.id, *cells])
    return out.getvalue()


def _measured(run: Run) -> dict[str, Callable[[Hit], Any]]:
    columns: dict[str, Callable[[Hit], Any]] = {}
    if run.kind in _MEASURED:
        columns[run.kind] = lambda hit: hit.value
    if run.has_distances:
        columns["distance"] = lambda hit: hit.distance
    if run.has_meaning:
        columns |= {"expected": lambda hit: hit.expected, "meaning": lambda hit: hit.meaning}
    return columns


def json_text(run: Run) -> str:
    """JSON that `read_run` reads back."""
    lists = {
        query: [
            {
                "document": hit.id,
                **({} if hit.value is None else {run.kind: hit.value}),
                **({} if ranking.ranks is None else {"rank": hit.rank}),
                **({} if hit.near is None else {"distance": hit.near}),
                **({} if hit.expected is None else {"expected": hit.expected, "meaning": hit.meaning}),
                **({"same": hit.same} if hit.same else {}),
                **({"coincides": True} if hit.coincides else {}),
            }
            for hit in (run[query] if ranking.ids else ())
        ]
        for query, ranking in run.rankings.items()
    }
    unfinished = {query: ranking.unfinished for query, ranking in run.rankings.items() if ranking.unfinished}
    agreeing = {query: ranking.agreeing for query, ranking in run.rankings.items() if ranking.agreeing}
    about: dict[str, Any] = {"name": run.name, "kind": run.kind}
    about |= ({"unfinished": unfinished} if unfinished else {}) | ({"agreeing": agreeing} if agreeing else {})
    return json.dumps({JSON_MARK: about, "queries": lists}, ensure_ascii=False)


_WRITERS = {".run": trec, ".trec": trec, ".txt": trec, ".csv": comma_separated, ".json": json_text}


def write(run: Run, path: Path) -> None:
    """Write a file in the form of its suffix. A name without one before the compression, `mine.gz`, is a TREC run."""
    form = form_of(path)
    is_packed = form != path.suffix.lower()
    if form == ".parquet" and is_packed:
        raise FormatError(f"{path}: Parquet is compressed inside; write {path.with_suffix('').name}")
    if form == ".parquet":
        _write_parquet(run, path)
    elif form in _WRITERS or (is_packed and not form):
        write_text(path, _WRITERS.get(form, trec)(run))
    else:
        raise FormatError(f"{path}: a run is written as {', '.join(_WRITERS)} or .parquet; got {form or path.suffix!r}")


def _write_parquet(run: Run, path: Path) -> None:
    arrow = library("pyarrow", f"{path}: writing Parquet", "parquet")
    from pyarrow import parquet

    columns: dict[str, list[Any]] = {
        "query": [hit.query for hit in run],
        "rank": [hit.rank for hit in run],
        "document": [hit.id for hit in run],
    }
    columns |= {name: [value(hit) for hit in run] for name, value in _measured(run).items()}
    with replacing(path) as unfinished:
        parquet.write_table(arrow.table(columns), unfinished)
