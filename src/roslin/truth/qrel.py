"""Truth files: grouped qrels, TREC qrels, JSON and tables, read to a `Truth` and written from one.

  grouped qrel   list query document group      group 1 is the most similar; 0 = judged, not relevant
  TREC qrels     query 0 document relevance     a larger relevance is better; 0 = not relevant; below 0 = not judged
  JSON           see `write_truth`; also {query: [[id, ...], ...]} and {query: {id: relevance}}
  CSV, Parquet   a header with query, document, and group or relevance

A file that judges a document twice (the MIREX 2005 lists do) is read with the first judgement and a remark in the
truth's `notes`. They also count the lines whose relevance is below 0. Any of these may be compressed (`.gz`, `.zst`).
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from roslin.display.text import counted, some_of
from roslin.errors import ArgumentError, FormatError, Problem, UnknownNameError, shortened
from roslin.rows import (
    Row,
    called,
    column_rows,
    form_of,
    frame_rows,
    is_frame,
    named,
    number,
    read_json,
    refuse,
    table_rows,
    to_word,
    whole_number,
    write_whole,
)
from roslin.truth.model import Truth

_JSON_FORMAT = "roslin-truth"
_NO_ITERATION = {"0", "Q0"}
_FIRST_ITERATION = {"1"}
_GROUPED = ("list", "query", "document", "group")
_NAMED = 5  # this many repeated judgements are named; the rest is counted


# -- reading ----------------------------------------------------------------------------------------------------------


def read_truth(source: str | Path | Mapping[str, Any] | Truth | Any, format: str | None = None) -> Truth:
    """A truth from a file, a mapping or a data frame. `format` is one of `FORMATS`, by default recognised."""
    if isinstance(source, Truth):
        return source
    if isinstance(source, Mapping):
        return _from_mapping(source)
    if is_frame(source):
        return _from_table(frame_rows(source, ["query", "document", "group|relevance"]), "", "")
    if not isinstance(source, (str, Path)):
        raise ArgumentError(f"a truth must be a path, a mapping or a data frame; got {type(source).__name__}")
    path = Path(source)
    if format is None:
        format = {".json": "json", ".csv": "csv", ".tsv": "csv", ".parquet": "csv"}.get(form_of(path), "qrel")
    if format not in FORMATS:
        raise UnknownNameError("format of a truth", format, sorted(FORMATS))
    truth = FORMATS[format](path)
    if not truth:
        raise refuse("the truth is empty", expected="a judgement or more", found="none", file=str(path))
    return truth


def _read_columns(path: Path) -> Truth:
    """Grouped or TREC, by the first two columns, which are a list and a query, or a query and an iteration.

    The iteration is 0 (or Q0) on every line in most files. Some have 1, or several numbers. Then the first column
    decides: a grouped qrel holds one list, so that it is the same on every line. The notes list the decisions.
    """
    rows = list(column_rows(path, _GROUPED))
    firsts, seconds = ({row.cells[place] for row in rows} for place in (0, 1))
    if seconds <= _NO_ITERATION:
        return _from_trec(rows, path)
    others = seconds - _NO_ITERATION
    is_mixed = seconds != others and all(map(str.isdecimal, others))
    if len(firsts) > 1:
        # Several queries, and fewer iterations than that; a second list would have other queries.
        if is_mixed or (len(seconds) < len(firsts) and all(map(str.isdecimal, seconds))):
            iterations = shortened(", ".join(sorted(seconds)))
            note = f"{path}: read as TREC qrels: the first column has queries, the second iterations ({iterations})"
            return _from_trec(rows, path, [note])
    elif is_mixed or seconds == _FIRST_ITERATION:
        note = (
            f"{path}: read as a grouped qrel with one list; for TREC qrels of one query write 0 into the second column"
        )
        return _from_grouped(rows, path, [note])
    return _from_grouped(rows, path)


def _read_table(path: Path) -> Truth:
    return _from_table(table_rows(path, ["query", "document", "group|relevance"]), called(path), str(path))


def _read_json(path: Path) -> Truth:
    value = read_json(path)
    if not isinstance(value, dict):
        raise refuse("not a truth", expected="an object {query: groups}", found=type(value).__name__, file=str(path))
    try:
        return _from_mapping(_with_texts(value), called(path))
    except (ArgumentError, FormatError) as error:
        raise refuse(str(error), file=str(path)) from None
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        raise refuse("not a truth", expected="what write_truth writes", file=str(path)) from None


def _with_texts(value: Any) -> Any:
    """Ids are texts, as in every other form; whole numbers in lists are taken for such."""
    if isinstance(value, dict):
        return {name: each if name == "gains" else _with_texts(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_texts(each) if isinstance(each, (list, dict)) else _id(each) for each in value]
    return value


def _id(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise ArgumentError(f"an id must be a text or a whole number; got {value!r}")
    return str(value)


FORMATS: dict[str, Callable[[Path], Truth]] = {
    "qrel": _read_columns,
    "grouped": lambda path: _from_grouped(list(column_rows(path, _GROUPED)), path),
    "trec": lambda path: _from_trec(list(column_rows(path, ("query", "iteration", "document", "relevance"))), path),
    "json": _read_json,
    "csv": _read_table,
}


def _from_grouped(rows: Sequence[Row], path: Path, notes: Sequence[str] = ()) -> Truth:
    name = rows[0].cells[0] if rows else called(path)
    judgements = []
    for row in rows:
        if row.cells[0] != name:
            raise refuse(
                "a second list in one file (for TREC qrels, give format='trec')",
                expected=shortened(name),
                found=shortened(row.cells[0]),
                file=row.file,
                line=row.line,
            )
        group = whole_number(row.cells[3], "group", file=row.file, line=row.line)
        judgements.append((row.cells[1], row.cells[2], group, row.line))
    return _grouped(judgements, name, str(path), notes)


def _from_trec(rows: Sequence[Row], path: Path, notes: Sequence[str] = ()) -> Truth:
    judgements = []
    for row in rows:
        gain = number(row.cells[3], "relevance", file=row.file, line=row.line)
        judgements.append((row.cells[0], row.cells[2], gain, row.line))
    return _graded(judgements, called(path), str(path), notes)


def _from_table(rows: Iterable[tuple[dict[str, Any], int]], name: str, file: str) -> Truth:
    grouped, graded = [], []
    for cells, line in rows:
        query, document = (named(cells[name], name, file=file, line=line) for name in ("query", "document"))
        if "group" in cells:
            grouped.append((query, document, whole_number(cells["group"], "group", file=file, line=line), line))
        else:
            graded.append((query, document, number(cells["relevance"], "relevance", file=file, line=line), line))
    return _grouped(grouped, name, file) if grouped else _graded(graded, name, file)


def _grouped(judgements: Iterable[tuple[str, str, int, int]], name: str, file: str, known: Sequence[str] = ()) -> Truth:
    """Group numbers give the order. A number that is left out is no empty group."""
    by_query: dict[str, dict[int, list[str]]] = {}
    notes = list(known)
    for query, document, group, line in _once(judgements, file, notes):
        if group < 0:
            raise refuse("bad group", expected="0 or more", found=str(group), file=file, line=line)
        by_query.setdefault(query, defaultdict(list))[group].append(document)
    groups = {query: [each[k] for k in sorted(each) if k > 0] for query, each in by_query.items()}
    nonrelevant = {query: each[0] for query, each in by_query.items() if 0 in each}
    return Truth(groups, nonrelevant=nonrelevant, name=name, notes=notes)


def _graded(
    judgements: Iterable[tuple[str, str, float, int]], name: str, file: str, known: Sequence[str] = ()
) -> Truth:
    relevance: dict[str, dict[str, float]] = {}
    notes = list(known)
    unjudged = 0
    for query, document, gain, line in _once(judgements, file, notes):
        if math.isinf(gain):
            raise refuse("bad relevance", expected="a finite number", found=f"{gain:g}", file=file, line=line)
        relevance.setdefault(query, {})[document] = gain
        unjudged += gain < 0
    if unjudged:
        notes.append(_below(unjudged, file))
    return Truth.from_relevance(relevance, name=name, notes=notes)


def _below(count: int, file: str) -> str:
    return str(Problem(f"{counted(count, 'relevance')} below 0: taken as not judged", file=file))


def _once(
    judgements: Iterable[tuple[str, str, Any, int]], file: str, notes: list[str]
) -> Iterator[tuple[str, str, Any, int]]:
    """Each judgement of a document once, the first; later ones become notes, the first few of them one each."""
    first: dict[tuple[str, str], int] = {}
    again = 0
    for query, document, value, line in judgements:
        before = first.setdefault((query, document), line)
        if before == line:
            yield query, document, value, line
            continue
        again += 1
        if again <= _NAMED:
            said = f"{shortened(document)} is judged again for query {shortened(query)}; line {before} counts"
            notes.append(str(Problem(said, line=line, file=file)))
    if again > _NAMED:
        rest = counted(again - _NAMED, "more judgement")
        notes.append(str(Problem(f"{rest} of documents that were judged before: the first counts", file=file)))


def _from_mapping(source: Mapping[str, Any], name: str = "") -> Truth:
    if source.get("format") == _JSON_FORMAT:
        queries = source["queries"]
        return Truth(
            {query: each["groups"] for query, each in queries.items()},
            gains={query: each["gains"] for query, each in queries.items() if "gains" in each},
            nonrelevant={query: each["nonrelevant"] for query, each in queries.items() if "nonrelevant" in each},
            name=source.get("name", name),
        )
    if source and all(isinstance(each, Mapping) for each in source.values()):
        below = sum(number(gain, "relevance") < 0 for judged in source.values() for gain in judged.values())
        return Truth.from_relevance(source, name=name, notes=[_below(below, name)] if below else ())
    return Truth(source, name=name)


# -- writing ----------------------------------------------------------------------------------------------------------


def write_truth(truth: Truth, path: str | Path, format: str | None = None) -> None:
    """Write a truth in the form of the file's ending: `.json` (everything), `.qrel`, `.txt` or `.csv` (groups, no
    gains).

    `format`: one of `WRITERS` instead. `trec` has gains, and no name.
    """
    text = truth_writer(path, format)(truth)
    write_whole(Path(path), text)


def truth_writer(path: str | Path, format: str | None = None) -> Callable[[Truth], str]:
    """The function that makes the text of a file with this name, or in this format. An unknown one is refused."""
    ending = Path(path).suffix.lower()
    if format is not None:
        if format not in WRITERS:
            raise UnknownNameError("format to write a truth in", format, WRITERS)
        if (ending in (".json", ".csv") or format in ("json", "csv")) and ending != f".{format}":
            raise ArgumentError(
                f"a file called {Path(path).name} would not be read as {format}; give it another ending"
            )
        return WRITERS[format]
    if ending not in _ENDINGS:
        raise ArgumentError(f"a truth is written to a file that ends with {', '.join(_ENDINGS)}; got {Path(path).name}")
    return WRITERS[_ENDINGS[ending]]


def _to_json(truth: Truth) -> str:
    queries = {}
    for query, groups in truth.items():
        each: dict[str, Any] = {"groups": groups, "gains": truth.gains(query)}
        if truth.nonrelevant(query) is not None:
            each["nonrelevant"] = truth.nonrelevant(query)
        queries[query] = each
    value = {"format": _JSON_FORMAT, "version": 1, "name": truth.name, "queries": queries}
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _to_grouped(truth: Truth) -> str:
    words = ((truth.name, query, id, str(group)) for query, id, group in truth.judgements())
    return "".join("\t".join(map(to_word, row)) + "\n" for row in words)


def _to_trec(truth: Truth) -> str:
    rows = []
    for query, groups in truth.items():
        for gain, ids in [*zip(truth.gains(query), groups, strict=True), (0.0, truth.nonrelevant(query) or ())]:
            rows += [f"{to_word(query)} 0 {to_word(id)} {repr(float(gain)).removesuffix('.0')}\n" for id in ids]
    return "".join(rows)


def _to_csv(truth: Truth) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([("query", "document", "group"), *truth.judgements()])
    return stream.getvalue()


WRITERS: dict[str, Callable[[Truth], str]] = {
    "grouped": _to_grouped,
    "trec": _to_trec,
    "json": _to_json,
    "csv": _to_csv,
}
_ENDINGS = {".qrel": "grouped", ".txt": "grouped", ".json": "json", ".csv": "csv"}


# -- convert -----------------------------------------------------------------------------------------------------------
#
# A truth in another form of file, and what that form cannot hold, found by reading back what was written.
#
# Groups and their order are in every form. A grouped qrel and CSV have no gains, TREC qrels and CSV no name for the
# list, and none of these a query without any judgement, or the statement that nothing was judged not relevant. JSON has
# all.


def convert_truth(truth: Truth, output: str | Path, format: str | None = None) -> list[str]:
    """Write a truth in the form of the file's ending, or in a `format` of `WRITERS`. Return notes on anything lost."""
    write_truth(truth, output, format)
    if not any(True for _ in truth.judgements()) and Path(output).suffix.lower() != ".json":
        return [f"no query has a judgement: {Path(output).name} is empty"]
    return losses(truth, read_truth(output))


