"""The tables of the exact score, rounded for lanes of bytes or of 16 bits.

`native/roslin_blocks.c` explains why bounds in bytes are bounds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError
from roslin.matchers.roslin.scores import HIGHEST_PRICE
from roslin.matchers.roslin.table import NO_PITCH
from roslin.matchers.roslin.values import FARTHEST, LANES, NO_INTERVAL, Encoded, Tables
from roslin.types import Bytes, Ints, Numbers, Shorts

UNKNOWN = 1 << 28  # no bound
TURNS = 3  # transpositions in one sweep of the kernels
NONE = -128  # an interval that equals no other
_UNIT = 256  # sums in 16 bits make one byte
_ENTRIES = 16
_LOWEST = -(1 << 15)
_MOST_IN_BYTES, _MOST_IN_SHORTS = (1 << 7) - 1, (1 << 15) - 1
_LONGEST_IN_BYTES = 64  # notes of a query; for longer ones a byte is too coarse


class Plan(NamedTuple):
    """A query and all tables, rounded for one kind of lanes; rows are the query's notes, made even in number."""

    size: int  # notes
    scale: int  # `unit` / `scale` units of the exact score make one of this
    unit: int  # 256 in bytes, 1 in 16 bits
    most: int  # the largest number of a lane
    turns: Numbers  # transpositions that are allowed, a multiple of TURNS
    pitches: Numbers  # [rows]
    values: Bytes  # the different g of the query
    value_of: Numbers  # [rows]: which of them
    label_of: Numbers  # [rows]: which row of `labels`
    intervals: Bytes  # [rows + 1], NONE where there is none
    equal: Shorts  # [16]
    near: Shorts  # [16]
    kinds: Shorts  # [16]
    labels: Shorts  # [different labels of the query, 16]
    equal_context: Shorts  # [rows, 4], with what depends on the row alone
    near_context: Shorts  # [rows, 4]
    pitch: Shorts  # [12, 16]: of a pitch class above another
    kind_openings: Shorts  # [16]
    openings: Shorts  # [rows]
    extension: int
    starts: Shorts  # [3, longest + 1]
    ends: Shorts
    highest_ends: Shorts  # [3, longest + 1]: the highest so far of `ends`
    median: int
    tempo_prices: Ints
    cheapest: int  # of `tempo_prices`


def check(tables: Tables) -> None:
    """Refuse tables for which bounds would not hold."""
    pitch = np.asarray(tables.pitch).reshape(12, LANES)
    is_equal = np.asarray(tables.is_equal).reshape(12, LANES) != 0
    turn, lane = np.indices((12, 12))
    for each in (pitch, is_equal):
        if (each[:, :12] != each[(turn - lane) % 12, 0]).any():
            raise ArgumentError("what a pitch is worth must depend on its distance alone, for all transpositions")
    if not set(np.unique(tables.lanes[:12]).tolist()) <= {0, FARTHEST} or not (tables.lanes[:12] == 0).any():
        raise ArgumentError(f"lanes must be 0 or {FARTHEST}, and at least one 0; got {tables.lanes.tolist()}")
    prices = (tables.openings, tables.starts, tables.ends, tables.tempo_prices, np.array([tables.extension]))
    if min(int(each.min()) for each in prices) < 0 or max(int(each.max()) for each in prices) > HIGHEST_PRICE:
        raise ArgumentError(f"costs must be 0 to {HIGHEST_PRICE} units")
    if not 1 <= len(tables.tempo_prices) <= 4:
        raise ArgumentError(f"there must be one to four tempos; got {len(tables.tempo_prices)}")
    worth = (tables.equal, tables.near, tables.pitch, tables.contexts, tables.kinds, tables.labels)
    if max(int(np.abs(each).max()) for each in worth) > HIGHEST_PRICE // 2:
        raise ArgumentError(f"nothing may be worth more than {HIGHEST_PRICE // 2} units, for or against")
    equal = tables.equal[:, None] + tables.contexts[0] + 2 * int(tables.kinds.min())
    near = tables.near[:, None] + tables.contexts[1]
    others = pitch[:, 0][~is_equal[:, 0]]
    if len(others) and (equal < near + int(others.max())).any():
        raise ArgumentError(
            "equal pitches must be worth at least as much as others in the same rhythm and surroundings"
        )


def highest_pair(tables: Tables) -> int:
    """No pair of notes is worth more."""
    equal = int(tables.equal.max() + tables.contexts[0].max()) + 2 * int(tables.kinds.max())
    near = int(tables.near.max() + tables.contexts[1].max() + tables.pitch.max())
    return max(equal, near) + int(tables.labels.max())


