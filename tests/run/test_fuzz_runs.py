"""The first thousand damaged files of tools/fuzz_runs.py, and that it would see a lost line."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from fuzz_runs import try_files
from roslin.rows import column_rows, table_rows


@pytest.mark.long
def test_no_line_is_lost_without_a_word(tmp_path: Path) -> None:
    found = list(try_files(1_000, folder=tmp_path))
    assert [each for each in found if each[1].isupper()] == []
    outcomes = Counter(outcome for _, outcome, _ in found)
    assert outcomes["read"] > 100
    assert outcomes["refused"] > 100


@pytest.mark.parametrize(
    ("reader", "genuine"),
    [
        ("roslin.run.reading.column_rows", column_rows),
        ("roslin.truth.qrel.column_rows", column_rows),
        ("roslin.run.reading.table_rows", table_rows),
        ("roslin.truth.rankings.table_rows", table_rows),
    ],
)
def test_a_lost_line_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str, genuine: Any) -> None:
    def forgetful(*arguments: Any, **options: Any) -> Iterator[Any]:
        rows = list(genuine(*arguments, **options))
        return iter(rows[:-1])

    monkeypatch.setattr(reader, forgetful)
    assert any(outcome == "LOST" for _, outcome, _ in try_files(200, folder=tmp_path))


def test_a_traceback_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr("roslin.run.reading.whole_number", broken)
    assert any(outcome == "TRACEBACK" for _, outcome, _ in try_files(200, folder=tmp_path))
