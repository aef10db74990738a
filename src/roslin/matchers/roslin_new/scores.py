"""Fitted numbers in nats, and the whole units that the kernels add up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
import numpy as np

from roslin.matchers.roslin_new._alignment import FARTHEST, LANES, Tables

UNITS = 32  # to a nat


@dataclass(frozen=True)
class Worth:
    equal: tuple = (4.24, 2.43, 2.33, 2.02, 1.75, 1.42, 1.31, 1.48, 1.34, 1.57, 1.30)
    pitch: tuple = (0.27, -0.47, -0.72, -0.73, -1.34, -1.60)
    near: tuple = (2.00, 0.47, -0.04, 0.03, -0.60, -0.49, -0.73, -0.52, -0.63, -0.49, -0.67)
    kinds: tuple = (-.01, -.42, .06, -.36, -.12, .46, .15, .26, .28, .15, .38, .15)
    equal_context: tuple = (0.0, -0.11, 0.05, 0.86)
    near_context: tuple = (0.0, 0.30, 0.21, 0.15)
    openings: tuple = (1.42, 2.70, 2.44)
    extension: float = 1.38
    # of the shorter, of the longer
    start_any: tuple = (0.89, 1.11)
    start_more: tuple = (1.03, 1.51)
    end_any: tuple = (0.57, 0.47)
    end_more: tuple = (0.61, 0.0)
    tempo: tuple = (1.41, 2.5)
    metre: tuple = (0.0,) * 6  # 00 01 02 11 12 22
    phrase: tuple = (0.0,) * 6  # in-in in-end in-start end-end end-start start-start


def units(values) -> np.ndarray:
    return np.rint(np.asarray(values, dtype=float) * UNITS).astype(np.int32)


PAIRS = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]


def tables(worth: Worth, longest: int = 2048, lanes=range(12)) -> Tables:
    pitch = np.zeros((12, LANES))
    is_equal = np.zeros((12, LANES), np.int32)
    for turn in range(12):
        for lane in range(LANES):
            d = (turn - lane) % 12
            d = min(d, 12 - d)
            if d:
                pitch[turn, lane] = worth.pitch[d - 1]
            else:
                is_equal[turn, lane] = 1
    x = np.arange(longest + 1)

    def cost(any_, more):
        sides = [a * (x > 0) + b * np.log1p(x) for a, b in zip(any_, more)]
        return units([sides[0], sides[1], (sides[0] + sides[1]) / 2])

    labels = np.zeros((16, 16))
    for (a, b), value in zip(PAIRS, worth.metre):
        for p in range(3):
            for q in range(3):
                for m, n in {(a, b), (b, a)}:
                    labels[1 + 3 * m + p, 1 + 3 * n + q] += value
    for (a, b), value in zip(PAIRS, worth.phrase):
        for m in range(3):
            for n in range(3):
                for p, q in {(a, b), (b, a)}:
                    labels[1 + 3 * m + p, 1 + 3 * n + q] += value
    allowed = np.full(LANES, FARTHEST, np.int32)
    allowed[list(lanes)] = 0
    return Tables(
        units(worth.equal), units(worth.near), units(pitch).ravel(), is_equal.ravel(),
        units([worth.equal_context, worth.near_context]), units(np.array(worth.kinds) / 2), units(labels),
        units(worth.openings), int(units(worth.extension)),
        cost(worth.start_any, worth.start_more), cost(worth.end_any, worth.end_more),
        units([0.0, worth.tempo[0], worth.tempo[1], worth.tempo[1]]), allowed,
    )
