"""Ids say nothing, and decide nothing: the starter collection and its campaign under other names."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection
from roslin.campaign.asking import length_of_list
from roslin.campaign.campaign import Campaign, run_campaign
from roslin.evaluate import evaluate
from roslin.run import Ranking, Run
from roslin.starter import truth_path, tunes_path
from roslin.truth import Truth, read_truth

MEASURES = ("ADR", "AP", "R@10", "RR")
SYSTEMS = ["harmcore", "dp"]  # with many ties, and fast
TRUTH = read_truth(truth_path())


def renaming(ids: Sequence[str], number: int) -> dict[str, str]:
    """New ids for all documents; the same number gives the same ones."""
    places = list(range(len(ids)))
    random.Random(number).shuffle(places)
    return {id: f"d{place:04}" for id, place in zip(ids, places, strict=True)}


def renamed_truth(truth: Truth, new: Mapping[str, str]) -> Truth:
    """The truth of renamed documents and queries."""
    return Truth({new[query]: [[new[id] for id in group] for group in truth[query]] for query in truth})


def renamed_values(
    asked: Campaign, truth: Truth, ids: Sequence[str], number: int, k: int, ties: str
) -> np.ndarray[tuple[int, int, int], np.dtype[np.float64]]:
    """(renamings, matchers, measures) Means of lists that hold the whole collection, cut to k under new ids."""
    found = []
    for each in range(number):
        new = renaming(ids, each)
        runs = [_renamed(system.run, new, k) for system in asked.systems]
        found.append(evaluate(renamed_truth(truth, new), runs, MEASURES, ties=ties).means)
    return np.stack(found)


def _renamed(run: Run, new: Mapping[str, str], k: int) -> Run:
    lists = []
    for query, ranking in run.rankings.items():
        pairs = sorted(zip(ranking.values or (), (new[id] for id in ranking.ids), strict=True))
        length, _ = length_of_list([distance for distance, _ in pairs], k)
        kept = pairs[:length]
        lists.append(Ranking(new[query], tuple(id for _, id in kept), tuple(distance for distance, _ in kept)))
    return Run(lists, name=run.name, kind=run.kind)


def built_values(
    starter: Collection, truth: Truth, names: Sequence[str], number: int, k: int, folder: Path
) -> np.ndarray[tuple[int, int, int], np.dtype[np.float64]] | None:
    """(renamings, matchers, measures) Means of campaigns on collections that were built under new ids."""
    found = []
    for each in range(number):
        new = renaming(starter.ids(), each)
        melodies = [melody.with_metadata(id=new[melody.id or ""]) for melody in starter]
        with Collection.build(melodies, folder / f"{each}.roslin") as other:
            campaign = run_campaign(other, renamed_truth(truth, new), names, folder / str(each), k=k, measures=MEASURES)
        found.append(campaign.evaluation.means)
    return np.stack(found) if found else None


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


@pytest.mark.long
def test_the_headline_does_not_depend_on_ids(starter: Collection, tmp_path: Path) -> None:
    """Twenty renamings of two matchers."""
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
