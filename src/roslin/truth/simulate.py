"""Experts drawn from a model, for teaching, tests and power analysis. The same seed gives the same rankings.

  mallows         each expert's order is the true one with swaps: an order with k pairs reversed has a probability
                  proportional to noise^k. noise 0: everybody is right; 1: any order
  plackett-luce   each expert picks the best of what is left, candidate k with a chance proportional to noise^k

The candidates of query q1 are q1 itself (where `include_query`) and q1-d01, q1-d02, ...: their true order.
`dropout` is the share of candidates that an expert leaves out, from the end of their list. A share `carelessness` of
the experts, the same ones in all queries, ranks at random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth.rankings import QueryRankings, Rankings

__all__ = ["MODELS", "simulate_rankings"]

Orders = npt.NDArray[np.int64]  # (experts, candidates): candidates, the most similar first
_LEAST_NOISE = 1e-12


def _mallows(chance: np.random.Generator, experts: int, candidates: int, noise: float) -> Orders:
    """Repeated insertion: candidate i goes j places before the end with a chance proportional to noise^j."""
    orders = []
    for _ in range(experts):
        order: list[int] = []
        for item in range(candidates):
            weights = max(noise, _LEAST_NOISE) ** np.arange(item + 1)
            back = int(chance.choice(item + 1, p=weights / weights.sum()))
            order.insert(item - back, item)
        orders.append(order)
    return np.array(orders, dtype=np.int64).reshape(experts, candidates)


def _plackett_luce(chance: np.random.Generator, experts: int, candidates: int, noise: float) -> Orders:
    """The order of log strength plus Gumbel noise is a draw from the model."""
    strength = np.arange(candidates) * np.log(max(noise, _LEAST_NOISE))
    return np.argsort(-(strength + chance.gumbel(size=(experts, candidates))), axis=1)


MODELS: dict[str, Callable[[np.random.Generator, int, int, float], Orders]] = {
    "mallows": _mallows,
    "plackett-luce": _plackett_luce,
}


def simulate_rankings(
    candidates: int | Sequence[int] = 20,
    experts: int = 30,
    queries: int | None = None,
    *,
    model: str = "mallows",
    noise: float | Sequence[float] = 0.8,
    dropout: float = 0.0,
    carelessness: float = 0.0,
    include_query: bool = True,
    seed: int = 2005,
) -> Rankings:
    """Rankings of `queries` queries. `candidates` and `noise` are one number for all, or one for each query."""
    if model not in MODELS:
        raise UnknownNameError("model", model, MODELS)
    sizes = [candidates] * (queries or 1) if isinstance(candidates, int) else list(candidates)
    if queries not in (None, len(sizes)):
        raise ArgumentError(f"{queries} queries, but numbers of candidates for {len(sizes)}")
    noises = [float(noise)] * len(sizes) if isinstance(noise, (int, float)) else list(noise)
    if len(noises) != len(sizes):
        raise ArgumentError(f"{len(sizes)} queries, but {len(noises)} values of noise")
    for name, value in (("candidates", min(sizes, default=0)), ("experts", experts)):
        if value < 1:
            raise ArgumentError(f"{name} must be at least 1; got {value}")
    shares = [("noise", each) for each in noises] + [("dropout", dropout), ("carelessness", carelessness)]
    for name, share in shares:
        if not 0 <= share <= 1:
            raise ArgumentError(f"{name} must lie between 0 and 1; got {share!r}")
    chance = np.random.default_rng(seed)
    careless = chance.random(experts) < carelessness
    names = tuple(f"expert-{k:0{len(str(experts))}}" for k in range(1, experts + 1))
    tables = []
    for number, (size, spread) in enumerate(zip(sizes, noises, strict=True), start=1):
        query = f"q{number:0{len(str(len(sizes)))}}"
        orders = MODELS[model](chance, experts, size, spread)
        orders[careless] = chance.permuted(orders[careless], axis=1)
        ranks = (np.argsort(orders, axis=1) + 1).astype(np.float64)
        ranked = np.maximum(size - chance.binomial(size, dropout, experts), 1)
        ranks[ranks > ranked[:, None]] = np.nan
        documents = [f"{query}-d{k:0{len(str(size))}}" for k in range(1, size + 1)]
        if include_query:
            documents = [query, *documents[: size - 1]]
        tables.append(QueryRankings(query, names, tuple(documents), ranks))
    return Rankings(tables, f"{model}-{seed}")
