"""roslin experiment status, export, backup and delete: what a study holds, while it runs or afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.experiment import needs_experiment
from roslin.cli.output import FormatOption, OutputFormat, print_tables, remark
from roslin.display.text import counted

if TYPE_CHECKING:
    from roslin.experiment.store import EventStore
    from roslin.experiment.study_store import StudyExpert

FolderArgument = Annotated[Path, typer.Argument(help="The folder of the study, NAME.study.")]
DatabaseOption = Annotated[
    str, typer.Option("--database", help="Another database than the one that the study remembers.")
]


@contextmanager
def _opened(command: str, folder: Path, database: str) -> Iterator[EventStore]:
    """The database of a study; nothing is made where there is none."""
    with needs_experiment(f"roslin experiment {command}"):
        from roslin.errors import ExperimentError
        from roslin.experiment.folder import StudyFolder
        from roslin.experiment.store import EventStore

    with StudyFolder(folder) as study:
        if not database and not study.has_database:
            raise ExperimentError(
                f"{folder}: nothing is kept yet, because nobody was invited and no server has run; "
                "for a study on PostgreSQL give --database"
            )
        store = EventStore(database or study.database, study.plan)
    try:
        yield store
    finally:
        store.close()


def status_command(
    folder: FolderArgument,
    database: DatabaseOption = "",
    people: Annotated[bool, typer.Option("--people", help="A row for each expert as well.")] = False,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Say how far a study is: opinions of each query, how far people come, who is stuck.

    Example: roslin experiment status my.study
    """
    with _opened("status", folder, database) as store:
        from roslin.experiment.overview import overview_of

        status, backups = store.status, len(store.backups())
        found = overview_of(store.plan, list(store.histories()), store.age()[2])
    remark(f"The study is {status}; {found.finished} of {found.wanted} opinions, {backups} backups.")
    if found.withdrawn:
        remark(f"{found.withdrawn} withdrew; nothing of them is left.")
    for person in found.stuck:
        remark(
            f"{person.expert.label} is stuck: {person.words}, silent for {(person.silent_ms or 0) / 3_600_000:.0f} h"
        )
    tables = [found.table, found.funnel_table, *([found.people_table] if people else [])]
    print_tables(tables, format)


def export_study_command(
    folder: FolderArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="A new or empty folder.")],
    format: Annotated[str, typer.Option("--format", help="csv, json, parquet or psych-ds.")] = "csv",
    database: DatabaseOption = "",
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Also what is not finished.")] = False,
    with_participants: Annotated[
        bool, typer.Option("--with-participants", help="With the ids that participants brought along: personal data.")
    ] = False,
) -> None:
    """Write everything that was said as tables, for roslin truth and for other programs. Nobody is named.

    Example: roslin experiment export my.study -o results
    """
    with _opened("export", folder, database) as store:
        from roslin.experiment.export import export_study

        done = export_study(store, output, format, unfinished=unfinished, participants=with_participants)
        design = store.plan.rules.design
    for name, rows in done.rows.items():
        typer.echo(f"{name}: {counted(rows, 'row')}")
    if format == "csv":
        following = "group" if design == "ranking" else "votes"
        file = "rankings.csv" if design == "ranking" else "votes.csv --model bradley-terry"
        remark(f"Next: roslin truth {following} {output / file} -o truth.qrel")


def backup_command(
    folder: FolderArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write; it must not be there yet.")],
    database: DatabaseOption = "",
) -> None:
    """Copy the database of a study, also while it runs. The copy is checked, and is there whole or not at all.

    Example: roslin experiment backup my.study -o my-study-monday.backup
    """
    with _opened("backup", folder, database) as store:
        from roslin.experiment.backup import write_backup

        done = write_backup(store, output)
    typer.echo(
        f"{output}: {counted(done.experts, 'expert')}, {counted(done.events, 'event')}, {done.size_bytes / 1000:.0f} kB"
    )


def move_command(
    folder: FolderArgument,
    database: Annotated[
        str,
        typer.Argument(help="The new database: postgresql://..., sqlite:///FILE, or file for study.db in the folder."),
    ],
) -> None:
    """Move the answers of a study into another database, from SQLite to PostgreSQL or back. Stop the server first.

    The new database must be empty. Rows are counted in both, and the study uses the new one from then on. The old one
    stays as it is: delete it when you no longer need it.

    Example: roslin experiment move my.study postgresql://roslin@127.0.0.1/study
    """
    with needs_experiment("roslin experiment move"):
        from roslin.experiment.backup import move_study
        from roslin.experiment.folder import StudyFolder
    with StudyFolder(folder) as study:
        done = move_study(study, study.own_database if database == "file" else database)
    typer.echo(f"{done.target}: {counted(done.rows['experts'], 'expert')}, {counted(done.rows['events'], 'event')}")
    remark(f"The old database still holds everything: {done.source}")


def delete_command(
    folder: FolderArgument,
    expert: Annotated[str, typer.Argument(help="Whom: expert-007, or their personal link.")],
    database: DatabaseOption = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete everything of one expert, on their request. Says which backups still hold them.

    Example: roslin experiment delete my.study expert-007
    """
    with _opened("delete", folder, database) as store:
        found = _whose(folder, store, expert)
        if not yes and not typer.confirm(f"Delete all that {found.label} said? This cannot be undone.", err=True):
            raise typer.Exit(1)
        backups = store.withdraw(found.name)
        has_traces, has_log = store.has_traces, not store.database.is_sqlite
    typer.echo(f"{found.label} is deleted")
    if has_traces:
        remark("Traces are left in files of the database that could not be written anew; the next command tries again.")
    if has_log:
        remark("The write-ahead log of PostgreSQL holds them until the server has overwritten it (see docs, Privacy).")
    for path in backups:
        remark(f"This backup may hold them still: {path}")


def _whose(folder: Path, store: EventStore, text: str) -> StudyExpert:
    """The expert of a label or a personal link."""
    from roslin.errors import UnknownExpertError
    from roslin.experiment.folder import StudyFolder
    from roslin.web.sessions import Signatures

    for expert in store.experts():
        if expert.label == text:
            return expert
    with StudyFolder(folder) as study:
        name = Signatures(study.key).text("link", text.rstrip("/").rpartition("/")[2])
    if name is None:
        raise UnknownExpertError(f"expected a label (expert-007) or a personal link of this study; got {text!r}")
    return store.expert(name)
