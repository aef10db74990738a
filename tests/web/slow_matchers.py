"""Matchers that work for a while and hear of nothing meanwhile, as a long comparison does: for tests of the end."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from roslin import Matcher, Melody, register_matcher
from roslin.represent.packed import Packed
from roslin.types import Distances


class Slow(Matcher):
    """What both have."""

    reference = "a test"
    summary = "Takes its time."
    seconds = 0.0

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        time.sleep(self.seconds)
        return np.arange(len(candidates), dtype=float)


@register_matcher
@dataclass(frozen=True, repr=False)
class Minute(Slow):
    """A minute for any number of melodies."""

    name = "minute"
    seconds = 60.0


@register_matcher
@dataclass(frozen=True, repr=False)
class Moment(Slow):
    """A moment for any number of melodies."""

    name = "moment"
    seconds = 1.2
