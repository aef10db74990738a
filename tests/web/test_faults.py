"""What goes wrong: engraver, collection, clients, time. The page stays, and says what it can."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import shutil
import signal
import socket
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from fastapi.testclient import TestClient
from starlette.types import Receive, Scope, Send
from tests.waiting import unread, until
from tests.web.running import Server, running

from roslin import Collection, CollectionError, Melody, load
from roslin.deadline import stop_flag
from roslin.errors import BusyError
from roslin.matchers import DP
from roslin.represent.packed import Packed
from roslin.sandbox import shared_worker
from roslin.types import Distances
from roslin.web import errors
from roslin.web import library as library_module
from roslin.web.app import create_app
from roslin.web.library import GoneError, Library, Wait, begun, progress_of
from roslin.web.security import LastResort
from roslin.web.settings import Settings

FRERE = "%G-2@4/4 '4CDEC/CDEC/EF2G/"


@pytest.mark.long
def test_the_engraver_is_killed_in_the_middle(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A melody that cannot be drawn is a piano roll; the next one is drawn again."""
    monkeypatch.setenv("ROSLIN_CACHE_MEGABYTES", "0")
    worker = shared_worker()
    client.get("/api/read", params={"q": "'4CE"})
    original, killed = worker.call, list[int]()

    def kill() -> None:
        until(lambda: unread(killed[0]) > 0)  # before that, the worker could find it dead and start another one
        os.kill(killed[0], signal.SIGKILL)

    def call(function: str, payload: dict[str, Any]) -> dict[str, Any]:
        if not killed:
            assert worker.process_id is not None
            os.kill(worker.process_id, signal.SIGSTOP)  # it is given work, and never answers
            killed.append(worker.process_id)
            threading.Thread(target=kill).start()
        return original(function, payload)

    monkeypatch.setattr(worker, "call", call)
    first, second = (client.get("/results", params={"q": "'4CEG", "k": 1}).text for _ in range(2))
    assert killed
    assert (first.count('class="roll"'), first.count('class="notation"')) == (1, 1)
    assert "the worker process crashed (SIGKILL)" in first
    assert (second.count('class="roll"'), second.count('class="notation"')) == (0, 2)


def test_a_collection_that_is_damaged_while_it_is_served(
    starter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "damaged.roslin"
    shutil.copytree(starter, path)
    settings = Settings(str(path), log_requests=False)
    monkeypatch.setattr(library_module, "HEALTH_SECONDS", 0.0)
    with TestClient(create_app(settings), raise_server_exceptions=False) as client:
        assert client.get("/healthz").status_code == 200
        database = path / "collection.sqlite"
        database.write_bytes(b"\xff" * database.stat().st_size)  # in place: what no writer of ours does
        answers = [client.get(path) for path in ("/api/melodies/roslin-castle", "/api/search?id=roslin-castle")]
        assert [answer.status_code for answer in answers] == [503, 503]
        until(lambda: client.get("/healthz").status_code == 503)  # it tells what the last look found
        assert answers[0].json()["error"]["code"] == "collection"
        assert str(tmp_path) not in answers[0].text
        assert client.get("/?id=roslin-castle").status_code == 503
        assert client.get("/api/matchers").status_code == 200


def test_a_collection_that_is_damaged_before(tmp_path: Path) -> None:
    (tmp_path / "bad.roslin").mkdir()
    (tmp_path / "bad.roslin" / "collection.sqlite").write_bytes(b"no database")
    for name in ("bad.roslin", "nothing.roslin"):
        with pytest.raises(CollectionError, match=name):
            create_app(Settings(str(tmp_path / name)))


def test_a_new_state_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_module, "_STATE_SECONDS", 0.0)
    path = tmp_path / "mine.roslin"
    tune = load(FRERE)[0]
    Collection.build([tune.with_metadata(id="old")], path).close()
    with TestClient(create_app(Settings(str(path), log_requests=False))) as client:
        assert [hit["id"] for hit in client.get("/api/search", params={"q": FRERE}).json()["results"]] == ["old"]
        Collection.build([tune.with_metadata(id="new")], path).close()
        assert [hit["id"] for hit in client.get("/api/search", params={"q": FRERE}).json()["results"]] == ["new"]
        (path / "collection.sqlite").unlink()
        assert client.get("/api/search", params={"q": FRERE}).status_code == 200  # the old one is still open


