"""The starter campaign under other ids: the headline must stay what it is.

    python tools/rename_starter.py --renamings 1000

Every system is asked once. Then all documents get new ids, drawn from a fixed state, again and again; the lists are
sorted by distance and new id, cut as a campaign cuts them, and evaluated against the renamed truth. Printed is, for
each system, the value of the first measure, how far any measure moves with the ids where ties count as expected (it
must not move at all), and between what the first moves where the order of the ids decides (`--ties given`).

`--built 20` also builds the collection again under so many renamings, and runs whole campaigns on it.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from roslin import Collection
from roslin.campaign.asking import length_of_list
from roslin.campaign.campaign import Campaign, run_campaign
from roslin.evaluate import evaluate
from roslin.matchers.base import matchers
from roslin.run import Ranking, Run
from roslin.starter import truth_path, tunes_path
from roslin.truth import Truth, read_truth

MEASURES = ("ADR", "AP", "R@10", "RR")
SAME = 1e-12  # sums of the same numbers in another order


def main() -> None:
    """Ask, rename, evaluate, print; an error where a value depends on ids."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--renamings", type=int, default=1000)
    parser.add_argument("--built", type=int, default=0)
    parser.add_argument("--matcher", action="append")
    parser.add_argument("-k", type=int, default=100)
    options = parser.parse_args()
    names = options.matcher or matchers()
    truth = read_truth(truth_path())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with Collection.build(tunes_path(), folder / "starter.roslin") as starter:
            asked = run_campaign(starter, truth, names, folder / "whole", k=len(starter))
            values = {
                rule: renamed_values(asked, truth, starter.ids(), options.renamings, options.k, rule)
                for rule in ("expected", "given")
            }
            built = built_values(starter, truth, names, options.built, options.k, folder)
    spread = np.ptp(values["expected"], axis=0).max(axis=1)
    print(f"{options.renamings} renamings, lists of {options.k}; {MEASURES[0]}")
    print(f"{'system':40} {'expected':>9} {'moves by':>9} {'by id, least':>13} {'mean':>7} {'most':>7}")
    for number, system in enumerate(asked.systems):
        given = values["given"][:, number, 0]
        print(
            f"{system.name:40} {values['expected'][0, number, 0]:9.4f} {spread[number]:9.1g} "
            f"{given.min():13.4f} {given.mean():7.4f} {given.max():7.4f}"
        )
    if built is not None:
        moved = float(np.abs(built - values["expected"][0]).max())
        print(f"{options.built} collections built under other ids: largest difference {moved:.1g}")
        spread = np.append(spread, moved)
    if spread.max() > SAME:
        raise SystemExit("a value depends on ids")


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
    """(renamings, systems, measures) Means of lists that hold the whole collection, cut to k under new ids."""
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
    """(renamings, systems, measures) Means of campaigns on collections that were built under new ids."""
    found = []
    for each in range(number):
        new = renaming(starter.ids(), each)
        melodies = [melody.with_metadata(id=new[melody.id or ""]) for melody in starter]
        with Collection.build(melodies, folder / f"{each}.roslin") as other:
            campaign = run_campaign(other, renamed_truth(truth, new), names, folder / str(each), k=k, measures=MEASURES)
        found.append(campaign.evaluation.means)
    return np.stack(found) if found else None


if __name__ == "__main__":
    main()
