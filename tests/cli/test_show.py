from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from roslin import Collection, RoslinError
from roslin.cli.reading import show_command
from roslin.starter import tunes_path

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(show_command)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROSLIN_CACHE", str(tmp_path / "cache"))


def show(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_one_melody_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "one.pae").write_text("%G-2@3/4 '4CDE/2.F")
    done = show(tmp_path / "one.pae")
    assert done.exit_code == 0
    assert done.stdout.startswith("<svg")
    done = show(tmp_path / "one.pae", "--output", tmp_path / "one.svg", "--midi", tmp_path / "one.mid")
    assert done.exit_code == 0
    assert done.stdout == ""
    assert 'id="note-3"' in (tmp_path / "one.svg").read_text("utf-8")
    assert (tmp_path / "one.mid").read_bytes().startswith(b"MThd")


def test_a_melody_chosen_by_id_or_number() -> None:
    by_id, by_number = show(tunes_path(), "--id", "auld-lang-syne"), show(tunes_path(), "--number", 2)
    assert "Auld Lang Syne" in by_id.stdout
    assert by_number.stdout.startswith("<svg")
    assert by_number.stdout != by_id.stdout


def test_a_melody_of_a_collection(tmp_path: Path) -> None:
    path = tmp_path / "starter.roslin"
    Collection.build(tunes_path(), path).close()
    assert "Auld Lang Syne" in show(path, "--id", "auld-lang-syne").stdout
    assert "choose a melody of the collection with --id" in show(path).output


def test_a_piano_roll_says_why(tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_text('{"id": "odd", "notes": [[0, 2122, 60, 162, 0, 0]]}\n')
    done = show(tmp_path / "odd.jsonl")
    assert done.exit_code == 0
    assert 'class="roll" role="img"' in done.output
    assert "so it is a piano roll: a length that notation cannot write; found 2122 ticks" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--id", "x", "--number", 1], "choose the melody with one of --id and --number"),
        (["--id", "nobody"], "none is --id nobody"),
        (["--number", 9999], "none is --number 9999"),
    ],
)
def test_refusals(arguments: list[object], message: str) -> None:
    done = show(tunes_path(), *arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.output.replace("│", " ").split())


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    assert isinstance(show(tmp_path / "empty.jsonl").exception, RoslinError)
