"""What a search found, as it is shown: a page of a ranked list, and how it was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from roslin.matchers import Matcher
from roslin.melody import Melody
from roslin.run import Hit, Run
from roslin.run.meaning import FEW_NOTES
from roslin.web.listing import Listing
from roslin.web.schemas.explanations import MatchAnswer
from roslin.web.schemas.lists import FacetAnswer, FilterAnswer, ResultAnswer, SearchAnswer
from roslin.web.schemas.melodies import AboutAnswer
from roslin.web.schemas.requests import ListParams, SearchParams


@dataclass(frozen=True, slots=True)
class Show:
    """How a list is shown: counted, copies folded into one line, all lines at once, only those above chance."""

    needs_list: bool
    is_folded: bool
    is_whole: bool = False
    is_sure: bool = False

    @classmethod
    def page(cls, asked: SearchParams) -> Self:
        """As people read it."""
        return cls(needs_list=True, is_folded=asked.copies != "apart")

    @classmethod
    def data(cls, asked: ListParams) -> Self:
        """As programs ask for it: of a page of a list no more is known than that page, unless they need it."""
        needs_list = asked.facets or asked.whole or bool(asked.only or asked.order) or asked.copies == "together"
        return cls(needs_list, asked.copies == "together", asked.whole, asked.sure)


@dataclass(frozen=True, slots=True)
class Result:
    """One melody of a ranked list."""

    hit: Hit
    melody: Melody
    link: str | None
    match: MatchAnswer | None
    costs: dict[str, float]
    copies: tuple[tuple[Melody, str | None], ...] = ()  # identical ones, each with its link

    @property
    def rank(self) -> int:
        """From 1."""
        return self.hit.rank

    @property
    def distance(self) -> float:
        """How far it is from the query."""
        return self.hit.distance

    @property
    def copied_in(self) -> list[str]:
        """The libraries that have the copies, each once."""
        libraries = (copy.extra.get("siglum") for copy, _link in self.copies)
        return list(dict.fromkeys(filter(None, libraries)))

    def answer(self) -> ResultAnswer:
        """The line as JSON."""
        return ResultAnswer(
            **AboutAnswer.known(self.melody, self.link),
            copies=[AboutAnswer(**AboutAnswer.known(*copy)) for copy in self.copies],
            rank=self.rank,
            distance=self.distance,
            costs=self.costs,
            expected=self.hit.expected,
            meaning=self.hit.meaning,
            above_chance=self.hit.is_above_chance,
            same_notes=self.hit.same,
            coincides=self.hit.coincides,
            match=self.match,
        )


@dataclass(frozen=True, slots=True)
class Found:
    """A page of a ranked list. `seconds` is what the search itself took, `matching` what it took to compare notes.

    `run` is all that was found. `line` is how many lines of this page are above that where chance begins; None where
    the line is not on this page. `listing` is all of the list, where that was asked for; `is_whole` says that what is
    counted does not go on beyond it. `readings` is how many readings of the query were searched for. It
    `is_complete` unless the limit of time cut the search or the matches short.
    """

    query: Melody
    matcher: Matcher
    run: Run
    searched: int
    steps: tuple[FilterAnswer, ...]
    results: tuple[Result, ...]
    page: int
    has_more: bool
    line: int | None
    seconds: float
    matching: float
    listing: Listing | None = None
    readings: int = 1
    is_whole: bool = False
    is_complete: bool = True

    @property
    def agreeing(self) -> int:
        """How many melodies have every note of the query."""
        return sum(ranking.agreeing for ranking in self.run.rankings.values())

    @property
    def notes(self) -> int:
        """The notes of the query, without ornaments."""
        return int((~self.query.notes["is_grace"]).sum())

    @property
    def is_few(self) -> bool:
        """Whether more notes would help: there are few, and they left something to chance."""
        return self.run.has_meaning and self.notes < FEW_NOTES and self.run.above_line < len(self.run)

    @property
    def timing(self) -> str:
        """Both, as browsers show it (the header Server-Timing), in milliseconds."""
        return f"search;dur={self.seconds * 1000:.2f}, match;dur={self.matching * 1000:.2f}"

    @property
    def _facets(self) -> list[FacetAnswer] | None:
        return [FacetAnswer.model_validate(each) for each in self.listing.facets] if self.listing else None

    def answer(self, asked: ListParams) -> SearchAnswer:
        """The page as JSON."""
        return SearchAnswer(
            query_notes=len(self.query),
            deviations=self.query.deviations,
            matcher=repr(self.matcher),
            compare=asked.compare,
            place=asked.place,
            key=asked.key,
            searched=self.searched,
            filters=list(self.steps),
            is_close=self.run.is_close,
            headline=self.run.headline,
            agreeing=self.agreeing,
            is_complete=self.run.is_complete,
            remarks=list(self.run.remarks),
            page=self.page,
            has_more=self.has_more,
            counted=self.listing.total if self.listing else None,
            is_counted_whole=self.is_whole,
            left=self.listing.left if self.listing else None,
            facets=self._facets if asked.facets else None,
            seconds=self.seconds,
            results=[result.answer() for result in self.results],
        )
