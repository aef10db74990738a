"""Do intervals cover other queries and other judges? Simulated studies whose expected score is known.

    .venv/bin/python tools/simulate_judges.py --studies 150

A study has 11 queries of 10 candidates in three true groups, eight experts, and a system that ranks as one more expert
would. In `alone` all experts follow the true groups and err independently. In `schools` a coin decides for every expert
whether they follow the true groups or, in all queries, other ones: then one panel differs from the next in all queries
together. What is to be covered is the mean ADR over very many queries and panels of eight, under All-2; it is taken
from 2,000 studies. For 95 % intervals over queries alone, and for those of `roslin.evaluate.judges`, the share of
studies is printed that cover it, and the mean width.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np

from roslin.evaluate import EmptyTruthWarning, Evaluation, evaluate
from roslin.evaluate.intervals import mean_intervals
from roslin.evaluate.judges import with_judges
from roslin.truth import Method, Rankings, Truth, simulate_rankings
from roslin.truth.grouping import grouped_truth
from roslin.truth.rankings import QueryRankings

QUERIES, EXPERTS, PANELS = 11, 8, 60
SIZES = (2, 3, 5)
METHOD = Method()


def study(seed: int, *, schools: bool) -> tuple[Rankings, Evaluation]:
    """The rankings of one study, and its evaluation under the truth that they give."""
    chance = np.random.default_rng(seed)
    truths: tuple[dict[str, list[list[str]]], dict[str, list[list[str]]]] = {}, {}
    for number in range(QUERIES):
        for groups in truths:
            ids = [f"d{k}" for k in (range(sum(SIZES)) if groups is truths[0] else chance.permutation(sum(SIZES)))]
            groups[f"q{number}"] = [ids[sum(SIZES[:k]) : sum(SIZES[: k + 1])] for k in range(len(SIZES))]
    first, second = (
        simulate_rankings(experts=EXPERTS + 1, model="plackett-luce", noise=0.3, truth=Truth(groups), seed=seed)
        for groups in truths
    )
    of_first = chance.random(EXPERTS) < 0.5 if schools else np.ones(EXPERTS, dtype=bool)
    panel, run = [], {}
    for query in first:
        one, other = first[query], second[query]
        columns = [other.documents.index(id) for id in one.documents]
        ranks = np.where(of_first[:, None], one.ranks[:EXPERTS], other.ranks[:EXPERTS][:, columns])
        panel.append(QueryRankings(query, one.experts[:EXPERTS], one.documents, ranks))
        run[query] = [one.documents[k] for k in np.argsort(one.ranks[EXPERTS])]
    said = Rankings(panel)
    return said, evaluate(grouped_truth(said, METHOD), {"system": run}, "ADR")


def main() -> int:
    """Print coverage and width."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=150)
    parser.add_argument("--many", type=int, default=2000)
    options = parser.parse_args()
    warnings.simplefilter("ignore", EmptyTruthWarning)
    sys.stdout.write("          expected  over queries     width  and judges     width\n")
    for name, schools in (("alone", False), ("schools", True)):
        expected = np.mean([study(10_000 + seed, schools=schools)[1].means.item() for seed in range(options.many)])
        covered, widths = np.zeros(2), np.zeros(2)
        for seed in range(options.studies):
            said, plain = study(seed, schools=schools)
            narrow = mean_intervals(plain.counted)
            judges = with_judges(plain, said, METHOD, PANELS, seed).judges
            assert judges is not None
            wide = judges.widened(plain.means, narrow, 0.95, np.ones(1))
            for k, interval in enumerate((narrow[0, 0], wide[0, 0])):
                covered[k] += interval[0] <= expected <= interval[1]
                widths[k] += interval[1] - interval[0]
        shares, means = covered / options.studies, widths / options.studies
        sys.stdout.write(
            f"{name:8} {expected:9.3f} {shares[0]:13.3f} {means[0]:9.3f} {shares[1]:11.3f} {means[1]:9.3f}\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
