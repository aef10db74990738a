"""The way of a participant: link or invitation, consent, questions, instructions, practice, trials, withdrawal.

Every form carries the event of the expert after which it was shown. Sent twice, or again later, it changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from roslin.errors import DecisionError, UnknownExpertError
from roslin.experiment.events import Position, Stage, missing
from roslin.experiment.plan import Question
from roslin.web.experiment.pages import (
    AnyForm,
    OwnForm,
    Served,
    Visiting,
    check_site,
    keep_session,
    language_of,
    own_address,
    page,
    see,
    visitor_or_none,
    words_of,
)
from roslin.web.experiment.study import OpenStudy
from roslin.web.experiment.trials import state_in_numbers
from roslin.web.security import client_of
from roslin.web.sessions import Session

router = APIRouter(include_in_schema=False)

_PARTICIPANT = ("participant", "PROLIFIC_PID")
_MOST_LETTERS = 100
_MOST_ANSWER = 2000
_RETURN_TO = ("/", "/link", "/consent", "/questions", "/instructions", "/practice", "/trial", "/withdraw", "/study")


# -- coming and going --------------------------------------------------------------------------------------------------


@router.get("/")
def welcome(request: Request) -> Response:
    """The start page for visitors without a link."""
    return HTMLResponse(page(request, "welcome.html"))


@router.get("/e/{token}")
def personal_link(request: Request, study: Served, token: str) -> Response:
    """A personal link begins a session and leads to where its owner stopped. An unknown link is a missing page."""
    name = study.signatures.text("link", token)
    if name is None:
        raise HTTPException(404)
    try:
        expert = study.store.expert(name)
    except UnknownExpertError:
        raise HTTPException(404) from None
    answer = see("/continue")
    keep_session(request, answer, study.participants, study.participants.begun(expert.name, expert.language))
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
    return page(request, "join.html", code=code, ticket=study.new_ticket(), **context)


@router.post("/join/{code}")
def join(request: Request, study: Served, code: str, form: AnyForm) -> Response:
    """Make an expert; sent twice, the form makes one. Not too many from one address, and one of each participant."""
    check_site(request)
    _check_invitation(study, code)
    name = study.signatures.text("ticket", str(form.get("ticket", "")))
    if name is None or study.store.status != "open":
        return see(f"/join/{code}" if name is None else "/wait")
    kept = study.plan.rules.keeps_participant
    participant = str(form.get("participant", ""))[:_MOST_LETTERS] if kept else ""
    language = str(form.get("language", ""))
    chosen = language if language in study.plan.languages else ""
    wait = study.joins.take(client_of(request.scope))
    if wait:
        refused = _join_page(request, study, code, participant, wait_minutes=-(-wait // 60))
        return HTMLResponse(refused, 429, {"Retry-After": str(wait)})
    if study.store.join(name, participant, chosen).name != name:
        return HTMLResponse(_join_page(request, study, code, participant, is_known_id=True), 409)
    answer = see("/link")
    keep_session(request, answer, study.participants, study.participants.begun(name, chosen))
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
    """Redirect to the participant's current page."""
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
    # There is nothing for them now. Participants who have judged something are done, or may continue when the study
    # opens again.
    if position.finished:
        try:
            store.complete(name)
        except DecisionError:
            if status == "open":  # a place became free at this moment
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
    """Read in another language from now on. Visitors who are no participants yet carry the choice in the address."""
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
    keep_session(request, answer, study.participants, replace(who, language=chosen))
    return answer


# -- steps -------------------------------------------------------------------------------------------------------------


def _is_at(study: OpenStudy, who: Session, stage: Stage) -> Position | None:
    """The participant's position, if it is at this stage and the study lets them continue."""
    position = study.position(who.name)
    may = position.is_open or study.store.status == "open"
    return position if position.stage == stage and may else None


@router.get("/consent")
def consent(request: Request, study: Served, who: Visiting) -> Response:
    """The page of consent."""
    if not _is_at(study, who, "consent"):
        return see("/continue")
    return HTMLResponse(_consent_page(request, study, who, has_forgotten=False))


def _consent_page(request: Request, study: OpenStudy, who: Session, *, has_forgotten: bool) -> str:
    """The text, and which one it is: who sends the form agrees to that one."""
    is_again = any(event.kind == "consented" for event in study.store.events(who.name, 0))
    _, shown = study.plan.consent_in(language_of(request))
    return page(request, "consent.html", has_forgotten=has_forgotten, is_again=is_again, shown=shown)


@router.post("/consent")
def consented(request: Request, study: Served, who: Visiting, form: OwnForm) -> Response:
    """Record consent."""
    if not _is_at(study, who, "consent"):
        return see("/continue")
    language = language_of(request)
    # The page may be older than the text, or in another language than the reader's newest choice.
    shown = [each for each in (language, *study.plan.languages) if study.plan.consent_in(each)[1] == form.get("shown")]
    if not shown:
        return see("/consent")
    if form.get("agree") != "yes":
        return HTMLResponse(_consent_page(request, study, who, has_forgotten=True), 422)
    study.store.consent(who.name, shown[0])
    if not study.store.expert(who.name).language:
        study.store.set_language(who.name, language)
    return see("/continue")


@router.get("/questions")
def questions(request: Request, study: Served, who: Visiting) -> Response:
    """The questionnaire."""
    at = _is_at(study, who, "questions")
    return HTMLResponse(page(request, "questions.html", answered=Answered())) if at else see("/continue")


