"""All pairs of a collection, from the collection to the list: chance, the join, and what each pair is worth.

    with Work(threads=2, progress=...) as work:
        found = find_pairs(collection, 0.1, work, folder="tunes.concordances")

All pairs that chance does not explain are found, and those with a small doubt kept (`probability`). The folder keeps
what is prepared (`prepared`) and what is finished (`journal`). Numbers are those of the collection.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.collection.store import Store
from roslin.concordances.blocking import bucket_parts, write_buckets
from roslin.concordances.copies import digests_of, unfold
from roslin.concordances.earlier import EarlierPairs
from roslin.concordances.join import ScoredPairs, piece_count
from roslin.concordances.journal import Journal, Stage, do_pieces
from roslin.concordances.levels import Chances
from roslin.concordances.prepared import (
    BucketPiece,
    ChancePiece,
    Join,
    PairPiece,
    Prepared,
    keep_needed,
    opened,
    prepare,
)
from roslin.concordances.probability import probability
from roslin.errors import ArgumentError
from roslin.matchers.roslin.roslin import Roslin
from roslin.matchers.roslin.scoring import scorer
from roslin.run.meaning import BY_CHANCE
from roslin.search.engines.roslin import open_table
from roslin.search.program import checksum
from roslin.search.work import Work
from roslin.types import Flags, Floats, Numbers, Words

JOIN_VERSION = 3  # of what a journal holds
_RARE = 0.01  # of all the work, if so much
_AS_MUCH = 20_000  # comparing with so many melodies takes as long as what chance gives for one
_SHORTLIST = 10_000  # and with all candidates as long as with about so many
_MATCHER = Roslin(compare="both")


PAIR_ARRAYS = ("first", "second", "distances", "expected", "is_copy")


@dataclass(frozen=True, slots=True, eq=False)
class FoundPairs:
    """Pairs of melodies by their numbers, the smaller first, in rising order; their distances and chance matches.

    `expected` is how many melodies would by chance be as near to one of the two, and to the other: the geometric mean.
    `is_copy` marks pairs that the measure cannot tell apart. Only the first of such melodies is compared with others;
    its pairs are repeated for the rest of them, with the same distance and the same chance matches.
    """

    first: Numbers
    second: Numbers
    distances: Floats
    expected: Floats
    is_copy: Flags
    level: float
    compared: int  # pairs of melodies that the measure can tell apart, and that were scored exactly
    melodies: int
    is_exact: bool = True  # whether every two were compared, and not only those that share something rare
    is_all: bool = True  # whether pairs of two old melodies were looked for, and not only those with a new one
    matcher: str = ""  # by whose distance they were found, the level being a radius and chance unknown (`radius`)
    folded: int = 0  # melodies that are linked to the first of more than `copies.MOST_COPIES` only
    left_copies: int = 0  # pairs that the measure cannot tell apart, and that are too common for the level

    def __len__(self) -> int:
        return len(self.first)

    def narrowed(self, level: float) -> FoundPairs:
        """Only those with a doubt of at most `level`."""
        kept = self.doubts <= level
        columns = {name: getattr(self, name)[kept] for name in PAIR_ARRAYS}
        left = self.left_copies + int((self.is_copy & ~kept).sum())
        return replace(self, **columns, level=level, left_copies=left)

    @property
    def doubts(self) -> Floats:
        """What the level limits (`certainty`)."""
        return self.distances if self.matcher else 1.0 - self.probabilities

    @property
    def probabilities(self) -> Floats:
        """That each pair is the same tune; of a matcher's radius none is known."""
        return probability(self.expected, self.distances)


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

    Chance must not explain a pair, either: it would bring at most one for one of the two. Melodies that the measure
    cannot tell apart are pairs however short they are; their probability says what that is worth.

    `new`: only pairs with at least one of these melodies. `folder`: where finished work is kept. Not `exact`: only
    melodies that share something rare are compared (`blocking`). `earlier`: only what is new since is compared with
    all, and the rest is taken over.
    """
    if not 0 < level < 1:
        raise ArgumentError(f"the level must be a doubt between 0 and 1; got {level!r}")
    if len(store) < 2:
        nobody = np.empty(0, np.int64)
        return FoundPairs(nobody, nobody, np.empty(0), np.empty(0), nobody.astype(bool), level, 0, len(store))
    digests = None if earlier is None else digests_of(open_table(store))
    if earlier is not None and digests is not None:
        new = earlier.new_among(digests)
    with ExitStack() as stack:
        place = Path(folder if folder is not None else stack.enter_context(tempfile.TemporaryDirectory()))
        stack.callback(opened.cache_clear)
        about = _about(store, level, exact, new)
        journal = Journal(place, about)
        join = Join(
            str(store.path.resolve()),
            store.about["token"],
            str(place.resolve()),
            is_exact=exact,
            is_all=new is None,
            asked=checksum(json.dumps(about)),
        )
        work.report(0.0, "getting ready")
        ready = prepare(join, new)
        make_buckets(ready, work, journal)
        chances = _chances(ready, work, journal)
        keep_needed(join, chances.needed(BY_CHANCE)[ready.table.order])
        scored = _joined(ready, work, journal)
        if earlier is not None and digests is not None:
            scored, new = _with(scored, _taken_over(ready, earlier, digests)), None
        found = _found(ready, chances, scored, new, level)
    is_exact = exact and (earlier is None or earlier.is_exact)
    return replace(found, is_exact=is_exact, is_all=new is None)


def _about(store: Store, level: float, exact: bool, new: Numbers | None) -> dict[str, Any]:
    """What is compared: unfinished work of anything else is refused."""
    return {
        "version": JOIN_VERSION,
        "token": store.about["token"],
        "melodies": len(store),
        "level": level,
        "new": None if new is None else hashlib.sha256(np.sort(new).astype(np.int64).tobytes()).hexdigest(),
        "exact": exact,
    }


def make_buckets(ready: Prepared, work: Work, journal: Journal) -> None:
    """Find out who shares something rare, where only such pairs are compared."""
    if ready.join.is_exact or ready.has_buckets():
        return
    count = bucket_parts(ready.table)
    do_pieces(work, journal, "buckets", BucketPiece(ready.join, count), count, Stage("what is rare", 0.0, _RARE))
    write_buckets(ready.folder, len(ready.distinct), partial(journal.results, "buckets", count))
    journal.forget("buckets", count)


def _chances(ready: Prepared, work: Work, journal: Journal) -> Chances:
    """What chance gives for the melodies that are compared."""
    count = piece_count(len(ready.distinct))
    do_pieces(
        work, journal, "chance", ChancePiece(ready.join), count, Stage("what chance gives", _RARE, _chance_share(ready))
    )
    own_scores = ready.everything.own_scores[ready.distinct]
    found = journal.columns("chance", count, ("begins", "scales"))
    return Chances(found["begins"], found["scales"], own_scores, len(ready.everything))


def _chance_share(ready: Prepared) -> float:
    """The share of the work that is done when chance is known."""
    return 1 / (1 + (len(ready.places) if ready.join.is_exact else _SHORTLIST) / _AS_MUCH)


def _joined(ready: Prepared, work: Work, journal: Journal) -> ScoredPairs:
    """All pairs, by place."""
    count = piece_count(len(ready.places))
    if not count:
        return ScoredPairs(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32), 0)
    do_pieces(work, journal, "pairs", PairPiece(ready.join), count, Stage("comparing", _chance_share(ready), 1.0))
    found = journal.columns("pairs", count, ("first", "second", "scores", "compared"))
    return ScoredPairs(found["first"], found["second"], found["scores"], int(found["compared"].sum()))


def _taken_over(ready: Prepared, earlier: EarlierPairs, digests: Words) -> ScoredPairs:
    """Earlier pairs that still reach what is needed, scored again, by place."""
    one, two, _ = earlier.pairs_among(digests)
    places = [ready.table.places[np.searchsorted(ready.distinct, end)].astype(np.int64) for end in (one, two)]
    scores = np.empty(len(one), np.int32)
    order = np.argsort(one, kind="stable")
    for same in np.split(order, np.flatnonzero(np.diff(one[order])) + 1) if len(order) else ():
        query = ready.everything.take(one[same[:1]])
        scores[same] = scorer(query, ready.everything, ready.tables)(two[same])
    reached = scores >= np.minimum(*(ready.needed[end] for end in places))
    first, second = np.minimum(*places), np.maximum(*places)
    return ScoredPairs(first[reached], second[reached], scores[reached], len(scores))


def _with(some: ScoredPairs, others: ScoredPairs) -> ScoredPairs:
    columns = {
        name: np.concatenate([getattr(each, name) for each in (some, others)]) for name in ("first", "second", "scores")
    }
    return ScoredPairs(**columns, compared=some.compared + others.compared)


def _found(ready: Prepared, chances: Chances, scored: ScoredPairs, new: Numbers | None, level: float) -> FoundPairs:
    """From places and scores to numbers and meanings, for the copies as for their representatives."""
    everything, distinct, copies, order = ready.everything, ready.distinct, ready.copies, ready.table.order
    ends = order[scored.first].astype(np.int64), order[scored.second].astype(np.int64)
    expected = np.sqrt(np.multiply(*(chances.expected(end, scored.scores) for end in ends)))
    one, two = (distinct[end] for end in ends)
    distances = _MATCHER.distances_of(scored.scores, everything.own_scores[one], everything.own_scores[two])
    alike = _with_copies(copies, everything.own_scores)
    of = np.searchsorted(distinct, alike)
    one, two = np.concatenate([one, alike]), np.concatenate([two, alike])
    distances = np.concatenate([distances, np.zeros(len(alike))])
    expected = np.concatenate([expected, chances.expected(of, chances.own_scores[of])])
    within = 1.0 - probability(expected, distances) <= level
    beyond = one[~within & (one == two)]
    one, two, distances, expected = one[within], two[within], distances[within], expected[within]
    first, second, of, folded = unfold(one, two, copies, new)
    return FoundPairs(
        first,
        second,
        distances[of],
        expected[of],
        (one == two)[of],
        level,
        scored.compared,
        len(everything),
        folded=folded,
        left_copies=len(unfold(beyond, beyond, copies, new).first),
    )


def _with_copies(copies: Numbers, own_scores: npt.NDArray[np.int32]) -> Numbers:
    """The melodies that others are the same as; without notes there is nothing to be the same."""
    return np.flatnonzero((np.bincount(copies, minlength=len(copies)) > 1) & (own_scores > 0))
