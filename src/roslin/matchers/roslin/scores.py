"""The scores of the alignment's steps: fitted numbers in nats, read from `scores.json`, as the kernels' whole units.

Every way to compare (`both`, `melody`, `rhythm`, `contour`) has its own `FittedWorth`. Where two melodies may lie
on each other (`place`) changes prices:

    anywhere   what is left out at an end of the shorter or the longer melody has a fitted price, a[x > 0] + b ln(1 + x)
    start      both begin together: notes left out before the first pair cost as much as a gap; what follows the last
               pair of the longer one is free
    end        both end together: the same from the other side
    whole      notes left out at any end cost as much as a gap

`tools/fit_roslin.py` fits the numbers and writes the file, with its provenance.

`Encoded` and `Tables` are what the kernels read: melodies as bytes (`table.encoded`) and the worth of everything in
whole units (`tables`). A `Plan` is a query with the same tables, rounded for lanes of bytes or of 16 bits, in which
many melodies are compared side by side. `native/roslin_blocks.c` explains why bounds in bytes are bounds. The headers
in `roslin/native` declare structs with fields of the same names.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError
from roslin.types import Bytes, Ints, Numbers, Shorts

LANES = 16  # places for transpositions side by side; the last four of them are empty
FARTHEST = -(1 << 28)  # lower than any score, and far from where a sum of two of them overflows
NO_INTERVAL = 127  # of a melody's first note
PAIR, SKIP_MELODY, SKIP_QUERY = 0, 1, 2  # kinds of steps of an alignment


class Encoded(NamedTuple):
    """Notes of many melodies end to end; melody k is offsets[k] to offsets[k + 1]. `notes` describes the fields."""

    offsets: Numbers  # [melodies + 1]
    tempos: Bytes  # [melodies]: the median of each melody's values
    pitches: Bytes  # [notes]: pitch class, 0 to 11
    values: Bytes  # [notes]: g, the note value in quarters of an octave of time
    intervals: Bytes  # [notes]: semitones from the note before, NO_INTERVAL for the first
    kinds: Bytes  # [notes]: 3 x size of the interval + duration class, 0 to 11
    gaps: Bytes  # [notes]: duration class: short, usual or long
    labels: Bytes  # [notes]: 1 + 3 x metre + phrase; 0 if neither is known


class Tables(NamedTuple):
    """The worth of everything, in whole units. `scores.FittedWorth` describes the numbers."""

    equal: Ints  # [11]: of a pair of equal pitch, by the difference of its values, 0 to 10 and more
    near: Ints  # [11]: of a pair of unequal pitch, by the same
    pitch: Ints  # [12 * 16]: of an unequal pitch r semitones above the query's, at transposition u; 0 if it is equal
    is_equal: Ints  # [12 * 16]: 1 where a pitch r semitones above the query's is equal at transposition u
    contexts: Ints  # [2, 4]: of equal and unequal pitch, by 1 if the intervals before are equal + 2 if those after are
    kinds: Ints  # [12]: of each of two notes of equal pitch
    labels: Ints  # [16, 16]: by the labels of the two notes
    openings: Ints  # [3]: the price of the first note of a gap, by its duration class
    extension: int  # the price of every further note of a gap
    starts: Ints  # [3, longest + 1]: the price of notes left out before the first pair, of the shorter melody, of the
    # longer, of one of two equally long; as many as there are, or `longest` where there are more
    ends: Ints  # [3, longest + 1]: the same behind the last pair
    tempo_prices: Ints  # [1 or 4]: as written, by the medians, double, half
    lanes: Ints  # [16]: 0 for a transposition that is allowed, else FARTHEST


COMPARED = ("both", "melody", "rhythm", "contour")
PLACES = ("anywhere", "start", "end", "whole")
KEYS = ("any", "written")

UNITS = 32  # to a nat: fine enough that rounding moves no list that matters
HIGHEST_PRICE = 4000  # units: enough to keep any alignment away, and little enough for sums in 16 bits
_KINDS = 3  # of metre and of phrase
_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # of kinds, in the order of `metre` and `phrase`
_TRANSPOSITIONS = 12


@dataclass(frozen=True)
class FittedWorth:
    """Worths and prices in nats. Prices are above 0; of two numbers the first is the shorter melody's."""

    equal: tuple[float, ...]  # a pair of equal pitch, by how unlike its note values are, 0 to 10 quarter octaves
    pitch: tuple[float, ...]  # a pair of unequal pitch, by the pitch-class difference, 1 to 6 semitones ...
    near: tuple[float, ...]  # ... and by how unlike its note values are
    kinds: tuple[float, ...]  # of equal pitch: interval (0, to 2, to 4, more semitones) x short, usual or long note
    equal_context: tuple[float, ...]  # of equal pitch: the interval before is equal, or that after, or both
    near_context: tuple[float, ...]  # the same of unequal pitch
    openings: tuple[float, ...]  # the first note of a gap: short, usual, long
    extension: float  # every further note
    start_any: tuple[float, ...]
    start_more: tuple[float, ...]
    end_any: tuple[float, ...]
    end_more: tuple[float, ...]
    tempo: tuple[float, ...]  # by the medians of the note values; double or half
    metre: tuple[float, ...]  # weak, middling, strong of both
    phrase: tuple[float, ...]  # within, end, start of both

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            object.__setattr__(self, name, tuple(value) if isinstance(value, (list, tuple)) else float(value))


