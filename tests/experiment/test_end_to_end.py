"""From people's pages to a ground truth: 37 simulated experts, 5 queries of the starter collection, a real server."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.experiment.rehearsing import opened, rehearsed
from tests.experiment.studies import starter_study
from tests.experiment.visits import Habits
from typer.testing import CliRunner

from roslin.cli import app
from roslin.experiment.export import export_study
from roslin.starter import truth_path, tunes_path
from roslin.truth import grouped_truth, method_named, read_rankings
from roslin.truth.qrel import read_truth

pytestmark = pytest.mark.long

EXPERTS, QUERIES, QUOTA = 37, 5, 30


def test_from_experts_to_a_truth_and_its_report(tmp_path: Path, database: str) -> None:
    with starter_study(tmp_path, queries=QUERIES, others=2, quota=QUOTA) as folder:
        path, tasks = folder.path, folder.plan.tasks
    habits = Habits(careless=0.05, quit=0.05, double=0.05, tabs=0.05, offline=0.3)
    visits, found = rehearsed(path, database, EXPERTS, habits, noise=0.2)
    assert [visit.problem for visit in visits if visit.problem] == []
    assert not found.is_bad, found
    with opened(path, database) as study:
        export_study(study.store, tmp_path / "export")

    rankings = read_rankings(tmp_path / "export" / "rankings.csv")
    assert set(rankings) == {task.query.id for task in tasks}
    # Whoever quits leaves one trial open, which still counts as being worked on. All come at the same moment, and who
    # has decided nothing holds no place: a few begin the last places together.
    quitters = Counter(visit.end for visit in visits)["quit"]
    counts = [len(said.experts) for said in rankings.values()]
    assert QUERIES * QUOTA - quitters <= sum(counts) <= QUERIES * QUOTA + EXPERTS
    assert QUOTA <= max(counts) < EXPERTS

    # By the papers' way a candidate that only a careless expert ranked would be among those that resemble the query.
    simulated, recovered = read_truth(truth_path()), grouped_truth(rankings, method_named("roslin"))
    for query in rankings:
        level = {id: number for number, group in enumerate(simulated[query]) for id in group}
        groups = [[level[id] for id in group if id in level] for group in recovered[query]]
        assert {level[id] for group in recovered[query] for id in group if id in level} == set(level.values())
        # Every group of the simulated order comes before the next one, and none is mixed with another.
        assert all(len(set(levels)) <= 1 for levels in groups), (query, groups)
        assert [levels[0] for levels in groups if levels] == sorted(levels[0] for levels in groups if levels)

    report = tmp_path / "report.html"
    command = ["truth", "report", str(tmp_path / "export" / "rankings.csv"), "-o", str(report), "--shuffles", "20"]
    result = CliRunner().invoke(app, [*command, "--melodies", str(tunes_path())])
    assert result.exit_code == 0, result.output
    text = report.read_text(encoding="utf-8")
    assert text.count("<svg") > QUERIES
    assert all(task.query.id in text for task in tasks)
