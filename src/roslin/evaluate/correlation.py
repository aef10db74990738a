"""How far two rankings of systems agree: Kendall's tau and tau-AP.

Both take one number a system from each side, as two mappings {system: value}; larger is better.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from roslin.errors import ArgumentError
from roslin.evaluate.hits import Floats

__all__ = ["kendall_tau", "tau_ap"]


def kendall_tau(values: Mapping[str, float], others: Mapping[str, float], *, variant: str = "b") -> float:
    """(concordant - discordant pairs) / pairs; `b` corrects for ties on either side, `a` does not. NaN where undefined.

    >>> kendall_tau({"A": 0.3, "B": 0.2, "C": 0.1}, {"A": 0.3, "B": 0.1, "C": 0.2})
    0.3333333333333333
    """
    if variant not in ("a", "b"):
        raise ArgumentError(f"variant must be 'a' or 'b'; got {variant!r}")
    x, y = _aligned(values, others)
    upper = np.triu_indices(len(x), 1)
    dx, dy = np.sign(x[:, None] - x)[upper], np.sign(y[:, None] - y)[upper]
    agreement = float((dx * dy).sum())
    pairs = float(len(dx))
    scale = pairs if variant == "a" else float(np.sqrt(np.count_nonzero(dx) * np.count_nonzero(dy)))
    return agreement / scale if scale else float("nan")


def tau_ap(truth: Mapping[str, float], others: Mapping[str, float]) -> float:
    """tau-AP (Yilmaz, Aslam and Robertson 2008): as tau, but a swap among the best of `others` weighs more.

    Not symmetric: `truth` is the reference. Ties are refused, since its definition has none.

    >>> tau_ap({"A": 0.3, "B": 0.2, "C": 0.1}, {"A": 0.3, "B": 0.1, "C": 0.2})
    0.5
    """
    x, y = _aligned(truth, others)
    if len(set(x.tolist())) < len(x) or len(set(y.tolist())) < len(y):
        raise ArgumentError("tau-AP is not defined for systems with equal values")
    if len(x) < 2:
        return float("nan")
    in_order = x[np.argsort(-y)]
    above_right = [np.count_nonzero(in_order[:place] > in_order[place]) / place for place in range(1, len(in_order))]
    return 2.0 * float(np.mean(above_right)) - 1.0


def _aligned(values: Mapping[str, float], others: Mapping[str, float]) -> tuple[Floats, Floats]:
    if set(values) != set(others):
        only = sorted(set(values) ^ set(others))
        raise ArgumentError(f"both sides must have the same systems; only one has {', '.join(only)}")
    x = np.array([values[name] for name in values], dtype=np.float64)
    y = np.array([others[name] for name in values], dtype=np.float64)
    if np.isnan(x).any() or np.isnan(y).any():
        raise ArgumentError("a value is NaN; expected a number for every system")
    return x, y
