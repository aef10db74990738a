"""The weights of the `roslin` matcher, and how it does on composers that they were not fitted to.

    roslin collection build ../shared/data/rism/incipits.jsonl.gz rism.roslin
    .venv/bin/python tools/fit_roslin.py rism.roslin
    .venv/bin/python tools/fit_roslin.py rism.roslin --also dp --also "time(aligner='global', divide='longer')"

The truth: incipits from different sources that the catalogue's data say are the same music. Weights are fitted on the
strict and the hard pairs together. Each query is then scored by weights fitted on other composers, five folds, and
compared with every member and every matcher named with --also: mean average precision, 95 % interval, difference,
p-value of a paired permutation test with Holm's correction.

The truth leaves out copies: of 196 queries whose first result is not in it, 165 had a copy of the same work there. So
everything is counted twice: as it stands, and without melodies that have the intervals of the query and that nobody
judged.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import numpy.typing as npt
from rich.progress import Progress

from real_data import DATA
from roslin import Collection
from roslin.evaluate import bootstrap_intervals
from roslin.evaluate.fitting import (
    QueryScores,
    average_precisions,
    cross_validated,
    fit_weights,
    left_out,
    member_scores,
)
from roslin.evaluate.significance import effect_size, holm, permutation_test
from roslin.matchers.roslin import MEMBERS
from roslin.represent.line import melodic_line
from roslin.truth import Truth
from roslin.truth.qrel import read_truth

Floats = npt.NDArray[np.float64]
SETS = ("strict", "hard")


def main() -> int:
    """Print weights and comparisons."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--also", action="append", default=[], metavar="MATCHER")
    parser.add_argument("--data", type=Path, default=DATA / "rism")
    options = parser.parse_args()
    truths = {name: read_truth(options.data / f"same_work_{name}_dev.qrel") for name in SETS}
    matchers = [*MEMBERS, *options.also]
    with Collection(options.collection) as collection:
        asked = {id for truth in truths.values() for id in truth if id in collection}
        composer = {id: collection[id].composer or id for id in asked}
        copies = _copies(collection, truths)
        scores = {name: _scores(collection, matchers, truth, name) for name, truth in truths.items()}
    _report("as it stands", matchers, scores, composer)
    fewer = {name: left_out(each, copies) for name, each in scores.items()}
    _report("without copies that nobody judged", matchers, fewer, composer)
    return 0


def _copies(collection: Collection, truths: dict[str, Truth]) -> dict[str, list[str]]:
    """For each query, what has its intervals and is judged by neither truth."""
    alike = defaultdict(list)
    intervals = {}
    for id in collection.ids():
        intervals[id] = np.diff(melodic_line(collection[id])["pitch_midi"].astype(np.int64)).tobytes()
        alike[intervals[id]].append(id)
    judged: dict[str, set[str]] = defaultdict(set)
    for truth in truths.values():
        for query in truth:
            judged[query].update(id for group in truth[query] for id in group)
    return {q: [id for id in alike[intervals[q]] if id not in judged[q]] for q in judged if q in intervals}


def _scores(collection: Collection, matchers: list[str], truth: Truth, name: str) -> list[QueryScores]:
    with Progress(transient=True) as bar:
        task = bar.add_task(name, total=1.0)
        return member_scores(collection, matchers, truth, lambda share, _: bar.update(task, completed=share))


def _only(scores: list[QueryScores], members: int) -> list[QueryScores]:
    return [QueryScores(each.query, each.documents, each.scores[:members], each.is_relevant) for each in scores]


def _report(title: str, matchers: list[str], scores: dict[str, list[QueryScores]], composer: dict[str, str]) -> None:
    members = len(MEMBERS)
    both = [each for name in SETS for each in _only(scores[name], members)]
    print(
        f"\n{title}\nweights fitted on everything: "
        + ", ".join(f"{member} {weight:g}" for member, weight in zip(MEMBERS, fit_weights(both), strict=True))
    )
    fitted = cross_validated(both, composer)
    start = 0
    for name in SETS:
        ours = fitted[start : start + len(scores[name])]
        start += len(scores[name])
        low, high = bootstrap_intervals(ours)
        print(f"\n{name}, {len(ours)} queries of {len({composer[each.query] for each in scores[name]})} composers")
        print(f"  MAP {ours.mean():.3f} ({low:.3f}-{high:.3f})  roslin, on composers left out")
        single = [
            average_precisions(scores[name], np.eye(len(matchers))[place].tolist()) for place in range(len(matchers))
        ]
        p_values = holm([permutation_test(ours, other) for other in single])
        for matcher, other, p in sorted(zip(matchers, single, p_values, strict=True), key=lambda row: -row[1].mean()):
            low, high = bootstrap_intervals(other)
            print(
                f"  MAP {other.mean():.3f} ({low:.3f}-{high:.3f})  {ours.mean() - other.mean():+.3f}  p = {p:.4f}"
                f"  d = {effect_size(ours, other):.2f}  {matcher}"
            )


if __name__ == "__main__":
    sys.exit(main())
