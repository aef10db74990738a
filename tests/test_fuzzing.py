"""The limits of the fuzz tests do stop what they should."""

from __future__ import annotations

import resource
import sys
from itertools import count

import pytest
from tests import fuzzing


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how much address space is in use")
def test_too_much_memory_is_stopped_and_the_limit_lifted_again() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(MemoryError), fuzzing.memory_limit(50):
        bytearray(4 * 2**30)  # more than earlier tests can have left behind for it
    with fuzzing.memory_limit(50):
        bytearray(10 * 2**20)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    bytearray(100 * 2**20)


def test_a_hang_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzzing, "HANG_SECONDS", 0.1)
    with pytest.raises(TimeoutError, match="hangs"), fuzzing.bounded():
        sum(number for number in count())
