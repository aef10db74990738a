"""Numba kernels of the search: how far it is at least to the nearest notes, for many alignments at once.

Time is cut into cells. A table of small numbers, a row for each pitch, a column for each cell, says how far it is at
least from there to the nearest note of the heavier melody, in parts of `reach`: every note stamps its surroundings on
it. The bound of an alignment is the sum over the notes of the lighter melody of weight times distance. Rows of a table
follow each other in memory, `stride` numbers apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.kernels import kernel
from roslin.transport._lanes import LANES, add_products, first_bit, lower, no_lanes, within
from roslin.transport._pitch_kernels import TRANSPOSITIONS, Integers, Place, Words

__all__ = ["AT_ONCE", "FAR", "Bytes", "Shape", "Stamps", "Window", "stamp_document", "sums_in_reach"]

Bytes = npt.NDArray[np.uint8]

# Distances in the table: FAR is `reach` or more.
FAR = 255
# Shifts that are tested at once: two registers of lanes, the bits of a word.
AT_ONCE = 2 * LANES
# Sums over so many notes are looked at once.
_TOGETHER = 4

_U0, _U1 = np.uint64(0), np.uint64(1)


class Stamps(NamedTuple):
    """How far it is at least from the cells around a note to it, in parts of `reach`; FAR is `reach` or more.

    numbers    (bytes,): the stamp for documents on the grid, then that for those off it; rows in whole lanes
    off_grid   where the second begins
    rows       semitones that a stamp covers below the note, and as many above it
    cells      cells that it covers before the note, and as many after it
    """

    numbers: Bytes
    off_grid: int
    rows: int
    cells: int


class Shape(NamedTuple):
    """What a table of a document covers: all its pitches, with room for a stamp on both sides, and all asked for.

    columns        cells that are asked for; there is room for a stamp on both sides of them
    stride         numbers from one row to the next
    lowest         the pitch whose stamp begins in the first row
    first_column   cell of the first column
    """

    columns: int
    stride: int
    lowest: int
    first_column: int


class Window(NamedTuple):
    """The alignments that are left.

    words         the transpositions, as bits
    first, last   the first shift and the last, in cells
    place         where the bits of those in reach begin among those of other documents
    """

    words: np.uint64
    first: int
    last: int
    place: int


@kernel
def stamp_document(
    table: Bytes,
    size: int,
    shape: Shape,
    document: Place,
    pitches: npt.NDArray[np.int8],
    cells: Integers,
    stamps: Stamps,
    stamp: int,
) -> None:
    """Stamp every note of a document on an empty table of `size` numbers; the stamp begins at `stamp`.

    `pitches` are those of all documents, `cells` those of this one.
    A stamp's rows are filled up to whole lanes with FAR, which changes nothing where it reaches into the next row.
    """
    numbers, stamp_rows, stamp_cells = stamps.numbers, stamps.rows, stamps.cells
    columns, stride, lowest, first_column = shape
    table[:size] = np.uint8(FAR)
    wide = (2 * stamp_cells + LANES) // LANES * LANES
    begin, end = 0, document.notes
    while begin < end and cells[begin] - first_column < -stamp_cells:
        begin += 1
    while begin < end and cells[end - 1] - first_column >= columns + stamp_cells:
        end -= 1
    for j in range(begin, end):
        place, part = (
            (int(pitches[document.start + j]) - lowest) * stride + cells[j] - first_column + stamp_cells,
            stamp,
        )
        for _ in range(2 * stamp_rows + 1):
            for ahead in range(0, wide, LANES):
                lower(table, place + ahead, numbers, part + ahead)
            place += stride
            part += wide


@kernel
def sums_in_reach(
    window: Window, span: int, table: Bytes, stride: int, places: Integers, weights: Integers, n: int, most: int,
    possible: Words,
) -> bool:  # fmt: skip
    """Which alignments have a sum over the n notes of the lighter melody that is not more than `most`; whether any has.

    Note r lies at `places[r]` of the table when it is not moved. Bit b of `possible[place + 64 * c + t]` is the
    shift by 64 * c + b cells after the first, at transposition bit t.
    """
    words, first_cell, last_cell, place = window
    is_any = False
    left_words = words
    while left_words != _U0:
        t = first_bit(left_words)
        left_words &= left_words - _U1
        for first in range(first_cell, last_cell + 1, AT_ONCE):
            moved, sums, later, left = (t - span) * stride + first, no_lanes(), no_lanes(), _U1
            is_long = last_cell - first >= LANES
            for begin in range(0, n, _TOGETHER):
                for r in range(begin, min(begin + _TOGETHER, n)):
                    sums = add_products(sums, table, places[r] + moved, weights[r])
                    if is_long:
                        later = add_products(later, table, places[r] + moved + LANES, weights[r])
                left = within(sums, most)
                if is_long:
                    left |= within(later, most) << np.uint64(LANES)
                if left == _U0:
                    break
            if last_cell - first < AT_ONCE - 1:
                left &= (_U1 << np.uint64(last_cell - first + 1)) - _U1
            possible[place + TRANSPOSITIONS * ((first - first_cell) // AT_ONCE) + t] = left
            is_any |= left != _U0
    return is_any
