"""Trials as JSON, for the page of a trial and for simulated experts: candidates are 0, 1, ... in the order shown.

Documents have no names outside the server. Requests have strict limits: whatever is not described here is refused.
"""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from roslin.errors import DecisionError, UnknownNameError
from roslin.experiment.comparisons import is_check, next_comparison
from roslin.experiment.events import (
    DECISIONS,
    USES,
    VERDICTS,
    Decision,
    Event,
    ExpertChoice,
    TrialState,
    comparisons_wanted,
    missing,
    trial_state,
)
from roslin.experiment.plan import SIZES
from roslin.web.experiment.pages import FORM_HEADER, Served, Visiting, check_form, language_of, study_of, visitor
from roslin.web.experiment.study import OpenStudy
from roslin.web.sessions import Session

router = APIRouter()

MOST_DECISIONS = 200  # in one request; a page that was long without a connection sends several
_MOST_NUMBER = 10_000
_MOST_MS = 2**53


class UnfinishedError(DecisionError):
    """A trial that cannot be finished yet; `missing` has the numbers of the candidates that are still to be judged."""

    def __init__(self, message: str, missing: list[int]):
        super().__init__(message)
        self.missing = missing


# -- requests ----------------------------------------------------------------------------------------------------------


Key = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
Number = Annotated[int, Field(ge=0, le=_MOST_NUMBER)]
Device = Annotated[str, Field(max_length=40, pattern=r"^[A-Za-z0-9 ,._-]*$")]


def _renamed(payload: Mapping[str, Any], name_of: Callable[[Any], Any]) -> dict[str, Any]:
    """What a decision holds, with other names for documents. None is the query, or nothing, and stays."""

    def renamed(key: str, value: Any) -> Any:
        if key == "documents":
            return [None if each is None else name_of(each) for each in value]
        return name_of(value) if key in ("document", "after", "best") and value is not None else value

    return {key: renamed(key, value) for key, value in payload.items()}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Made(_Strict):
    key: Key
    made_ms: Annotated[int, Field(ge=0, le=_MOST_MS)] = 0

    def payload(self, shown: tuple[str, ...]) -> dict[str, Any]:
        """The stored form: documents of this order in place of their numbers."""
        return _renamed(self.model_dump(exclude={"kind", "key", "made_ms"}), shown.__getitem__)


class SortedBody(_Made):
    """A candidate resembles the query, or perhaps, or not."""

    kind: Literal["sorted"]
    document: Number
    verdict: Literal["resembles", "perhaps", "no"]


class PlacedBody(_Made):
    """A candidate goes to a place in the list."""

    kind: Literal["placed"]
    document: Number
    after: Number | None = None
    tied: bool = False


class ChoseBody(_Made):
    """One of two or three is most similar; None: there is no difference."""

    kind: Literal["chose"]
    documents: Annotated[list[Number], Field(min_length=2, max_length=3)]
    best: Number | None = None


class HeardBody(_Made):
    """A candidate, or the query (None), was played and has ended."""

    kind: Literal["heard"]
    document: Number | None
    duration_ms: Annotated[int, Field(ge=0)] | None = None

    def payload(self, shown: tuple[str, ...]) -> dict[str, Any]:
        """The stored form; without a duration that an older page does not send."""
        kept = super().payload(shown)
        return kept if self.duration_ms is not None else {"document": kept["document"]}


class ComparedBody(_Made):
    """The differences of two melodies were shown; None is the query."""

    kind: Literal["compared"]
    documents: Annotated[list[Number | None], Field(min_length=2, max_length=2)]


class UndoneBody(_Made):
    """A decision is taken back."""

    kind: Literal["undone"]
    undoes: Key


AnyDecision = Annotated[
    SortedBody | PlacedBody | ChoseBody | HeardBody | ComparedBody | UndoneBody, Field(discriminator="kind")
]


class DecisionsBody(_Strict):
    """Decisions of one trial, in the order in which they were made."""

    decisions: Annotated[list[AnyDecision], Field(min_length=1, max_length=MOST_DECISIONS)]
    device: Device = ""


# Reads decisions from the bytes of a request.
DECISIONS_READER: TypeAdapter[DecisionsBody] = TypeAdapter(DecisionsBody)


