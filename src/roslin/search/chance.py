"""How many melodies would be as near to a query by chance: E, as gene searches give it, and the words that follow.

Most melodies of a collection have nothing to do with a query, and their distances say what chance gives. A fixed sample
of the collection is compared with the query; with N melodies searched and p the share that chance puts at a distance or
below it, E = N p. With `roslin` the share of the query's own worth that a melody lacks takes the place of the distance
(`Roslin.missing_in`): a melody of two notes is part of everything, and at a small distance from nearly everything.
Where the sample is too small to count, the tail is taken to fall exponentially:

    ln p = ln share - (threshold - distance) / scale        for distances below the threshold

`roslin` has a threshold and a scale in units of the query's own spread, calibrated for each collection and several
lengths of a query (`calibrated`): melodies of the collection are searched for with their pitches in reverse order. Such
a decoy has the intervals, note values and length of music, and whatever it finds, it finds by chance. For every other
matcher the tail is fitted to the sample itself.

Middle and spread are the median and the distance from there to the 84 % quantile on the far side: relatives of the
query are on the near side, and in a small collection they are many.

Two kinds of query of `roslin` are more often met by chance than their sample shows (docs/measurements/chance.md). Of an
odd one every melody lacks nearly everything, so its spread is tiny, and what lacks a little less seems rare: no spread
counts as much less than is usual for its length. And a figure rather than a tune, repeated notes or a broken chord up
and down, is found wherever somebody uses it: the query backwards, which nobody has copied, must not seem too rare.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from roslin.collection.files import chance_path
from roslin.collection.sealed import read_sealed, write_sealed
from roslin.collection.store import Store
from roslin.matchers.roslin.roslin import Roslin
from roslin.matchers.roslin.scores import fitted
from roslin.melody import Melody
from roslin.represent.line import melodic_line
from roslin.represent.packed import Packed

__all__ = [
    "CALIBRATED",
    "DEFAULT_TAIL",
    "DEFAULT_TAILS",
    "SAMPLED",
    "Null",
    "Tail",
    "between",
    "calibrated",
    "decoy",
    "middles_and_spreads",
    "sample_of",
    "tail_of",
    "tails_of",
]

Distances = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]

SAMPLED = 500  # melodies compared with every query
_FAR = 0.84  # quantile: one standard deviation, were they normal
_TAIL = 0.10  # the share of a sample that a tail is fitted to ...
_TAIL_RELATIVES = 0.01  # ... without the nearest: they may be relatives
_LEAST_FITTED = 200  # melodies without which no tail is fitted
_DECOYS = 48  # of each length
_DECOY_LENGTHS = (8, 12, 20, 40)
_DECOY_MELODIES = 3000
_DECOY_TAIL = 0.02
_SAME_BACKWARDS = 0.5  # a larger share of equal pitches, and a melody is its own decoy: repeated notes are
_LEAST_DECOYED = 500  # comparisons without which a length gets no tail
_LEAST_SPREAD = 0.8  # of the usual one
# A query backwards is met at least exp(-8) times as often as where the tail begins: one melody in 150,000. Chosen on
# 1,500 incipits of RISM.
_BACKWARDS = 8.0
_LEAST_CALIBRATED = 1000  # melodies; in a smaller collection variants of a few tunes would decide how rare chance is


@dataclass(frozen=True, slots=True)
class Tail:
    """Where the tail begins and how fast it falls, in spreads from the middle; `share` of all is beyond its begin.

    `spread` is the usual one; 0 where none is known.
    """

    begin: float
    share: float
    scale: float
    spread: float

    def of(self, middles: Distances, spreads: Distances, backwards: Distances) -> tuple[Distances, Distances]:
        """(where it begins, how fast it falls) for queries with these middles and spreads.

        `backwards` is what the queries backwards lack of them, infinite where that is not known.
        """
        spreads = np.where(spreads > 0, np.maximum(spreads, _LEAST_SPREAD * self.spread), 0.0)
        begins = middles - self.begin * spreads
        return begins, np.where(spreads > 0, np.maximum(self.scale * spreads, (begins - backwards) / _BACKWARDS), 0.0)


# Of distances, for a matcher whose sample is too small to fit a tail to; seen with incipits and tune books alike.
DEFAULT_TAIL = Tail(begin=2.4, share=0.02, scale=0.65, spread=0.0)
# Of `roslin`, by the number of notes of a query: those of the incipits of RISM (docs/measurements/chance.md).
DEFAULT_TAILS = {
    8: Tail(3.26, 0.02, 0.89, 0.054),
    12: Tail(3.36, 0.02, 0.92, 0.043),
    20: Tail(3.46, 0.02, 0.92, 0.032),
}
CALIBRATED = ("both", "melody")  # ways to compare whose tails are kept


@dataclass(frozen=True, slots=True, eq=False)
class Null:
    """The distances that chance gives for one query: a sorted sample, and the tail below the threshold."""

    sample: Distances
    threshold: float
    share: float
    scale: float

    @classmethod
    def of(cls, distances: Distances, tail: Tail | None, backwards: float = np.inf) -> Null:
        """From the distances of a sample, with a known tail or one of its own; and of the query backwards."""
        sample = np.sort(distances)
        size, finite = len(sample), int(np.isfinite(sample).sum())
        if tail is None and size >= _LEAST_FITTED:
            first, last = int(np.ceil(_TAIL_RELATIVES * size)), min(int(_TAIL * size), finite - 1)
            if last - first >= 10 and sample[last] > sample[first]:
                # Exponential, the nearest known only to be nearer than the first that counts.
                excess = (sample[last] - sample[first:last]).sum() + first * (sample[last] - sample[first])
                return cls(sample, float(sample[last]), last / size, float(excess / (last - first)))
            if finite < size:
                # Hardly anything can be compared at all: chance seldom gives a match, how near cannot be told.
                return cls(sample, float(sample[0]) if finite else -np.inf, max(finite, 1) / (size + 1), np.inf)
        known = tail or DEFAULT_TAIL
        if not finite:
            return cls(sample, 1.0, known.share, 0.0)
        (begin,), (scale,) = known.of(*middles_and_spreads(sample[None, :finite]), np.array([backwards]))
        return cls(sample, float(begin), known.share, float(scale))

    def expected(self, distances: Distances, searched: int) -> Distances:
        """How many of so many melodies would be at these distances, or nearer, by chance."""
        return searched * self.share_as_near(distances)

    def share_as_near(self, distances: Distances) -> Distances:
        """The share of unrelated melodies that are at these distances, or nearer."""
        counted = np.searchsorted(self.sample, distances, side="right") / max(len(self.sample), 1)
        if not self.scale > 0:
            return np.asarray(np.clip(counted, 1 / (len(self.sample) + 1), 1.0))
        below = np.maximum(self.threshold - distances, 0.0)
        tail = self.share * np.exp(-below / self.scale)
        shares: Distances = np.where(distances < self.threshold, tail, np.maximum(counted, self.share))
        return shares


def middles_and_spreads(samples: Distances) -> tuple[Distances, Distances]:
    """Middle and spread of each row of samples."""
    middles, far = np.quantile(samples, (0.5, _FAR), axis=1)
    return middles, far - middles


def sample_of(count: int, most: int = SAMPLED) -> Numbers:
    """The numbers of a fixed sample of so many melodies, spread evenly.

    >>> sample_of(3).tolist(), sample_of(10_000)[:3].tolist()
    ([0, 1, 2], [10, 30, 50])
    """
    if count <= most:
        return np.arange(count)
    return ((np.arange(most) + 0.5) * count / most).astype(np.int64)


def decoy(melody: Melody, length: int) -> Melody | None:
    """The first notes of a melody with their pitches in reverse order.

    None where there are fewer, or where most of them are the same backwards.

    >>> from roslin import load
    >>> decoy(load("'4C8DE4F")[0], 3).notes["pitch_midi"].tolist()
    [64, 62, 60]
    """
    notes = melodic_line(melody)[:length].copy()
    if len(notes) < length or np.mean(notes["pitch_midi"] == notes["pitch_midi"][::-1]) > _SAME_BACKWARDS:
        return None
    notes["pitch_midi"], notes["pitch_base40"] = notes["pitch_midi"][::-1].copy(), notes["pitch_base40"][::-1].copy()
    return Melody(notes)


def tail_of(store: Store, compared: str, size: int) -> Tail | None:
    """The tail of a collection for one way to compare and queries of so many notes; None where none is kept."""
    return between(tails_of(store, compared), size) if compared in CALIBRATED else None


def tails_of(store: Store, compared: str) -> dict[int, Tail]:
    """The tails of a collection by the number of notes, for a way of `CALIBRATED`; made if they are not there."""
    path, numbers = chance_path(store.path, store.about["token"]), repr(fitted(compared))

    def known(packed: Packed) -> dict[int, Tail]:
        if len(packed) < _LEAST_CALIBRATED:
            return DEFAULT_TAILS
        kept = _read(path)
        with suppress(AttributeError, KeyError, TypeError, ValueError):  # another program's, or none that was kept
            if kept[compared]["fitted"] == numbers:
                return {int(length): Tail(**tail) for length, tail in kept[compared]["tails"].items()}
        tails = calibrated(packed, Roslin(compare=compared))
        made = {str(length): asdict(tail) for length, tail in tails.items()}
        with suppress(OSError):  # a folder that others own: it costs a few seconds each time
            write_sealed(path, json.dumps({**kept, compared: {"fitted": numbers, "tails": made}}))
        return tails

    return store.packed().keep(("tails", compared), known)


def between(tails: dict[int, Tail], size: int) -> Tail:
    """The tail for a number of notes, from those that are known."""
    tails = tails or DEFAULT_TAILS
    at = np.log(sorted(tails))
    begin, scale, spread = (
        float(np.interp(np.log(max(size, 1)), at, [getattr(tails[length], name) for length in sorted(tails)]))
        for name in ("begin", "scale", "spread")
    )
    return Tail(begin, _DECOY_TAIL, scale, spread)


def _read(path: Path) -> dict[str, Any]:
    try:
        known = json.loads(read_sealed(path) or "null")
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def calibrated(packed: Packed, matcher: Roslin) -> dict[int, Tail]:
    """The tails of a collection by the number of notes of a query, from decoys made of its own melodies."""
    from roslin.matchers.roslin.scoring import scorer
    from roslin.matchers.roslin.table import table_of

    if not len(packed):
        return {}
    among, lengths = packed.take(sample_of(len(packed), _DECOY_MELODIES)), np.diff(packed.offsets)
    any_query = among.melody(0)  # the way to compare is given, so no query decides it
    melodies = matcher.encoded(any_query, among)
    tables = matcher.tables(any_query, int(max(np.diff(melodies.offsets).max(), *_DECOY_LENGTHS)))
    table, tails = table_of(melodies, tables), {}
    for length in _DECOY_LENGTHS:
        places = np.flatnonzero(lengths >= length)
        made = [decoy(packed.melody(number), length) for number in places[sample_of(len(places), _DECOYS)].tolist()]
        missing = [
            matcher.missing_of(query, scorer(matcher.encoded(query, [query]), table, tables)(np.arange(len(among))))
            for query in made
            if query is not None
        ]
        if not missing:
            continue
        middles, spreads = middles_and_spreads(np.array(missing))
        spread = float(np.median(spreads))
        floors = np.maximum(spreads, _LEAST_SPREAD * spread)[:, None]
        ranked = np.sort(((middles[:, None] - missing) / floors)[spreads > 0], axis=None)[::-1]
        count = int(_DECOY_TAIL * len(ranked))
        if len(ranked) >= _LEAST_DECOYED and ranked[0] > ranked[count]:
            scale = float((ranked[:count] - ranked[count]).mean())
            tails[length] = Tail(float(ranked[count]), _DECOY_TAIL, scale, spread)
    return tails
