"""Engines: how a collection is searched with a matcher.

A matcher class names its engine. Every other matcher, and a class made from one of these, is compared with every
melody: such a class may compare in its own way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from roslin.collection.store import Store
from roslin.search.engines.emd import NearestByEmd, SegmentsByEmd
from roslin.search.engines.everything import Everything
from roslin.search.engines.roslin import ByEvidence
from roslin.search.refine import Engine
from roslin.search.work import Work
from roslin.types import Numbers

if TYPE_CHECKING:
    from roslin.search.request import Request

__all__ = ["ENGINES", "engine_of"]

MakeEngine = Callable[["Request", Store, Numbers, Work], Engine | None]

ENGINES: dict[str, MakeEngine] = {
    "emd": NearestByEmd.of,
    "segments": SegmentsByEmd.of,
    "roslin": ByEvidence.of,
}


def engine_of(request: Request, collection: Store, candidates: Numbers, work: Work) -> Engine:
    """The engine that searches some melodies of a collection for a request."""
    make = ENGINES.get(vars(type(request.matcher)).get("engine", ""))
    engine = None if make is None or request.is_cut else make(request, collection, candidates, work)
    return engine or Everything(
        request.query, request.matcher, collection.packed(), candidates, work, is_cut=request.is_cut
    )
