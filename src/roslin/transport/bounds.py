"""Lower bounds for searching: what the kernels of `_scan_kernels` need to know about one query.

The promise: a document whose bound exceeds a limit has no coincidence alignment within it. Here is, for a query and a
limit (the largest distance of interest), everything that does not depend on the documents:

cells      Time is cut into cells that divide the query's own grid (the greatest common divisor of its onsets), so that
           its notes lie on cell borders. A document on the same grid then loses nothing to rounding; one off it loses a
           cell. A query without a usable grid loses another.
stamps     How far it is at least from a cell of a pitch to a note in another, in steps rounded down; `reach` is the
           farthest that is told apart. Farther is better for bad matches, nearer for speed.
overhang   How far the query may stick out before or after a document before that alone costs more than the limit.
"""

from __future__ import annotations

from math import ceil, gcd, hypot
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.melody import TICKS_PER_QUARTER
from roslin.transport._scan_kernels import EPSILON, FAR, PITCH_LEVELS, PITCH_STEPS, STRIDES, WEIGHTS
from roslin.transport.align import Query, Setting, ground_code, missing_cost

__all__ = ["can_be_bounded", "scan_arguments"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Line = npt.NDArray[np.uint16]

# A cell is at most this long, in units of the query's frame, if the query then has at most so many.
CELL = 0.6
MOST_CELLS = 128
MOST_PARTS = 24
ENOUGH = 0.1
WIDEST_SPAN = 40
# Documents come with the totals of these weights.
BOUNDED_WEIGHTS = ("duration", "uniform")


def can_be_bounded(query: Query, setting: Setting) -> bool:
    """Whether the kernels can do this query: pitches in semitones, not too far apart."""
    pitches = np.rint(query.y / query.pitch_unit)
    return (
        setting.pitch == "semitone"
        and setting.weight in BOUNDED_WEIGHTS
        and setting.ground in ("cityblock", "euclidean")
        and setting.alignment == "coincidence"
        and bool(np.ptp(pitches) <= WIDEST_SPAN)
    )


def scan_arguments(query: Query, setting: Setting, limit: float, grids: Integers) -> tuple[Any, ...]:
    """What `scan_block` takes between the documents and the bounds; `grids` are those of some documents."""
    semitone, missing = query.pitch_unit, missing_cost(setting)
    budget = max(limit * float(query.weight.sum()), 1e-9)
    pitch = np.rint(query.y / semitone).astype(np.int64)
    pitch -= pitch.min()
    span = int(pitch.max())
    distinct = np.unique(pitch)
    heavy = np.array([query.weight[pitch == one].sum() for one in distinct])
    pitch_reach = np.minimum(semitone * np.arange(1, PITCH_LEVELS + 1), missing if missing >= 0 else np.inf)
    cell, is_on_grid = _cell(query, grids)
    reach = min(max(2.5 * limit, 1.5), 4.0)
    stamp_rows, stamp_cells = ceil(reach / semitone) - 1, ceil(reach / cell)
    stamps, starts = _stamps(cell, semitone, reach, stamp_rows, stamp_cells, is_on_grid, setting.ground)
    fill = -len(query.x) % 4
    cells = np.floor(query.x / cell + EPSILON).astype(np.int64)
    weights = np.floor(query.weight * WEIGHTS / query.weight.sum()).astype(np.uint16)
    ticks = cell / query.time_unit * TICKS_PER_QUARTER * np.array(setting.tempos, dtype=np.float64)
    whole = np.where(np.abs(ticks - np.rint(ticks)) < EPSILON, np.rint(ticks), 0).astype(np.int64)
    return (
        query.x,
        query.y,
        query.weight,
        query.order,
        semitone,
        cell,
        ground_code(setting),
        np.concatenate([pitch[query.order], np.zeros(fill, np.int64)]),
        float(query.weight.sum()),
        span,
        (span - distinct).astype(np.uint64),
        _steps(heavy, pitch_reach, budget),
        np.array(setting.tempos, dtype=np.float64),
        setting.scales_weights,
        1.0 / ticks,
        whole,
        _overhang(query, cell, budget),
        np.concatenate([cells[query.order], np.zeros(fill, np.int64)]),
        np.concatenate([weights[query.order], np.zeros(fill, np.uint16)]),
        stamps,
        starts,
        stamp_rows,
        stamp_cells,
        reach,
        missing,
        limit,
    )


def _cell(query: Query, grids: Integers) -> tuple[float, bool]:
    """(length of a cell in units, whether all notes of the query lie on borders).

    The longest cell that has hardly fewer documents on its grid than any shorter one.
    """
    ticks = np.rint(query.x / query.time_unit * TICKS_PER_QUARTER).astype(np.int64)
    grid, last = gcd(*ticks.tolist()), float(query.x[-1])
    shares = {}
    for parts in range(1, MOST_PARTS + 1):
        length = grid / parts / TICKS_PER_QUARTER * query.time_unit
        if grid and grid % parts == 0 and length <= CELL and last / length <= MOST_CELLS:
            shares[length] = float((grids % (grid // parts) == 0).mean())
    if not shares:
        return max(CELL / 2, last / MOST_CELLS), False
    most = max(shares.values())
    return max(length for length, share in shares.items() if share >= most - ENOUGH), True


def _steps(weight: Floats, reach: Floats, budget: float) -> Integers:
    """(pitches, levels): what missing each level adds to the cost of missing those inside it, in parts of the budget.

    Levels lie inside each other, so that only the sum must be rounded down.
    """
    cost = np.minimum(np.floor(weight[:, None] * reach[None, :] * (PITCH_STEPS + 1) / budget), PITCH_STEPS + 1)
    steps: Integers = np.minimum(np.diff(cost, axis=1, prepend=0), PITCH_STEPS).astype(np.int64)
    return steps


def _stamps(
    cell: float, semitone: float, reach: float, rows: int, cells: int, is_on_grid: bool, ground: str
) -> tuple[Line, Integers]:
    """Stamps for documents on the grid and off it: one for each of STRIDES, one with its rows end to end."""
    lines: list[Line] = []
    starts = []
    for document_on_grid in (True, False):
        one = np.full((2 * rows + 1, 2 * cells + 1), FAR, dtype=np.uint16)
        for row in range(-rows, rows + 1):
            for ahead in range(-cells, cells + 1):
                # `ahead`: cells by which the query note seems later. What rounding may have added is taken off.
                if not is_on_grid:
                    steps = max(ahead - 1, -ahead - 2, 0)
                else:
                    steps = abs(ahead) if document_on_grid else max(abs(ahead) - 1, 0)
                time, pitch = steps * cell * (1 - 1e-6), abs(row) * semitone
                apart = time + pitch if ground == "cityblock" else hypot(time, pitch)
                one[row + rows, ahead + cells] = min(int(apart * FAR / reach), FAR)
        for stride in STRIDES:
            wide = np.full(2 * rows * stride + 2 * cells + 1, FAR, dtype=np.uint16)
            for row, values in enumerate(one):
                span = slice(row * stride, row * stride + 2 * cells + 1)
                wide[span] = np.minimum(wide[span], values)
            starts.append(sum(len(line) for line in lines))
            lines.append(wide)
        starts.append(sum(len(line) for line in lines))
        lines.append(one.ravel())
    return np.concatenate(lines), np.array(starts, dtype=np.int64)


def _overhang(query: Query, cell: float, budget: float) -> int:
    """By how many cells the query may stick out before or after a document that is not lighter."""
    last = float(query.x[-1])
    out = 0
    while out * cell <= last:
        beyond = (out - 1) * cell
        before = float((query.weight * np.maximum(beyond - query.x, 0.0)).sum())
        after = float((query.weight * np.maximum(beyond - (last - query.x), 0.0)).sum())
        if min(before, after) > budget:
            break
        out += 1
    return out + 1
