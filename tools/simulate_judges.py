"""Simulated experts whose truth is known: do intervals cover other judges, and do groups survive careless ones?

    .venv/bin/python tools/simulate_judges.py --studies 150
    .venv/bin/python tools/simulate_judges.py --careless

Intervals. A study has 11 queries of 10 candidates in three true groups, eight experts, and a system that ranks as one
more expert would. In `alone` all experts follow the true groups and err independently. In `schools` a coin decides for
every expert whether they follow the true groups or, in all queries, other ones: then one panel differs from the next in
all queries together. What is to be covered is the mean ADR over very many queries and panels of eight, under All-2; it
is taken from 2,000 studies. For 95 % intervals over queries alone, and for those of `roslin.evaluate.judges`, the share
of studies is printed that cover it, and the mean width.

Careless experts (`--careless`). A study has 40 queries and 30 experts. A query has 22 candidates: the query itself,
groups of 2, 3 and 4, and 12 that resemble nothing. Attentive experts rank the groups (Plackett-Luce, noise 0.3) and put
the query first four times of five; they leave out candidates of groups two to four with chances 0.1, 0.25 and 0.5, and
rank an unrelated one with chance 0.05. Careless experts rank a random number of random candidates. For each way to
group and each share of careless experts: the share of pairs of different groups (the unrelated are the last) that are
told apart in the right order; the share of pairs of one group that are told apart all the same; and how many unrelated
candidates of a query are in a group, thus relevant.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import replace

import numpy as np

from roslin.evaluate import EmptyTruthWarning, Evaluation, evaluate
from roslin.evaluate.exchanges import mean_intervals
from roslin.evaluate.judges import with_judges
from roslin.truth import METHODS, Method, Rankings, Truth, grouped_truth, simulate_rankings
from roslin.truth.rankings import QueryRankings

QUERIES, EXPERTS, PANELS = 11, 8, 60
SIZES = (2, 3, 5)
METHOD = Method()
LEVELS = np.repeat(np.arange(4), (1, 2, 3, 4))
STRENGTHS = np.log(0.3) * np.where(LEVELS > 0, LEVELS, -1)
LEFT_OUT = np.array([0, 0.1, 0.25, 0.5])[LEVELS]
UNRELATED, RANKED_ALL_THE_SAME = 12, 0.05
WAYS = (
    ("typke2005", METHODS["typke2005"]),
    ("  --min-votes 5", Method(min_votes=5)),
    ("  --min-votes 0.25", Method(min_votes=0.25)),
    ("  --unranked last", Method(unranked="last")),
    ("  --attention", Method(attention=True)),
    ("roslin", METHODS["roslin"]),
    ("  --min-votes 1", replace(METHODS["roslin"], min_votes=1)),
    ("  --min-votes 5", replace(METHODS["roslin"], min_votes=5)),
    ("  --no-attention", replace(METHODS["roslin"], attention=False)),
    ("  --unranked drop", replace(METHODS["roslin"], unranked="drop")),
)
SHARES = (0, 0.1, 0.2, 0.3, 0.4)


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


def with_careless(share: float, queries: int, experts: int, seed: int) -> Rankings:
    """The rankings of one study; candidate 0 is the query, those from `len(LEVELS)` on resemble nothing."""
    chance = np.random.default_rng(seed)
    size, names = len(LEVELS) + UNRELATED, tuple(f"expert-{n:02}" for n in range(experts))
    tables = []
    for query in (f"q{n:02}" for n in range(queries)):
        ranks = np.full((experts, size), np.nan)
        for n in range(experts):
            if n < round(share * experts):
                order = chance.permutation(size)[: chance.integers(1, size + 1)]
            else:
                order = np.argsort(STRENGTHS + chance.gumbel(size=len(LEVELS)))[::-1]
                order = order[chance.random(len(LEVELS)) >= LEFT_OUT[order]]
                unrelated = len(LEVELS) + np.flatnonzero(chance.random(UNRELATED) < RANKED_ALL_THE_SAME)
                order = np.concatenate([order, unrelated])
            ranks[n, order] = np.arange(1, len(order) + 1)
        tables.append(QueryRankings(query, names, (query, *(f"{query}-{k:02}" for k in range(1, size))), ranks))
    return Rankings(tables)


def found(said: Rankings, truth: Truth) -> tuple[float, float, float]:
    """Pairs of different groups that are told apart rightly, pairs of one group that are told apart, the unrelated."""
    levels = np.append(LEVELS, [LEVELS[-1] + 1] * UNRELATED)
    earlier = levels[:, None] < levels
    alike = (levels[:, None] == levels) & (levels <= LEVELS[-1]) & ~np.eye(len(levels), dtype=bool)
    right, split, among = [], [], []
    for query, groups in truth.items():
        place = {id: number for number, group in enumerate(groups) for id in group}
        places = np.array([place.get(id, len(groups)) for id in said[query].documents])
        right.append(np.mean((places[:, None] < places)[earlier]))
        split.append(np.mean((places[:, None] != places)[alike]))
        among.append(np.count_nonzero(places[len(LEVELS) :] < len(groups)))
    return float(np.mean(right)), float(np.mean(split)), float(np.mean(among))


def print_careless(queries: int) -> None:
    """A line for each number of experts and each way; three figures for each share of careless experts."""
    for experts in (30, 12, 6):
        heads = "".join(f"{f'{share:.0%} careless':>20}" for share in SHARES)
        sys.stdout.write(f"{f'{experts} experts':20}{heads}\n")
        studies = [with_careless(share, queries, experts, seed=2005) for share in SHARES]
        for name, method in WAYS:
            cells = (found(said, grouped_truth(said, method)) for said in studies)
            line = "".join(f"{f'{right:.2f} {split:.2f} {among:4.1f}':>20}" for right, split, among in cells)
            sys.stdout.write(f"{name:20}{line}\n")


def main() -> int:
    """Print coverage and width, or what careless experts do to groups."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=150)
    parser.add_argument("--many", type=int, default=2000)
    parser.add_argument("--careless", action="store_true")
    parser.add_argument("--queries", type=int, default=40, help="of a study with careless experts")
    options = parser.parse_args()
    if options.careless:
        print_careless(options.queries)
        return 0
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
