"""Matchers that work for a while and hear of nothing meanwhile, as a long comparison does: for tests of the end.

If `ROSLIN_TEST_GRACE` is set, the server leaves so many seconds to requests in hand: a busy computer needs them.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from roslin import Matcher, Melody, register_matcher
from roslin.represent.packed import Packed
from roslin.types import Distances
from roslin.web import connections

if grace := os.environ.get("ROSLIN_TEST_GRACE"):
    connections.GRACE_SECONDS = float(grace)
    connections.LAST_SECONDS = connections.GRACE_SECONDS + 5


class Slow(Matcher):
    """What both have."""

    reference = "a test"
    summary = "Takes its time."

    def wait(self) -> None:
        time.sleep(600)

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        self.wait()
        return np.arange(len(candidates), dtype=float)


@register_matcher
@dataclass(frozen=True, repr=False)
class Minutes(Slow):
    """Ten minutes for any number of melodies."""

    name = "minutes"


@register_matcher
@dataclass(frozen=True, repr=False)
class Moment(Slow):
    """Until a test makes the file that `ROSLIN_TEST_GO` names."""

    name = "moment"

    def wait(self) -> None:
        while not Path(os.environ["ROSLIN_TEST_GO"]).exists():
            time.sleep(0.02)
