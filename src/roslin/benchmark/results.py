"""Every task put to every matcher, and what other runs have measured beside it.

The folder gets

    TASK/FORM/         a campaign for each column: runs, provenance, lists that are finished
    benchmark.json     every mean with its interval and time; others can add theirs (`Benchmark.with_results`)

Values are mean average precision, with 95% intervals over queries, and the share of queries whose answer comes first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from roslin.api import Collection
from roslin.benchmark.tasks import TASKS, QuerySet, Sources
from roslin.campaign import run_campaign
from roslin.campaign.campaign import MATCHERS
from roslin.collection.files import write_text
from roslin.display.table import Table
from roslin.errors import ArgumentError, FormatError, UnknownNameError
from roslin.evaluate.exchanges import mean_intervals
from roslin.matchers import Matcher
from roslin.report.document import document
from roslin.report.plots import interval_plot
from roslin.search.program import program_versions
from roslin.types import Progress

MEASURES = ("AP", "Success@1")
FORMAT = 1
QUICK_QUERIES = 5
RESULTS = "benchmark.json"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one matcher in one column. Times are medians of a query, in milliseconds."""

    system: str
    column: str
    mean: float
    low: float
    high: float
    first: float
    milliseconds: float
    refused: int
    source: str = ""  # the file of another run that it comes from


@dataclass(frozen=True)
class Benchmark:
    """All results. `columns` describes each column: its queries, documents, and the checksum of both."""

    columns: Mapping[str, Mapping[str, Any]]
    results: tuple[Result, ...]
    versions: Mapping[str, Any]
    left_out: Mapping[str, str]

    def with_results(self, path: str | Path) -> Self:
        """With the results of a file that another run has written, for the columns with the same music."""
        try:
            known = json.loads(Path(path).read_text("utf-8"))
            if known["format"] != FORMAT:
                raise FormatError(f"{path}: a benchmark of format {known['format']}; this Roslin reads {FORMAT}")
            same = [name for name, about in self.columns.items() if known["columns"].get(name) == about]
            added = [
                Result(**each | {"source": Path(path).name}) for each in known["results"] if each["column"] in same
            ]
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"{path}: not the results of a benchmark; expected the file {RESULTS} of one") from None
        if not added:
            raise ArgumentError(f"{path}: no column of it has the same queries and melodies as one of these")
        mine = {(each.system, each.column) for each in self.results}
        new = [each for each in added if (each.system, each.column) not in mine]
        return replace(self, results=(*self.results, *new))

    @property
    def systems(self) -> list[str]:
        """The best mean over all columns first. Matchers that lack columns follow."""
        names = dict.fromkeys(each.system for each in self.results)
        of = {name: [each.mean for each in self.results if each.system == name] for name in names}
        return sorted(names, key=lambda name: (-len(of[name]), -float(np.mean(of[name]))))

    def to_table(self, field: str = "mean") -> Table:
        """A row for each matcher, a column for each column of the tasks. `field` is a field of `Result`."""
        values = {(each.system, each.column): getattr(each, field) for each in self.results}
        rows = [(name, *(values.get((name, column)) for column in self.columns)) for name in self.systems]
        titles = {"mean": "Mean average precision", "first": "Share of queries whose answer comes first",
                  "milliseconds": "Milliseconds of a query (median)"}  # fmt: skip
        key = {"mean": "precision", "first": "first", "milliseconds": "time"}[field]
        return Table.of(("system", *self.columns), rows, titles[field], key=key, headings=MATCHERS)

    def by_task(self) -> Table:
        """The mean over the columns of each task that a matcher has done."""
        of: dict[str, dict[str, list[float]]] = {}
        for each in self.results:
            of.setdefault(each.system, {}).setdefault(each.column.partition(",")[0], []).append(each.mean)
        tasks = dict.fromkeys(column.partition(",")[0] for column in self.columns)
        rows = [
            (name, *(float(np.mean(of[name][task])) if task in of[name] else None for task in tasks))
            for name in self.systems
        ]
        return Table.of(
            ("system", *tasks),
            rows,
            "Mean average precision, mean of the columns of a task",
            key="tasks",
            headings=MATCHERS,
        )

    def ahead(self) -> Table:
        """For each column the best matcher, and the default matcher."""
        rows = []
        for column, about in self.columns.items():
            found = sorted((each for each in self.results if each.column == column), key=lambda each: -each.mean)
            ours = [_shown(each) for each in found if each.system == "roslin"]
            best = found[0]
            rows.append((column, about["queries"], about["documents"], best.system, _shown(best), *(ours or [""])))
        columns = ("column", "queries", "melodies", "best", "its precision", "roslin")
        return Table.of(columns, rows, "The best of each column", key="best")

    def of_column(self, column: str) -> list[Result]:
        found = [each for each in self.results if each.column == column]
        return sorted(found, key=lambda each: (-each.mean, each.system))

    def to_json(self) -> str:
        made = {
            "format": FORMAT,
            "versions": self.versions,
            "columns": self.columns,
            "left_out": self.left_out,
            "results": [{name: getattr(each, name) for name in Result.__slots__} for each in self.results],
        }
        return json.dumps(made, ensure_ascii=False, indent=1, default=repr) + "\n"


