"""One published system per file, behind one protocol (`base.Matcher`) and one registry."""

from __future__ import annotations

from roslin.matchers.base import MATCHERS, Matcher, matcher, matchers
from roslin.matchers.dp import DP

__all__ = ["DP", "MATCHERS", "Matcher", "matcher", "matchers"]
