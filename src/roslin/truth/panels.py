"""What truth would other experts have given? As many of them, drawn with replacement from those at hand, grouped anew.

An expert who is drawn is drawn for all queries, with everything they said: what they share (a school, an instrument, a
bad day) stays together. An expert who is drawn twice counts as two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from roslin.errors import ArgumentError
from roslin.truth.grouping import Method, grouped_truth
from roslin.truth.model import Truth
from roslin.truth.rankings import QueryRankings, Rankings

__all__ = ["panel_truths"]


def panel_truths(rankings: Rankings, method: Method, panels: int = 200, seed: int = 2005) -> Iterator[Truth]:
    """The truth of each of so many panels. A query that nobody of a panel judged has an empty list there.

    Experts whom the method leaves out for want of attention are in no panel.
    """
    if panels < 2:
        raise ArgumentError(f"panels must be at least 2; got {panels}")
    rankings, method = method.considered(rankings), replace(method, attention=False)
    people = rankings.experts
    if len(people) < 2:
        raise ArgumentError(f"other panels can be drawn from two experts or more; got {len(people)}")
    chance = np.random.default_rng(seed)
    row_of = {query: {expert: k for k, expert in enumerate(each.experts)} for query, each in rankings.items()}
    for _ in range(panels):
        drawn = [people[k] for k in chance.integers(len(people), size=len(people))]
        panel = []
        for query, each in rankings.items():
            present = [expert for expert in drawn if expert in row_of[query]]
            ranks = each.ranks[[row_of[query][expert] for expert in present]]
            panel.append(QueryRankings(query, tuple(present), each.documents, ranks))
        yield grouped_truth(Rankings(panel), method)
