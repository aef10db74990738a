"""What people judged: for every query, groups of documents, the most similar group first."""

from __future__ import annotations

from roslin.truth.qrel import Truth, read_truth, write_truth

__all__ = ["Truth", "read_truth", "write_truth"]