class FinishBody(_Strict):
    """The end of a trial."""

    key: Key
    device: Device = ""


# -- answers -----------------------------------------------------------------------------------------------------------


def state_in_numbers(study: OpenStudy, who: Session, trial: int) -> dict[str, Any]:
    """The current state of a trial."""
    events = _with_offer(study, who.name, trial)
    state = trial_state(events)
    rules, number = study.plan.rules, state.shown.index
    return {
        "trial": trial,
        "of": min(rules.queries_per_expert, len(study.plan.tasks)),
        "design": rules.design,
        "ties": rules.ties,
        "differences": rules.differences,
        "count": len(state.shown),
        "sequence": study.store.expert(who.name).sequence,
        "verdicts": {str(number(document)): verdict for document, verdict in state.verdicts.items()},
        "groups": [list(map(number, group)) for group in state.groups],
        "undoable": state.undoable,
        "offered": list(map(number, state.offered)),
        "choices": len(state.choices),
        "comparisons": comparisons_wanted(study.plan, trial, len(state.shown)),
        "is_finished": state.is_finished,
        "log": _log(events, number),
        "queue": study.signatures.of("queue", f"{who.name} {trial}"),
        "csrf": who.form,
    }


def decided(study: OpenStudy, who: Session, trial: int, sent: DecisionsBody) -> dict[str, Any]:
    """Save decisions and return their numbers."""
    shown = study.shown(who.name, trial).shown
    try:
        made = [Decision(each.kind, each.payload(shown), each.key, each.made_ms) for each in sent.decisions]
    except IndexError:
        raise DecisionError(f"a decision names a candidate that was not shown; there are {len(shown)}") from None
    receipt = study.store.decide(who.name, trial, made, sent.device)
    answer: dict[str, Any] = {"keys": receipt.keys, "sequence": receipt.sequence, "offered": []}
    if study.plan.rules.design != "ranking":
        state = trial_state(_with_offer(study, who.name, trial))
        answer["offered"] = list(map(shown.index, state.offered))
        answer["sequence"] = study.store.expert(who.name).sequence
    return answer


def ended(study: OpenStudy, who: Session, trial: int, sent: FinishBody) -> dict[str, Any]:
    """Finish a trial; after the practice, return the typical answers."""
    state = study.state(who.name, trial)
    left = missing(state, study.plan, trial)
    if left and not state.is_finished:
        numbers = [state.shown.index(document) for document in left if document]
        raise UnfinishedError(f"{len(left)} judgements are still to be made", numbers)
    if trial == 0:
        return {"feedback": _feedback(study, state), "next": "/practice"}
    receipt = study.store.finish(who.name, trial, sent.key, sent.device)
    return {"next": "/continue", "sequence": receipt.sequence}


def _log(events: Sequence[Event], number: Callable[[str], int]) -> list[dict[str, Any]]:
    """The events of a trial, with which the page undoes and continues without a connection."""
    start = max(place for place, event in enumerate(events) if event.kind == "began")
    told = [event for event in events[start:] if event.kind in (*DECISIONS, "offered") and event.kind not in USES]
    return [{"kind": event.kind, "key": event.key, **_renamed(event.payload, number)} for event in told]


def _with_offer(study: OpenStudy, name: str, trial: int) -> list[Event]:
    """The events of a trial, in which something waits to be compared unless all is done."""
    events = study.trial_events(name, trial)
    while documents := _next_comparison(study, name, trial, trial_state(events)):
        study.store.offer(name, trial, documents, after=events[-1].sequence)
        events = study.trial_events(name, trial)
    return events


def _next_comparison(study: OpenStudy, name: str, trial: int, state: TrialState) -> tuple[str, ...]:
    """The next comparison; empty if one is waiting or all are done."""
    plan = study.plan
    is_over = state.is_finished or not missing(state, plan, trial)
    if plan.rules.design == "ranking" or is_over or state.offered:
        return ()
    others = study.choices(state.query) if trial else {}
    everybody = [choice for expert, choices in others.items() if expert != name for choice in choices]
    size, said = SIZES[plan.rules.design], [*everybody, *state.choices]
    wanted = comparisons_wanted(plan, trial, len(state.shown))
    is_checked = state.query in state.shown and is_check(len(state.choices), wanted, plan.seed, name, state.query)
    query = state.query if is_checked else ""
    return next_comparison(state.shown, said, state.choices, size, plan.seed, name, among=query)


