"""Concordances to review: a list with filters, a page for each group, decisions by plain forms.

They exist when `roslin concordances` has found them, in NAME.concordances beside the collection. Decisions are stored
by `concordances.review` in the collection. Both are read again when they change. Everything works without scripts;
with them, keys decide. Everything that is written passes `sessions.Reviewers`.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode

import numpy as np
import numpy.typing as npt
from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, Field, ValidationError
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from roslin.collection.folding import fold
from roslin.concordances.concordance import KIND_WORDS, Concordances, GroupKind, SourceRecord, concordances_folder
from roslin.concordances.exchange import RecordPair, record_pairs
from roslin.concordances.review import MAX_NOTE, VERDICTS, GroupState, PairState, Review, state_of_group
from roslin.display.words import N_, _
from roslin.errors import CollectionError
from roslin.report.concordances import PageGroup, compared_words, disagreeing_pairs, page_group
from roslin.report.synopsis import SIGNS, Glyphs
from roslin.report.tune_groups import UNNAMED, GroupLine, GroupSummary, group_lines, summaries
from roslin.web.library import Library, Opened, of_state
from roslin.web.rendering import rendered
from roslin.web.sessions import MAX_NAME, Reviewers, Session, read_form

_LINES_DRAWN = 24
_ON_PAGE = 25
_ROWS_LISTED = 60
_PAIRS_OF_ROW = 12  # that can be decided one by one
_DECIDED_AT_ONCE = 20_000  # pairs; each is a line of the review file
_OUTDATED = (
    "the collection has changed since its concordances were found, or they cannot be read; "
    "roslin concordances finds them again"
)
_LOG = logging.getLogger("roslin.web")
_UNKEPT = {"Cache-Control": "no-store"}

Pair = tuple[str, str]


class ChosenGroups(BaseModel):
    """The groups to show; empty: all."""

    kind: Literal["", "attribution", "anonymous", "libraries", "same"] = ""
    library: str = Field("", max_length=200)
    composer: str = Field("", max_length=200)
    state: Literal["", "open", "accept", "reject", "undecided", "disputed", "mixed"] = ""

    def chooses(
        self, kind: str, libraries: Collection[str], names: Collection[str], verdict: Callable[[], str]
    ) -> bool:
        """Whether something with these values is shown. The verdict is asked for last, because it takes longest."""
        composer = fold(self.composer).strip()
        return (
            self.kind in ("", kind)
            and (not self.library or self.library in libraries)
            and (not composer or any(composer in fold(name) for name in names))
            and (not self.state or verdict() == self.state)
        )

    def query(self, **others: object) -> str:
        """As the end of an address: "?kind=attribution", or nothing."""
        values = {**{name: getattr(self, name) for name in ChosenGroups.model_fields}, **others}
        text = urlencode({name: value for name, value in values.items() if value})
        return f"?{text}" if text else ""


@dataclass(frozen=True, slots=True)
class GroupPair:
    """Two melodies of a group and their decisions."""

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
        return [(pair.first, pair.second) for pair in self.pairs]

    @property
    def verdict(self) -> str:
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


@dataclass(frozen=True, eq=False)
class OpenConcordances:
    """Concordances with their groups in words, and the review of them."""

    concordances: Concordances
    groups: list[GroupSummary]
    disagreeing: int  # pairs whose sources name different composers
    review: Review

    @cached_property
    def records(self) -> list[RecordPair]:
        return record_pairs(self.concordances)

    def group_of(self, pair: RecordPair) -> GroupSummary | None:
        """The group of two records; None where too few pairs lead from one to the other."""
        return self.groups[pair.group - 1] if pair.group else None

    def group(self, name: str) -> GroupSummary:
        """The group with a name, or with a melody of that id."""
        found = next((each for each in self.groups if each.name == name), None)
        if found is None and name in self.concordances.store:
            number = int(self.concordances.store.numbers([name])[0])
            found = next((each for each in self.groups if number in each.group.members), None)
        if found is None:
            raise HTTPException(404, f"there is no group with {name!r} at this level")
        return found

    def ids(self, places: npt.NDArray[np.int64]) -> list[Pair]:
        pairs, source = self.concordances.pairs, self.concordances.source
        ends = zip(pairs.first[places].tolist(), pairs.second[places].tolist(), strict=True)
        return [(source(first).id, source(second).id) for first, second in ends]

    def like(self, summary: GroupSummary, pair: Pair) -> list[Pair]:
        """The pairs of the row of a pair."""
        rows = self.rows(summary, group_lines(self.concordances, summary.group))
        return next(row.ids for row in rows if {pair, pair[::-1]} & {*row.ids})

    def state(self, summary: GroupSummary) -> GroupState:
        return self.review.group_state(self.ids(summary.group.pairs))

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
            for pair, doubt in zip(self.ids(places), self.concordances.doubts[places].tolist(), strict=True):
                one, two, (upper, lower) = _in_order(*pair, letters)
                there = "" if lower else elsewhere.get(two, two)
                alike.setdefault((upper, lower, there, doubt), []).append((one, two))
            rows = [
                PairRow((upper, lower), doubt, tuple(GroupPair(*pair, self.review.state(*pair)) for pair in pairs))
                for (upper, lower, _, doubt), pairs in alike.items()
            ]
            found += sorted(rows, key=lambda row: -row.doubt)
        return found

    def chosen(self, wanted: ChosenGroups) -> list[GroupSummary]:
        return [each for each in self.groups if self._is_chosen(each, wanted)]

    def _is_chosen(self, each: GroupSummary, wanted: ChosenGroups) -> bool:
        names = (*dict(each.composers), *each.composer_names)  # an address may be from a reader of another language
        return wanted.chooses(each.kind, each.libraries, names, lambda: self.state(each).verdict)

    def chosen_records(self, wanted: ChosenGroups) -> list[RecordPair]:
        return [each for each in self.records if self._is_chosen_record(each, wanted)]

    def _is_chosen_record(self, each: RecordPair, wanted: ChosenGroups) -> bool:
        group, ends = self.group_of(each), (each.first, each.second)
        names = [name for end in ends for name in ((UNNAMED, _(UNNAMED)) if end.is_anonymous else (end.composer,))]
        libraries = [end.library for end in ends]
        return wanted.chooses(
            group.kind if group else "", libraries, names, lambda: self.review.group_state(each.pairs).verdict
        )


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

    def opened(self) -> OpenConcordances:
        """The concordances as they are now, with every decision that was made."""
        if not self._library.has_concordances:
            raise HTTPException(
                404, "no concordances of this collection were found yet: roslin concordances finds them"
            )
        try:
            return self._opened_now()
        except CollectionError as error:
            _LOG.error("the concordances cannot be shown: %s", error)  # it names folders, which are private
            raise HTTPException(409, _OUTDATED) from None

    def _opened_now(self) -> OpenConcordances:
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


router = APIRouter(include_in_schema=False)

STATES = {
    "open": N_("open"),
    "accept": N_("accepted"),
    "reject": N_("rejected"),
    "undecided": N_("undecided"),
    "disputed": N_("disputed"),
    "mixed": N_("partly decided"),
}


class GroupsPage(ChosenGroups):
    """A page of the list."""

    page: int = Field(1, ge=1, le=100_000)

    @property
    def places(self) -> slice:
        return slice((self.page - 1) * _ON_PAGE, self.page * _ON_PAGE)


class GroupAsked(ChosenGroups):
    """A group, and the one that was decided before it."""

    done: str = Field("", max_length=500)


def _listed(
    opened: OpenConcordances,
    here: str,
    asked: GroupsPage,
    shown: Sequence[Any],
    total: int,
    unfiltered: int,
    kinds: Counter[GroupKind],
) -> dict[str, Any]:
    """What the lists of groups and of records have in common."""
    return {
        "here": here,
        "asked": asked,
        "total": total,
        "all": unfiltered,
        "groups": len(opened.groups),
        "pages": max(1, -(-total // _ON_PAGE)),
        "shown": shown,
        "kinds": [(kind, KIND_WORDS[kind], number) for kind, number in kinds.items()],
        "libraries": sorted({name for each in opened.groups for name in each.libraries}),
        "composers": sorted({name for each in opened.groups for name in each.composer_names}),
        "said": compared_words(opened.concordances, opened.disagreeing),
        "notes": opened.review.notes,
    }


OnShelf = Annotated[Shelf, of_state("shelf")]
AtDoor = Annotated[Reviewers, of_state("door")]


@router.get("/concordances")
def groups(
    request: Request, library: Opened, shelf: OnShelf, door: AtDoor, asked: Annotated[GroupsPage, Query()]
) -> Response:
    """The chosen groups, a page at a time."""
    opened = shelf.opened()
    chosen = opened.chosen(asked)
    shown = [(each, opened.state(each)) for each in chosen[asked.places]]
    kinds = Counter(each.kind for each in opened.groups)
    context = _listed(opened, "/concordances", asked, shown, len(chosen), len(opened.groups), kinds)
    return _page(request, library, door, "list.html", context)


@router.get("/concordances/records")
def records(
    request: Request, library: Opened, shelf: OnShelf, door: AtDoor, asked: Annotated[GroupsPage, Query()]
) -> Response:
    """The chosen pairs of records, the most certain first, a page at a time."""
    opened = shelf.opened()
    chosen = opened.chosen_records(asked)
    shown = [(each, opened.group_of(each), opened.review.group_state(each.pairs)) for each in chosen[asked.places]]
    kinds = Counter(group.kind for each in opened.records if (group := opened.group_of(each)))
    context = _listed(opened, "/concordances/records", asked, shown, len(chosen), len(opened.records), kinds)
    more = {"certainty": opened.concordances.certainty, "link": _linker(library), "unnamed": UNNAMED}
    return _page(request, library, door, "records.html", context | more)


@router.get("/concordances/groups/{name:path}")
def group(
    request: Request, library: Opened, shelf: OnShelf, door: AtDoor, name: str, asked: Annotated[GroupAsked, Query()]
) -> Response:
    """One group: notation, sources, pairs and decisions."""
    opened = shelf.opened()
    summary = opened.group(name)
    drawn, glyphs = shelf.drawn(opened, summary)
    rows = opened.rows(summary, drawn.lines)
    before, after, place, total = _around(opened, asked, summary)
    context = {
        "asked": asked,
        "group": drawn,
        "glyphs": glyphs,
        "summary": summary,
        "state": opened.state(summary),
        "rows": rows[:_ROWS_LISTED],
        "pairs": len(summary.group.pairs),
        "most_pairs": _PAIRS_OF_ROW,
        "most_decided": _DECIDED_AT_ONCE,
        "certainty": opened.concordances.certainty,
        "rows_left": max(0, len(rows) - _ROWS_LISTED),
        "before": before,
        "after": after,
        "place": place,
        "total": total,
        "signs": SIGNS,
        "said": compared_words(opened.concordances, opened.disagreeing),
        "done": _done(opened, asked.done),
        "link": _linker(library, drawn.lines),
        "address_of": lambda related: f"{_address(related.name)}{asked.query()}",
    }
    return _page(request, library, door, "group.html", context)


@router.post("/concordances/decide")
async def decide(request: Request, shelf: OnShelf, door: AtDoor) -> Response:
    """Keep a decision about a group, and go on with the next one; or about a pair, and stay."""
    who, form = door.who(request), await read_form(request)
    door.check(request, who, form)
    if not who.name:
        raise HTTPException(403, "please enter your name first")
    return await run_in_threadpool(_decide, shelf, who, form)


@router.post("/concordances/reviewer")
async def enter(request: Request, door: AtDoor) -> Response:
    """Remember who reviews."""
    who, form = door.who(request), await read_form(request)
    door.check(request, who, form)
    name, password = str(form.get("name", "")), str(form.get("password", ""))
    known = await run_in_threadpool(door.enter, request, name, password)
    response = RedirectResponse(_own_path(str(form.get("back", ""))), 303)
    door.remember(request, response, known)
    return response


@router.post("/concordances/leave")
async def leave(request: Request, door: AtDoor) -> Response:
    """Forget who reviews, in this browser."""
    door.check(request, door.who(request), form := await read_form(request))
    response = RedirectResponse(_own_path(str(form.get("back", ""))), 303)
    door.forget(response)
    return response


def _decide(shelf: Shelf, who: Session, form: FormData) -> Response:
    opened = shelf.opened()
    summary = opened.group(str(form.get("group", "")))
    verdict, note = str(form.get("verdict", "")), str(form.get("note", "")).strip()
    if verdict not in VERDICTS:
        raise HTTPException(422, f"a verdict must be one of {', '.join(VERDICTS)}; got {verdict[:40]!r}")
    if len(note) > MAX_NOTE:
        raise HTTPException(422, f"a note must have at most {MAX_NOTE} characters; got {len(note)}")
    try:
        asked = ChosenGroups.model_validate({name: str(form.get(name, "")) for name in ChosenGroups.model_fields})
    except ValidationError as error:
        raise HTTPException(422, "; ".join(str(each["msg"]) for each in error.errors())) from None
    _, after, _, _ = _around(opened, asked, summary)
    pairs, first, second = opened.ids(summary.group.pairs), str(form.get("first", "")), str(form.get("second", ""))
    if first or second:
        if not {(first, second), (second, first)} & {*pairs, *opened.ids(summary.group.outside)}:
            raise HTTPException(404, "these two are no pair of this group")
        row = opened.like(summary, (first, second)) if form.get("row") else [(first, second)]
        _decide_all(opened, row, verdict, note, who)
        return RedirectResponse(f"{_address(summary.name)}{asked.query()}#pairs", 303)
    _decide_all(opened, pairs, verdict, note, who)
    onto = _address(after.name) if after is not None else "/concordances"
    return RedirectResponse(f"{onto}{asked.query(done=summary.name if after is not None else '')}", 303)


def _decide_all(opened: OpenConcordances, pairs: list[tuple[str, str]], verdict: str, note: str, who: Session) -> None:
    if len(pairs) > _DECIDED_AT_ONCE:
        raise HTTPException(422, f"these are {len(pairs):,} pairs; decide at most {_DECIDED_AT_ONCE:,} at once")
    opened.review.decide_all(pairs, verdict, note, who.name)


def _around(
    opened: OpenConcordances, wanted: ChosenGroups, summary: GroupSummary
) -> tuple[GroupSummary | None, GroupSummary | None, int, int]:
    """The groups before and after one, among those wanted. Its place among them, 0 if it is none; their number."""
    chosen = opened.chosen(wanted)
    earlier = [each for each in chosen if each.number < summary.number]
    later = [each for each in chosen if each.number > summary.number]
    place = len(earlier) + 1 if len(earlier) + len(later) < len(chosen) else 0
    return (earlier[-1] if earlier else None), (later[0] if later else None), place, len(chosen)


def _done(opened: OpenConcordances, name: str) -> tuple[GroupSummary, str] | None:
    """The group that was decided just now, and how."""
    found = next((each for each in opened.groups if each.name == name), None)
    return None if found is None else (found, opened.state(found).verdict)


def _linker(library: Library, lines: tuple[Any, ...] = ()) -> Any:
    """A function from a source to its address, in the operator's catalogue or here."""
    known = {line.sources[0].id: line.melody for line in lines}

    def link(source: SourceRecord) -> str:
        melody = known.get(source.id) or library.collection[source.id]
        return library.settings.link_to(melody) or f"/melodies/{quote(source.id, safe='')}"

    return link


def _address(name: str) -> str:
    return f"/concordances/groups/{quote(name, safe='')}"


def _own_path(path: str) -> str:
    """A page of ours to go back to. The list, if it is none."""
    is_own = re.match(r"/concordances($|[?]|/groups/|/records($|[?]))", path) is not None
    return path if is_own and path.isprintable() and "\\" not in path else "/concordances"


def _page(request: Request, library: Library, door: Reviewers, template: str, context: dict[str, Any]) -> Response:
    who = door.who(request)
    query = f"?{request.url.query}" if request.url.query else ""
    page = rendered(
        library,
        f"concordances/{template}",
        who=who,
        door=door,
        back=f"{request.url.path}{query}",
        address=_address,
        states=STATES,
        most_name=MAX_NAME,
        most_note=MAX_NOTE,
        **context,
    )
    response = HTMLResponse(page, headers=_UNKEPT)
    if who.is_new and door.may_write:
        door.remember(request, response, who)
    return response
