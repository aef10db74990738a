"""What a short command costs on a warm machine, beside a program that only imports Numba.

    .venv/bin/python benchmarks/startup.py

CPU seconds (user and system), medians of several runs that take turns, so that other work on the machine falls on all
alike. The first search compiles and is not counted. The target is a warm search in the starter collection under 0.7 s
where importing Numba takes 0.27 s: 2.6 times as long. `roslin --help`: no longer than importing Numba. tests/cli checks
what makes it so: what a command does not import.

The parts of a search are counted inside one process, in their order. "kernels" is the first search less the second,
where everything is loaded; "the search itself" is the second.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile

from roslin import Collection
from roslin.starter import tunes_path

SEARCH_TIMES_NUMBA = 2.6
ROUNDS = 15
MATCHERS = ("roslin", "twv", "emd", "dp", "alignment")
NUMBA = [sys.executable, "-c", "import numba"]

PARTS = """
import contextlib, gc, io, json, sys, time
collection, name = sys.argv[1:]
seconds = {}

@contextlib.contextmanager
def part(title):
    began = time.process_time()
    yield
    seconds[title] = time.process_time() - began

seconds["Python"] = time.process_time()
with part("the command line"):
    import typer
    from roslin import cli
    gc.set_threshold(cli._OBJECTS_BETWEEN_SWEEPS)
    command = typer.main.get_command(cli.app)
    words = [collection, "--id", "roslin-castle", "--matcher", name]
    with command.make_context("roslin", ["search", *words]) as context:
        command.commands["search"].make_context("search", words, parent=context)
with part("NumPy"):
    import numpy
with part("Roslin"):
    import roslin.api
with part("Numba"):
    import numba
with part("opening, query"):
    opened = roslin.api.Collection(collection)
    query = opened["roslin-castle"]
with part("kernels"):
    run = opened.search(query, name, exclude=("roslin-castle",))
with part("the search itself"):
    opened.search(query, name, exclude=("roslin-castle",))
seconds["kernels"] -= seconds["the search itself"]
with part("printing"), contextlib.redirect_stdout(io.StringIO()):
    from roslin.cli.output import OutputFormat
    from roslin.cli.search import print_run
    print_run(opened, run, OutputFormat.table)
print(json.dumps(seconds))
"""


def main() -> int:
    """Print the medians; exit code 1 when a target is missed."""
    with tempfile.TemporaryDirectory() as folder:
        collection = f"{folder}/starter.roslin"
        Collection.build([tunes_path()], collection).close()
        commands = {"import numba": NUMBA, "roslin --help": [sys.executable, "-m", "roslin", "--help"]}
        for name in MATCHERS:
            words = ["search", collection, "--id", "roslin-castle", "--matcher", name]
            commands[f"roslin search --matcher {name}"] = [sys.executable, "-m", "roslin", *words]
        for command in commands.values():
            _run(command)  # compiles what is not kept yet
        seconds = _medians([{title: _seconds(command) for title, command in commands.items()} for _ in range(ROUNDS)])
        numba = seconds["import numba"]
        for title, value in seconds.items():
            print(f"{title:32} {value:.3f} s  {value / numba:.2f} times importing Numba")
        for name in MATCHERS:
            program = [sys.executable, "-c", PARTS, collection, name]
            parts = _medians([json.loads(_run(program)) for _ in range(ROUNDS)])
            print(f"\n{name}, by part, in times importing Numba: {sum(parts.values()) / numba:.2f}")
            for title, value in parts.items():
                print(f"  {title:20} {value / numba:.2f}")
    slowest = max(seconds[title] for title in seconds if "search" in title) / numba
    print(f"\nslowest search: {slowest:.2f} times importing Numba (target: {SEARCH_TIMES_NUMBA})")
    return int(slowest > SEARCH_TIMES_NUMBA or seconds["roslin --help"] > numba)


def _medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {title: statistics.median(each[title] for each in rounds) for title in rounds[0]}


def _seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _run(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _run(command: list[str]) -> str:
    """What a program prints. It may keep the bytecode of what it imports, as an installed Roslin has it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
