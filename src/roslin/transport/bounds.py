"""Lower bounds for searching: what the kernels of `_scan_kernels` need to know about one query.

The promise: a document whose bound exceeds a limit has no coincidence alignment within it. Here is, for a query and a
limit (the largest distance of interest), everything that does not depend on the documents:

cells      Time is cut into cells that divide the query's own grid (the greatest common divisor of its onsets), so that
           its notes lie on cell borders. A document on the same grid then loses nothing to rounding; one off it loses a
           cell. A query without a usable grid loses another.
stamps     How far it is at least from a cell of a pitch to a note in another, in steps rounded down; `reach` is the
           farthest that is told apart. Farther is better for bad matches, nearer for speed.
tables     The query's notes stamped on a table of their own, for documents that are lighter than the query.
"""

from __future__ import annotations

from math import ceil, gcd, hypot
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.melody import TICKS_PER_QUARTER
from roslin.transport._lanes import LANES
from roslin.transport._pitch_kernels import MOST_ROWS, PITCH_LEVELS, PITCH_STEPS, RIM, WIDEST
from roslin.transport._scan_kernels import EPSILON, FAR, MARGIN, MOST
from roslin.transport.align import Query, Setting, ground_code, missing_cost

__all__ = ["can_be_bounded", "scan_arguments"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

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
    semitone, missing, total = query.pitch_unit, missing_cost(setting), float(query.weight.sum())
    pitch = np.rint(query.y / semitone).astype(np.int64)
    pitch -= pitch.min()
    span = int(pitch.max())
    distinct = np.unique(pitch)
    pitch_reach = np.minimum(semitone * np.arange(1, PITCH_LEVELS + 1), missing if missing >= 0 else np.inf)
    heavy = np.array([query.weight[pitch == one].sum() for one in distinct])
    parts = MOST / max(total, limit * total / semitone)
    cell, is_on_grid = _cell(query, grids)
    cells = np.floor(query.x / cell + EPSILON).astype(np.int64)
    reach = min(max(3.5 * limit, 1.5), 5.0)
    rounds = [_surroundings(cell, semitone, reach, (not is_on_grid) + loss, setting.ground) for loss in (0, 1)]
    stamp_rows, stamp_cells = (length // 2 for length in rounds[0].shape)
    ticks = cell / query.time_unit * TICKS_PER_QUARTER * np.array(setting.tempos, dtype=np.float64)
    whole = np.where(np.abs(ticks - np.rint(ticks)) < EPSILON, np.rint(ticks), 0).astype(np.int64)
    by_pitch = np.argsort(pitch, kind="stable")
    heaviest = np.argsort(-query.weight[by_pitch], kind="stable")
    factor = min(MOST / FAR / float(query.weight.max()), MOST / (max(limit * total, 1e-9) * FAR / reach))
    return (
        query.x,
        query.y,
        query.weight,
        query.order,
        semitone,
        cell,
        ground_code(setting),
        span,
        (span - distinct).astype(np.uint64),
        _steps(heavy, pitch_reach, max(limit * total, 1e-9)),
        _query_weights(query.weight * parts, pitch),
        parts,
        np.array(setting.tempos, dtype=np.float64),
        setting.scales_weights,
        1.0 / ticks,
        whole,
        by_pitch,
        pitch[by_pitch],
        cells[by_pitch],
        np.searchsorted(pitch[by_pitch], np.arange(span + 2)),
        heaviest,
        np.floor(query.weight[by_pitch][heaviest] * factor).astype(np.int64),
        factor,
        *_stamps(rounds),
        stamp_rows,
        stamp_cells,
        reach,
        *_query_tables(rounds, pitch, cells),
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


def _query_weights(weight: Floats, pitch: Integers) -> npt.NDArray[np.uint16]:
    """What `transpositions` wants to know of a query: its weight up to each pitch and above it, down and up."""
    pitches = pitch.max() + WIDEST + RIM - np.arange(MOST_ROWS + 95)
    below = (weight[:, None] * (pitch[:, None] <= pitches)).sum(axis=0)
    above = (weight[:, None] * (pitch[:, None] > pitches)).sum(axis=0)
    lines = [np.floor(below - 0.01), np.floor(above - 0.01), np.ceil(below + 0.01), np.ceil(above + 0.01)]
    shorts: npt.NDArray[np.uint16] = np.clip(np.concatenate(lines), 0, 65535).astype(np.uint16)
    return shorts


def _surroundings(cell: float, semitone: float, reach: float, loss: int, ground: str) -> Bytes:
    """How far it is at least to a note in the middle, in parts of `reach`, when rounding may take `loss` cells off."""
    rows, cells = ceil(reach / semitone) - 1, ceil(reach / cell)
    around = np.full((2 * rows + 1, 2 * cells + 1), FAR, dtype=np.uint8)
    for row in range(-rows, rows + 1):
        for ahead in range(-cells, cells + 1):
            time, pitch = max(abs(ahead) - loss, 0) * cell * (1 - 1e-6), abs(row) * semitone
            apart = time + pitch if ground == "cityblock" else hypot(time, pitch)
            around[row + rows, ahead + cells] = min(int(apart * FAR / reach), FAR)
    return around


def _stamps(rounds: list[Bytes]) -> tuple[Bytes, int]:
    """For documents on the grid and off it, with rows in whole lanes; where the second begins."""
    wide = ceil(rounds[0].shape[1] / LANES) * LANES
    padded = [np.pad(around, ((0, 0), (0, wide - around.shape[1])), constant_values=FAR) for around in rounds]
    return np.concatenate([around.ravel() for around in padded]), padded[0].size


def _query_tables(rounds: list[Bytes], pitch: Integers, cells: Integers) -> tuple[Bytes, int, int, int]:
    """The tables of a query that is heavier than a document, and where its lowest pitch and first cell are in them."""
    rows, wide = rounds[0].shape
    above, before = WIDEST + rows // 2, MARGIN + wide // 2
    tables = np.full((2, pitch.max() + 2 * above + 1, cells.max() + 2 * before + 1), FAR, dtype=np.uint8)
    for table, around in zip(tables, rounds, strict=True):
        for row, column in zip(pitch.tolist(), cells.tolist(), strict=True):
            part = table[row + WIDEST : row + WIDEST + rows, column + MARGIN : column + MARGIN + wide]
            np.minimum(part, around, out=part)
    rows, columns = tables.shape[1:]
    turned = np.append(tables[:, ::-1, ::-1].ravel(), np.zeros(2 * LANES, np.uint8))
    return turned, columns, tables[0].size, (rows - 1 - above) * columns + columns - 1 - before
