"""What strangers get: the costs of extras, the files of a release, and the paper agree with the project."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from roslin.cli.doctor import EXTRAS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
PAPER = (ROOT / "paper" / "paper.md").read_text("utf-8")
INSTALL = (ROOT / "docs" / "install.md").read_text("utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
OWN_MB = 6  # Roslin itself, as its wheel for Linux unpacks


# -- what extras cost -------------------------------------------------------------------------------------------------


@cache
def megabytes(name: str) -> float:
    """The size of an installed distribution without bytecode."""
    files = distribution(name).files or []
    paths = [Path(str(file.locate())) for file in files if "__pycache__" not in file.parts]
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def needed(requirements: list[str]) -> set[str]:
    """The distributions that requirements bring, with all that these need, on this platform."""
    found, waiting = set[str](), [Requirement(each) for each in requirements]
    seen = set[str]()
    while waiting:
        each = waiting.pop()
        if str(each) in seen or each.name == "roslin":
            continue
        seen.add(str(each))
        try:
            inner = distribution(each.name).requires or []
        except PackageNotFoundError:
            continue
        found.add(canonicalize_name(each.name))
        for requirement in map(Requirement, inner):
            extras = each.extras or {""}
            if requirement.marker is None or any(requirement.marker.evaluate({"extra": name}) for name in extras):
                waiting.append(requirement)
    return found


def of_extra(name: str) -> list[str]:
    listed = []
    for each in PROJECT["optional-dependencies"][name]:
        inner = re.match(r"roslin\[(.*)\]", each)
        listed += [more for extra in inner[1].split(",") for more in of_extra(extra)] if inner else [each]
    return listed


def cost(extra: str) -> float:
    """What an extra adds to `pip install roslin`, in megabytes."""
    return sum(megabytes(name) for name in needed(of_extra(extra)) - needed(PROJECT["dependencies"]))


@pytest.mark.long
def test_the_table_of_extras_has_their_costs() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (\d+) \|$", INSTALL, re.MULTILINE))
    assert set(rows) == {*EXTRAS, "all"}
    for extra, shown in rows.items():
        assert float(shown) == pytest.approx(cost(extra), rel=0.2, abs=2), extra
    base = re.search(r"About (\d+) MB", INSTALL)
    assert base
    own = OWN_MB + sum(map(megabytes, needed(PROJECT["dependencies"])))
    assert float(base[1]) == pytest.approx(own, rel=0.2)


# -- files of a release -----------------------------------------------------------------------------------------------


def test_versions_titles_and_licences_agree() -> None:
    zenodo = json.loads((ROOT / ".zenodo.json").read_text("utf-8"))
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8"))
    assert CITATION["version"] == recipe["context"]["version"] == PROJECT["version"]
    assert CITATION["title"] == zenodo["title"]
    assert CITATION["license"] == zenodo["license"] == recipe["about"]["license"] == PROJECT["license"]
    assert zenodo["keywords"] == PROJECT["keywords"]


def test_the_recipe_of_conda_needs_what_the_project_needs() -> None:
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8"))
    required = [re.sub(r"(?=[<>])", " ", each, count=1) for each in PROJECT["dependencies"]]
    assert recipe["requirements"]["run"] == [f"python {PROJECT['requires-python']}", *required]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_targets_that_exist_and_pin_what_they_use(path: Path) -> None:
    jobs: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))["jobs"]
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    steps = [step for job in jobs.values() for step in job["steps"]]
    for step in steps:
        assert "uses" not in step or re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"])
        for target in re.findall(r"\bmake ([\w-]+)", step.get("run", "")):
            assert target in targets


def test_a_bug_report_asks_for_the_doctor() -> None:
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / "bug.yml").read_text("utf-8"))
    assert "roslin doctor" in str([each["attributes"] for each in form["body"] if each.get("validations")])
    assert "`roslin doctor`" in (ROOT / "SECURITY.md").read_text("utf-8")


# -- the paper --------------------------------------------------------------------------------------------------------


def test_the_paper_has_what_the_journal_asks_for() -> None:
    _, head, body = PAPER.split("---\n", 2)
    about = yaml.safe_load(head)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= about.keys()
    assert {author["affiliation"] for author in about["authors"]} <= {each["index"] for each in about["affiliations"]}
    assert "# Summary" in body
    assert "# Statement of need" in body
    assert 250 <= len(body.split()) <= 1000
    known = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / about["bibliography"]).read_text("utf-8"), re.MULTILINE))
    assert set(re.findall(r"@(\w+)", body)) == known


def test_every_figure_of_the_paper_is_measured() -> None:
    body = re.sub(r"@\w+", "", PAPER.split("---\n", 2)[2])
    measured = (ROOT / "dev" / "measurements" / "index.md").read_text("utf-8")
    figures = re.findall(r"\d[\d,.]*\d|\d", body)
    assert len(figures) > 10
    assert [figure for figure in figures if figure not in measured] == []
