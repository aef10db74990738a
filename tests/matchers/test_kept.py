from __future__ import annotations

import gc

import numpy as np
from tests.matchers.melodies import TUNES

from roslin.matchers import kept as module
from roslin.matchers.kept import kept
from roslin.represent.packed import Packed, pack


def read_only() -> Packed:
    packed = pack(TUNES[:3])
    for array in (packed.notes, packed.offsets):
        array.flags.writeable = False
    return packed


def count(packed: Packed) -> list[int]:
    return [len(packed)]


def test_arrays_that_nobody_can_write_to_are_counted_once() -> None:
    packed = read_only()
    first = kept(count, packed)
    assert kept(count, packed) is first
    assert kept(count, Packed(packed.notes, packed.offsets, packed.barlines, packed.bar_offsets)) is first
    assert kept(count, read_only()) is not first


def test_others_are_counted_every_time() -> None:
    packed = pack(TUNES[:3])
    assert kept(count, packed) is not kept(count, packed)


def test_what_was_counted_goes_with_the_notes() -> None:
    packed = read_only()
    kept(count, packed)
    number = id(packed.notes)
    assert any(key[1] == number for key in module._KEPT)
    del packed
    gc.collect()
    assert not any(key[1] == number for key in module._KEPT)


def test_two_makers_do_not_meet() -> None:
    packed = read_only()
    assert kept(count, packed) == [3]
    assert kept(_notes, packed) == int(packed.offsets[-1])


def _notes(packed: Packed) -> int:
    return int(np.diff(packed.offsets).sum())
