"""How well `emd` and `twv` find other sources of the same work among the incipits of RISM, by parameter.

The queries of the strict development list are shuffled once. The first half is for choosing parameters, the second for
reporting: nothing may be chosen by it. Every row is the mean over the first N queries of a half.

    python tools/tune_twv.py --half tune --queries 40 twv_covered "twv_covered(radius=0.7)" ...

MAP is the mean average precision over the whole ranked list, R@10 the share of the relevant ones among the first ten.
A document that ties with others gets the mean of their ranks' best and worst: no order of ids helps anyone.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import defaultdict

import numpy as np
import numpy.typing as npt

from real_data import DATA, INCIPITS
from roslin import Melody, matcher
from roslin.notation import records
from roslin.represent.packed import Packed, pack

TRUTH = DATA / "rism" / "same_work_strict_dev.qrel"


def truth() -> dict[str, set[str]]:
    """Query to relevant documents."""
    relevant = defaultdict(set)
    for line in TRUTH.read_text("utf-8").splitlines():
        query, _, document, group = line.split()
        if group != "0":
            relevant[query].add(document)
    return dict(relevant)


def halves(queries: list[str]) -> dict[str, list[str]]:
    """The queries in two halves, in a fixed random order."""
    order = sorted(queries)
    random.Random(4).shuffle(order)
    middle = len(order) // 2
    return {"tune": order[:middle], "report": order[middle:]}


def precision_and_recall(
    distances: npt.NDArray[np.float64], own: int, relevant: npt.NDArray[np.int64]
) -> tuple[float, float]:
    """(average precision, recall at 10), with mean ranks for ties; the query itself is left out."""
    others = np.delete(distances, own)
    wanted = distances[relevant]
    ordered = np.sort(others)
    ranks = (np.searchsorted(ordered, wanted, "left") + np.searchsorted(ordered, wanted, "right") + 1) / 2
    ranks.sort()
    return float(np.mean(np.arange(1, len(ranks) + 1) / np.maximum(ranks, np.arange(1, len(ranks) + 1)))), float(
        np.mean(ranks <= 10)
    )


def main() -> None:
    """Print a line for each matcher."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("matchers", nargs="+")
    parser.add_argument("--half", choices=["tune", "report"], required=True)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument(
        "--documents", type=int, help="only so many documents beside the relevant ones, for a quick look"
    )
    options = parser.parse_args()
    melodies: dict[str, Melody] = {}
    for record in records(INCIPITS, strict=False):
        if record.melody is not None and record.melody.id is not None and (~record.melody.notes["is_grace"]).any():
            melodies.setdefault(record.melody.id, record.melody)
    relevant = {query: found & melodies.keys() for query, found in truth().items() if query in melodies}
    asked = halves([query for query, found in relevant.items() if found])[options.half][: options.queries]
    ids = list(melodies)
    if options.documents:
        needed = set(asked).union(*(relevant[query] for query in asked))
        ids = sorted(needed | set(random.Random(5).sample(ids, options.documents)))
    number = {id: k for k, id in enumerate(ids)}
    packed: Packed = pack(melodies[id] for id in ids)
    print(f"{options.half} half, {len(asked)} queries, {len(ids)} documents", flush=True)
    print("   MAP   R@10  s/query  matcher", flush=True)
    for name in options.matchers:
        chosen = matcher(name)
        began = time.perf_counter()
        scores = []
        for query in asked:
            wanted = np.array([number[id] for id in sorted(relevant[query])])
            scores.append(precision_and_recall(chosen.distances(melodies[query], packed), number[query], wanted))
        mean_precision, recall = np.mean(scores, axis=0)
        spent = (time.perf_counter() - began) / len(asked)
        print(f" {mean_precision:.3f}  {recall:.3f}  {spent:7.2f}  {chosen!r}", flush=True)


if __name__ == "__main__":
    main()
