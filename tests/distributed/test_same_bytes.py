"""A cluster of two and of four processes gives what one process gives, byte for byte, also when one of them dies."""

from __future__ import annotations

import gzip
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.waiting import until

from roslin import Collection, Melody, notation, run_campaign
from roslin.collection import write
from roslin.concordances.certainty import Certainty
from roslin.concordances.concordance import find_concordances
from roslin.deadline import Work
from roslin.distributed import ClusterWork
from roslin.distributed import shards as shards_module
from roslin.distributed.shards import Shards, write_shards
from roslin.matchers import Roslin
from roslin.search.chance import mode_of
from roslin.starter import truth_path, tunes_path

pytestmark = pytest.mark.cluster

QUERIES = ("roslin-castle", "la-folia")


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection.build(tunes_path(), tmp_path_factory.mktemp("cluster") / "starter.roslin") as built:
        yield built


def everything(folder: Path) -> list[object]:
    """All that a build writes, but for dates and names of files."""
    with Collection(folder) as built:
        tables = ("melodies", "folded", "features", "strings", "motives")
        rows = [list(built.connection.execute(f"SELECT * FROM {table}")) for table in tables]
        lists = [(folder / name).read_bytes() for name in ("rejects.tsv", "warnings.tsv")]
        return [built.about["arrays_sha256"], *rows, built.report and built.report.to_json(), *lists]


def test_a_collection_is_built(
    cluster: ClusterWork, starter: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notation, "LINES_AT_ONCE", 50)
    lines = tunes_path().read_text("utf-8").splitlines()
    sources = tmp_path / "sources"
    sources.mkdir()
    broken = [*lines[:60], "{broken", *lines[60:120], '{"id": "empty"}']
    (sources / "a.jsonl.gz").write_bytes(gzip.compress("\n".join(broken).encode()))
    (sources / "b.abc").write_text("X:1\nK:C\nCDEF|\nX:2\nK:C\nzzz|\n")
    (sources / "c.bin").write_bytes(b"\x00\x01")
    (sources / "d.jsonl.gz").write_bytes(gzip.compress("\n".join(lines[100:]).encode())[:-400])
    monkeypatch.chdir(tmp_path)
    given: list[Path | Melody] = [Path("sources"), starter[3], starter[4].with_metadata(id="another")]
    alone = write.build(given, "alone.roslin", allow_damaged=True)
    together = write.build(given, "together.roslin", spread=cluster.map, allow_damaged=True)
    assert (alone.taken, alone.refused) == (together.taken, together.refused)
    assert alone.refused >= 4
    assert everything(tmp_path / "alone.roslin") == everything(tmp_path / "together.roslin")


@pytest.mark.parametrize("name", ["roslin", "dp", "emd"])
def test_shards_are_searched(cluster: ClusterWork, sharded: Path, many: Collection, name: str) -> None:
    with Shards(sharded) as shards:
        assert len(shards) == len(many)
        for k, radius in ((1, None), (30, None), (30, 0.3)):
            one = many.search(many["3-0"], name, k, exclude=("3-0",), radius=radius)
            found = shards.search(shards["3-0"], name, k, exclude=("3-0",), radius=radius, work=cluster)
            assert found.rankings == one.rankings
            assert found.to_trec() == one.to_trec()


def test_shards_are_searched_for_more_than_they_hold(cluster: ClusterWork, sharded: Path, many: Collection) -> None:
    with Shards(sharded) as shards:
        one, found = many.search(many[700], "emd", 400), shards.search(many[700], "emd", 400, work=cluster)
    assert found.rankings == one.rankings


@pytest.fixture(scope="module")
def sharded(many: Collection, cluster: ClusterWork, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, mode = tmp_path_factory.mktemp("shards"), mode_of(Roslin(), many["3-0"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards_module, "default_tails", lambda: {mode: {}})  # tails of the other modes are not read
        write_shards(many, folder, 3, cluster)
    return folder


def test_a_campaign_is_run(cluster: ClusterWork, starter: Collection, tmp_path: Path) -> None:
    systems = ["dp", "emd", "roslin"]
    run_campaign(starter, truth_path(), systems, tmp_path / "one", k=10)
    run_campaign(starter, truth_path(), systems, tmp_path / "other", k=10, work=cluster)
    for name in ("campaign.json", *(f"runs/{system}.run" for system in systems)):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


class Killing:
    """Hears of progress, and kills a worker when the first pairs are there."""

    def __init__(self, work: ClusterWork, folder: Path):
        self.work, self.folder, self.killed = work, folder, 0

    def __call__(self, _: float, __: str) -> None:
        if not self.killed and any(self.folder.rglob("pairs-*")):
            self.killed = next(iter(self.work.processes()))
            os.kill(self.killed, signal.SIGKILL)


@pytest.mark.parametrize("exact", [True, False])
def test_concordances_are_found_although_a_worker_dies(
    cluster: ClusterWork, many: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exact: bool
) -> None:
    wanted = Certainty(0.01)
    with Work(2) as threads:
        one = find_concordances(many, wanted, threads, tmp_path / "one", exact=exact)
    killing = Killing(cluster, tmp_path / "other")
    monkeypatch.setattr(cluster, "progress", killing)
    found = find_concordances(many, wanted, cluster, tmp_path / "other", exact=exact)
    assert killing.killed
    until(lambda: killing.killed not in cluster.processes())
    assert len(found.pairs) == len(one.pairs) > 300
    for name in ("first", "second", "distances", "expected", "is_copy"):
        assert getattr(found.pairs, name).tobytes() == getattr(one.pairs, name).tobytes()
    assert repr(found.groups) == repr(one.groups)
