"""A thousand simulated experts at once: decisions a second, times of answers, errors, on SQLite and on PostgreSQL.

    .venv/bin/python benchmarks/experiment_load.py                                     all of it, about fifteen minutes
    .venv/bin/python benchmarks/experiment_load.py --experts 50 --seconds 10           a small form, two minutes

Each expert has a page with about 50 candidates and sends every decision by itself, as the page does. They come one
after the other, and are counted from the moment when all have a page open. Two paces:

    at once      the next decision as soon as the last is acknowledged: what the server can do
    like people  a pause before each decision, 10 seconds on average (two hours for 11 queries, as in the paper, are 10
                 seconds a decision)

Simulated experts and server share the cores of this computer, so the server has less than the whole of it. The limit
of requests that each expert has is lifted: simulated ones send many more than people.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count as count_up
from itertools import product
from pathlib import Path

import numpy as np
import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.experiment.bots import Bots, run_bots
from tests.experiment.killing import quiet_settings
from tests.experiment.rehearsing import fifty_study
from tests.experiment.visits import Habits, Visit, audit
from tests.postgresql import programs, started

from roslin.display.table import Table
from roslin.experiment import clock
from roslin.experiment.bots import Population
from roslin.experiment.database import EVENTS, EXPERTS
from roslin.web.experiment.rehearsal import serving
from roslin.web.experiment.study import OpenStudy

PACES = {"at once": 0.0, "like people": 10.0}
COLUMNS = ("database", "pace", "experts", "decisions", "a second", "p50 ms", "p99 ms", "page p50 ms", "page p99 ms",
           "refused", "unanswered", "failed", "lost", "twice", "server CPU")  # fmt: skip


def prepared(study: OpenStudy, count: int) -> list[str]:
    """Experts who have consented, answered, read and practised: they are about to begin."""
    names = [expert.name for expert in study.store.invite(count, source="bot")]
    kinds = ("consented", "answered", "read", "practised")
    now = clock.now_ms()
    rows = [
        {"expert": name, "sequence": number, "kind": kind, "trial": 0, "payload": {}, "key": kind, "time_ms": now,
         "made_ms": 0, "device": ""}
        for name in names
        for number, kind in enumerate(kinds, start=1)
    ]  # fmt: skip
    with study.store.database.writing() as connection:
        connection.execute(sa.insert(EVENTS), rows)
        connection.execute(sa.update(EXPERTS).values(sequence=len(kinds)))
    return names


def measured(folder: Path, database: str, url: str, pace: str, options: argparse.Namespace) -> dict[str, object]:
    """One row."""
    study = OpenStudy(quiet_settings(str(folder), url))
    names = prepared(study, options.experts)
    workers = ("--workers", str(options.workers)) if options.workers > 1 else ()
    with serving(folder, folder.parent / "server.log", "--database", url, *workers) as (address, process):
        links = [(name, study.link(name, address)) for name in names]
        arrive = options.experts / options.arrivals
        begin = time.monotonic() + arrive + 5  # everybody has a page
        end = begin + options.seconds
        habits = Habits(think_seconds=PACES[pace], arrive_seconds=arrive, patience_seconds=120)
        bots = Bots(address, Population(study.plan), None, habits, is_over=lambda: time.monotonic() > end)
        before = _cpu_seconds(process.pid)
        visits = asyncio.run(run_bots(bots, links))
        used = (_cpu_seconds(process.pid) - before) / (time.monotonic() - begin + arrive + 5)
    found = audit(study.store, visits)
    study.close()
    for problem in sorted({visit.problem for visit in visits if visit.problem})[:5]:
        print(problem, file=sys.stderr)
    times = 1000 * np.array([each for visit in visits for each in _within(visit, begin, end)] or [np.nan])
    pages = 1000 * np.array([each for visit in visits for each in visit.page_seconds])
    return {
        "database": database,
        "pace": pace,
        "experts": len(visits),
        "decisions": found.acknowledged,
        "a second": round(len(times) / options.seconds),
        "p50 ms": round(float(np.quantile(times, 0.5))),
        "p99 ms": round(float(np.quantile(times, 0.99))),
        "page p50 ms": round(float(np.quantile(pages, 0.5))),
        "page p99 ms": round(float(np.quantile(pages, 0.99))),
        "refused": sum(visit.refused.total() for visit in visits),
        "unanswered": sum(visit.lost for visit in visits),
        "failed": sum(visit.end == "failed" for visit in visits),
        "lost": found.lost + found.misplaced + found.gaps,
        "twice": found.twice,
        "server CPU": f"{used:.1f} of {os.cpu_count()}",
    }


def _within(visit: Visit, begin: float, end: float) -> Iterator[float]:
    for seconds, moment in zip(visit.seconds, visit.moments, strict=True):
        if begin <= moment <= end:
            yield seconds


def _cpu_seconds(process: int) -> float:
    """Of a process and its children, as Linux counts them."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if process in (int(stat.parent.name), int(fields[1])):
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def databases(kinds: list[str], folder: Path) -> Iterator[Callable[[str], str]]:
    """A function that gives the address of a new database of a kind."""
    numbers = count_up()
    with ExitStack() as stack:
        wanted = "postgresql" in kinds
        cluster = stack.enter_context(started("max_connections=300")) if wanted and programs() is not None else None

        def fresh(kind: str) -> str:
            if kind == "sqlite":
                return f"sqlite:///{folder / f'load-{next(numbers)}.db'}"
            assert cluster is not None, "PostgreSQL is not installed"
            return cluster.url(cluster.new())

        yield fresh


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experts", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60, help="counted, for each row")
    parser.add_argument("--arrivals", type=float, default=10, help="experts a second who come")
    parser.add_argument("--candidates", type=int, default=50, help="of each query")
    parser.add_argument("--workers", type=int, default=1, help="processes of the server")
    parser.add_argument("--databases", nargs="+", default=["sqlite", "postgresql"])
    parser.add_argument("--paces", nargs="+", default=[*PACES], choices=[*PACES])
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        study, _ = fifty_study(Path(name), [[4]] * 11, options.candidates, quota=1_000_000)
        with study:
            folder = study.path
        with databases(options.databases, Path(name)) as fresh:
            for kind, pace in product(options.databases, options.paces):
                rows.append(measured(folder, kind, fresh(kind), pace, options))
                print(Table(COLUMNS, tuple(rows[-1:])), flush=True)
    print()
    print(Table(COLUMNS, tuple(rows)))
    return int(any(row["lost"] or row["twice"] or row["failed"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
