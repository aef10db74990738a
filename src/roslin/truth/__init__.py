"""People's judgements: for every query, groups of documents, the most similar group first."""

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
