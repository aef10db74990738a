"""The concordances of the collection that is served, and what people say of them; read again when either changes.

They are there when `roslin concordances` has found them: in NAME.concordances beside the collection. Decisions are kept
by `concordances.review` in the collection.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from roslin.collection.folding import fold
from roslin.concordances.concordance import Concordances, GroupKind
from roslin.concordances.decisions import GroupState, PairState, state_of_group
from roslin.concordances.find import concordances_folder
from roslin.concordances.review import Review
from roslin.errors import RoslinError
from roslin.report.concordances import PageGroup, compared_words, disagreeing_pairs, page_group
from roslin.report.synopsis import Glyphs
from roslin.report.tune_groups import GroupLine, GroupSummary, group_lines, summaries
from roslin.web.library import Library

_LINES_DRAWN = 24

Pair = tuple[str, str]


class NoConcordancesError(RoslinError):
    """There are none of this collection, or no such group."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which groups somebody wants to see; empty: all."""

    kind: str = ""
    library: str = ""
    composer: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class GroupPair:
    """Two melodies of a group, and what people say of them."""

    first: str
    second: str
    state: PairState


@dataclass(frozen=True, slots=True)
class PairRow:
    """The pairs of two lines that are equally sure: they repeat one comparison for every source of the lines."""

    letters: tuple[str, str]
    doubt: float
    pairs: tuple[GroupPair, ...]

    @property
    def ids(self) -> list[Pair]:
        """The pairs by ids."""
        return [(pair.first, pair.second) for pair in self.pairs]

    @property
    def verdict(self) -> str:
        """What people say of all of them."""
        return state_of_group([pair.state for pair in self.pairs]).verdict

    @property
    def is_earlier_version(self) -> bool:
        """Whether a decision is about notes that have changed since."""
        return any(pair.state.is_earlier_version for pair in self.pairs)

    @property
    def said(self) -> list[tuple[str, str, str, str]]:
        """(author, verdict, note, day) of the decisions that count, each once."""
        made = (each for pair in self.pairs for each in pair.state.decisions)
        return list(dict.fromkeys((each.author, each.verdict, each.note, each.time[:10]) for each in made))


@dataclass(frozen=True, slots=True, eq=False)
class OpenConcordances:
    """Concordances with their groups in words, and the review of them."""

    concordances: Concordances
    groups: list[GroupSummary]
    disagreeing: int  # pairs whose sources name different composers
    review: Review

    @property
    def said(self) -> list[str]:
        """What was compared, and how sure that is."""
        return compared_words(self.concordances, self.disagreeing)

    def group(self, name: str) -> GroupSummary:
        """The group with a name, or with a melody of that id."""
        found = next((each for each in self.groups if each.name == name), None)
        if found is None and name in self.concordances.store:
            number = int(self.concordances.store.numbers([name])[0])
            found = next((each for each in self.groups if number in each.group.members), None)
        if found is None:
            raise NoConcordancesError(f"there is no group with {name!r} at this level")
        return found

    def pairs(self, summary: GroupSummary) -> list[Pair]:
        """The pairs of a group, by ids."""
        return self._ids(summary.group.pairs)

    def outside(self, summary: GroupSummary) -> list[Pair]:
        """The pairs that lead from a group to others, by ids."""
        return self._ids(summary.group.outside)

    def _ids(self, places: npt.NDArray[np.int64]) -> list[Pair]:
        pairs, source = self.concordances.pairs, self.concordances.source
        ends = zip(pairs.first[places].tolist(), pairs.second[places].tolist(), strict=True)
        return [(source(first).id, source(second).id) for first, second in ends]

    def like(self, summary: GroupSummary, pair: Pair) -> list[Pair]:
        """The pairs of the row of a pair."""
        rows = self.rows(summary, group_lines(self.concordances, summary.group))
        return next(row.ids for row in rows if pair in row.ids or pair[::-1] in row.ids)

    def state(self, summary: GroupSummary) -> GroupState:
        """What people say of a group."""
        return self.review.group_state(self.pairs(summary))

    def rows(self, summary: GroupSummary, lines: Sequence[GroupLine]) -> list[PairRow]:
        """The pairs of a group as the page lists them, the least sure first; before them those that lead elsewhere.

        One row has all pairs of two lines that are equally sure. Of the lines of another group, nothing is known here.
        """
        letters = {source.id: line.letter for line in lines for source in line.sources}
        elsewhere = {
            self.concordances.source(member).id: related.name
            for related in summary.related
            if related.group
            for member in related.group.group.members.tolist()
        }
        found = []
        for places in (summary.group.outside, summary.group.pairs):
            alike: dict[tuple[str, str, str, float], list[Pair]] = {}
            for pair, doubt in zip(self._ids(places), self.concordances.doubts[places].tolist(), strict=True):
                one, two, (upper, lower) = _in_order(*pair, letters)
                there = "" if lower else elsewhere.get(two, two)
                alike.setdefault((upper, lower, there, doubt), []).append((one, two))
            rows = [
                PairRow((upper, lower), doubt, tuple(GroupPair(*pair, self.review.state(*pair)) for pair in pairs))
                for (upper, lower, _, doubt), pairs in alike.items()
            ]
            found += sorted(rows, key=lambda row: -row.doubt)
        return found

    def chosen(self, wanted: Wanted) -> list[GroupSummary]:
        """The groups that somebody wants to see, in their order."""
        return list(self._chosen(wanted))

    def _chosen(self, wanted: Wanted) -> Iterator[GroupSummary]:
        composer = fold(wanted.composer).strip()
        for each in self.groups:
            if wanted.kind and each.kind != wanted.kind:
                continue
            if wanted.library and wanted.library not in each.libraries:
                continue
            # An address may have come from a reader of another language.
            names = (*dict(each.composers), *each.composer_names)
            if composer and not any(composer in fold(name) for name in names):
                continue
            if wanted.state and self.state(each).verdict != wanted.state:
                continue
            yield each


