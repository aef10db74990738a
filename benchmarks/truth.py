"""The 11-query study with 1,000 shuffles a query, beside a loop over scipy.stats.mannwhitneyu, in one run.

    .venv/bin/python benchmarks/truth.py

Both arrange and group the same shuffled rankings of 11 queries with 30 experts and lists of 4 to 24, by the same rule
(All-2), and must find the same numbers of groups. The loop is timed on a few shuffles of every query (`--loop`) and its
time multiplied to 1,000; all times are CPU seconds. Target: at least 100 times as fast, the whole study below 30 s, and
so the study with each of the other tests.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

import numpy as np
from scipy.stats import mannwhitneyu

from roslin.truth import Method, Rankings, simulate_rankings
from roslin.truth.choice_models import count_groups, null_groups
from roslin.truth.ranktests import TESTS
from roslin.types import Floats

TARGET_RATIO = 100.0
TARGET_SECONDS = 30.0
METHOD = Method("all", 2)


def loop_groups(ranks: Floats) -> int:
    """Groups of one list by All-2, one scipy test a pair, no more tests than the rule asks for."""
    samples = [column[~np.isnan(column)] for column in ranks.T]
    ranked = [(float(np.median(s)), float(np.mean(s)), -len(s), k) for k, s in enumerate(samples) if len(s)]
    order = [k for *_, k in sorted(ranked)]
    groups: list[list[int]] = []
    for pivot in order:
        different = groups and all(
            mannwhitneyu(samples[other], samples[pivot], method="asymptotic").pvalue < METHOD.alpha
            for other in groups[-1]
        )
        if different or not groups:
            groups.append([])
        groups[-1].append(pivot)
    return len(groups)


def loop(rankings: Rankings, shuffles: int) -> tuple[float, bool]:
    """CPU seconds of the loop for so many shuffles of every query, and whether its counts are Roslin's."""
    chance = np.random.default_rng(1)
    seconds, same = 0.0, True
    for each in rankings.values():
        shuffled = chance.permuted(np.broadcast_to(each.ranks, (shuffles, *each.ranks.shape)), axis=-1)
        began = time.process_time()
        counts = [loop_groups(ranks) for ranks in shuffled]
        seconds += time.process_time() - began
        same &= counts == count_groups(shuffled, METHOD).tolist()
    return seconds, same


def study(rankings: Rankings, method: Method, shuffles: int) -> float:
    """CPU seconds of Roslin for so many shuffles of every query, without what is done once (imports, kernels)."""
    null_groups(rankings["q01"], method, 10)
    began = time.process_time()
    for each in rankings.values():
        null_groups(each, method, shuffles)
    return time.process_time() - began


def main() -> int:
    """Print both times; exit code 1 when a target is missed or the counts differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shuffles", type=int, default=1000)
    parser.add_argument("--loop", type=int, default=5, help="shuffles a query that the loop is timed on")
    options = parser.parse_args()
    rankings = simulate_rankings([4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24], 30, noise=0.75, dropout=0.3)
    ours = study(rankings, METHOD, options.shuffles)
    others = {
        test: study(rankings, replace(METHOD, test=test), options.shuffles) for test in TESTS if test != METHOD.test
    }
    seconds, same = loop(rankings, options.loop)
    theirs = seconds * options.shuffles / options.loop
    sys.stdout.write(f"11 queries, 30 experts, {options.shuffles} shuffles a query, All-2\n")
    sys.stdout.write(f"roslin             {ours:9.2f} s\n")
    sys.stdout.write(
        f"loop over scipy    {theirs:9.2f} s (timed on {options.loop} shuffles a query: {seconds:.2f} s)\n"
    )
    sys.stdout.write(f"ratio              {theirs / ours:9.1f} (target {TARGET_RATIO:g})\n")
    sys.stdout.write(f"same groups        {'yes' if same else 'NO'}\n")
    for test, needed in others.items():
        sys.stdout.write(f"roslin, {test:<11}{needed:9.2f} s\n")
    return int(not same or theirs / ours < TARGET_RATIO or max(ours, *others.values()) > TARGET_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
