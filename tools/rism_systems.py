"""How well matchers find other sources of the same work among the incipits of RISM.

    roslin collection build ../shared/data/rism/incipits.jsonl.gz rism.roslin
    .venv/bin/python tools/rism_systems.py rism.roslin us p2 "us(divide='both')"
    .venv/bin/python tools/rism_systems.py rism.roslin us --truth ../shared/data/rism/same_work_hard_dev.qrel

Every query of the truth is searched for in the whole collection, and left out of its own result. For each matcher: mean
average precision and recall among the first ten, each with a 95 % interval (bootstrap over queries), what the first
could be if equal distances stood in their worst and best order, and seconds for a query. Equal distances stand in the
order of ids. A query that the collection lacks counts as one that finds nothing, and is named.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from real_data import DATA
from roslin import Collection
from roslin.evaluate import bootstrap_intervals, evaluate, tie_sensitivity
from roslin.truth.qrel import read_truth

TRUTH = DATA / "rism" / "same_work_strict_dev.qrel"
MEASURES = ("AP", "R@10")


def main() -> None:
    """Print a line for each matcher."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection", type=Path)
    parser.add_argument("matchers", nargs="+")
    parser.add_argument("--truth", type=Path, default=TRUTH)
    parser.add_argument("--queries", type=int, help="only every n-th query, so that there are at most so many")
    parser.add_argument("-k", type=int, default=1000, help="how long a list is")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    truth = read_truth(options.truth)
    chosen = list(truth)[:: -(-len(truth) // options.queries) if options.queries else 1]
    groups = {query: [list(group) for group in truth[query]] for query in chosen}
    with Collection(options.collection) as collection:
        asked = [query for query in chosen if query in collection]
        print(f"{len(chosen)} queries, {len(collection)} melodies, lists of {options.k}")
        if len(asked) < len(chosen):
            print(f"not in the collection: {', '.join(sorted(set(chosen) - set(asked)))}")
        print("MAP   interval      ties          R@10  interval      s/query  matcher", flush=True)
        for name in options.matchers:
            began = time.perf_counter()
            runs = [
                collection.search(collection[query], name, options.k, exclude=[query], threads=options.threads)
                for query in asked
            ]
            seconds = (time.perf_counter() - began) / len(asked)
            result = evaluate(groups, {name: runs}, MEASURES)
            intervals = bootstrap_intervals(result.counted)[0]
            ties = tie_sensitivity(result)[0]
            cells = [
                f"{mean:.3f} {low:.3f}-{high:.3f}" for mean, (low, high) in zip(result.means[0], intervals, strict=True)
            ]
            print(f"{cells[0]}   {ties.worst:.3f}-{ties.best:.3f}   {cells[1]}  {seconds:8.3f}  {name}", flush=True)


if __name__ == "__main__":
    main()
