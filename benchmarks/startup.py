"""How long a command takes on a warm machine, beside an interpreter that does nothing.

    .venv/bin/python benchmarks/startup.py

`roslin --help`: under 0.3 s; tests/cli checks what makes it so, that nothing heavy is imported. The second search in
the starter collection, from a new process: under a second; the first may compile. The clock counts, so nothing else
should run. Jinja2 loads only where a page is made: what that costs stands beside it.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time

from roslin import Collection
from roslin.starter import tunes_path

HELP_SECONDS = 0.3
SEARCH_SECONDS = 1.0
ROUNDS = 15


def main() -> int:
    """Print the medians; exit code 1 when a target is missed."""
    nothing = _seconds([sys.executable, "-c", "pass"])
    print(f"python -c pass: {nothing:.3f} s")
    templates = _seconds([sys.executable, "-c", "import jinja2"]) - nothing
    print(f"import jinja2, where a page is made and nowhere else: {templates:.3f} s")
    is_missed = False
    with tempfile.TemporaryDirectory() as folder:
        collection = f"{folder}/starter.roslin"
        Collection.build([tunes_path()], collection).close()
        commands = [("--help", ["--help"], HELP_SECONDS)]
        for name in ("twv", "emd", "dp"):
            search = ["search", collection, "--id", "roslin-castle", "--matcher", name]
            subprocess.run([sys.executable, "-m", "roslin", *search], stdout=subprocess.DEVNULL, check=True)
            commands.append((f"search --matcher {name}", search, SEARCH_SECONDS))
        for name, arguments, target in commands:
            seconds = _seconds([sys.executable, "-m", "roslin", *arguments])
            is_missed |= seconds >= target
            print(f"roslin {name}: {seconds:.3f} s, {seconds / nothing:.1f} times that (target: under {target} s)")
    return int(is_missed)


def _seconds(command: list[str]) -> float:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


if __name__ == "__main__":
    sys.exit(main())
