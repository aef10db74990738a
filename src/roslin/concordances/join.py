"""All pairs of a collection that are the same tune at a level of certainty: the same pairs as comparing every two.

    with Work(threads=2, progress=...) as work:
        found = find_pairs(collection, 0.1, work, folder="tunes.concordances")

1. Of melodies that the measure cannot distinguish only the first is compared (`pairs`). They are sorted by length, in
   blocks of 64 (`matchers.roslin.table`). The number of a melody in this order is its place.
2. Chance gives the score that a pair of each melody must reach (`certainty.Chances`).
3. Each melody is compared with those behind it, so every two melodies meet once; or, where only some are new, each of
   these with all others. Since the score is known before, the bytes of a bound are as fine as that score allows. Pairs
   that the bound does not exclude are scored exactly. With a shortlist (`blocking`) only melodies that share something
   rare are compared, which is faster and not exact.

The folder contains what is prepared, each file made once, and the finished pieces of work (`resume`):

    melodies.bin   by number: the melody that it is the same as; and the numbers of new melodies, if only these count
    table.bin      the table of the melodies that are compared
    needed.bin     by place: the score that a pair must reach; made when chance is known
    letters.bin, buckets.bin   which melodies share something rare (`blocking`); only with a shortlist

A piece of work is a function of a `Join` and the number of the piece. A `Join` holds paths, so threads and the
processes of a cluster do it alike: each process maps the files once, and gives arrays back. The folder and the
collection must be at the same path for all of them. The result does not depend on the number of threads or on
interruptions.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from roslin.collection.arrays import ArrayFile, Arrays
from roslin.collection.store import Store
from roslin.collection.store import opened as store_of
from roslin.concordances import blocking
from roslin.concordances.blocking import Buckets
from roslin.concordances.certainty import Chances, chances_of, probability
from roslin.concordances.pairs import EarlierPairs, FoundPairs, digests_of, firsts_of, unfold
from roslin.concordances.resume import Journal, Stage
from roslin.deadline import Work
from roslin.errors import ArgumentError, CollectionError
from roslin.matchers.roslin.roslin import Roslin
from roslin.matchers.roslin.scores import Encoded, Plan, Planner, Tables, fitted, highest_pair, scale_for, tables
from roslin.matchers.roslin.table import (
    MELODIES,
    MelodyTable,
    Rows,
    fill_table,
    one,
    scorer,
    self_scores_of,
    worth_of_any_length,
)
from roslin.native import kernels
from roslin.run.meaning import BY_CHANCE
from roslin.search.chance import Tail, sample_of, tails_of
from roslin.search.engines.roslin import open_table, table_file, trusted_table
from roslin.search.program import checksum
from roslin.types import Allocate, Flags, Numbers, Scores, Words

JOIN_VERSION = 5  # of the files in a folder
PAIRED_AT_ONCE = 512  # melodies that are compared with all others in one piece of work
_ROOM = 1.05  # a byte holds this multiple of the score that is needed
_RARE = 0.01  # of all the work, if so much
_AS_MUCH = 20_000  # comparing with this many melodies takes as long as the chance estimate of one
_SHORTLIST = 10_000  # and with all candidates as long as with about this many
_TABLED_AT_ONCE = 50_000  # melodies
_MATCHER = Roslin(compare="both")  # its scale of distances is that of the melody alone
_Value = TypeVar("_Value")


def find_pairs(
    store: Store,
    level: float,
    work: Work,
    *,
    folder: str | Path | None = None,
    new: Numbers | None = None,
    exact: bool = True,
    earlier: EarlierPairs | None = None,
) -> FoundPairs:
    """All pairs that are the same tune with a doubt of at most `level`: a probability of at least 1 - level.

    At most one chance match may be expected for one of the two melodies. Melodies that the measure cannot distinguish
    are pairs however short they are, with their probability.

    `new`: only pairs with one of these melodies. `folder`: keeps finished work. Not `exact`: only melodies that share
    something rare are compared (`blocking`). `earlier`: only what is new since is compared, and the rest is taken over.
    """
    if not 0 < level < 1:
        raise ArgumentError(f"the level must be between 0 and 1; got {level!r}")
    if len(store) < 2:
        none = np.empty(0, np.int64)
        return FoundPairs(none, none, np.empty(0), np.empty(0), none.astype(bool), level, 0, len(store))
    continued = None if earlier is None else (earlier, digests_of(open_table(store)))
    if continued is not None:
        new = continued[0].new_among(continued[1])
    with ExitStack() as stack:
        place = Path(folder if folder is not None else stack.enter_context(tempfile.TemporaryDirectory()))
        stack.callback(opened.cache_clear)
        asked_for = None if new is None else hashlib.sha256(np.sort(new).astype(np.int64).tobytes()).hexdigest()
        about = {"version": JOIN_VERSION, "token": store.about["token"], "melodies": len(store)}
        about |= {"level": level, "new": asked_for, "exact": exact}
        journal = Journal(place, about)
        asked = checksum(json.dumps(about))
        join = Join(str(store.path.resolve()), store.about["token"], str(place.resolve()), exact, new is None, asked)
        work.report(0.0, "getting ready")
        ready = _prepare(join, new)
        _make_buckets(ready, work, journal)
        chances = _chances(ready, work, journal)
        needed = chances.needed(BY_CHANCE)[ready.table.order]
        _needed_file(place).write({"needed": needed})
        scored = _joined(ready, work, journal)
        if continued is not None:
            scored, new = scored.with_others(_taken_over(ready, *continued)), None
        found = _found(ready, chances, scored, new, level)
    is_exact = exact and (earlier is None or earlier.is_exact)
    return replace(found, is_exact=is_exact, is_all=new is None)


# -- what is prepared -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Join:
    """A collection that is compared with itself, and the folder where that is prepared."""

    collection: str
    token: str  # the state of the collection
    folder: str
    is_exact: bool
    is_all: bool  # not only new melodies with all others
    asked: str  # what is looked for, as a checksum: the files of another question are others, in the same folder


class Shortlist(NamedTuple):
    """The melodies worth comparing with each melody, and the notes of all melodies, both by place."""

    buckets: Buckets
    rows: Rows


class _Prepared:
    def __init__(self, join: Join):
        self.join, self.folder = join, Path(join.folder)

    @cached_property
    def store(self) -> Store:
        return store_of(self.join.collection, self.join.token)

    @cached_property
    def everything(self) -> MelodyTable:
        return open_table(self.store)

    @cached_property
    def compared(self) -> str:
        """Melody and rhythm; of chant the melody, since its notation has no rhythm."""
        return "both" if self.store.has_rhythm else "melody"

    @cached_property
    def tails(self) -> dict[int, Tail]:
        return tails_of(self.store, f"{self.compared}/anywhere/any")

    @cached_property
    def tables(self) -> Tables:
        longest = max(int(self.everything.sizes.max(initial=0)), 1)
        return tables(fitted(self.compared), longest, compared=self.compared)

    @cached_property
    def own_scores(self) -> Scores:
        """By number: what each melody reaches with itself."""
        return self_scores_of(self.everything, self.compared, self.tables)

    @cached_property
    def melodies(self) -> Arrays:
        return self._trusted("melodies.bin", _melodies_file(self.folder).read())

    @property
    def copies(self) -> Numbers:
        """By number: the melody that it is the same as."""
        return self.melodies["copies"]

    @cached_property
    def distinct(self) -> Numbers:
        return np.flatnonzero(self.copies == np.arange(len(self.copies)))

    @cached_property
    def table(self) -> MelodyTable:
        return self._trusted("table.bin", _read_table(self.folder, len(self.distinct)))

    @cached_property
    def is_new(self) -> Flags | None:
        """By place in the table: whether it is new; None where all are compared with all."""
        if self.join.is_all:
            return None
        return np.isin(self.distinct, self.copies[self.melodies["new"]])[self.table.order]

    @cached_property
    def places(self) -> Numbers:
        return np.arange(len(self.distinct)) if self.is_new is None else np.flatnonzero(self.is_new)

    @cached_property
    def needed(self) -> Scores:
        return self._trusted("needed.bin", _needed_file(self.folder).read())["needed"]

    @cached_property
    def letters(self) -> Arrays:
        return self._trusted("letters.bin", blocking.read_letters(self.folder))

    @cached_property
    def shortlist(self) -> Shortlist | None:
        if self.join.is_exact:
            return None
        buckets = self._trusted("buckets.bin", blocking.read_buckets(self.folder))
        return Shortlist(buckets, blocking.rows_of(self.letters))

    def has_buckets(self) -> bool:
        letters, buckets = blocking.read_letters(self.folder), blocking.read_buckets(self.folder)
        if letters is None or buckets is None:
            return False
        return blocking.are_safe(buckets, blocking.rows_of(letters), self.table)

    def _trusted(self, name: str, value: _Value | None) -> _Value:
        if value is None:
            raise CollectionError(f"{self.folder}: damaged: {name} is not what was written; delete the folder")
        return value


@lru_cache(maxsize=2)
def opened(join: Join) -> _Prepared:
    """The files of a comparison, opened once in a process."""
    return _Prepared(join)


def _melodies_file(folder: Path) -> ArrayFile:
    return ArrayFile(folder / "melodies.bin", "melodies of a comparison", {"copies": np.int64, "new": np.int64})


def _needed_file(folder: Path) -> ArrayFile:
    return ArrayFile(folder / "needed.bin", "scores of a comparison", {"needed": np.int32})


def _prepare(join: Join, new: Numbers | None) -> _Prepared:
    """Make the files of a comparison that are missing, except `needed.bin` and the buckets."""
    ready, folder = opened(join), Path(join.folder)
    everything, file = ready.everything, _melodies_file(folder)
    wanted = np.empty(0, np.int64) if new is None else np.sort(new)
    known, numbers = file.read(), np.arange(len(everything))
    is_safe = (
        known is not None
        and len(known["copies"]) == len(numbers)
        and known["copies"].min() >= 0
        and (known["copies"] <= numbers).all()
        and np.array_equal(known["new"], wanted)
    )
    if not is_safe:
        file.write({"copies": firsts_of(digests_of(everything)), "new": wanted})
    if _read_table(folder, len(ready.distinct)) is None:
        table_file(folder / "table.bin").fill(partial(_distinct_table, everything, ready.distinct))
    if not join.is_exact and not ready.has_buckets():
        blocking.write_letters(ready.table, folder)
    return ready


def _read_table(folder: Path, melodies: int) -> MelodyTable | None:
    arrays = table_file(folder / "table.bin").read()
    return None if arrays is None else trusted_table(arrays, melodies)


def _distinct_table(everything: MelodyTable, distinct: Numbers, allocate: Allocate) -> MelodyTable:
    sizes = everything.sizes[distinct].astype(np.int64)
    parts = (
        everything.take(distinct[start : start + _TABLED_AT_ONCE]) for start in range(0, len(distinct), _TABLED_AT_ONCE)
    )
    return fill_table(sizes, parts, worth_of_any_length(), allocate)


# -- pieces of work ---------------------------------------------------------------------------------------------------


def bucket_piece(join: Join, parts: int, number: int) -> Arrays:
    """One part of the buckets, by places in the table."""
    return blocking.part_of_buckets(opened(join).letters, number, parts)


def chance_piece(join: Join, number: int) -> Arrays:
    """The chance estimate for the melodies of a piece, in the order of `distinct`."""
    ready = opened(join)
    numbers = _piece_of(ready.distinct, number)
    begins, scales = chances_of(ready.everything, ready.tables, ready.tails, sample_of(ready.store), numbers)
    return {"begins": begins, "scales": scales}


def pair_piece(join: Join, number: int) -> Arrays:
    """The pairs of the melodies of a piece, by places in the table."""
    ready = opened(join)
    places = _piece_of(ready.places, number)
    found = join_places(ready.table, ready.tables, ready.needed, places, ready.is_new, ready.shortlist)
    return found._asdict() | {"compared": np.array([found.compared])}


_BUCKETS = Stage("buckets", {"sizes": np.int32, "members": np.int32}, "what is rare", 0.0, _RARE)
_CHANCE = Stage("chance", {"begins": np.float64, "scales": np.float64}, "what chance gives", _RARE)
_PAIRS = Stage("pairs", {"first": np.int32, "second": np.int32, "scores": np.int32, "compared": np.int64}, "comparing")


def _make_buckets(ready: _Prepared, work: Work, journal: Journal) -> None:
    if ready.join.is_exact or ready.has_buckets():
        return
    count = blocking.bucket_parts(ready.table)
    journal.do(work, _BUCKETS, partial(bucket_piece, ready.join, count), count)
    blocking.write_buckets(ready.folder, len(ready.distinct), partial(journal.results, _BUCKETS, count))
    journal.forget(_BUCKETS, count)


def _chances(ready: _Prepared, work: Work, journal: Journal) -> Chances:
    count = _piece_count(len(ready.distinct))
    journal.do(work, _CHANCE._replace(end=_chance_share(ready)), partial(chance_piece, ready.join), count)
    own_scores = ready.own_scores[ready.distinct]
    return Chances(**journal.columns(_CHANCE, count), own_scores=own_scores, searched=len(ready.everything))


def _chance_share(ready: _Prepared) -> float:
    return 1 / (1 + (len(ready.places) if ready.join.is_exact else _SHORTLIST) / _AS_MUCH)


def _joined(ready: _Prepared, work: Work, journal: Journal) -> ScoredPairs:
    count = _piece_count(len(ready.places))
    journal.do(work, _PAIRS._replace(begin=_chance_share(ready)), partial(pair_piece, ready.join), count)
    found = journal.columns(_PAIRS, count)
    return ScoredPairs(found["first"], found["second"], found["scores"], int(found["compared"].sum()))


def _piece_count(melodies: int) -> int:
    return -(-melodies // PAIRED_AT_ONCE)


def _piece_of(melodies: Numbers, number: int) -> Numbers:
    return np.asarray(melodies[number * PAIRED_AT_ONCE : (number + 1) * PAIRED_AT_ONCE])


# -- comparing --------------------------------------------------------------------------------------------------------


class ScoredPairs(NamedTuple):
    """Pairs by the places of their melodies in the table, the first before the second, and the score of each."""

    first: Numbers
    second: Numbers
    scores: Scores
    compared: int  # pairs that had to be scored exactly

    def with_others(self, others: ScoredPairs) -> ScoredPairs:
        return ScoredPairs(
            np.concatenate([self.first, others.first]),
            np.concatenate([self.second, others.second]),
            np.concatenate([self.scores, others.scores]),
            self.compared + others.compared,
        )


def join_places(
    table: MelodyTable,
    tables: Tables,
    needed: Scores,
    places: Numbers,
    new: Flags | None = None,
    shortlist: Shortlist | None = None,
) -> ScoredPairs:
    """The pairs of the melodies at these places with all behind them; `needed` is by place (`Chances`).

    With `new`, by place: pairs with all others, before and behind, each pair of two new ones once. With a
    shortlist: only pairs of those that share something rare.
    """
    side = _Side(table, needed, Planner(tables))
    candidates = None if shortlist is None else blocking.candidates_by(shortlist.buckets)
    first, second, scores = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    queries = table.take(table.order[places].astype(np.int64))
    compared = 0
    for row, place in enumerate(places.tolist()):
        start = place + 1 if new is None else 0
        query = one(queries, row)
        if shortlist is None or candidates is None:
            possible = side.possible(query, place, start)
        else:
            among = candidates(place)
            possible = side.possible_among(query, place, np.sort(among[among >= start]), shortlist.rows)
        others, reached = side.reaching(query, place, possible)
        if new is not None:
            once = ((others > place) | ~new[others]) & (others != place)
            others, reached = others[once], reached[once]
        first.append(np.minimum(others, place))
        second.append(np.maximum(others, place))
        scores.append(reached)
        compared += len(possible)
    return ScoredPairs(np.concatenate(first), np.concatenate(second), np.concatenate(scores), compared)


class _Side(NamedTuple):
    table: MelodyTable
    needed: Scores
    planner: Planner

    def possible(self, query: Encoded, place: int, start: int) -> Numbers:
        """The places from `start` on whose melodies may reach what is needed."""
        wanted = np.minimum(self.needed[start:], self.needed[place])
        plan = self._plan(query, wanted)
        if plan is None:
            return np.empty(0, np.int64)
        first, last = start // MELODIES, len(self.table.starts) - 1
        found = np.empty((last - first, MELODIES), np.int32)
        bound = kernels.align_blocks if plan.unit == 1 else kernels.bound_blocks
        bound(plan, self.table, np.arange(first, last), found)
        bounds = found.ravel()[start - first * MELODIES : len(self.table) - first * MELODIES]
        return start + np.flatnonzero(bounds >= wanted)

    def possible_among(self, query: Encoded, place: int, places: Numbers, rows: Rows) -> Numbers:
        """Those of some places, which rise, whose melodies may reach what is needed."""
        wanted = np.minimum(self.needed[places], self.needed[place])
        plan = self._plan(query, wanted)
        if plan is None:
            return np.empty(0, np.int64)
        if plan.unit == 1:
            return places  # a byte is too coarse for a query as long as this
        bounds = np.empty(len(places), np.int32)
        kernels.bound_rows(plan, rows, self.table.tempos[: len(self.table)], places, bounds)
        return np.asarray(places[bounds >= wanted])

    def reaching(self, query: Encoded, place: int, possible: Numbers) -> tuple[Numbers, Scores]:
        """Those places whose melodies do reach what is needed, and their scores."""
        if not len(possible):
            return possible, np.empty(0, np.int32)
        score = scorer(query, self.table, self.planner)
        scores = score(self.table.order[possible].astype(np.int64))
        reached = scores >= np.minimum(self.needed[possible], self.needed[place])
        return possible[reached], scores[reached]

    def _plan(self, query: Encoded, wanted: Scores) -> Plan | None:
        """A plan in bytes that finds the melodies that reach `wanted`, with all tempos at once; None if no plan can."""
        most = len(query.pitches) * highest_pair(self.planner.tables)
        if not len(wanted) or int(wanted.min()) > most:
            return None
        scale = scale_for(len(query.pitches), _ROOM * min(int(wanted.max()), most), self.planner.tables)
        return self.planner.plan(query, scale, combined=True)


# -- from places and scores to pairs ----------------------------------------------------------------------------------


def _taken_over(ready: _Prepared, earlier: EarlierPairs, digests: Words) -> ScoredPairs:
    """Earlier pairs that still reach what is needed, scored again, by place."""
    one, two, _ = earlier.pairs_among(digests)
    places = [ready.table.places[np.searchsorted(ready.distinct, end)].astype(np.int64) for end in (one, two)]
    scores = np.empty(len(one), np.int32)
    order, planner = np.argsort(one, kind="stable"), Planner(ready.tables)
    for same in np.split(order, np.flatnonzero(np.diff(one[order])) + 1) if len(order) else ():
        query = ready.everything.take(one[same[:1]])
        scores[same] = scorer(query, ready.everything, planner)(two[same])
    reached = scores >= np.minimum(*(ready.needed[end] for end in places))
    first, second = np.minimum(*places), np.maximum(*places)
    return ScoredPairs(first[reached], second[reached], scores[reached], len(scores))


def _found(ready: _Prepared, chances: Chances, scored: ScoredPairs, new: Numbers | None, level: float) -> FoundPairs:
    """From places and scores to numbers and meanings, for the copies as for their representatives."""
    distinct, copies, order = ready.distinct, ready.copies, ready.table.order
    own_scores = ready.own_scores
    ends = order[scored.first].astype(np.int64), order[scored.second].astype(np.int64)
    expected = np.sqrt(np.multiply(*(chances.expected(end, scored.scores) for end in ends)))
    one, two = (distinct[end] for end in ends)
    distances = _MATCHER.distances_of(scored.scores, own_scores[one], own_scores[two])
    # The melodies that others are the same as; without notes there is nothing to be the same.
    alike = np.flatnonzero((np.bincount(copies, minlength=len(copies)) > 1) & (own_scores > 0))
    of = np.searchsorted(distinct, alike)
    one, two = np.concatenate([one, alike]), np.concatenate([two, alike])
    distances = np.concatenate([distances, np.zeros(len(alike))])
    expected = np.concatenate([expected, chances.expected(of, chances.own_scores[of])])
    within = 1.0 - probability(expected, distances) <= level
    beyond = one[~within & (one == two)]
    one, two, distances, expected = one[within], two[within], distances[within], expected[within]
    first, second, of, folded = unfold(one, two, copies, new)
    columns, melodies = (first, second, distances[of], expected[of], (one == two)[of]), len(ready.everything)
    left = len(unfold(beyond, beyond, copies, new).first)
    return FoundPairs(*columns, level, scored.compared, melodies, folded=folded, left_copies=left)
