"""What an expert goes through: consent, questions, instructions, practice, trials; and withdrawing.

Every form says after which event of the expert it was shown. Sent twice, or again later, it changes nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, Response
from starlette.datastructures import FormData

from roslin.experiment.events import Position, Stage, missing
from roslin.web.experiment.questionnaire import Answered, read_answers
from roslin.web.experiment.rendering import language_of, page, words_of
from roslin.web.experiment.routes.pages import see
from roslin.web.experiment.study import OpenStudy
from roslin.web.experiment.trials import state_in_numbers
from roslin.web.experiment.visitor import Served, Visiting, Visitor, end_session, read_own_form

router = APIRouter(include_in_schema=False)

# What somebody sent by a form of their own session.
OwnForm = Annotated[FormData, Depends(read_own_form)]


def _is_at(study: OpenStudy, who: Visitor, stage: Stage) -> Position | None:
    """Where an expert stands, if it is at this stage and the study lets them go on."""
    position = study.position(who.name)
    may = position.is_open or study.store.status == "open"
    return position if position.stage == stage and may else None


@router.get("/consent")
def consent(request: Request, study: Served, who: Visiting) -> Response:
    """What taking part means."""
    if not _is_at(study, who, "consent"):
        return see("/continue")
    return HTMLResponse(_consent_page(request, study, who, has_forgotten=False))


def _consent_page(request: Request, study: OpenStudy, who: Visitor, *, has_forgotten: bool) -> str:
    """The text, and which one it is: who sends the form agrees to that one."""
    is_again = any(event.kind == "consented" for event in study.store.events(who.name, 0))
    _, shown = study.plan.consent_in(language_of(request))
    return page(request, "consent.html", has_forgotten=has_forgotten, is_again=is_again, shown=shown)


@router.post("/consent")
def consented(request: Request, study: Served, who: Visiting, form: OwnForm) -> Response:
    """Somebody agrees."""
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
    """The answers; what is wrong with one stands beside its question."""
    if not _is_at(study, who, "questions"):
        return see("/continue")
    read = read_answers(study.plan.questions, form, words_of(request).gettext)
    if read.problems:
        return HTMLResponse(page(request, "questions.html", answered=read), 422)
    study.store.add(who.name, "answered", {"answers": read.answers}, key="answered")
    return see("/continue")


@router.get("/instructions")
def instructions(request: Request, study: Served, who: Visiting) -> Response:
    """How to judge; for whoever comes back after a long pause, once more."""
    at = _is_at(study, who, "instructions")
    if not at:
        return see("/continue")
    context = {"after": at.sequence, "is_again": at.is_open or at.finished > 0, "is_restart": _restarts(study, at)}
    return HTMLResponse(page(request, "instructions.html", **context))


def _restarts(study: OpenStudy, at: Position) -> bool:
    return at.is_open and study.plan.rules.resume == "restart"


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


def _trial_page(request: Request, study: OpenStudy, who: Visitor, number: int) -> Response:
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
    """Somebody who has done everything that there was goes on, because there is more by now."""
    study.store.resume(who.name)
    return see("/continue")


@router.get("/withdraw")
def ask_again(request: Request, who: Visiting) -> Response:  # noqa: ARG001 - only experts withdraw
    """Somebody may want to withdraw: what that means, and whether they are sure."""
    return HTMLResponse(page(request, "withdraw.html", has_forgotten=False))


@router.post("/withdraw")
def withdraw(request: Request, study: Served, who: Visiting, form: OwnForm) -> Response:
    """Delete everything that somebody said."""
    if form.get("sure") != "yes":
        return HTMLResponse(page(request, "withdraw.html", has_forgotten=True), 422)
    backups = study.store.withdraw(who.name)
    study.forget()
    request.cookies.clear()  # the page that follows is for nobody in particular
    answer = HTMLResponse(page(request, "withdrawn.html", backups=[Path(each).name for each in backups]))
    end_session(answer)
    return answer
