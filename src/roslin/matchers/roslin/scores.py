"""What the alignment's steps are worth: fitted numbers in nats, read from `scores.json`, as the kernels' whole units.

Every way to compare (`both`, `melody`, `rhythm`, `contour`) has its own `FittedWorth`. Where two melodies may lie
on each other (`place`) changes prices:

    anywhere   what is left out at an end of the shorter or the longer melody has a fitted price, a[x > 0] + b ln(1 + x)
    start      both begin together: notes left out before the first pair cost as much as a gap; what follows the last
               pair of the longer one is free
    end        both end together: the same from the other side
    whole      notes left out at any end cost as much as a gap

`tools/fit_roslin.py` fits the numbers and writes the file, with its provenance.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.matchers.roslin.values import FARTHEST, LANES, Tables
from roslin.types import Ints

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
