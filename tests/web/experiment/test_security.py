"""What must not work: each attack is tried, and refused."""

from __future__ import annotations

import json
import logging
import re
import time
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from tests.experiment.studies import small_study
from tests.web.experiment.browsers import Alone, Browser, Invited, settings_for, sorted_as

from roslin.web.experiment.app import create_app
from roslin.web.experiment.pages import markdown
from roslin.web.experiment.study import OpenStudy
from roslin.web.experiment.trials import MOST_DECISIONS

CROSS_SITE: list[dict[str, str]] = [
    {"Origin": "https://evil.example"},
    {"Origin": "http://testserver.evil.example"},
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]


def _events(browser: Browser) -> int:
    return len(browser.study.store.events(browser.name))


# -- who somebody is ------------------------------------------------------------------------------------------------


def test_nobody_gets_anywhere_without_a_session(served: TestClient) -> None:
    stranger = TestClient(served.app)
    pages = ("/continue", "/consent", "/questions", "/instructions", "/practice", "/trial", "/thanks", "/withdraw")
    for path in (*pages, "/link", "/api/trials/1", "/trials/1/0/picture", "/api/trials/1/differences?first=0&second=1"):
        assert stranger.get(path).status_code == 401, path
    for path in ("/consent", "/questions", "/instructions", "/practice", "/withdraw", "/api/trials/1/decisions"):
        assert stranger.post(path).status_code == 401, path
    assert stranger.get("/api/trials/1").json()["error"]["code"] == "no_session"


@pytest.mark.long
def test_another_expert_s_link_gives_that_expert_s_place_and_no_more(invited: Invited) -> None:
    first, second = invited(), invited()
    first.at_trial()
    first.send(1, sorted_as(0, "no"))
    second.at_trial()
    second.send(1, sorted_as(1, "no"))
    assert second.state(1)["verdicts"] == {"1": "no"}, "the session says whose trial it is, nothing in the address"
    second.client.get(first.link)
    assert second.state(1)["verdicts"] == {"0": "no"}, "whoever has a link is its owner"


def test_a_form_of_another_session_is_refused(invited: Invited) -> None:
    mine, theirs = invited(), invited()
    mine.at_trial()
    theirs.at_trial()
    mine.csrf = theirs.state(1)["csrf"]
    before = _events(mine)
    assert mine.send(1, sorted_as(0, "no")).status_code == 403
    assert mine.finish(1).status_code == 403
    assert mine.client.post("/withdraw", data={"csrf": theirs.csrf, "sure": "yes"}).status_code == 403
    assert _events(mine) == before


