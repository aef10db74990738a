"""The Earth Mover's Distance between two weighted point sets, exactly (Typke et al. 2007, section 2.1).

    EMD(A, B) = min over flows of  sum f_ij d_ij / min(W, U)

The lighter set is matched completely, the heavier one as far as needed: so a short melody can lie inside a long one at
distance 0, and the EMD is no metric when W and U differ. The proportional transportation distance first scales both
sets to the weight 1; everything is matched, and it obeys the triangle inequality.

Points are rows (time, pitch) in units of the caller's choice; weights are not negative and not all zero. The optimum is
exact up to rounding (about 1e-15). There is no approximation to choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from roslin.errors import ArgumentError, UnknownNameError
from roslin.native import kernels
from roslin.represent.keys import PROFILES, local_keys
from roslin.types import Floats

# -- ground distances: how far apart two notes are ---------------------------------------------------------------------
#
#     euclidean   sqrt(dt^2 + dp^2)                     the paper's
#     cityblock   |dt| + |dp|
#     tonal       sqrt(dt^2 + K(p1, p2)^2)              section 5 of the paper proposes it
#
# K is the dissimilarity of two pitches in a key. The paper leaves it open and names Krumhansl (1990); the definition
# here is ours. The twelve pitch classes have a rating in a key, 0 to 1: Krumhansl and Kessler's probe-tone ratings
# (represent/keys.py), stretched to that range. Then
#
#     K(p, q) = |p - q| * (1 + stability * |rating(p) - rating(q)|) / (1 + stability / 2)
#
# so that equal pitches are at 0, a step between two tones of equal standing costs less than one that leaves the tonic
# chord, and K grows with the interval as the Euclidean distance does. The key is that of the area around the two notes
# (section 5): the notes of the document before and after the one that the query's note is laid onto (`local_keys`). The
# query is transposed into the document and heard there, so its own notes are ignored; and the area follows a document
# that modulates.


GROUND_NAMES = ("cityblock", "euclidean", "tonal")
# The kernels' numbers for the ground distances; one that is not among the named ones has a table.
EUCLIDEAN, CITYBLOCK, TABLE = 0, 1, 2
GROUNDS = {"euclidean": EUCLIDEAN, "cityblock": CITYBLOCK}

STABILITY = 1.0


def tonal_table(key: int, stability: float = STABILITY) -> Floats:
    """(128, 128): K of any two MIDI pitches in the key of this number."""
    profile = PROFILES[key]
    rating = ((profile - profile.min()) / (profile.max() - profile.min()))[np.arange(128) % 12]
    steps = np.abs(np.subtract.outer(np.arange(128.0), np.arange(128.0)))
    table: Floats = steps * (1 + stability * np.abs(np.subtract.outer(rating, rating))) / (1 + stability / 2)
    return table


@cache
def tonal_tables() -> Floats:
    """(24, 128, 128): K of any two MIDI pitches in every key, by the number of the key."""
    tables = np.array([tonal_table(key) for key in range(len(PROFILES))])
    tables.flags.writeable = False
    return tables


def tonal_costs(keys: npt.NDArray[np.int64], pitches: Floats) -> Floats:
    """(128, notes): K of any MIDI pitch and each of some notes, in the key of the area around the note."""
    return np.ascontiguousarray(tonal_tables()[keys, :, np.rint(pitches).astype(np.int64)].T)


@dataclass(frozen=True, slots=True)
class Flow:
    """A distance and its flow. `flow[i, j]` is the weight moved from point i of A to point j of B.

    The cost of a cell is `flow * ground / flow.sum()`. All cells together are the distance.
    """

    distance: float
    flow: npt.NDArray[np.float64]
    ground: npt.NDArray[np.float64]


def emd(
    points_a: ArrayLike, weights_a: ArrayLike, points_b: ArrayLike, weights_b: ArrayLike, ground: str = "euclidean"
) -> float:
    """The Earth Mover's Distance from A to B.

    >>> emd([[0, 60], [1, 62]], [1, 1], [[0, 60], [1, 62], [2, 64]], [1, 1, 1])
    0.0
    """
    return emd_flow(points_a, weights_a, points_b, weights_b, ground).distance


def ptd(
    points_a: ArrayLike, weights_a: ArrayLike, points_b: ArrayLike, weights_b: ArrayLike, ground: str = "euclidean"
) -> float:
    """The proportional transportation distance from A to B."""
    return ptd_flow(points_a, weights_a, points_b, weights_b, ground).distance


def emd_flow(
    points_a: ArrayLike, weights_a: ArrayLike, points_b: ArrayLike, weights_b: ArrayLike, ground: str = "euclidean"
) -> Flow:
    """The Earth Mover's Distance with its flow."""
    a, b = _point_set(points_a, weights_a, "A"), _point_set(points_b, weights_b, "B")
    return _solve(a, b, _ground(a, b, ground))


def ptd_flow(
    points_a: ArrayLike, weights_a: ArrayLike, points_b: ArrayLike, weights_b: ArrayLike, ground: str = "euclidean"
) -> Flow:
    """The proportional transportation distance with its flow, which sums to 1."""
    (at_a, a), (at_b, b) = _point_set(points_a, weights_a, "A"), _point_set(points_b, weights_b, "B")
    shares = (at_a, a / a.sum()), (at_b, b / b.sum())
    return _solve(*shares, _ground(*shares, ground))


