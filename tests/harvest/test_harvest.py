"""Harvesting from a server that misbehaves: errors, cut and broken answers, lost tokens, tokens in a circle."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.cli.program import roslin

import roslin.harvest as module
from roslin import Collection
from roslin.errors import ArgumentError, HarvestError
from roslin.harvest import OaiList, PoliteReader, SruSearch, harvest
from roslin.notation import records

RECORD = """<marc:record xmlns:marc="http://www.loc.gov/MARC21/slim">
<marc:controlfield tag="001">{number}</marc:controlfield>
<marc:datafield tag="031" ind1=" " ind2=" "><marc:subfield code="g">G-2</marc:subfield>
<marc:subfield code="p">'4CDE{letter}</marc:subfield></marc:datafield></marc:record>"""


def oai(numbers: Sequence[int], token: str | None = "", deleted: Sequence[int] = (), error: str = "") -> bytes:
    """A page of an OAI-PMH list; no token at all where it is None."""
    listed = "".join(
        f"<record><header><identifier>oai:x:{number}</identifier></header><metadata>"
        f"{RECORD.format(number=number, letter='CDEFGAB'[number % 7])}</metadata></record>"
        for number in numbers
    ) + "".join(
        f'<record><header status="deleted"><identifier>oai:x:{number}</identifier></header></record>'
        for number in deleted
    )
    more = "" if token is None else f'<resumptionToken completeListSize="6">{token}</resumptionToken>'
    inside = f'<error code="{error}">no</error>' if error else f"<ListRecords>{listed}{more}</ListRecords>"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/">'
        f"<responseDate>2026-11-19T10:00:00Z</responseDate><request>x</request>{inside}</OAI-PMH>"
    ).encode()


def sru(numbers: Sequence[int], total: int | str, next: int | str = "", diagnostic: str = "") -> bytes:
    listed = "".join(
        f"<zs:record><zs:recordData>{RECORD.format(number=number, letter='C')}</zs:recordData></zs:record>"
        for number in numbers
    )
    more = f"<zs:nextRecordPosition>{next}</zs:nextRecordPosition>" if next else ""
    wrong = f"<zs:diagnostics><diagnostic><message>{diagnostic}</message></diagnostic></zs:diagnostics>"
    return (
        f'<zs:searchRetrieveResponse xmlns:zs="http://www.loc.gov/zing/srw/"><zs:numberOfRecords>{total}'
        f"</zs:numberOfRecords><zs:records>{listed}</zs:records>{more}{wrong if diagnostic else ''}"
        "</zs:searchRetrieveResponse>"
    ).encode()


Answer = Callable[[BaseHTTPRequestHandler], None]


def ok(data: bytes, promised: int | None = None) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data) if promised is None else promised))
        handler.end_headers()
        handler.wfile.write(data)
        handler.close_connection = True

    return answer


def status(code: int, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


@dataclass
class Server:
    """Gives its answers in order, and keeps what it was asked."""

    address: str = ""
    answers: list[Answer] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)


@pytest.fixture
def server() -> Iterator[Server]:
    plan = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            plan.asked.append({name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()})
            plan.agents.append(self.headers["User-Agent"])
            plan.answers.pop(0)(self)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        plan.address = f"http://127.0.0.1:{running.server_port}/oai"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield plan
        running.shutdown()
        thread.join()


@dataclass
class Waits:
    """A clock that stands still, and the waits that were asked of it."""

    seconds: list[float] = field(default_factory=list)

    def reader(self, contact: str = "") -> PoliteReader:
        return PoliteReader(contact, pause=0.5, sleep=self.seconds.append, now=lambda: 0.0)


def ids(folder: Path) -> list[str]:
    found = [record for path in sorted(folder.glob("*.xml")) for record in records(path)]
    return [str(record.melody and record.melody.id) for record in found]


def test_a_list_of_three_pages(server: Server, tmp_path: Path) -> None:
    server.answers = [ok(oai([1, 2], "a b")), ok(oai([3], "c", deleted=[4, 5])), ok(oai([6], None))]
    waits = Waits()
    state = harvest(
        server.address, OaiList(set="music", since="2026-10-01"), tmp_path / "x", waits.reader(contact="a@b")
    )
    assert (state.pages, state.records, state.deleted, state.total, state.is_complete) == (3, 6, 2, 6, True)
    assert state.date == "2026-11-19"
    assert server.asked == [
        {"verb": "ListRecords", "metadataPrefix": "marcxml", "set": "music", "from": "2026-10-01"},
        {"verb": "ListRecords", "resumptionToken": "a b"},
        {"verb": "ListRecords", "resumptionToken": "c"},
    ]
    assert all(agent.startswith("Roslin/") and agent.endswith(" (a@b)") for agent in server.agents)
    assert waits.seconds == [0.5, 0.5]
    assert ids(tmp_path / "x") == ["1-1.1.1", "2-1.1.1", "3-1.1.1", "6-1.1.1"]
    assert b'status="deleted"' in (tmp_path / "x" / "page-00002.xml").read_bytes()


