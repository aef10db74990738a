"""Pools of runs, and their way into a study."""

from __future__ import annotations

from pathlib import Path

import pytest

from roslin.errors import ArgumentError, ExperimentError
from roslin.experiment.study_toml import read_study
from roslin.run import Run
from roslin.run.fusion import pool_runs

RUNS = [Run({"q": ["b", "a", "b", "c"], "r": ["x"]}), Run({"q": ["d", "a", "e"]})]


def test_by_hand() -> None:
    pool = pool_runs(RUNS, depth=3)
    assert pool.ids == {"q": ("a", "b", "c", "d", "e"), "r": ("x",)}
    assert pool.found["q"]["a"] == (2, 2)
    assert pool.found["q"]["c"] == (1, 3)  # a copy before it takes no place
    assert pool.to_table().title == "Pool of depth 3: 2 queries, 6 documents to judge"
    left = pool_runs(RUNS, depth=1, judged={"q": {"d", "z"}})
    assert (left.ids, left.judged) == ({"q": ("b",), "r": ("x",)}, 1)


def test_what_is_refused() -> None:
    with pytest.raises(ArgumentError, match="a pool needs at least one run"):
        pool_runs([])
    with pytest.raises(ArgumentError, match="the depth of a pool must be 1 or more; got 0"):
        pool_runs(RUNS, depth=0)


STUDY = """[study]
name = "pooled"
title = "Pooled"
contact = "somebody@example.org"

[material]
collection = "mine.roslin"

[[queries]]
id = "q"
candidates = "pool.csv"
"""


def test_a_study_takes_a_pool(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    table = pool_runs(RUNS, depth=2).to_table().only("query", "document")
    (tmp_path / "pool.csv").write_text(table.to_csv())
    assert read_study(path).queries[0].candidates == ("a", "b", "d")
    (tmp_path / "pool.csv").write_text("query,document\nother,a\n")
    with pytest.raises(ExperimentError, match="too few to put in order"):
        read_study(path)
