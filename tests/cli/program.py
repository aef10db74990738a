"""The program for tests of commands: each run is a process of its own, without the second that importing takes.

The process is forked from one that has imported everything, and has nothing else of the tests. What only a program as
it is typed can show (interrupts, terminals, pipes) is tested with `python -m roslin`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from subprocess import CompletedProcess

from roslin.cli import main

_IMPORTED = ["roslin.cli", "roslin.api", "roslin.matchers", "roslin.campaign", "roslin.report.campaign"]
_IMPORTED += ["roslin.concordances.join", "roslin.run"]


def roslin(*arguments: object, code: int = 0, folder: Path | None = None) -> CompletedProcess[str]:
    """Run a command in a folder; it must end with this code, and without a traceback."""
    with tempfile.TemporaryDirectory() as place:
        out, error = Path(place) / "out", Path(place) / "error"
        process = begun(*arguments, out=out, error=error, folder=folder)
        process.join()
        assert process.exitcode is not None
        words = [str(argument) for argument in arguments]
        done = CompletedProcess(words, process.exitcode, out.read_text("utf-8"), error.read_text("utf-8"))
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


def begun(*arguments: object, out: Path, error: Path, folder: Path | None = None) -> BaseProcess:
    """A command that has begun, and writes to two files."""
    context = get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    words = [str(argument) for argument in arguments]
    process = context.Process(target=_run, args=(words, folder, dict(os.environ), out, error))
    process.start()
    return process


def _run(words: list[str], folder: Path | None, variables: dict[str, str], out: Path, error: Path) -> None:
    os.environ.clear()
    os.environ.update(variables)
    if folder is not None:
        os.chdir(folder)
    for number, path in ((1, out), (2, error)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.argv = ["roslin", *words]
    main()
