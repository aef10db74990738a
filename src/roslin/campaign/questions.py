"""What a campaign asks: the truths, the queries that they judge, and whether all of it belongs to the collection.

Everything is looked at before the first search, because a campaign may take a night.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from roslin.collection.store import Store
from roslin.errors import ArgumentError, MelodyError, UnknownNameError
from roslin.matchers.base import check_query
from roslin.melody import Melody
from roslin.notation import records
from roslin.search.program import checksum
from roslin.truth.model import Truth
from roslin.truth.qrel import read_truth

__all__ = ["chosen_queries", "chosen_truths", "documents_asked", "missing_documents"]


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
