"""The dashboard of the experimenter, under /study: progress, results so far, invitations, people, downloads.

`doors` lets the experimenter in with the password of the study. Everything else is a `LockedRoute`: without a session
it answers 401 with the form that asks for the password, and requests that write must carry the token of the session.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from roslin.errors import ArgumentError
from roslin.experiment.backup import write_backup
from roslin.experiment.export import EXPORTS, export_study, reconcile
from roslin.experiment.overview import QueryProgress, Seen
from roslin.experiment.study_store import StudyExpert
from roslin.report.plots import PLOT_HEIGHT, box_plot, scale_axis, scale_of, shortened
from roslin.report.svg import SvgElement, group, line, rect, svg, text
from roslin.report.truth import list_of
from roslin.truth.study import Study
from roslin.web.experiment.pages import (
    AnyForm,
    Served,
    check_form,
    check_site,
    keep_session,
    own_address,
    see,
    study_of,
)
from roslin.web.experiment.study import OpenStudy
from roslin.web.rendering import download, page, static_address
from roslin.web.security import client_of
from roslin.web.sessions import read_form

_MOST_LINKS = 1000
_WIDTH, _NAMES, _NUMBERS = 900.0, 200.0, 80.0
_ROW = 24.0
_DAYS, _BARS_HEIGHT = 60, 90.0
_LONGEST_NAME = 28
_LIST_WIDTH = 320.0
# Pages of the dashboard name people and links: no cache keeps them.
_UNKEPT = {"Cache-Control": "no-store"}

Number = Annotated[int, Query(ge=1, le=10**9)]


def dashboard_page(request: Request, template: str, **values: Any) -> str:
    """A template of the dashboard with these values and those of every page."""
    study = study_of(request)
    who = study.experimenters.of(request.cookies)
    return page(
        f"web/experiment/dashboard/{template}",
        plan=study.plan,
        title=study.plan.text(study.plan.title, study.plan.languages[0]) or study.plan.name,
        static=static_address,
        path=request.url.path,
        csrf="" if who is None else who.form,
        **values,
    )


class LockedRoute(APIRoute):
    """A route for the experimenter alone."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def locked(request: Request) -> Response:
            sessions = study_of(request).experimenters
            who = sessions.of(request.cookies)
            if who is None:
                return HTMLResponse(dashboard_page(request, "login.html", problem=""), 401, _UNKEPT)
            if request.method not in ("GET", "HEAD"):
                form = await read_form(request)
                check_form(request, sessions, who, str(form.get("csrf", "")))
            response = await handler(request)
            for name, value in _UNKEPT.items():
                response.headers.setdefault(name, value)
            return response

        return locked


doors = APIRouter(include_in_schema=False)
rooms = APIRouter(include_in_schema=False, route_class=LockedRoute)


# -- coming and going -------------------------------------------------------------------------------------------------


@doors.get("/study/login")
def login_form(request: Request) -> Response:
    """The form that asks for the secret."""
    return HTMLResponse(dashboard_page(request, "login.html", problem=""))


@doors.post("/study/login")
def login(request: Request, study: Served, form: AnyForm) -> Response:
    """Let in who knows the secret. Others may try a few times a minute."""
    check_site(request)
    client = client_of(request.scope)
    wait = study.attempts.begin(client)
    if wait:
        problem = f"Too many wrong attempts. Please wait {wait} seconds."
        return HTMLResponse(dashboard_page(request, "login.html", problem=problem), 429, {"Retry-After": str(wait)})
    if not study.folder.check_password(str(form.get("secret", ""))[:1000]):
        return HTMLResponse(
            dashboard_page(request, "login.html", problem="This is not the password of the dashboard."), 401
        )
    study.attempts.succeeded(client)
    answer = see("/study")
    keep_session(request, answer, study.experimenters, study.experimenters.begun())
    return answer


@rooms.post("/study/logout")
def logout(study: Served) -> Response:
    """Leave."""
    answer = see("/study/login")
    study.experimenters.forget(answer)
    return answer


# -- how far it is ----------------------------------------------------------------------------------------------------


