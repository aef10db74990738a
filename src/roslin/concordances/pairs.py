"""All pairs of a collection, from the collection to the list: chance, the join, and what each pair is worth.

    with Work(threads=2, progress=...) as work:
        found = find_pairs(collection, 0.01, work, folder="tunes.concordances")

The folder keeps what is finished (`journal`). Numbers are those of the collection.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from roslin.collection.store import Store
from roslin.concordances._gather import Buckets
from roslin.concordances.blocking import buckets_of, candidates_by
from roslin.concordances.copies import representatives
from roslin.concordances.join import ScoredPairs, join_places, pieces_of
from roslin.concordances.journal import Arrays, Journal
from roslin.concordances.levels import Chances, chances_of
from roslin.errors import ArgumentError
from roslin.matchers.roslin._alignment import Tables
from roslin.matchers.roslin.roslin import Roslin
from roslin.matchers.roslin.table import MelodyTable, table_of
from roslin.search.chance import Tail, tails_of
from roslin.search.roslin_table import open_table
from roslin.search.work import Work

__all__ = ["JOIN_VERSION", "FoundPairs", "find_pairs"]

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

JOIN_VERSION = 1  # of what a journal holds
_CHANCE_SHARE = 0.3  # of all the work
_MATCHER = Roslin(compare="both")


@dataclass(frozen=True, slots=True, eq=False)
class FoundPairs:
    """Pairs of melodies by their numbers, the smaller first, in rising order; their distances and chance matches.

    Of melodies that the measure cannot tell apart only the first is compared with others; `is_copy` marks the pairs
    that link the rest of them to it.
    """

    first: Numbers
    second: Numbers
    distances: Floats
    expected: Floats
    is_copy: Flags
    level: float
    compared: int  # pairs that were scored exactly
    melodies: int
    is_exact: bool = True  # whether every two were compared, and not only those that share something rare
    is_all: bool = True  # whether pairs of two old melodies were looked for, and not only those with a new one

    def __len__(self) -> int:
        return len(self.first)


def find_pairs(
    store: Store,
    level: float,
    work: Work,
    *,
    folder: str | Path | None = None,
    new: Numbers | None = None,
    exact: bool = True,
) -> FoundPairs:
    """All pairs that chance would bring at most `level` times for one of the two.

    `new`: only pairs with at least one of these melodies. `folder`: where finished work is kept. Not `exact`: only
    melodies that share something rare are compared (`blocking`).
    """
    if not level > 0:
        raise ArgumentError(f"the level must be a number of chance matches above 0; got {level!r}")
    packed = store.packed()
    if len(packed) < 2:
        nobody = np.empty(0, np.int64)
        return FoundPairs(nobody, nobody, np.empty(0), np.empty(0), nobody.astype(bool), level, 0, len(packed))
    any_query = packed.melody(0)  # the way to compare is given, so no query decides it
    tables = _MATCHER.tables(any_query, int(np.diff(packed.offsets).max()))
    work.report(0.0, "getting ready")
    everything = open_table(store, tables)
    about = {
        "version": JOIN_VERSION,
        "token": store.about["token"],
        "melodies": len(everything),
        "level": level,
        "new": None if new is None else np.sort(new).tolist(),
        "exact": exact,
    }
    keep = _keeper(None if folder is None else Journal(folder, about))
    copies = representatives(everything)
    distinct = np.flatnonzero(copies == np.arange(len(copies)))
    chances = _chances(everything, tables, tails_of(store, "both"), distinct, work, keep)
    table = table_of(everything.take(distinct), tables)
    is_new = None if new is None else np.isin(distinct, copies[new])
    buckets = None if exact else buckets_of(table)
    scored = _joined(table, tables, chances.needed(level)[table.order], is_new, buckets, work, keep)
    found = _found(everything, distinct, chances, table, scored, copies, new, level)
    return replace(found, is_exact=exact, is_all=new is None)


_Keep = Callable[[str, int, Callable[[], Arrays]], Arrays]


def _keeper(journal: Journal | None) -> _Keep:
    return journal.result if journal is not None else lambda _kind, _number, make: make()


def _chances(
    table: MelodyTable, tables: Tables, tails: dict[int, Tail], numbers: Numbers, work: Work, keep: _Keep
) -> Chances:
    """What chance gives for the melodies with these numbers."""
    parts = list(enumerate(pieces_of(numbers)))

    def made(part: tuple[int, Numbers]) -> Arrays:
        number, piece = part
        return keep("chance", number, lambda: _named(*chances_of(table, tables, tails, piece)))

    def _named(begins: Floats, scales: Floats) -> Arrays:
        return {"begins": begins, "scales": scales}

    found = []
    for done, each in enumerate(work.map(made, parts), start=1):
        found.append(each)
        work.report(_CHANCE_SHARE * done / len(parts), "what chance gives")
    begins, scales = (np.concatenate([each[name] for each in found]) for name in ("begins", "scales"))
    share = next(iter(tails.values())).share
    return Chances(begins, scales, table.own_scores[numbers], share, len(table))


def _joined(
    table: MelodyTable,
    tables: Tables,
    needed: npt.NDArray[np.int32],
    new: Flags | None,
    buckets: Buckets | None,
    work: Work,
    keep: _Keep,
) -> ScoredPairs:
    """All pairs of a table, by place. `new`: by number of the table."""
    is_new = None if new is None else new[table.order]
    parts = list(enumerate(pieces_of(np.arange(len(table)) if is_new is None else np.flatnonzero(is_new))))

    def made(part: tuple[int, Numbers]) -> Arrays:
        number, piece = part
        candidates = None if buckets is None else candidates_by(buckets)
        return keep("pairs", number, lambda: _named(join_places(table, tables, needed, piece, is_new, candidates)))

    def _named(found: ScoredPairs) -> Arrays:
        counted = np.array([found.compared])
        return {"first": found.first, "second": found.second, "scores": found.scores, "compared": counted}

    found = []
    for done, each in enumerate(work.map(made, parts), start=1):
        found.append(each)
        work.report(_CHANCE_SHARE + (1 - _CHANCE_SHARE) * done / len(parts), "comparing")
    columns = {name: np.concatenate([each[name] for each in found]) for name in ("first", "second", "scores")}
    return ScoredPairs(**columns, compared=int(sum(each["compared"][0] for each in found)))


def _found(
    everything: MelodyTable,
    distinct: Numbers,
    chances: Chances,
    table: MelodyTable,
    scored: ScoredPairs,
    copies: Numbers,
    new: Numbers | None,
    level: float,
) -> FoundPairs:
    """From places and scores to numbers and meanings, the copies beside their representatives."""
    ends = table.order[scored.first].astype(np.int64), table.order[scored.second].astype(np.int64)
    expected = np.minimum(*(chances.expected(end, scored.scores) for end in ends))
    one, two = (distinct[end] for end in ends)
    distances = _MATCHER.distances_of(scored.scores, everything.own_scores[one], everything.own_scores[two])
    copied = np.flatnonzero(copies != np.arange(len(copies)))
    if new is not None:
        copied = copied[np.isin(copied, new) | np.isin(copies[copied], new)]
    of = np.searchsorted(distinct, copies[copied])
    by_copying = chances.expected(of, chances.own_scores[of])
    copied, by_copying = copied[by_copying <= level], by_copying[by_copying <= level]
    first = np.concatenate([np.minimum(one, two), copies[copied]])
    second = np.concatenate([np.maximum(one, two), copied])
    order = np.lexsort((second, first))
    return FoundPairs(
        first[order],
        second[order],
        np.concatenate([distances, np.zeros(len(copied))])[order],
        np.concatenate([expected, by_copying])[order],
        np.concatenate([np.zeros(len(one), dtype=bool), np.ones(len(copied), dtype=bool)])[order],
        level,
        scored.compared,
        len(everything),
    )
