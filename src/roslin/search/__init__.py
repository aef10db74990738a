"""Query to ranked list."""

from __future__ import annotations

from roslin.search.engine import search

__all__ = ["search"]