def test_something_unforeseen_is_logged_and_not_told(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("a secret")

    monkeypatch.setattr("roslin.web.api.find", fail)
    with TestClient(client.app, raise_server_exceptions=False) as quiet:
        answer = quiet.get("/api/search", params={"q": FRERE})
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal"
    assert "secret" not in answer.text
    assert "a secret" in caplog.text


def test_a_page_that_fails_is_a_page_with_its_headers_and_logged(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise KeyError("a secret")

    caplog.set_level(logging.INFO, "roslin.access")
    monkeypatch.setattr("roslin.web.pages.find", fail)
    with TestClient(create_app(replace(settings, log_requests=True)), raise_server_exceptions=False) as client:
        answer = client.get("/", params={"q": FRERE})
    assert answer.status_code == 500
    assert "Something went wrong here; it is in the log." in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    (line,) = [json.loads(record.message) for record in caplog.records if record.name == "roslin.access"]
    assert (line["path"], line["status"]) == ("/", 500)


def test_an_error_after_the_answer_has_begun_breaks_it_off() -> None:
    async def application(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise KeyError("too late")

    with pytest.raises(KeyError, match="too late"):
        TestClient(LastResort(application, errors.answer)).get("/")


def test_the_time_is_limited(settings: Settings) -> None:
    with TestClient(create_app(replace(settings, search_seconds=1e-9))) as client:
        answer = client.get("/api/search", params={"q": FRERE})
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "time_limit"
        assert answer.headers["retry-after"] == "30"


@pytest.mark.long
def test_the_time_of_an_explanation_is_limited(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    original = DP._distances

    def slow(self: DP, query: Melody, candidates: Packed) -> Distances:
        until(lambda: stop_flag()[0])
        return original(self, query, candidates)

    monkeypatch.setattr(DP, "_distances", slow)
    with TestClient(create_app(replace(settings, search_seconds=1.0))) as client:
        asked = {"q": FRERE, "candidate": "frere-jacques", "matcher": "fuse(dp, us, weights=(1, 2))"}
        refused = client.get("/api/explain", params=asked)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "time_limit")
    assert refused.json()["error"]["message"] == "the explanation was stopped after 1 seconds"


@pytest.mark.long
def test_strangers_wait_for_no_endless_comparison(settings: Settings, tmp_path: Path) -> None:
    """One melody is too long for `emd` and a query of eleven notes: it is left out, and the page says so."""
    path, long = tmp_path / "long.roslin", [60 + k % 7 for k in range(2000)]
    tunes = [load(FRERE)[0].with_metadata(id="short"), Melody.from_notes(range(2000), [1] * 2000, long, id="long")]
    Collection.build(tunes, path).close()
    for is_open, expected in ((True, ["short"]), (False, ["short", "long"])):
        with TestClient(create_app(replace(settings, collection=str(path), is_open=is_open))) as client:
            answer = client.get("/api/search", params={"q": FRERE, "matcher": "emd"}).json()
            assert [hit["id"] for hit in answer["results"]] == expected
            if is_open:
                (step,) = answer["filters"]
                assert step["sentence"] == "At most 1818 notes: emd would take too long for longer melodies."
                assert (step["removed"], step["left"], answer["searched"]) == (1, 1, 1)
                asked = {"q": FRERE, "matcher": "emd", "candidate": "long"}
                refused = client.get("/api/explain", params=asked).json()["error"]["message"]
                assert refused == "emd compares melodies of at most 1818 notes with it; got 2000"
                assert len(client.get("/api/search", params={"q": FRERE, "matcher": "dp"}).json()["results"]) == 2


def test_only_so_many_search_at_once(settings: Settings) -> None:
    library = Library(replace(settings, searches_at_once=1))
    with library.slot(), pytest.raises(BusyError, match="the server is busy with other searches"), library.slot(0.05):
        pass
    with library.slot():  # given back
        assert library.searching == 1
    assert library.searching == 0
    library.close()


def test_answers_are_kept_up_to_a_number(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library_module, "_ANSWERS_KEPT", 2)
    library, made = Library(settings), list[int]()

    def ask(key: int) -> int:
        def make() -> int:
            made.append(key)
            return key

        return library.kept(key, make)

    assert [ask(key) for key in (1, 2, 1, 3, 1, 2)] == [1, 2, 1, 3, 1, 2]
    assert made == [1, 2, 3, 2]  # 2 was used least recently
    library.close()


def test_strangers_get_the_matchers_of_the_page(settings: Settings) -> None:
    with TestClient(create_app(replace(settings, is_open=True))) as client:
        slow = client.get("/api/search", params={"q": FRERE, "matcher": "twv(segment=1, step=1)"})
        assert "this server offers the matchers" in slow.json()["error"]["message"]
        assert client.get("/api/search", params={"q": FRERE, "matcher": "dp(place='inside')"}).status_code == 200


def test_the_rate_is_limited(settings: Settings) -> None:
    with TestClient(create_app(replace(settings, requests_per_minute=3))) as client:
        answers = [client.get("/api/matchers") for _ in range(5)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
        assert answers[-1].json()["error"]["code"] == "too_many_requests"
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 21
        assert "content-security-policy" in answers[-1].headers
        assert client.get("/healthz").status_code == client.get("/static/style.css").status_code == 200


def test_a_server_for_this_computer_answers_to_its_own_names(settings: Settings) -> None:
    with TestClient(create_app(replace(settings, hosts=("127.0.0.1", "localhost", "::1")))) as client:
        for host, status in (("127.0.0.1:8000", 200), ("LOCALHOST", 200), ("[::1]:80", 200), ("evil.example", 400)):
            assert client.get("/api/matchers", headers={"host": host}).status_code == status, host
        refused = client.get("/api/matchers", headers={"host": "evil.example:8000"}).json()["error"]
        assert refused["message"] == (
            "this server is not called 'evil.example'; "
            "to open it to others, start it with --host 0.0.0.0, or with --proxy ADDRESS behind a reverse proxy"
        )


def test_head_is_answered_as_get_is_without_the_body(settings: Settings) -> None:
    paths = ["/", "/about", "/healthz", "/results", "/static/style.css", "/api/openapi.json", "/nothing"]
    paths += ["/api/matchers", "/melodies/frere-jacques", "/api/melodies/frere-jacques?format=midi"]
    with TestClient(create_app(settings)) as client:
        for path in paths:
            whole, head = client.get(path), client.head(path)
            assert (head.status_code, head.content) == (whole.status_code, b""), path
            assert head.status_code == (404 if path == "/nothing" else 200), path
            for name in ("content-type", "content-length", "content-encoding", "content-security-policy"):
                assert head.headers.get(name) == whole.headers.get(name), (path, name)
        assert client.head("/concordances/decide").status_code == 405


def test_a_redirect_stays_on_the_server_whatever_host_it_is_asked_for(settings: Settings) -> None:
    with TestClient(create_app(replace(settings, is_open=True)), follow_redirects=False) as client:
        for path in ("/about/", "/list/?id=a", "/concordances/", "//evil.example/about/"):
            answer = client.get(path, headers={"host": "evil.example"})
            assert (answer.status_code, "evil.example" in answer.headers.get("location", "")) in (
                (307, False),
                (404, False),
            )
            assert not answer.headers.get("location", "").startswith("//")
        assert client.get("/about/").headers["location"] == "/about"
        assert client.get("/list/?id=a&id=b").headers["location"] == "/list?id=a&id=b"


def test_the_addresses_of_one_ipv6_network_share_a_rate(settings: Settings) -> None:
    app = create_app(replace(settings, requests_per_minute=2))
    statuses = []
    for address in ("2001:db8:1:2::1", "2001:db8:1:2::2", "2001:db8:1:2:ffff::3", "2001:db8:1:3::1", "192.0.2.7"):
        statuses.append(TestClient(app, client=(address, 5000)).get("/api/matchers").status_code)
    assert statuses == [200, 200, 429, 200, 200]
    app.state.library.close()


def test_every_request_is_logged_without_the_query(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "roslin.access")
    with TestClient(create_app(replace(settings, log_requests=True))) as client:
        client.get("/api/search", params={"q": FRERE})
        client.get("/nothing")
    lines = [json.loads(record.message) for record in caplog.records if record.name == "roslin.access"]
    assert [(line["method"], line["path"], line["status"]) for line in lines] == [
        ("GET", "/api/search", 200),
        ("GET", "/nothing", 404),
    ]
    assert set(lines[0]) == {"time", "client", "method", "path", "status", "bytes", "ms"}


def test_a_large_body_without_a_length(client: TestClient, settings: Settings) -> None:
    def chunks() -> Any:
        for _ in range(80):
            yield b"x" * 2**16

    answer = client.post("/api/read", content=chunks(), headers={"content-type": "multipart/form-data; boundary=b"})
    assert answer.status_code == 413
    assert answer.json()["error"]["message"] == "the file is too large; expected at most 4194 kB"
    bad = client.post("/api/read", content=b"x", headers={"content-length": "-1"})
    assert bad.status_code == 413


def test_a_search_that_nobody_waits_for_ends(settings: Settings) -> None:
    from roslin.web.requests import SearchParams
    from roslin.web.search import find

    library = Library(settings)
    with pytest.raises(GoneError, match="the client disconnected"):
        find(library, SearchParams(q=FRERE), Wait(is_gone=True))
    assert library.searching == 0
    library.close()


@pytest.mark.long
def test_whoever_stops_listening_has_gone() -> None:
    """The work is told, and what it raises then is nobody's error."""
    seen, unheard = list[bool](), list[dict[str, Any]]()

    def work(wait: Wait) -> None:
        while not wait.is_gone:
            time.sleep(0.01)
        seen.append(True)
        raise GoneError("the client disconnected")

    async def listen_once() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
        task, wait = begun(work)
        lines = progress_of(task, wait)
        await anext(lines)
        await lines.aclose()  # type: ignore[attr-defined]  # a generator
        while not task.done():
            await asyncio.sleep(0.01)
        del task
        gc.collect()

    asyncio.run(listen_once())
    assert seen == [True]
    assert unheard == []


# -- a server of its own ----------------------------------------------------------------------------------------------


def raw(port: int, data: bytes, *, answer: bool = True) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=90) as connection:
        connection.sendall(data)
        return connection.recv(65536) if answer else b""


def searching(server: Server) -> int:
    with urlopen(f"{server.address}/healthz") as answer:
        return int(json.load(answer)["searching"])


@pytest.mark.long
def test_a_real_server(starter: Path, tmp_path: Path) -> None:
    """Two processes: a large upload is refused at its first line, a client leaves, and the end is clean."""
    with running(starter, tmp_path, "--workers", "2", "--rate", "100000", "--title", "Tunes") as server:
        head = b"POST /api/read HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n"
        refused = raw(server.port, head + b"Content-Length: 100000000\r\n\r\n")
        assert refused.startswith(b"HTTP/1.1 413")

        raw(
            server.port,
            b"GET /api/search?q=%274CDEFGABAGFEDC&matcher=emd HTTP/1.1\r\nHost: localhost\r\n\r\n",
            answer=False,
        )
        raw(
            server.port,
            b"GET /results?q=%274CDEFGABAGFEDC&matcher=gam HTTP/1.1\r\nHost: localhost\r\n"
            b"Accept: application/x-ndjson\r\n\r\n",
            answer=False,
        )
        raw(server.port, b"GET /?q=" + b"C" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        raw(server.port, b"\x16\x03\x01 nonsense\r\n\r\n")
        until(lambda: not searching(server))
        with urlopen(f"{server.address}/") as answer:
            assert b"Tunes" in answer.read()
        assert server.end() == 0
    log = server.log.read_text()
    assert "Traceback" not in log
    assert "never retrieved" not in log
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert {"/healthz", "/"} <= {line["path"] for line in lines}
