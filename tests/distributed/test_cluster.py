"""Clusters by name, and what is said when they cannot be reached, are lost, or differ; nothing else is said."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from roslin import Collection
from roslin.collection.store import opened
from roslin.concordances.join import find_pairs
from roslin.deadline import Work
from roslin.distributed import Cluster, ClusterWork
from roslin.distributed import cluster as cluster_module
from roslin.errors import ArgumentError, ClusterError, CollectionError, MelodyError, MissingExtraError, TimeLimitError
from roslin.starter import tunes_path

pytestmark = pytest.mark.cluster

PROGRAM = str(Path(sys.executable).with_name("dask"))


@pytest.fixture
def starter(tmp_path: Path) -> Iterator[Collection]:
    with Collection.build(tunes_path(), tmp_path / "starter.roslin") as built:
        yield built


def test_a_cluster_by_name() -> None:
    assert Cluster.parse("local:3") == Cluster(processes=3)
    assert Cluster.parse("local").processes >= 1
    assert str(Cluster.parse("tls://host.example:8786")) == "tls://host.example:8786"


@pytest.mark.parametrize("text", ["", "local:0", "local:x", "host:8786", "tcp://host", "http://host:8786", "8"])
def test_what_is_no_cluster(text: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape("must be local, local:4 or tcp://host:8786; got " + repr(text))):
        Cluster.parse(text)


# -- a scheduler of the test's own ------------------------------------------------------------------------------------


class Running:
    """`dask scheduler` and `dask worker`, as people start them."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "dask.log"  # a pipe that nobody reads would stop them one day
        self.processes: list[subprocess.Popen[bytes]] = []
        self.address = ""

    def scheduler(self) -> subprocess.Popen[bytes]:
        started = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        while not (found := re.search(r"tcp://[\d.]+:\d+\s", self.log.read_text())):
            assert started.poll() is None
            time.sleep(0.05)
        self.address = found[0].strip()
        return started

    def workers(self, count: int) -> subprocess.Popen[bytes]:
        options = f"--nworkers {count} --nthreads 1 --memory-limit 0 --no-dashboard --death-timeout 20"
        return self._start("worker", self.address, *options.split())

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            self.processes.append(subprocess.Popen([PROGRAM, *arguments], stdout=log, stderr=log))
        return self.processes[-1]

    def end(self) -> None:
        for each in self.processes:
            each.terminate()
            each.wait(timeout=90)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    started = Running(tmp_path)
    yield started
    started.end()


def test_a_lost_scheduler_leaves_what_is_finished(
    many: Collection, running: Running, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    scheduler, folder = running.scheduler(), tmp_path / "work"
    running.workers(2)

    def heard(_: float, __: str) -> None:
        if any(folder.glob("pairs-*")):  # the first of three
            scheduler.kill()

    said = (
        f"the scheduler at {running.address} is gone; finished parts are saved in {folder}: "
        "the same command continues, with --dask or without"
    )
    cluster = Cluster.parse(running.address)
    with pytest.raises(ClusterError, match=re.escape(said)), ClusterWork(cluster, progress=heard, kept=folder) as work:
        find_pairs(many, 0.01, work, folder=folder)
    assert capfd.readouterr() == ("", "")
    finished = {path: path.stat().st_mtime_ns for path in folder.glob("*-*.bin")}
    assert {path.name[:5] for path in finished} == {"chanc", "pairs"}
    with Work(2) as alone:
        expected, found = find_pairs(many, 0.01, alone), find_pairs(many, 0.01, alone, folder=folder)
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    for name in ("first", "second", "distances", "expected", "is_copy"):
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes()


def test_a_scheduler_without_workers(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "_WORKERS_S", 0.1)
    running.scheduler()
    said = f"the scheduler at {running.address} has no workers; start some with: dask worker {running.address}; nothing"
    with pytest.raises(ClusterError, match=re.escape(said)), ClusterWork(Cluster.parse(running.address)):
        pass


def test_nobody_at_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_module, "_CONNECT_S", 0.5)
    with pytest.raises(ClusterError, match=r"no scheduler answers at tcp://127.0.0.1:9; is there a `dask scheduler`"):
        ClusterWork(Cluster.parse("tcp://127.0.0.1:9")).__enter__()


