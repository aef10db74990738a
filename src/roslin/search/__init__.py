"""Query to ranked list."""

from __future__ import annotations

from roslin.search.engine import depended_on, search

__all__ = ["depended_on", "search"]
