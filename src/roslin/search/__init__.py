"""Request to ranked list."""

from __future__ import annotations

from roslin.search.engines.emd import depended_on
from roslin.search.request import Request, search, within_radius

__all__ = ["Request", "depended_on", "search", "within_radius"]
