"""All pairs of a collection, from the collection to the list: chance, the join, and what each pair is worth.

    with Work(threads=2, progress=...) as work:
        found = find_pairs(collection, 0.01, work, folder="tunes.concordances")

The folder keeps what is finished (`journal`). Numbers are those of the collection.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.collection.store import Store
from roslin.concordances.join import ScoredPairs, join_places, pieces_of
from roslin.concordances.journal import Journal
from roslin.concordances.levels import Chances, chances_at
from roslin.errors import ArgumentError
from roslin.matchers.roslin._alignment import Tables
from roslin.matchers.roslin.roslin import Roslin
from roslin.matchers.roslin.table import MelodyTable
from roslin.search.chance import DEFAULT_TAILS, Tail, tails_of
from roslin.search.roslin_table import open_table
from roslin.search.work import Work

__all__ = ["JOIN_VERSION", "FoundPairs", "find_pairs"]

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

JOIN_VERSION = 1  # of what a journal holds
_MATCHER = Roslin(compare="both")


@dataclass(frozen=True, slots=True, eq=False)
class FoundPairs:
    """Pairs of melodies by their numbers, the smaller first, in rising order; their distances and chance matches."""

    first: Numbers
    second: Numbers
    distances: Floats
    expected: Floats
    level: float
    compared: int  # pairs that were scored exactly
    melodies: int

    def __len__(self) -> int:
        return len(self.first)


def find_pairs(
    store: Store, level: float, work: Work, *, folder: str | Path | None = None, new: Numbers | None = None
) -> FoundPairs:
    """All pairs that chance would bring at most `level` times for one of the two.

    `new`: only pairs with at least one of these melodies. `folder`: where finished work is kept.
    """
    if not level > 0:
        raise ArgumentError(f"the level must be a number of chance matches above 0; got {level!r}")
    packed = store.packed()
    if len(packed) < 2:
        return _nothing(level, len(packed))
    any_query = packed.melody(0)  # the way to compare is given, so no query decides it
    tables = _MATCHER.tables(any_query, int(np.diff(packed.offsets).max()))
    work.report(0.0, "getting ready")
    table = open_table(store, tables)
    about = {
        "version": JOIN_VERSION,
        "token": store.about["token"],
        "melodies": len(table),
        "level": level,
        "new": None if new is None else np.sort(new).tolist(),
    }
    keep = _keeper(None if folder is None else Journal(folder, about))
    chances = _chances(table, tables, tails_of(store, "both") or DEFAULT_TAILS, work, keep)
    scored = _joined(table, tables, chances.needed(level), new, work, keep)
    return _found(table, chances, scored, level)


_Keep = Callable[[str, int, Callable[[], dict[str, npt.NDArray[Any]]]], dict[str, npt.NDArray[Any]]]


def _keeper(journal: Journal | None) -> _Keep:
    return journal.result if journal is not None else lambda _kind, _number, make: make()


def _chances(table: MelodyTable, tables: Tables, tails: dict[int, Tail], work: Work, keep: _Keep) -> Chances:
    """What chance gives for all melodies, by place."""
    parts = list(enumerate(pieces_of(np.arange(len(table)))))

    def made(part: tuple[int, Numbers]) -> dict[str, npt.NDArray[Any]]:
        number, places = part

        def make() -> dict[str, npt.NDArray[Any]]:
            begins, scales = chances_at(table, tables, tails, places)
            return {"begins": begins, "scales": scales}

        return keep("chance", number, make)

    found = []
    for done, each in enumerate(work.map(made, parts), start=1):
        found.append(each)
        work.report(_CHANCE_SHARE * done / len(parts), "what chance gives")
    begins, scales = (np.concatenate([each[name] for each in found]) for name in ("begins", "scales"))
    return Chances(begins, scales, table.own_scores[table.order], next(iter(tails.values())).share, len(table))


_CHANCE_SHARE = 0.3  # of all the work


def _joined(
    table: MelodyTable, tables: Tables, needed: npt.NDArray[np.int32], new: Numbers | None, work: Work, keep: _Keep
) -> ScoredPairs:
    is_new = None
    places = np.arange(len(table))
    if new is not None:
        is_new = np.zeros(len(table), dtype=bool)
        is_new[table.places[new]] = True
        places = np.flatnonzero(is_new)
    parts = list(enumerate(pieces_of(places)))

    def made(part: tuple[int, Numbers]) -> dict[str, npt.NDArray[Any]]:
        number, piece = part

        def make() -> dict[str, npt.NDArray[Any]]:
            found = join_places(table, tables, needed, piece, is_new)
            counted = np.array([found.compared])
            return {"first": found.first, "second": found.second, "scores": found.scores, "compared": counted}

        return keep("pairs", number, make)

    found = []
    for done, each in enumerate(work.map(made, parts), start=1):
        found.append(each)
        work.report(_CHANCE_SHARE + (1 - _CHANCE_SHARE) * done / len(parts), "comparing")
    columns = {name: np.concatenate([each[name] for each in found]) for name in ("first", "second", "scores")}
    return ScoredPairs(**columns, compared=int(sum(each["compared"][0] for each in found)))


def _found(table: MelodyTable, chances: Chances, scored: ScoredPairs, level: float) -> FoundPairs:
    """From places and scores to numbers and meanings."""
    one, two = table.order[scored.first].astype(np.int64), table.order[scored.second].astype(np.int64)
    expected = np.minimum(chances.expected(scored.first, scored.scores), chances.expected(scored.second, scored.scores))
    own = table.own_scores
    distances = np.array(
        [
            float(_MATCHER.distances_of(scored.scores[k : k + 1], int(own[one[k]]), own[two[k : k + 1]])[0])
            for k in range(len(one))
        ]
    )
    first, second = np.minimum(one, two), np.maximum(one, two)
    order = np.lexsort((second, first))
    columns = (first[order], second[order], distances[order], expected[order])
    return FoundPairs(*columns, level, scored.compared, len(table))


def _nothing(level: float, melodies: int) -> FoundPairs:
    nobody = np.empty(0, np.int64)
    return FoundPairs(nobody, nobody, np.empty(0), np.empty(0), level, 0, melodies)
