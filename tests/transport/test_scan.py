"""The stages of the scan, one by one: none of them gives up an alignment that is within the limit.

The limit is the distance itself, found by comparing completely: a bound above the distance, by more than rounding,
would lose the document. So after every stage the best alignment must be among those that are left: its transposition,
its shift, its bit in the table of alignments, and in the end its bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from roslin import Melody, load
from roslin.represent.packed import pack
from roslin.represent.points import PointSets, point_sets
from roslin.search.index import Index, build_index
from roslin.starter import tunes_path
from roslin.transport._pitch_kernels import TRANSPOSITIONS, pitches_in_reach
from roslin.transport._scan_kernels import (
    EPSILON,
    Block,
    Remaining,
    Room,
    Scan,
    at_tempo,
    centres_in_reach,
    make_room,
    notes_in_reach,
    nothing_known,
    pairs_in_reach,
    scan_block,
    weight_in_reach,
)
from roslin.transport._table_kernels import AT_ONCE
from roslin.transport.align import ALIGNMENTS, Document, Query, Setting
from roslin.transport.bounds import can_be_bounded, scan_of

SETTINGS = {
    "euclidean": Setting(),
    "cityblock": Setting(ground="cityblock"),
    "uniform weights": Setting(weight="uniform", semitone=0.5),
    "missing costs nothing": Setting(missing=None),
    "slower": Setting(tempos=(2.0,)),
    "faster": Setting(tempos=(0.75,)),
}
SLACK = 1e-7  # as the search adds it to its limit
every_setting = pytest.mark.parametrize("setting", SETTINGS.values(), ids=list(SETTINGS))


@dataclass(frozen=True)
class Case:
    """A query, one document, and the alignment that is best when everything is compared."""

    scan: Scan
    block: Block
    distance: float
    bit: int  # of the transposition
    shifts: list[int]  # in cells, of every pair of notes that coincides


@dataclass(frozen=True)
class State:
    """What is left after some stages."""

    by_pitch: np.uint64
    left: Remaining
    room: Room
    bounds: np.ndarray

    @property
    def words(self) -> int:
        return int(self.left.words[0])


@cache
def melodies() -> tuple[list[Melody], Index]:
    """Tunes, their beginnings, and random melodies: long and short, on a grid and off it."""
    chance = np.random.default_rng(7)
    tunes = load(tunes_path())[::6]
    found = [*tunes, *(tune[:6] for tune in tunes[::3])]
    for _ in range(20):
        size = int(chance.integers(1, 14))
        lengths = chance.choice([0.25, 1 / 3, 0.5, 1.0, 1.5], size)
        found.append(Melody.from_notes(np.cumsum(lengths) - lengths, lengths, chance.integers(55, 80, size)))
    return found, build_index(pack(found))


def cases(setting: Setting) -> Iterator[Case]:
    """Every seventh melody as a query of eight notes, in every fifth of the others."""
    found, index = melodies()
    points = point_sets(found, pitch=setting.pitch, weight=setting.weight)
    weights = index.weights if setting.weight == "duration" else np.ones(len(index.times), np.float32)
    for q in range(0, len(found), 7):
        query = Query.of(point_sets([found[q]], pitch=setting.pitch, weight=setting.weight), setting, slice(0, 8))
        assert can_be_bounded(query, setting)
        for d in range(q % 5, len(found), 5):
            part = slice(d, d + 1)
            block = Block(
                index.words[part], index.lows[part], index.spans[part], index.grids[part], index.offsets[d : d + 2],
                index.times, index.pitches, weights, np.ones(1, np.bool_),
            )  # fmt: skip
            yield case(query, points, d, block, setting, index)


def case(query: Query, points: PointSets, d: int, block: Block, setting: Setting, index: Index) -> Case:
    document = Document.of(points, d, setting)
    distance, x, y, tempo = ALIGNMENTS["coincidence"](query, document, setting)
    scan = scan_of(query, setting, distance * (1 + SLACK) + SLACK, index.grids.astype(np.int64))
    # In the frame of the query: where the document's notes lie, and the query's after the best move.
    there_x, there_y = document.time * query.time_unit / tempo, document.pitch * query.pitch_unit
    moved_x, moved_y = query.x + x, query.y + y
    start, end = block.offsets.tolist()
    cells = np.floor(block.times[start:end] * scan.grid.per_tick[0] + EPSILON).astype(int)
    own_cells = np.empty(len(query.x), int)
    own_cells[scan.grid.numbers] = scan.grid.cells
    meets = np.abs(np.subtract.outer(moved_x, there_x)) + np.abs(np.subtract.outer(moved_y, there_y)) < 1e-6
    shifts = [int(cells[j] - own_cells[i]) for i, j in np.argwhere(meets).tolist()]
    assert shifts, "in the best alignment some notes coincide"
    lowest = round(float(moved_y.min()) / query.pitch_unit) - int(block.lows[0])
    return Case(scan, block, distance, scan.heights.span + lowest, shifts)


def after(case: Case, stages: int) -> State:
    """What is left after so many stages; the first looks at pitches only."""
    scan, block, bounds = case.scan, case.block, np.empty(1)
    by_pitch = pitches_in_reach(block.words, scan.heights)
    left, room = nothing_known(block, scan, bounds), room_for(block, scan)
    if stages >= 2:
        weight_in_reach(block, scan, by_pitch, bounds, left, room)
    if stages >= 3:
        centres_in_reach(block, scan, bounds, left, room)
    here = at_tempo(left, 0)
    if stages >= 4:
        assert notes_in_reach(block, scan, 0, bounds, here, room, 0) == 1
    if stages >= 5:
        pairs_in_reach(block, scan, 0, bounds, here, room, 0, 1)
    return State(by_pitch[0], here, room, bounds)


def room_for(block: Block, scan: Scan) -> Room:
    """Room for the documents of a block alone."""
    return make_room(scan, int(np.diff(block.offsets).max()), int(block.times[block.offsets[1:] - 1].max()))


@every_setting
def test_pitches_that_occur(setting: Setting) -> None:
    """Where missing weight costs nothing, the stage does not count for lighter documents: they have a lower base."""
    given_up = 0
    for each in cases(setting):
        alive = int(after(each, 1).by_pitch)
        start, end = each.block.offsets.tolist()
        tempo = setting.tempos[0] if setting.scales_weights else 1.0
        is_light = each.block.weights[start:end].sum() / tempo < each.scan.query.weight.sum()
        assert alive >> each.bit & 1 or (is_light and setting.missing is None)
        given_up += alive.bit_count() < TRANSPOSITIONS // 4
    assert given_up, "the stage gives transpositions up"


@every_setting
def test_weight_that_crosses_a_pitch(setting: Setting) -> None:
    fewer = 0
    for each in cases(setting):
        state = after(each, 2)
        assert state.words >> each.bit & 1
        fewer += state.words.bit_count() < int(state.by_pitch).bit_count()
    assert fewer, "the stage gives transpositions up"


@every_setting
def test_centres(setting: Setting) -> None:
    narrower = 0
    for each in cases(setting):
        state = after(each, 3)
        first, last = int(state.left.first[0]), int(state.left.last[0])
        assert state.words >> each.bit & 1
        assert all(first <= shift <= last for shift in each.shifts)
        narrower += first > -int(each.scan.grid.cells.max())
    assert narrower, "the stage gives shifts up"


@every_setting
def test_nearest_notes(setting: Setting) -> None:
    fewer = 0
    for each in cases(setting):
        state = after(each, 4)
        assert state.words >> each.bit & 1
        first, place = int(state.left.first[0]), int(state.left.places[0])
        for shift in each.shifts:
            ahead = shift - first
            word = int(state.room.possible[place + TRANSPOSITIONS * (ahead // AT_ONCE) + each.bit])
            assert word >> (ahead % AT_ONCE) & 1
            fewer += word.bit_count() < AT_ONCE
    assert fewer, "the stage gives alignments up"


@every_setting
def test_pairs(setting: Setting) -> None:
    """The bound that comes out is not above the distance, and not always far below it."""
    close = 0
    for each in cases(setting):
        bound = float(after(each, 5).bounds[0])
        assert bound <= each.distance + SLACK
        close += bound > 0.5 * each.distance > 0
        whole = np.empty(1)
        scan_block(each.block, each.scan, room_for(each.block, each.scan), whole)
        assert whole[0] == bound
    assert close


def test_a_limit_below_the_distance_gives_up() -> None:
    """The other side: with a tenth of the distance as limit, most documents are given up before anything is solved."""
    lost = total = 0
    for each in cases(Setting()):
        if each.distance > 0.2:
            bounds = np.empty(1)
            low = each.scan._replace(limit=each.distance / 10)
            scan_block(each.block, low, room_for(each.block, low), bounds)
            lost, total = lost + np.isinf(bounds[0]), total + 1
    assert lost > 0.5 * total


def test_many_tempos_are_one_scan_with_the_least_bound() -> None:
    """Above the limit at every tempo: infinite. Else no more than at the best of them, scanned by itself."""
    found, index = melodies()
    tempos = (0.5, 0.75, 1.0, 2.0)
    allowed, limit, finite = np.ones(len(found), bool), 0.6, 0
    for q in range(0, len(found), 9):
        bounds = []
        for chosen in [tempos, *((tempo,) for tempo in tempos)]:
            setting = Setting(tempos=chosen)
            query = Query.of(point_sets([found[q]]), setting, slice(0, 8))
            scan = scan_of(query, setting, limit, index.grids.astype(np.int64))
            block = Block(
                index.words, index.lows, index.spans, index.grids, index.offsets, index.times, index.pitches,
                index.weights, allowed,
            )  # fmt: skip
            bounds.append(np.empty(len(found)))
            scan_block(block, scan, room_for(block, scan), bounds[-1])
        together, apart = bounds[0], np.min(bounds[1:], axis=0)
        assert np.array_equal(np.isfinite(together), np.isfinite(apart))
        assert np.allclose(together, apart, atol=1e-6)
        finite += int(np.isfinite(apart).sum())
    assert finite
