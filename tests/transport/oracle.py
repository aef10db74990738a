"""Random point sets of many kinds, and what a linear program (scipy's HiGHS) says their distance is."""

from __future__ import annotations

import numpy as np

from roslin.types import Floats

Set = tuple[Floats, Floats]


def random_set(rng: np.random.Generator, size: int) -> Set:
    """Points on a grid (ties, doubles) or off it, with weights of one of seven kinds."""
    points = rng.uniform(-5, 5, (size, 2)) if rng.random() < 0.5 else rng.integers(0, 4, (size, 2)).astype(np.float64)
    kinds = (
        np.ones(size),
        rng.integers(1, 5, size).astype(np.float64),
        rng.choice([0.25, 0.5, 1.0, 1.5, 2.0], size),
        rng.uniform(0.01, 3, size),
        rng.uniform(0, 1, size) ** 6 + 1e-9,
        np.where(rng.random(size) < 0.4, 0.0, rng.uniform(0.1, 1, size)),
        np.full(size, 1 / 3),
    )
    weights: Floats = kinds[rng.integers(len(kinds))]
    if not weights.sum() > 0:
        weights[0] = 1.0
    return points, weights


def random_pair(rng: np.random.Generator, largest: int = 14) -> tuple[Set, Set]:
    """Two sets; now and then with the same total weight, or the same set in another order."""
    a = random_set(rng, int(rng.integers(1, largest + 1)))
    b = random_set(rng, int(rng.integers(1, largest + 1)))
    kind = rng.random()
    if kind < 0.2:
        return a, (b[0], b[1] * (a[1].sum() / b[1].sum()))
    if kind < 0.25:
        order = rng.permutation(len(a[1]))
        return a, (a[0][order], a[1][order])
    return a, b


def ground(a: Floats, b: Floats, name: str) -> Floats:
    """All distances, written down as they stand."""
    difference = np.abs(a[:, None, :] - b[None, :, :])
    distances: Floats = difference.sum(axis=2) if name == "cityblock" else np.sqrt((difference**2).sum(axis=2))
    return distances


def highs(a: Set, b: Set, name: str) -> float:
    """The EMD of two sets by `program`."""
    return program(ground(a[0], b[0], name), a[1], b[1])


def program(distances: Floats, weights_a: Floats, weights_b: Floats) -> float:
    """The EMD by its definition: rows and columns at most their weight, all flow together the lighter weight."""
    from scipy.optimize import linprog

    n, m = distances.shape
    rows = np.kron(np.eye(n), np.ones((1, m)))
    columns = np.kron(np.ones((1, n)), np.eye(m))
    least = min(weights_a.sum(), weights_b.sum())
    # In units of the lighter weight, and with tight tolerances: HiGHS is exact to 1e-7 if left alone.
    found = linprog(
        distances.ravel(),
        A_ub=np.vstack([rows, columns]),
        b_ub=np.concatenate([weights_a, weights_b]) / least,
        A_eq=np.ones((1, n * m)),
        b_eq=[1.0],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0, found.message
    return float(found.fun)
