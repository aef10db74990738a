"""The stages of the scan, one by one: none of them gives up an alignment that is within the limit.

The limit is the distance itself, found by comparing completely: a bound above the distance, by more than rounding,
would lose the document. So after every stage the best alignment must be among those that are left: its transposition,
its shift, its bit in the table of alignments, and in the end its bound.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from roslin import Melody, load
from roslin.native import build, kernels
from roslin.represent.packed import pack
from roslin.represent.points import PointSets, point_sets
from roslin.search.engines.emd import Index, build_index
from roslin.starter import tunes_path
from roslin.tolerances import ON_GRID
from roslin.transport import bounds
from roslin.transport.align import Document, Query, Setting, best_alignment
from roslin.transport.bounds import can_be_bounded, scan_of

# Transpositions, and shifts, that are the bits of a word.
TRANSPOSITIONS = AT_ONCE = 64
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

    scan: SimpleNamespace
    block: SimpleNamespace
    distance: float
    bit: int  # of the transposition
    shifts: list[int]  # in cells, of every pair of notes that coincides


@dataclass(frozen=True)
class State:
    """What is left of a document after some stages: transpositions as bits, shifts in cells, bits of alignments."""

    by_pitch: int
    words: int
    first: int
    last: int
    possible: np.ndarray


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
            block = block_of(index, weights, d, d + 1)
            yield case(query, points, d, block, setting, index)


def block_of(index: Index, weights: np.ndarray, start: int, stop: int) -> SimpleNamespace:
    """The documents from `start` to `stop`, all of them asked for."""
    part = slice(start, stop)
    return SimpleNamespace(
        words=index.words[part], lows=index.lows[part], spans=index.spans[part], grids=index.grids[part],
        offsets=index.offsets[start : stop + 1], times=index.times, pitches=index.pitches, weights=weights,
        allowed=np.ones(stop - start, np.bool_),
    )  # fmt: skip


def case(query: Query, points: PointSets, d: int, block: SimpleNamespace, setting: Setting, index: Index) -> Case:
    document = Document.of(points, d, setting)
    distance, x, y, tempo = best_alignment(query, document, setting)
    scan = scan_of(query, setting, distance * (1 + SLACK) + SLACK, index.grids.astype(np.int64))
    # In the frame of the query: where the document's notes lie, and the query's after the best move.
    there_x, there_y = document.time * query.time_unit / tempo, document.pitch * query.pitch_unit
    moved_x, moved_y = query.x + x, query.y + y
    start, end = block.offsets.tolist()
    cells = np.floor(block.times[start:end] * scan.grid.per_tick[0] + ON_GRID).astype(int)
    own_cells = np.empty(len(query.x), int)
    own_cells[scan.grid.numbers] = scan.grid.cells
    meets = np.abs(np.subtract.outer(moved_x, there_x)) + np.abs(np.subtract.outer(moved_y, there_y)) < 1e-6
    shifts = [int(cells[j] - own_cells[i]) for i, j in np.argwhere(meets).tolist()]
    assert shifts, "in the best alignment some notes coincide"
    lowest = round(float(moved_y.min()) / query.pitch_unit) - int(block.lows[0])
    return Case(scan, block, distance, scan.heights.span + lowest, shifts)


def after(case: Case, stages: int) -> State:
    """What is left after so many stages; the first looks at pitches only."""
    words, shifts, possible = np.zeros(2, np.uint64), np.zeros(2, np.int64), np.zeros(1 << 14, np.uint64)
    kernels.scan_stages(case.block, case.scan, 0, 0, stages, words, shifts, possible)
    return State(int(words[0]), int(words[1]), int(shifts[0]), int(shifts[1]), possible)


def bounds_of(block: SimpleNamespace, scan: SimpleNamespace) -> np.ndarray:
    """The bounds that the whole scan gives."""
    found = np.empty(len(block.words))
    kernels.scan_block(block, scan, found)
    return found


@pytest.mark.long
@every_setting
def test_pitches_that_occur(setting: Setting) -> None:
    """Where missing weight costs nothing, the stage does not count for lighter documents: they have a lower base."""
    given_up = 0
    for each in cases(setting):
        alive = after(each, 1).by_pitch
        start, end = each.block.offsets.tolist()
        tempo = setting.tempos[0] if setting.scales_weights else 1.0
        is_light = each.block.weights[start:end].sum() / tempo < each.scan.query.weight.sum()
        assert alive >> each.bit & 1 or (is_light and setting.missing is None)
        given_up += alive.bit_count() < TRANSPOSITIONS // 4
    assert given_up, "the stage gives transpositions up"


@pytest.mark.long
@every_setting
def test_weight_that_crosses_a_pitch(setting: Setting) -> None:
    fewer = 0
    for each in cases(setting):
        state = after(each, 2)
        assert state.words >> each.bit & 1
        fewer += state.words.bit_count() < state.by_pitch.bit_count()
    assert fewer, "the stage gives transpositions up"


@pytest.mark.long
@every_setting
def test_centres(setting: Setting) -> None:
    narrower = 0
    for each in cases(setting):
        state = after(each, 3)
        assert state.words >> each.bit & 1
        assert all(state.first <= shift <= state.last for shift in each.shifts)
        narrower += state.first > -int(each.scan.grid.cells.max())
    assert narrower, "the stage gives shifts up"


@pytest.mark.long
@every_setting
def test_nearest_notes(setting: Setting) -> None:
    fewer = 0
    for each in cases(setting):
        state = after(each, 4)
        assert state.words >> each.bit & 1
        for shift in each.shifts:
            ahead = shift - state.first
            word = int(state.possible[TRANSPOSITIONS * (ahead // AT_ONCE) + each.bit])
            assert word >> (ahead % AT_ONCE) & 1
            fewer += word.bit_count() < AT_ONCE
    assert fewer, "the stage gives alignments up"


@pytest.mark.long
@every_setting
def test_pairs(setting: Setting) -> None:
    """The bound that comes out is not above the distance, and not always far below it."""
    close = 0
    for each in cases(setting):
        bound = float(bounds_of(each.block, each.scan)[0])
        assert bound <= each.distance + SLACK
        close += bound > 0.5 * each.distance > 0
    assert close


def test_a_limit_below_the_distance_gives_up() -> None:
    """The other side: with a tenth of the distance as limit, most documents are given up before anything is solved."""
    lost = total = 0
    for each in cases(Setting()):
        if each.distance > 0.2:
            bound = bounds_of(each.block, SimpleNamespace(**{**vars(each.scan), "limit": each.distance / 10}))[0]
            lost, total = lost + np.isinf(bound), total + 1
    assert lost > 0.5 * total


def test_many_tempos_are_one_scan_with_the_least_bound() -> None:
    """Above the limit at every tempo: infinite. Else no more than at the best of them, scanned by itself."""
    found, index = melodies()
    tempos = (0.5, 0.75, 1.0, 2.0)
    limit, finite = 0.6, 0
    for q in range(0, len(found), 9):
        found_bounds = []
        for chosen in [tempos, *((tempo,) for tempo in tempos)]:
            setting = Setting(tempos=chosen)
            query = Query.of(point_sets([found[q]]), setting, slice(0, 8))
            scan = scan_of(query, setting, limit, index.grids.astype(np.int64))
            block = block_of(index, index.weights, 0, len(found))
            found_bounds.append(bounds_of(block, scan))
        together, apart = found_bounds[0], np.min(found_bounds[1:], axis=0)
        assert np.array_equal(np.isfinite(together), np.isfinite(apart))
        assert np.allclose(together, apart, atol=1e-6)
        finite += int(np.isfinite(apart).sum())
    assert finite


def test_numbers_that_python_and_c_both_have() -> None:
    limits = np.empty(11)
    kernels.scan_limits(limits)
    assert limits.tolist() == [
        bounds.WIDEST_REGISTER, bounds.PITCH_LEVELS, bounds.PITCH_STEPS, bounds.WIDEST, bounds.RIM, bounds.MOST_ROWS,
        bounds.LARGEST, bounds.LARGEST_PART, bounds.FAR, bounds.MARGIN, ON_GRID,
    ]  # fmt: skip


def plain_sums(case: Case, state: State) -> tuple[np.ndarray, int]:
    """The sums of the fourth stage at every transposition and shift, one by one; and the most that is in reach."""
    scan, block = case.scan, case.block
    start, end = block.offsets.tolist()
    heavy = 1 / scan.rules.tempos[0] if scan.rules.scales_weights else 1.0
    weight = block.weights[start:end].astype(np.float64) * heavy
    pitch, cells = block.pitches[start:end].astype(int) - int(block.lows[0]), cells_of(case)
    total, total_query, missing = weight.sum(), scan.query.weight.sum(), scan.rules.missing
    is_light = total < total_query
    charge = (total_query - total) * missing if is_light and missing >= 0 else 0.0
    base = total if is_light and missing < 0 else total_query
    budget = scan.limit * base - charge
    budget += ON_GRID * (1 + charge + abs(budget))
    is_on_grid = scan.grid.ticks[0] > 0 and block.grids[0] % scan.grid.ticks[0] == 0
    own = (scan.grid.pitch, scan.grid.cells, scan.query.weight[scan.grid.numbers])
    light, heavier = ((pitch, cells, weight), own) if is_light else (own, (pitch, cells, weight))
    factors = np.minimum((light[2] * scan.sums.factor).astype(int), bounds.LARGEST_PART // bounds.FAR)
    stamps = scan.stamps
    first = 0 if is_on_grid else stamps.off_grid
    around = stamps.numbers[first:][: stamps.stride * (2 * stamps.rows + 1)].reshape(-1, stamps.stride)
    sums = np.zeros((TRANSPOSITIONS, state.last - state.first + 1), int)
    for bit in (bit for bit in range(TRANSPOSITIONS) if after(case, 3).words >> bit & 1):
        for shift in range(state.first, state.last + 1):
            sign = -1 if is_light else 1
            up, ahead = sign * (bit - scan.heights.span), sign * shift
            rows = np.subtract.outer(light[0] + up, heavier[0]) + stamps.rows
            columns = np.subtract.outer(light[1] + ahead, heavier[1]) + stamps.cells
            is_near = (rows >= 0) & (rows <= 2 * stamps.rows) & (columns >= 0) & (columns <= 2 * stamps.cells)
            places = np.where(is_near, rows, 0), np.where(is_near, columns, 0) + bounds.WIDEST_REGISTER
            steps = np.where(is_near, around[places], bounds.FAR)
            sums[bit, shift - state.first] = (steps.min(axis=1) * factors).sum()
    return np.minimum(sums, bounds.LARGEST), int(budget * scan.sums.factor * bounds.FAR / scan.sums.reach) + 1


def cells_of(case: Case) -> np.ndarray:
    """The cells of a document's notes."""
    start, end = case.block.offsets.tolist()
    cells: np.ndarray = np.floor(case.block.times[start:end] * case.scan.grid.per_tick[0] + ON_GRID).astype(int)
    return cells


