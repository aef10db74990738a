"""roslin experiment: set up a study, run it, export its data, and test it with simulated participants."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option
from typer.core import TyperGroup

from roslin.cli.options import (
    PluginOption,
    PortOption,
    ProxyOption,
    SeedOption,
    WorkersOption,
    command_group,
    refuse_for_extra,
)
from roslin.cli.output import FormatOption, OutputFormat, print_table, print_tables, program, progress_bar, remark
from roslin.display.text import counted

if TYPE_CHECKING:
    from roslin.experiment.store import EventStore
    from roslin.experiment.study_store import StudyExpert
    from roslin.web.experiment.study import ExperimentSettings, OpenStudy

FolderArgument = Annotated[Path, Argument(help="The folder of the study, NAME.study.")]
OtherDatabaseOption = Annotated[
    str, Option("--database", help="Database to use instead of the one saved with the study.")
]
DatabaseOption = Annotated[
    str,
    Option(
        "--database", help="Database for the answers: postgresql://... (saved with the study, without the password)."
    ),
]
HostOption = Annotated[str, Option("--host", help="Address to listen on. 0.0.0.0 opens the study to others.")]
PublicOption = Annotated[
    str,
    Option("--public-address", help="Public URL of the study: https://study.example.org, with a path if it has one."),
]


class _StudyGroup(TyperGroup):
    """Commands that need the extra `experiment`."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except ImportError as error:
            refuse_for_extra(error, f"roslin experiment {ctx.invoked_subcommand}", "experiment")
            raise


app = command_group(
    "Set up and run studies in which participants rank melodies.\n\nExample: roslin experiment example my-study",
    _StudyGroup,
)


@app.command("example")
def example_command(folder: Annotated[Path, Argument(help="A new or empty folder.")]) -> None:
    """Write a study to start from: study.toml, texts in English and German, and a small collection.

    Example: roslin experiment example my-study
    """
    from roslin.experiment.folder import write_example

    for path in write_example(folder):
        typer.echo(str(path))
    remark(f"Next: {program()} experiment try {folder / 'study.toml'}")


@app.command("create")
def create_command(
    study: Annotated[Path, Argument(metavar="study.toml", help="The plan of the study.")],
    output: Annotated[
        Path | None, Option("--output", "-o", help="The new folder. Default: NAME.study next to the file.")
    ] = None,
    database: Annotated[
        str, Option(help="Address of the PostgreSQL database, if the study uses one: postgresql://...")
    ] = "",
    _plugins: PluginOption = None,
) -> None:
    """Create a study from study.toml, or update an existing one.

    After the first participant has started, only texts, questions and the quota can change.

    Example: roslin experiment create study.toml
    """
    from roslin.experiment.folder import create_study

    with progress_bar("Creating", total=1.0) as progress:
        created = create_study(study, output, database=database, progress=progress)
    with created.folder as folder:
        path, plan = _relative(folder.path), folder.plan
    if not created.is_changed:
        typer.echo(f"{path}: nothing has changed")
        return
    for note in created.notes:
        typer.echo(note)
    done = "created" if created.is_new else "updated"
    queries = counted(len(plan.tasks), "query", "queries")
    typer.echo(f"{path}: {done}; {queries}, {counted(plan.rules.quota, 'opinion')} wanted per query")
    if created.password:
        typer.echo(f"Password of the dashboard, shown only now: {created.password}")
        remark(f"Next: {program()} experiment serve {path}")
        remark(f"      {program()} experiment invite {path} --number {plan.experts_needed} -o links.csv")
    else:
        remark("Restart a running server to show the change.")


