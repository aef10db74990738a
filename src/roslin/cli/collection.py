"""roslin collection build, update, add, remove, info, check, export, upgrade, shard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from roslin.cli.options import CollectionArgument, DaskOption, PluginOption, command_group, work_of
from roslin.cli.output import FormatOption, OutputFormat, print_rows, print_table, print_tables, progress_bar, remark
from roslin.cli.reading import VoicesChoice, VoicesOption
from roslin.display.text import counted

if TYPE_CHECKING:
    from roslin.collection.report import BuildReport

app = command_group("Build and maintain collections of melodies.")

_SUFFIX = ".roslin"
StrictOption = Annotated[
    bool, Option("--strict", help="Refuse every melody with a problem, even if Roslin could read it.")
]
DamagedOption = Annotated[
    bool, Option("--allow-damaged", help="Use the readable part of damaged sources, and skip unknown and empty ones.")
]


@app.command("build")
def build_command(
    paths: Annotated[
        list[Path], Argument(metavar="SOURCE... NAME.roslin", help="Files or folders to read, then the new collection.")
    ],
    strict: StrictOption = False,
    voices: VoicesOption = None,
    allow_damaged: DamagedOption = False,
    allow_smaller: Annotated[
        bool,
        Option("--allow-smaller", help="Allow a new collection with less than 90% of the melodies of the old one."),
    ] = False,
    dask: DaskOption = None,
    _plugins: PluginOption = None,
) -> None:
    """Make a collection from files and folders.

    A record that cannot be read is omitted and listed in NAME.roslin/rejects.tsv. Warnings are in warnings.tsv.
    A collection of that name is replaced when the new one is complete. If a source is damaged or empty, nothing is
    written and the exit code is 1.

    Example: roslin collection build incipits.jsonl.gz export.xml tunes/ mine.roslin
    """
    more = {"allow_damaged": allow_damaged, "allow_smaller": allow_smaller}
    _written("build", paths, dask, voices, strict=strict, **more)


@app.command("update")
def update_command(
    paths: Annotated[
        list[Path], Argument(metavar="NAME.roslin SOURCE...", help="The collection, and exports of its catalogue.")
    ],
    complete: Annotated[
        bool, Option("--complete", help="The sources are the whole catalogue: remove records that they lack.")
    ] = False,
    strict: StrictOption = False,
    allow_damaged: DamagedOption = False,
    allow_smaller: Annotated[
        bool, Option("--allow-smaller", help="With --complete: allow the loss of more than 10% of the melodies.")
    ] = False,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Apply the changes of a catalogue, record by record.

    Sources are MARCXML, answers of OAI-PMH or SRU, or ISO 2709 (.mrc). Records that are new or changed are read, those
    marked as deleted are removed, and all others stay. The result is the same as that of a new build.

    Example: roslin collection update mine.roslin 2026-11.xml
    """
    from roslin.collection.update import update

    sources, target = _sources_and_target(paths)
    with progress_bar("Reading") as progress:
        report = update(
            sources, target, complete=complete, strict=strict, progress=progress, allow_damaged=allow_damaged,
            allow_smaller=allow_smaller,
        )  # fmt: skip
    remark(str(report.build))
    if format is OutputFormat.json:
        print_tables([report.to_table(), report.records()], format)
    else:
        print_table(report.records() if format is OutputFormat.tsv else report.to_table(), format)


@app.command("add")
def add_command(
    paths: Annotated[list[Path], Argument(metavar="SOURCE... NAME.roslin", help="Files or folders to add.")],
    strict: StrictOption = False,
    voices: VoicesOption = None,
    replace: Annotated[
        bool, Option("--replace", help="Replace melodies that have other content in the sources.")
    ] = False,
    allow_damaged: DamagedOption = False,
    dask: DaskOption = None,
    _plugins: PluginOption = None,
) -> None:
    """Add melodies to a collection.

    If the collection has other music or metadata under an id, nothing is written and the exit code is 1.
    With --replace, the new melodies replace the old ones.

    Example: roslin collection add corrected.xml mine.roslin --replace
    """
    _written("add", paths, dask, voices, strict=strict, allow_damaged=allow_damaged, replace=replace)


@app.command("remove")
def remove_command(
    collection: CollectionArgument,
    ids: Annotated[list[str] | None, Argument(metavar="ID", help="The ids of the melodies to remove.")] = None,
    record: Annotated[
        list[str] | None,
        Option(metavar="NUMBER", help="The number of a record to remove. Can be repeated."),
    ] = None,
) -> None:
    """Remove melodies by id, or all melodies of catalogue records by number.

    Example: roslin collection remove mine.roslin --record 840010000
    """
    from roslin.collection import write
    from roslin.collection.store import Store

    if not ids and not record:
        raise typer.BadParameter("name at least one melody, or a record with --record")
    with Store(collection) as store:
        before = len(store)
    with progress_bar("Writing") as progress:
        left = write.remove(ids or [], collection, records=record or [], progress=progress)
    typer.echo(f"{before - left} {'melody' if before - left == 1 else 'melodies'} removed; {left} left")