_Set = tuple[Floats, Floats]


def emd_many(
    points_a: Sequence[ArrayLike],
    weights_a: Sequence[ArrayLike],
    points_b: Sequence[ArrayLike],
    weights_b: Sequence[ArrayLike],
    ground: str = "euclidean",
    *,
    proportional: bool = False,
) -> npt.NDArray[np.float64]:
    """The Earth Mover's Distance of many pairs of point sets in one call; or the `proportional` one."""
    lengths = {len(points_a), len(weights_a), len(points_b), len(weights_b)}
    if len(lengths) > 1:
        raise ArgumentError(f"as many sets of points and of weights on both sides; got {sorted(lengths)}")
    if ground == "tonal":
        one = ptd if proportional else emd
        return np.array([one(*pair, ground) for pair in zip(points_a, weights_a, points_b, weights_b, strict=True)])
    _known(ground)
    a = [_point_set(p, w, f"A, number {k}") for k, (p, w) in enumerate(zip(points_a, weights_a, strict=True))]
    b = [_point_set(p, w, f"B, number {k}") for k, (p, w) in enumerate(zip(points_b, weights_b, strict=True))]
    if not a:
        return np.empty(0)
    distances = np.empty(len(a))
    kernels.emd_pairs(*_joined(a), *_joined(b), GROUNDS[ground], proportional, distances)
    return distances


def _joined(sets: list[_Set]) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    offsets = np.concatenate([[0], np.cumsum([len(weights) for _, weights in sets])]).astype(np.int64)
    return np.concatenate([points for points, _ in sets]), np.concatenate([weights for _, weights in sets]), offsets


def _point_set(points: ArrayLike, weights: ArrayLike, name: str) -> _Set:
    try:
        at, heavy = np.array(points, dtype=np.float64), np.array(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"points and weights of {name} must be numbers; {error}") from error
    if at.ndim != 2 or at.shape[1] != 2:
        raise ArgumentError(f"points of {name} must be rows of two numbers, time and pitch; got shape {at.shape}")
    if heavy.shape != at.shape[:1]:
        raise ArgumentError(f"{name} must have one weight for each of its {len(at)} points; got shape {heavy.shape}")
    if not (np.isfinite(at).all() and np.isfinite(heavy).all()):
        raise ArgumentError(f"points and weights of {name} must be finite; got an infinite or undefined number")
    if (heavy < 0).any() or not heavy.sum() > 0:
        raise ArgumentError(f"weights of {name} must be at least 0, and not all 0; got {heavy.tolist()[:8]}")
    return at, heavy


def _known(ground: str) -> None:
    if ground not in GROUND_NAMES:
        raise UnknownNameError("ground distance", str(ground), sorted(GROUND_NAMES))


def _ground(a: _Set, b: _Set, ground: str) -> Floats:
    """Distances between all points of A and of B."""
    _known(ground)
    if ground != "tonal":
        (time_a, pitch_a), (time_b, pitch_b) = np.ascontiguousarray(a[0].T), np.ascontiguousarray(b[0].T)
        distances = np.empty((len(time_a), len(time_b)))
        kernels.ground_matrix(time_a, pitch_a, time_b, pitch_b, GROUNDS[ground], distances)
        return distances
    pitch_a, pitch_b = np.rint(a[0][:, 1]).astype(np.int64), np.rint(b[0][:, 1]).astype(np.int64)
    if min(pitch_a.min(), pitch_b.min()) < 0 or max(pitch_a.max(), pitch_b.max()) > 127:
        raise ArgumentError("the tonal ground distance needs MIDI pitches, 0 to 127, in the second column")
    # The area around two notes has those of both sets, which lie in one frame; where the two are in different areas,
    # both matter.
    times, pitches = np.concatenate([a[0][:, 0], b[0][:, 0]]), np.concatenate([pitch_a, pitch_b])
    order, keys = np.lexsort((pitches, times)), np.empty(len(times), np.int64)
    keys[order] = local_keys(times[order], pitches[order], np.concatenate([a[1], b[1]])[order])
    from_a = tonal_costs(keys[: len(pitch_a)], pitch_a)[pitch_b].T
    from_b = tonal_costs(keys[len(pitch_a) :], pitch_b)[pitch_a]
    apart: Floats = np.hypot(np.subtract.outer(a[0][:, 0], b[0][:, 0]), (from_a + from_b) / 2)
    return apart


def _solve(a: _Set, b: _Set, ground: Floats) -> Flow:
    total, flow = least_flow(ground, a[1], b[1])
    return Flow(float(total / min(a[1].sum(), b[1].sum())), flow, ground)


def least_flow(ground: Floats, weights_a: Floats, weights_b: Floats) -> tuple[float, Floats]:
    """(cost, flow) of moving all of the lighter side; flow[i, j] is the weight between i of A and j of B."""
    is_lighter = weights_a.sum() <= weights_b.sum()
    supply, capacity = (weights_a, weights_b) if is_lighter else (weights_b, weights_a)
    cost = np.ascontiguousarray(ground if is_lighter else ground.T)
    flow, found = np.empty(cost.shape), np.empty(2)
    never = np.zeros(1, np.bool_)
    kernels.partial_transport(cost, supply, capacity, np.inf, never, flow, found)
    return float(found[0]), flow if is_lighter else np.ascontiguousarray(flow.T)