def test_a_command_says_it_in_one_line(starter: Collection, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "roslin", "concordances", str(starter.path), "--dask", "tcp://127.0.0.1:9"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.splitlines() == [
        "roslin: no scheduler answers at tcp://127.0.0.1:9; is there a `dask scheduler`, and is the address right?"
    ]


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(
        MissingExtraError, match=r'work on a cluster needs distributed.*pip install "roslin\[cluster\]"'
    ):
        ClusterWork(Cluster.parse("local:1")).__enter__()


# -- what tasks may do ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def single() -> Iterator[ClusterWork]:
    with ClusterWork(Cluster.parse("local:1")) as work:
        yield work


def double(number: int) -> int:
    if number == 13:
        raise MelodyError("thirteen")
    return 2 * number


def die_once(marker: str) -> str:
    if not Path(marker).exists():
        Path(marker).write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return Path(marker).read_text()


def test_results_come_in_order_and_only_some_are_on_their_way(single: ClusterWork) -> None:
    asked = []

    def pieces() -> Iterator[int]:
        for number in range(12):
            asked.append(number)
            yield number

    results = single.map(double, pieces())
    assert next(results) == 0
    assert len(asked) == 4
    assert list(results) == [2 * number for number in range(1, 12)]
    assert list(single.map(double, [])) == []


def test_an_error_of_a_task_is_that_error(single: ClusterWork) -> None:
    results = single.map(double, [1, 13, 2])
    assert next(results) == 2
    with pytest.raises(MelodyError, match="thirteen"):
        next(results)
    assert list(single.map(double, [3])) == [6]


def test_a_worker_that_dies_costs_time(single: ClusterWork, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (before,) = single.processes()
    marker = str(tmp_path / "marker")
    assert list(single.map(die_once, [marker])) == [str(before)]
    assert single.processes() not in ([], [before])
    assert capfd.readouterr() == ("", "")


def test_a_task_that_no_worker_survives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cluster_module._SETTINGS, "distributed.scheduler.allowed-failures", 0)
    with ClusterWork(Cluster.parse("local:1"), kept="here") as work:
        said = (
            "1 workers of local:1 died with the same piece of work: they may need more memory; "
            "finished parts are saved in here: the same command continues"
        )
        with pytest.raises(ClusterError, match=said):
            list(work.map(die_once, [str(tmp_path / "marker")]))


def test_other_versions_are_told(single: ClusterWork, monkeypatch: pytest.MonkeyPatch) -> None:
    other = {**cluster_module._versions(), "numpy": "1.0.0"}
    monkeypatch.setattr(cluster_module, "_versions", lambda: other)
    with pytest.raises(ClusterError, match=r"a worker has numpy \S+ instead of 1\.0\.0; the same versions"):
        list(single.map(double, [1]))


def test_a_module_that_a_worker_lacks(single: ClusterWork) -> None:
    with pytest.raises(
        ClusterError, match=r"a worker of local:1 lacks the module nowhere_to_be_found; the same versions"
    ):
        list(single.map(__import__, ["nowhere_to_be_found"]))


def test_the_limit_of_time_holds(single: ClusterWork) -> None:
    cluster = Cluster.parse(single.address)
    with (
        pytest.raises(TimeLimitError, match=r"stopped after 0\.5 seconds, 0% done"),
        ClusterWork(cluster, seconds=0.5) as work,
    ):
        list(work.map(time.sleep, [30]))


def test_a_collection_is_opened_once_and_again_when_it_changes(starter: Collection) -> None:
    path, token = str(starter.path), starter.about["token"]
    assert opened(path, token) is opened(path, token)
    starter.remove("la-folia")
    assert opened(path, token)["la-folia"].id == "la-folia"
    now = opened(path, starter.about["token"])
    assert "la-folia" not in now
    with pytest.raises(CollectionError, match="the collection has changed since the work began; start it again"):
        opened(path, token)
