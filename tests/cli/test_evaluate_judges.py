"""roslin evaluate --truth-from as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from roslin.truth import read_rankings, simulate_rankings, write_rankings


def evaluate(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "roslin", "evaluate", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("judges")
    write_rankings(simulate_rankings([6, 8, 10], 8, noise=0.8, dropout=0.2, seed=7), path / "said.csv")
    lines = [
        f"{query} Q0 {document} {rank} {-rank} mine\n"
        for query, each in read_rankings(path / "said.csv").items()
        for rank, document in enumerate(reversed(each.documents), start=1)
    ]
    (path / "mine.run").write_text("".join(lines), encoding="utf-8")
    return path


@pytest.mark.long
def test_intervals_cover_judges(folder: Path) -> None:
    done = evaluate(folder, "--truth-from", "said.csv", "mine.run", "-m", "ADR", "--format", "json")
    (row,) = json.loads(done.stdout)["means"]
    assert (row["system"], row["queries"]) == ("mine", 3)
    assert row["judges"] > 0
    assert row["low"] < row["mean"] < row["high"]
    assert "judges: how far a mean moves with other experts (standard deviation over 200 panels of 8" in done.stderr
    assert (
        evaluate(folder, "--truth-from", "said.csv", "mine.run", "-m", "ADR", "--format", "json").stdout == done.stdout
    )


@pytest.mark.long
def test_the_grouping_is_chosen_by_its_name(folder: Path) -> None:
    means = [
        json.loads(
            evaluate(folder, "--truth-from", "said.csv", "mine.run", "--grouping", name, "--format", "json").stdout
        )["means"][0]["mean"]
        for name in ("All-2", "any-1")
    ]
    assert means[0] > means[1]  # small groups ask for more


@pytest.mark.long
def test_what_does_not_go_together_is_refused(folder: Path) -> None:
    done = evaluate(folder, "--truth-from", "said.csv", "--truth", "t.qrel", "mine.run", code=2)
    assert "choose one of --truth and --truth-from" in done.stderr
    done = evaluate(folder, "--truth-from", "said.csv", "--grouping", "Some-3", "mine.run", code=2)
    assert "unknown grouping 'Some-3'; known: All-2, Any-2, Prev-2, All-1, Any-1, Prev-1" in done.stderr