@pytest.mark.long
@every_setting
def test_sums_side_by_side_are_the_sums_one_by_one(setting: Setting) -> None:
    looked_at = 0
    for each in list(cases(setting))[::9]:
        state, left = after(each, 4), after(each, 3).words
        if state.last - state.first > 300:
            continue
        sums, limit = plain_sums(each, state)
        for bit in (bit for bit in range(TRANSPOSITIONS) if left >> bit & 1):
            for begin in range(0, sums.shape[1], AT_ONCE):
                part = sums[bit, begin : begin + AT_ONCE]
                word = int(state.possible[TRANSPOSITIONS * (begin // AT_ONCE) + bit])
                assert word == sum(1 << k for k in np.flatnonzero(part <= limit).tolist())
                looked_at += len(part)
    assert looked_at > 500


@pytest.mark.long
@pytest.mark.skipif("ROSLIN_KERNELS" in os.environ, reason="an instruction set was asked for")
@pytest.mark.parametrize("level", build.levels())
def test_all_instruction_sets_give_the_same_bounds(level: str) -> None:
    if list(build.levels()).index(level) > list(build.levels()).index(kernels.level()):
        pytest.skip(f"this processor has no {level}")
    done = subprocess.run(
        [sys.executable, "-c", "from tests.transport.test_scan import all_bounds; print(all_bounds())"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "ROSLIN_KERNELS": level},
    )
    assert done.stdout.strip() == all_bounds()


def all_bounds() -> str:
    """A hash of the bounds of some queries, with all settings."""
    found, index = melodies()
    seen = hashlib.blake2b(digest_size=16)
    for setting in [*SETTINGS.values(), Setting(tempos=(0.5, 0.75, 1.0, 2.0))]:
        weights = index.weights if setting.weight == "duration" else np.ones(len(index.times), np.float32)
        block = block_of(index, weights, 0, len(found))
        for melody in found[::11]:
            query = Query.of(point_sets([melody], pitch=setting.pitch, weight=setting.weight), setting, slice(0, 9))
            for limit in (0.1, 0.5, 1.0):
                seen.update(bounds_of(block, scan_of(query, setting, limit, index.grids.astype(np.int64))).tobytes())
    return seen.hexdigest()
