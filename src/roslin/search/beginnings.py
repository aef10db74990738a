"""Search that looks only at how melodies begin: each is cut to its first onsets before it is compared.

Cut melodies have no index, so every one that is asked for is compared. A matcher whose distances depend on all
candidates at once cannot be stopped on the way; for it the number of candidates is limited. What chance gives is
counted among melodies that are cut in the same way.
"""

from __future__ import annotations

from collections.abc import Collection as Container

import numpy as np
import numpy.typing as npt

from roslin.collection.store import Store
from roslin.errors import ArgumentError, TimeLimitError
from roslin.matchers import Matcher, matcher
from roslin.matchers.base import COMPARED_AT_ONCE, check_query
from roslin.melody import Melody
from roslin.represent.line import melodic_line
from roslin.represent.packed import Packed, pieces
from roslin.run import Run
from roslin.search.chance import Null, sample_of
from roslin.search.longest import check_length
from roslin.search.ranking import nearest_first, stopped
from roslin.search.work import Progress, Work

__all__ = ["MOST_AT_ONCE", "beginnings", "onsets_compared", "search_beginnings"]

MOST_AT_ONCE = 50_000

_LONGER = 1.25  # how many times as many onsets as the query a beginning has: ornaments need room

Numbers = npt.NDArray[np.int64]
Distances = npt.NDArray[np.float64]


def search_beginnings(
    query: Melody,
    collection: Store,
    matcher_name: str | Matcher,
    k: int,
    *,
    within: Numbers | None = None,
    exclude: Container[str] = (),
    radius: float | None = None,
    threads: int = 1,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Run:
    """The k melodies whose beginning is most similar to the query; otherwise as `roslin.search.search`."""
    check_query(query)
    chosen = matcher(matcher_name)
    check_length(query, chosen)
    numbers = np.arange(len(collection)) if within is None else np.asarray(within, dtype=np.int64)
    if not chosen.is_independent and len(numbers) > MOST_AT_ONCE:
        raise ArgumentError(
            f"{chosen.name} compares the beginnings of at most {MOST_AT_ONCE} melodies; got {len(numbers)}: "
            "filter the collection first, or choose another matcher"
        )
    onsets, packed = onsets_compared(query), collection.packed()
    lengths = np.minimum(packed.offsets[numbers + 1] - packed.offsets[numbers], onsets)
    parts = [numbers]
    if chosen.is_independent:
        parts = [numbers[piece] for piece in pieces(lengths, COMPARED_AT_ONCE, chosen.notes_at_once(query))]

    def compare(part: Numbers) -> Distances:
        return chosen.distances(query, beginnings(packed.take(part), onsets))

    found = [np.empty(0)]
    with Work(threads, seconds, progress) as work:
        work.report(0.0, "comparing beginnings")
        try:
            for done, distances in enumerate(work.map(compare, parts), start=1):
                found.append(distances)
                work.report(done / max(len(parts), 1), "comparing beginnings")
        except TimeLimitError:
            if len(found) == 1:
                raise
    known = np.concatenate(found)
    is_sample = len(numbers) == len(collection) or not chosen.is_independent
    null = Null.of(known if is_sample or len(known) < len(numbers) else compare(sample_of(len(collection))), None)
    return nearest_first(
        query,
        chosen,
        collection,
        (numbers[: len(known)], known),
        k,
        exclude=exclude,
        radius=np.inf if radius is None else radius,
        expected=lambda _, distances: null.expected(distances, len(numbers)),
        unfinished="" if len(known) == len(numbers) else stopped(seconds or 0.0, len(known), len(numbers)),
    )


def onsets_compared(query: Melody) -> int:
    """How many onsets a beginning has that is compared with this query."""
    return int(np.ceil(_LONGER * len(melodic_line(query))))


def beginnings(packed: Packed, onsets: int) -> Packed:
    """Each melody up to so many different onsets. Bar lines are left as they are."""
    lengths = np.diff(packed.offsets)
    onset = packed.notes["onset_ticks"]
    is_new = np.ones(len(onset), dtype=np.int64)
    is_new[1:] = onset[1:] != onset[:-1]
    is_new[packed.offsets[:-1][lengths > 0]] = 1
    counted = np.concatenate([[0], np.cumsum(is_new)])
    number = counted[1:] - np.repeat(counted[packed.offsets[:-1]], lengths)  # of the onset in its melody, from 1
    kept = number <= onsets
    offsets = np.concatenate([[0], np.cumsum(kept)])[packed.offsets].astype(np.int64)
    return Packed(packed.notes[kept], offsets, packed.barlines, packed.bar_offsets)