def _relative(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


# -- running -----------------------------------------------------------------------------------------------------------


@app.command("serve")
def serve_study_command(
    folder: FolderArgument,
    database: DatabaseOption = "",
    host: HostOption = "127.0.0.1",
    port: PortOption = 8000,
    workers: WorkersOption = 1,
    public_address: PublicOption = "",
    rate: Annotated[int, Option(min=0, help="Requests per minute and participant (0: no limit).")] = 1200,
    proxy: ProxyOption = None,
) -> None:
    """Open a study to its participants. The dashboard of the experimenter is under /study.

    Only this computer can reach the study, unless --host is given.

    Example: roslin experiment serve my.study --host 0.0.0.0 --public-address https://study.example.org
    """
    from roslin.experiment.folder import StudyFolder
    from roslin.web.experiment.app import serve_study

    per_process = max(1, rate // workers) if rate else 0
    settings = _settings(folder, database, host, public_address, per_process)
    settings = replace(settings, proxies=tuple(proxy or ()), joins=max(1, settings.joins // workers))
    with StudyFolder(folder) as study:  # whatever is wrong with the database is said before anything is promised
        study.settle(database or study.database)
    dashboard = f"{_address(settings, host, port)}/study"
    remark(f"Participants: their personal links (roslin experiment invite). Dashboard: {dashboard}")
    serve_study(settings, host, port, workers)


@app.command("invite")
def invite_command(
    folder: FolderArgument,
    number: Annotated[int, Option("--number", "-n", min=1, max=10_000, help="Number of links.")] = 1,
    output: Annotated[Path | None, Option("--output", "-o", help="Write the links to this CSV file.")] = None,
    is_open: Annotated[
        bool, Option("--open", help="Make one link for all: everyone who opens it gets a personal link.")
    ] = False,
    database: DatabaseOption = "",
    public_address: PublicOption = "http://127.0.0.1:8000",
) -> None:
    """Make personal links, one for each participant. Anyone with a link can answer as that participant.

    Example: roslin experiment invite my.study -n 30 -o links.csv --public-address https://study.example.org
    """
    from roslin.experiment.folder import StudyFolder
    from roslin.rows import write_whole
    from roslin.web.experiment.study import ExperimentSettings, OpenStudy

    if database:
        with StudyFolder(folder) as settled:
            settled.settle(database)
    study = OpenStudy(ExperimentSettings(str(folder), database, public_address))
    try:
        text = f"{study.open_invitation()}\n" if is_open else study.links_csv(study.store.invite(number))
    finally:
        study.close()
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_whole(output, text, 0o600)  # every reader of a link can use it
        remark(f"{output}: {'the open invitation' if is_open else f'{number} links'}")


@app.command("try")
def try_command(
    study: Annotated[Path, Argument(metavar="study.toml", help="The plan of the study.")],
    host: HostOption = "127.0.0.1",
    port: PortOption = 8000,
) -> None:
    """Try a study, or show it to colleagues, without saving anything.

    All answers are deleted when the command ends.

    Example: roslin experiment try study.toml
    """
    from roslin.experiment.folder import throwaway_study
    from roslin.web.experiment.app import serve_study
    from roslin.web.experiment.study import OpenStudy

    with ExitStack() as until_the_end:
        with progress_bar("Preparing", total=1.0) as progress:
            folder = until_the_end.enter_context(throwaway_study(study, progress=progress))
        settings = _settings(folder.path, "", host, "", 0)
        opened = OpenStudy(settings)
        expert = opened.store.invite()[0]
        link = opened.link(expert, _address(settings, host, port))
        opened.close()
        typer.echo(link)
        remark("Open this link. Nothing is saved: all answers are deleted when you press Ctrl-C.")
        serve_study(settings, host, port)


def _settings(folder: Path, database: str, host: str, public_address: str, rate: int) -> ExperimentSettings:
    from urllib.parse import urlsplit

    from roslin.web.experiment.study import ExperimentSettings
    from roslin.web.settings import OWN_HOSTS, is_loopback

    public = urlsplit(public_address).hostname
    named = (*OWN_HOSTS, host, *([public] if public else []))
    return ExperimentSettings(
        folder=str(folder.resolve()),
        database=database,
        public_address=public_address,
        hosts=tuple(dict.fromkeys(named)) if is_loopback(host) else (),
        requests_per_minute=rate,
    )


def _address(settings: ExperimentSettings, host: str, port: int) -> str:
    """Where this computer finds the server."""
    named = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return settings.public_address or f"http://{named}:{port}"


# -- data --------------------------------------------------------------------------------------------------------------


@contextmanager
def _opened(folder: Path, database: str) -> Iterator[EventStore]:
    """The database of a study; nothing is made where there is none."""
    from roslin.errors import ExperimentError
    from roslin.experiment.folder import StudyFolder
    from roslin.experiment.store import EventStore

    with StudyFolder(folder) as study:
        if not database and not study.has_database:
            raise ExperimentError(
                f"{folder}: the study has no answers yet, because no participant was invited and no server has run; "
                "for a study on PostgreSQL give --database"
            )
        store = EventStore(database or study.database, study.plan)
    try:
        yield store
    finally:
        store.close()


@app.command("status")
def status_command(
    folder: FolderArgument,
    database: OtherDatabaseOption = "",
    people: Annotated[bool, Option("--people", help="Also print a row for each participant.")] = False,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Show the progress of a study: opinions per query, and participants by stage.

    Example: roslin experiment status my.study
    """
    with _opened(folder, database) as store:
        from roslin.experiment.overview import overview_of

        status, backups = store.status, len(store.backups())
        found = overview_of(store.plan, list(store.histories()), store.age()[2])
    remark(f"The study is {status}; {found.finished} of {found.wanted} opinions, {backups} backups.")
    if found.withdrawn:
        remark(f"{found.withdrawn} withdrew (their data are deleted).")
    for person in found.stuck:
        remark(
            f"{person.expert.label} is stuck: {person.words}, silent for {(person.silent_ms or 0) / 3_600_000:.0f} h"
        )
    tables = [found.table, found.funnel_table, *([found.people_table] if people else [])]
    print_tables(tables, format)


@app.command("export")
def export_study_command(
    folder: FolderArgument,
    output: Annotated[Path, Option("--output", "-o", help="A new or empty folder.")],
    format: Annotated[str, Option(help="Format of the export: csv, json, parquet or psych-ds.")] = "csv",
    database: OtherDatabaseOption = "",
    unfinished: Annotated[bool, Option("--unfinished", help="Include unfinished trials.")] = False,
    with_participants: Annotated[
        bool, Option("--with-participants", help="Include ids from recruitment platforms (personal data).")
    ] = False,
) -> None:
    """Write all answers as tables, for roslin truth and other programs, without names.

    Example: roslin experiment export my.study -o results
    """
    with _opened(folder, database) as store:
        from roslin.experiment.export import export_study

        done = export_study(store, output, format, unfinished=unfinished, participants=with_participants)
        design = store.plan.rules.design
    for name, rows in done.items():
        typer.echo(f"{name}: {counted(rows, 'row')}")
    if format == "csv":
        following = "group" if design == "ranking" else "votes"
        file = "rankings.csv" if design == "ranking" else "votes.csv --model bradley-terry"
        remark(f"Next: roslin truth {following} {output / file} -o truth.qrel")


@app.command("backup")
def backup_command(
    folder: FolderArgument,
    output: Annotated[Path, Option("--output", "-o", help="The new file.")],
    database: OtherDatabaseOption = "",
) -> None:
    """Copy the database of a study, even while it runs. The copy is checked before it gets its name.

    Example: roslin experiment backup my.study -o my-study-monday.backup
    """
    with _opened(folder, database) as store:
        from roslin.experiment.backup import write_backup

        done = write_backup(store, output)
    people, events = counted(done.experts, "participant"), counted(done.events, "event")
    typer.echo(f"{output}: {people}, {events}, {done.size_bytes / 1000:.0f} kB")


@app.command("move")
def move_command(
    folder: FolderArgument,
    database: Annotated[
        str, Argument(help="The new database: postgresql://..., sqlite:///FILE, or file for study.db in the folder.")
    ],
) -> None:
    """Move the answers of a study into another database, from SQLite to PostgreSQL or back. Stop the server first.

    The new database must be empty. Rows are counted in both, and the study uses the new one from then on. The old one
    is unchanged: delete it when you no longer need it.

    Example: roslin experiment move my.study postgresql://roslin@127.0.0.1/study
    """
    from roslin.experiment.backup import move_study
    from roslin.experiment.folder import StudyFolder

    with StudyFolder(folder) as study:
        done = move_study(study, study.own_database if database == "file" else database)
    typer.echo(
        f"{done.target}: {counted(done.rows['experts'], 'participant')}, {counted(done.rows['events'], 'event')}"
    )
    remark(f"The old database still contains everything: {done.source}")


@app.command("delete")
def delete_command(
    folder: FolderArgument,
    expert: Annotated[str, Argument(help="The participant: a label such as expert-007, or their personal link.")],
    database: OtherDatabaseOption = "",
    yes: Annotated[bool, Option("--yes", help="Delete without asking.")] = False,
) -> None:
    """Delete all data of one participant, on request, and list backups that still contain it.

    Example: roslin experiment delete my.study expert-007
    """
    with _opened(folder, database) as store:
        found = _whose(folder, store, expert)
        if not yes and not typer.confirm(f"Delete all that {found.label} said? This cannot be undone.", err=True):
            raise typer.Exit(1)
        backups = store.withdraw(found.name)
        has_traces, has_log = store.has_traces, not store.database.is_sqlite
    typer.echo(f"{found.label} is deleted")
    if has_traces:
        remark("Some database files could not be rewritten and may contain traces. The next command tries again.")
    if has_log:
        remark("The write-ahead log of PostgreSQL holds them until the server has overwritten it (see docs, Privacy).")
    remark(*(f"This backup may still contain their data: {path}" for path in backups))


def _whose(folder: Path, store: EventStore, text: str) -> StudyExpert:
    """The participant of a label or a personal link."""
    from roslin.errors import UnknownExpertError
    from roslin.experiment.folder import StudyFolder
    from roslin.web.sessions import SessionSigner

    for expert in store.experts():
        if expert.label == text:
            return expert
    with StudyFolder(folder) as study:
        name = SessionSigner(study.key).text("link", text.rstrip("/").rpartition("/")[2])
    if name is None:
        raise UnknownExpertError(f"expected a label (expert-007) or a personal link of this study; got {text!r}")
    return store.expert(name)


# -- simulated participants --------------------------------------------------------------------------------------------


_MODELS = "mallows, plackett-luce or context"


def _share(name: str, what: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = Option(name, min=0.0, max=1.0, help=f"Share of participants who {what}.")
    return option


@app.command("bots")
def bots_command(
    folder: FolderArgument,
    number: Annotated[int, Option("--n", "-n", min=1, max=100_000, help="Number of simulated participants.")] = 37,
    address: Annotated[
        str, Option(help="Address of a server that runs this study. The answers go to the study itself.")
    ] = "",
    database: Annotated[str, Option(help="Database for the answers: postgresql://...")] = "",
    output: Annotated[
        Path | None, Option("--output", "-o", help="Save the copy in this folder, to export its answers.")
    ] = None,
    truth: Annotated[
        Path | None,
        Option(help="Ground truth around which the opinions vary. Default: the order of the plan."),
    ] = None,
    model: Annotated[str, Option(help=f"Model of the differences in opinion: {_MODELS}.")] = "mallows",
    noise: Annotated[float, Option(min=0.0, max=1.0, help="Amount of difference in opinion, 0 to 1.")] = 0.5,
    careless: Annotated[float, _share("--careless", "judge at random")] = 0.05,
    quit: Annotated[float, _share("--quit", "leave at any point")] = 0.1,
    seed: SeedOption = 2005,
    format: FormatOption = OutputFormat.table,
) -> None:
    """Send simulated participants through the pages of a study, and count the results.

    They use a separate server with a copy of the study that has no answers, unless --address names a server. The
    command fails if a decision that was acknowledged is not stored.

    Example: roslin experiment bots my.study -n 500 --quit 0.2
    """
    from roslin.experiment.bots import Bots, Population, visits_table
    from roslin.truth.qrel import read_truth
    from roslin.web.experiment.rehearsal import key_of, rehearse, served_copy
    from roslin.web.experiment.study import ExperimentSettings

    groups = None if truth is None else read_truth(truth)

    def bots(study: OpenStudy) -> Bots:
        population = Population(study.plan, groups, model, noise, seed)
        return Bots(address, population, key_of(study), careless, quit, seed)

    with ExitStack() as stack:
        if not address:
            address, folder = stack.enter_context(served_copy(folder, output, database))
        progress = stack.enter_context(progress_bar("Participants", total=1.0))
        visits, lost, seconds = rehearse(ExperimentSettings(str(folder), database), number, bots, progress)
    print_table(visits_table(visits, lost, seconds), format)
    remark(*sorted({visit.problem for visit in visits if visit.problem}))
    if output is not None:
        remark(f"To export their answers: roslin experiment export {folder}")
    if lost or any(visit.end == "failed" for visit in visits):
        raise typer.Exit(1)
