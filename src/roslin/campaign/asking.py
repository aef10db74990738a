"""One query put to one system: what is asked, and how a list of k documents is made of the answer.

Documents at the same distance are in the list all or not at all, because only their ids could say which come first. So
a list whose k-th document is tied goes on to the end of the tie. A tie that would make it more than `LONGEST` times as
long is left out as a whole: `is_cut_in_a_tie` says so.

`Asking` is a task that any process can do which sees the collection: it holds a path, and opens the collection there
once.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
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

__all__ = ["LONGEST", "Asking", "Request", "ask", "length_of_list"]

LONGEST = 10


@dataclass(frozen=True, slots=True)
class Request:
    """A system, and a query with its id; whether the query itself is left out of its list."""

    matcher: Matcher
    id: str
    query: Melody
    is_left_out: bool


def ask(request: Request, collection: Store, k: int, work: Work | None = None) -> Ranking:
    """The list that a system gives, or why it cannot take the query; with the time that the first k took."""
    itself = (request.id,) if request.is_left_out else ()

    def first(wanted: int) -> tuple[Sequence[str], Sequence[float]]:
        run = search(request.query, collection, request.matcher, wanted, exclude=itself, work=work)
        values = run.values(run.query) or ()
        # The runs of a campaign have distances: of evidence, what is the most is the nearest.
        return run.ids, values if run.kind == "distance" else [-value for value in values]

    began = time.perf_counter()
    try:
        # One more than is kept, which tells whether the end of the list falls into a tie.
        ids, distances = first(k + 1)
    except MelodyError as error:
        return Ranking(request.id, (), (), time.perf_counter() - began, str(error))
    seconds = time.perf_counter() - began
    if len(ids) > k and distances[k] == distances[k - 1]:
        ids, distances = first(LONGEST * k + 1)
    length, is_cut = length_of_list(distances, k)
    return Ranking(request.id, tuple(ids[:length]), tuple(distances[:length]), seconds, is_cut_in_a_tie=is_cut)


def length_of_list(distances: Sequence[float], k: int) -> tuple[int, bool]:
    """How many of the nearest documents are in a list of k, and whether a tie was too large for it.

    `distances` must hold LONGEST * k + 1 of them, or all that there are.

    >>> length_of_list([1.0, 2.0, 2.0, 3.0], 1), length_of_list([1.0, 2.0, 2.0, 3.0], 2), length_of_list([1.0] * 99, 2)
    ((1, False), (3, False), (0, True))
    """
    if len(distances) <= k:
        return len(distances), False
    last = distances[k - 1]
    length = sum(each <= last for each in distances)
    return (length, False) if length <= LONGEST * k else (sum(each < last for each in distances), True)


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
