"""Request to ranked list."""

from __future__ import annotations

from roslin.search.engines.emd import depended_on
from roslin.search.request import Request, for_collections, search, within_radius

__all__ = ["Request", "depended_on", "for_collections", "search", "within_radius"]