@pytest.mark.parametrize("change", ["name", "signature", "cut", "long", "empty", "case"])
def test_a_forged_link_is_nobody_s(expert: Browser, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    token = expert.link.rpartition("/")[2]
    name, _, signature = token.partition("-")
    forged = {
        "name": f"{name[:-1]}{'0' if name[-1] != '0' else '1'}-{signature}",
        "signature": f"{name}-{signature[:-2]}{'AA' if not signature.endswith('AA') else 'BB'}",
        "cut": token[:-1],
        "long": token + "A" * 5000,
        "empty": "-",
        "case": token.upper(),
    }[change]
    monkeypatch.setattr(expert.study.store, "expert", None)  # the database is not asked: nothing to learn from time
    refused = expert.client.get(f"/e/{forged}")
    assert refused.status_code == 404
    assert "roslin_expert" not in refused.headers.get("set-cookie", "")


def test_a_token_for_one_purpose_is_none_for_another(expert: Browser, study: OpenStudy) -> None:
    ticket = study.new_ticket()
    assert expert.client.get(f"/e/{ticket}").status_code == 404
    session = study.participants.begun(expert.name).token
    assert expert.client.get(f"/e/{session}").status_code == 404
    link = study.signatures.token("link", expert.name)
    assert study.participants.of({"roslin_expert": link}) is None
    assert study.signatures.text("ticket", link) is None


def test_a_link_of_another_study_is_nobody_s(expert: Browser, alone: Alone) -> None:
    other = alone()
    other.study.store.join(expert.name)  # even where there is somebody of the same name
    assert expert.client.get(f"/e/{other.study.signatures.token('link', expert.name)}").status_code == 404
    session = other.study.participants.begun(expert.name).token
    stranger = TestClient(expert.client.app, cookies={"roslin_expert": session})
    assert stranger.get("/continue").status_code == 401


def test_nothing_tells_a_forged_link_from_one_of_somebody_who_is_gone(invited: Invited, study: OpenStudy) -> None:
    gone, stranger = invited(), invited()
    study.store.withdraw(gone.name)
    answers = [stranger.client.get(path) for path in (gone.link, "/e/x", "/e/0123-" + "A" * 22, "/join/x", "/nothing")]
    assert {answer.status_code for answer in answers} == {404}
    assert len({re.sub(r'name="back" value="[^"]*"', "", answer.text) for answer in answers}) == 1
    assert len({tuple(sorted(set(answer.headers) - {"content-length"})) for answer in answers}) == 1


def test_a_session_is_new_each_time_and_a_planted_one_is_forgotten(invited: Invited) -> None:
    attacker, victim = invited(), invited()
    attacker.follow()
    planted = attacker.client.cookies["roslin_expert"]
    victim.client.cookies.set("roslin_expert", planted)
    made = []
    for _ in range(2):
        answer = victim.client.get(victim.link, follow_redirects=False)
        made.append(answer.cookies["roslin_expert"])
    assert len({planted, *made}) == 3
    whose = [victim.study.participants.of({"roslin_expert": each}) for each in (*made, planted)]
    assert [each and each.name for each in whose] == [victim.name, victim.name, attacker.name]


def test_sessions_end(expert: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    expert.at_trial()
    later = time.time() + 29 * 86_400
    monkeypatch.setattr("itsdangerous.timed.time.time", lambda: later)
    assert expert.get("/continue").status_code == 200
    later += 2 * 86_400
    assert expert.get("/continue").status_code == 401
    assert expert.follow().status_code == 200, "the link begins a new one"


def test_the_cookie_is_kept_from_scripts_and_from_http(expert: Browser, study_folder: Path) -> None:
    plain = expert.client.get(expert.link, follow_redirects=False).headers["set-cookie"].lower()
    assert "httponly" in plain
    assert "samesite=lax" in plain
    assert "secure" not in plain
    app = create_app(settings_for(study_folder, public_address="https://study.example.org"))
    by_https = TestClient(app).get(expert.link, follow_redirects=False).headers["set-cookie"].lower()
    assert "; secure" in by_https
    app.state.study.close()


# -- what another site makes a browser send -------------------------------------------------------------------------


@pytest.mark.parametrize("headers", CROSS_SITE, ids=lambda each: " ".join(f"{k}={v}" for k, v in each.items()))
def test_what_another_site_sends_is_refused(expert: Browser, headers: dict[str, str]) -> None:
    expert.at_trial()
    csrf = expert.state(1)["csrf"]
    before = _events(expert)
    body = {"decisions": [{"key": "a", **sorted_as(0, "no")}]}
    sent = expert.client.post("/api/trials/1/decisions", json=body, headers={"X-Roslin-Csrf": csrf, **headers})
    assert sent.status_code == 403
    for path in ("/withdraw", "/practice", "/consent", "/questions", "/instructions"):
        answer = expert.client.post(path, data={"csrf": csrf, "sure": "yes", "agree": "yes"}, headers=headers)
        assert answer.status_code == 403, path
    assert expert.client.post("/language", data={"language": "de"}, headers=headers).status_code == 403
    invitation = expert.study.open_invitation("http://testserver")
    ticket = {"ticket": expert.study.new_ticket()}
    assert expert.client.post(invitation, data=ticket, headers=headers).status_code == 403
    assert _events(expert) == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "null", "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "null"},
        {},
    ],
)
def test_what_our_own_pages_send_is_not(expert: Browser, headers: dict[str, str]) -> None:
    page = expert.follow()
    fields = dict(re.findall(r'name="(csrf|shown)" value="([^"]*)"', page.text))
    answer = expert.client.post("/consent", data={**fields, "agree": "yes"}, headers=headers)
    assert answer.url.path == "/questions"


