"""Experts drawn from a model, for teaching, tests and power analysis. The same seed gives the same rankings.

  mallows         each expert's order is the true one with swaps: an order with k pairs reversed has a probability
                  proportional to noise^k. noise 0: everybody is right; 1: any order
  plackett-luce   each expert picks the best of what is left, a candidate of level k with a chance proportional to
                  noise^k

The candidates of query q1 are q1 itself (where `include_query`) and q1-d01, q1-d02, ...: their true order, each on a
separate level. Or a truth is given: then its groups are the levels, and there are no preferences inside a group.
`dropout` is the share of candidates that an expert leaves out, from the end of their list. A share `carelessness` of
the experts, the same ones in all queries, ranks at random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from roslin.display.text import counted
from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth.model import Truth
from roslin.truth.rankings import QueryRankings, Rankings
from roslin.types import Numbers

_LEAST_NOISE = 1e-12


def _mallows(chance: np.random.Generator, experts: int, levels: Numbers, noise: float) -> Numbers:
    """Repeated insertion: candidate i goes j places before the end with a chance proportional to noise^j."""
    orders = []
    tied = len(np.unique(levels)) < len(levels)
    for _ in range(experts):
        order: list[int] = []
        for place, item in enumerate(np.argsort(levels + chance.random(len(levels)) if tied else levels)):
            weights = max(noise, _LEAST_NOISE) ** np.arange(place + 1)
            back = int(chance.choice(place + 1, p=weights / weights.sum()))
            order.insert(place - back, int(item))
        orders.append(order)
    return np.array(orders, dtype=np.int64).reshape(experts, len(levels))


def _plackett_luce(chance: np.random.Generator, experts: int, levels: Numbers, noise: float) -> Numbers:
    """The order of log strength plus Gumbel noise is a draw from the model."""
    strength = levels * np.log(max(noise, _LEAST_NOISE))
    return np.argsort(-(strength + chance.gumbel(size=(experts, len(levels)))), axis=1)


# A model: the level of each candidate, 0 for the best, to orders (experts, candidates), the most similar first.
MODELS: dict[str, Callable[[np.random.Generator, int, Numbers, float], Numbers]] = {
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
    truth: Truth | None = None,
    seed: int = 2005,
) -> Rankings:
    """Rankings of `queries` queries. `candidates` and `noise` are one number for all, or one for each query.

    `truth`: its queries and documents in place of `candidates`, `queries` and `include_query`.
    """
    if model not in MODELS:
        raise UnknownNameError("model", model, MODELS)
    asked = _invented(candidates, queries, include_query) if truth is None else _known(truth)
    noises = [float(noise)] * len(asked) if isinstance(noise, (int, float)) else list(noise)
    if len(noises) != len(asked):
        raise ArgumentError(f"{counted(len(asked), 'query', 'queries')}, but {len(noises)} values of noise")
    if experts < 1:
        raise ArgumentError(f"experts must be at least 1; got {experts}")
    if seed < 0:
        raise ArgumentError(f"seed must be 0 or more; got {seed}")
    shares = [("noise", each) for each in noises] + [("dropout", dropout), ("carelessness", carelessness)]
    for name, share in shares:
        if not 0 <= share <= 1:
            raise ArgumentError(f"{name} must be between 0 and 1; got {share!r}")
    chance = np.random.default_rng(seed)
    careless = chance.random(experts) < carelessness
    names = tuple(f"expert-{k:0{len(str(experts))}}" for k in range(1, experts + 1))
    tables = []
    for (query, (documents, levels)), spread in zip(asked.items(), noises, strict=True):
        size = len(documents)
        orders = MODELS[model](chance, experts, levels, spread)
        orders[careless] = chance.permuted(orders[careless], axis=1)
        ranks = (np.argsort(orders, axis=1) + 1).astype(np.float64)
        ranked = np.maximum(size - chance.binomial(size, dropout, experts), 1)
        ranks[ranks > ranked[:, None]] = np.nan
        tables.append(QueryRankings(query, names, documents, ranks))
    return Rankings(tables, f"{model}-{seed}")


# The documents of a query, and the level of each.
_Asked = dict[str, tuple[tuple[str, ...], Numbers]]


def _invented(candidates: int | Sequence[int], queries: int | None, include_query: bool) -> _Asked:
    sizes = [candidates] * (queries or 1) if isinstance(candidates, int) else list(candidates)
    if queries not in (None, len(sizes)):
        raise ArgumentError(f"{queries} queries, but numbers of candidates for {len(sizes)}")
    if min(sizes, default=0) < 1:
        raise ArgumentError(f"candidates must be at least 1; got {min(sizes, default=0)}")
    asked: _Asked = {}
    for number, size in enumerate(sizes, start=1):
        query = f"q{number:0{len(str(len(sizes)))}}"
        documents = [f"{query}-d{k:0{len(str(size))}}" for k in range(1, size + 1)]
        if include_query:
            documents = [query, *documents[: size - 1]]
        asked[query] = tuple(documents), np.arange(size)
    return asked


def _known(truth: Truth) -> _Asked:
    asked: _Asked = {}
    for query, groups in truth.items():
        if groups:
            levels = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
            asked[query] = tuple(id for group in groups for id in group), levels
    if not asked:
        raise ArgumentError("the truth has no groups to draw rankings from")
    return asked
