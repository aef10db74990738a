"""Query to ranked list."""

from __future__ import annotations

from roslin.search.engine import search
from roslin.search.explain import Explanation, explain

__all__ = ["Explanation", "explain", "search"]