def scale_for(size: int, highest: float, tables: Tables) -> int | None:
    """Bytes of 256 / this many units hold scores up to `highest`; None where bytes are too coarse for the query.

    The largest and the smallest worth must fit side by side, or equal pitches could not be distinguished from others.
    """
    if size > _LONGEST_IN_BYTES:
        return None
    room = max(highest, 1) + int(tables.ends.max(axis=1).max()) / 2
    lowest = int(tables.near.min() + tables.contexts[1].min() + tables.labels.min())
    widest = max(highest_pair(tables), 1) + max(-lowest, 0)
    return max(min(int(127 * _UNIT / room), 120 * _UNIT // widest), 1)


def plan_of(query: Encoded, tables: Tables, scale: int | None = None, combined: bool = False) -> Plan:
    """A query and the tables: in bytes of 256 / `scale` units for bounds, or in 16 bits, where nothing is rounded.

    In bytes, every note left out costs the least that any can cost. With all tempos combined, a difference of values
    is worth the most that any difference at least as large is worth, so that the smallest of several differences bounds
    them all.
    """
    return _plan(query, _rounded(tables, scale, combined))


class Planner:
    """The plans of many queries with the same tables, each as `plan_of` makes it; tables are rounded once."""

    def __init__(self, tables: Tables):
        check(tables)
        self.tables = tables
        self._rounded = dict[tuple[int | None, bool], _Rounded]()

    def plan(self, query: Encoded, scale: int | None = None, combined: bool = False) -> Plan:
        """The plan of a query."""
        rounded = self._rounded.get((scale, combined))
        if rounded is None:
            rounded = self._rounded[scale, combined] = _rounded(self.tables, scale, combined)
        return _plan(query, rounded)


class _Rounded(NamedTuple):
    """All of a plan that does not depend on the query, in the units of the plan."""

    scale: int
    unit: int
    most: int
    turns: Numbers
    equal: Shorts
    near: Shorts
    kinds: Shorts
    labels: Shorts  # [16, 16]
    equal_contexts: Shorts  # [kinds, 4]
    near_context: Shorts  # [4]
    pitch: Shorts
    kind_openings: Shorts
    openings: Shorts  # [3]
    extension: int
    starts: Shorts
    ends: Shorts
    highest_ends: Shorts
    tempo_prices: Ints
    cheapest: int


def _rounded(tables: Tables, scale: int | None, combined: bool) -> _Rounded:
    most, unit = (_MOST_IN_SHORTS, 1) if scale is None else (_MOST_IN_BYTES, _UNIT)
    scale = scale or 1
    upwards = unit - 1

    def shorts(values: npt.ArrayLike) -> Shorts:
        return np.clip(np.asarray(values, dtype=np.int64), _LOWEST, -_LOWEST - 1).astype(np.int16)

    def sums(values: npt.NDArray[Any]) -> Shorts:
        made = values.astype(np.int64) * scale
        return shorts(np.append(made, np.full(_ENTRIES - len(made), made[-1])))

    def costs(values: npt.ArrayLike) -> Shorts:
        return shorts(np.minimum(np.asarray(values, dtype=np.int64) * scale // unit, most))

    equal, near = tables.equal.astype(np.int64), tables.near.astype(np.int64)
    if combined and len(tables.tempo_prices) > 1:
        equal, near = (np.maximum.accumulate(each[::-1])[::-1] for each in (equal, near))
    turns = np.flatnonzero(tables.lanes[:12] == 0)
    contexts = scale * np.asarray(tables.contexts, dtype=np.int64) + upwards
    return _Rounded(
        scale,
        unit,
        most,
        np.append(turns, np.full(-len(turns) % TURNS, turns[-1])).astype(np.int64),
        sums(equal),
        sums(near),
        sums(np.append(tables.kinds, np.zeros(_ENTRIES - len(tables.kinds), np.int64))),
        shorts(scale * np.asarray(tables.labels, dtype=np.int64)),
        shorts(contexts[0][None, :] + scale * np.asarray(tables.kinds, dtype=np.int64)[:, None]),
        shorts(contexts[1]),
        shorts(_pitch(tables, scale, unit, most)),
        costs(np.append(tables.openings[np.arange(12) % 3], np.zeros(_ENTRIES - 12))),
        costs(tables.openings),
        int(costs(min(int(tables.extension), *tables.openings.tolist()) if unit > 1 else tables.extension)),
        costs(tables.starts),
        costs(tables.ends),
        np.maximum.accumulate(costs(tables.ends), axis=1),
        tables.tempo_prices,
        int(tables.tempo_prices.min()),
    )


def _plan(query: Encoded, rounded: _Rounded) -> Plan:
    size = len(query.pitches)
    rows = size + size % 2

    def padded(values: npt.ArrayLike) -> Numbers:
        made = np.zeros(rows, dtype=np.int64)
        made[:size] = values
        return made

    def contexts(values: Shorts) -> Shorts:
        made = np.full((rows, 4), _LOWEST, dtype=np.int16)
        made[:size] = values
        return made

    values, value_of = np.unique(query.values, return_inverse=True)
    labels, label_of = np.unique(query.labels, return_inverse=True)
    intervals = np.full(rows + 1, NONE, dtype=np.int8)
    intervals[1:size] = query.intervals[1:]
    return Plan(
        size,
        rounded.scale,
        rounded.unit,
        rounded.most,
        rounded.turns,
        padded(query.pitches),
        values.astype(np.int8),
        padded(value_of),
        padded(label_of),
        intervals,
        rounded.equal,
        rounded.near,
        rounded.kinds,
        rounded.labels[labels],
        contexts(rounded.equal_contexts[query.kinds]),
        contexts(rounded.near_context),
        rounded.pitch,
        rounded.kind_openings,
        rounded.openings[padded(query.gaps)],
        rounded.extension,
        rounded.starts,
        rounded.ends,
        rounded.highest_ends,
        int(query.tempos[0]),
        rounded.tempo_prices,
        rounded.cheapest,
    )


def _pitch(tables: Tables, scale: int, unit: int, most: int) -> Numbers:
    """[12, 16]: what a pitch class is worth beside each of the twelve; the most for an equal one."""
    worth = np.asarray(tables.pitch, dtype=np.int64).reshape(12, LANES)[:, 0]
    is_equal = np.asarray(tables.is_equal).reshape(12, LANES)[:, 0] != 0
    rounded = np.where(is_equal, most, np.clip(-(-worth * scale // unit), -most - 1, most))
    table = np.full((12, _ENTRIES), -most - 1, dtype=np.int64)
    table[:, :12] = rounded[(np.arange(12) - np.arange(12)[:, None]) % 12]
    return table


assert NO_INTERVAL != NONE
assert NO_PITCH < _ENTRIES
