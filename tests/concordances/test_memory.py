"""What is made of a whole collection holds some numbers for each melody in memory, and never the notes of all."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from roslin import load
from roslin.collection.arrays import Arrays
from roslin.concordances import blocking, pairs
from roslin.matchers.roslin import table as making
from roslin.matchers.roslin.table import MelodyTable, build_table, worth_of_any_length
from roslin.represent.packed import Packed, pack
from roslin.search.engines.roslin import table_file, trusted_table
from roslin.starter import tunes_path

WORTH = worth_of_any_length()
FEW, MANY = 20, 60  # times all the tunes
MOST_BYTES = 60  # more for each more melody


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "MELODIES_AT_ONCE", 500)
    monkeypatch.setattr(pairs, "_DIGESTED_AT_ONCE", 500)
    monkeypatch.setattr(blocking, "_MELODIES_AT_ONCE", 500)
    monkeypatch.setattr(blocking, "NOTES_AT_ONCE", 20_000)


def tunes(times: int) -> Packed:
    one = pack(load(tunes_path()))
    offsets = np.concatenate([[0], *(one.offsets[1:] + turn * one.offsets[-1] for turn in range(times))])
    return Packed(np.tile(one.notes, times), offsets, np.empty(0, np.int64), np.zeros(len(offsets), np.int64))


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def tables_in_files(folder: Path) -> list[MelodyTable]:
    found = []
    for times in (FEW, MANY):
        packed = tunes(times)
        file = table_file(folder / f"{times}.bin")
        file.fill(partial(build_table, packed, WORTH, None))
        table = trusted_table(file.read() or {}, len(packed))
        assert table is not None
        found.append(table)
    return found


def more_for_each(peaks: list[int], melodies: int) -> float:
    return (peaks[1] - peaks[0]) / (melodies * (1 - FEW / MANY))


@pytest.mark.long
def test_the_table(tmp_path: Path) -> None:
    peaks, packed = [], [tunes(times) for times in (FEW, MANY)]
    for each in packed:
        make = partial(build_table, each, WORTH, None)
        peaks.append(peak(partial(table_file(tmp_path / "table.bin").fill, make)))
    assert more_for_each(peaks, len(packed[1])) < MOST_BYTES
    assert packed[1].notes.nbytes / len(packed[1]) > 5 * MOST_BYTES
    in_memory = [peak(partial(build_table, each, WORTH)) for each in packed]
    assert more_for_each(in_memory, len(packed[1])) > 2 * MOST_BYTES, "so that this test can fail"


@pytest.mark.long
def test_copies(tmp_path: Path) -> None:
    few, many = tables_in_files(tmp_path)
    peaks = [peak(partial(pairs.digests_of, each)) for each in (few, many)]
    assert more_for_each(peaks, len(many)) < MOST_BYTES


@pytest.mark.long
def test_what_is_rare(tmp_path: Path) -> None:
    few, many = tables_in_files(tmp_path)
    peaks = []
    for each in (few, many):
        count = blocking.bucket_parts(each)
        assert count > 4

        def parts(count: int = count) -> Iterator[Arrays]:
            letters = blocking.read_letters(tmp_path) or {}
            return (blocking.part_of_buckets(letters, number, count) for number in range(count))

        def make(table: MelodyTable = each, parts: Callable[[], Iterator[Arrays]] = parts) -> None:
            blocking.write_letters(table, tmp_path)
            blocking.write_buckets(tmp_path, len(table), parts)

        peaks.append(peak(make))
    assert more_for_each(peaks, len(many)) < MOST_BYTES
    assert many.size / len(many) > 2 * MOST_BYTES