def test_pages_are_a_source_of_a_collection(server: Server, tmp_path: Path) -> None:
    server.answers = [ok(oai([1, 2], "a")), ok(oai([3], "", deleted=[4]))]
    harvest(server.address, OaiList(), tmp_path / "pages", Waits().reader())
    with Collection.build(tmp_path / "pages", tmp_path / "x.roslin") as collection:
        assert sorted(melody.id or "" for melody in collection) == ["1-1.1.1", "2-1.1.1", "3-1.1.1"]


def test_a_search(server: Server, tmp_path: Path) -> None:
    server.answers = [ok(sru([1, 2], 5, 3)), ok(sru([3, 4], 5)), ok(sru([5], 5))]
    state = harvest(server.address + "?db=x", SruSearch("a = b", at_once=2), tmp_path, Waits().reader())
    assert (state.pages, state.records, state.is_complete) == (3, 5, True)
    assert [each["startRecord"] for each in server.asked] == ["1", "3", "5"]
    assert server.asked[0] == {
        "db": "x", "operation": "searchRetrieve", "version": "1.1", "query": "a = b", "recordSchema": "marcxml",
        "maximumRecords": "2", "startRecord": "1",
    }  # fmt: skip
    assert ids(tmp_path) == [f"{number}-1.1.1" for number in range(1, 6)]


def test_it_waits_as_long_as_the_server_asks(server: Server, tmp_path: Path) -> None:
    server.answers = [
        status(503, Retry_After="40"),
        status(503, Retry_After="Thu, 01 Jan 1970 00:01:30 GMT"),
        status(500),
        hang_up,
        ok(oai([1])),
    ]
    waits = Waits()
    assert harvest(server.address, OaiList(), tmp_path, waits.reader()).records == 1
    assert waits.seconds == [40.0, 0.5, 90.0, 0.5, 20.0, 0.5, 40.0, 0.5]


def test_an_answer_that_breaks_off_is_asked_for_again(server: Server, tmp_path: Path) -> None:
    whole = oai([1])
    server.answers = [ok(whole[:200], promised=len(whole)), ok(whole[:200]), ok(b"<html></html>"), ok(whole)]
    assert harvest(server.address, OaiList(), tmp_path, Waits().reader()).records == 1


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([status(404)], "verb=ListRecords&metadataPrefix=marcxml: the server answered 404 Not Found"),
        ([status(503, Retry_After="86400")], "asks to wait 86400 seconds; run the command again then"),
        ([status(503)] * 6, "the server answered 503 Service Unavailable"),
        ([ok(oai([1])[:-9])] * 6, "broken XML in line"),
        ([hang_up] * 6, "no answer: "),
        ([ok(b"<html/>")] * 6, "the answer is <html>; expected <OAI-PMH>"),
        ([ok(b'<!DOCTYPE a [<!ENTITY b "c">]>' + oai([1])[38:])], "has a document type; expected XML without one"),
        ([ok(b"<OAI-PMH>" * 70)], "more than 64 elements inside each other"),
        ([ok(b"<OAI-PMH><error>" + b"x" * 100_001)], "<error> has more than 100000 characters"),
        ([ok(b"<?xml version='1.0' encoding='klingon'?><OAI-PMH/>")], "unknown encoding"),
        ([ok(oai([], error="badArgument"))], "badArgument: no"),
        ([ok(oai([1], "a")), ok(oai([], error="badResumptionToken"))], "no longer knows where it was: delete"),
        ([ok(oai([1], "a")), ok(oai([2], "b")), ok(oai([3], "a"))], "repeats the resumption token 'a'"),
        ([ok(oai([], f"token {number}")) for number in range(11)], "11 pages without a record"),
        ([status(302, Location="ftp://x/y")], "ftp://x/y: not an address"),
    ],
)
def test_a_server_that_misbehaves(server: Server, tmp_path: Path, answers: list[Answer], message: str) -> None:
    server.answers = list(answers)
    with pytest.raises((HarvestError, ArgumentError), match=message):
        harvest(server.address, OaiList(), tmp_path, Waits().reader())
    assert server.answers == []