@cache
def fitted(compared: str) -> FittedWorth:
    """The numbers of one way to compare."""
    return FittedWorth(**_file()["worth"][compared])


@cache
def _file() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(files(__package__).joinpath("scores.json").read_text("utf-8"))
    return content


def units(values: float | Sequence[Any] | npt.NDArray[np.float64]) -> Ints:
    """Nats as whole units."""
    return np.rint(np.asarray(values, dtype=np.float64) * UNITS).astype(np.int32)


def tables(
    worth: FittedWorth, longest: int, *, compared: str = "both", place: str = "anywhere", key: str = "any"
) -> Tables:
    """The tables of the kernels, for melodies of at most `longest` notes."""
    lane, turn = np.meshgrid(np.arange(LANES), np.arange(_TRANSPOSITIONS))
    apart = np.minimum((turn - lane) % _TRANSPOSITIONS, (lane - turn) % _TRANSPOSITIONS)
    is_equal = (apart == 0) | (compared == "rhythm")
    left_out = np.arange(longest + 1)
    gap = (left_out > 0) * (np.median(worth.openings) - worth.extension) + worth.extension * left_out
    start = gap if place in ("start", "whole") else None
    end = gap if place in ("end", "whole") else None
    allowed = np.full(LANES, FARTHEST, dtype=np.int32)
    allowed[: _TRANSPOSITIONS if key == "any" and compared in ("both", "melody") else 1] = 0
    has_tempo = compared in ("both", "rhythm")
    return Tables(
        units(worth.equal),
        units(worth.near),
        units(np.where(is_equal, 0.0, np.array((0.0, *worth.pitch))[apart])).ravel(),
        is_equal.astype(np.int32).ravel(),
        units([worth.equal_context, worth.near_context]),
        units(np.array(worth.kinds) / 2),  # half from each of the two notes
        units(_label_worths(worth)),
        units(worth.openings),
        int(units(worth.extension)),
        _end_prices(worth.start_any, worth.start_more, left_out, start, is_free=place == "end"),
        _end_prices(worth.end_any, worth.end_more, left_out, end, is_free=place == "start"),
        units([0.0, worth.tempo[0], worth.tempo[1], worth.tempo[1]] if has_tempo else [0.0]),
        allowed,
    )


def _end_prices(
    any_: Sequence[float],
    more: Sequence[float],
    left_out: npt.NDArray[np.int64],
    gap: npt.NDArray[np.float64] | None,
    *,
    is_free: bool = False,
) -> Ints:
    """Prices of notes left out at one end: of the shorter melody, of the longer, of one of two equally long."""
    both = np.array([a * (left_out > 0) + b * np.log1p(left_out) for a, b in zip(any_, more, strict=True)])
    if gap is not None:
        both[:] = gap
    if is_free:
        both[1] = 0.0
    return np.minimum(units(np.vstack([both, both.mean(axis=0)])), HIGHEST_PRICE)


