"""Query to ranked list."""

from __future__ import annotations

from roslin.search.engine import search
from roslin.search.explain import Explanation, explain
from roslin.search.run import Hit, Run

__all__ = ["Explanation", "Hit", "Run", "explain", "search"]
