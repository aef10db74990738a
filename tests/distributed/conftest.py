"""Clusters of processes of this computer, each started once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from roslin.distributed import Cluster, ClusterWork


@pytest.fixture(scope="module", params=[2, 4])
def cluster(request: pytest.FixtureRequest) -> Iterator[ClusterWork]:
    """A cluster at work, with so many processes."""
    with ClusterWork(Cluster.parse(f"local:{request.param}")) as work:
        yield work
