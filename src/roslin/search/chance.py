"""How many melodies would match a query as well by chance: E, as gene searches give it.

Most melodies of a collection have nothing to do with a query, and the evidence for them (`Roslin.evidence`) shows what
chance gives. A fixed sample of the collection is compared with the query. With N melodies searched and p the share of
unrelated melodies for which the evidence is as high, E = N p. Where the sample is too small to count, the tail is taken
to fall exponentially:

    ln p = ln share - (evidence - threshold) / scale        for evidence above the threshold

Only the part that two melodies have in common can count for or against them: a catalogue's incipit ends after a few
notes, and the rest of a longer query is no difference. So a melody that is shorter than the query is judged by the
threshold of as many notes of the query. The list is in the order of evidence less threshold, and E falls in that order.

Threshold and scale are given in units of the query's own spread, calibrated for each collection, each mode and several
lengths of a query (`calibrated`): the collection is searched for decoys made from its melodies. A decoy has the
intervals, note values and length of music, and whatever it finds, it finds by chance. Small collections use the tails
of the RISM sample (`tails.json`, written by `tools/calibrate_tails.py`).

Middle and spread are the median of the evidence and the distance from there to its 16 % quantile: relatives of the
query are on the other side, and in a small collection they are many. Two kinds of query are more often met by chance
than their sample shows. An odd one has next to nothing in common with any melody, so its spread is tiny: no spread
counts as much less than is usual for its length. And a figure rather than a tune, such as repeated notes or a scale, is
found wherever it is used. So the query backwards, which is no copy, must not seem too rare, and the tail falls no
faster than the evidence of the sample does just before it (`falling`).

The sample is drawn by content: the same melodies give the same E, in whatever order they were read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.collection.files import read_sealed, state_path, write_sealed
from roslin.collection.store import Store
from roslin.matchers.roslin.roslin import Roslin
from roslin.matchers.roslin.scores import Planner, fitted
from roslin.melody import Melody, NoteTable
from roslin.native import kernels
from roslin.represent.line import melodic_line
from roslin.represent.packed import Packed
from roslin.types import Distances, Numbers, Scores

SAMPLED = 500  # melodies compared with every query
_SPREAD_QUANTILE = 0.16  # quantile: one standard deviation below the median, were they normal
_DECOYS = 48  # of each length
_DECOY_LENGTHS = (5, 8, 12, 20, 40)
_DECOY_MELODIES = 3000
TAIL_SHARE = 0.02  # of all comparisons: what is above the threshold
_SAME_BACKWARDS = 0.5  # a larger share of equal notes, and a melody is its own decoy: repeated notes are
_LEAST_DECOYED = 500  # comparisons without which a length gets no tail
_LEAST_SPREAD = 0.8  # of the usual one
# A query backwards is met at least exp(-8) times as often as where the tail begins: one melody in 150,000. Chosen on
# 1,500 incipits of RISM.
_BACKWARDS = 8.0
_LEAST_CALIBRATED = 1000  # melodies; in a smaller collection variants of a few tunes would decide how rare chance is
# Numbers of notes for which a query's thresholds are computed; between them they are interpolated.
_LADDER = (4, 6, 8, 12, 16, 24, 36, 54, 80, 120)
# Where the evidence of the sample is compared, as shares of melodies that have more; and how many times as fast a tail
# may fall, because these are few. Chosen on 4,864 queries without relatives in RISM, 152 of a mode, place and length.
_FALLING = (0.1, TAIL_SHARE)
_FASTER = {"both": 1.35, "melody": 1.35, "rhythm": 2.0, "contour": 1.5}
_NO_LIMIT = 99.0  # of -ln p
_LEAST_AGREEING = 100  # comparisons in which all notes agree; fewer are in the tail
_LONGEST_CHAIN = 48  # notes; agreement on more is as good as certain


@dataclass(frozen=True, slots=True)
class Tail:
    """Where the tail begins and how fast it falls, in spreads above the middle.

    A share of `TAIL_SHARE` of all comparisons is in the tail. `spread` is the usual one, in units of scores. Many
    melodies have the same five notes, and no score is higher than that of all five: no match of a few notes is rarer
    than `rarest`, -ln of the share of comparisons in which all notes agree by chance.
    """

    begin: float
    scale: float
    spread: float
    rarest: float

    def of(self, middles: Distances, spreads: Distances, backwards: Distances) -> tuple[Distances, Distances]:
        """(thresholds, scales) of queries with these middles and spreads; `backwards` is their evidence backwards."""
        spreads = np.where(spreads > 0, np.maximum(spreads, _LEAST_SPREAD * self.spread), 0.0)
        begins = middles + self.begin * spreads
        return begins, np.where(spreads > 0, np.maximum(self.scale * spreads, (backwards - begins) / _BACKWARDS), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """The melodies that show what chance gives, and the tails by the number of notes of a query."""

    melodies: Packed
    tails: Callable[[Roslin, Melody], dict[int, Tail]]

    @classmethod
    def of(cls, store: Store) -> Background:
        return cls.among(
            store.packed(), sample_of(store), lambda chosen, query: tails_of(store, mode_of(chosen, query))
        )

    @classmethod
    def among(cls, packed: Packed, numbers: Numbers, tails: Callable[[Roslin, Melody], dict[int, Tail]]) -> Background:
        return cls(packed.keep("sampled melodies", lambda packed: packed.take(numbers)), tails)

    def null(self, query: Melody, chosen: Roslin) -> Null:
        return Null(query, chosen, self.melodies, self.tails(chosen, query))


class WholeCollection(NamedTuple):
    """The collection that decides what is expected by chance: its null model, and its number of melodies."""

    background: Background
    searched: int
    coinciding: bool | None = None  # whether notes that coincide are looked for; None if the list decides (`agreement`)


class Null:
    """The null model of one query: the evidence of unrelated melodies, for the query and for its beginnings."""

    def __init__(self, query: Melody, chosen: Roslin, melodies: Packed, tails: dict[int, Tail]):
        from roslin.matchers.roslin.table import backwards, notes_table, one, self_scores_of

        self.query, self.chosen, self.melodies, self.tails = query, chosen, melodies, tails
        line, compared = melodic_line(query), chosen.compared(query)
        size = len(line)
        self._table = notes_table(melodies, compared)
        lengths = sorted({*range(1, min(size, _LONGEST_CHAIN) + 1), *(each for each in _LADDER if each < size), size})
        tables = chosen.tables(query, max(int(self._table.sizes.max(initial=1)), size))
        self._planner = Planner(tables)
        encoded = chosen.encoded(query, [Melody(line[:length]) for length in lengths])
        if compared == "rhythm":
            turned = chosen.encoded(query, [_rhythm_backwards(line[:length]) for length in lengths])
        else:
            turned = backwards(encoded)
        own, reached = np.empty(len(lengths), np.int32), np.empty(len(lengths), np.int32)
        kernels.self_scores(encoded, tables, own)
        kernels.align_each(encoded, turned, tables, reached)
        # Of the query, by their numbers of notes, with what they score with themselves as they are and backwards.
        self._beginnings = {
            length: (one(encoded, k), own[k : k + 1], reached[k : k + 1]) for k, length in enumerate(lengths)
        }
        # The sample without melodies that would take longer than a search may.
        self._numbers = np.flatnonzero(self._table.sizes <= chosen.longest(query))
        self._others = self_scores_of(self._table, compared, tables, melodies)[self._numbers]
        self._sizes = self._table.sizes[self._numbers]
        self._known = dict[int, _Beginning]()
        self.size, self.lengths = size, np.array([*(each for each in _LADDER if each < size), size])
        self.thresholds = np.array([self.at(int(length)).threshold for length in self.lengths])
        self._threshold_at = np.interp(np.arange(size + 1), self.lengths, self.thresholds)  # by notes in common
        whole = self.at(size)
        self.scale = whole.scale
        self._excess = np.sort(self.excess(whole.sample, self._sizes))

    def at(self, length: int) -> _Beginning:
        """The null model of the first notes of the query alone."""
        if length not in self._known:
            self._known[length] = self._beginning(length)
        return self._known[length]

    def _beginning(self, length: int) -> _Beginning:
        from roslin.matchers.roslin.table import scorer

        chosen, (asked, own, turned) = self.chosen, self._beginnings[length]
        scores = scorer(asked, self._table, self._planner)(self._numbers)

        def evidence(scores: Scores, others: Scores, sizes: Scores) -> Distances:
            return chosen.evidence(scores, int(own[0]), length, others, sizes)

        found = evidence(scores, self._others, self._sizes)
        if not len(found):
            return _Beginning(float(own[0]), 0.0, 0.0, found)
        reached = evidence(turned, own, np.array([length], np.int32))
        (threshold,), (scale,) = between(self.tails, length).of(*middles_and_spreads(found[None, :]), reached)
        if scale > 0 and len(self.melodies) >= SAMPLED:  # a smaller collection may consist of relatives
            scale = max(scale, falling(found) / _FASTER[chosen.compared(self.query)])
        return _Beginning(float(own[0]), float(threshold), float(scale), found)

    def excess(self, evidence: Distances, sizes: Scores) -> Distances:
        """By how much the evidence is above the threshold, for melodies of these numbers of notes."""
        common = self.size if self.chosen.place == "whole" else np.minimum(sizes, self.size)
        return np.asarray(evidence - self._threshold_at[common])

    def rarity(self, excess: Distances) -> Distances:
        """-ln p: how rare it is that an unrelated melody has as much. It rises with the excess."""
        count = max(len(self._excess), 1)
        counted = (len(self._excess) - np.searchsorted(self._excess, excess, side="left")) / count
        begin = -np.log(TAIL_SHARE)
        common: Distances = -np.log(np.clip(counted, TAIL_SHARE, 1.0))
        if self.scale <= 0:
            return common
        rarest = between(self.tails, self.size).rarest
        return np.minimum(np.where(excess > 0, begin + excess / self.scale, common), max(rarest, begin))

    def rarity_of_same(self, common: int) -> float:
        """-ln p of agreement on all of these notes: the most of any beginning, so more notes are never less certain."""
        best = 0.0
        for length in range(min(common, _LONGEST_CHAIN), 2, -1):
            rarest = between(self.tails, length).rarest
            if rarest <= best:  # as for the shortest beginnings
                continue
            known = self.at(length)
            above = known.own - known.threshold
            if known.scale > 0 and above > 0:
                best = max(best, min(above / known.scale - float(np.log(TAIL_SHARE)), rarest))
        return best


@dataclass(frozen=True, slots=True, eq=False)
class _Beginning:
    """Of the first notes of a query: what they score with themselves, the tail, and the evidence of the sample."""

    own: float
    threshold: float
    scale: float
    sample: Distances


def middles_and_spreads(samples: Distances) -> tuple[Distances, Distances]:
    """Middle and spread of each row of samples."""
    middles, far = np.quantile(samples, (0.5, _SPREAD_QUANTILE), axis=1)
    return middles, middles - far


def falling(sample: Distances) -> float:
    """By how much evidence falls while e times as many melodies have as much, in the upper part of a sample.

    >>> round(falling(-3.0 * np.log(np.linspace(0.0001, 1, 10000))), 1)
    3.0
    """
    few, fewer = np.quantile(sample, [1 - share for share in _FALLING])
    return float((fewer - few) / np.log(_FALLING[0] / _FALLING[1]))


def mode_of(chosen: Roslin, query: Melody) -> str:
    """The name of a mode: what is compared, where, in which key."""
    return f"{chosen.compared(query)}/{chosen.place}/{chosen.key}"


# -- the sample -------------------------------------------------------------------------------------------------------


def sample_of(store: Store, most: int = SAMPLED) -> Numbers:
    """The numbers of a fixed sample of a collection's melodies, drawn by their notes."""
    drawn: Numbers = store.packed().keep(("sample", most), lambda packed: np.sort(_by_content(packed)[:most]))
    return drawn


