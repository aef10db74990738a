"""roslin explain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from roslin.cli.output import FormatOption, print_rows, remark
from roslin.cli.output import OutputFormat as Format
from roslin.cli.plugins import PluginOption
from roslin.cli.reading import with_reading_options
from roslin.cli.search import chosen_query
from roslin.errors import MelodyError

if TYPE_CHECKING:
    from roslin.api import Collection
    from roslin.matchers import Matcher
    from roslin.melody import Melody
    from roslin.notation import Options
    from roslin.search import Explanation

__all__ = ["explain_command"]

_COLUMNS = ("segment", "query", "candidate", "weight", "distance", "cost")


@with_reading_options
def explain_command(
    collection: Annotated[Path, typer.Argument(help="The collection, NAME.roslin.")],
    candidate: Annotated[str, typer.Argument(help="The id of a melody of the collection.")],
    pae: Annotated[str | None, typer.Option("--pae", help="The query in Plaine & Easie Code.")] = None,
    file: Annotated[Path | None, typer.Option("--file", help="A file with the query, in any notation.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="The query: of the collection, or of the --file.")] = None,
    number: Annotated[int | None, typer.Option("--number", min=1, help="Which melody of the file, from 1.")] = None,
    matcher: Annotated[str, typer.Option("--matcher", help="How to compare; see roslin matchers.")] = "emd",
    lenient: Annotated[bool, typer.Option("--lenient", help="Read a faulty query as far as possible.")] = False,
    svg: Annotated[Path | None, typer.Option("--svg", help="Also draw the flow, as a picture.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Also write everything as a page.")] = None,
    format: FormatOption = Format.table,
    _plugins: PluginOption = None,
    *,
    options: Options,
) -> None:
    """Say why a melody is as near to a query as it is: which note went where, and what that cost.

    Example: roslin explain mine.roslin auld-lang-syne --pae "'4C/4.F8E4FA" --svg flow.svg
    """
    from roslin.api import Collection
    from roslin.matchers import matcher as matcher_of
    from roslin.matchers.transport.base import Transport
    from roslin.search import explain

    chosen = matcher_of(matcher)
    with Collection(collection) as opened:
        query = chosen_query(opened, pae, file, id, number, options, strict=not lenient)
        if not isinstance(chosen, Transport):
            if svg is not None:
                raise typer.BadParameter(
                    f"{chosen!r} moves no weight, so there is no drawing of it", param_hint="--svg"
                )
            _print_account(opened, query, opened[candidate], chosen, html, format)
            return
        explanation = explain(query, opened[candidate], chosen)
    if svg is not None:
        from roslin.report.flow import flow_svg

        svg.write_text(flow_svg(explanation) + "\n", encoding="utf-8")
        remark(f"drawing written to {svg}")
    if html is not None:
        from importlib.metadata import version

        from roslin.report.flow import explanation_page

        html.write_text(explanation_page(explanation, f"Roslin {version('roslin')}; {collection.name}."), "utf-8")
        remark(f"page written to {html}")
    # Last: whoever reads may stop reading, and the files are to be there all the same.
    if format is Format.json:
        typer.echo(json.dumps(_as_json(explanation), ensure_ascii=False, indent=1))
    else:
        _print(explanation, format)


def _print_account(
    collection: Collection, query: Melody, candidate: Melody, chosen: Matcher, html: Path | None, format: Format
) -> None:
    """The account of a distance, among all melodies of the collection."""
    from roslin.report.account import COLUMNS, account_page, account_rows

    account = chosen.account(query, collection, int(collection.numbers([str(candidate.id)])[0]))
    if account is None:
        raise MelodyError("there is nothing to explain: the candidate has no notes")
    if html is not None:
        from importlib.metadata import version

        note = f"Roslin {version('roslin')}; {collection.path.name}."
        html.write_text(account_page(query, candidate, chosen, account, note), "utf-8")
        remark(f"page written to {html}")
    rows = account_rows(query, candidate, account)
    used = [name for name in COLUMNS if format is not Format.table or any(row[name] for row in rows) or name == "cost"]
    if format is Format.table:
        typer.echo(f"Distance {account.distance:z.4f} ({chosen!r})")
        typer.echo("")
    print_rows(rows, used, format)
    if format is Format.table:
        typer.echo(f"Sum of costs {account.distance:z.4f}")
        if account.within is not None:
            within = account_rows(query, candidate, account.within)
            typer.echo("")
            typer.echo(f"What counts most: distance {account.within.distance:z.4f} ({chosen.leading!r})")
            typer.echo("")
            print_rows(within, [name for name in COLUMNS if any(row[name] for row in within)], format)


def _print(explanation: Explanation, format: Format) -> None:
    from roslin.report.flow import spelled

    has_segments = any(part.segment is not None for part in explanation.parts)
    rows: list[dict[str, Any]] = []
    for part in explanation.parts:
        for move in part.moves:
            rows.append(
                {
                    "segment": part.segment,
                    "query": spelled(explanation.query, move.query_note),
                    "candidate": spelled(explanation.candidate, move.candidate_note),
                    "weight": move.weight,
                    "distance": move.distance,
                    "cost": move.cost,
                }
            )
    if format is Format.table:
        typer.echo(explanation.words)
        for part in explanation.parts if has_segments else ():
            typer.echo(f"Segment {part.segment}: {part.words}; distance {part.alignment.distance:.4f}")
        typer.echo(f"Distance {explanation.distance:.4f} ({explanation.matcher!r})")
        typer.echo("")
    print_rows(rows, _COLUMNS if has_segments else _COLUMNS[1:], format)
    if format is Format.table:
        typer.echo(
            f"Sum of costs {sum(row['cost'] for row in rows):.4f}, weight {sum(row['weight'] for row in rows):.4g}"
        )


def _as_json(explanation: Explanation) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "query": explanation.query.id,
        "candidate": explanation.candidate.id,
        "matcher": repr(explanation.matcher),
        "distance": explanation.distance,
        "words": explanation.words,
        "expected": explanation.expected,
        "parts": [asdict(part) for part in explanation.parts],
    }
