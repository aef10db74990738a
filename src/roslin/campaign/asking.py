"""One query put to one system: what is asked, and how a list of k documents is made of the answer.

`Asking` is a task that any process can do which sees the collection: it holds a path, and opens the collection there
once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Lock

from roslin.collection.opened import opened
from roslin.collection.store import Store
from roslin.errors import MelodyError
from roslin.matchers import Matcher
from roslin.melody import Melody
from roslin.run import Ranking
from roslin.search import search
from roslin.search.work import Work

__all__ = ["Asking", "Request", "ask"]


@dataclass(frozen=True, slots=True)
class Request:
    """A system, and a query with its id; whether the query itself is left out of its list."""

    matcher: Matcher
    id: str
    query: Melody
    is_left_out: bool


def ask(request: Request, collection: Store, k: int, work: Work | None = None) -> Ranking:
    """The list of k documents that a system gives, or why it cannot take the query; with the time that it took."""
    itself = (request.id,) if request.is_left_out else ()
    began = time.perf_counter()
    try:
        # One more than is kept, which tells whether the end of the list falls into a tie.
        run = search(request.query, collection, request.matcher, k + 1, exclude=itself, work=work, chance=False)
    except MelodyError as error:
        return Ranking(request.id, (), (), time.perf_counter() - began, str(error))
    seconds = time.perf_counter() - began
    ids, distances = run.ids, run.values(run.query) or ()
    is_cut = len(ids) > k and distances[k] == distances[k - 1]
    return Ranking(request.id, tuple(ids[:k]), distances[:k], seconds, is_cut_in_a_tie=is_cut)


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks for lists of k documents of the collection at a path, in the state with a token."""

    path: str
    token: str
    k: int

    def __call__(self, request: Request) -> Ranking:
        """The list for one request. The first of a system may compile it, or make an index: nobody's time per query."""
        collection = opened(self.path, self.token)
        key = (self.path, self.token, repr(request.matcher))
        with _LOCK:
            is_warm = key in _WARM
            _WARM.add(key)
        if not is_warm:
            ask(request, collection, self.k)
        return ask(request, collection, self.k)


_WARM: set[tuple[str, str, str]] = set()
_LOCK = Lock()