def test_searches_that_go_nowhere(server: Server, tmp_path: Path) -> None:
    server.answers = [ok(sru([1], 5, 1)), ok(sru([], 0, diagnostic="Unsupported index"))]
    with pytest.raises(HarvestError, match="the server names record 1 as the next after record 1"):
        harvest(server.address, SruSearch("x"), tmp_path / "a", Waits().reader())
    with pytest.raises(HarvestError, match="diagnostic: Unsupported index"):
        harvest(server.address, SruSearch("x"), tmp_path / "b", Waits().reader())


def test_limits_of_an_answer(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 100)
    server.answers = [ok(oai([1]))]
    with pytest.raises(HarvestError, match="the answer is too large; expected at most 100 bytes"):
        harvest(server.address, OaiList(), tmp_path, Waits().reader())
    monkeypatch.setattr(module, "MOST_BYTES", 10**6)
    monkeypatch.setattr(module, "MOST_SECONDS", -1.0)
    server.answers = [ok(oai([1]))] * module.TRIES
    with pytest.raises(HarvestError, match="no whole answer within -1 seconds"):
        harvest(server.address, OaiList(), tmp_path, Waits().reader())


def test_it_continues_where_it_was_stopped(server: Server, tmp_path: Path) -> None:
    server.answers = [ok(oai([1, 2], "a")), status(404), ok(oai([3], "b")), ok(oai([4]))]
    with pytest.raises(HarvestError, match="404"):
        harvest(server.address, OaiList(), tmp_path, Waits().reader())
    (tmp_path / "page-00002.xml").write_bytes(b"a page that was written, and not counted")
    assert not harvest(server.address, OaiList(), tmp_path, Waits().reader(), most_pages=1).is_complete
    assert harvest(server.address, OaiList(), tmp_path, Waits().reader()).is_complete
    assert [each.get("resumptionToken") for each in server.asked] == [None, "a", "a", "b"]
    assert ids(tmp_path) == [f"{number}-1.1.1" for number in range(1, 5)]
    assert harvest(server.address, OaiList(), tmp_path, Waits().reader()).records == 4  # asks for nothing more


def test_nothing_has_changed(server: Server, tmp_path: Path) -> None:
    server.answers = [ok(oai([], error="noRecordsMatch"))]
    state = harvest(server.address, OaiList(since="2026-11-18"), tmp_path, Waits().reader())
    assert (state.is_complete, state.pages) == (True, 0)


def test_a_folder_is_of_one_harvest(server: Server, tmp_path: Path) -> None:
    server.answers = [ok(oai([1]))]
    harvest(server.address, OaiList(), tmp_path, Waits().reader())
    with pytest.raises(ArgumentError, match="has another harvest; choose another folder"):
        harvest(server.address, OaiList(set="x"), tmp_path, Waits().reader())
    (tmp_path / ".harvest.json").write_text("{}")
    with pytest.raises(ArgumentError, match=r"\.harvest.json: damaged; delete the folder and harvest again"):
        harvest(server.address, OaiList(), tmp_path, Waits().reader())
    (tmp_path / ".harvest.json").unlink()
    with pytest.raises(ArgumentError, match=r"has pages, but no \.harvest.json; choose another folder"):
        harvest(server.address, OaiList(), tmp_path, Waits().reader())


@pytest.mark.parametrize("address", ["file:///etc/passwd", "example.org/oai", "http://"])
def test_only_addresses_of_the_web(address: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="not an address; expected one that starts with http"):
        harvest(address, OaiList(), tmp_path / "x", Waits().reader())


@pytest.mark.long
def test_the_commands(server: Server, tmp_path: Path) -> None:
    server.answers = [ok(oai([1], "a", deleted=[2])), ok(oai([3])), ok(sru([1], 1))]
    done = roslin("harvest", "oai", server.address, tmp_path / "a", "--pause", 0, "--pages", 1, "--format", "tsv")
    assert done.stdout == "pages\trecords\tdeleted\tcomplete\tdate\n1\t2\t1\tFalse\t2026-11-19\n"
    assert "not complete yet: run the same command again" in done.stderr
    done = roslin("harvest", "oai", server.address, tmp_path / "a", "--pause", 0, "--format", "json")
    assert json.loads(done.stdout)[0]["records"] == 3
    assert "next time, fetch the changes: --from 2026-11-19, into another folder" in done.stderr
    done = roslin("harvest", "sru", server.address, "x", tmp_path / "b", "--contact", "me@example.org")
    assert "(me@example.org)" in server.agents[-1]
    refused = roslin("harvest", "oai", "nowhere", tmp_path / "c", code=2)
    assert refused.stderr == "roslin: nowhere: not an address; expected one that starts with http:// or https://\n"