def _by_content(packed: Packed) -> Numbers:
    """All melodies in an order that depends on their notes alone, as good as random."""
    order: Numbers = packed.keep("by content", lambda packed: np.argsort(_fingerprints(packed), kind="stable"))
    return order


def _fingerprints(packed: Packed) -> npt.NDArray[np.uint64]:
    """A number for each melody, by its notes; of equal melodies each has its own."""
    notes, sizes = packed.notes, np.diff(packed.offsets)
    onsets = notes["onset_ticks"].astype(np.uint64)
    onsets -= np.repeat(onsets[np.minimum(packed.offsets[:-1], max(len(notes) - 1, 0))], sizes) if len(notes) else 0
    mixed = _mixed(_mixed(onsets) ^ _mixed(notes["duration_ticks"].astype(np.uint64) << np.uint64(8)))
    mixed = _mixed(mixed ^ notes["pitch_midi"].astype(np.uint64))
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    of = total[packed.offsets[1:]] - total[packed.offsets[:-1]]
    order = np.argsort(of, kind="stable")
    is_new = np.append(True, of[order][1:] != of[order][:-1])[: len(of)]
    firsts = np.flatnonzero(is_new)
    copies = np.empty(len(of), np.uint64)
    copies[order] = (np.arange(len(of)) - np.repeat(firsts, np.diff(np.append(firsts, len(of))))).astype(np.uint64)
    return _mixed(of + _mixed(copies))


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Every bit of a number spread over all bits (the finaliser of SplitMix64, Steele, Lea and Flood 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


# -- the tails --------------------------------------------------------------------------------------------------------


def decoy(melody: Melody, length: int, compared: str = "both") -> Melody | None:
    """The first notes of a melody with their pitches in reverse order; where only rhythm is compared, their lengths.

    None where there are fewer notes, or where most of them are the same backwards.

    >>> from roslin import load
    >>> decoy(load("'4C8DE4F")[0], 3).notes["pitch_midi"].tolist()
    [64, 62, 60]
    """
    notes = melodic_line(melody)[: length + 1].copy()
    if len(notes) < length:
        return None
    if compared == "rhythm":
        times = np.append(np.diff(notes["onset_ticks"]), notes["duration_ticks"][-1])[:length]
        if np.mean(times == times[::-1]) > _SAME_BACKWARDS:
            return None
        return _rhythm_backwards(notes, length)
    notes = notes[:length]
    if np.mean(notes["pitch_midi"] == notes["pitch_midi"][::-1]) > _SAME_BACKWARDS:
        return None
    notes["pitch_midi"], notes["pitch_base40"] = notes["pitch_midi"][::-1].copy(), notes["pitch_base40"][::-1].copy()
    return Melody(notes)


def _rhythm_backwards(notes: NoteTable, length: int | None = None) -> Melody:
    times = np.append(np.diff(notes["onset_ticks"]), notes["duration_ticks"][-1:])[:length]
    notes = notes[:length].copy()
    notes["onset_ticks"] = np.append(0, np.cumsum(times[::-1])[:-1])[: len(notes)]
    notes["duration_ticks"] = times[::-1]
    return Melody(notes)


@cache
def default_tails() -> dict[str, dict[int, Tail]]:
    """The tails of the RISM sample, by mode and number of notes: those of any small collection."""
    return _tails_in(json.loads(files(__package__).joinpath("tails.json").read_text("utf-8"))["tails"])


def _tails_in(kept: dict[str, Any]) -> dict[str, dict[int, Tail]]:
    return {mode: {int(length): Tail(**tail) for length, tail in each.items()} for mode, each in kept.items()}


def tails_of(store: Store, mode: str) -> dict[int, Tail]:
    """The tails of a collection in one mode (`mode_of`) by the number of notes; made if there are none."""
    path, numbers = state_path(store.path, "chance", store.about["token"]), repr(fitted(mode.split("/")[0]))

    def known(packed: Packed) -> dict[int, Tail]:
        if len(packed) < _LEAST_CALIBRATED:
            return default_tails()[mode]
        kept = _read(path)
        with suppress(AttributeError, KeyError, TypeError, ValueError):  # written by another version, or none yet
            if kept[mode]["fitted"] == numbers:
                return _tails_in({mode: kept[mode]["tails"]})[mode]
        tails = calibrated(packed, mode) or default_tails()[mode]
        made = {str(length): asdict(tail) for length, tail in tails.items()}
        with suppress(OSError):  # a read-only folder costs a few seconds each time
            write_sealed(path, json.dumps({**_read(path), mode: {"fitted": numbers, "tails": made}}))
        return tails

    return store.packed().keep(("tails", mode), known)


def _read(path: Any) -> dict[str, Any]:
    try:
        known = json.loads(read_sealed(path) or "null")
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def between(tails: dict[int, Tail], size: int) -> Tail:
    """The tail for a number of notes, from those that are known."""
    at = np.log(sorted(tails))
    begin, scale, spread, rarest = (
        float(np.interp(np.log(max(size, 1)), at, [getattr(tails[length], name) for length in sorted(tails)]))
        for name in ("begin", "scale", "spread", "rarest")
    )
    return Tail(begin, scale, spread, rarest)


def calibrated(packed: Packed, mode: str) -> dict[int, Tail]:
    """The tails of a collection in one mode by the number of notes of a query, from decoys made from its melodies.

    A decoy of a melody that is itself among those compared may meet what it was made of, as any query meets relatives;
    decoys are made of other melodies than they are compared with.
    """
    from roslin.matchers.roslin.table import contours, encoded, scorer, table_of
    from roslin.search.agreement import same_notes

    compared, place, key = mode.split("/")
    chosen = Roslin(compare=compared, place=place, key=key)
    order, lengths = _by_content(packed), np.diff(packed.offsets)
    among = packed.take(np.sort(order[:_DECOY_MELODIES]))
    notes = encoded(among)
    tables = chosen.tables(among.melody(0), int(max(np.diff(notes.offsets).max(), *_DECOY_LENGTHS)))
    table, tails = table_of(contours(notes) if compared == "contour" else notes, tables), {}
    planner = Planner(tables)
    for length in _DECOY_LENGTHS:
        found, agreeing = [], 0
        for number in order[::-1][lengths[order[::-1]] >= length].tolist():
            query = decoy(packed.melody(number), length, compared)
            if query is not None:
                scores = scorer(chosen.encoded(query, [query]), table, planner)(np.arange(len(among)))
                own = chosen.own_score(query)
                found.append(chosen.evidence(scores, own, length, table.own_scores, table.sizes))
                same = same_notes(query, table, among, np.arange(len(among)), chosen)
                agreeing += int(np.count_nonzero(same.notes == length))
            if len(found) == _DECOYS:
                break
        if not found:
            continue
        middles, spreads = middles_and_spreads(np.array(found))
        spread = float(np.median(spreads))
        floors = np.maximum(spreads, _LEAST_SPREAD * spread)[:, None]
        ranked = np.sort(((found - middles[:, None]) / floors)[spreads > 0], axis=None)[::-1]
        count = int(TAIL_SHARE * len(ranked))
        if len(ranked) >= _LEAST_DECOYED and ranked[0] > ranked[count]:
            share = agreeing / (len(found) * len(among))
            rarest = -float(np.log(share)) if agreeing >= _LEAST_AGREEING else _NO_LIMIT
            tails[length] = Tail(float(ranked[count]), float((ranked[:count] - ranked[count]).mean()), spread, rarest)
    return tails
