"""The public collection and its selections."""

from roslin.api.collection import Collection
from roslin.api.selection import Query, SearchOptions, Selection, Within, WorkOptions

__all__ = ["Collection", "Query", "SearchOptions", "Selection", "Within", "WorkOptions"]
