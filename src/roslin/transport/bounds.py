"""Lower bounds for searching: what the kernels of native/scan.h need to know about one query.

The promise: a document whose bound exceeds a limit has no coincidence alignment within it. Here is, for a query and a
limit (the largest distance of interest), everything that does not depend on the documents:

cells      Time is cut into cells that divide the query's own grid (the greatest common divisor of its onsets), so that
           its notes lie on cell borders. A document on the same grid then loses nothing to rounding; one off it loses a
           cell. A query without a usable grid loses another.
stamps     How far it is at least from a cell of a pitch to a note in another, in steps rounded down; `reach` is
           the largest number of steps that is distinguished. A long reach helps bad matches, a short one is faster.
tables     The query's notes stamped on a separate table, for documents that are lighter than the query.
"""

from __future__ import annotations

from math import ceil, gcd, hypot
from types import SimpleNamespace

import numpy as np

from roslin.melody import TICKS_PER_QUARTER
from roslin.tolerances import ON_GRID
from roslin.transport.align import Query, Setting, rules_of
from roslin.types import Floats, Numbers, UBytes, UShorts

# A cell is at most this long, in units of the query's frame, if the query then has at most this many.
CELL = 0.6
MOST_CELLS = 128
# A step of the query's grid is cut into at most this many cells.
MOST_PARTS = 24
# A longer cell is taken where at most this share of the documents more lie off its grid.
ENOUGH = 0.1
# The widest query, in semitones: its transpositions over a document of 19 semitones still fit into a word.
WIDEST_SPAN = 40
# Documents come with the totals of these weights.
BOUNDED_WEIGHTS = ("duration", "uniform")
# How far the table looks. Notes that are farther away count as if they were at `reach`; so an alignment exceeds the
# limit as soon as 1 / REACH_FACTOR of the weight is there. A small limit still distinguishes one semitone from two; a
# large limit does not look farther than stamps are worth, which take as much time as they are large.
REACH_FACTOR = 3.5
LEAST_REACH, MOST_REACH = 1.5, 5.0
# Where the limit is 0, costs are counted in parts of so small a budget.
LEAST_BUDGET = 1e-9
# More than rounding can change in a sum of weights, in parts: what is rounded down or up keeps so far off.
PART_ROUNDED = 0.01

# -- numbers that native/scan_inline.h has too; tests/transport/test_scan.py compares them ----------------------------

# UBytes in the widest register: so much room tables have at the end, and stamps on both sides.
WIDEST_REGISTER = 64
# Query weight without a document pitch so near costs 1, 2, 3 semitones, at least.
PITCH_LEVELS = 3
# The budget is cut into one part more than this: what fits into the six bits of the counters.
PITCH_STEPS = 63
# The widest spans of query and document together: transpositions must fit into a word, with room for PITCH_LEVELS.
WIDEST = 59
# So many semitones below and above a document count as pitches that weight may cross.
RIM = 8
MOST_ROWS = WIDEST + 2 * RIM + 1
# The largest number of a lane.
LARGEST = (1 << 16) - 1
# The limit as a sum of small numbers; the largest product of a distance and a weight is not much more. Sums go up to
# LARGEST, which leaves room for rounding.
LARGEST_PART = 65000
# Distances in the table: FAR is `reach` or more.
FAR = 255
# A lighter document may have this many cells before and after the query in the query's table.
MARGIN = 600
# Numbers in one of the four lines of `Heights.weights`: a register of 32 of them may begin at the last transposition
# of the last row.
LINE = MOST_ROWS + 63 + WIDEST_REGISTER // 2

# -- what the kernels need to know ------------------------------------------------------------------------------------


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


def scan_of(query: Query, setting: Setting, limit: float, grids: Numbers) -> SimpleNamespace:
    """The `scan_plan` of a query and a limit (native/scan.h); `grids` are those of some documents."""
    rules, semitone, total = rules_of(setting), query.pitch_unit, float(query.weight.sum())
    pitch = np.rint(query.y / semitone).astype(np.int64)
    pitch -= pitch.min()
    cell, is_on_grid = _cell(query, grids)
    cells = np.floor(query.x / cell + ON_GRID).astype(np.int64)
    reach = min(max(REACH_FACTOR * limit, LEAST_REACH), MOST_REACH)
    rounds = [_surroundings(cell, semitone, reach, (not is_on_grid) + loss, setting.ground) for loss in (0, 1)]
    ticks = cell / query.time_unit * TICKS_PER_QUARTER * rules.tempos
    by_pitch = np.argsort(pitch, kind="stable")
    heaviest = np.argsort(-query.weight[by_pitch], kind="stable")
    budget = max(limit * total, LEAST_BUDGET)
    factor = min(LARGEST_PART / FAR / float(query.weight.max()), LARGEST_PART / (budget * FAR / reach))
    grid = SimpleNamespace(
        cell=cell,
        is_exact=is_on_grid,
        per_tick=1.0 / ticks,
        ticks=np.where(np.abs(ticks - np.rint(ticks)) < ON_GRID, np.rint(ticks), 0).astype(np.int64),
        numbers=by_pitch,
        pitch=pitch[by_pitch],
        cells=cells[by_pitch],
        starts=np.searchsorted(pitch[by_pitch], np.arange(int(pitch.max()) + 2)),
    )
    factors = np.floor(query.weight[by_pitch][heaviest] * factor).astype(np.int64)
    return SimpleNamespace(
        query=query,
        rules=rules,
        limit=limit,
        heights=_heights(query, pitch, limit, rules.missing),
        grid=grid,
        sums=SimpleNamespace(reach=reach, factor=factor, heaviest=heaviest, factors=factors),
        stamps=_stamps(rounds),
        table=_query_table(rounds, pitch, cells),
    )