@rooms.get("/study")
def overview(request: Request, study: Served) -> Response:
    """Everything at a glance."""
    return HTMLResponse(dashboard_page(request, "overview.html", **_live(study)))


@rooms.get("/study/live")
def live(request: Request, study: Served) -> Response:
    """Only what changes, for a page that is there already."""
    return HTMLResponse(dashboard_page(request, "_live.html", **_live(study)))


def _live(study: OpenStudy) -> dict[str, Any]:
    seen: Seen = study.live.seen()
    known = seen.overview
    plots = (
        {}
        if known is None
        else {"quota": quota_plot(known.queries), "days": day_plot(known.days), "times": time_plot(known.queries)}
    )
    return {"seen": seen, "plots": plots, "status": study.store.status, "numbers": _numbers(study)}


def _numbers(study: OpenStudy) -> dict[str, int]:
    return {task.query.id: number for number, task in enumerate(study.plan.tasks, start=1)}


@rooms.get("/study/queries/{number}")
def query(request: Request, study: Served, number: int) -> Response:
    """One query: its groups by now, and what they are worth."""
    if not 1 <= number <= len(study.plan.tasks):
        raise HTTPException(404)
    asked = study.plan.tasks[number - 1].query
    seen = study.live.seen()
    known = seen.findings
    finding = known.queries.get(asked.id) if known else None
    every = seen.overview.queries if seen.overview else ()
    context = {
        "query": asked,
        "number": number,
        "count": len(study.plan.tasks),
        "seen": seen,
        "progress": next((each for each in every if each.query == asked.id), None),
        "finding": finding,
        "rows": _list_of(study, finding.study, asked.id) if finding and finding.study else None,
    }
    return HTMLResponse(dashboard_page(request, "query.html", **context))


def _list_of(study: OpenStudy, found: Study, query: str) -> dict[str, Any]:
    melodies = {item.id for item in study.plan.task(query).candidates if item.is_melody}
    return list_of(
        found.queries[query], lambda id: study.folder.melody(id) if id in melodies else None, "c", _LIST_WIDTH
    )


@rooms.post("/study/status")
def set_status(request: Request, study: Served, form: AnyForm) -> Response:
    """Open, pause or close the study; to close it, the experimenter must be sure."""
    status = form.get("status")
    if status not in ("open", "paused", "closed"):
        raise ArgumentError("the status must be open, paused or closed")
    if status == "closed" and form.get("sure") != "yes":
        known = study.live.seen().overview
        return HTMLResponse(dashboard_page(request, "closing.html", known=known))
    study.store.set_status(status)  # type: ignore[arg-type]
    return see("/study")


# -- invitations ------------------------------------------------------------------------------------------------------


@rooms.get("/study/invitations")
def invitations(request: Request, study: Served, first: Number = 1, last: Annotated[int, Query(ge=0)] = 0) -> Response:
    """Links: the new ones, and the open invitation."""
    address = own_address(request)
    links = [(expert.label, study.link(expert, address)) for expert in _between(study, first, last)]
    context = {"links": links, "first": first, "last": last, "open_link": study.invitation(address)}
    return HTMLResponse(dashboard_page(request, "invitations.html", most=_MOST_LINKS, **context))


@rooms.post("/study/invitations")
def invite(study: Served, form: AnyForm) -> Response:
    """Make personal links."""
    text = str(form.get("number", ""))
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= _MOST_LINKS:
        raise ArgumentError(f"the number of links must be 1 to {_MOST_LINKS}; got {text[:20]!r}")
    made = study.store.invite(int(text))
    return see(f"/study/invitations?first={made[0].number}&last={made[-1].number}")


@rooms.get("/study/links.csv")
def links(request: Request, study: Served, first: Number = 1, last: Annotated[int, Query(ge=0)] = 10**9) -> Response:
    """Links as a table to send them from: all, or those that were made together."""
    text = study.links_csv(_between(study, first, last), own_address(request))
    return download(text, "text/csv", "links.csv")


def _between(study: OpenStudy, first: int, last: int) -> list[StudyExpert]:
    return [expert for expert in study.store.experts() if first <= expert.number <= last] if last else []


