"""A few of the kills and flips of `tools/soak_kills.py` and `tools/soak_flips.py`: every command and kind of file."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
Reports = list[tuple[str, int, str, str]]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of tools/, by its name."""
    monkeypatch.setattr(sys, "path", [str(TOOLS), *sys.path])
    return importlib.import_module


@pytest.mark.long
def test_a_bit_in_every_kind_of_file(tool: Any, tmp_path: Path) -> None:
    flips, reports = tool("soak_flips"), Reports()
    flips.soak(tmp_path, 0, 24, lambda *told: reports.append(told))
    bad = [told for told in reports if told[2] in flips.BAD]
    assert bad == []
    outcomes = {kind.removeprefix("flip "): outcome for kind, _, outcome, _ in reports}
    assert outcomes == {
        **dict.fromkeys(("bar_offsets", "barlines", "checksums", "collection.sqlite", "notes", "offsets"), "refused"),
        **dict.fromkeys(("chance", "index", "rejects.tsv", "roslin", "verified", "warnings.tsv"), "same"),
    }


@pytest.mark.kills
def test_every_command_killed_twice(tool: Any, tmp_path: Path) -> None:
    kills, reports = tool("soak_kills"), Reports()
    kills.soak(tmp_path, 0, 2 * len(kills.KINDS), lambda *told: reports.append(told))
    assert [told for told in reports if told[2] in kills.BAD] == []
    assert [kind for kind, *_ in reports] == 2 * [f"kill {kind}" for kind in kills.KINDS]
