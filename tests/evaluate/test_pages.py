"""The pages on measures: every measure has one, and every page says when to use it and when it misleads."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from roslin.data import DATA_SETS
from roslin.evaluate import measures

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FAMILIES = [DOCS / "concepts" / "measures" / name for name in ("adr.md", "relevance.md")]


def test_every_measure_is_on_a_page() -> None:
    overview = (DOCS / "howto" / "evaluate.md").read_text("utf-8")
    families = "\n".join(page.read_text("utf-8") for page in DOCS.glob("concepts/measures/*.md"))
    for name in measures():
        assert f"`{name}`" in overview, name
        assert f"`{name}`" in families, name


@pytest.mark.parametrize("page", FAMILIES, ids=lambda page: page.stem)
def test_every_page_has_its_parts(page: Path) -> None:
    text = page.read_text("utf-8")
    for part in ("## Formula", "## What is computed"):
        if part in text:
            break
    else:
        pytest.fail(f"{page.name} has no formula")
    assert "## Example" in text
    assert ">>> " in text
    assert "## When to use it" in text
    assert "## When it misleads" in text


def test_the_tie_break_table_is_the_one_that_was_counted() -> None:
    """The numbers of dev/papers/typke-2006.md are those that tests/evaluate/test_adr.py counts by brute force."""
    tests = (Path(__file__).parent / "test_adr.py").read_text("utf-8")
    counted = re.search(r"BRUTE_FORCE = \[\n(.*?)\n\]", tests, re.DOTALL)
    assert counted is not None
    expected = [tuple(map(int, row)) for row in re.findall(r"\((\d+), (\d+), (\d+), (\d+), (\d+)\)\)", counted[1])]
    page = (ROOT / "dev" / "papers" / "typke-2006.md").read_text("utf-8")
    shown = [tuple(map(int, row)) for row in re.findall(r"⟩ \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", page)]
    assert len(expected) == 5
    assert shown == expected


def test_every_data_set_is_on_its_page() -> None:
    text = (DOCS / "howto" / "campaign.md").read_text("utf-8")
    for name, each in DATA_SETS.items():
        assert re.search(rf"\| `{name}` \|.*\| {re.escape(each.licence)} \|", text)


def test_extras_that_messages_name_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = set()
    for path in (ROOT / "src" / "roslin").rglob("*.py"):
        refusals = r'(?:raise MissingExtraError|needs_extra|refuse_for_extra|library)\(.*"(\w+)"\)'
        named |= set(re.findall(refusals, path.read_text("utf-8")))
    assert {"cluster", "experiment", "ir_measures", "mcp", "parquet", "postgresql", "pyterrier", "web", "zstd"} == named
    assert named <= set(extras)
