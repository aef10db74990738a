"""Rehearse a study: a separate server with a blank copy, and simulated participants who visit it."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

from roslin.display.text import counted
from roslin.errors import ArgumentError, ExperimentError
from roslin.experiment.bots import Bots, Key, Visit, lost_decisions, run_bots
from roslin.experiment.folder import StudyFolder
from roslin.types import Progress
from roslin.web.experiment.study import ExperimentSettings, OpenStudy

_STARTS_WITHIN = 60.0
_NOT_COPIED = ("database", "study.db", "study.db-wal", "study.db-shm", "backups")


def blank_copy(folder: Path, target: Path) -> Path:
    """The folder of a study without what people have said."""
    StudyFolder(folder).close()  # reports the error
    if target.exists():
        raise ArgumentError(f"the copy must be a new folder; got {target}, which is there already")
    try:
        shutil.copytree(folder, target, ignore=lambda _, names: {name for name in names if name in _NOT_COPIED})
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        what = error.args[0][0][2] if isinstance(error, shutil.Error) else error.strerror or error
        raise ExperimentError(f"{target}: the study cannot be copied: {what}") from error
    return target


def free_port() -> int:
    """A port of this computer on which nothing listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def serving(folder: Path, log: Path, *options: str, port: int = 0) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """`roslin experiment serve` without a limit of requests: its address and its process. `log` gets its output."""
    port = port or free_port()
    command = [sys.executable, "-m", "roslin", "experiment", "serve", str(folder), "--port", str(port), "--rate", "0"]
    with log.open("ab") as out:
        process = subprocess.Popen([*command, *options], stdout=out, stderr=out)
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(address, process, log)
        yield address, process
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.wait(timeout=_STARTS_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def served_copy(folder: Path, output: Path | None = None, database: str = "") -> Iterator[tuple[str, Path]]:
    """A server with a blank copy of a study: its address, and the copy, which goes afterwards unless it has a place."""
    with TemporaryDirectory(prefix="roslin-rehearsal-") as temporary:
        copy = blank_copy(folder, output or Path(temporary) / folder.resolve().name)
        _check_blank(ExperimentSettings(str(copy), database))
        options = ("--database", database) if database else ()
        with serving(copy, Path(temporary) / "server.log", *options) as (address, _):
            yield address, copy


def _check_blank(settings: ExperimentSettings) -> None:
    study = OpenStudy(settings)
    taking_part = len(study.store.experts())
    study.close()
    if taking_part:
        raise ArgumentError(f"the database of a rehearsal must be empty; it has {counted(taking_part, 'participant')}")


def _wait_for(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    limit = time.monotonic() + _STARTS_WITHIN
    while process.poll() is None and time.monotonic() < limit:
        try:
            with urlopen(f"{address}/healthz", timeout=5):  # noqa: S310 - our own server
                return
        except (URLError, OSError):
            time.sleep(0.05)
    said = log.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
    raise ExperimentError(f"the server of the rehearsal did not start: {said}")


def key_of(study: OpenStudy) -> Key:
    """The documents that a participant is shown in a trial, from the database."""

    def look(name: str, trial: int) -> tuple[str, tuple[str, ...]]:
        state = study.state(name, trial)
        return state.query, state.shown

    return look


def rehearse(
    settings: ExperimentSettings, count: int, bots: Callable[[OpenStudy], Bots], progress: Progress
) -> tuple[list[Visit], int, float]:
    """Invite simulated participants and send them through a study: their visits, lost decisions, and seconds."""
    study = OpenStudy(settings)
    try:
        made = bots(study)
        invited = study.store.invite(count, source="bot")
        links = [(expert.name, study.link(expert, made.address)) for expert in invited]
        start = time.perf_counter()
        visits = run_bots(made, links, progress)
        return visits, lost_decisions(study.store, visits), time.perf_counter() - start
    finally:
        study.close()
