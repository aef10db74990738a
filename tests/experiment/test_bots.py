"""Simulated experts of every kind at a real server: what they say is what they think, and all of it is kept once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.experiment.bots import Bots, run_bots
from tests.experiment.rehearsing import SEED, opened, rehearsed
from tests.experiment.studies import small_study
from tests.experiment.visits import Audit, Habits, Visit, audit

from roslin.experiment.bots import Population, lost_decisions
from roslin.experiment.bots import Visit as PlainVisit
from roslin.experiment.events import ranks_of
from roslin.starter import truth_path
from roslin.truth.qrel import read_truth

pytestmark = pytest.mark.long

ALL = Habits(careless=0.2, quit=0.2, double=0.3, tabs=0.3, offline=0.3)


def test_everybody_says_what_they_think_however_they_send_it(tmp_path: Path, database: str) -> None:
    with small_study(tmp_path, ties=True) as folder:
        path, plan = folder.path, folder.plan
    visits, found = rehearsed(path, database, 12, ALL)
    assert [visit.problem for visit in visits if visit.problem] == []
    assert {kind for visit in visits for kind in visit.kinds} == {"careless", "quit", "double", "tabs", "offline"}
    assert {visit.end for visit in visits} == {"finished", "quit"}
    assert all((visit.end == "finished") == bool(visit.receipt) for visit in visits)
    assert found.acknowledged == sum(len(visit.acknowledged) for visit in visits) > 200
    assert not found.is_bad
    assert sum(visit.repeated for visit in visits) > 20
    population = Population(plan, read_truth(truth_path()), noise=0.3, seed=SEED)
    with opened(path, database) as study:
        assert {expert.source for expert in study.store.experts()} == {"bot"}
        for number, visit in enumerate(visits):
            if visit.end != "finished":
                continue
            assert visit.trials == 3
            for trial in (1, 2, 3):
                state = study.state(visit.name, trial)
                opinion = population.opinion(number, plan.task(state.query), "careless" in visit.kinds)
                ranked = {id: rank for id, rank in ranks_of(state).items() if rank is not None}
                assert set(ranked) == {id for id, verdict in opinion.verdicts.items() if verdict == "resembles"}
                assert state.verdicts == dict(opinion.verdicts)
                if len({opinion.levels[id] for id in ranked}) == len(ranked):
                    assert sorted(ranked, key=ranked.__getitem__) == sorted(ranked, key=lambda id: -opinion.merits[id])


@pytest.mark.parametrize("design", ["pairs", "triplets"])
def test_comparisons_are_answered(tmp_path: Path, design: str) -> None:
    count = {"pairs": 8, "triplets": 2}[design]
    with small_study(tmp_path, kind=design, comparisons=count) as folder:
        path, database = folder.path, folder.database
    visits, found = rehearsed(path, database, 4, Habits(double=0.5, offline=0.5))
    assert [(visit.end, visit.trials, visit.problem) for visit in visits] == [("finished", 3, "")] * 4
    assert not found.is_bad
    with opened(path, database) as study:
        for visit in visits:
            for trial in (1, 2, 3):
                choices = study.state(visit.name, trial).choices
                assert len(choices) == count
                assert len({frozenset(choice.documents) for choice in choices}) == count


def test_a_server_that_is_not_there_is_given_up(tmp_path: Path) -> None:
    with small_study(tmp_path) as folder:
        bots = Bots("http://127.0.0.1:9", Population(folder.plan), habits=Habits(patience_seconds=0.2))
        (visit,) = asyncio.run(run_bots(bots, [("ada", "http://127.0.0.1:9/e/ada-x")]))
    assert visit.end == "failed"
    assert visit.problem == "GET /e/ada: no answer"  # and not what would let others in
    assert visit.lost >= 1


def test_an_audit_sees_what_is_missing_and_what_is_elsewhere(tmp_path: Path) -> None:
    with small_study(tmp_path) as folder, opened(folder.path, "") as study:
        name = study.store.invite()[0].name
        study.store.add(name, "consented")
        key = study.store.events(name)[0].key
        visit = Visit(name, (), acknowledged={key: 0})
        assert audit(study.store, [visit]) == Audit(acknowledged=1)
        visit = Visit(name, (), acknowledged={key: 2, "never": 1})
        found = audit(study.store, [visit])
        assert found == Audit(acknowledged=2, lost=1, misplaced=1)
        assert found.is_bad
        assert lost_decisions(study.store, [PlainVisit(name, acknowledged=visit.acknowledged)]) == 2
