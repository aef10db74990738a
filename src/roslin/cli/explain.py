"""roslin explain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.modes import CompareOption, KeyOption, PlaceOption
from roslin.cli.output import FormatOption, OutputFormat, print_table, remark
from roslin.cli.plugins import PluginOption
from roslin.cli.reading import (
    NotationOption,
    PaeOption,
    QueryArgument,
    StrictOption,
    tell,
    text_of,
    with_reading_options,
)
from roslin.cli.search import chosen_readings

if TYPE_CHECKING:
    from roslin.notation import Options


@with_reading_options
def explain_command(
    collection: Annotated[Path, typer.Argument(help="The collection, NAME.roslin.")],
    candidate: Annotated[str, typer.Argument(help="The id of a melody of the collection.")],
    text: QueryArgument = None,
    pae: PaeOption = None,
    file: Annotated[Path | None, typer.Option("--file", help="A file with the query, in any notation.")] = None,
    id: Annotated[str | None, typer.Option("--id", help="The query: of the collection, or of the --file.")] = None,
    number: Annotated[int | None, typer.Option("--number", min=1, help="Which melody of the file, from 1.")] = None,
    matcher: Annotated[str | None, typer.Option("--matcher", help="How to compare; see: roslin matchers.")] = None,
    compare: CompareOption = None,
    place: PlaceOption = None,
    key: KeyOption = None,
    notation: NotationOption = None,
    strict: StrictOption = False,
    svg: Annotated[Path | None, typer.Option("--svg", help="Also draw which note went where.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Also write everything as a page.")] = None,
    format: FormatOption = OutputFormat.table,
    _plugins: PluginOption = None,
    *,
    options: Options,
) -> None:
    """Say why a melody is as near to a query as it is: which note went where, and what that cost.

    Example: roslin explain mine.roslin auld-lang-syne "'4C/4.F8E4FA" --svg flow.svg
    """
    from roslin.api import Collection
    from roslin.matchers import DEFAULT_MATCHER, Roslin
    from roslin.matchers import matcher as matcher_of
    from roslin.matchers.modes import Mode
    from roslin.notation.query import has_readings, surest
    from roslin.rows import write_whole
    from roslin.run.meaning import by_chance
    from roslin.search.engines.everything import beginnings, onsets_compared

    chosen, is_cut = Mode(compare, place, key).of(matcher_of(matcher or DEFAULT_MATCHER))
    with Collection(collection) as opened:
        found = chosen_readings(opened, text_of(text, pae), file, id, number, options, notation, strict=strict)
        query, count = found[0], 1
        if not is_cut and isinstance(chosen, Roslin) and (id is None or file is not None) and has_readings(found):
            query, _, count = surest(found, lambda reading: opened.search(reading, chosen))
        if len(found) > 1:
            tell(query)
        if is_cut:
            known, melody = int(opened.numbers([candidate])[0]), opened[candidate]
            among = beginnings(opened.packed(), onsets_compared(query))
            explanation = chosen.explain(query, among, known).about(query, melody)
        else:
            explanation = opened.explain(query, candidate, chosen)
        is_asked = not is_cut and format is OutputFormat.table
        hit = opened.found_as(query, candidate, chosen, readings=count) if is_asked else None
    if svg is not None:
        from roslin.report.flow import flow_svg

        write_whole(svg, flow_svg(explanation) + "\n")
        remark(f"drawing written to {svg}")
    if html is not None:
        from importlib.metadata import version

        from roslin.report.explanation import explanation_page

        write_whole(html, explanation_page(explanation, f"Roslin {version('roslin')}; {collection.name}."))
        remark(f"page written to {html}")
    # Last: whoever reads may stop reading, and the files are to be there all the same.
    if format is OutputFormat.json:
        typer.echo(json.dumps(explanation.to_dict(), ensure_ascii=False, indent=1))
    elif format is OutputFormat.tsv:
        print_table(explanation.table, format)
    else:
        typer.echo(str(explanation))
        if hit is not None and hit.expected is not None:
            typer.echo(f"{hit.meaning.capitalize()}: {by_chance(hit.expected)}")
            if hit.coincides:
                typer.echo("Found by the notes that coincide in time: --matcher p2 shows them.")