def _label_worths(worth: FittedWorth) -> npt.NDArray[np.float64]:
    """By the labels of both notes, 1 + 3 metre + phrase; 0, a note without a label, is worth nothing."""
    metre, phrase = np.zeros((_KINDS, _KINDS)), np.zeros((_KINDS, _KINDS))
    for place, (a, b) in enumerate(_PAIRS):
        metre[a, b] = metre[b, a] = worth.metre[place]
        phrase[a, b] = phrase[b, a] = worth.phrase[place]
    found = np.zeros((16, 16))
    for m, p, n, q in product(range(_KINDS), repeat=4):
        found[1 + _KINDS * m + p, 1 + _KINDS * n + q] = metre[m, n] + phrase[p, q]
    return found


# -- plans ------------------------------------------------------------------------------------------------------------

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


class Planner:
    """The plans of queries with the same tables, which are rounded once."""

    def __init__(self, tables: Tables):
        check(tables)
        self.tables = tables
        self._rounded = dict[tuple[int | None, bool], Plan]()

    def plan(self, query: Encoded, scale: int | None = None, combined: bool = False) -> Plan:
        """A query and the tables: in bytes of 256 / `scale` units for bounds, or in 16 bits, where nothing is rounded.

        In bytes, every note left out costs the least that any can cost. With all tempos combined, a difference of
        values is worth the most that any difference at least as large is worth, so that the smallest of several
        differences bounds them all.
        """
        # Two threads that ask at the same moment both round. One of the two plans, which are equal, stays.
        if (scale, combined) not in self._rounded:
            self._rounded[scale, combined] = _rounded(self.tables, scale, combined)
        return _of_query(self._rounded[scale, combined], query)


def _rounded(tables: Tables, scale: int | None, combined: bool) -> Plan:
    """The plan of no query: its rows of labels, contexts and openings are those of every label, kind and class."""
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
    no_notes = np.empty(0, np.int64)
    return Plan(
        size=0,
        scale=scale,
        unit=unit,
        most=most,
        turns=np.append(turns, np.full(-len(turns) % TURNS, turns[-1])).astype(np.int64),
        pitches=no_notes,
        values=np.empty(0, np.int8),
        value_of=no_notes,
        label_of=no_notes,
        intervals=np.empty(0, np.int8),
        equal=sums(equal),
        near=sums(near),
        kinds=sums(np.append(tables.kinds, np.zeros(_ENTRIES - len(tables.kinds), np.int64))),
        labels=shorts(scale * np.asarray(tables.labels, dtype=np.int64)),
        equal_context=shorts(contexts[0][None, :] + scale * np.asarray(tables.kinds, dtype=np.int64)[:, None]),
        near_context=shorts(contexts[1]),
        pitch=shorts(_pitch(tables, scale, unit, most)),
        kind_openings=costs(np.append(tables.openings[np.arange(12) % 3], np.zeros(_ENTRIES - 12))),
        openings=costs(tables.openings),
        extension=int(costs(min(int(tables.extension), *tables.openings.tolist()) if unit > 1 else tables.extension)),
        starts=costs(tables.starts),
        ends=costs(tables.ends),
        highest_ends=np.maximum.accumulate(costs(tables.ends), axis=1),
        median=0,
        tempo_prices=tables.tempo_prices,
        cheapest=int(tables.tempo_prices.min()),
    )


def _of_query(plan: Plan, query: Encoded) -> Plan:
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
    return plan._replace(
        size=size,
        pitches=padded(query.pitches),
        values=values.astype(np.int8),
        value_of=padded(value_of),
        label_of=padded(label_of),
        intervals=intervals,
        labels=plan.labels[labels],
        equal_context=contexts(plan.equal_context[query.kinds]),
        near_context=contexts(plan.near_context),
        openings=plan.openings[padded(query.gaps)],
        median=int(query.tempos[0]),
    )


def _pitch(tables: Tables, scale: int, unit: int, most: int) -> Numbers:
    """[12, 16]: what a pitch class is worth beside each of the twelve; the most for an equal one."""
    worth = np.asarray(tables.pitch, dtype=np.int64).reshape(12, LANES)[:, 0]
    is_equal = np.asarray(tables.is_equal).reshape(12, LANES)[:, 0] != 0
    rounded = np.where(is_equal, most, np.clip(-(-worth * scale // unit), -most - 1, most))
    table = np.full((12, _ENTRIES), -most - 1, dtype=np.int64)
    table[:, :12] = rounded[(np.arange(12) - np.arange(12)[:, None]) % 12]
    return table
