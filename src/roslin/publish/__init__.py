"""A collection as static files with a search that needs no server: `publish` writes them."""

from __future__ import annotations

from roslin.publish.pages import publish

__all__ = ["publish"]
