"""roslin check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roslin.cli.options import PluginOption, SourceSecondsOption, ThreadsOption
from roslin.cli.output import FormatOption, OutputFormat, print_tables, progress_bar, remark
from roslin.display.table import Table
from roslin.display.text import counted
from roslin.errors import NotationError, Problem, RoslinError

if TYPE_CHECKING:
    from roslin.melody import Melody

_COLUMNS = ("severity", "file", "line", "column", "record", "problem")
_FOUND = ("record", "answer", "meaning", "best")


def check_command(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files to check, MARCXML or any notation.")],
    collection: Annotated[
        Path | None, typer.Option("--collection", help="Also list other sources of each tune in this collection.")
    ] = None,
    threads: ThreadsOption = 1,
    seconds: SourceSecondsOption = None,
    format: FormatOption = OutputFormat.table,
    _plugins: PluginOption = None,
) -> None:
    """Check the encoding of records before they are published. The exit code is 1 if there are errors.

    An error is an incipit that cannot be read, a warning a sign that Roslin reads differently from how it is written,
    a note an incipit without music, or an id that occurs again.

    Example: roslin check new-records.xml --collection catalogue.roslin
    """
    from roslin.notation.record import SEVERITIES

    melodies: list[Melody] = []
    rows = [row for file in files for row in _checked(file, melodies)]
    tables = [Table(_COLUMNS, tuple(rows), "Problems", key="problems")]
    if collection is not None:
        tables.append(Table(_FOUND, tuple(_sources(collection, melodies, threads, seconds)), "Sources", key="sources"))
    print_tables(tables, format)
    counts = Counter(row["severity"] for row in rows)
    said = [counted(counts[severity], severity) for severity in SEVERITIES]
    remark(f"{counted(len(melodies), 'melody', 'melodies')} read: {', '.join(said)}")
    if counts["error"]:
        raise typer.Exit(1)


def _checked(file: Path, melodies: list[Melody]) -> Iterator[dict[str, Any]]:
    """A row for each problem of a file. Its melodies are added to the others."""
    from roslin.notation import Record, records
    from roslin.notation.record import checked

    def kept() -> Iterator[Record]:
        for record in records(file, named="", skipped=True):
            if record.melody is not None:
                melodies.append(record.melody)
            yield record

    try:
        for severity, problem in checked(kept()):
            yield _row(severity, problem, file)
    except NotationError as error:
        yield _row("error", error.problem, file)
    except RoslinError as error:
        yield _row("error", Problem(str(error).removeprefix(f"{file}: ")), file)


def _row(severity: str, problem: Problem, file: Path) -> dict[str, Any]:
    from roslin.notation.record import words_of

    place = {"line": problem.line or None, "column": problem.column or None}
    return {"severity": severity, "file": file.name, **place, "record": problem.record, "problem": words_of(problem)}


def _sources(path: Path, melodies: list[Melody], threads: int, seconds: float | None) -> Iterator[dict[str, Any]]:
    """A row for each record: who else has the tune."""
    from roslin.api import Collection
    from roslin.concordances.identify import by_source

    with Collection(path) as opened:
        for name, incipits in by_source(melodies).items():
            with progress_bar("Searching", total=1.0) as progress:
                found = opened.identify(incipits, threads=threads, seconds=seconds, progress=progress)
            best = found.attributions[0] if found.attributions else None
            known = {"meaning": best.meaning, "best": best.sources[0].id} if best else {}
            yield {"record": name, "answer": found.sentence, **known}
