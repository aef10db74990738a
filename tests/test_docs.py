"""What the pages say exists: commands, options, files, make targets, registered names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from roslin.cli import app
from roslin.matchers import MATCHERS
from roslin.notation import FORMATS

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
ANY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[list[str]]:
    text = "\n".join(blocks(page)).replace("\\\n", " ")
    lines = [line.strip().removeprefix("$ ").removeprefix(".venv/bin/") for line in text.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("roslin ")]


@ANY_PAGE
def test_commands_and_options_exist(page: Path) -> None:
    for words in commands(page):
        command: Any = typer.main.get_command(app)
        while words and hasattr(command, "commands"):
            if words[0] not in command.commands and hasattr(command, "default"):
                words = [command.default, *words]
            assert words[0] in command.commands, f"{page.name}: roslin {' '.join(words)}"
            command, words = command.commands[words[0]], words[1:]
        known = {option for parameter in command.params for option in parameter.opts}
        for word in words:
            if word.startswith("-") and not word.lstrip("-")[:1].isdigit():
                assert word in known, f"{page.name}: {word}"


@ANY_PAGE
def test_links_and_files_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
    for path in re.findall(r"`((?:benchmarks|tools|tests|docs)/[\w./-]+)`", text):
        assert (ROOT / path).exists(), f"{page.name} names {path}"


@ANY_PAGE
def test_make_targets_exist(page: Path) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    for target in re.findall(r"\bmake ([a-z]+)\b(?:`|  |$)", page.read_text("utf-8"), re.MULTILINE):
        assert target in targets, f"{page.name}: make {target}"


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = set(re.findall(r"^[\w-]+$", (ROOT / "docs" / "index.md").read_text("utf-8"), re.MULTILINE))
    assert {page.stem for page in ROOT.glob("docs/*.md")} - {"index"} == listed


def test_every_matcher_and_format_is_in_the_pages() -> None:
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    for name in MATCHERS:
        assert f"`{name}`" in text
    for known in FORMATS.values():
        assert known.description.split(",")[0].split(" with")[0] in text


def test_no_figure_was_left_open() -> None:
    for page in PAGES:
        assert not re.search(r"[A-Z]+_FIGURES", page.read_text("utf-8")), page.name
