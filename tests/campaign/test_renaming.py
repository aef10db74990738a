"""Ids say nothing, and decide nothing: the starter collection and its campaign under other names."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection
from roslin.campaign.campaign import run_campaign
from roslin.starter import truth_path, tunes_path
from roslin.truth import read_truth

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "rename_starter.py"))
MEASURES, built_values, renamed_values = TOOL["MEASURES"], TOOL["built_values"], TOOL["renamed_values"]
SYSTEMS = ["harmcore", "dp"]  # with many ties, and fast
TRUTH = read_truth(truth_path())


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection.build(tunes_path(), tmp_path_factory.mktemp("renaming") / "starter.roslin") as collection:
        yield collection


def test_the_order_of_ids_is_not_that_of_the_truth() -> None:
    """Of two documents in different groups, the nearer one has the smaller id in about half of all cases."""
    agree = [
        first < second
        for groups in TRUTH.values()
        for place, group in enumerate(groups)
        for later in groups[place + 1 :]
        for first in group
        for second in later
    ]
    assert len(agree) == 113
    assert 0.4 < np.mean(agree) < 0.6


def test_the_headline_does_not_depend_on_ids(starter: Collection, tmp_path: Path) -> None:
    """Twenty renamings; tools/rename_starter.py does a thousand, with all systems."""
    asked = run_campaign(starter, TRUTH, SYSTEMS, tmp_path / "whole", k=len(starter))
    expected = renamed_values(asked, TRUTH, starter.ids(), 20, 30, "expected")
    assert expected.shape == (20, 2, 4)
    assert np.ptp(expected, axis=0).max() < 1e-12
    given = renamed_values(asked, TRUTH, starter.ids(), 20, 30, "given")
    assert np.ptp(given[:, 0, 0]) > 0.01  # what ids did where they decided
    built = built_values(starter, TRUTH, SYSTEMS, 2, 30, tmp_path)
    assert built is not None
    assert np.abs(built - expected[0]).max() < 1e-12
    plain = run_campaign(starter, TRUTH, SYSTEMS, tmp_path / "plain", k=30, measures=MEASURES)
    assert np.abs(plain.evaluation.means - expected[0]).max() < 1e-12
