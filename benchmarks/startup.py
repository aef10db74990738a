"""How long `roslin --help` takes on a warm machine, beside an interpreter that does nothing.

    .venv/bin/python benchmarks/startup.py

The target is under 0.3 s; tests/cli checks what makes it so, that nothing heavy is imported.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

TARGET_SECONDS = 0.3
ROUNDS = 15


def main() -> int:
    """Print both medians; exit code 1 when the target is missed."""
    nothing = _seconds([sys.executable, "-c", "pass"])
    answer = _seconds([sys.executable, "-m", "roslin", "--help"])
    sys.stdout.write(
        f"python -c pass: {nothing:.3f} s\nroslin --help:  {answer:.3f} s, {answer / nothing:.1f} times that "
        f"(target: under {TARGET_SECONDS} s)\n"
    )
    return int(answer >= TARGET_SECONDS)


def _seconds(command: list[str]) -> float:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


if __name__ == "__main__":
    sys.exit(main())