@pytest.mark.parametrize("token", [None, "", "x", "A" * 22, "ä" * 22])
def test_without_the_token_of_the_session_nothing_is_written(expert: Browser, token: str | None) -> None:
    expert.at_trial()
    before = _events(expert)
    headers = {} if token is None else {"X-Roslin-Csrf": token.encode("latin-1")}
    body = {"decisions": [{"key": "a", **sorted_as(0, "no")}]}
    answer = expert.client.post("/api/trials/1/decisions", json=body, headers=headers)  # type: ignore[arg-type]
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "forged"
    form = {} if token is None else {"csrf": token}
    assert expert.client.post("/withdraw", data={**form, "sure": "yes"}).status_code == 403
    assert _events(expert) == before


def test_a_form_that_is_sent_again_later_changes_nothing(expert: Browser) -> None:
    consent = expert.follow()
    instructions = expert.until("instructions")
    expert.at_trial()
    before = _events(expert)
    expert.submit("/consent", consent, agree="yes")
    expert.submit("/instructions", instructions)
    assert _events(expert) == before


# -- scripts in texts -----------------------------------------------------------------------------------------------

SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"


def test_a_script_in_an_answer_is_text(expert: Browser) -> None:
    page = expert.until("questions")
    again = expert.submit("/questions", page, **{"q-instruments": SCRIPT, "q-experience_years": '"><b>'})
    assert "<script>alert" not in again.text
    assert "onerror=alert(1)>" not in again.text
    assert "&lt;script&gt;alert(1)" in again.text
    assert 'value="&#34;&gt;&lt;b&gt;"' in again.text


def test_a_script_in_the_texts_of_the_study_is_text() -> None:
    made = str(
        markdown(f"# Hello {SCRIPT}\n\n{SCRIPT}\n\n[a](javascript:alert(1)) ![b](https://evil.example/x.png) [c](/ok)")
    )
    assert "<script" not in made
    assert "<img" not in made
    assert 'href="javascript' not in made
    assert '<a href="/ok">c</a>' in made
    assert made.startswith("<h1>Hello &lt;script&gt;")


@pytest.mark.long
def test_a_script_in_the_title_is_text(tmp_path: Path) -> None:
    text = f'title = {{ en = "{SCRIPT}", de = "{SCRIPT}" }}'
    with small_study(tmp_path) as folder:
        path = folder.path
    toml = tmp_path / "study.toml"
    toml.write_text(toml.read_text().replace('title = { en = "Melodies", de = "Melodien" }', text))
    from roslin.experiment.folder import create_study

    create_study(toml).folder.close()
    app = create_app(settings_for(path))
    page = TestClient(app).get("/").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    app.state.study.close()


def test_a_participant_s_number_is_text(alone: Alone) -> None:
    owner = alone(keeps_participant=True)
    page = owner.client.get(owner.study.open_invitation("http://testserver"), params={"participant": f'">{SCRIPT}'})
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;" in page.text


@pytest.mark.long
def test_every_answer_has_the_headers(expert: Browser) -> None:
    expert.at_trial()
    for path in ("/", "/trial", "/api/trials/1", "/static/style.css", "/nothing", "/e/x", "/healthz", "/api/trials/99"):
        headers = expert.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy, path
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "microphone=()" in headers["permissions-policy"], path
        assert "server" not in headers
    for path in ("/trial", "/api/trials/1", "/link", "/consent"):
        assert expert.get(path).headers["cache-control"] == "no-store", path


