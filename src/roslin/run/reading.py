"""Runs from files, mappings, data frames and rows.

Files: TREC runs, JSON ({query: [id, ...]}, {query: {id: score}}, or what `Run.to_json` writes), CSV, TSV and Parquet
with the columns query, document and score, distance or rank; any of them may be compressed (`.gz`, `.zst`). Tied values
keep the order of their ranks, and after that of their lines. Scores decide where ranks contradict them. `Run.remarks`
has a sentence for each oddity, such as a document twice in one list: the run can be judged, but the file may not be the
one that was meant. A file that makes no run, or is empty, is refused.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from roslin.display.text import counted
from roslin.errors import ArgumentError, UnknownNameError, shortened
from roslin.rows import (
    called,
    column_rows,
    form_of,
    frame_rows,
    is_frame,
    is_missing,
    named,
    number,
    read_json,
    refuse,
    table_rows,
    whole_number,
)
from roslin.run.run import Kind, Ranking, Run, checked_value
from roslin.run.writing import JSON_MARK

_COLUMNS = ("query", "document", "score|distance|rank")
_TAGS_NAMED = 3
_TREC = ("query", "Q0", "document", "rank", "score", "tag")


def read_run(source: Any, *, name: str | None = None) -> Run:
    """A run from a path, a mapping, a data frame, one `Run` or several of one system, or rows (query, document, score).

    >>> read_run([("q", "a", 0.5), ("q", "b", 0.9)]).ids
    ['b', 'a']
    """
    if isinstance(source, Run):
        return source if name is None else source.named(name)
    run = _read(source, name)
    return run.with_remarks(oddities(run))


def _read(source: Any, name: str | None) -> Run:
    if isinstance(source, (str, Path)):
        path = Path(source)
        if form_of(path) == ".json":
            return _from_json(path, name)
        if form_of(path) in (".csv", ".tsv", ".parquet"):
            return _from_table(table_rows(path, _COLUMNS, ["rank"]), name or called(path), str(path))
        return _from_trec(path, name or called(path))
    known = name or "run"
    if isinstance(source, Mapping):
        return Run(source, name=known)
    if is_frame(source):
        return _from_table(frame_rows(source, _COLUMNS, ["rank"]), known, "")
    if isinstance(source, Iterable):
        items = list(source)
        if items and all(isinstance(item, Run) for item in items):
            return Run.joined(items, name=name)
        return Run.from_rows(list(_checked_rows(items)), name=known)
    raise ArgumentError(f"a run must be a path, a mapping, a data frame or a list of rows; got {type(source).__name__}")


def _checked_rows(items: Sequence[Any]) -> Iterator[tuple[str, str, float]]:
    for place, item in enumerate(items, start=1):
        if isinstance(item, (str, bytes)) or not isinstance(item, Sequence) or len(item) != 3:
            raise ArgumentError(f"row {place} of the run must be (query, document, score); got {item!r}")
        query, document, score = item
        yield str(query), str(document), checked_value(score, "score", str(document), str(query))


def _from_json(path: Path, name: str | None) -> Run:
    value = read_json(path)
    if not isinstance(value, dict):
        raise refuse("not a run", expected="an object {query: ranking}", found=type(value).__name__, file=str(path))
    try:
        if JSON_MARK in value:
            return _from_own_json(value, name)
        lists = {named(query, "query", file=str(path)): _json_ids(each) for query, each in value.items()}
        run = Run(lists, name=name or called(path))
    except ArgumentError as error:
        raise refuse(str(error), file=str(path)) from None
    except (AttributeError, KeyError, TypeError, UnknownNameError):
        raise refuse("not a run", expected="what Run.to_json writes", file=str(path)) from None
    if not lists:
        raise refuse("the run is empty", expected="an object {query: ranking}", found="no query", file=str(path))
    return run


def _json_ids(ranking: Any) -> Any:
    """Ids are texts, as in every other form; whole numbers are taken for such."""
    if isinstance(ranking, list):
        return [_json_id(each) for each in ranking]
    return {_json_id(id): value for id, value in ranking.items()} if isinstance(ranking, dict) else ranking


def _json_id(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise ArgumentError(f"an id must be a text or a whole number; got {shortened(repr(value))}")
    return str(value)


def _from_own_json(value: dict[str, Any], name: str | None) -> Run:
    about, kind = value[JSON_MARK], value[JSON_MARK]["kind"]
    rankings = []
    for query, rows in value["queries"].items():
        ids = tuple(_json_id(row["document"]) for row in rows)
        values = (
            tuple(checked_value(row[kind], kind, row["document"], query) for row in rows) if kind != "order" else None
        )
        chances, near = (
            tuple(checked_value(row[name], name, row["document"], query) for row in rows if name in row)
            for name in ("expected", "distance")
        )
        same = tuple(int(row.get("same", 0)) for row in rows)
        coincides = tuple(bool(row.get("coincides")) for row in rows)
        if values and list(values) != sorted(values, reverse=kind == "score"):  # changed after it was written
            raise ArgumentError(f"query {shortened(query)!r}: the list is not in the order of its {kind}s")
        ranking = Ranking(
            query,
            ids,
            values,
            expected=chances if len(chances) == len(ids) > 0 else None,
            unfinished=str(about.get("unfinished", {}).get(query, "")),
            ranks=_checked_ranks([row["rank"] for row in rows if "rank" in row], len(ids), query),
            distances=near if kind != "distance" and len(near) == len(ids) > 0 else None,
            same=same if any(same) else None,
            coincides=coincides if any(coincides) else None,
            agreeing=int(about.get("agreeing", {}).get(query, 0)),
        )
        rankings.append(ranking)
    return Run(rankings, name=name or str(about["name"]), kind=kind)


def _checked_ranks(ranks: list[Any], size: int, query: str) -> tuple[int, ...] | None:
    if not ranks:
        return None
    is_whole = all(type(rank) is int for rank in ranks)
    if len(ranks) != size or not is_whole or ranks[0] < 1 or sorted(set(ranks)) != ranks:
        expected = "rising whole numbers from 1 on, one for each document"
        raise ArgumentError(f"query {shortened(query)!r}: ranks must be {expected}")
    return tuple(ranks)


def _from_trec(path: Path, name: str) -> Run:
    rows: list[tuple[str, str, float, float]] = []
    tags: dict[str, None] = {}
    for row in column_rows(path, _TREC):
        query, _, document, rank, score, tag = row.cells
        place = whole_number(rank, "rank", file=row.file, line=row.line)
        rows.append((query, document, number(score, "score", file=row.file, line=row.line), place))
        tags[tag] = None
    if not rows:
        raise refuse("the run is empty", expected=f"lines with {' '.join(_TREC)}", found="none", file=str(path))
    run = _by_rank(rows, name, "score")
    if len(tags) == 1:
        return run
    some = ", ".join(map(shortened, list(tags)[:_TAGS_NAMED])) + (" ..." if len(tags) > _TAGS_NAMED else "")
    return run.with_remarks([f"{name}: its lines have {len(tags)} tags ({some}): taken as one run"])


def _from_table(rows: Iterable[tuple[dict[str, Any], int]], name: str, file: str) -> Run:
    """A rank beside a score or a distance decides between ties, where there is one."""
    taken = []
    kind: Kind = "score"
    for cells, line in rows:
        kind = next(column for column in ("score", "distance", "rank") if column in cells)
        query, document = (named(cells[column], column, file=file, line=line) for column in ("query", "document"))
        value = number(cells[kind], kind, file=file, line=line)
        has_rank = "rank" in cells and not is_missing(cells["rank"])
        rank = number(cells["rank"], "rank", file=file, line=line) if has_rank else 0.0
        taken.append((query, document, value, rank))
    if not taken:
        raise refuse("the run is empty", expected="a row for each document found", found="none", file=file)
    return _by_rank(taken, name, kind)


def _by_rank(rows: list[tuple[str, str, float, float]], name: str, kind: Kind) -> Run:
    rows.sort(key=lambda row: row[3])
    run = Run.from_rows(((query, document, value) for query, document, value, _ in rows), name=name, kind=kind)
    if kind == "rank":
        return run
    ranked: dict[str, list[str]] = {query: [] for query in run.queries}
    for query, document, _, _ in rows:
        ranked[query].append(document)
    moved = {query for query, ids in ranked.items() if tuple(ids) != run.ranking(query)}
    doubtful = (row for row in rows if row[0] in moved) if moved else ()
    return run.with_remarks(contradiction(doubtful, name, len(ranked), rising=kind == "distance"))


# -- oddities ---------------------------------------------------------------------------------------------------------


def oddities(run: Run) -> Iterator[str]:
    """Copies, infinite values and empty lists of a run, a sentence for each kind.

    >>> from roslin.run import Run
    >>> list(oddities(Run({"q": ["a", "b", "a"]}, name="mine")))
    ['mine: 1 document comes again in a list (a in that of q): a wasted rank, only the first counts']
    """
    copies = infinite = 0
    first_copy = first_infinite = ""
    empty = [query for query, ranking in run.rankings.items() if not ranking.ids and not ranking.refusal]
    for query, ranking in run.rankings.items():
        again = len(ranking.ids) - len(set(ranking.ids))
        if again:
            first_copy = first_copy or f"{_first_copy(ranking.ids)} in that of {shortened(query)}"
            copies += again
        values = ranking.values
        if values and (math.isinf(values[0]) or math.isinf(values[-1])):  # they are in order
            first_infinite = first_infinite or shortened(query)
            infinite += sum(map(math.isinf, values))
    if copies:
        what = "1 document comes" if copies == 1 else f"{copies:,} documents come"
        yield f"{run.name}: {what} again in a list ({first_copy}): a wasted rank, only the first counts"
    if infinite:
        what = counted(infinite, f"{run.kind} is", f"{run.kind}s are")
        yield f"{run.name}: {what} infinite (first for {first_infinite})"
    if empty:
        what = counted(len(empty), "query has", "queries have")
        yield f"{run.name}: {what} an empty list (first {shortened(empty[0])})"


def _first_copy(ids: Iterable[str]) -> str:
    seen: set[str] = set()
    for id in ids:
        if id in seen:
            break
        seen.add(id)
    return shortened(id)


def contradiction(
    rows: Iterable[tuple[str, str, float, float]], name: str, queries: int, *, rising: bool = False
) -> Iterator[str]:
    """Whether ranks contradict scores: a document with a better score has a worse rank.

    Rows (query, document, score, rank) in the order of their ranks, of the `queries` that sorting by score reorders;
    `rising` where the smallest is the best.
    """
    sign = -1.0 if rising else 1.0
    worst_above: dict[str, float] = {}
    wrong: Counter[str] = Counter()
    first = ""
    for _, found in groupby(rows, key=itemgetter(3)):
        of_one_rank = [(query, document, sign * score) for query, document, score, _ in found]
        for query, document, value in of_one_rank:
            if value > worst_above.get(query, math.inf):
                wrong[query] += 1
                first = first or f"{shortened(document)} for {shortened(query)}"
        for query, _, value in of_one_rank:
            worst_above[query] = min(worst_above.get(query, math.inf), value)
    if wrong:
        lines = counted(wrong.total(), "rank contradicts its", "ranks contradict their")
        kind = "distance" if rising else "score"
        where = f"in {len(wrong):,} of {counted(queries, 'query', 'queries')} (first {first})"
        hint = "" if rising or len(wrong) < queries else "; are they distances? Then name the column distance, in CSV"
        yield f"{name}: {lines} {kind} {where}: the {kind}s decide{hint}"
