"""roslin experiment status, export, backup and delete."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.experiment.filling import filled
from tests.experiment.studies import small_study
from tests.postgresql import Cluster
from typer.testing import CliRunner, Result

from roslin.cli import app
from roslin.errors import ExperimentError, RoslinError, UnknownExpertError
from roslin.experiment.store import EventStore
from roslin.truth import read_rankings
from roslin.web.sessions import SessionSigner


def run(*arguments: object, code: int = 0, text: str | None = None) -> Result:
    """A command that ends with this code; what it refuses is raised, for `main` to show."""
    result = CliRunner().invoke(app, ["experiment", *map(str, arguments)], input=text)
    if isinstance(result.exception, RoslinError):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with small_study(tmp_path_factory.mktemp("data"), query_among_candidates=True) as made:
        store = EventStore(made.database, made.plan)
        filled(store, 4)
        store.close()
        return made.path


@pytest.fixture
def store(folder: Path) -> Iterator[EventStore]:
    from roslin.experiment.folder import StudyFolder

    with StudyFolder(folder) as study:
        opened = EventStore(study.database, study.plan)
    yield opened
    opened.close()


@pytest.mark.long
def test_how_far_it_is(folder: Path) -> None:
    done = run("status", folder)
    assert "The study is open; 10 of 90 opinions" in done.stderr
    assert "expert-004 is stuck: trial 2 of 3, silent for" in done.stderr
    assert "finished everything" in done.stdout
    found = json.loads(run("status", folder, "--people", "--format", "json").stdout)
    assert sum(each["finished"] for each in found["queries"]) == 10
    assert found["funnel"][0] == {"step": "invited", "experts": 6}
    assert [each["where"] for each in found["people"]][-2:] == ["has not come yet"] * 2


@pytest.mark.long
def test_an_export_goes_into_the_truth_layer(folder: Path, tmp_path: Path) -> None:
    done = run("export", folder, "-o", tmp_path / "out")
    assert f"Next: roslin truth group {tmp_path / 'out' / 'rankings.csv'} -o truth.qrel\n" in done.stderr
    assert "rankings: 70 rows" in done.stdout
    assert len(read_rankings(tmp_path / "out" / "rankings.csv")) == 3
    grouped = CliRunner().invoke(
        app,
        ["truth", "group", str(tmp_path / "out" / "rankings.csv"), "--shuffles", "20", "-o", str(tmp_path / "t.qrel")],
    )
    assert grouped.exit_code == 0
    run("export", folder, "-o", tmp_path / "ds", "--format", "psych-ds", "--unfinished", "--with-participants")
    assert (tmp_path / "ds" / "dataset_description.json").is_file()


def test_the_report_draws_the_experience_of_an_export(folder: Path, tmp_path: Path) -> None:
    run("export", folder, "-o", tmp_path / "out")
    command = ["truth", "report", str(tmp_path / "out" / "rankings.csv"), "-o", str(tmp_path / "report.html")]
    command += ["--experience", str(tmp_path / "out" / "experts.csv"), "--shuffles", "20"]
    made = CliRunner().invoke(app, command)
    assert made.exit_code == 0, made.output
    # Two of the six were invited and have never come.
    assert "The experience of 4 experts" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.long
def test_a_backup(folder: Path, tmp_path: Path) -> None:
    done = run("backup", folder, "-o", tmp_path / "copy")
    assert f"{tmp_path / 'copy'}: 6 participants, " in done.stdout
    with pytest.raises(ExperimentError, match="there is such a file already"):
        run("backup", folder, "-o", tmp_path / "copy")


@pytest.mark.long
def test_every_command_finds_the_database_that_the_study_was_served_from(tmp_path: Path) -> None:
    with small_study(tmp_path) as made:
        path = made.path
    elsewhere = tmp_path / "elsewhere.db"
    run("invite", path, "-n", 2, "--database", f"sqlite:///{elsewhere}")
    run("invite", path)
    assert not (path / "study.db").exists()
    assert json.loads(run("status", path, "--format", "json").stdout)["funnel"][0] == {"step": "invited", "experts": 3}
    assert "3 participants" in run("backup", path, "-o", tmp_path / "copy").stdout


@pytest.mark.long
def test_a_study_is_moved(tmp_path: Path) -> None:
    with small_study(tmp_path) as made:
        path = made.path
        store = EventStore(made.database, made.plan)
        filled(store, 2)
        store.close()
    target = f"sqlite:///{tmp_path / 'new.db'}"
    done = run("move", path, target)
    assert re.fullmatch(rf"{target}: 4 participants, \d+ events\n", done.stdout)
    assert f"The old database still contains everything: sqlite:///{path / 'study.db'}" in done.stderr
    assert "of 90 opinions" in run("status", path).stderr
    with pytest.raises(ExperimentError, match="a study is in it already"):
        run("move", path, "file")
    for left in path.glob("study.db*"):
        left.unlink()
    assert run("move", path, "file").stdout.startswith(f"sqlite:///{path / 'study.db'}: 4 participants")


def test_deleting_from_postgresql_says_what_its_log_still_holds(tmp_path: Path, postgresql: Cluster) -> None:
    with small_study(tmp_path) as made:
        path = made.path
    name = postgresql.new()
    run("invite", path, "--database", postgresql.url(name))
    done = run("delete", path, "expert-001", "--yes")
    assert "write-ahead log of PostgreSQL holds them until the server has overwritten it" in done.stderr
    postgresql.drop(name)


@pytest.mark.long
def test_somebody_is_deleted_by_label_or_by_link(folder: Path, store: EventStore, tmp_path: Path) -> None:
    first, second = store.invite(2)
    assert "Delete all that" in run("delete", folder, first.label, code=1, text="n\n").stderr
    assert store.expert(first.name)
    run("backup", folder, "-o", tmp_path / "copy")
    done = run("delete", folder, first.label, text="y\n")
    assert f"{first.label} is deleted" in done.stdout
    assert f"This backup may still contain their data: {tmp_path / 'copy'}" in done.stderr
    signatures = SessionSigner(bytes.fromhex((folder / "key").read_text()))
    link = f"https://study.example.org/e/{signatures.token('link', second.name)}"
    run("delete", folder, link, "--yes")
    assert {each.label for each in store.experts()}.isdisjoint({first.label, second.label})
    with pytest.raises(UnknownExpertError, match="no participant of the study has this label"):
        run("delete", folder, link, "--yes")
    with pytest.raises(UnknownExpertError, match=r"expected a label \(expert-007\) or a personal link"):
        run("delete", folder, "expert-999", "--yes")
    for path in folder.glob("study.db*"):
        assert second.name.encode() not in path.read_bytes()


@pytest.mark.long
def test_a_study_in_which_nothing_is_kept(tmp_path: Path) -> None:
    with small_study(tmp_path) as made:
        path = made.path
    with pytest.raises(ExperimentError, match="the study has no answers yet, because no participant was invited"):
        run("status", path)
    assert not (path / "study.db").exists()
    with pytest.raises(ExperimentError, match="no study; expected a folder"):
        run("status", tmp_path)
