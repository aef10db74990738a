"""The dashboard: every page, nobody without the secret, nothing written from elsewhere, and no secret in the log."""

from __future__ import annotations

import io
import json
import logging
import re
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from fastapi.testclient import TestClient
from starlette.routing import Route
from tests.experiment.filling import filled
from tests.experiment.studies import PASSWORD_FILE, small_study
from tests.web.experiment.browsers import settings_for

from roslin.experiment.overview import LiveOverview
from roslin.truth import read_rankings
from roslin.web.experiment.app import create_app
from roslin.web.experiment.dashboard import doors, rooms
from roslin.web.experiment.study import OpenStudy
from roslin.web.security import Limiter
from roslin.web.sessions import Attempts

COOKIE = "roslin_study"

PAGES = ["/study", "/study/live", "/study/queries/1", "/study/invitations", "/study/people", "/study/people/1"]
PAGES += ["/study/receipts", "/study/downloads"]
FILES = ["/study/links.csv", "/study/export", "/study/backups/nothing"]
FORMS = ["/study/status", "/study/invitations", "/study/invitation", "/study/people/1/delete", "/study/receipts"]
FORMS += ["/study/backups", "/study/logout"]
_HIDDEN = re.compile(r'name="csrf" value="([^"]+)"')


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dashboard")
    with small_study(place, quota=10, query_among_candidates=True, keeps_participant=True) as made:
        return made.path


@pytest.fixture(scope="module")
def secret(folder: Path) -> str:
    return (folder.parent / PASSWORD_FILE).read_text().strip()


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[Any]:
    made = create_app(settings_for(folder, log_requests=True))
    study: OpenStudy = made.state.study
    study.live = LiveOverview(study.store, rest_seconds=0)
    filled(study.store, 7)
    yield made
    study.close()


@pytest.fixture
def study(app: Any) -> OpenStudy:
    found: OpenStudy = app.state.study
    return found


@pytest.fixture
def stranger(app: Any) -> Iterator[TestClient]:
    app.state.study.attempts = Attempts(seconds=3600)  # however slow the computer is
    client = TestClient(app)
    yield client
    client.close()


@pytest.fixture
def manager(stranger: TestClient, secret: str) -> TestClient:
    assert stranger.post("/study/login", data={"secret": secret}).status_code == 200
    return stranger


def send(manager: TestClient, path: str, page: str = "/study", **fields: str) -> httpx.Response:
    """Send a form with the token of a page."""
    token = _HIDDEN.search(manager.get(page).text)
    assert token
    return manager.post(path, data={"csrf": token[1], **fields})


# -- the lock ---------------------------------------------------------------------------------------------------------


def test_the_lists_of_addresses_are_complete() -> None:
    def paths(router: Any, method: str) -> set[str]:
        return {route.path for route in router.routes if isinstance(route, Route) and method in (route.methods or ())}

    def pattern(path: str) -> str:
        return re.sub(r"/(1|nothing)(?=/|$)", "/{}", path)

    known = {re.sub(r"\{\w+\}", "{}", path) for path in paths(rooms, "GET")}
    assert {pattern(path) for path in (*PAGES, *FILES)} == known
    assert {pattern(path) for path in FORMS} == {re.sub(r"\{\w+\}", "{}", path) for path in paths(rooms, "POST")}
    assert {path for method in ("GET", "POST") for path in paths(doors, method)} == {"/study/login"}


@pytest.mark.parametrize("path", [*PAGES, *FILES])
def test_without_the_secret_no_page_is_shown(stranger: TestClient, path: str) -> None:
    answer = stranger.get(path)
    assert answer.status_code == 401
    assert "Password of the dashboard" in answer.text
    assert "expert-0" not in answer.text
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", FORMS)
def test_without_the_secret_nothing_is_written(stranger: TestClient, study: OpenStudy, path: str) -> None:
    before = study.store.age(), study.store.status, study.store.backups(), study.invitation()
    answer = stranger.post(path, data={"status": "closed", "number": "3", "sure": "yes", "action": "on", "csrf": "x"})
    assert answer.status_code == 401
    assert (study.store.age(), study.store.status, study.store.backups(), study.invitation()) == before


@pytest.mark.parametrize("path", FORMS)
def test_forms_from_elsewhere_are_refused(manager: TestClient, study: OpenStudy, path: str) -> None:
    before = study.store.age(), study.store.status, study.store.backups(), study.invitation()
    fields = {"status": "closed", "number": "3", "sure": "yes", "action": "on"}
    token = _HIDDEN.search(manager.get("/study").text)
    assert token
    assert manager.post(path, data=fields).status_code == 403
    assert manager.post(path, data={**fields, "csrf": "0" * 22}).status_code == 403
    crossed = manager.post(path, data={**fields, "csrf": token[1]}, headers={"Sec-Fetch-Site": "cross-site"})
    assert crossed.status_code == 403
    foreign = manager.post(path, data={**fields, "csrf": token[1]}, headers={"Origin": "https://evil.example"})
    assert foreign.status_code == 403
    assert (study.store.age(), study.store.status, study.store.backups(), study.invitation()) == before


