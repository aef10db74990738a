"""What people judged: for every query, groups of documents, the most similar group first.

model, qrel     a truth, its files
rankings        what experts said, its files
arrangement     the order of candidates
ranktests       p-values of all pairs; `correction` for many tests
grouping        groups from ranks
"""

from __future__ import annotations

from roslin.truth.consistency import Consistency, list_consistency
from roslin.truth.grouping import Method, group_rankings
from roslin.truth.qrel import Truth, read_truth, write_truth
from roslin.truth.rankings import Rankings, read_rankings, write_rankings
from roslin.truth.simulate import simulate_rankings

__all__ = [
    "Consistency",
    "Method",
    "Rankings",
    "Truth",
    "group_rankings",
    "list_consistency",
    "read_rankings",
    "read_truth",
    "simulate_rankings",
    "write_rankings",
    "write_truth",
]