@rooms.post("/study/invitation")
def open_invitation(study: Served, form: AnyForm) -> Response:
    """Begin, end or renew the open invitation."""
    action = form.get("action")
    if action not in ("on", "off", "renew"):
        raise ArgumentError("what to do with the open invitation must be on, off or renew")
    if action != "on":
        study.end_invitation()
    if action != "off":
        study.open_invitation()
    return see("/study/invitations")


# -- people -----------------------------------------------------------------------------------------------------------


@rooms.get("/study/people")
def people(request: Request, study: Served) -> Response:
    """All participants and their progress."""
    seen = study.live.seen(10.0)
    return HTMLResponse(dashboard_page(request, "people.html", seen=seen))


@rooms.get("/study/people/{number}")
def person(request: Request, study: Served, number: int) -> Response:
    """One expert: their link, and whether they shall be deleted."""
    expert = _expert(study, number)
    link = study.link(expert, own_address(request))
    return HTMLResponse(dashboard_page(request, "person.html", expert=expert, link=link, has_forgotten=False))


@rooms.post("/study/people/{number}/delete")
def delete(request: Request, study: Served, number: int, form: AnyForm) -> Response:
    """Delete everything of an expert, if the experimenter is sure."""
    expert = _expert(study, number)
    if form.get("sure") != "yes":
        link = study.link(expert, own_address(request))
        page = dashboard_page(request, "person.html", expert=expert, link=link, has_forgotten=True)
        return HTMLResponse(page, 422)
    backups = study.store.withdraw(expert.name)
    study.forget()
    context = {"label": expert.label, "backups": backups, "has_traces": study.store.has_traces}
    return HTMLResponse(dashboard_page(request, "deleted.html", **context))


def _expert(study: OpenStudy, number: int) -> StudyExpert:
    found = next((expert for expert in study.store.experts() if expert.number == number), None)
    if found is None:
        raise HTTPException(404)
    return found


@rooms.get("/study/receipts")
def receipts(request: Request) -> Response:
    """A form for a list of receipt codes."""
    return HTMLResponse(dashboard_page(request, "receipts.html", text="", found=None))


@rooms.post("/study/receipts")
def check_receipts(request: Request, study: Served, form: AnyForm) -> Response:
    """Which codes of a list are right."""
    text = str(form.get("codes", ""))
    found = reconcile(text, study.store.histories())
    return HTMLResponse(dashboard_page(request, "receipts.html", text=text, found=found))


# -- downloads --------------------------------------------------------------------------------------------------------


@rooms.get("/study/downloads")
def downloads(request: Request, study: Served) -> Response:
    """The page of downloads."""
    own = _backup_folder(study)
    backups = [
        (Path(each.path).name, each.path, time.gmtime(each.time_ms / 1000), Path(each.path).parent == own)
        for each in study.store.backups()
    ]
    return HTMLResponse(dashboard_page(request, "downloads.html", formats=EXPORTS, backups=backups))


@rooms.get("/study/export")
def export(
    study: Served,
    format: Literal["csv", "json", "parquet", "psych-ds"] = "csv",
    unfinished: bool = False,
    participants: bool = False,
) -> Response:
    """An export as one file."""
    name = f"{study.plan.name}-{format}-{time.strftime('%Y%m%d-%H%M', time.gmtime())}"
    with tempfile.TemporaryDirectory(prefix="roslin-") as folder:
        out = Path(folder) / name
        export_study(study.store, out, format, unfinished=unfinished, participants=participants)
        packed = Path(shutil.make_archive(str(out), "zip", folder, name)).read_bytes()
    return download(packed, "application/zip", f"{_plain(name)}.zip")


def _plain(name: str) -> str:
    return "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-_.") else "_" for sign in name)


def _backup_folder(study: OpenStudy) -> Path:
    return study.folder.path / "backups"


@rooms.post("/study/backups")
def make_backup(study: Served) -> Response:
    """Copy the database into the folder of the study."""
    folder = _backup_folder(study)
    folder.mkdir(mode=0o700, exist_ok=True)
    name = f"{_plain(study.plan.name)}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    names = (f"{name}{more}.backup" for more in ("", *(f"-{again}" for again in range(2, 100))))
    write_backup(study.store, next(path for each in names if not (path := folder / each).exists()))
    return see("/study/downloads")