def test_a_wrong_secret_is_refused_and_soon_has_to_wait(stranger: TestClient, secret: str) -> None:
    for wrong in ("", "x", secret[:-1], secret + "x", "x" * 5000):
        answer = stranger.post("/study/login", data={"secret": wrong})
        assert answer.status_code == 401
        assert "This is not the password" in answer.text
        assert COOKIE not in answer.cookies
    late = stranger.post("/study/login", data={"secret": secret})
    assert late.status_code == 429
    assert 600 < int(late.headers["retry-after"]) <= 721
    assert "Too many wrong attempts" in late.text


def test_attempts_are_counted_for_one_and_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    attempts = Attempts(one=2, everybody=4, seconds=60)
    assert [attempts.begin("a") for _ in range(4)] == [0, 0, 31, 31]
    assert [attempts.begin(name) for name in "bcd"] == [0, 0, 16], "all together: 4 a minute"
    now[0] += 15
    assert [attempts.begin(name) for name in "dad"] == [0, 16, 16], "one of four is free again, none of a's two"
    now[0] += 60
    assert [attempts.begin(name) for name in "abcd"] == [0, 0, 0, 0]
    attempts.succeeded("a")
    assert attempts.begin("e") == 0, "a right one is taken back"


def test_a_limiter_forgets_the_clients_of_long_ago() -> None:
    limiter = Limiter(1, 3600)
    assert [limiter.take(str(number % 10_001)) for number in range(10_001)] == [0] * 10_001
    assert [limiter.take("1") > 0, limiter.take("0")] == [True, 0]


def test_secrets_that_are_tried_at_the_same_moment_are_counted(stranger: TestClient) -> None:
    def status(number: int) -> int:
        return stranger.post("/study/login", data={"secret": str(number)}).status_code

    with ThreadPoolExecutor(10) as threads:
        assert sorted(threads.map(status, range(20))) == [401] * 5 + [429] * 15


def test_the_addresses_of_one_ipv6_network_share_their_attempts(app: Any) -> None:
    app.state.study.attempts = Attempts(seconds=3600)
    clients = [TestClient(app, client=(f"2001:db8::{number}", 5000)) for number in range(7)]
    statuses = [client.post("/study/login", data={"secret": "x"}).status_code for client in clients]
    assert statuses == [401] * 5 + [429] * 2


def test_the_cookie_is_kept_from_scripts_and_other_sites(stranger: TestClient, secret: str) -> None:
    answer = stranger.post("/study/login", data={"secret": secret}, follow_redirects=False)
    said = answer.headers["set-cookie"].lower()
    assert all(part in said for part in ("httponly", "samesite=strict", "path=/study", "max-age=43200"))
    assert "secure" not in said


def test_under_https_the_cookie_stays_there(folder: Path, secret: str) -> None:
    made = create_app(settings_for(folder, public_address="https://study.example.org"))
    client = TestClient(made)
    answer = client.post("/study/login", data={"secret": secret}, follow_redirects=False)
    assert "secure" in answer.headers["set-cookie"].lower()
    client.close()
    made.state.study.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda session: session[:-1] + ("A" if session[-1] != "A" else "Q"),
        lambda session: "9" + session[1:],
        lambda session: session + "x",
        lambda _session: "",
    ],
)
def test_a_session_that_was_made_up_is_none(manager: TestClient, change: Any) -> None:
    session = change(manager.cookies[COOKIE])
    manager.cookies.clear()
    assert manager.get("/study", headers={"Cookie": f"{COOKIE}={session}"}).status_code == 401


def test_a_session_ends(manager: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 13 * 3600)
    assert manager.get("/study").status_code == 401


def test_another_secret_ends_all_sessions(manager: TestClient, folder: Path) -> None:
    kept = (folder / "password").read_text()
    try:
        (folder / "password").write_text("00" * 16 + ":" + "11" * 64)
        assert manager.get("/study").status_code == 401
    finally:
        (folder / "password").write_text(kept)


def test_an_experts_session_opens_nothing(stranger: TestClient, study: OpenStudy) -> None:
    name = study.store.experts()[0].name
    session = study.participants.begun(name).token
    assert stranger.get("/study", headers={"Cookie": f"{COOKIE}={session}; roslin_expert={session}"}).status_code == 401


