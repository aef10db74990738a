"""How well matchers find other sources of the same work among the incipits of RISM.

    roslin collection build ../shared/data/rism/incipits.jsonl.gz rism.roslin
    .venv/bin/python tools/rism_systems.py rism.roslin campaign us p2 "us(divide='both')"
    .venv/bin/python tools/rism_systems.py rism.roslin campaign

Without names: the matchers of docs/measurements/rism.md. Every query of the strict and the hard list is searched for in
the whole collection, and left out of its own result; equal distances stand in the order of ids. For each matcher and
list: mean average precision and recall among the first ten, each with a 95 % interval (bootstrap over queries), what
the first could be if equal distances stood in their worst and best order, and the median seconds for a query.

It takes hours. Each matcher is a campaign in the folder named second (docs/howto/campaign.md): stopped and started
again, it goes on where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from real_data import DATA
from roslin import Collection, matchers
from roslin.campaign.campaign import System, run_campaign
from roslin.evaluate import bootstrap_intervals, evaluate, tie_sensitivity
from roslin.truth import Truth
from roslin.truth.qrel import read_truth

LISTS = ("strict", "hard")
MEASURES = ("AP", "R@10")
# Other settings, most of which find more than the default here or elsewhere.
OTHERS = (
    "alignment(metric=False, rhythm=0.75, divide='mean')",
    "alignment(metric=False, rhythm=0.75, tempo='histogram', divide='mean')",
    "dp(place='inside')",
    "fm(beat=None)",
    "orio(fusion='mnz')",
    "p2(tempos=(0.5, 1.0, 2.0))",
    "p3(tempos=(0.5, 1.0, 2.0))",
    "shapeh(aligner='global', divide='longer')",
    "time(aligner='global', divide='longer')",
    "twv_covered(score='mean')",
    "us(divide='both')",
)


def main() -> None:
    """Print a line for each matcher and list."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("folder", type=Path, help="where lists are kept as soon as they are complete")
    parser.add_argument("matchers", nargs="*")
    parser.add_argument("--list", choices=LISTS, action="append", help="one list only; all by default")
    parser.add_argument("--data", type=Path, default=DATA / "rism")
    parser.add_argument("-k", type=int, default=1000, help="how long a list is")
    options = parser.parse_args()
    truths = {name: read_truth(options.data / f"same_work_{name}_dev.qrel") for name in options.list or LISTS}
    with Collection(options.collection) as collection:
        sizes = ", ".join(f"{name}: {len(truth)} queries" for name, truth in truths.items())
        print(f"{sizes}; {len(collection)} melodies, lists of {options.k}")
        print("list    MAP   interval      ties          R@10  interval      s/query  matcher", flush=True)
        for name in options.matchers or [*matchers(), *OTHERS]:
            # One campaign for each: all lists of all matchers together would fill the memory.
            campaign = run_campaign(collection, list(truths.values()), [name], options.folder, k=options.k)
            for kind, truth in truths.items():
                print(f"{kind:6}  {_line(truth, campaign.systems[0])}", flush=True)


def _line(truth: Truth, system: System) -> str:
    run = system.run.only(truth)
    result = evaluate(truth, run, MEASURES)
    ties = tie_sensitivity(result)[0]
    (precision, recall), (around_precision, around_recall) = result.means[0], bootstrap_intervals(result.counted)[0]
    seconds = np.median([ranking.seconds or 0.0 for ranking in run.rankings.values()])
    return (
        f"{precision:.3f} {_range(*around_precision)}   {_range(ties.worst, ties.best)}   "
        f"{recall:.3f} {_range(*around_recall)}  {seconds:8.3f}  {system.name}"
    )


def _range(low: float, high: float) -> str:
    return f"{low:.3f}-{high:.3f}"


if __name__ == "__main__":
    main()
