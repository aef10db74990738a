from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.report.concording import concorded
from typer.testing import CliRunner

from roslin.cli import app

runner = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("report")
    concorded(place)[0].close()
    return place


def test_a_report_is_written_beside_what_was_found(folder: Path) -> None:
    done = runner.invoke(app, ["concordances", "report", str(folder / "tunes.roslin")])
    assert done.exit_code == 0, done.output
    start = folder / "tunes.concordances" / "report" / "index.html"
    assert f"open {start}" in done.stderr
    assert len(re.findall(r'href="groups-0001.html#group-\d"', start.read_text("utf-8"))) == 4


def test_a_report_of_one_page_with_links(folder: Path, tmp_path: Path) -> None:
    line = ["concordances", "report", str(folder / "tunes.roslin"), "-o", str(tmp_path / "all.html")]
    done = runner.invoke(app, [*line, "--link", "https://rism.online/sources/{record}"])
    assert done.exit_code == 0, done.output
    assert 'href="https://rism.online/sources/400"' in (tmp_path / "all.html").read_text("utf-8")


def test_nothing_was_found_yet(folder: Path, tmp_path: Path) -> None:
    line = ["concordances", "report", str(folder / "tunes.roslin"), "--folder", str(tmp_path)]
    done = runner.invoke(app, line)
    assert done.exit_code != 0
    assert "no concordances that can be read" in str(done.exception)
