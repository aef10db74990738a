from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.waiting import until

from roslin.deadline import Deadline, check_stopped, stop_flag
from roslin.errors import TimeLimitError
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.points import point_sets
from roslin.transport.align import Document, Query, Setting, pair_of


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


def test_a_compiled_loop_can_be_stopped() -> None:
    """Two million alignments would take long: the first are measured, the last are not."""
    melody = Melody.from_notes(range(20), [1] * 20, [60 + (k * k) % 17 for k in range(20)])
    points, setting, many = point_sets([melody, melody]), Setting(), 2_000_000
    distances = np.zeros(many)
    with Deadline(None) as deadline, ThreadPoolExecutor(1) as pool:
        pair = pair_of(Query.of(points, setting), Document.of(points, 1, setting), setting)

        def stop_when_it_has_begun() -> None:
            until(lambda: distances[0] > 0)
            deadline.stop()

        watching = pool.submit(stop_when_it_has_begun)
        kernels.distances_at(pair, np.ones(many), np.full(many, 0.5), np.zeros(many), distances)
        watching.result()
    assert 0 < distances[0] < np.inf
    assert np.isinf(distances[-1])


def test_a_clock_raises_the_flag() -> None:
    with Deadline(0.01):
        until(lambda: stop_flag()[0])
        with pytest.raises(TimeLimitError, match="the comparison took too long"):
            check_stopped()


def test_the_clock_does_not_outlive_its_context() -> None:
    with Deadline(1000):
        pass
    assert not [
        each for each in threading.enumerate() if isinstance(each, threading.Timer) and not each.finished.is_set()
    ]
