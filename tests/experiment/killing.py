"""A server of a study that is killed and started again while simulated experts work.

It is forked from a process that has imported everything, so that a start takes little time; killed it is for good: by
SIGKILL, of which no program hears anything.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from http.client import HTTPConnection, HTTPException
from itertools import count as count_up
from pathlib import Path

from tests.experiment.bots import Bots, run_bots
from tests.experiment.visits import Visit
from tests.ports import free_port

from roslin.errors import NotKeptError
from roslin.experiment.study_store import StudyExpert
from roslin.web.experiment.app import serve_study
from roslin.web.experiment.study import ExperimentSettings, OpenStudy

_STARTS_WITHIN = 120
_TRIES = 20


def quiet_settings(folder: str, database: str) -> ExperimentSettings:
    """For a server that starts quickly, refuses nobody and says nothing."""
    return ExperimentSettings(folder, database, requests_per_minute=0, warm_up=False, log_requests=False)


class KillableServer:
    """A server at one port, whatever process it is at the moment."""

    def __init__(self, settings: ExperimentSettings):
        self._settings, self._port = settings, free_port()
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["roslin.web.experiment.app", "alembic.command", "psycopg"])
        self.address = f"http://127.0.0.1:{self._port}"
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.process = self._context.Process(target=_serve_in_silence, args=(self._settings, self._port))
        self.process.start()
        limit = time.monotonic() + _STARTS_WITHIN
        while time.monotonic() < limit:
            # A long wait: everybody whom the last one left without an answer comes at once.
            connection = HTTPConnection("127.0.0.1", self._port, timeout=_STARTS_WITHIN)
            try:
                connection.request("GET", "/healthz")
                connection.getresponse().read()
            except (OSError, HTTPException):
                assert self.process.is_alive(), "the server ended by itself"
                time.sleep(0.02)
            else:
                return
            finally:
                connection.close()
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        """kill -9."""
        assert self.process.is_alive(), "the server ended by itself"
        self.process.kill()
        self.process.join()

    def restart(self) -> None:
        """Kill it, and start it again."""
        self.kill()
        self.start()


def _serve_in_silence(settings: ExperimentSettings, port: int) -> None:
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    serve_study(settings, "127.0.0.1", port)


def invited(study: OpenStudy) -> StudyExpert:
    """One more expert. What disturbs the server may cut this connection as well: then it is asked for again."""
    for _ in range(_TRIES):
        with suppress(NotKeptError):
            return study.store.invite(1, "bot")[0]
        time.sleep(0.1)
    raise AssertionError("nobody can be invited")


def keep_busy(study: OpenStudy, bots: Bots, count: int, disturb: Callable[[], Awaitable[None]]) -> list[Visit]:
    """Have so many experts at work, a new one for each who ends, until `disturb` is done. What became of all."""
    is_over = False
    visits: list[Visit] = []
    numbers = count_up()
    lasting = replace(bots, is_over=lambda: is_over)

    async def one_after_the_other() -> None:
        while not is_over:
            expert = await asyncio.to_thread(invited, study)
            own = replace(lasting, seed=bots.seed + next(numbers))
            visits.extend(await run_bots(own, [(expert.name, study.link(expert, bots.address))]))

    async def all_together() -> None:
        nonlocal is_over
        working = [asyncio.create_task(one_after_the_other()) for _ in range(count)]
        try:
            await disturb()
        finally:
            is_over = True
            await asyncio.gather(*working)

    asyncio.run(all_together())
    return visits
