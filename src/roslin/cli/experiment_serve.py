"""roslin experiment serve, invite and try: a study in people's browsers."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from roslin.cli.experiment import needs_experiment
from roslin.cli.options import ProxyOption
from roslin.cli.output import progress_bar, remark

if TYPE_CHECKING:
    from roslin.web.experiment.study import ExperimentSettings

FolderArgument = Annotated[Path, typer.Argument(help="The folder of the study, NAME.study.")]
DatabaseOption = Annotated[
    str,
    typer.Option(
        "--database", help="Where answers are kept: postgresql://...; the study remembers it, without a password."
    ),
]
HostOption = Annotated[str, typer.Option("--host", help="The address to listen on; 0.0.0.0 opens it to others.")]
PortOption = Annotated[int, typer.Option("--port", min=1, max=65535, help="The port to listen on.")]
PublicOption = Annotated[
    str, typer.Option("--public-address", help="What people type: https://study.example.org; for links and cookies.")
]


def serve_study_command(
    folder: FolderArgument,
    database: DatabaseOption = "",
    host: HostOption = "127.0.0.1",
    port: PortOption = 8000,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="How many processes answer.")] = 1,
    public_address: PublicOption = "",
    rate: Annotated[int, typer.Option("--rate", min=0, help="Requests a minute of one expert; 0: no limit.")] = 1200,
    proxy: ProxyOption = None,
) -> None:
    """Open a study to its experts. The experimenter's own page is under /study.

    Only this computer can reach it unless --host says otherwise.

    Example: roslin experiment serve my.study --host 0.0.0.0 --public-address https://study.example.org
    """
    with needs_experiment("roslin experiment serve"):
        from roslin.experiment.folder import StudyFolder
        from roslin.web.experiment.app import serve_study
    per_process = max(1, rate // workers) if rate else 0
    settings = _settings(folder, database, host, public_address, per_process)
    settings = replace(settings, proxies=tuple(proxy or ()), joins=max(1, settings.joins // workers))
    with StudyFolder(folder) as study:  # whatever is wrong with the database is said before anything is promised
        study.settle(database or study.database)
    remark(
        f"Experts: their personal links (roslin experiment invite). Dashboard: {_address(settings, host, port)}/study"
    )
    serve_study(settings, host, port, workers)


def invite_command(
    folder: FolderArgument,
    number: Annotated[int, typer.Option("--number", "-n", min=1, max=10_000, help="How many links.")] = 1,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write them to this file, as CSV.")] = None,
    is_open: Annotated[
        bool, typer.Option("--open", help="One link for everybody instead: whoever opens it gets a link of their own.")
    ] = False,
    database: DatabaseOption = "",
    public_address: PublicOption = "http://127.0.0.1:8000",
) -> None:
    """Make personal links, one for each expert. Whoever has a link answers as that expert.

    Example: roslin experiment invite my.study -n 30 -o links.csv --public-address https://study.example.org
    """
    with needs_experiment("roslin experiment invite"):
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
        write_whole(output, text, 0o600)  # whoever reads a link can use it
        remark(f"{output}: {'the open invitation' if is_open else f'{number} links'}")


def try_command(
    study: Annotated[Path, typer.Argument(metavar="study.toml", help="What the study is.")],
    host: HostOption = "127.0.0.1",
    port: PortOption = 8000,
) -> None:
    """Open a study without keeping anything, to try it and to show it to colleagues.

    Everything that is said in it is deleted when it ends.

    Example: roslin experiment try study.toml
    """
    with needs_experiment("roslin experiment try"):
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
        remark("Open this link. Nothing is kept: all is deleted when you press Ctrl-C.")
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
