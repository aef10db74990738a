"""Clusters of processes of this computer, each started once; and melodies for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from roslin import Collection, Melody
from roslin.distributed import Cluster, ClusterWork
from roslin.distributed import cluster as cluster_module


@pytest.fixture(scope="session", autouse=True)
def patient() -> Iterator[None]:
    """A scheduler on a busy computer may take some time to answer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster_module, "_CONNECT_S", 20.0)
        yield


@pytest.fixture(scope="module", params=[2, 4])
def cluster(request: pytest.FixtureRequest) -> Iterator[ClusterWork]:
    """A cluster at work, with so many processes."""
    with ClusterWork(Cluster.parse(f"local:{request.param}")) as work:
        yield work


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """More than a sample has, and than a piece of a join has: random walks, each also with one note changed."""
    random = np.random.default_rng(17)
    melodies = []
    for number in range(520):
        pitches = 62 + np.cumsum(random.integers(-4, 5, 14)).clip(-20, 40)
        durations = random.choice([0.5, 1.0, 2.0], 14)
        onsets = np.concatenate([[0.0], np.cumsum(durations)[:-1]])
        for variant in range(2):
            pitches[7] += variant
            melodies.append(Melody.from_notes(onsets, durations, pitches, id=f"{number}-{variant}"))
    with Collection.build(melodies, tmp_path_factory.mktemp("cluster") / "many.roslin") as built:
        yield built