def _heights(query: Query, pitch: Numbers, limit: float, missing: float) -> SimpleNamespace:
    semitone, total, span = query.pitch_unit, float(query.weight.sum()), int(pitch.max())
    distinct = np.unique(pitch)
    reach = np.minimum(semitone * np.arange(1, PITCH_LEVELS + 1), missing if missing >= 0 else np.inf)
    heavy = np.array([query.weight[pitch == one].sum() for one in distinct])
    parts = LARGEST_PART / max(total, limit * total / semitone)
    return SimpleNamespace(
        span=span,
        semitone=semitone,
        shifts=(span - distinct).astype(np.uint64),
        steps=_steps(heavy, reach, max(limit * total, LEAST_BUDGET)),
        line=LINE,
        weights=_query_weights(query.weight * parts, pitch),
        parts=parts,
    )


def _cell(query: Query, grids: Numbers) -> tuple[float, bool]:
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


def _steps(weight: Floats, reach: Floats, budget: float) -> Numbers:
    """(pitches, levels): what missing each level adds to the cost of missing those inside it, in parts of the budget.

    Levels lie inside each other, so that only the sum must be rounded down.
    """
    cost = np.minimum(np.floor(weight[:, None] * reach[None, :] * (PITCH_STEPS + 1) / budget), PITCH_STEPS + 1)
    steps: Numbers = np.minimum(np.diff(cost, axis=1, prepend=0), PITCH_STEPS).astype(np.int64)
    return steps


def _query_weights(weight: Floats, pitch: Numbers) -> UShorts:
    """A query's weights for `transpositions_in_reach`: its weight up to each pitch and above it, down and up."""
    pitches = pitch.max() + WIDEST + RIM - np.arange(LINE)
    below = (weight[:, None] * (pitch[:, None] <= pitches)).sum(axis=0)
    above = (weight[:, None] * (pitch[:, None] > pitches)).sum(axis=0)
    down = [np.floor(line - PART_ROUNDED) for line in (below, above)]
    up = [np.ceil(line + PART_ROUNDED) for line in (below, above)]
    shorts: UShorts = np.clip(np.concatenate(down + up), 0, LARGEST).astype(np.uint16)
    return shorts


def _surroundings(cell: float, semitone: float, reach: float, loss: int, ground: str) -> UBytes:
    """How far it is at least to a note in the middle, in parts of `reach`, when rounding may take `loss` cells off."""
    rows, cells = ceil(reach / semitone) - 1, ceil(reach / cell)
    around = np.full((2 * rows + 1, 2 * cells + 1), FAR, dtype=np.uint8)
    for row in range(-rows, rows + 1):
        for ahead in range(-cells, cells + 1):
            time, pitch = max(abs(ahead) - loss, 0) * cell * (1 - ON_GRID), abs(row) * semitone
            apart = time + pitch if ground == "cityblock" else hypot(time, pitch)
            around[row + rows, ahead + cells] = min(int(apart * FAR / reach), FAR)
    return around


def _stamps(rounds: list[UBytes]) -> SimpleNamespace:
    """For documents on the grid and off it, with room on both sides of each row and at the end."""
    rows, cells = (length // 2 for length in rounds[0].shape)
    padded = [np.pad(around, ((0, 0), (WIDEST_REGISTER, WIDEST_REGISTER)), constant_values=FAR) for around in rounds]
    numbers = np.concatenate([*padded, np.full(WIDEST_REGISTER, FAR, np.uint8)], axis=None)
    stride, off_grid = padded[0].shape[1], padded[0].size
    return SimpleNamespace(numbers=numbers, stride=stride, off_grid=off_grid, rows=rows, cells=cells)


def _query_table(rounds: list[UBytes], pitch: Numbers, cells: Numbers) -> SimpleNamespace:
    """The tables of a query that is heavier than a document."""
    rows, wide = rounds[0].shape
    above, before = WIDEST + rows // 2, MARGIN + wide // 2
    tables = np.full((2, pitch.max() + 2 * above + 1, cells.max() + 2 * before + 1), FAR, dtype=np.uint8)
    for table, around in zip(tables, rounds, strict=True):
        for row, column in zip(pitch.tolist(), cells.tolist(), strict=True):
            part = table[row + WIDEST : row + WIDEST + rows, column + MARGIN : column + MARGIN + wide]
            np.minimum(part, around, out=part)
    rows, columns = tables.shape[1:]
    turned = np.append(tables[:, ::-1, ::-1].ravel(), np.zeros(WIDEST_REGISTER, np.uint8))
    place = (rows - 1 - above) * columns + columns - 1 - before
    return SimpleNamespace(numbers=turned, stride=columns, size=tables[0].size, place=place)
