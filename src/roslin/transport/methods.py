"""The methods of alignment: by coincidences, on to the continuous optimum, or by chance (paper 002, section 2.4).

`coincident` finds the best of all alignments that put some query note exactly on some document note.

`refined` starts from the best coincidences of each tempo and goes downhill. Its result is never above that of
`coincidence` and is a local optimum; nothing certifies that it is the global one.

`evolution` is what the paper did, with scipy's differential evolution in place of its own optimiser: individuals are
(shift, transposition, tempo), mutated and selected by their distance. The random state is fixed, so that the same pair
always gives the same answer. It is here for comparison: slower than `refined`, and it may miss the optimum.
"""

from __future__ import annotations

import numpy as np

from roslin.native import kernels
from roslin.transport.arguments import TABLE, Pair
from roslin.types import Floats, Numbers

Found = tuple[float, float, float, float]

# Coincidences of each tempo to start from, and of all optima those whose tempo is refined.
STARTS = 8
TEMPO_STARTS = 3

# Differential evolution as an optimiser of the paper's time would have run it: 30 individuals, 60 generations.
INDIVIDUALS = 30
GENERATIONS = 60
SEED = 2004


def unaligned(pair: Pair) -> Found:
    """First note on first note in time, nothing transposed, at the best of the tempos."""
    tempos = pair.rules.tempos
    shifts = pair.document.time[0] * pair.frame.time_unit / tempos
    distances = _distances_at(pair, tempos, shifts, np.zeros(len(tempos)))
    best = int(np.argmin(distances))
    return float(distances[best]), float(shifts[best]), 0.0, float(tempos[best])


def coincident(pair: Pair, limit: float = np.inf, counts: Numbers | None = None) -> Found:
    """The best coincidence alignment at any of the tempos; infinite if none is within the limit."""
    found = np.empty(4)
    kernels.align_document(pair, limit, np.zeros(1, np.int64) if counts is None else counts, found)
    return _as_tuple(found)


def refined(pair: Pair, counts: Numbers | None = None) -> Found:
    """The best local optimum over shift and transposition, and over tempo when there are several."""
    found = np.empty(4)
    kernels.refine(pair, STARTS, TEMPO_STARTS, np.zeros(1, np.int64) if counts is None else counts, found)
    return _as_tuple(found)


def _as_tuple(found: Floats) -> Found:
    distance, x, y, tempo = found.tolist()
    return distance, x, y, tempo


def _distances_at(pair: Pair, tempos: Floats, shifts_x: Floats, shifts_y: Floats) -> Floats:
    """The distance at alignment after alignment."""
    distances = np.empty(len(tempos))
    kernels.distances_at(pair, tempos, shifts_x, shifts_y, distances)
    return distances


def evolved(
    pair: Pair,
    individuals: int = INDIVIDUALS,
    generations: int = GENERATIONS,
    polish: bool = False,
    counts: Numbers | None = None,
) -> Found:
    """The best individual of differential evolution, between the smallest and the largest tempo.

    Shifts are sought wherever the query touches the document. With a tonal ground distance transpositions are rounded
    to semitones. `polish` ends with Nelder and Mead's simplex from the best individual.
    """
    from scipy.optimize import differential_evolution, minimize

    tally = np.zeros(1, np.int64) if counts is None else counts
    query, document, frame, tempos = pair.query, pair.document, pair.frame, pair.rules.tempos
    pitches = document.pitch * frame.pitch_unit
    # Where in the document the query's first note lies, in quarters: so that it means the same at every tempo.
    starts = (float(document.time[0] - query.x[-1] / frame.time_unit * tempos.max()), float(document.time[-1]))
    heights = (float(pitches.min() - query.y.max()), float(pitches.max() - query.y.min()))
    bounds = [starts, heights, (float(np.log(tempos.min())), float(np.log(tempos.max())))]
    free = [low < high for low, high in bounds]
    fixed = np.array([low for low, _ in bounds])

    def alignments(values: Floats) -> tuple[Floats, Floats, Floats]:
        whole = np.repeat(fixed[:, None], values.shape[1], axis=1)
        whole[free] = values
        speeds = np.exp(whole[2])
        is_table = pair.rules.ground == TABLE
        return speeds, whole[0] * frame.time_unit / speeds, np.rint(whole[1]) if is_table else whole[1]

    def measure(values: Floats) -> Floats:
        columns = values.reshape(sum(free), -1)
        tally[0] += columns.shape[1]
        return _distances_at(pair, *alignments(columns))

    ranges = np.array(bounds)[free]
    best = np.empty(0)
    if any(free):
        # scipy would make the population a multiple of the number of dimensions; ours has a size of its own.
        first = np.random.default_rng(SEED).uniform(ranges[:, 0], ranges[:, 1], (individuals, len(ranges)))
        best = differential_evolution(
            measure, ranges, init=first, maxiter=generations, tol=0.0, polish=False, vectorized=True,
            updating="deferred", seed=SEED,
        ).x  # fmt: skip
    if any(free) and polish:
        best = minimize(lambda values: float(measure(values)[0]), best, method="Nelder-Mead").x
    speeds, shifts_x, shifts_y = alignments(best.reshape(-1, 1))
    distance = _distances_at(pair, speeds, shifts_x, shifts_y)[0]
    return float(distance), float(shifts_x[0]), float(shifts_y[0]), float(speeds[0])