def _feedback(study: OpenStudy, state: TrialState) -> list[dict[str, Any]]:
    """The typical and the given answer for each candidate or comparison of the practice."""
    assert study.plan.practice is not None, "trial 0 is the practice"
    expected = study.plan.practice.expected
    if study.plan.rules.design != "ranking":
        return [_of_choice(choice, expected, state.shown.index) for choice in state.choices]
    return [
        {
            "document": number,
            "said": state.verdicts.get(document, ""),
            "expected": expected[document],
            "is_right": state.verdicts.get(document) == expected[document],
        }
        for number, document in enumerate(state.shown)
        if document in expected
    ]


def _of_choice(choice: ExpertChoice, expected: Mapping[str, str], number: Callable[[str], int]) -> dict[str, Any]:
    """A comparison of the practice: right if nothing else in it was expected to resemble the query more."""
    levels = {document: VERDICTS.index(expected.get(document, "no")) for document in choice.documents}
    best = [document for document in choice.documents if levels[document] == min(levels.values())]
    return {
        "documents": list(map(number, choice.documents)),
        "said": None if choice.best is None else number(choice.best),
        "expected": list(map(number, best)),
        "is_right": len(best) > 1 if choice.best is None else choice.best in best,
    }


# -- routes ------------------------------------------------------------------------------------------------------------


@router.get("/api/trials/{trial}")
def state(study: Served, who: Visiting, trial: int) -> Response:
    """The current state of a trial."""
    return JSONResponse(state_in_numbers(study, who, trial))


async def decisions(request: Request) -> Response:
    """Keep decisions. Those that are kept already are acknowledged again.

    Nearly every request is this one, so it goes the short way: FastAPI's own takes as long again as all the rest.
    """
    who, study = await visitor(request), study_of(request)
    check_form(request, study.participants, who, request.headers.get(FORM_HEADER, ""))
    try:
        sent = DECISIONS_READER.validate_json(await request.body())
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False, include_context=False)
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in found]) from None
    return JSONResponse(await run_in_threadpool(decided, study, who, request.path_params["trial"], sent))


router.add_route("/api/trials/{trial:int}/decisions", decisions, methods=["POST"])


@router.post("/api/trials/{trial}/finish")
def finish(request: Request, study: Served, who: Visiting, trial: int, sent: FinishBody) -> Response:
    """Finish a trial."""
    check_form(request, study.participants, who, request.headers.get(FORM_HEADER, ""))
    return JSONResponse(ended(study, who, trial, sent))


@router.get("/api/trials/{trial}/differences")
def differences(request: Request, study: Served, who: Visiting, trial: int, first: str, second: str) -> Response:
    """Two melodies of a trial with their differences marked, in a study that shows them."""
    if not study.plan.rules.differences:
        raise DecisionError("this study shows no differences; set design.differences to allow them")
    shown = study.shown(who.name, trial)
    items = shown.item(first), shown.item(second)
    if not all(item.is_melody for item in items):
        raise UnknownNameError("melody", "", [])
    one, two = study.figures.differences(*items, (first, second), language_of(request))
    return JSONResponse({"first": one, "second": two})


@router.get("/trials/{trial}/{place}/{kind}")
def file(study: Served, who: Visiting, trial: int, place: str, kind: Literal["picture", "sound"]) -> Response:
    """The picture or the sound of an item that is not a melody."""
    item = study.shown(who.name, trial).item(place)
    name: str = getattr(item, kind)
    if not name:
        raise UnknownNameError(kind, place, [])
    found = study.folder.file(name)
    media_type = mimetypes.guess_type(found.name)[0] or "application/octet-stream"
    # What the file is called on the disk stays there.
    return FileResponse(found, media_type=media_type, headers={"Cache-Control": "private, max-age=3600"})


# The state of health has a separate thread, so that it does not wait behind a thousand people.
_HEALTH = ThreadPoolExecutor(1, "health")


@router.get("/healthz")
async def health(study: Served) -> dict[str, Any]:
    """Whether the database answers."""
    status = await asyncio.get_running_loop().run_in_executor(_HEALTH, lambda: study.store.status)
    return {"status": "ok", "study": status}
