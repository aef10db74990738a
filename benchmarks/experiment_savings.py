"""How many judgements each design needs for the same truth: rankings, random pairs, adaptive pairs and triplets.

    .venv/bin/python benchmarks/experiment_savings.py                          about half an hour
    .venv/bin/python benchmarks/experiment_savings.py --studies 2 --plot savings.svg

Two kinds of queries, with 20 or 50 candidates:

    grouped   the first 15 resemble the query, in groups of 1, 2, 1, 1 and 10 (as Table 1 of paper 002), the others do
              not; nobody prefers anything inside a group. From one to the next a candidate keeps half of its chance
    even      the first half resembles the query; every candidate differs from the next, and keeps 0.7 of its chance

Experts are Plackett-Luce: each has an order of their own, drawn once, and all answers of an expert follow it. So every
design asks the same people. A judgement is one thing that an expert must decide:

    ranking           one for each candidate (does it resemble?), and one for each comparison of binary insertion
    random pairs      one for each pair; pairs are drawn at random
    adaptive pairs    the same; the pairs that are expected to tell most (`experiment.comparisons`)
    adaptive triplets one for each best of three, chosen in the same way

Those who compare make 40 comparisons each, as many as a study asks for unless it says otherwise. After each expert the
truth layer reads what there is: Plackett-Luce for rankings (what is left out is last), Bradley-Terry for votes. Its
order is compared with the true levels by Kendall's tau-b, over all candidates and over those that resemble the query,
as a share of the largest that shared levels allow. Shown: the judgements after which the mean over all simulated
studies stays at or above a share.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from roslin.display.table import Table
from roslin.experiment.comparisons import as_votes, next_comparison
from roslin.experiment.events import ExpertChoice
from roslin.truth.choice_models import bradley_terry, plackett_luce
from roslin.truth.preferences import count_votes
from roslin.truth.rankings import QueryRankings
from roslin.types import Floats

GROUPS = (1, 2, 1, 1, 10)
KEPT = {"grouped": 0.5, "even": 0.7}  # of its chance, from one level to the next
EACH = 40  # comparisons of an expert
TARGETS = (0.8, 0.9, 0.95)


class People:
    """Experts who come one after the other, the same ones for every design."""

    def __init__(self, shape: str, candidates: int, study: int):
        sizes = [*GROUPS, candidates - sum(GROUPS)] if shape == "grouped" else [1] * candidates
        self.levels = np.repeat(np.arange(len(sizes)), sizes).astype(float)
        self.similar = self.levels < (len(GROUPS) if shape == "grouped" else candidates / 2)
        self.study, self.kept = study, KEPT[shape]
        self.names = tuple(f"d{k:02}" for k in range(candidates))

    def utility(self, expert: int) -> Floats:
        """How similar each candidate seems to an expert."""
        chance = np.random.default_rng((self.study, expert))
        utility: Floats = self.levels * np.log(self.kept) + chance.gumbel(size=len(self.levels))
        return utility

    def agreement(self, strengths: dict[str, float]) -> tuple[float, float]:
        """Tau-b of strengths with the true levels, as shares of the largest: of all, and of those that resemble."""
        found = np.array([strengths.get(name, -np.inf) for name in self.names])
        shares = []
        for chosen in (np.ones(len(found), dtype=bool), self.similar):
            best = kendalltau(-np.arange(chosen.sum()), -self.levels[chosen]).statistic
            tau = kendalltau(np.unique(found[chosen], return_inverse=True)[1], -self.levels[chosen]).statistic
            shares.append(0.0 if np.isnan(tau) else float(tau / best))
        return shares[0], shares[1]


Step = tuple[int, float, float]  # judgements so far, agreement over all, over those that resemble


def ranking(people: People, most: int) -> Iterator[Step]:
    """Two stages: sort all, then insert what resembles into the list."""
    rows, judgements, expert = [], 0, 0
    similar = int(people.similar.sum())
    while judgements < most:
        utility = people.utility(expert)
        chance = np.random.default_rng((people.study, expert, 1))
        order = np.argsort(-utility)
        taken = set(order[: max(1, int(chance.binomial(similar, 0.95)))].tolist())
        judgements += len(utility)
        listed: list[int] = []
        for candidate in chance.permutation(len(utility)).tolist():
            if candidate not in taken:
                continue
            low, high = 0, len(listed)
            while low < high:
                middle, judgements = (low + high) // 2, judgements + 1
                low, high = (low, middle) if utility[candidate] > utility[listed[middle]] else (middle + 1, high)
            listed.insert(low, candidate)
        ranks = np.full(len(utility), np.nan)
        ranks[listed] = np.arange(1, len(listed) + 1)
        rows.append(ranks)
        expert += 1
        said = QueryRankings("q", tuple(map(str, range(expert))), people.names, np.array(rows))
        fitted = plackett_luce(said, "last", resamples=1, quick=True)
        yield judgements, *people.agreement(dict(zip(fitted.documents, fitted.values.tolist(), strict=True)))


def comparing(size: int, is_adaptive: bool) -> Callable[[People, int], Iterator[Step]]:
    """The best of two or three, one after the other."""

    def design(people: People, most: int) -> Iterator[Step]:
        everybody: list[ExpertChoice] = []
        votes = []
        expert = 0
        while len(everybody) < most:
            utility = dict(zip(people.names, people.utility(expert).tolist(), strict=True))
            chance = np.random.default_rng((people.study, expert, 2))
            own: list[ExpertChoice] = []
            asked: set[frozenset[str]] = set()
            while len(own) < EACH:
                if is_adaptive:
                    shown = next_comparison(people.names, everybody, own, size, people.study, expert)
                else:
                    shown = tuple(chance.choice(people.names, size, replace=False).tolist())
                    if frozenset(shown) in asked:
                        continue
                if not shown:
                    break
                asked.add(frozenset(shown))
                own.append(ExpertChoice(shown, max(shown, key=utility.__getitem__)))
                everybody.append(own[-1])
            votes += as_votes("q", str(expert), own)
            expert += 1
            counted = count_votes(votes)["q"]
            fitted = bradley_terry(counted)
            yield len(everybody), *people.agreement(dict(zip(fitted.documents, fitted.values.tolist(), strict=True)))

    return design


DESIGNS = {
    "ranking": ranking,
    "random pairs": comparing(2, False),
    "adaptive pairs": comparing(2, True),
    "adaptive triplets": comparing(3, True),
}


def mean_curve(shape: str, candidates: int, design: str, studies: int, most: int) -> tuple[Floats, Floats]:
    """Judgements, and the mean agreement after them (points, 2)."""
    at = np.arange(0, most + 1, 20, dtype=float)
    curves = []
    for study in range(studies):
        steps = np.array([(0.0, 0.0, 0.0), *DESIGNS[design](People(shape, candidates, study), most)])
        places = np.searchsorted(steps[:, 0], at, side="right") - 1
        curves.append(steps[places, 1:])
    return at, np.mean(curves, axis=0)


def needed(at: Floats, values: Floats, target: float) -> str:
    """The judgements after which the curve stays at or above a target."""
    below = np.flatnonzero(values < target)
    first = 0 if not len(below) else below[-1] + 1
    return f"{at[first]:g}" if first < len(at) else f"over {at[-1]:g}"


def main() -> None:
    """Print the tables, and draw the curves where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=4, help="simulated for each design")
    parser.add_argument("--most", type=int, default=1600, help="judgements of a study")
    parser.add_argument("--plot", type=Path, help="an SVG of agreement against judgements, for 50 even candidates")
    options = parser.parse_args()
    rows, curves = [], {}
    for shape, candidates, design in product(KEPT, (20, 50), DESIGNS):
        at, means = mean_curve(shape, candidates, design, options.studies, options.most)
        for which, name in enumerate(("all", "similar")):
            cells = {f"{target:g}": needed(at, means[:, which], target) for target in TARGETS}
            last = round(float(means[-1, which]), 3)
            about = {"shape": shape, "candidates": candidates, "design": design, "of": name}
            rows.append({**about, **cells, "at the end": last})
        print(Table((*rows[0],), tuple(rows[-2:])), file=sys.stderr, flush=True)
        if shape == "even" and candidates == 50:
            curves[design] = (at / options.most, means[:, 0])
    print(Table((*rows[0],), tuple(rows)))
    if options.plot is not None:
        from roslin.report.plots import curve_plot
        from roslin.report.svg import plot_style

        x = f"judgements, in parts of {options.most:,}"
        drawn = curve_plot(curves, x, "agreement with the true order", "50 candidates, even")
        # In a file of its own a plot brings its style.
        options.plot.write_text(drawn.replace(">", f"><style>{plot_style()}</style>", 1), encoding="utf-8")


if __name__ == "__main__":
    main()
