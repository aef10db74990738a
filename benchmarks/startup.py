"""How long Roslin takes to start: commands from a new process, and a server until its first answer.

    .venv/bin/python benchmarks/startup.py [OTHER ...]

Each OTHER is the Python of another environment with Roslin, such as that of an earlier version. All take turns, so that
other work on the machine falls on all alike. The figures are medians of three rounds: CPU seconds (user and system),
and seconds on the clock, which mean something on a quiet machine only. The peer is a program that imports NumPy.

    search, first    of a collection that was just built: its table of notes is made
    search           the same again
    evaluate         a run file against the ground truth of the starter collection
    serve, ready     from the start of `roslin serve` to the first 200 of /readyz
    serve, answer    from there to the first list of /api/search; then the memory of all its processes

The last rows are the size of the installed packages, and what a search and an evaluation import.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

ROUNDS = 3
QUERY = "'4CCGGAA2G4FFEEDD2C"
HEAVY = ("scipy.stats", "scipy.optimize", "numba", "roslin.native.kernels", "verovio", "pandas")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("others", nargs="*", metavar="OTHER", help="the Python of another environment")
    pythons = [sys.executable, *(str(Path(each).absolute()) for each in parser.parse_args().others)]
    measured: dict[tuple[str, str], list[tuple[float, float]]] = {}
    memory: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for python in pythons:
            with tempfile.TemporaryDirectory() as folder:
                for title, seconds in _commands(python, Path(folder)):
                    measured.setdefault((title, python), []).append(seconds)
                for title, seconds, used in _server(python, Path(folder)):
                    measured.setdefault((title, python), []).append(seconds)
                    memory.setdefault(python, []).append(used)
    print("CPU seconds / seconds on the clock".ljust(24), *(python.rjust(40) for python in pythons))
    for title in dict.fromkeys(title for title, _ in measured):
        cells = [[statistics.median(column) for column in zip(*measured[title, each], strict=True)] for each in pythons]
        print(title.ljust(34), *(f"{cpu:.2f} / {clock:.2f}".rjust(40) for cpu, clock in cells))
    rows: dict[str, Callable[[str], str]] = {
        "memory of the server, MB": lambda python: f"{statistics.median(memory[python]):.0f}",
        "installed packages, MB": _installed,
        "a search imports": lambda python: _imported(python, "import roslin.cli.search, roslin.search"),
        "an evaluation imports": lambda python: _imported(python, "import roslin.cli.evaluate, roslin.evaluate"),
    }
    for title, cell in rows.items():
        print(title.ljust(34), *(cell(each).rjust(40) for each in pythons))
    return 0


def _commands(python: str, folder: Path) -> Iterator[tuple[str, tuple[float, float]]]:
    roslin = [python, "-m", "roslin"]
    starter = "from roslin.starter import truth_path, tunes_path; print(tunes_path()); print(truth_path())"
    tunes, truth = _run([python, "-c", starter]).split()
    collection, run = str(folder / "starter.roslin"), str(folder / "list.run")
    _run([*roslin, "collection", "build", tunes, collection])
    search = [*roslin, "search", collection, "--pae", QUERY]
    yield "import numpy", _seconds([python, "-c", "import numpy"])
    yield "roslin --help", _seconds([*roslin, "--help"])
    yield "search, first", _seconds(search)
    yield "search", _seconds(search)
    _run([*roslin, "search", collection, "--id", "auld-lang-syne", "--run", run])
    shutil.copy(truth, folder / "starter.qrel")
    yield "evaluate", _seconds([*roslin, "evaluate", str(folder / "starter.qrel"), run])


def _server(python: str, folder: Path) -> Iterator[tuple[str, tuple[float, float], float]]:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    command = [python, "-m", "roslin", "serve", str(folder / "starter.roslin"), "--port", str(port)]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        base = f"http://127.0.0.1:{port}"
        while not _is_ready(f"{base}/readyz"):
            time.sleep(0.01)
        ready, cpu = time.perf_counter() - began, _cpu_of(process.pid)
        address = f"{base}/api/search?q={urllib.parse.quote(QUERY)}"
        with urllib.request.urlopen(address, timeout=300) as answer:
            assert json.load(answer)
        answered = time.perf_counter() - began
        used = _memory_of(process.pid)
        yield "serve, ready", (cpu, ready), used
        yield "serve, answer", (_cpu_of(process.pid) - cpu, answered - ready), used
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def _is_ready(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=300) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError):
        return False


def _group(leader: int) -> list[Path]:
    """The processes of the session of a process."""
    return [
        path
        for path in Path("/proc").iterdir()
        if path.name.isdigit() and _field(path, 5) == leader  # the session is field 6 of proc(5)
    ]


def _field(process: Path, number: int) -> int:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[number - 2])
    except OSError:
        return 0


def _cpu_of(leader: int) -> float:
    ticks = sum(_field(path, 13) + _field(path, 14) for path in _group(leader))
    return ticks / os.sysconf("SC_CLK_TCK")


def _memory_of(leader: int) -> float:
    """Memory that belongs to these processes alone, and their shares of the rest, in MB."""
    total = 0
    for path in _group(leader):
        lines = (path / "smaps_rollup").read_text().splitlines()
        total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1000


def _seconds(command: list[str]) -> tuple[float, float]:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    _run(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - began


def _run(command: list[str]) -> str:
    """What a program prints. It may keep the bytecode of what it imports, as an installed Roslin has it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True, text=True).stdout


def _installed(python: str) -> str:
    program = "import sysconfig; print(sysconfig.get_path('purelib'))"
    folder = Path(_run([python, "-c", program]).strip())
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return f"{size / 1e6:.0f}"


def _imported(python: str, program: str) -> str:
    found = _run([python, "-c", f"import sys\n{program}\nprint(*[name for name in {HEAVY} if name in sys.modules])"])
    return found.strip() or "none of these"


if __name__ == "__main__":
    sys.exit(main())