def losses(truth: Truth, written: Truth) -> list[str]:
    """The differences of the second truth, read from a file that the first was written to.

    >>> losses(Truth({"q": [["a"]], "r": []}, name="mine"), Truth({"q": [["a"]]}, name="mine"))
    ['query r is lost: it has no judgement']
    """
    kept = [query for query in truth if query in written]
    lost = [query for query in truth if query not in written]
    said = []
    if lost:
        are, have = ("is", "it has") if len(lost) == 1 else ("are", "they have")
        said.append(f"{_queries(lost)} {are} lost: {have} no judgement")
    gains = [query for query in kept if truth.gains(query) != written.gains(query)]
    if gains:
        said.append(f"gains are lost for {_queries(gains)}: only the order of the groups is kept")
    judged = [query for query in kept if truth.nonrelevant(query) is not None and written.nonrelevant(query) is None]
    if judged:
        said.append(f"that nothing was judged not relevant is lost for {_queries(judged)}")
    unjudged = [query for query in kept if truth.nonrelevant(query) is None and written.nonrelevant(query) is not None]
    if unjudged:
        said.append(f"{_queries(unjudged)} will be read as if all judged documents were known: bpref counts only these")
    if truth.name and truth.name != written.name:
        said.append(f"the name {truth.name!r} is lost: it will be read as {written.name!r}")
    return said


def _queries(queries: Sequence[str]) -> str:
    if len(queries) == 1:
        return f"query {queries[0]}"
    return f"{counted(len(queries), 'query', 'queries')} ({some_of(queries)})"
