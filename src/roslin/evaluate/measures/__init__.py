"""The measures, one family per file; `base` defines a measure.

`roslin.evaluate.measures` is both this package and the function that lists the names: the package answers when it is
called.
"""

from __future__ import annotations

from roslin.evaluate.measures.base import measures
from roslin.values.registry import answer_calls

__all__ = ["measures"]

answer_calls(__name__, measures)