def _in_order(first: str, second: str, letters: dict[str, str]) -> tuple[str, str, tuple[str, str]]:
    """The two as the page has them: the upper line first, then one that is not on the page (without a letter)."""
    one, two = sorted(
        (first, second), key=lambda id: (id not in letters, len(letters.get(id, "")), letters.get(id, ""))
    )
    return one, two, (letters[one], letters.get(two, ""))


class Shelf:
    """Where the concordances of a collection are."""

    def __init__(self, library: Library):
        self._library = library
        self.folder = concordances_folder(library.settings.collection)
        self._lock = threading.Lock()
        self._state: tuple[object, ...] = ()
        self._opened: OpenConcordances | None = None

    @property
    def is_there(self) -> bool:
        """Whether there are any."""
        return (self.folder / "about.json").is_file()

    def opened(self) -> OpenConcordances:
        """The concordances as they are now, with every decision that was made."""
        if not self.is_there:
            raise NoConcordancesError(
                "no concordances of this collection were found yet: roslin concordances finds them"
            )
        collection = self._library.collection
        status = (self.folder / "about.json").stat()
        state = (status.st_ino, status.st_mtime_ns, collection.about["token"])
        with self._lock:
            if self._opened is None or state != self._state:
                found = Concordances.read(self.folder, collection)
                review = Review.of(collection)
                self._opened = OpenConcordances(found, summaries(found), disagreeing_pairs(found), review)
                self._state = state
            opened = self._opened
        opened.review.refresh()
        return opened

    def drawn(self, opened: OpenConcordances, summary: GroupSummary) -> tuple[PageGroup, Glyphs]:
        """A group with its notation; kept, for the way back."""

        def make() -> tuple[PageGroup, Glyphs]:
            glyphs = Glyphs()
            with self._library.slot():
                return page_group(opened.concordances, summary, "line-", glyphs, _LINES_DRAWN), glyphs

        key = ("group", self._state, summary.name)
        return self._library.kept(key, make, lambda made: not any(each.reason for each in made[0].drawn))

    def kinds(self, opened: OpenConcordances) -> dict[GroupKind, int]:
        """How many groups there are of each kind."""
        counts: dict[GroupKind, int] = {}
        for each in opened.groups:
            counts[each.kind] = counts.get(each.kind, 0) + 1
        return counts
