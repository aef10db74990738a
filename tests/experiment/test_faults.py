"""The server is killed, the database goes away, the disk is full: whatever was acknowledged is there, once.

Short forms; `benchmarks/experiment_faults.py` does the same for a long time.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.experiment.bots import Answer, Bots, Tab
from tests.experiment.killing import KillableServer, keep_busy, quiet_settings
from tests.experiment.studies import small_study
from tests.experiment.visits import Habits, audit
from tests.postgresql import Cluster

from roslin.experiment.bots import Population
from roslin.web.experiment.study import OpenStudy

pytestmark = pytest.mark.kills

WORK = 100  # events in the log before anything goes wrong; about half of them are decisions
HABITS = Habits(double=0.2, tabs=0.2, offline=0.2, patience_seconds=90)


@contextmanager
def at_work(tmp_path: Path, database: str) -> Iterator[tuple[OpenStudy, KillableServer, Bots]]:
    with small_study(tmp_path, quota=10_000) as folder:
        path = str(folder.path)
    settings = quiet_settings(path, database)
    study, server = OpenStudy(settings), KillableServer(settings)
    try:
        yield study, server, Bots(server.address, Population(study.plan), None, HABITS)
    finally:
        server.kill()
        study.close()


async def until_kept(study: OpenStudy, events: int) -> None:
    """Wait until the experts have got so far."""
    while sum(len(kept) for _, kept in await asyncio.to_thread(study.store.histories)) < events:
        await asyncio.sleep(0.1)


def test_the_server_is_killed_three_times(tmp_path: Path, database: str) -> None:
    chance = np.random.default_rng(1)
    with at_work(tmp_path, database) as (study, server, bots):

        async def disturb() -> None:
            kept = WORK
            for _ in range(3):
                await until_kept(study, kept)
                await asyncio.to_thread(server.restart)
                kept += int(chance.integers(10, 40))
            await until_kept(study, kept)

        visits = keep_busy(study, bots, 10, disturb)
        found = audit(study.store, visits)
    assert [visit.problem for visit in visits if visit.problem] == []
    assert sum(visit.lost for visit in visits) > 0
    assert found.acknowledged > WORK // 2
    assert not found.is_bad, found


def test_connections_to_the_database_are_cut(tmp_path: Path, postgresql: Cluster) -> None:
    name, cut = postgresql.new(), 0
    with at_work(tmp_path, postgresql.url(name)) as (study, _server, bots):

        async def disturb() -> None:
            nonlocal cut
            for number in range(5):
                await until_kept(study, WORK + 10 * number)
                cut += await asyncio.to_thread(postgresql.disconnect, name)
            await until_kept(study, WORK + 50)

        visits = keep_busy(study, bots, 8, disturb)
        found = audit(study.store, visits)
    postgresql.drop(name)
    assert cut > 0
    assert [visit.problem for visit in visits if visit.problem] == []
    assert found.acknowledged > WORK // 2
    assert not found.is_bad, found


def test_a_full_disk_is_an_error_for_the_expert_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server can write to no file for a while; then it can again."""
    statuses, ask = set[int](), Tab.ask

    async def noted(*asked: Any, **options: Any) -> Answer:
        answer = await ask(*asked, **options)
        statuses.add(answer.status)
        return answer

    monkeypatch.setattr(Tab, "ask", noted)
    database = tmp_path / "full.db"
    with at_work(tmp_path, f"sqlite:///{database}") as (study, server, bots):

        async def disturb() -> None:
            await until_kept(study, WORK)
            process = server.process.pid
            assert process is not None
            resource.prlimit(process, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            async with asyncio.timeout(90):
                while 503 not in statuses:  # until then nothing can be written
                    await asyncio.sleep(0.1)
            resource.prlimit(process, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            await until_kept(study, WORK + 20)

        visits = keep_busy(study, bots, 8, disturb)
        found = audit(study.store, visits)
    assert sum(visit.refused[503] for visit in visits) > 0
    assert [visit.problem for visit in visits if visit.problem] == []
    assert found.acknowledged > WORK // 2
    assert not found.is_bad, found
