"""roslin truth compare, convert: what is done with truths that exist."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.output import FormatOption, OutputFormat, print_table, print_tables, remark
from roslin.cli.truth_options import spare

if TYPE_CHECKING:
    from collections.abc import Iterable


def compare_command(
    truth: Annotated[Path, typer.Argument(help="A truth.")],
    other: Annotated[Path, typer.Argument(help="Another truth for the same queries.")],
    documents: Annotated[
        bool, typer.Option("--documents", help="List the documents that differ, not the queries.")
    ] = False,
    query: Annotated[list[str] | None, typer.Option("--query", help="Only this query; several times.")] = None,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Say how two truths differ: groups, order of pairs, rank correlation, and single documents.

    Example: roslin truth compare All-2.qrel Any-1.qrel
    """
    from roslin.errors import ArgumentError
    from roslin.truth import read_truth
    from roslin.truth.tables import compare_truths, likenesses, placed_otherwise, places

    first, second = read_truth(truth), read_truth(other)
    for note in (*first.notes, *second.notes):
        remark(note)
    if query:
        first, second = first.only(query), second.only(query)
    shared = [each for each in first if each in second]
    if not shared:
        raise ArgumentError(f"{truth} and {other} have no query in common")
    _remark_lone(truth, (each for each in first if each not in second))
    _remark_lone(other, (each for each in second if each not in first))
    first, second = first.only(shared), second.only(shared)
    found = compare_truths(first, second)
    remark(
        f"{sum(each.identical for each in found)} of {len(found)} queries have the same groups; of "
        f"{sum(each.documents for each in found)} documents {sum(each.regrouped for each in found)} are grouped with "
        f"others, {sum(each.moved for each in found)} have been passed by others"
    )
    tables = [likenesses(found), places(placed_otherwise(first, second))]
    if format is OutputFormat.json:
        print_tables(tables, format)
    else:
        print_table(tables[int(documents)], format)


def _remark_lone(path: Path, queries: Iterable[str]) -> None:
    alone = list(queries)
    if alone:
        more = f" and {len(alone) - 5} more" if len(alone) > 5 else ""
        remark(f"only in {path}: {', '.join(alone[:5])}{more}")


def convert_command(
    truth: Annotated[Path, typer.Argument(help="A truth.")],
    output: Annotated[Path, typer.Argument(help="The file to write: .qrel, .txt, .json or .csv.")],
    read_as: Annotated[
        str | None, typer.Option("--from", help="qrel, grouped, trec, json or csv, where the file does not tell.")
    ] = None,
    write_as: Annotated[
        str | None, typer.Option("--to", help="grouped, trec, json or csv, in place of what the ending says.")
    ] = None,
) -> None:
    """Write a truth in another form, and say what is lost.

    Example: roslin truth convert qrels.txt truth.json
    """
    from roslin.truth import read_truth
    from roslin.truth.qrel import convert_truth, truth_writer

    truth_writer(output, write_as)
    spare(truth, output)
    found = read_truth(truth, read_as)
    for note in found.notes:
        remark(note)
    for loss in convert_truth(found, output, write_as):
        remark(loss)
    remark(f"written to {output}")
