"""roslin experiment serve, invite and try, as an experimenter types them."""

from __future__ import annotations

import csv
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.error import URLError
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

import pytest
from tests.experiment.studies import SMALL, small_study, study_text
from tests.ports import free_port
from typer.testing import CliRunner, Result

from roslin.cli import app, main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with small_study(tmp_path_factory.mktemp("study")) as made:
        return made.path


def typed(*arguments: object) -> Result:
    result = CliRunner().invoke(app, ["experiment", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result


def test_links_as_a_table(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "links.csv"
    result = typed("invite", folder, "-n", 3, "-o", target, "--public-address", "https://study.example.org/")
    assert result.stdout == ""
    assert "3 links" in result.stderr
    with target.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["expert"] for row in rows] == ["expert-001", "expert-002", "expert-003"]
    assert all(re.fullmatch(r"https://study\.example\.org/e/[0-9a-f]{20}\.[\w-]{43}", row["link"]) for row in rows)
    assert len({row["link"] for row in rows}) == 3
    assert target.stat().st_mode & 0o077 == 0, "whoever reads a link can use it"


def test_links_on_the_screen_and_the_open_invitation(folder: Path) -> None:
    lines = typed("invite", folder).stdout.splitlines()
    assert len(lines) == 2
    assert "http://127.0.0.1:8000/e/" in lines[1]
    first = typed("invite", folder, "--open").stdout
    assert re.fullmatch(r"http://127\.0\.0\.1:8000/join/[\w-]{16}\n", first)
    assert typed("invite", folder, "--open").stdout == first


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["invite", "nothing.study"], "nothing.study: no study"),
        (["serve", "nothing.study"], "nothing.study: no study"),
        (["try", "nothing.toml"], "nothing.toml"),
        (["invite", "FOLDER", "--public-address", "study.example.org"], "must be one like https://study.example.org"),
        (["invite", "FOLDER", "--public-address", "https://a.example/?path"], "must be one like"),
        (["serve", "FOLDER", "--database", "mysql://x/y"], "the database must be"),
        (["invite", "FOLDER", "-n", "0"], "Invalid value for '--number'"),
    ],
)
def test_refusals_are_one_line(
    folder: Path,
    arguments: list[str],
    problem: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = [str(folder) if each == "FOLDER" else each for each in arguments]
    monkeypatch.setattr(sys, "argv", ["roslin", "experiment", *given])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    said = capsys.readouterr()
    assert problem in said.err
    assert [line for line in said.err.splitlines() if line.startswith("roslin:")] == said.err.splitlines()[-1:]


@pytest.mark.long
@pytest.mark.parametrize(("content", "said"), [(b"", "it is empty"), (b"no database" * 2000, "not a database")])
def test_a_damaged_database_is_refused_before_anything_is_promised(
    tmp_path: Path, content: bytes, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with small_study(tmp_path) as made:
        damaged = made.path / "study.db"
    damaged.write_bytes(content)
    for command in ("serve", "status", "invite"):
        monkeypatch.setattr(sys, "argv", ["roslin", "experiment", command, str(damaged.parent)])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 2
        [line] = capsys.readouterr().err.splitlines()
        assert line.startswith(f"roslin: {damaged}: the database of the study is damaged (")
        assert said in line
        assert damaged.read_bytes() == content


@contextmanager
def running(folder: Path, *arguments: object) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A command that serves, with a folder of its own for temporary files, until the block ends."""
    log, temporary = folder / "server.log", folder / "temporary"
    temporary.mkdir()
    command = [sys.executable, "-m", "roslin", "experiment", *map(str, arguments)]
    with log.open("w") as err:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=err, text=True, env={**os.environ, "TMPDIR": str(temporary)}
        )
    try:
        yield process, log
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def _opened(address: str, browser: OpenerDirector, process: subprocess.Popen[str]) -> str:
    limit = time.monotonic() + 90
    while True:
        try:
            with browser.open(address, timeout=90) as answer:
                return str(answer.read().decode())
        except (URLError, OSError):
            assert process.poll() is None
            assert time.monotonic() < limit
            time.sleep(0.1)


@pytest.mark.long
def test_a_study_served_by_two_processes(folder: Path, tmp_path: Path) -> None:
    port = free_port()
    link = typed("invite", folder, "--public-address", f"http://127.0.0.1:{port}").stdout.split(",")[-1].strip()
    with running(tmp_path, "serve", folder, "--port", port, "--workers", 2) as (process, log):
        browser = build_opener(HTTPCookieProcessor(CookieJar()))
        for _ in range(4):
            assert 'name="agree"' in _opened(link, browser, process)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=90)
        said = log.read_text()
    assert f"Dashboard: http://127.0.0.1:{port}/study" in said
    assert "drawing 28 melodies" in said
    assert "Traceback" not in said
    assert '"path": "/e/…"' in said
    assert link.rpartition("/")[2] not in said


@pytest.mark.long
def test_trying_a_study_leaves_nothing_behind(tmp_path: Path) -> None:
    toml = tmp_path / "study.toml"
    toml.write_text(study_text(SMALL, {}), encoding="utf-8")
    port = free_port()
    with running(tmp_path, "try", toml, "--port", port) as (process, log):
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        assert link.startswith(f"http://127.0.0.1:{port}/e/")
        browser = build_opener(HTTPCookieProcessor(CookieJar()))
        assert 'name="agree"' in _opened(link, browser, process)
        assert list((tmp_path / "temporary").glob("roslin-try-*"))
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=90)
        assert "Nothing is saved" in log.read_text()
    assert list((tmp_path / "temporary").glob("roslin-try-*")) == []
    assert {path.name for path in tmp_path.iterdir()} == {"study.toml", "server.log", "temporary"}
