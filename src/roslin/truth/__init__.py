"""People's judgements: for every query, groups of documents, the most similar group first.

model           a truth, and the order of its candidates
qrel            its files, and other forms of them
rankings        what experts said, its files, and how far they agree; `simulate` draws some
ranktests       p-values of all pairs, and their correction for many tests
grouping        groups from ranks, and the truths that other experts would give
consistency     how well groups and tests agree, and how sure each line is
choice_models   strengths and groups from rankings and from preference votes
study           groups, or strengths, beside those of noise, in one value that prints itself
tables          the other tables: two truths compared, how many more experts are needed
"""

from __future__ import annotations

from roslin.truth.consistency import Consistency, list_consistency
from roslin.truth.grouping import METHODS, Method, group_rankings, grouped_truth, method_named, panel_truths
from roslin.truth.model import Truth
from roslin.truth.qrel import convert_truth, read_truth, write_truth
from roslin.truth.rankings import Rankings, read_rankings, write_rankings
from roslin.truth.simulate import simulate_rankings
from roslin.truth.study import ModelStudy, Study, study_rankings, study_strengths, study_votes
from roslin.truth.tables import compare_truths

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