def test_signing_out(manager: TestClient) -> None:
    assert send(manager, "/study/logout").url.path == "/study/login"
    assert manager.get("/study").status_code == 401


# -- the pages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_whole_and_brings_no_style_or_script_of_its_own(manager: TestClient, path: str) -> None:
    answer = manager.get(path)
    assert answer.status_code == 200
    assert " style=" not in answer.text
    assert "<style" not in answer.text
    assert not re.search(r"<script(?![^>]*\bsrc=)", answer.text)
    assert answer.headers["cache-control"] == "no-store"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


def test_the_overview_has_the_numbers(manager: TestClient, study: OpenStudy) -> None:
    study.live.seen(60)
    text = " ".join(re.sub("<[^>]+>", " ", manager.get("/study").text).split())
    done = sum(load.finished for load in study.store.loads().values())
    assert f"Opinions {done} of 30" in text
    assert "The study is open." in text
    assert "pairs of neighbours are separated" in text
    assert "expert-007 trial 2 of 3" in text
    assert "invited 9" in text


def test_a_query_has_its_groups_drawn(manager: TestClient, study: OpenStudy) -> None:
    study.live.seen(60)
    text = manager.get("/study/queries/1").text
    assert "roslin-castle-2" in text
    assert text.count('class="drawn"') >= 5
    assert "shuffled rankings give" in text
    assert "next query" in text
    for wrong in ("/study/queries/0", "/study/queries/4", "/study/queries/x"):
        assert manager.get(wrong).status_code in (404, 422)


def test_pausing_closing_and_opening(manager: TestClient, study: OpenStudy) -> None:
    for status, sure in (("paused", ""), ("closed", "yes"), ("open", "")):
        page = send(manager, "/study/status", status=status, sure=sure)
        assert f"The study is {status}." in page.text
        assert study.store.status == status
    assert send(manager, "/study/status", status="burnt").status_code == 422


def test_closing_asks_whether_the_experimenter_is_sure(manager: TestClient, study: OpenStudy) -> None:
    study.live.seen(60)
    page = send(manager, "/study/status", status="closed")
    assert "Close the study?" in page.text
    assert re.search(r"\d+ of 30 opinions are given. \d+ participants? ha(s|ve) begun", page.text)
    assert study.store.status == "open"
    token = _HIDDEN.search(page.text)
    assert token
    fields = dict(re.findall(r'name="(sure|status)" value="([^"]+)"', page.text))
    assert "The study is closed." in manager.post("/study/status", data={"csrf": token[1], **fields}).text
    study.store.set_status("open")


def test_personal_links_are_made(manager: TestClient, study: OpenStudy) -> None:
    page = send(manager, "/study/invitations", number="3")
    links = re.findall(r"http://testserver/e/[\w.-]+", page.text)
    assert len(links) == 3
    assert all(study.signatures.text("link", link.rpartition("/")[2]) for link in links)
    table = manager.get(str(page.url).replace("/study/invitations", "/study/links.csv"))
    assert table.headers["content-disposition"] == 'attachment; filename="links.csv"'
    assert [line.partition(",")[2] for line in table.text.split()[1:]] == links
    everybody = manager.get("/study/links.csv").text.splitlines()
    assert len(everybody) == 1 + len(study.store.experts())
    for wrong in ("0", "1001", "x", "-1", "٣"):
        assert send(manager, "/study/invitations", number=wrong).status_code == 422


def test_the_open_invitation(manager: TestClient, study: OpenStudy) -> None:
    first = re.search(r"/join/([\w-]+)", send(manager, "/study/invitation", action="on").text)
    assert first
    assert study.is_invitation(first[1])
    again = re.search(r"/join/([\w-]+)", send(manager, "/study/invitation", action="renew").text)
    assert again
    assert not study.is_invitation(first[1])
    assert "There is no open invitation" in send(manager, "/study/invitation", action="off").text
    assert not study.is_invitation(again[1])
    assert send(manager, "/study/invitation", action="sell").status_code == 422


def test_people_are_listed_and_can_be_deleted(manager: TestClient, study: OpenStudy) -> None:
    text = manager.get("/study/people").text
    assert "expert-001" in text
    assert "(stuck)" in text
    gone = study.store.invite()[0]
    study.store.add(gone.name, "consented")
    page = manager.get(f"/study/people/{gone.number}")
    assert study.link(gone, "http://testserver") in page.text
    unsure = send(manager, f"/study/people/{gone.number}/delete")
    assert unsure.status_code == 422
    assert "Please tick the box" in unsure.text
    assert study.store.expert(gone.name)
    send(manager, "/study/backups")
    done = send(manager, f"/study/people/{gone.number}/delete", sure="yes")
    assert f"{gone.label} is deleted" in done.text
    assert ".backup</code>" in done.text
    assert study.store.events(gone.name) == []
    assert manager.get(f"/study/people/{gone.number}").status_code == 404


