"""Table 3 of paper 004 by its command: the real lists, and the findings on simulated experts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "paper_004_table_3.py"


def test_the_command_finds_what_the_paper_found(data_folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, TOOL, "--studies", "20"],
        env={**os.environ, "ROSLIN_DATA": str(data_folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    first, second, *lines = done.stdout.splitlines()
    assert first == "All-2 with both rows of the repeated one: 509 pairs in the same group, 3.782 incipits per group"
    assert second == "All-2 with the first of them: 488 pairs in the same group, 3.752 incipits per group"
    rows = {line.split()[0]: list(map(float, line.split()[1:3])) for line in lines[2:8]}
    assert rows["All-2"] == [3.752, 3.752]
    assert all(abs(paper - real) <= 0.2 for paper, real in rows.values())
    assert len(rows) == 6
    assert "Pearson's r over the six functions: paper -0.942, simulated -0.9" in done.stdout
    assert "yes  real lists: incipits per group within 0.2 of the paper for all six" in done.stdout
    assert "NO" not in done.stdout