def test_head_is_answered_as_get_is_without_the_body(expert: Browser) -> None:
    expert.at_trial()
    for path in ("/", "/trial", "/api/trials/1", "/static/style.css", "/nothing", "/e/x", "/healthz", "/study"):
        whole, head = expert.get(path), expert.client.head(path)
        assert (head.status_code, head.content) == (whole.status_code, b""), path
        assert head.status_code != 405, path
        assert head.headers["content-type"] == whole.headers["content-type"], path


def test_a_redirect_stays_on_the_server_whatever_host_it_is_asked_for(expert: Browser) -> None:
    for path in ("/thanks/", "/study/login/", expert.link):
        answer = expert.get(path, headers={"host": "evil.example"}, follow_redirects=False)
        assert answer.status_code in (303, 307), path
        assert re.fullmatch("/[a-z]+(/[a-z]+)?", answer.headers["location"]), path


def test_a_foreign_name_is_told_the_option(alone: Alone) -> None:
    owner = alone({"hosts": ("testserver",)})
    refused = owner.get("/", headers={"host": "study.example.org"})
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == (
        "this server is not called 'study.example.org'; "
        "start it with --public-address and the address that participants type"
    )


# -- files and what they tell ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e%2fexperiment%2fapp.py",
        "/static/....//app.py",
        "/static//etc/passwd",
        "/static/%00style.css",
        "/trials/1/../../key/picture",
        "/trials/1/%2e%2e/picture",
        "/trials/1/..%2f..%2fkey/picture",
        "/trials/1/0/..%2f..%2fkey",
        "/trials/1/-1/picture",
        "/trials/1/99/picture",
        "/trials/1/\u0661/picture",
        "/trials/1/1e1/picture",
        "/trials/1/0/password",
        "/trials/0x1/0/picture",
        "/files/key",
        "/plan.json",
        "/key",
    ],
)
def test_no_address_is_a_path(expert: Browser, path: str) -> None:
    expert.at_trial()
    answer = expert.get(path)
    assert answer.status_code in (404, 422), answer.text[:200]
    assert expert.study.folder.key.hex() not in answer.text


def test_nothing_that_leaves_the_server_names_a_melody(invited: Invited, study: OpenStudy) -> None:
    expert = invited()
    expert.at_trial()
    tasks = [*study.plan.tasks, *([study.plan.practice.task] if study.plan.practice else [])]
    items = {item.id for task in tasks for item in (task.query, *task.candidates)}
    melodies = [study.folder.melody(id) for id in items]
    told = {text for melody in melodies for text in (melody.title, melody.composer, melody.source) if text}
    secrets = items | told | {task.query.id for task in study.plan.tasks}
    expert.judge(1)
    answers = [
        expert.get(path)
        for path in ("/trial", "/api/trials/1", "/api/trials/0", "/api/trials/1/differences?first=query&second=0")
    ]
    answers += [expert.finish(0), expert.send(1, sorted_as(99, "no")), expert.get("/api/trials/1/differences?first=99")]
    for answer in answers:
        whole = unescape(f"{answer.url} {dict(answer.headers)} {answer.text}").casefold()
        assert [secret for secret in secrets if secret.casefold() in whole and len(secret) > 5] == [], answer.url


# -- too much -------------------------------------------------------------------------------------------------------


def test_a_body_that_is_too_large_is_refused(expert: Browser) -> None:
    expert.at_trial()
    csrf = expert.state(1)["csrf"]
    large = b'{"decisions": "' + b"x" * 300_000 + b'"}'
    answer = expert.client.post("/api/trials/1/decisions", content=large, headers={"X-Roslin-Csrf": csrf})
    assert answer.status_code == 413
    form = expert.client.post("/questions", data={"csrf": csrf, "q-remarks": "x" * 300_000})
    assert form.status_code == 413


