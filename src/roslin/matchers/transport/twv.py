"""`twv`: the Earth Mover's Distance of segments, put together: the search of Typke et al. (2007), section 2.4.

Reference: Typke, Wiering and Veltkamp. The query is cut into overlapping segments of `segment` onsets, `step` apart
(represent/segments.py). Every place in the document where a segment, moved, transposed and played at one of `tempos`,
is within `radius` is a match; with the `alignment` "coincidence" all such places are found, with the others only the
best. Section 2.4.1 makes one distance of the matches:

- The expected number of segments is that of the query, or of the document when it is shorter: both are counted in
  onsets, and a shorter document expects as many segments as it would be cut into itself.
- A legal combination has no segment twice, and segments with a higher number lie later. For consecutive numbers the
  overlap of the matched areas differs from that in the query by at most `tolerance`, and there is a gap of at most
  `apart` more than in the query between them; both in mean note lengths of the query (quarters with
  unit="quarter"). A matched area reaches from the first onset of the segment to its last.
- The distance is the least sum of distances over all legal combinations, plus a penalty for each segment that is
  expected and not matched: the largest distance of any match with any of the candidates (`penalty="largest"`, the
  paper's), or the radius (`penalty="radius"`, so that a document's distance does not depend on the others).
- A document without any match is in no list: its distance is infinite. Where there is no match above 0 anywhere, the
  penalty is the radius.

`twv` is the system as published: a segment may be stretched in time, and the lighter of two point sets is matched
completely (`missing=None`, section 2.1). The paper does not print the length of segments, the radius, the limits, the
unit of time, and the tempos, so these are our choice (`TEMPOS`: 1 : 2 and 2 : 3, the most frequent in notation).

All segments are measured in the unit of time of the whole query. The minimum over combinations is exact (dynamic
programming over matches and lengths of chains). Three options go beyond the paper:

    score = "mean" the sum divided by the expected number of segments: a short document, of which few are expected, is
                   no longer near to everything
    agree = True   all matches of a combination have the same transposition and the same tempo
    both = True    both directions, query in document and document in query: the mean over all segments of the two. All
                   are expected, however short the other melody is. In the second direction the document is cut, in its
                   own unit of time. Nothing found in either: in no list
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.deadline import check_stopped, stop_flag
from roslin.display.words import N_, _
from roslin.errors import ArgumentError
from roslin.matchers.base import Modes, Tell, register, rounded
from roslin.matchers.explanation import Explanation, Step, scaled
from roslin.matchers.transport.emd import Transport, laid
from roslin.melody import Melody
from roslin.native import kernels
from roslin.represent.keys import local_keys
from roslin.represent.packed import Packed
from roslin.represent.points import PointSets, Segments, segment_count, segments
from roslin.transport.align import Document, Placement, Query, best_alignment, in_quarters, rules_of, unit_of
from roslin.transport.emd import tonal_tables
from roslin.types import Distances, Flags, Floats, Numbers
from roslin.values.parameters import choice, flag, real, reals, whole

# The numbers of a match: its segment, its distance, where its first and its last onset are in the document (quarters),
# its transposition (pitches) and its tempo.
MATCH_COLUMNS = 6


# -- explanations ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chain:
    """The best combination in one document: rows of `MATCH_COLUMNS`, and how many segments were expected."""

    matches: npt.NDArray[np.float64]
    expected: int


def segment_steps(
    chosen: TWV,
    chain: Chain,
    melodies: tuple[Melody, Melody],
    points: tuple[PointSets, PointSets],
    penalty: float,
) -> list[Step]:
    """A step for each segment of a combination, with its moves, and one for each that is expected and not there.

    `melodies` and `points` are those of the query and of the candidate. Where nothing at all was found, every segment
    counts. Which ones are not found is known unless fewer are expected than there are.
    """
    asked = points[0]
    spans, unit = chosen.spans(asked), chosen.unit_of(asked)
    steps, left = list[Step](), dict(enumerate(spans))
    for segment, _last, start, _apart, transposition, tempo in chain.matches.tolist():
        span = left.pop(int(segment))
        moving = Query.of(asked, chosen, span, unit=unit)
        place = Placement(0.0, start / tempo * moving.time_unit, transposition * moving.pitch_unit, tempo)
        within = laid(chosen, melodies, points, moving, span, place)
        rows, name = tuple(asked.rows[span].tolist()), _("segment {number}").format(number=int(segment) + 1)
        steps.append(Step("segment", (rows,), (within.candidate_notes,), within.distance, name, within=within))
    missing = chain.expected - len(steps) if steps else len(spans)
    if len(left) > missing:
        return steps + [Step("unmatched", cost=penalty, words=_("a segment, not found"))] * missing
    for number, span in left.items():
        rows = tuple(asked.rows[span].tolist())
        words = _("segment {number}, not found").format(number=number + 1)
        steps.append(Step("unmatched", (rows,), (), penalty, words))
    return sorted(steps, key=lambda step: step.query_places)


def turned(step: Step) -> Step:
    """A step of the other direction, the document in the query, as a step of this one."""
    kind = "back" if step.kind == "segment" else step.kind
    words = _("{segment} (of the melody, in the query)").format(segment=step.words)
    return replace(step, kind=kind, query_places=step.candidate_places, candidate_places=step.query_places, words=words)


# In place of the paper's free scaling of time: note values halved or doubled, and two for three.
TEMPOS = (0.5, 2 / 3, 1.0, 1.5, 2.0)
# Matches of a query and a document that there is room for at first.
_FIRST_MATCHES = 64
# Penalties of this many queries are kept with the candidates.
_KEPT = 32


class _Chained(NamedTuple):
    """Queries in documents, one direction: for each pair the least sums of distances, by the length of the chain.

    `expected` segments would ideally match, of `every` that there are; `largest` is the largest distance of any match.
    """

    sums: Floats
    expected: Numbers
    every: Numbers
    largest: float


class _OneWay(NamedTuple):
    """Queries in documents, one direction: what each pair is at, how many segments that counts, and the penalty.

    A pair without any match is not found; it pays for every segment of the query.
    """

    distances: Distances
    counted: Numbers
    is_found: Flags
    penalty: float


class MatchedSegments(NamedTuple):
    """The matches in a part of the candidates: the query in them and, if wanted, they in the query.

    It is made into distances when all parts are known, because the penalty depends on all of them.
    """

    there: _Chained
    back: _Chained | None


@register
@dataclass(frozen=True, repr=False)
class TWV(Transport):
    """Segments of the query, put together."""

    name = "twv"
    summary = N_("Finds segments of the query by the Earth Mover's Distance, at any tempo, and puts them together.")
    reference = "Typke, Wiering & Veltkamp 2007, section 2, as published"

    pairs_at_once = 1_000_000  # segments are short, and seldom near
    engine = "segments"
    modes: ClassVar[Modes] = {
        "compare": {"both": {}},
        "place": {"anywhere": {"both": False}, "whole": {"both": True}},
        "key": {"any": {}},
    }

    tempos: tuple[float, ...] = reals(TEMPOS, above=0)
    missing: float | None = real(None, least=0, optional=True)
    segment: int = whole(6)
    step: int = whole(3)
    radius: float = real(0.3, above=0)
    tolerance: float = real(1.0, least=0)
    apart: float = real(6.0, least=0)
    penalty: str = choice("largest", "largest", "radius")
    score: str = choice("sum", "mean", "sum")
    agree: bool = flag(False)
    both: bool = flag(False)

    @property
    def is_independent(self) -> bool:
        """Whether a candidate's distance is the same whatever the others are."""
        return self.penalty == "radius"

    def segments(self, query: Melody) -> list[Query]:
        """The segments of a query, as `transport` takes them, in order."""
        points = self.query_points([query])
        unit = unit_of(points, self)
        return [Query.of(points, self, span, unit=unit) for span in self.spans(points)]

    def spans(self, query: PointSets) -> list[slice]:
        """The notes of each segment of a query, in order."""
        cut = segments(query, self.segment, self.step)
        return [slice(first, end) for first, end in zip(cut.first.tolist(), cut.end.tolist(), strict=True)]

    def matched(self, query: Melody, packed: Packed, possible: Flags | None) -> MatchedSegments:
        """The segments found in some of the candidates. `distances_of` combines them.

        `possible` (segments x candidates) is true wherever a segment of the query may match. None means everywhere.
        The other direction, with `both`, is searched everywhere.
        """
        asked, stored = self.query_points([query]), self.points(packed)
        if possible is not None:
            shape = int(segments(asked, self.segment, self.step).offsets[-1]), len(packed)
            if possible.shape != shape:
                raise ArgumentError(f"possible must be (segments, candidates), {shape}; got {possible.shape}")
        back = self._chained(stored, asked, None) if self.both else None
        return MatchedSegments(self._chained(asked, stored, possible), back)

    def distances_of(self, parts: Sequence[MatchedSegments]) -> Distances:
        """The distances of the candidates of all parts, one part after the other; infinite if no segment is found."""
        there = self._one_way([part.there for part in parts])
        if not self.both:
            found = there.distances if self.score == "sum" else there.distances / there.counted
            return np.where(there.is_found, rounded(found), np.inf)
        back = self._one_way([part.back for part in parts if part.back is not None])
        found = (there.distances + back.distances) / (there.counted + back.counted)
        return np.where(there.is_found | back.is_found, rounded(found), np.inf)

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        return self.distances_of([self.matched(query, candidates, None)])

    def _explain_told(self, query: Melody, candidates: Packed, number: int, tell: Tell) -> Explanation:
        candidate, (penalty, penalty_back) = candidates.melody(number), self._penalties(query, candidates)
        tell(1.0)
        asked, stored = self.query_points([query]), self.points([candidate])
        chain = self._best_chain(asked, stored, penalty)
        steps = segment_steps(self, chain, (query, candidate), (asked, stored), penalty)
        is_found = bool(len(chain.matches))
        if self.both:
            chain_back = self._best_chain(stored, asked, penalty_back)
            back = segment_steps(self, chain_back, (candidate, query), (stored, asked), penalty_back)
            steps += [turned(step) for step in back]
            is_found = is_found or bool(len(chain_back.matches))
        said = _("{count} of {total} expected segments found").format(count=len(chain.matches), total=chain.expected)
        if not is_found:
            sentence = _("{found}: none is within the radius, so the melody is not in the list.").format(found=said)
            return Explanation(self, self.kind, query, candidate, np.inf, (), sentence)
        if self.both or self.score == "mean":
            steps = list(scaled(steps, 1.0 / len(steps)))
        first = next((step.within for step in steps if step.kind == "segment" and step.within is not None), None)
        if first is None:
            sentence = _("{found}: none is within the radius.").format(found=said)
            return Explanation(self, self.kind, query, candidate, 0.0, tuple(steps), sentence)
        sentence = f"{said}; {first.transformation}."
        return replace(first, steps=tuple(steps), sentence=sentence)

    def _penalties(self, query: Melody, candidates: Packed) -> tuple[float, float]:
        """The penalties of a missing segment among these candidates, in the query's direction and in the other."""
        if self.penalty == "radius":
            return self.radius, self.radius
        kept: dict[tuple[TWV, Melody], tuple[float, float]] = candidates.keep("penalties of twv", lambda _: {})
        found = kept.get((self, query))
        if found is None:
            asked, stored = self.query_points([query]), self.points(candidates)
            back = self._penalty([self._chained(stored, asked, None)]) if self.both else self.radius
            found = self._penalty([self._chained(asked, stored, None)]), back
            if len(kept) >= _KEPT:
                kept.clear()
            kept[self, query] = found
        return found

    def _best_chain(self, asked: PointSets, stored: PointSets, penalty: float) -> Chain:
        """The combination that makes the distance from one query to one document."""
        cut, held = segments(asked, self.segment, self.step), segments(stored, self.segment, self.step)
        expected = int(self._expected(cut, held)[0])
        found = self._matches(asked, stored)
        if not len(found):
            return Chain(found, expected)
        sums, previous = self._chains(asked, cut, found, expected)
        totals = rounded(sums + penalty * (expected - 1 - np.arange(expected)))
        last, length = (int(k) for k in np.unravel_index(np.argmin(totals), totals.shape))
        order = [last]
        for k in range(length, 0, -1):
            order.append(int(previous[order[-1], k]))
        return Chain(found[order[::-1]], expected)

    def _expected(self, cut: Segments, held: Segments) -> Numbers:
        """How many segments of the queries would ideally match: those that cover the documents; with `both`, all."""
        covered = np.broadcast_to(cut.onsets, np.broadcast_shapes(cut.onsets.shape, held.onsets.shape))
        return segment_count(covered if self.both else np.minimum(cut.onsets, held.onsets), self.segment, self.step)

    def _chained(self, queries: PointSets, documents: PointSets, possible: Flags | None) -> _Chained:
        """One query in many documents, or many queries in one document."""
        cut, held = segments(queries, self.segment, self.step), segments(documents, self.segment, self.step)
        expected = self._expected(cut, held)
        if self.alignment == "coincidence":
            sums, largest = self._sums(queries, cut, documents, expected, possible)
        else:
            sums, largest = self._sums_of_best(queries, documents, expected, possible)
        every = np.maximum(np.broadcast_to(np.diff(cut.offsets), expected.shape), 1)
        return _Chained(sums, expected, every, largest)

    def _penalty(self, parts: Sequence[_Chained]) -> float:
        """The penalty of a segment that is expected and not matched."""
        largest = max(part.largest for part in parts)
        return largest if self.penalty == "largest" and largest > 0 else self.radius

    def _one_way(self, parts: Sequence[_Chained]) -> _OneWay:
        penalty, distances = self._penalty(parts), []
        for part in parts:
            unmatched = np.maximum(part.expected[:, None] - 1 - np.arange(part.sums.shape[1]), 0)
            distances.append((part.sums + penalty * unmatched).min(axis=1, initial=np.inf))
        found = np.concatenate(distances)
        is_found = np.isfinite(found)
        every = np.concatenate([part.every for part in parts])
        expected = np.concatenate([part.expected for part in parts])
        return _OneWay(
            np.where(is_found, found, penalty * every), np.where(is_found, expected, every), is_found, penalty
        )

    def _sums(
        self, queries: PointSets, cut: Segments, documents: PointSets, expected: Numbers, possible: Flags | None
    ) -> tuple[Floats, float]:
        units = np.array([self.unit_of(queries.only(k)) for k in range(len(queries))])
        everywhere, (tables, keys) = np.empty((0, 0), np.bool_), self._tonal(documents)
        sums, largest = np.empty((len(expected), max(expected.max(initial=1), 1))), np.empty(1)
        kernels.chain_sums(
            SimpleNamespace(
                notes=queries,
                offsets=queries.offsets,
                units=units,
                first=cut.first,
                end=cut.end,
                segment_offsets=cut.offsets,
                pitch_unit=self.pitch_scale,
            ),
            SimpleNamespace(notes=documents, offsets=documents.offsets, tables=tables, keys=keys),
            expected,
            everywhere if possible is None else possible,
            rules_of(self),
            self.radius,
            self,
            sums,
            largest,
        )
        check_stopped()
        return sums, float(largest[0])

    def _sums_of_best(
        self, queries: PointSets, documents: PointSets, expected: Numbers, possible: Flags | None
    ) -> tuple[Floats, float]:
        """The same as `_sums`, with only the best alignment of each segment, one pair after the other."""
        sums, largest = np.full((len(expected), max(expected.max(initial=1), 1)), np.inf), 0.0
        for k, most in enumerate(expected.tolist()):
            query = queries.only(k if len(queries) > 1 else 0)
            found = self._matches(query, documents.only(k if len(documents) > 1 else 0))
            if possible is not None:
                found = found[possible[found[:, 0].astype(np.int64), k]]
            if most and len(found):
                ending, _ = self._chains(query, segments(query, self.segment, self.step), found, most)
                sums[k, :most] = ending.min(axis=0)
                largest = max(largest, float(found[:, 1].max()))
        return sums, largest

    def unit_of(self, query: PointSets) -> float:
        """The unit of time of a query, which in the other direction may be a document without notes."""
        return unit_of(query, self) if len(query.time) else 1.0

    def _tonal(self, documents: PointSets) -> tuple[Floats, Numbers]:
        """(tables, keys): the tonal ground distance in all keys, and the key around each note."""
        if self.ground != "tonal":
            return np.empty((0, 0, 0)), np.empty(0, np.int64)
        keys = local_keys(documents.time, documents.pitch, documents.weight, documents.offsets)
        return tonal_tables() * self.semitone, keys

    def _chains(self, query: PointSets, cut: Segments, found: Floats, most: int) -> tuple[Floats, Numbers]:
        starts, ends = query.time[cut.first], query.time[cut.end - 1]
        spans = SimpleNamespace(starts=starts, ends=ends, unit=self.unit_of(query))
        sums, previous = np.empty((len(found), most)), np.empty((len(found), most), np.int64)
        kernels.chains(found, spans, self, stop_flag(), sums, previous)
        return sums, previous

    def _matches(self, query: PointSets, document: PointSets) -> Floats:
        """All matches of one query with one document, in order of segments."""
        cut, unit = segments(query, self.segment, self.step), self.unit_of(query)
        whole = Document.of(document, 0, self)
        if not whole.weight.sum() > 0:
            return np.empty((0, MATCH_COLUMNS))
        if self.alignment == "coincidence":
            everywhere = np.ones(len(cut.first), np.bool_)
            asked = SimpleNamespace(
                notes=query, first=cut.first, end=cut.end, possible=everywhere, unit=unit, pitch_unit=self.pitch_scale
            )
            given = asked, whole, whole.table, rules_of(self), self.radius
            found = np.empty((_FIRST_MATCHES, MATCH_COLUMNS))
            while (count := kernels.segment_matches(*given, found)) > len(found):
                found = np.empty((count, MATCH_COLUMNS))
            if count < 0:
                raise MemoryError("no memory for segment_matches")
            check_stopped()
            return found[:count]
        rows = []
        for number, span in enumerate(self.spans(query)):
            part = Query.of(query, self, span, unit=unit)
            best = in_quarters(part, best_alignment(part, whole, self))
            places = [best.tempo * query.time[row] + best.shift for row in (span.start, span.stop - 1)]
            if best.distance <= self.radius:
                rows.append([number, best.distance, *places, best.transposition, best.tempo])
        return np.array(rows, dtype=np.float64).reshape(-1, MATCH_COLUMNS)


@register
@dataclass(frozen=True, repr=False)
class TWVCovered(TWV):
    """Segments that must be covered, at one tempo: our variant of `twv`, with two choices of our own.

        tempos    one, that of the query: where the same music is mostly written in the same note values, more tempos
                  add more wrong matches than right ones
        missing   a segment must be covered: each unit of its weight that finds no partner costs 2. By the paper's
                  definition the lighter point set is matched completely, so a document of one note is close to
                  everything

    dev/measurements/twv.md has what other choices find.
    """

    name = "twv_covered"
    summary = N_("Roslin's variant of twv: one tempo, and a cost for notes without a partner in a short melody.")
    engine = "segments"
    reference = "Roslin, after Typke, Wiering & Veltkamp 2007"

    tempos: tuple[float, ...] = reals((1.0,), above=0)
    missing: float | None = real(2.0, least=0, optional=True)
