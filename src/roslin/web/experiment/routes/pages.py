"""Pages that say something: welcome, the personal link, where to go on, thanks, and that there is nothing to do."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from roslin.errors import DecisionError, UnknownExpertError
from roslin.experiment.events import Position
from roslin.web.experiment.rendering import page
from roslin.web.experiment.study import OpenStudy
from roslin.web.experiment.visitor import (
    Served,
    Visiting,
    begin_session,
    check_site,
    keep_session,
    own_address,
    visitor_or_none,
)
from roslin.web.forms import read_form
from roslin.web.security import address_of, household_of

router = APIRouter(include_in_schema=False)

_PARTICIPANT = ("participant", "PROLIFIC_PID")
_MOST_LETTERS = 100
_RETURN_TO = ("/", "/link", "/consent", "/questions", "/instructions", "/practice", "/trial", "/withdraw", "/study")

AnyForm = Annotated[FormData, Depends(read_form)]


def see(path: str) -> RedirectResponse:
    """Go on there, by GET."""
    return RedirectResponse(path, 303)


@router.get("/")
def welcome(request: Request) -> Response:
    """What this is, for whoever comes without a link."""
    return HTMLResponse(page(request, "welcome.html"))


@router.get("/e/{token}")
def personal_link(request: Request, study: Served, token: str) -> Response:
    """A personal link begins a session, and leads to where its owner stopped. One that nobody has is no page."""
    name = study.signatures.name_in_link(token)
    try:
        expert = None if name is None else study.store.expert(name)
    except UnknownExpertError:
        expert = None
    if expert is None:
        raise HTTPException(404)
    answer = see("/continue")
    begin_session(request, answer, expert.name, expert.language)
    return answer


@router.get("/join/{code}")
def invitation(request: Request, study: Served, code: str) -> Response:
    """The open invitation: a button, because a link that is looked at by a mail program must not make an expert."""
    _check_invitation(study, code)
    participant = next((request.query_params[name] for name in _PARTICIPANT if name in request.query_params), "")
    kept = participant[:_MOST_LETTERS] if study.plan.rules.keeps_participant else ""
    return HTMLResponse(_join_page(request, study, code, kept))


def _join_page(
    request: Request, study: OpenStudy, code: str, participant: str, *, wait_minutes: int = 0, is_known_id: bool = False
) -> str:
    context = {"participant": participant, "wait_minutes": wait_minutes, "is_known_id": is_known_id}
    return page(request, "join.html", code=code, ticket=study.signatures.new_ticket(), **context)


@router.post("/join/{code}")
def join(request: Request, study: Served, code: str, form: AnyForm) -> Response:
    """Make an expert; sent twice, the form makes one. Not too many from one address, and one of each participant."""
    check_site(request)
    _check_invitation(study, code)
    name = study.signatures.name_in_ticket(str(form.get("ticket", "")))
    if name is None or study.store.status != "open":
        return see(f"/join/{code}" if name is None else "/wait")
    kept = study.plan.rules.keeps_participant
    participant = str(form.get("participant", ""))[:_MOST_LETTERS] if kept else ""
    language = str(form.get("language", ""))
    chosen = language if language in study.plan.languages else ""
    wait = study.joins.begin(household_of(address_of(request.scope)))
    if wait:
        refused = _join_page(request, study, code, participant, wait_minutes=-(-wait // 60))
        return HTMLResponse(refused, 429, {"Retry-After": str(wait)})
    if study.store.join(name, participant, chosen).name != name:
        return HTMLResponse(_join_page(request, study, code, participant, is_known_id=True), 409)
    answer = see("/link")
    begin_session(request, answer, name, chosen)
    return answer


def _check_invitation(study: OpenStudy, code: str) -> None:
    if not study.is_invitation(code):
        raise HTTPException(404)


@router.get("/link")
def own_link(request: Request, study: Served, who: Visiting) -> Response:
    """The personal link, to be kept."""
    expert = study.store.expert(who.name)
    return HTMLResponse(page(request, "link.html", link=study.link(expert, own_address(request))))


@router.get("/continue")
def go_on(study: Served, who: Visiting) -> Response:
    """To where an expert stands."""
    return see(_where(study, who.name))


def _where(study: OpenStudy, name: str) -> str:
    position, store = study.position(name), study.store
    if position.stage == "done":
        return "/thanks"
    if position.is_open or store.status == "open":
        if position.stage != "trial":
            return f"/{position.stage}"
        if store.begin(name):
            return "/trial"
    status = store.status
    if status == "paused":
        return "/wait"
    # There is nothing for them now. Whoever has judged something is done, or may go on when the study opens again.
    if position.finished:
        try:
            store.complete(name)
        except DecisionError:
            if status == "open":  # at this moment somebody gave up a place
                return "/trial"
        else:
            return "/thanks"
    if position.sequence:
        store.turn_away(name)
    return "/thanks" if position.finished else "/wait"


@router.get("/wait")
def wait(request: Request, study: Served) -> Response:
    """There is nothing to do: the study is paused, closed, full for the moment, or needs no more answers."""
    status, who, context = study.store.status, visitor_or_none(request), {"receipt": ""}
    if who is not None and status != "paused":
        context = _receipt(study, who.name, study.position(who.name))
    is_enough = all(load.finished >= study.plan.rules.quota for load in study.store.loads().values())
    return HTMLResponse(page(request, "wait.html", status=status, is_enough=is_enough, **context))


def _receipt(study: OpenStudy, name: str, position: Position) -> dict[str, Any]:
    """What the card with the receipt shows."""
    is_complete, participant = position.stage == "done", study.store.expert(name).participant
    way_back = study.plan.way_back(position.receipt, participant, is_complete=is_complete)
    return {"receipt": position.receipt, "is_complete": is_complete, "way_back": way_back}


@router.get("/thanks")
def thanks(request: Request, study: Served, who: Visiting) -> Response:
    """The receipt, when everything is kept: of who has done everything, and of others while the study is closed."""
    position = study.position(who.name)
    is_complete, is_closed = position.stage == "done", study.store.status == "closed"
    may_see = is_complete or (is_closed and position.finished > 0 and not position.is_open)
    if not may_see or not position.receipt:
        return see("/continue")
    has_more = is_complete and study.store.has_more(who.name)
    context = _receipt(study, who.name, position)
    return HTMLResponse(page(request, "thanks.html", has_more=has_more, **context))


@router.post("/language")
def language(request: Request, study: Served, form: AnyForm) -> Response:
    """Read in another language from now on. Whoever is no expert yet takes the choice along in the address."""
    check_site(request)
    path, _, query = str(form.get("back", "")).partition("?")
    is_join = path.startswith("/join/") and study.is_invitation(path.removeprefix("/join/"))
    back = path if path in _RETURN_TO or is_join else "/"
    chosen, who = str(form.get("language", "")), visitor_or_none(request)
    if chosen not in study.plan.languages:
        return see(back)
    others = [(name, value) for name, value in parse_qsl(query) if name in _PARTICIPANT] if is_join else []
    if who is None:
        return see(f"{back}?{urlencode([*others, ('language', chosen)])}")
    study.store.set_language(who.name, chosen)
    answer = see(f"{back}?{urlencode(others)}" if others else back)
    keep_session(request, answer, who.session, chosen)
    return answer