def _shown(result: Result) -> str:
    return f"{result.mean:.3f} [{result.low:.3f}, {result.high:.3f}]"


def run_benchmark(
    folder: str | Path,
    tasks: Iterable[str],
    matchers: Sequence[str | Matcher],
    sources: Sources | None = None,
    *,
    k: int = 100,
    threads: int = 1,
    progress: Progress | None = None,
) -> Benchmark:
    """Run every task with every matcher. A task whose music is missing is omitted, with a note on what it needs.

    An interrupted benchmark continues where it stopped.
    """
    output, chosen, given = Path(folder), list(dict.fromkeys(tasks)), sources or Sources()
    for name in chosen:
        if name not in TASKS:
            raise UnknownNameError("task", name, list(TASKS))
    left_out = {name: missing for name in chosen if (missing := TASKS[name].missing(given))}
    if len(left_out) == len(chosen):
        raise ArgumentError("; ".join(f"the task {name} {missing}" for name, missing in left_out.items()))
    columns: dict[str, dict[str, Any]] = {}
    results: list[Result] = []
    for column in _columns([name for name in chosen if name not in left_out], given, progress):
        columns[column.name] = {
            "queries": len(column.queries),
            "documents": len(column.documents),
            "sha256": column.sha256,
        }
        results += _measured(column, output, matchers, k, threads, progress)
        write_text(output / RESULTS, Benchmark(columns, tuple(results), program_versions(), left_out).to_json())
    return Benchmark(columns, tuple(results), program_versions(), left_out)


def _columns(names: Iterable[str], sources: Sources, progress: Progress | None) -> Iterator[QuerySet]:
    for name in names:
        if progress is not None:
            progress(0.0, f"reading {name}")
        yield from TASKS[name].columns(sources)


def _measured(
    column: QuerySet, output: Path, matchers: Sequence[str | Matcher], k: int, threads: int, progress: Progress | None
) -> Iterator[Result]:
    """The campaign of a column. Its collection is built again only if it is not there yet, or is another."""
    folder = output / column.task / column.form.replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{column.sha256[:12]}.roslin"

    def report(done: float, _: str) -> None:
        if progress is not None:
            progress(done, column.name)

    with Collection(path) if path.exists() else Collection.build(column.documents, path) as collection:
        campaign = run_campaign(
            collection,
            column.truth,
            matchers,
            folder,
            queries=column.queries,
            k=k,
            measures=MEASURES,
            threads=threads,
            progress=report,
        )
    evaluation = campaign.evaluation
    for place, system in enumerate(campaign.systems):
        low, high = mean_intervals(evaluation.counted[place, 0])
        mean, first = evaluation.means[place].tolist()
        milliseconds = 1000 * float(np.median(system.seconds))
        yield Result(system.name, column.name, mean, float(low), float(high), first, milliseconds, len(system.refused))


def write_page(benchmark: Benchmark, folder: str | Path) -> Path:
    """Write `report.html`: all tables, and a drawing of each column."""
    plots = []
    for column in benchmark.columns:
        found = benchmark.of_column(column)
        intervals = np.array([(each.low, each.high) for each in found])
        names, means = [each.system for each in found], np.array([each.mean for each in found])
        plots.append((column, interval_plot(names, means, intervals, f"Mean average precision of {column}")))
    page = document(
        "benchmark.html",
        heading="Benchmark of matchers",
        summary=benchmark.by_task(),
        best=benchmark.ahead(),
        tables=[benchmark.to_table(field) for field in ("mean", "first", "milliseconds")],
        plots=plots,
        remarks=[f"The task {name} was left out: it {missing}." for name, missing in benchmark.left_out.items()],
        sources=[f"{name}: {value}" for name, value in benchmark.versions.items()]
        + [f"{name}: SHA-256 {about['sha256']}" for name, about in benchmark.columns.items()],
    )
    path = Path(folder) / "report.html"
    write_text(path, page)
    return path