def test_what_somebody_typed_is_text(manager: TestClient, study: OpenStudy) -> None:
    study.store.invite(participant="<script>alert(1)</script>")
    for path in ("/study/people", "/study"):
        assert "<script>alert" not in manager.get(path).text
    shown = send(manager, "/study/receipts", codes="</textarea><script>alert(1)</script>")
    assert "<script>alert" not in shown.text


def test_receipts(manager: TestClient, study: OpenStudy) -> None:
    receipt = study.store.complete(study.store.experts()[0].name)
    page = send(manager, "/study/receipts", codes=f"{receipt}\n{receipt}\nNOBODYS\n")
    text = " ".join(re.sub("<[^>]+>", " ", page.text).split())
    assert "1 valid, 1 twice, 0 turned away, 0 not finished, 1 unknown." in text
    assert "have a receipt that is not in this list" in text


@pytest.mark.parametrize("format", ["csv", "json", "parquet", "psych-ds"])
def test_exports_are_downloaded(manager: TestClient, tmp_path: Path, format: str) -> None:
    answer = manager.get("/study/export", params={"format": format})
    assert re.fullmatch(rf'attachment; filename="test-{format}-\d+-\d+\.zip"', answer.headers["content-disposition"])
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        archive.extractall(tmp_path)
    [out] = tmp_path.iterdir()
    manifest = next(out.rglob("manifest.json"))
    assert json.loads(manifest.read_text())["format"] == format
    if format == "csv":
        assert len(read_rankings(out / "rankings.csv")) == 3
    assert manager.get("/study/export", params={"format": "xls"}).status_code == 422


def test_the_page_names_the_command_that_the_export_names(manager: TestClient) -> None:
    """`tests/cli/test_experiment_data.py` has what `roslin experiment export` says."""
    assert "<code>roslin truth group rankings.csv -o truth.qrel</code>" in manager.get("/study/downloads").text


def test_backups_are_made_and_downloaded(manager: TestClient, study: OpenStudy) -> None:
    pages = [send(manager, "/study/backups", "/study/downloads") for _ in range(3)]  # some in the same second
    assert [page.status_code for page in pages] == [200, 200, 200]
    names = re.findall(r'href="(/study/backups/[^"]+)"', pages[-1].text)
    assert len(set(names)) >= 3
    answer = manager.get(names[-1])
    assert answer.content.startswith(b"SQLite format 3")
    study.store.end_backup(study.store.begin_backup("/etc/passwd"))
    for wrong in ("passwd", "..%2F..%2Fkey", "%2Fetc%2Fpasswd", "key"):
        assert manager.get(f"/study/backups/{wrong}").status_code == 404
    assert "<code>/etc/passwd</code>" in manager.get("/study/downloads").text


@pytest.mark.long
def test_a_study_in_which_nobody_was_yet(tmp_path: Path) -> None:
    with small_study(tmp_path) as folder:
        made = create_app(settings_for(folder.path))
    client = TestClient(made)
    client.post("/study/login", data={"secret": (tmp_path / PASSWORD_FILE).read_text().strip()})
    for path in PAGES:
        assert client.get(path).status_code == (404 if path.endswith("people/1") else 200), path
    made.state.study.live.seen(60)
    assert "nobody has finished a query yet" in client.get("/study").text
    assert "nobody has finished a query yet" in client.get("/study/queries/1").text
    client.close()
    made.state.study.close()


def test_secrets_are_in_no_log(
    app: Any, secret: str, study: OpenStudy, caplog: pytest.LogCaptureFixture, stranger: TestClient
) -> None:
    with caplog.at_level(logging.DEBUG):
        stranger.post("/study/login", data={"secret": "wrong-one"})
        stranger.post("/study/login", data={"secret": secret})
        session = stranger.cookies[COOKIE]
        page = send(stranger, "/study/invitations", number="2")
        token = _HIDDEN.search(page.text)
        link = re.findall(r"/e/([\w.-]+)", page.text)[0]
        send(stranger, "/study/invitation", action="on")
        stranger.get(f"/e/{link}")
        stranger.get("/study/people")
    code = study.invitation().rpartition("/")[2]
    study.end_invitation()
    assert token
    assert "/study/login" in caplog.text
    ours = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("roslin"))
    for hidden in (secret, "wrong-one", session, token[1], link, link.partition("-")[0], code):
        assert hidden not in ours
