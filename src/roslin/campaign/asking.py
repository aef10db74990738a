"""One query put to one system: what is asked, and how a list of k documents is made of the answer.

Documents at the same distance are in the list all or not at all, because only their ids could say which come first. So
a list whose k-th document is tied goes on to the end of the tie. A tie that would make it more than `LONGEST` times as
long is left out as a whole: `is_cut_in_a_tie` says so.

`Asking` is a task that any process can do which sees the collection: it holds a path, and opens the collection there
once.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from roslin.collection.opened import opened
from roslin.collection.store import Store
from roslin.errors import ArgumentError, MelodyError, UnknownNameError
from roslin.matchers import Matcher
from roslin.matchers.base import check_query
from roslin.melody import Melody
from roslin.notation import records
from roslin.run import Ranking
from roslin.search import Request, search
from roslin.search.program import checksum
from roslin.search.work import Work
from roslin.truth.model import Truth
from roslin.truth.qrel import read_truth

LONGEST = 10


@dataclass(frozen=True, slots=True)
class Question:
    """A system, and a query with its id; whether the query itself is left out of its list."""

    matcher: Matcher
    id: str
    query: Melody
    is_left_out: bool


def ask(question: Question, collection: Store, k: int, work: Work | None = None) -> Ranking:
    """The list that a system gives, or why it cannot take the query; with the time that the first k took."""
    itself = frozenset([question.id] if question.is_left_out else [])

    def first(wanted: int) -> tuple[Sequence[str], Sequence[float]]:
        run = search(Request(question.query, question.matcher, wanted, exclude=itself), collection, work)
        values = run.values(run.query) or ()
        # The runs of a campaign have distances: of evidence, what is the most is the nearest.
        return run.ids, values if run.kind == "distance" else [-value for value in values]

    began = time.perf_counter()
    try:
        # One more than is kept, which tells whether the end of the list falls into a tie.
        ids, distances = first(k + 1)
    except MelodyError as error:
        return Ranking(question.id, (), (), time.perf_counter() - began, str(error))
    seconds = time.perf_counter() - began
    if len(ids) > k and distances[k] == distances[k - 1]:
        ids, distances = first(LONGEST * k + 1)
    length, is_cut = length_of_list(distances, k)
    return Ranking(question.id, tuple(ids[:length]), tuple(distances[:length]), seconds, is_cut_in_a_tie=is_cut)


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

    def __call__(self, question: Question) -> Ranking:
        """The list for one question. The first of a system may make an index: nobody's time per query."""
        collection = opened(self.path, self.token)
        key = (self.path, self.token, repr(question.matcher))
        with _LOCK:
            is_warm = key in _WARM
            _WARM.add(key)
        if not is_warm:
            ask(question, collection, self.k)
        return ask(question, collection, self.k)


_WARM: set[tuple[str, str, str]] = set()
_LOCK = Lock()


# -- questions ---------------------------------------------------------------------------------------------------------
#
# What a campaign asks: the truths, the queries that they judge, and whether all of it belongs to the collection.
#
# Everything is looked at before the first search, because a campaign may take a night.


def chosen_truths(truths: Any) -> list[tuple[Truth, dict[str, Any]]]:
    """Each truth, and what the provenance says about it."""
    given = list(truths) if isinstance(truths, (list, tuple)) else [truths]
    if not given:
        raise ArgumentError("a campaign needs at least one truth")
    found = []
    for source in given:
        truth = read_truth(source)
        if not truth:
            raise ArgumentError(f"{source}: the truth has no queries")
        about: dict[str, Any] = {"name": truth.name, "queries": len(truth)}
        if isinstance(source, (str, Path)):
            about |= {"file": Path(source).name, "sha256": hashlib.sha256(Path(source).read_bytes()).hexdigest()}
        else:
            judged = [(query, groups, truth.nonrelevant(query)) for query, groups in truth.items()]
            about["sha256"] = checksum(json.dumps(judged, ensure_ascii=False))
        found.append((truth, about))
    for name, count in Counter(truth.name for truth, _ in found).items():
        if name and count > 1:
            raise ArgumentError(f"two truths are called {name!r}; every truth needs a name of its own")
    return found


def chosen_queries(
    collection: Store, truths: Sequence[Truth], source: str | Path | Iterable[Melody] | None
) -> tuple[dict[str, Melody], list[str]]:
    """The queries of all truths in their order, and what was odd about them."""
    wanted = list(dict.fromkeys(query for truth in truths for query in truth))
    if source is None:
        for query in wanted:
            if query not in collection:
                raise ArgumentError(
                    f"query {query!r} of the truth is no melody of {collection.path.name}; "
                    "give the queries in a file whose ids are those of the truth"
                )
        found = {query: collection[query] for query in wanted}
        remarks: list[str] = []
    else:
        offered, where = _offered(source)
        for query in wanted:
            if query not in offered:
                raise UnknownNameError(f"query of the truth in {where}", query, _some(offered))
        found = {query: offered[query] for query in wanted}
        others = len(offered) - len(found)
        remarks = [f"{others} of {len(offered)} queries of {where} are in no truth: not asked"] if others else []
    for query, melody in found.items():
        try:
            check_query(melody)
        except MelodyError as error:
            raise MelodyError(f"query {query!r}: {error}") from None
    return found, remarks


def documents_asked(collection: Store, queries: Mapping[str, Melody]) -> frozenset[str]:
    """The queries that are melodies of the collection: the same id, and the same notes."""
    return frozenset(
        id for id, query in queries.items() if id in collection and np.array_equal(collection[id].notes, query.notes)
    )


def _offered(source: str | Path | Iterable[Melody]) -> tuple[dict[str, Melody], str]:
    where = str(source) if isinstance(source, (str, Path)) else "the queries"
    melodies = (
        (record.melody_or_raise() for record in records(Path(source), strict=True))
        if isinstance(source, (str, Path))
        else source
    )
    offered: dict[str, Melody] = {}
    for number, melody in enumerate(melodies, start=1):
        if not melody.id:
            raise ArgumentError(f"{where}: melody {number} has no id; expected that of a query of the truth")
        if melody.id in offered:
            raise ArgumentError(
                f"{where}: melody {number} has the id {melody.id!r}, which another has; expected a new one"
            )
        offered[melody.id] = melody
    return offered, where


def _some(names: Iterable[str], most: int = 5) -> list[str]:
    first = list(names)
    return first[:most] + ["..."] * (len(first) > most)


def missing_documents(collection: Store, truths: Sequence[Truth]) -> list[str]:
    """A remark for each truth with documents that the collection lacks; one that has none of them is refused."""
    there = set(collection.ids())
    remarks = []
    for place, truth in enumerate(truths, start=1):
        documents = {id for groups in truth.values() for group in groups for id in group}
        missing = documents - there
        name = truth.name or f"truth {place}"
        if documents and missing == documents:
            raise ArgumentError(
                f"{name}: no document of the truth is in {collection.path.name}; are the ids the same? "
                f"The truth has {min(documents)!r}, the collection {min(there, default='nothing')!r}"
            )
        if missing:
            remarks.append(
                f"{name}: {len(missing)} of {len(documents)} documents are not in {collection.path.name}, "
                f"so that nobody can find them ({', '.join(_some(sorted(missing), 3))})"
            )
    return remarks
