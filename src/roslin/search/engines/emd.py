"""The engine of the Earth Mover's Distance: exact search for `emd` and `twv` with lower bounds.

Every melody gets a lower bound of its distance (`roslin.transport.bounds`) from an index in the collection's folder.
`emd` compares only melodies whose bound is within the limit, in the order of their bounds (`roslin.search.refine`).
`twv` looks for a segment of the query only where a match may be within its radius.

The index holds, for each melody: the set of its pitches as one word, its lowest pitch, its span and its grid (the
greatest common divisor of its onsets); and for each note: its onset in ticks from the first note, its length and its
pitch. Grace notes are left out, as everywhere in `roslin.transport`. The index is made when it is first needed, and
again for another state of the collection, another version of the index, or a damaged file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roslin.collection.arrays import ArrayFile, Arrays, Room, derived
from roslin.collection.files import Remembered, state_path
from roslin.collection.store import Store
from roslin.deadline import Work, check_stopped
from roslin.matchers import EMD, TWV
from roslin.matchers.base import COMPARED_AT_ONCE, rounded
from roslin.melody import TICKS_PER_QUARTER, Melody
from roslin.native import kernels
from roslin.represent.packed import Packed, pieces
from roslin.represent.points import point_sets
from roslin.search.refine import Best, Engine, Everything, Nearest, Round, Slack, finished, part_of
from roslin.tolerances import BOUNDED
from roslin.transport.align import Query, Setting, rules_of
from roslin.transport.bounds import can_be_bounded, scan_of
from roslin.types import Flags, Floats, Numbers, Progress

if TYPE_CHECKING:
    from roslin.search.request import Request

INDEX_VERSION = 4

_MELODIES_AT_ONCE = 50_000
_HIGHEST_TICK = 2**31 - 1
_UNBOUNDED = 255  # as a span, wider than any that can be tabled: its times do not fit
# Melodies bounded, and compared, in one piece of work.
BOUNDED_AT_ONCE = 8192
MELODIES_IN_BATCH = 256
# A batch of long melodies is smaller: this many pairs of notes take a few seconds at most, then the clock is checked.
PAIRS_AT_ONCE = 100_000
# This many melodies are compared for the first limit. The rounds that follow reach this far into each piece.
FIRST_SAMPLE = 32
ROUNDS = (32, 128, 512, 1280, 2560, 4096, 6144)
# This many melodies decide which grid is common.
_GRIDS = 2048
# Alignments of segments in one piece of work: under a second if every one of them has to be solved.
_ALIGNMENTS_AT_ONCE = 20_000


@dataclass(frozen=True, slots=True)
class Index:
    """One entry per melody. Its notes in `times`, `weights` and `pitches` begin at `offsets`."""

    words: npt.NDArray[np.uint64]
    offsets: npt.NDArray[np.int64]
    grids: npt.NDArray[np.int32]
    times: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]
    lows: npt.NDArray[np.int8]
    spans: npt.NDArray[np.uint8]
    pitches: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.words)

    @property
    def arrays(self) -> Arrays:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def size(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())


_DTYPES = {
    "words": np.uint64,
    "offsets": np.int64,
    "grids": np.int32,
    "times": np.int32,
    "weights": np.float32,
    "lows": np.int8,
    "spans": np.uint8,
    "pitches": np.int8,
}


def open_index(store: Store, progress: Progress | None = None) -> Index:
    """The index of a collection as it is now, made if it is not there."""
    token = store.about["token"]

    def fill(room: Room) -> Arrays:
        made = build_index(store.packed(), progress).arrays
        arrays = room({name: len(array) for name, array in made.items()})
        for name, array in made.items():
            arrays[name][:] = array
        return arrays

    def trusted(arrays: Arrays) -> Index | None:
        index = Index(**arrays)
        return index if len(index) == len(store) and _is_safe(index) else None

    return derived(index_file(state_path(store.path, "index", token)), Remembered(store.path, token), trusted, fill)


def index_file(path: Path) -> ArrayFile:
    """A file with an index. It names the version of indexes."""
    return ArrayFile(path, f"index {INDEX_VERSION}", _DTYPES)


def build_index(packed: Packed, progress: Progress | None = None) -> Index:
    """The index of many melodies, a part at a time."""
    parts = []
    for start in range(0, len(packed), _MELODIES_AT_ONCE):
        stop = min(start + _MELODIES_AT_ONCE, len(packed))
        parts.append(_entries(packed.part(start, stop)))
        if progress:
            progress(stop / len(packed), "making the index")
    if not parts:
        parts = [_entries(packed)]
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _DTYPES if name != "offsets"}
    return Index(offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), **joined)


def _entries(packed: Packed) -> Index:
    rows = np.flatnonzero(~packed.notes["is_grace"])
    offsets = np.searchsorted(rows, packed.offsets).astype(np.int64)
    lengths = np.diff(offsets)
    notes = packed.notes[rows]
    pitch = notes["pitch_midi"].astype(np.int64)
    has_notes = np.flatnonzero(lengths)
    firsts = offsets[has_notes]
    melody = np.repeat(np.arange(len(lengths)), lengths)

    def reduced(function: np.ufunc, values: npt.NDArray[Any], dtype: type) -> npt.NDArray[Any]:
        whole: npt.NDArray[Any] = np.zeros(len(lengths), dtype=dtype)
        if len(firsts):
            whole[has_notes] = function.reduceat(values, firsts)
        return whole

    ticks = notes["onset_ticks"] - np.repeat(reduced(np.minimum, notes["onset_ticks"], np.int64), lengths)
    lows = reduced(np.minimum, pitch, np.int64)
    spans = reduced(np.maximum, pitch, np.int64) - lows
    spans[reduced(np.maximum, ticks, np.int64) > _HIGHEST_TICK] = _UNBOUNDED
    above = pitch - lows[melody]
    bits = np.where(above < 64, np.left_shift(np.uint64(1), np.minimum(above, 63).astype(np.uint64)), np.uint64(0))
    return Index(
        reduced(np.bitwise_or, bits, np.uint64),
        offsets,
        np.minimum(reduced(np.gcd, ticks, np.int64), _HIGHEST_TICK).astype(np.int32),
        np.minimum(ticks, _HIGHEST_TICK).astype(np.int32),
        (notes["duration_ticks"] / TICKS_PER_QUARTER).astype(np.float32),
        lows.astype(np.int8),
        spans.astype(np.uint8),
        pitch.astype(np.int8),
    )


def _is_safe(index: Index) -> bool:
    """Whether a kernel that trusts these numbers stays inside its arrays, even if a disk has changed some of them."""
    return bool(
        len(index.offsets) == len(index) + 1
        and len({len(each) for each in (index.words, index.grids, index.lows, index.spans)}) == 1
        and len({len(each) for each in (index.times, index.weights, index.pitches)}) == 1
        and index.offsets[0] == 0
        and index.offsets[-1] == len(index.times)
        and (index.offsets[1:] >= index.offsets[:-1]).all()
        and index.times.min(initial=0) >= 0
        and index.pitches.min(initial=0) >= 0
        and index.lows.min(initial=0) >= 0
    )


class Bounds:
    """Lower bounds of the distances from one query to the melodies of a collection, at the best of all tempos."""

    def __init__(self, query: Query, setting: Setting, index: Index, allowed: Flags, work: Work):
        self.query, self.setting, self.index, self.allowed, self.work = query, setting, index, allowed, work
        self._weights = index.weights if setting.weight == "duration" else np.ones(len(index.times), np.float32)
        self._grids = index.grids[:: len(index) // _GRIDS + 1].astype(np.int64)

    def within(self, limit: float, spans: list[tuple[int, int]], before: float, after: float) -> tuple[Numbers, Floats]:
        """Numbers and bounds of the melodies in these spans whose bound is not above the limit.

        `before` and `after` are the shares of the whole work that are done before and after this.
        """
        known = scan_of(self.query, self.setting, limit, self._grids)

        def bounds_of(span: tuple[int, int]) -> Floats:
            bounds = np.empty(span[1] - span[0])
            kernels.scan_block(self._block(*span), known, bounds)
            return bounds

        numbers, bounds = [np.empty(0, np.int64)], [np.empty(0)]
        for done, (span, found) in enumerate(zip(spans, self.work.map(bounds_of, spans), strict=True), start=1):
            possible = np.flatnonzero(np.isfinite(found))
            numbers.append(span[0] + possible)
            bounds.append(found[possible])
            self.work.report(before + (after - before) * done / len(spans), "searching")
        return np.concatenate(numbers), np.concatenate(bounds)

    def possible(self, limit: float, before: float = 0.0, after: float = 1.0) -> Flags:
        """Which melodies may have an alignment within the limit: all that do, and few others."""
        found = np.zeros(len(self.index), dtype=bool)
        numbers, _ = self.within(NearestByEmd.slack.added_to(limit), _spans(len(self.index)), before, after)
        found[numbers] = True
        return found

    def _block(self, start: int, stop: int) -> SimpleNamespace:
        """The `scan_documents` of some successive melodies (native/scan.h)."""
        index, part = self.index, slice(start, stop)
        per_melody = {name: getattr(index, name)[part] for name in ("words", "lows", "spans", "grids")}
        per_note = {"times": index.times, "pitches": index.pitches, "weights": self._weights}
        offsets = index.offsets[start : stop + 1]
        return SimpleNamespace(**per_melody, **per_note, offsets=offsets, allowed=self.allowed[part])


def _spans(count: int) -> list[tuple[int, int]]:
    return [(start, min(start + BOUNDED_AT_ONCE, count)) for start in range(0, count, BOUNDED_AT_ONCE)]


class NearestByEmd(Engine):
    """The melodies closest to a query by `emd`."""

    slack = Slack(BOUNDED, BOUNDED)

    def __init__(self, query: Query, setting: Setting, packed: Packed, index: Index, candidates: Numbers, work: Work):
        super().__init__(candidates[np.diff(index.offsets)[candidates] > 0], work)
        self.query, self.setting, self.packed, self.index = query, setting, packed, index
        self._bounds = Bounds(query, setting, index, _flags(len(index), candidates), work)
        self._everything: Everything | None = None

    @classmethod
    def of(cls, request: Request, collection: Store, candidates: Numbers, work: Work) -> NearestByEmd | None:
        chosen = request.matcher
        assert isinstance(chosen, EMD)
        query = Query.of(chosen.query_points([request.query]), chosen)
        if not can_be_bounded(query, chosen):
            return None
        index, packed = open_index(collection, work.progress), collection.packed()
        engine = cls(query, chosen, packed, index, candidates, work)
        engine._everything = Everything(request.query, chosen, packed, candidates, work)
        return engine

    def find(self, k: int, radius: float) -> Nearest:
        found = super().find(k, radius)
        is_short = found.compared is None and np.isfinite(found.distances).sum() < k and radius == np.inf
        return self._everything.find(k, radius) if is_short and self._everything else found

    def all_at_once(self, k: int) -> bool:
        return len(self.candidates) <= FIRST_SAMPLE + 2 * k

    def sample(self, k: int) -> Numbers:
        return self.candidates[:: len(self.candidates) // (FIRST_SAMPLE + 2 * k)]

    def rounds(self) -> Iterator[Round]:
        count, done = len(self.index), 0
        for begin, end in pairwise((0, *ROUNDS, BOUNDED_AT_ONCE)):
            spans = [
                (at + begin, min(at + end, count)) for at in range(0, count, BOUNDED_AT_ONCE) if at + begin < count
            ]
            if spans:
                before, done = done, done + sum(stop - start for start, stop in spans)
                yield Round(spans, before / count, done / count)

    def bounds(self, part: Round, limit: float) -> tuple[Numbers, Floats]:
        return self._bounds.within(self.slack.added_to(limit), part.part, part.before, part.after)

    def batch(self, number: int, k: int) -> int:
        """As many for each thread as are compared without a look at the clock."""
        del number, k
        pairs = len(self.query.x) * len(self.packed.notes)
        return max(min(MELODIES_IN_BATCH, PAIRS_AT_ONCE * len(self.packed) // max(pairs, 1)), 1) * self.work.threads

    def keys(self, numbers: Numbers, bounds: Floats, best: Best, done: float) -> Floats:
        """The distances. Each thread gets promising melodies: good ones found early leave less to do."""
        distances, order, threads = np.empty(len(numbers)), np.lexsort((numbers, bounds)), self.work.threads
        shares = [order[one::threads] for one in range(threads)]
        compare = partial(self._distances, best=best.smallest)
        results = self.work.map(compare, [(numbers[share], np.maximum(bounds[share], 0.0)) for share in shares])
        for share, (found, solved) in zip(shares, results, strict=True):
            distances[share] = found
            self.compared += int(np.count_nonzero(solved))
        self.work.report(done, "comparing")
        return distances

    def _distances(self, melodies: tuple[Numbers, Floats], best: Floats) -> tuple[Floats, Floats]:
        numbers, bounds = melodies
        points = point_sets(self.packed.take(numbers), pitch=self.setting.pitch, weight=self.setting.weight)
        query, rules, found = self.query, rules_of(self.setting), np.empty((len(numbers), 2))
        kernels.align_documents(query, points, points.offsets, query, rules, bounds, best.copy(), found)
        check_stopped()
        return rounded(found[:, 0]), found[:, 1]


class SegmentsByEmd(Engine):
    """Matches of the segments of a query by `twv`, looked for only where bounds leave room for one."""

    def __init__(self, query: Melody, matcher: TWV, packed: Packed, candidates: Numbers, possible: Flags, work: Work):
        super().__init__(candidates, work)
        self.query, self.matcher, self.packed = query, matcher, packed
        self.possible = possible  # (segments, melodies of the collection)

    @classmethod
    def of(cls, request: Request, collection: Store, candidates: Numbers, work: Work) -> SegmentsByEmd | None:
        chosen = request.matcher
        assert isinstance(chosen, TWV)
        possible = _possible(request.query, chosen, collection, candidates, work)
        if possible is None:
            return None
        return cls(request.query, chosen, collection.packed(), candidates, possible, work)

    def keys(self, numbers: Numbers, bounds: Floats, best: Best, done: float) -> Floats:
        del bounds, best, done
        # With both directions, a melody may also be found in the query.
        examined = numbers if self.matcher.both else numbers[self.possible[:, numbers].any(axis=0)]
        if not len(examined):
            return np.full(len(numbers), np.inf)

        def matched(part: Numbers) -> Any:
            where = np.ascontiguousarray(self.possible[:, part])
            return self.matcher.matched(self.query, part_of(self.packed, part), where)

        lengths = self.packed.offsets[examined + 1] - self.packed.offsets[examined]
        tried = self.possible[:, examined].sum(axis=0)
        alignments = lengths * tried * self.matcher.segment * len(self.matcher.tempos)
        parts = [examined[piece] for piece in pieces(alignments, COMPARED_AT_ONCE, _ALIGNMENTS_AT_ONCE)]
        found = finished(matched, parts, self.work)
        distances = np.full(len(self.packed), np.inf)
        is_complete = len(found) == len(parts)
        end = len(examined) if is_complete else sum(map(len, parts[: len(found)]))
        distances[examined[:end]] = self.matcher.distances_of(found)
        return distances[numbers if is_complete else numbers[numbers < examined[end]]]


def depended_on(
    query: Melody, collection: Store, chosen: Any, numbers: Numbers, within: Numbers | None = None
) -> tuple[Packed, Numbers]:
    """The melodies on which the distances to some of them depend, and the places of these among them.

    Explanations need them. `within` are the melodies that were searched. For `twv` they are those that may have a
    match, because only these decide on the penalty.
    """
    packed, numbers = collection.packed(), np.asarray(numbers, dtype=np.int64)
    if chosen.is_independent:
        return packed.take(numbers), np.arange(len(numbers))
    others = np.arange(len(collection)) if within is None else within
    if vars(type(chosen)).get("engine") == "segments" and not chosen.both:
        with Work() as work:
            possible = _possible(query, chosen, collection, others, work)
        others = others if possible is None else np.flatnonzero(possible.any(axis=0))
    elif within is None:
        return packed, numbers
    together = np.union1d(others, numbers).astype(np.int64)
    return packed.take(together), np.searchsorted(together, numbers)


def _possible(query: Melody, chosen: TWV, collection: Store, candidates: Numbers, work: Work) -> Flags | None:
    """(segments, melodies of the collection): where bounds leave room for a match. None: there are no bounds."""
    segments = chosen.segments(query)
    if not len(candidates) or not all(can_be_bounded(segment, chosen) for segment in segments):
        return None
    index, count = open_index(collection, work.progress), len(segments)
    allowed = _flags(len(index), candidates)
    return np.array(
        [
            Bounds(segment, chosen, index, allowed, work).possible(chosen.radius, k / count, (k + 1) / count)
            for k, segment in enumerate(segments)
        ]
    )


def _flags(count: int, numbers: Numbers) -> Flags:
    flags = np.zeros(count, dtype=bool)
    flags[numbers] = True
    return flags
