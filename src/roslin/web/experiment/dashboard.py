"""The dashboard of the experimenter, under /study: progress, what is known by now, invitations, people, downloads.

`doors` lets the experimenter in with the password of the study. Everything else is a `LockedRoute`: without a session
it answers 401 with the form that asks for the password, and requests that write must carry the token of the session.
"""

from __future__ import annotations

import io
import tempfile
import time
import zipfile
from collections.abc import Callable, Coroutine
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, HTMLResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from roslin.display.templates import render
from roslin.errors import ArgumentError
from roslin.experiment.backup import write_backup
from roslin.experiment.export import EXPORTS, export_study, reconcile
from roslin.experiment.overview import Seen
from roslin.experiment.study_store import StudyExpert
from roslin.web.experiment.drawings import day_plot, finding_rows, quota_plot, time_plot
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
from roslin.web.security import address_of, household_of
from roslin.web.sessions import read_form
from roslin.web.static_files import address

_MOST_LINKS = 1000
# Pages of the dashboard name people and links: no cache keeps them.
_UNKEPT = {"Cache-Control": "no-store"}

Number = Annotated[int, Query(ge=1, le=10**9)]


def dashboard_page(request: Request, template: str, **values: Any) -> str:
    """What a template of the dashboard makes of these values, and of those that every page of it knows."""
    study = study_of(request)
    who = study.experimenters.of(request.cookies)
    return render(
        f"web/experiment/dashboard/{template}",
        plan=study.plan,
        title=study.plan.text(study.plan.title, study.plan.languages[0]) or study.plan.name,
        static=address,
        path=request.url.path,
        csrf="" if who is None else who.form,
        roslin_version=version("roslin"),
        **values,
    )


class LockedRoute(APIRoute):
    """A route for the experimenter alone."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, behind the lock."""
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
    """Let in who knows the secret; others may try a few times a minute."""
    check_site(request)
    client = household_of(address_of(request.scope))
    wait = study.attempts.begin(client)
    if wait:
        problem = f"Too many wrong attempts. Please wait {wait} seconds."
        return HTMLResponse(dashboard_page(request, "login.html", problem=problem), 429, {"Retry-After": str(wait)})
    if not study.folder.check_password(str(form.get("secret", ""))[:1000]):
        return HTMLResponse(dashboard_page(request, "login.html", problem="This is not the secret of the study."), 401)
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
    context = {
        "query": asked,
        "number": number,
        "count": len(study.plan.tasks),
        "seen": seen,
        "progress": next((each for each in seen.overview.queries if each.query == asked.id), None)
        if seen.overview
        else None,
        "finding": finding,
        "rows": finding_rows(study.folder, finding.study, asked.id) if finding and finding.study else None,
    }
    return HTMLResponse(dashboard_page(request, "query.html", **context))


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
    return Response(text, media_type="text/csv", headers={"Content-Disposition": 'attachment; filename="links.csv"'})


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
    """Everybody, and where they stand."""
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
    """What can be downloaded."""
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
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(out.rglob("*")):
                archive.write(path, path.relative_to(out.parent))
    headers = {"Content-Disposition": f'attachment; filename="{_plain(name)}.zip"'}
    return Response(packed.getvalue(), media_type="application/zip", headers=headers)


def _plain(name: str) -> str:
    return "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-_.") else "_" for sign in name)


def _backup_folder(study: OpenStudy) -> Path:
    return study.folder.path / "backups"


@rooms.post("/study/backups")
def make_backup(study: Served) -> Response:
    """Copy the database into the folder of the study."""
    folder = _backup_folder(study)
    folder.mkdir(mode=0o700, exist_ok=True)
    write_backup(
        study.store, folder / f"{_plain(study.plan.name)}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.backup"
    )
    return see("/study/downloads")


@rooms.get("/study/backups/{name}")
def backup(study: Served, name: str) -> Response:
    """A copy that lies in the folder of the study. Only names that are listed are looked for."""
    wanted = str(_backup_folder(study) / name)
    if wanted not in {each.path for each in study.store.backups()} or not Path(wanted).is_file():
        raise HTTPException(404)
    return FileResponse(wanted, media_type="application/octet-stream", filename=name)


router = APIRouter(include_in_schema=False)
router.include_router(doors)
router.include_router(rooms)
