"""roslin experiment example and create, as a newcomer types them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tests.experiment.studies import SMALL, study_text
from typer.testing import CliRunner, Result

from roslin.cli import app, main
from roslin.experiment.folder import StudyFolder
from roslin.experiment.store import EventStore


def typed(*arguments: object) -> Result:
    result = CliRunner().invoke(app, ["experiment", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    monkeypatch.setattr(sys, "argv", ["roslin", "experiment", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(study_text(SMALL, {"quota": 5}), encoding="utf-8")
    return path


def test_from_an_empty_folder_to_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = typed("example", "mine")
    assert result.stdout.splitlines() == [
        "mine/study.toml",
        *(f"mine/texts/{name}.{code}.md" for name in ("consent", "instructions", "thanks") for code in ("de", "en")),
        "mine/starter.roslin",
    ]
    assert "experiment try mine/study.toml" in result.stderr


@pytest.mark.long
def test_create_says_what_was_made_and_shows_the_password_once(toml: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(toml.parent)
    first = typed("create", "study.toml")
    lines = first.stdout.splitlines()
    assert lines[:3] == [f"{query}: 6 candidates by name." for query in SMALL]
    assert lines[3] == "test.study: created; 3 queries, 5 opinions wanted per query"
    password = re.fullmatch(r"Password of the dashboard, shown only now: ([a-z0-9-]{23})", lines[4])
    assert password
    assert StudyFolder("test.study").check_password(password[1])
    assert "experiment serve test.study" in first.stderr
    assert "experiment invite test.study --number 5" in first.stderr

    again = typed("create", "study.toml")
    assert again.stdout == "test.study: nothing has changed\n"

    toml.write_text(toml.read_text("utf-8").replace("quota = 5", "quota = 6"), encoding="utf-8")
    changed = typed("create", "study.toml")
    assert changed.stdout.splitlines()[-1] == "test.study: updated; 3 queries, 6 opinions wanted per query"
    assert "Password" not in changed.stdout
    assert "Restart a running server" in changed.stderr


def test_another_folder(toml: Path, tmp_path: Path) -> None:
    typed("create", toml, "--output", tmp_path / "new" / "other.study")
    assert StudyFolder(tmp_path / "new" / "other.study").plan.name == "test"


@pytest.mark.long
def test_refusals(
    toml: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "No such file" in refused(monkeypatch, capsys, "create", tmp_path / "none.toml")
    assert "is not empty" in refused(monkeypatch, capsys, "example", tmp_path)
    typed("create", toml)
    study = StudyFolder(tmp_path / "test.study")
    store = EventStore(study.database, study.plan)
    store.add(store.invite()[0].name, "consented")
    store.close()
    text = toml.read_text("utf-8")
    toml.write_text(text.replace("quota = 5", "ties = true"), encoding="utf-8")
    said = refused(monkeypatch, capsys, "create", toml)
    assert said == ("roslin: the study has begun, so rules.ties can no longer change; make a new study instead\n")
    toml.write_text(text.replace("quota", "qouta"), encoding="utf-8")
    said = refused(monkeypatch, capsys, "create", toml)
    assert said == f"roslin: {toml}:10, design.qouta: unknown key; expected 'quota'?; found 'qouta'\n"


def test_without_the_extra(toml: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in [name for name in sys.modules if name.startswith("roslin.experiment")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    said = refused(monkeypatch, capsys, "create", toml)
    assert "roslin experiment create needs sqlalchemy, which is not installed" in said
    assert 'pip install "roslin[experiment]"' in said
