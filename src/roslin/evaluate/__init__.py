"""Evaluation of ranked lists against a ground truth: every measure by name, truth first, ranking second.

A truth is a list of groups of ids, most similar group first; a ranking is a list of ids, best first, or {id: score}.
`evaluate` does the same for whole runs, with confidence intervals; `measure` gives a measure as a value.
"""

from __future__ import annotations

from roslin.evaluate.adr import (
    adr_tie_break,
    average_dynamic_recall,
    dynamic_recall,
    inversions,
    normalised_recall_at_group_boundaries,
    steps,
)
from roslin.evaluate.base import MEASURES, EmptyTruthWarning, Measure, measure, measures
from roslin.evaluate.correlation import kendall_tau, tau_ap
from roslin.evaluate.counts import (
    accuracy,
    f_measure,
    fallout,
    false_negatives,
    false_positives,
    precision,
    precision_at_n,
    recall,
    sensitivity,
    specificity,
    success,
    true_negatives,
    true_positives,
)
from roslin.evaluate.curves import (
    interpolated_precision,
    lift_area,
    lift_curve,
    mean_lift_curve,
    normalised_lift_curve,
    precision_recall_curve,
    roc_curve,
)
from roslin.evaluate.gain import dcg, err, ndcg, rbp
from roslin.evaluate.overlap import average_overlap, compatibility, rank_biased_overlap
from roslin.evaluate.preference import bpref, bpref_10, bpref_star
from roslin.evaluate.ranks import average_precision, break_even_point, reciprocal_rank

__all__ = [
    "MEASURES",
    "EmptyTruthWarning",
    "Measure",
    "accuracy",
    "adr_tie_break",
    "average_dynamic_recall",
    "average_overlap",
    "average_precision",
    "bpref",
    "bpref_10",
    "bpref_star",
    "break_even_point",
    "compatibility",
    "dcg",
    "dynamic_recall",
    "err",
    "f_measure",
    "fallout",
    "false_negatives",
    "false_positives",
    "interpolated_precision",
    "inversions",
    "kendall_tau",
    "lift_area",
    "lift_curve",
    "mean_lift_curve",
    "measure",
    "measures",
    "ndcg",
    "normalised_lift_curve",
    "normalised_recall_at_group_boundaries",
    "precision",
    "precision_at_n",
    "precision_recall_curve",
    "rank_biased_overlap",
    "rbp",
    "recall",
    "reciprocal_rank",
    "roc_curve",
    "sensitivity",
    "specificity",
    "steps",
    "success",
    "tau_ap",
    "true_negatives",
    "true_positives",
]
