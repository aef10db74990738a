"""The engine of the measure `roslin`: exact search in the order of evidence.

Every melody gets an upper bound of its score (`native/roslin_blocks.c`), and so a lower bound of its key. The most
promising ones are scored (`roslin.search.refine`). Melodies that agree with the query on all notes of one of the two
are in the list as well, and so are melodies whose notes coincide with those of the query, if the alignment finds
nothing certain (`roslin.search.agreement`).

The table of notes is in the collection's folder. It is made when it is first needed, and again for another state of the
collection, other fitted numbers, or a damaged file. It is written a part at a time, so memory does not grow with the
collection.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from roslin.collection.arrays import ArrayFile, Arrays, Room, derived
from roslin.collection.files import Remembered, state_path
from roslin.collection.store import Store
from roslin.deadline import Work
from roslin.errors import TimeLimitError
from roslin.matchers import Roslin
from roslin.matchers.roslin.scores import FARTHEST, UNKNOWN, Encoded, Planner, highest_pair, scale_for
from roslin.matchers.roslin.table import (
    DTYPES,
    MELODIES,
    NOTES,
    MelodyTable,
    build_table,
    is_safe,
    notes_table,
    scorer,
    self_scores_of,
    worth_of_any_length,
)
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.packed import Packed
from roslin.run.meaning import BY_CHANCE
from roslin.search.agreement import COINCIDING, Agreement, can_ask, evidence_of, is_certain, same_notes
from roslin.search.chance import Background, Null, WholeCollection
from roslin.search.refine import Best, Engine, Everything, Nearest, Round, Slack
from roslin.tolerances import RECOMPUTED
from roslin.types import Floats, Numbers, Progress, Scores

if TYPE_CHECKING:
    from roslin.search.request import Request

TABLE_VERSION = 3

# The key of melodies with these scores, the best first: it falls as scores rise. The second argument is their numbers,
# or a slice of them.
KeyOf = Callable[[Scores, Numbers | slice], Floats]

# Melodies bounded, or scored, in one piece of work. Smaller pieces have closer scales, but each needs its own plan.
PIECE = 32768
SCORED_AT_ONCE = 512
# About this many are scored first, and this many times as many in each further batch.
FIRST, GROWTH = 256, 8
# With fewer than this share of the melodies allowed, scoring them all is faster than bounding whole blocks.
_FEW = 1 / 8
# A few blocks, one in `_SAMPLE`, show how high bounds are, in bytes that hold the share `_COARSE` of the highest score
# there could be. The bytes of all bounds then hold `_ROOM` times what those few reach.
_SAMPLE, _COARSE, _ROOM = 64, 0.6, 1.1
# Closer bounds are in bytes that hold this many times what the lowest quarter of the bounds has.
_CLOSER_ROOM = 1.15


# -- the table of a collection ----------------------------------------------------------------------------------------


def open_table(store: Store, progress: Progress | None = None) -> MelodyTable:
    """The table of a collection as it is now, made if it is not there."""
    token = store.about["token"]

    def fill(room: Room) -> Arrays:
        table = build_table(store.packed(), worth_of_any_length(), progress, room)
        return {name: getattr(table, name) for name in DTYPES}

    def trusted(arrays: Arrays) -> MelodyTable | None:
        return trusted_table(arrays, len(store))

    return derived(table_file(state_path(store.path, "roslin", token)), Remembered(store.path, token), trusted, fill)


def table_file(path: Path) -> ArrayFile:
    """A file with a table. It names the version of tables, and the fitted numbers that this one was made with."""
    total = hashlib.blake2b(digest_size=8)
    for each in worth_of_any_length():
        total.update(np.ascontiguousarray(each).tobytes())
    return ArrayFile(path, f"table {TABLE_VERSION}, fitted numbers {total.hexdigest()}", DTYPES)


def trusted_table(arrays: Arrays, melodies: int) -> MelodyTable | None:
    """The table of this many melodies, or None for arrays that a kernel cannot trust."""
    table = MelodyTable(**arrays)
    return table if len(table) == melodies and is_safe(table) else None


# -- scores and bounds ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """A query as the kernels take it, and the table to search."""

    melody: Melody
    query: Encoded
    table: MelodyTable
    planner: Planner
    own: int  # self-score of the query
    others: Scores  # those of the melodies
    matcher: Roslin

    @classmethod
    def of(cls, query: Melody, matcher: Roslin, table: MelodyTable, packed: Packed | None = None) -> Aligned:
        """The table holds melodies as `Roslin.encoded` gives them for the query. `packed` stores their self-scores."""
        asked, compared = matcher.encoded(query, [query]), matcher.compared(query)
        worth = matcher.tables(query, max(int(table.sizes.max(initial=0)), len(asked.pitches)))
        others = self_scores_of(table, compared, worth, packed)
        return cls(query, asked, table, Planner(worth), matcher.own_score(query), others, matcher)

    def distances(self, scores: Scores, numbers: Numbers | slice) -> Floats:
        return self.matcher.distances_of(scores, self.own, self.others[numbers])

    def keys(self, null: Null) -> KeyOf:
        """The evidence above what chance gives, below zero: the most certain melody has the smallest key."""
        size, sizes = len(self.query.pitches), self.table.sizes

        def key(scores: Scores, numbers: Numbers | slice) -> Floats:
            evidence = self.matcher.evidence(scores, self.own, size, self.others[numbers], sizes[numbers])
            return -null.excess(evidence, sizes[numbers])

        return key

    def may_be_same(self) -> Numbers:
        """The melodies whose intervals are those of the query, as far as the shorter of both goes."""
        found = np.empty((len(self.table.starts) - 1, MELODIES), np.int8)
        kernels.same_intervals(self.table, self.query.intervals, found)
        places = np.flatnonzero(found.ravel()[: len(self.table)])
        return np.sort(self.table.order[places].astype(np.int64))

    def scores(self, numbers: Numbers, work: Work) -> Scores:
        scores, table = np.empty(len(numbers), np.int32), self.table
        order = np.argsort(table.places[numbers], kind="stable")
        score = scorer(self.query, table, self.planner)
        parts = _parts(order)
        for part, found in zip(parts, work.map(lambda part: score(numbers[part]), parts), strict=True):
            scores[part] = found
            work.report(0.9, "comparing")
        return scores

    def upper_bounds(self, work: Work) -> Scores:
        """No melody scores more than this, at any tempo.

        The longer melodies are, the higher they score. So for every piece, a few of its blocks show how high that is,
        in coarse bytes. The bytes of the piece are then as fine as nearly all scores allow.
        """
        size, table, worth = len(self.query.pitches), self.table, self.planner.tables
        bounds = np.full(len(table), FARTHEST, np.int32)
        if not size or not len(table):
            return bounds
        plan_in = partial(self.planner.plan, self.query, combined=True)
        coarse = scale_for(size, _COARSE * size * highest_pair(worth), worth)

        def bounded(piece: tuple[int, int]) -> Scores:
            numbers = np.arange(*piece)
            found = np.empty((len(numbers), MELODIES), np.int32)
            if coarse is None:
                kernels.align_blocks(plan_in(None), table, numbers, found)
                return found.ravel()
            few = numbers[::-_SAMPLE].copy()
            sample = np.empty((len(few), MELODIES), np.int32)
            kernels.bound_blocks(plan_in(coarse), table, few, sample)
            highest = max(int(sample.max()), 0)
            scale = coarse if highest == UNKNOWN else scale_for(size, _ROOM * highest, worth)
            kernels.bound_blocks(plan_in(scale), table, numbers, found)
            return found.ravel()

        count, at_once = len(table.starts) - 1, PIECE // MELODIES
        pieces = [(start, min(start + at_once, count)) for start in range(0, count, at_once)]
        for done, (piece, found) in enumerate(zip(pieces, work.map(bounded, pieces), strict=True), start=1):
            numbers = table.order[piece[0] * MELODIES : piece[1] * MELODIES]
            bounds[numbers] = found[: len(numbers)]
            work.report(0.8 * done / len(pieces), "searching")
        # Where vectors have no bound: no alignment has more pairs than the shorter melody has notes.
        pairs = np.minimum(table.sizes, size) * np.int32(max(highest_pair(worth), 1))
        return np.minimum(bounds, pairs, out=bounds)

    def closer_bounds(self, numbers: Numbers, bounds: Scores, work: Work) -> Scores:
        """No melody scores more than this: for a few of them, which have these bounds, each tempo by itself."""
        size, worth = len(self.query.pitches), self.planner.tables
        closer = bounds.copy()
        if scale_for(size, 1, worth) is None:
            return closer
        places = self.table.places[numbers].astype(np.int64)
        order = np.argsort(places, kind="stable")

        def bounded(part: Numbers) -> Scores:
            found = np.empty(len(part), np.int32)
            low = float(np.partition(bounds[part], len(part) // 4)[len(part) // 4])
            plan = self.planner.plan(self.query, scale_for(size, _CLOSER_ROOM * low, worth))
            kernels.bound_melodies(plan, self.table, places[part], found)
            return found

        parts = _parts(order)
        for part, found in zip(parts, work.map(bounded, parts), strict=True):
            closer[part] = found
            work.report(0.9, "searching")
        return np.minimum(closer, bounds, out=closer)


def _parts(order: Numbers) -> list[Numbers]:
    return [order[start : start + SCORED_AT_ONCE] for start in range(0, len(order), SCORED_AT_ONCE)]


# -- engines ----------------------------------------------------------------------------------------------------------


class ByAlignment(Engine):
    """Melodies in the order of a key that falls as their scores rise: the distance, or the evidence against chance."""

    slack = Slack(RECOMPUTED, RECOMPUTED)  # the bound is a function that falls with the score

    def __init__(self, aligned: Aligned, key_of: KeyOf, candidates: Numbers, work: Work):
        super().__init__(candidates, work)
        self.aligned, self.key_of = aligned, key_of
        self._upper = np.empty(0, np.int32)

    def all_at_once(self, k: int) -> bool:
        return len(self.candidates) <= max(self.batch(0, k), _FEW * len(self.aligned.table))

    def batch(self, number: int, k: int) -> int:
        return int(min(max(FIRST, 2 * k) * GROWTH**number, len(self.aligned.table) + 1))

    def bounds(self, part: Round, limit: float) -> tuple[Numbers, Floats]:
        del part, limit
        self._upper = upper = self.aligned.upper_bounds(self.work)
        pieces = [slice(start, min(start + PIECE, len(upper))) for start in range(0, len(upper), PIECE)]
        found = np.concatenate(list(self.work.map(lambda piece: self.key_of(upper[piece], piece), pieces)))
        return self.candidates, found[self.candidates] if len(self.candidates) < len(found) else found

    def keys(self, numbers: Numbers, bounds: Floats, best: Best, done: float) -> Floats:
        del bounds, done
        keys = np.full(len(numbers), np.inf)
        possible = np.arange(len(numbers))
        if best.limit < np.inf and len(numbers) > MELODIES and len(self._upper):
            closer = self.aligned.closer_bounds(numbers, self._upper[numbers], self.work)
            possible = np.flatnonzero(self.key_of(closer, numbers) <= best.reach)
        scores = self.aligned.scores(numbers[possible], self.work)
        keys[possible] = self.key_of(scores, numbers[possible])
        self.compared += len(possible)
        return keys


class ByEvidence(Engine):
    """The list of a search with `roslin`: in the order of evidence, with everything that agrees exactly."""

    def __init__(
        self,
        aligned: Aligned,
        packed: Packed,
        candidates: Numbers,
        excluded: Numbers,
        whole: WholeCollection,
        work: Work,
    ):
        super().__init__(candidates, work)
        self.aligned, self.packed, self.excluded, self.whole = aligned, packed, excluded, whole
        self.query, self.matcher = aligned.melody, aligned.matcher

    @classmethod
    def of(cls, request: Request, collection: Store, candidates: Numbers, work: Work) -> ByEvidence:
        chosen, packed = request.matcher, collection.packed()
        assert isinstance(chosen, Roslin)
        packed.keep(NOTES, lambda _: open_table(collection, work.progress))
        table = notes_table(packed, chosen.compared(request.query))
        aligned = Aligned.of(request.query, chosen, table, packed)
        excluded = collection.numbers([id for id in request.exclude if id in collection])
        whole = request.whole or WholeCollection(Background.of(collection), len(candidates))
        return cls(aligned, packed, candidates, excluded, whole, work)

    def within(self, radius: float) -> tuple[Numbers, Floats]:
        return ByAlignment(self.aligned, self.aligned.distances, self.candidates, self.work).within(radius)

    def find(self, k: int, radius: float) -> Nearest:
        found = self._by_alignment(k, radius)
        if found.compared is not None or not can_ask(self.query, self.matcher):
            return found
        more = self.whole.coinciding
        if more is None:
            assert found.evidence is not None
            most = found.evidence[~np.isin(found.numbers, self.excluded)].max(initial=-np.inf)
            more = not is_certain(found.agreeing, 10.0**-most)
        return self._with_coinciding(found) if more else found

    def _by_alignment(self, k: int, radius: float) -> Nearest:
        candidates, none = self.candidates, np.empty(0, np.int64)
        if radius < np.inf:
            candidates, _ = self.within(radius)
        if not len(candidates):
            return Nearest(none, np.empty(0), None, np.empty(0), np.empty(0), none)
        null = self.whole.background.null(self.query, self.matcher)
        engine = ByAlignment(self.aligned, self.aligned.keys(null), candidates, self.work)
        may_be_same = self.aligned.may_be_same()
        if len(candidates) < len(self.aligned.table):
            may_be_same = np.intersect1d(may_be_same, candidates, assume_unique=True)
        same = same_notes(self.query, self.aligned.table, self.packed, may_be_same, self.matcher)
        found = engine.find(k, np.inf)
        self.compared = engine.compared
        numbers = np.union1d(found.numbers, may_be_same[same.notes > 0])
        with Work(self.work.threads) as rest:  # few, and found already: the time may be over
            scores = self.aligned.scores(numbers, rest)
        return self._judged(numbers, scores, _spread(same, may_be_same, numbers), null, found.compared)

    def _judged(self, numbers: Numbers, scores: Scores, same: Agreement, null: Null, compared: int | None) -> Nearest:
        excess = -self.aligned.keys(null)(scores, numbers)
        rarities = null.rarity(excess)
        for common in np.unique(same.notes[same.is_full]).tolist():
            rarities[(same.notes == common) & same.is_full] = null.rarity_of_same(common)
        evidence = (rarities - np.log(self.whole.searched)) / np.log(10)
        # A few notes from within the query are in many melodies: that is no news where chance gives as much.
        notes = np.where(same.is_full | (10.0**-evidence <= BY_CHANCE), same.notes, 0)
        share = excess / max(self.aligned.own, 1)
        fit = share / (1 + np.abs(share))  # within -1 and 1, and equal only where the excess is
        agrees = (same.notes == len(self.aligned.query.pitches)) & ~np.isin(numbers, self.excluded)
        distances = self.aligned.distances(scores, numbers)
        return Nearest(numbers, distances, compared, evidence, fit, notes, int(agrees.sum()))

    def _with_coinciding(self, found: Nearest) -> Nearest:
        """With every melody whose notes coincide with those of the query more than chance explains.

        Its E is the smaller of the two. A melody that the alignment has not listed has no separate evidence, so the
        first k are those of comparing everything in both ways.
        """
        assert found.evidence is not None
        assert found.fit is not None
        assert found.same is not None
        try:
            everything = Everything(self.query, COINCIDING, self.packed, self.candidates, self.work)
            compared = everything.find(len(self.candidates), np.inf)
        except TimeLimitError:
            if not self.work.partial:
                raise
            return found._replace(compared=0)
        sampled = COINCIDING.distances(self.query, self.whole.background.melodies)
        rare = evidence_of(compared.distances, sampled, self.whole.searched)
        believed = np.flatnonzero(np.isfinite(rare))
        new = np.setdiff1d(compared.numbers[believed], found.numbers)
        with Work(self.work.threads) as rest:  # few, and found already: the time may be over
            distances = self.aligned.distances(self.aligned.scores(new, rest), new)
        numbers, none = np.append(found.numbers, new), np.zeros(len(new))
        evidence, fit = np.append(found.evidence, none - np.inf), np.append(found.fit, none)
        same, coincides = np.append(found.same, none.astype(np.int64)), np.zeros(len(numbers), bool)
        order = np.argsort(numbers)
        at = order[np.searchsorted(numbers, compared.numbers[believed], sorter=order)]
        is_rarer = (rare[believed] > evidence[at]) & (same[at] == 0)
        believed, at = believed[is_rarer], at[is_rarer]
        evidence[at], fit[at], coincides[at] = rare[believed], -compared.distances[believed], True
        distances = np.append(found.distances, distances)
        return Nearest(numbers, distances, compared.compared, evidence, fit, same, found.agreeing, coincides)

    def keys(self, numbers: Numbers, bounds: Floats, best: Best, done: float) -> Floats:
        raise NotImplementedError


def _spread(same: Agreement, among: Numbers, numbers: Numbers) -> Agreement:
    """The agreement of some melodies for others of them: nothing for those that were not looked at."""
    at = np.minimum(np.searchsorted(among, numbers), max(len(among) - 1, 0))
    is_known = among[at] == numbers if len(among) else np.zeros(len(numbers), bool)
    notes, is_full = np.zeros(len(numbers), np.int64), np.zeros(len(numbers), bool)
    notes[is_known], is_full[is_known] = same.notes[at[is_known]], same.is_full[at[is_known]]
    return Agreement(notes, is_full)
