"""Query to ranked list."""

from __future__ import annotations

from roslin.search.engine import search
from roslin.search.run import Hit, Run

__all__ = ["Hit", "Run", "search"]