@router.post("/questions")
def answered(request: Request, study: Served, who: Visiting, form: OwnForm) -> Response:
    """The answers. Errors appear next to their questions."""
    if not _is_at(study, who, "questions"):
        return see("/continue")
    read = _read_answers(study.plan.questions, form, words_of(request).gettext)
    if read.problems:
        return HTMLResponse(page(request, "questions.html", answered=read), 422)
    study.store.add(who.name, "answered", {"answers": read.answers}, key="answered")
    return see("/continue")


@router.get("/instructions")
def instructions(request: Request, study: Served, who: Visiting) -> Response:
    """The instructions; shown again after a long pause."""
    at = _is_at(study, who, "instructions")
    if not at:
        return see("/continue")
    is_restart = at.is_open and study.plan.rules.resume == "restart"
    context = {"after": at.sequence, "is_again": at.is_open or at.finished > 0, "is_restart": is_restart}
    return HTMLResponse(page(request, "instructions.html", **context))


@router.post("/instructions")
def read(study: Served, who: Visiting, form: OwnForm) -> Response:
    """They are read."""
    at = _is_at(study, who, "instructions")
    if at and form.get("after") == str(at.sequence):
        study.store.read_again(who.name, key=f"read-{at.sequence}")
    return see("/continue")


@router.get("/practice")
def practice(request: Request, study: Served, who: Visiting) -> Response:
    """A trial that does not count."""
    if not _is_at(study, who, "practice"):
        return see("/continue")
    study.store.begin_practice(who.name)
    return _trial_page(request, study, who, 0)


@router.post("/practice")
def practised(study: Served, who: Visiting, form: OwnForm) -> Response:  # noqa: ARG001 - the form is checked
    """The practice is over; not before everything in it is judged."""
    if _is_at(study, who, "practice"):
        study.store.begin_practice(who.name)
        if missing(study.state(who.name, 0), study.plan, 0):
            return see("/practice")
        study.store.add(who.name, "practised", key="practised")
    return see("/continue")


@router.get("/trial")
def trial(request: Request, study: Served, who: Visiting) -> Response:
    """The open trial; if there is none, the next one."""
    if not _is_at(study, who, "trial"):
        return see("/continue")
    number = study.store.begin(who.name)
    return _trial_page(request, study, who, number) if number else see("/continue")


def _trial_page(request: Request, study: OpenStudy, who: Session, number: int) -> Response:
    language, shown = language_of(request), study.shown(who.name, number)
    figures = [
        study.figures.figure(shown.item(str(place)), number, str(place), language) for place in range(len(shown.shown))
    ]
    context = {
        "state": state_in_numbers(study, who, number),
        "query_figure": study.figures.figure(shown.task.query, number, "query", language),
        "figures": figures,
        "is_practice": number == 0,
    }
    return HTMLResponse(page(request, "trial.html", **context))


@router.post("/thanks")
def resumed(study: Served, who: Visiting, form: OwnForm) -> Response:  # noqa: ARG001 - the form is checked
    """A participant who was done continues, because there are more trials now."""
    study.store.resume(who.name)
    return see("/continue")


@router.get("/withdraw")
def ask_again(request: Request, who: Visiting) -> Response:  # noqa: ARG001 - only experts withdraw
    """Explain a withdrawal and ask for confirmation."""
    return HTMLResponse(page(request, "withdraw.html", has_forgotten=False))


@router.post("/withdraw")
def withdraw(request: Request, study: Served, who: Visiting, form: OwnForm) -> Response:
    """Delete all data of a participant."""
    if form.get("sure") != "yes":
        return HTMLResponse(page(request, "withdraw.html", has_forgotten=True), 422)
    backups = study.store.withdraw(who.name)
    study.forget()
    request.cookies.clear()  # the page that follows is for no participant
    answer = HTMLResponse(page(request, "withdrawn.html", backups=[Path(each).name for each in backups]))
    study.participants.forget(answer)
    return answer


# -- questionnaire -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answered:
    """A participant's answers; `given` is the text of the form, `problems` are by question."""

    answers: dict[str, Any] = field(default_factory=dict)
    given: dict[str, list[str]] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def _read_answers(questions: tuple[Question, ...], form: FormData, _: Callable[[str], str]) -> Answered:
    """The answers of a form. A question without an answer is left out, unless it must have one."""
    read = Answered()
    for question in questions:
        given = [str(text).strip() for text in form.getlist(f"q-{question.name}")]
        read.given[question.name] = given = [text for text in given if text]
        if not given:
            if question.required:
                read.problems[question.name] = _("Please answer this question.")
            continue
        try:
            read.answers[question.name] = _answer(question, given, _)
        except ValueError as error:
            read.problems[question.name] = str(error)
    return read


def _answer(question: Question, given: list[str], _: Callable[[str], str]) -> Any:
    match question.kind:
        case "number":
            return _number(question, given[0], _)
        case "text":
            if len(given[0]) > _MOST_ANSWER:
                raise ValueError(_("Please enter at most {most} characters.").format(most=_MOST_ANSWER))
            return given[0]
        case "choice" | "choices":
            if not set(given) <= set(question.choices):
                raise ValueError(_("Please choose from the list."))
            return given[0] if question.kind == "choice" else list(dict.fromkeys(given))


def _number(question: Question, given: str, _: Callable[[str], str]) -> float | int:
    try:
        value = float(given.replace(",", "."))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(_("Please enter a number."))
    if question.least is not None and value < question.least:
        raise ValueError(_("Please enter a number of at least {least}.").format(least=f"{question.least:g}"))
    if question.most is not None and value > question.most:
        raise ValueError(_("Please enter a number of at most {most}.").format(most=f"{question.most:g}"))
    return int(value) if value.is_integer() else value
