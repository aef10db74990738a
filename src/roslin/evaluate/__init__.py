"""Evaluation of ranked lists against a ground truth: every measure by name, truth first, ranking second.

A truth is a list of groups of ids, most similar group first. A ranking is a list of ids, best first, or {id: score}.
`evaluate` does the same for whole runs, with confidence intervals; `measure` gives a measure as a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roslin.evaluate.curves import (
    interpolated_precision,
    lift_area,
    lift_curve,
    mean_lift_curve,
    normalised_lift_curve,
    precision_recall_curve,
    roc_curve,
)
from roslin.evaluate.evaluation import DEFAULT_MEASURES, Evaluation, evaluate, with_judges
from roslin.evaluate.exchanges import mean_intervals
from roslin.evaluate.measures.adr import (
    adr_tie_break,
    average_dynamic_recall,
    dynamic_recall,
    inversions,
    normalised_recall_at_group_boundaries,
    steps,
)
from roslin.evaluate.measures.base import MEASURES, EmptyTruthWarning, Measure, measure, register_measure
from roslin.evaluate.measures.counts import (
    accuracy,
    fallout,
    false_negatives,
    false_positives,
    specificity,
    true_negatives,
    true_positives,
)
from roslin.evaluate.measures.gain import dcg, err, ndcg, rbp
from roslin.evaluate.measures.overlap import average_overlap, compatibility, rank_biased_overlap
from roslin.evaluate.measures.precision import (
    average_precision,
    break_even_point,
    f_measure,
    precision,
    precision_at_n,
    recall,
    reciprocal_rank,
    sensitivity,
    success,
)
from roslin.evaluate.measures.preference import bpref, bpref_10, bpref_star
from roslin.evaluate.significance import (
    Comparison,
    Reach,
    bootstrap_intervals,
    compare,
    effect_size,
    minimum_detectable_difference,
    permutation_test,
    reach,
)
from roslin.evaluate.tables import TieRange, kendall_tau, tau_ap, tie_sensitivity
from roslin.truth.ranktests import benjamini_hochberg, holm

if TYPE_CHECKING:
    from roslin.evaluate.measures.base import measures  # the package of that name answers when it is called

__all__ = [
    "DEFAULT_MEASURES",
    "MEASURES",
    "Comparison",
    "EmptyTruthWarning",
    "Evaluation",
    "Measure",
    "Reach",
    "TieRange",
    "accuracy",
    "adr_tie_break",
    "average_dynamic_recall",
    "average_overlap",
    "average_precision",
    "benjamini_hochberg",
    "bootstrap_intervals",
    "bpref",
    "bpref_10",
    "bpref_star",
    "break_even_point",
    "compare",
    "compatibility",
    "dcg",
    "dynamic_recall",
    "effect_size",
    "err",
    "evaluate",
    "f_measure",
    "fallout",
    "false_negatives",
    "false_positives",
    "holm",
    "interpolated_precision",
    "inversions",
    "kendall_tau",
    "lift_area",
    "lift_curve",
    "mean_intervals",
    "mean_lift_curve",
    "measure",
    "measures",
    "minimum_detectable_difference",
    "ndcg",
    "normalised_lift_curve",
    "normalised_recall_at_group_boundaries",
    "permutation_test",
    "precision",
    "precision_at_n",
    "precision_recall_curve",
    "rank_biased_overlap",
    "rbp",
    "reach",
    "recall",
    "reciprocal_rank",
    "register_measure",
    "roc_curve",
    "sensitivity",
    "specificity",
    "steps",
    "success",
    "tau_ap",
    "tie_sensitivity",
    "true_negatives",
    "true_positives",
    "with_judges",
]
