"""What people judged: for every query, groups of documents, the most similar group first.

model, qrel     a truth, its files; `compare` two of them, `convert` one
rankings        what experts said, its files; `simulate` draws some
arrangement     the order of candidates
ranktests       p-values of all pairs; `correction` for many tests
grouping        groups from ranks
consistency     how well groups and tests agree
null            how many groups noise would give
boundaries      how sure each line is
panels          the truths that other experts would give
agreement       how far the experts agree, and who does not
power           how many more experts are needed
plackett_luce   strengths, and groups, from rankings
preferences     groups from votes by segments; `bradley_terry` from strengths
study           groups and what they are worth, in one value that shows itself; `model_study` for the models
tables          the other tables
"""

from __future__ import annotations

from roslin.truth.compare import compare_truths
from roslin.truth.consistency import Consistency, list_consistency
from roslin.truth.convert import convert_truth
from roslin.truth.grouping import METHODS, Method, group_rankings, grouped_truth, method_named
from roslin.truth.model_study import ModelStudy, study_strengths, study_votes
from roslin.truth.panels import panel_truths
from roslin.truth.qrel import Truth, read_truth, write_truth
from roslin.truth.rankings import Rankings, read_rankings, write_rankings
from roslin.truth.simulate import simulate_rankings
from roslin.truth.study import Study, study_rankings

__all__ = [
    "METHODS",
    "Consistency",
    "Method",
    "ModelStudy",
    "Rankings",
    "Study",
    "Truth",
    "compare_truths",
    "convert_truth",
    "group_rankings",
    "grouped_truth",
    "list_consistency",
    "method_named",
    "panel_truths",
    "read_rankings",
    "read_truth",
    "simulate_rankings",
    "study_rankings",
    "study_strengths",
    "study_votes",
    "write_rankings",
    "write_truth",
]