@app.command("info")
def info_command(collection: CollectionArgument, format: FormatOption = OutputFormat.table) -> None:
    """Show the size and the sources of a collection.

    Example: roslin collection info mine.roslin
    """
    from roslin.collection.store import Store

    with Store(collection) as store:
        shown = ("melodies", "notes", "written", "roslin", "format_version", "arrays_sha256")
        rows = [{"name": name, "value": store.about[name]} for name in shown]
        size = sum(file.stat().st_size for file in store.path.iterdir() if file.is_file())
        rows.append({"name": "megabytes", "value": f"{size / 1e6:.1f}"})
        sources = "SELECT source, count(*) FROM melodies GROUP BY source ORDER BY count(*) DESC, source LIMIT 20"
        rows += [
            {"name": f"from {source or 'elsewhere'}", "value": str(count)}
            for source, count in store.connection.execute(sources)
        ]
    print_rows(rows, ("name", "value"), format)


@app.command("check")
def check_command(collection: CollectionArgument) -> None:
    """Check a collection for damage. The exit code is 1 if something is damaged.

    Example: roslin collection check mine.roslin
    """
    from roslin.collection.store import check

    faults = check(collection)
    for fault in faults:
        typer.echo(fault)
    typer.echo(f"{collection}: {'damaged' if faults else 'whole'}")
    raise typer.Exit(1 if faults else 0)


@app.command("export")
def export_command(
    collection: CollectionArgument,
    target: Annotated[Path, Argument(help="The file to write: .jsonl, .pae or .parquet.")],
    kind: Annotated[str | None, Option("--as", help="jsonl, pae or parquet. Default: by the name of the file.")] = None,
) -> None:
    """Write a collection to one file.

    Example: roslin collection export mine.roslin mine.jsonl
    """
    from roslin.collection.export import export
    from roslin.collection.store import Store

    with Store(collection) as store:
        written, skipped = export(store, target, kind)
    typer.echo(
        f"{counted(written, 'melody', 'melodies')} written to {target}"
        + (f"; {skipped} cannot be written so" if skipped else "")
    )


@app.command("upgrade")
def upgrade_command(collection: CollectionArgument) -> None:
    """Convert a collection of the previous format to the current one. Its melodies and ids stay the same.

    If the command is interrupted, the collection is unchanged.

    Example: roslin collection upgrade mine.roslin
    """
    from roslin.collection.files import FORMAT_VERSION
    from roslin.collection.write import upgrade

    with progress_bar("Writing") as progress:
        before = upgrade(collection, progress=progress)
    done = "has" if before == FORMAT_VERSION else f"upgraded from format {before} to"
    typer.echo(f"{collection}: {done} format {FORMAT_VERSION}")


@app.command("shard")
def shard_command(
    collection: CollectionArgument,
    output: Annotated[Path, Option("--output", "-o", help="The folder for the shards.")],
    parts: Annotated[int, Option(min=1, help="Number of shards.")] = 4,
    dask: DaskOption = None,
) -> None:
    """Divide a collection into shards, for roslin search on a cluster. Each shard is a collection.

    Example: roslin collection shard mine.roslin --parts 4 -o shards
    """
    from roslin.collection.store import Store
    from roslin.distributed.shards import write_shards

    with (
        Store(collection) as store,
        progress_bar("Shards", total=1.0) as progress,
        work_of(dask, progress=progress) as work,
    ):
        write_shards(store, output, parts, work)
    typer.echo(f"{parts} shards written to {output}")


def _sources_and_target(paths: list[Path]) -> tuple[list[Path], Path]:
    targets = [path for path in paths if path.suffix == _SUFFIX]
    sources = [path for path in paths if path.suffix != _SUFFIX]
    if len(targets) != 1:
        raise typer.BadParameter(f"name exactly one collection, NAME{_SUFFIX}; got {len(targets)}")
    if not sources:
        raise typer.BadParameter("name at least one file or folder to read")
    for source in sources:
        if not source.exists():
            raise typer.BadParameter(f"{source}: there is no such file or folder")
    return sources, targets[0]


def _written(how: str, paths: list[Path], dask: str | None, voices: VoicesChoice | None, **options: bool) -> None:
    from roslin.collection import write

    sources, target = _sources_and_target(paths)
    with progress_bar("Reading") as progress, work_of(dask) as work:
        written: Callable[..., BuildReport] = write.build if how == "build" else write.add
        spread, apart = work.map if dask else None, (voices or VoicesChoice.apart).value
        report = written(sources, target, voices=apart, progress=progress, spread=spread, **options)
    for reason, count in report.warnings.items():
        remark(f"  {count:7d} with a warning: {reason}")
    if len(report.by_file) > 1:
        for file, outcome in report.by_file.items():
            typer.echo(f"{file}: {outcome.taken} taken, {outcome.refused} refused")
    typer.echo(str(report))
