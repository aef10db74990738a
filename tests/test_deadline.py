from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pytest

from roslin.deadline import Deadline, StopFlag, check_stopped, stop_flag
from roslin.errors import TimeLimitError
from roslin.kernels import kernel


def test_without_a_limit_nothing_stops() -> None:
    assert not stop_flag()[0]
    check_stopped()
    with Deadline(None):
        assert not stop_flag()[0]
        check_stopped()


def test_the_flag_is_that_of_the_innermost_context() -> None:
    with Deadline(None) as outer:
        outer.stop()
        with Deadline(None):
            check_stopped()
        with pytest.raises(TimeLimitError, match="the comparison took too long"):
            check_stopped()
    check_stopped()


def test_threads_take_the_flag_along() -> None:
    with Deadline(None, lambda: "no time is left") as deadline, ThreadPoolExecutor(1) as pool:
        deadline.stop()
        assert not pool.submit(lambda: bool(stop_flag()[0])).result()
        with pytest.raises(TimeLimitError, match="no time is left"):
            pool.submit(deadline.carried(check_stopped)).result()


@kernel
def _turns_until(stop: StopFlag, most: int, written: npt.NDArray[np.float64]) -> int:
    turns = 0
    while turns < most and not stop[0]:
        turns += 1
        written[turns % len(written)] = turns
    return turns


def test_a_clock_ends_a_compiled_loop() -> None:
    """A loop that writes to memory, as all do that compare melodies, reads the flag anew at every turn."""
    written = np.zeros(64)
    _turns_until(stop_flag(), 1, written)
    began, most = time.monotonic(), 2**62
    with Deadline(0.05):
        assert 0 < _turns_until(stop_flag(), most, written) < most
    assert time.monotonic() - began < 10, "a limit of health, not of speed"


def test_the_clock_does_not_outlive_its_context() -> None:
    with Deadline(1000):
        pass
    assert not [
        each for each in threading.enumerate() if isinstance(each, threading.Timer) and not each.finished.is_set()
    ]
