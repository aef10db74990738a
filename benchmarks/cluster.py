"""The same work by threads and by a Dask cluster on one computer: what the cluster costs, as ratios in the same run.

    .venv/bin/python benchmarks/cluster.py               on the RISM incipits
    .venv/bin/python benchmarks/cluster.py --first 8000  on a part of them

First what one piece of work costs that does nothing: asked for alone, and in a row of many. Then, with two threads and
with two processes: building the collection (one process reads without a cluster), searching it in four shards, a
campaign, and the fast join. Seconds, CPU seconds of all processes together, and the cluster's by those of the threads.
On one computer a cluster can only cost; it pays where reading or a matcher keeps Python busy, and on many computers.
Every result is compared: the run fails where it is not the same.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from real_data import INCIPITS
from roslin import Collection, run_campaign
from roslin.collection import write
from roslin.concordances.pairs import find_pairs
from roslin.display.table import Table
from roslin.distributed import Cluster, ClusterWork
from roslin.distributed.shards import Shards, write_shards
from roslin.notation.jsonl import write_jsonl
from roslin.search.work import Work

PROCESSES = 2
SHARDS = 4
SEARCHES = 20
SYSTEMS = ("roslin", "dp", "ngrukkon")
LEVEL = 0.01


def main() -> int:
    """Print the tables; exit code 1 when a result differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, help="only so many incipits")
    parser.add_argument("--only", help="only this row")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = INCIPITS
        if arguments.first:
            with Collection.build(INCIPITS, folder / "all.roslin") as everything:
                lines = [write_jsonl(melody) for melody in everything[: arguments.first]]
            path = folder / "first.jsonl"
            path.write_text("\n".join(lines), encoding="utf-8")
        with Collection.build(path, folder / "rism.roslin") as collection:
            with Work(PROCESSES) as threads:
                write_shards(collection, folder / "shards", SHARDS, threads)
            return report(collection, path, folder, arguments.only)


def report(collection: Collection, source: Path, folder: Path, only: str | None) -> int:
    """Both tables."""
    works: dict[str, Callable[[Work], Any]] = {
        "build": lambda work: built(source, folder, work),
        "search": lambda work: searched(collection, folder / "shards", work),
        "campaign": lambda work: asked(collection, folder, work),
        "join": lambda work: joined(collection, work),
    }
    began = time.perf_counter()
    with ClusterWork(Cluster(processes=PROCESSES)) as cluster:
        started = time.perf_counter() - began
        print(empty_pieces(cluster, started))
        rows, is_same = [], True
        for name, work in works.items():
            if only in (None, name):
                row, same = compared(name, work, cluster)
                rows.append(row)
                is_same = is_same and same
                print(row, file=sys.stderr, flush=True)
    print()
    columns = ("work", "threads_s", "threads_cpu_s", "cluster_s", "cluster_cpu_s", "ratio", "cpu_ratio", "same")
    print(Table(columns, tuple(rows)))
    return 0 if is_same else 1


def empty_pieces(cluster: ClusterWork, started: float) -> Table:
    """What a cluster costs before it does anything."""
    list(cluster.map(abs, range(50)))
    alone = []
    for number in range(50):
        began = time.perf_counter()
        list(cluster.map(abs, [number]))
        alone.append(time.perf_counter() - began)
    began = time.perf_counter()
    list(cluster.map(abs, range(500)))
    in_a_row = (time.perf_counter() - began) / 500
    rows = (
        {"what": "starting two processes", "ms": 1000 * started},
        {"what": "one empty piece", "ms": 1000 * sorted(alone)[len(alone) // 2]},
        {"what": "each of 500 empty pieces", "ms": 1000 * in_a_row},
    )
    return Table(("what", "ms"), rows)


def compared(name: str, work: Callable[[Work], Any], cluster: ClusterWork) -> tuple[dict[str, Any], bool]:
    """One kind of work by threads and by the cluster, each once to get ready and once by the clock."""
    taken: list[float] = []
    results = []
    for worker in (Work(PROCESSES), cluster):
        with entered(worker) as working:
            work(working)
            began, cpu = time.perf_counter(), cpu_seconds(working)
            results.append(work(working))
            taken += [time.perf_counter() - began, cpu_seconds(working) - cpu]
    threads_s, threads_cpu, cluster_s, cluster_cpu = taken
    row = {
        "work": name,
        "threads_s": threads_s,
        "threads_cpu_s": threads_cpu,
        "cluster_s": cluster_s,
        "cluster_cpu_s": cluster_cpu,
        "ratio": cluster_s / threads_s,
        "cpu_ratio": cluster_cpu / threads_cpu,
        "same": "yes" if results[0] == results[1] else "NO",
    }
    return row, results[0] == results[1]


@contextmanager
def entered(work: Work) -> Iterator[Work]:
    """Threads are started and ended; the cluster runs already."""
    if isinstance(work, ClusterWork):
        yield work
        return
    with work:
        yield work


def cpu_seconds(work: Work) -> float:
    """Of this process, and of the workers of a cluster on this computer."""
    workers = work.processes() if isinstance(work, ClusterWork) else []
    return time.process_time() + sum(sum(psutil.Process(each).cpu_times()[:2]) for each in workers)


def built(source: Path, folder: Path, work: Work) -> Any:
    """The checksum of a collection."""
    spread = work.map if isinstance(work, ClusterWork) else None
    write.build(source, folder / "again.roslin", spread=spread)
    with Collection(folder / "again.roslin") as collection:
        return collection.about["arrays_sha256"]


def searched(collection: Collection, folder: Path, work: Work) -> Any:
    """The lists of some melodies."""
    step = len(collection) // SEARCHES
    with Shards(folder) as shards:
        return [shards.search(collection[step * each], work=work).rankings for each in range(SEARCHES)]


def asked(collection: Collection, folder: Path, work: Work) -> Any:
    """The runs of three systems."""
    step = len(collection) // SEARCHES
    queries = [collection[step * each] for each in range(SEARCHES)]
    truth = {query.id: [[queries[0].id]] for query in queries}
    with tempfile.TemporaryDirectory(dir=folder) as output:
        run_campaign(
            collection, truth, SYSTEMS, output, measures="RR",
            threads=work.threads, work=work if isinstance(work, ClusterWork) else None,
        )  # fmt: skip
        return [path.read_bytes() for path in sorted((Path(output) / "runs").iterdir())]


def joined(collection: Collection, work: Work) -> Any:
    """All pairs of the fast join."""
    found = find_pairs(collection, LEVEL, work, exact=False)
    return [getattr(found, name).tobytes() for name in ("first", "second", "distances", "expected")]


if __name__ == "__main__":
    raise SystemExit(main())