def test_hundreds_of_decisions_in_one_request_are_refused(expert: Browser) -> None:
    expert.at_trial()
    many = [{"kind": "heard", "document": 0} for _ in range(MOST_DECISIONS + 1)]
    before = _events(expert)
    assert expert.send(1, *many).status_code == 422
    assert _events(expert) == before
    assert expert.send(1, *many[1:]).status_code == 200


def test_a_form_with_files_or_many_fields_is_refused(expert: Browser) -> None:
    page = expert.until("questions")
    csrf = re.findall(r'name="csrf" value="([^"]*)"', page.text)[0]
    answer = expert.client.post("/questions", data={"csrf": csrf}, files={"q-remarks": ("a.txt", b"x")})
    assert answer.status_code == 400
    many = expert.client.post("/questions", files={f"f{n}": (None, b"x") for n in range(400)}, data={"csrf": csrf})
    assert many.status_code == 400


@pytest.mark.long
def test_one_expert_s_rate_is_limited_and_the_others_go_on(alone: Alone) -> None:
    first = alone(settings={"requests_per_minute": 20})
    second = Browser(TestClient(first.client.app), first.study, first.study.store.invite()[0].name)
    first.follow()
    second.follow()
    answers = [first.get("/nothing").status_code for _ in range(25)]
    assert answers.count(429) >= 5
    refused = first.get("/continue")
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    assert refused.json()["error"]["code"] == "too_many_requests"
    assert second.get("/continue").status_code == 200, "the same address, another expert"
    assert TestClient(first.client.app).get("/").status_code == 200, "and nobody yet"
    first.client.cookies.set("roslin_expert", "made-up", domain="testserver.local", path="/")
    assert {first.get("/").status_code for _ in range(40)} == {200, 429}, "making up sessions does not help"


# -- what is written down -------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_log_has_no_secrets(alone: Alone, caplog: pytest.LogCaptureFixture) -> None:
    expert = alone(settings={"log_requests": True})
    token = expert.link.rpartition("/")[2]
    invitation = expert.study.open_invitation("http://testserver")
    with caplog.at_level(logging.INFO):
        expert.until("trial")
        expert.send(1, sorted_as(0, "no"))
        expert.client.get(invitation, params={"PROLIFIC_PID": "participant-77"})
        expert.client.get("/e/forged-token")
        expert.client.get("http://testserver//e/pasted-badly")
        expert.client.get("/api/trials/1?secret=query-text")
    lines = [json.loads(each.getMessage()) for each in caplog.records if each.name == "roslin.access"]
    assert {each["path"] for each in lines} >= {"/e/…", "/join/…", "/trial", "/api/trials/1/decisions"}
    assert all(set(each) == {"time", "method", "path", "status", "bytes", "ms"} for each in lines)
    whole = "\n".join(each.getMessage() for each in caplog.records if not each.name.startswith("http"))
    cookie = expert.client.cookies["roslin_expert"]
    secrets = [token, expert.name, cookie, expert.csrf, invitation.rpartition("/")[2], "participant-77", "testclient"]
    for secret in [*secrets, "forged-token", "pasted-badly", "query-text", expert.study.folder.key.hex()]:
        assert secret not in whole, secret


def test_the_log_of_trouble_has_no_secrets(
    expert: Browser, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    expert.at_trial()
    expert.state(1)

    def fail(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "INSERT INTO events" in statement:
            raise sa.exc.OperationalError(statement, {"expert": expert.name}, Exception("disk I/O error"))

    sa.event.listen(expert.study.store.database.engine, "before_cursor_execute", fail)
    try:
        with caplog.at_level(logging.DEBUG):
            assert expert.send(1, sorted_as(0, "no")).status_code == 503
    finally:
        sa.event.remove(expert.study.store.database.engine, "before_cursor_execute", fail)
    assert "disk I/O error" in caplog.text
    assert expert.name not in caplog.text
