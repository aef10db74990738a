"""roslin experiment bots: what happened as a table; the study itself is left alone unless it is named."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from tests.experiment.rehearsing import opened
from tests.experiment.studies import small_study
from tests.ports import free_port
from typer.testing import CliRunner

from roslin.cli import app
from roslin.errors import ArgumentError, ExperimentError, UnknownNameError
from roslin.starter import truth_path
from roslin.truth.qrel import read_truth
from roslin.web.experiment.rehearsal import blank_copy, served_copy, serving

pytestmark = pytest.mark.long


@pytest.fixture
def study(tmp_path: Path) -> Path:
    with small_study(tmp_path) as folder:
        return folder.path


def test_bots_go_through_a_copy_that_is_kept_where_asked(study: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.study"
    options = ["--quit", "0", "--careless", "0", "--noise", "0", "--truth", str(truth_path()), "--output", str(copy)]
    result = CliRunner().invoke(app, ["experiment", "bots", str(study), "-n", "3", "--format", "json", *options])
    assert result.exit_code == 0, result.output
    rows = {row["what"]: row["number"] for row in json.loads(result.stdout)}
    assert (rows["simulated participants"], rows["finished"], rows["trials finished"]) == (3, 3, 9)
    assert rows["decisions"] > 0
    assert rows["of these lost"] == 0
    assert f"roslin experiment export {copy}" in result.stderr
    truth = read_truth(truth_path())
    with opened(copy, "") as kept:
        states = [kept.state(expert.name, trial) for expert in kept.store.experts() for trial in (1, 2, 3)]
        for state in states:
            levels = {id: level for level, group in enumerate(truth[state.query]) for id in group}
            ranked = [levels[id] for group in state.groups for id in group]
            assert ranked == sorted(ranked)
            assert len(ranked) > 1
    with opened(study, "") as left_alone:
        assert left_alone.store.experts() == []


def test_bots_may_take_part_in_the_study_itself(study: Path, tmp_path: Path) -> None:
    with serving(study, tmp_path / "server.log", port=free_port()) as (address, _):
        command = ["experiment", "bots", str(study), "-n", "1", "--quit", "0", "--address", address]
        result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "simulated participants" in result.stdout
    with opened(study, "") as used:
        assert [expert.source for expert in used.store.experts()] == ["bot"]


@pytest.mark.parametrize("design", ["pairs", "triplets"])
def test_comparisons_are_answered(tmp_path: Path, design: str) -> None:
    with small_study(tmp_path, kind=design, comparisons=2) as folder:
        path = folder.path
    copy = tmp_path / "copy.study"
    options = ["-n", "2", "--quit", "0", "--output", str(copy), "--format", "json"]
    result = CliRunner().invoke(app, ["experiment", "bots", str(path), *options])
    assert result.exit_code == 0, result.output
    with opened(copy, "") as kept:
        for expert in kept.store.experts():
            assert [len(kept.state(expert.name, trial).choices) for trial in (1, 2, 3)] == [2, 2, 2]


def test_some_leave_before_the_end(study: Path) -> None:
    result = CliRunner().invoke(
        app, ["experiment", "bots", str(study), "-n", "3", "--quit", "1", "--careless", "1", "--format", "json"]
    )
    assert result.exit_code == 0, result.output
    rows = {row["what"]: row["number"] for row in json.loads(result.stdout)}
    assert rows["finished"] + rows["quit"] == 3
    assert rows["quit"] > 0


def test_a_server_that_is_not_there_is_a_failure(study: Path) -> None:
    command = ["experiment", "bots", str(study), "-n", "1", "--address", "http://127.0.0.1:9"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 1
    assert "no answer" in result.stderr


def test_what_is_there_already_is_not_written_over(study: Path, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=f"the copy must be a new folder; got {re.escape(str(tmp_path))}, which is"):
        blank_copy(study, tmp_path)


def test_half_a_copy_is_not_left_behind(study: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.study"
    shutil.copytree(study, own)
    (own / "sound.mp3").symlink_to("nowhere.mp3")
    with pytest.raises(ExperimentError, match=r"copy: the study cannot be copied: \[Errno 2\] No such file"):
        blank_copy(own, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_rehearsal_does_not_mix_with_what_people_said(study: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'real.db'}"
    with opened(study, url) as real:
        real.store.invite(2)
    refused = "the database of a rehearsal must be empty; it has 2 participants"
    with pytest.raises(ArgumentError, match=refused), served_copy(study, database=url):
        pass


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    wrong = "the server of the rehearsal did not start: .*nowhere.study"
    with pytest.raises(ExperimentError, match=wrong), serving(tmp_path / "nowhere.study", tmp_path / "log"):
        pass


def test_an_unknown_model_is_refused(study: Path) -> None:
    result = CliRunner().invoke(
        app, ["experiment", "bots", str(study), "--model", "x", "--address", "http://127.0.0.1:9"]
    )
    assert isinstance(result.exception, UnknownNameError)
