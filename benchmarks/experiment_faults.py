"""What is left after kill -9, cut connections and a full disk, while simulated experts work.

    .venv/bin/python benchmarks/experiment_faults.py                              all of it, about half an hour
    .venv/bin/python benchmarks/experiment_faults.py --kills 10 --experts 20      a small form, two minutes

Needs PostgreSQL; starts a server of its own. Experts are at work all the time, a new one for each who ends, some of
them double-clickers, with two tabs or a bad connection; they repeat what was not acknowledged. Each row of the table is
one kind of fault on one database:

    kill         SIGKILL to the server of the study at a random moment while decisions come in, then a new one
    disconnect   every connection to PostgreSQL ended by its server (pg_terminate_backend)
    disk full    the database on a small file system that another file fills up for some seconds (needs root)

lost: acknowledged, and not in the database afterwards; twice: there more than once; gaps: experts whose sequence has
gaps. All three must be 0; if not, the exit code is 1.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.experiment.bots import Bots
from tests.experiment.killing import KillableServer, keep_busy, quiet_settings
from tests.experiment.studies import starter_study
from tests.experiment.visits import Habits, audit
from tests.postgresql import Cluster, programs, started

from roslin.display.table import Table
from roslin.experiment.bots import Population
from roslin.web.experiment.study import OpenStudy

SEED = 16
COLUMNS = ("fault", "database", "times", "experts", "decisions", "acknowledged", "lost", "twice", "gaps",
           "unanswered", "refused", "failed", "seconds")  # fmt: skip
Disturb = Callable[[KillableServer, OpenStudy], Awaitable[int]]
AT_WORK = 20  # events between two faults, at least


def measured(fault: str, database: str, folder: Path, url: str, experts: int, disturb: Disturb) -> dict[str, object]:
    """One row: experts at work while `disturb` does its worst; it says how often."""
    settings = quiet_settings(str(folder), url)
    study, server, times = OpenStudy(settings), KillableServer(settings), 0
    habits = Habits(quit=0.1, double=0.1, tabs=0.1, offline=0.2, think_seconds=3.0, patience_seconds=300)
    bots = Bots(server.address, Population(study.plan), None, habits, SEED)

    async def all_the_time() -> None:
        nonlocal times
        await until_at_work(study, 12 * experts, 120)  # everybody is in the middle of something
        times = await disturb(server, study)

    start = time.perf_counter()
    try:
        visits = keep_busy(study, bots, experts, all_the_time)
        seconds = time.perf_counter() - start
        found = audit(study.store, visits)
    finally:
        server.kill()
        study.close()
    for problem in sorted({visit.problem for visit in visits if visit.problem}):
        print(f"{fault}, {database}: {problem}", file=sys.stderr)
    return {
        "fault": fault,
        "database": database,
        "times": times,
        "experts": len(visits),
        "decisions": sum(visit.decisions for visit in visits),
        "acknowledged": found.acknowledged,
        "lost": found.lost + found.misplaced,
        "twice": found.twice,
        "gaps": found.gaps,
        "unanswered": sum(visit.lost for visit in visits),
        "refused": sum(visit.refused.total() for visit in visits),
        "failed": sum(visit.end == "failed" for visit in visits),
        "seconds": round(seconds),
    }


async def until_at_work(study: OpenStudy, events: int = AT_WORK, seconds: float = 30.0) -> None:
    """Wait until so many more events are kept, for these seconds at most."""
    end, wanted = time.monotonic() + seconds, (await asyncio.to_thread(study.store.age))[0] + events
    while time.monotonic() < end and (await asyncio.to_thread(study.store.age))[0] < wanted:
        await asyncio.sleep(0.02)


def killing(count: int) -> Disturb:
    """Kill the server so many times, each time a random moment after experts are at work with it again."""
    chance = np.random.default_rng(SEED)

    async def disturb(server: KillableServer, study: OpenStudy) -> int:
        for number in range(count):
            await until_at_work(study)
            await asyncio.sleep(0.3 * float(chance.random()))
            await asyncio.to_thread(server.restart)
            print(f"\r{number + 1} of {count} kills", end="", file=sys.stderr, flush=True)
        await until_at_work(study)
        print(file=sys.stderr)
        return count

    return disturb


def disconnecting(cluster: Cluster, name: str, count: int) -> Disturb:
    """End all connections so many times."""

    async def disturb(_server: KillableServer, study: OpenStudy) -> int:
        ended = 0
        for _ in range(count):
            await until_at_work(study)
            ended += await asyncio.to_thread(cluster.disconnect, name)
        await until_at_work(study)
        return ended

    return disturb


def filling(small: Path, count: int) -> Disturb:
    """Fill the file system so many times for three seconds."""

    async def disturb(_server: KillableServer, study: OpenStudy) -> int:
        for _ in range(count):
            await until_at_work(study, 5 * AT_WORK)
            await asyncio.to_thread(_fill, small / "filler")
            await asyncio.sleep(3)
            (small / "filler").unlink()
        await until_at_work(study)
        return count

    return disturb


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return


@contextmanager
def small_disk(megabytes: int, user: str = "root") -> Iterator[Path]:
    """A file system of this size, in memory."""
    with tempfile.TemporaryDirectory(prefix="roslin-small-") as name:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "roslin-small", name], check=True)
        try:
            shutil.chown(name, user, user)
            yield Path(name)
        finally:
            subprocess.run(["umount", "-l", name], check=True)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--experts", type=int, default=200)
    parser.add_argument("--databases", nargs="+", default=["sqlite", "postgresql"])
    options = parser.parse_args()
    few = max(1, options.kills // 4)
    rows = []

    def row(fault: str, database: str, url: str, disturb: Disturb) -> None:
        rows.append(measured(fault, database, folder, url, options.experts, disturb))
        print(Table(COLUMNS, tuple(rows[-1:])), flush=True)

    with tempfile.TemporaryDirectory() as name:
        with starter_study(Path(name), quota=1_000_000) as study:
            folder = study.path
        if "sqlite" in options.databases:
            row("kill", "SQLite", f"sqlite:///{name}/kill.db", killing(options.kills))
            if os.geteuid() == 0:
                with small_disk(24) as small:
                    row("disk full", "SQLite", f"sqlite:///{small}/full.db", filling(small, max(1, few // 5)))
        if "postgresql" in options.databases and programs() is not None:
            with started("max_connections=200") as cluster:
                row("kill", "PostgreSQL", cluster.url(cluster.new()), killing(options.kills))
                cut = cluster.new()
                row("disconnect", "PostgreSQL", cluster.url(cut), disconnecting(cluster, cut, few))
                if os.geteuid() == 0:
                    with small_disk(48, "postgres") as small:
                        full = cluster.new(tablespace=small)
                        row("disk full", "PostgreSQL", cluster.url(full), filling(small, max(1, few // 5)))
                        cluster.drop(full)
    print()
    print(Table(COLUMNS, tuple(rows)))
    return int(any(row["lost"] or row["twice"] or row["gaps"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