@rooms.get("/study/backups/{name}")
def backup(study: Served, name: str) -> Response:
    """A backup from the folder of the study. Only names that are listed are looked for."""
    wanted = str(_backup_folder(study) / name)
    if wanted not in {each.path for each in study.store.backups()} or not Path(wanted).is_file():
        raise HTTPException(404)
    return FileResponse(wanted, media_type="application/octet-stream", filename=name)


# -- drawings ----------------------------------------------------------------------------------------------------------


def quota_plot(queries: Sequence[QueryProgress]) -> str:
    """A bar for each query: opinions given, and paler those being given. The line is the quota."""
    left = _NAMES + _NUMBERS  # names and numbers first: a phone shows those without moving sideways
    room = _WIDTH - left - 4
    most = max((max(each.finished + each.running, each.quota) for each in queries), default=1)
    parts: list[SvgElement] = []
    for row, each in enumerate(queries):
        y = row * _ROW
        done, doing = (room * count / most for count in (each.finished, each.running))
        end = left + room * each.quota / most
        parts += [
            text("plot-text", _NAMES - 8, y + 16, shortened(each.query, _LONGEST_NAME), "end"),
            text("plot-soft", left - 12, y + 16, f"{each.finished} of {each.quota}", "end"),
            rect("plot-track", left, y + 4, room * each.quota / most, _ROW - 9),
            rect("plot-shade", left, y + 4, done, _ROW - 9),
            rect("plot-running", left + done, y + 4, doing, _ROW - 9),
            line("plot-rule", end, y + 2, end, y + _ROW - 3),
        ]
    total, wanted = (sum(getattr(each, name) for each in queries) for name in ("finished", "quota"))
    return svg(parts, _WIDTH, max(_ROW * len(queries), 1), f"Opinions of each query: {total} of {wanted} in all")


def day_plot(days: Sequence[tuple[str, int]]) -> str:
    """A bar for each day on which trials were finished; the last sixty."""
    shown = days[-_DAYS:]
    most = max((count for _, count in shown), default=1)
    step = min(_WIDTH / max(len(shown), 1), 40.0)
    parts: list[SvgElement] = []
    for place, (day, count) in enumerate(shown):
        height = _BARS_HEIGHT * count / most
        bar = (place * step + 2, _BARS_HEIGHT - height + 16, max(step - 4, 1), height)
        parts.append(rect("plot-shade", *bar, said=f"{day}: {count}"))
        if len(shown) <= 16:
            parts.append(text("plot-soft", place * step + step / 2, _BARS_HEIGHT - height + 12, str(count), "middle"))
    floor = _BARS_HEIGHT + 16
    parts.append(line("plot-line", 0, floor, step * max(len(shown), 1), floor))
    if shown:
        parts.append(text("plot-soft", 0, floor + 16, shown[0][0]))
    if len(shown) > 5:
        parts.append(text("plot-soft", step * len(shown), floor + 16, shown[-1][0], "end"))
    return svg(parts, _WIDTH, floor + 22, f"Trials finished on {len(shown)} days")


def time_plot(queries: Sequence[QueryProgress]) -> str:
    """A box-and-whisker plot for each query: minutes that its trials took, pauses left out."""
    room = _WIDTH - _NAMES
    samples = [np.array(each.seconds, dtype=np.float64) / 60 for each in queries]
    scale = scale_of(samples, least=0, width=room)
    parts: list[SvgElement] = []
    for row, (each, sample) in enumerate(zip(queries, samples, strict=True)):
        y = row * PLOT_HEIGHT
        parts.append(text("plot-text", _NAMES - 8, y + 22, shortened(each.query, _LONGEST_NAME), "end"))
        parts.append(group(box_plot(sample, scale), _NAMES, y))
    parts.append(group(scale_axis(scale), _NAMES, len(queries) * PLOT_HEIGHT))
    return svg(parts, _WIDTH, len(queries) * PLOT_HEIGHT + 18, "Minutes that trials took, for each query")
