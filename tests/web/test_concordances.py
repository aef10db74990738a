from __future__ import annotations

import html
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from tests.report.concording import NASTY, concorded, related

from roslin import Collection, load
from roslin.concordances.concordance import Concordances
from roslin.concordances.pairs import FoundPairs, unfold
from roslin.concordances.review import Review
from roslin.passwords import hashed, is_password
from roslin.web.app import create_app
from roslin.web.sessions import Attempts
from roslin.web.settings import Settings

COOKIE = "roslin_reviewer"

GROUP = "/concordances/groups/400-1.1.1"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    opened, _ = concorded(tmp_path)
    opened.close()
    return Settings(str(tmp_path / "tunes.roslin"), log_requests=False)


@pytest.fixture
def visitor(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings), follow_redirects=False) as opened:
        yield opened


def token(page: str) -> str:
    return str(re.findall(r'name="csrf" value="([^"]+)"', page)[0])


def sign_in(client: TestClient, name: str = "M. Weiss", **fields: str) -> str:
    """Say who reviews; the token of the new session."""
    sent = {"csrf": token(client.get("/concordances").text), "name": name, "back": GROUP, **fields}
    answer = client.post("/concordances/reviewer", data=sent)
    assert (answer.status_code, answer.headers["location"]) == (303, GROUP), answer.text
    return token(client.get("/concordances").text)


def decisions(settings: Settings) -> list[tuple[str, str, str, str, str]]:
    made = Review.open(settings.collection).decisions
    return sorted((each.first, each.second, each.verdict, each.note, each.author) for each in made)


# -- reading --------------------------------------------------------------------------------------------------------


def test_groups_are_listed_and_chosen(visitor: TestClient) -> None:
    def listed(query: str) -> list[str]:
        return re.findall(r'<a href="/concordances/groups/([^"?]+)', visitor.get(f"/concordances{query}").text)

    assert listed("") == ["400-1.1.1", "410-1.1.1", "420-1.1.1", "430-1.1.1"]
    assert listed("?kind=anonymous") == ["410-1.1.1"]
    assert listed("?library=D-Dl") == ["400-1.1.1", "410-1.1.1"]
    assert listed("?composer=HAYDN") == ["420-1.1.1"]
    assert listed("?state=accept") == []
    assert listed("?page=2") == []
    assert visitor.get("/concordances?kind=other").status_code == 422
    assert "What was compared" in visitor.get("/concordances").text


def test_pairs_of_records_are_listed_and_chosen(visitor: TestClient) -> None:
    def listed(query: str) -> list[tuple[str, str]]:
        page = visitor.get(f"/concordances/records{query}").text
        return re.findall(r"<h2><a href=\"[^\"]*\">(\d+) and (\d+)</a></h2>", page)

    whole = [("400", "401"), ("410", "411"), ("420", "421"), ("400", "402"), ("401", "402"), ("402", "403")]
    assert listed("") == whole  # the most certain first; two incipits of one record are no pair
    assert listed("?kind=attribution") == [whole[place] for place in (0, 3, 4, 5)]
    assert listed("?library=I-Nc") == [whole[place] for place in (0, 4)]
    assert listed("?composer=%20LEO,") == whole[3:]
    assert listed("?composer=no+composer") == [whole[place] for place in (0, 1, 4)]
    assert listed("?state=open&library=GB-Lbl") == [whole[2]]
    assert listed("?page=2") == []
    for address in ("?kind=other", "?page=0", "?page=x"):
        assert visitor.get(f"/concordances/records{address}").status_code == 422
    page = " ".join(visitor.get("/concordances/records?library=D-Dl&composer=leo").text.split())
    assert "3 of 6 pairs of records." in page
    assert '<a href="/concordances?library=D-Dl&amp;composer=leo">By group</a>' in page
    assert page.count('href="/concordances/groups/400-1.1.1?library=D-Dl&amp;composer=leo"') == 3
    assert '<a href="/melodies/402-1.1.1">402-1.1.1</a>, D-Dl Mus. 402-1.1.1, Leo, Leonardo' in page
    assert "4 groups of sources that may be the same tune" in page
    assert NASTY not in page


def test_two_records_have_the_verdict_of_all_their_pairs(visitor: TestClient) -> None:
    csrf = sign_in(visitor)
    sent = {"csrf": csrf, "group": "400-1.1.1", "first": "400-1.1.1", "second": "402-1.1.1", "verdict": "accept"}
    visitor.post("/concordances/decide", data=sent)
    page = visitor.get("/concordances/records?state=accept").text
    assert "1 of 6 pairs of records." in page
    assert re.findall(r"(\d+) and (\d+)</a></h2><span class=\"state (\w+)", page) == [("400", "402", "accept")]


@pytest.mark.parametrize(
    ("back", "target"),
    [
        ("/concordances/records?state=accept", "/concordances/records?state=accept"),
        ("/concordances/records", "/concordances/records"),
        ("/concordances/recordsx", "/concordances"),
        ("/concordances/records\n", "/concordances"),
        ("//example.org", "/concordances"),
    ],
)
def test_a_reviewer_comes_back_to_the_list_of_records(visitor: TestClient, back: str, target: str) -> None:
    sent = {"csrf": token(visitor.get("/concordances/records").text), "name": "Ben", "back": back}
    assert visitor.post("/concordances/reviewer", data=sent).headers["location"] == target


def test_records_that_no_group_has_together_lead_to_no_group(tmp_path: Path) -> None:
    related(tmp_path)[0].close()
    with TestClient(create_app(Settings(str(tmp_path / "related.roslin"), log_requests=False))) as client:
        page = client.get("/concordances/records").text
    assert page.count("Not one group, because too few pairs link them.") == 2
    assert re.findall(r"<h2>(\d+ and \d+)</h2>", page) == ["402 and 410", "402 and 420"]
    assert "Certainty: distance 0.7 (by dp)." in page


def test_groups_are_told_in_the_language_of_each_reader(visitor: TestClient) -> None:
    """The concordances are opened once, for whoever comes first; what they say is for whoever reads it."""
    english = re.compile(
        r"\b(weakest|pair|rated|probability|stable|stays|melod(y|ies)|alone|together|compared|counts|distance|note|earlier|"
        r"later|goes on|instead|values|transposed|sources?|composers?|records?|library|libraries|Movement|Work)\b"
    )
    first = visitor.get(GROUP).text
    for address in (
        "/concordances", "/concordances/records", GROUP,
        "/concordances/groups/410-1.1.1", "/concordances/groups/430-1.1.1",
    ):  # fmt: skip
        page = visitor.get(address, headers={"Accept-Language": "de"}).text
        main = re.sub(r"<(svg|code|script)\b.*?</\1>", " ", page[page.index("<main") :], flags=re.DOTALL)
        said = html.unescape(re.sub(r"<[^>]*>", " ", main))
        assert english.search(said) is None, english.search(said)
    german = visitor.get(GROUP, headers={"Accept-Language": "de"}).text
    assert "Das schwächste ihrer Paare ist als „wahrscheinlich“ bewertet: eine Wahrscheinlichkeit von 78 %." in german
    assert visitor.get(GROUP).text == first


def test_a_group_shows_notation_sources_and_pairs(visitor: TestClient) -> None:
    page = visitor.get(f"{GROUP}?library=D-Dl").text
    assert page.count('<figure class="melody line"') == 3
    assert "Pergolesi, Giovanni Battista" in page
    assert re.search(r'id="after" href="/concordances/groups/410-1.1.1\?library=D-Dl"', page)
    assert "1 of 2 in this selection" in " ".join(page.split())
    rows = re.findall(r'<th scope="row">(\w+ and \w+)', page)
    assert rows == ["B and C", "A and B", "A and A"]  # the least sure first
    assert visitor.get("/concordances/groups/402-1.1.1").text.count("<h1>") == 1  # any of its melodies leads to it
    assert visitor.get("/concordances/groups/nobody").status_code == 404


def test_titles_and_notes_are_escaped(visitor: TestClient) -> None:
    csrf = sign_in(visitor)
    sent = {"csrf": csrf, "group": "400-1.1.1", "first": "400-1.1.1", "second": "402-1.1.1"}
    assert visitor.post("/concordances/decide", data={**sent, "verdict": "accept", "note": NASTY}).status_code == 303
    for address in ("/concordances", "/concordances/records", GROUP):
        page = visitor.get(address).text
        assert NASTY not in page
        assert "<script>alert" not in page
    assert html.escape(NASTY, quote=False)[:20] in visitor.get(GROUP).text


def test_without_concordances_there_is_no_link_and_no_page(tmp_path: Path, starter: Path) -> None:
    with TestClient(create_app(Settings(str(starter), log_requests=False))) as client:
        assert client.get("/concordances").status_code == 404
        assert "roslin concordances finds them" in client.get("/concordances").text
        assert 'href="/concordances"' not in client.get("/about").text


def test_a_collection_that_changed_says_so(settings: Settings, tmp_path: Path) -> None:
    concorded(tmp_path, "other")[0].close()
    about = (tmp_path / "other.concordances" / "about.json").read_text()
    (tmp_path / "tunes.concordances" / "about.json").write_text(about)
    with TestClient(create_app(settings)) as client:
        answer = client.get("/concordances")
    assert answer.status_code == 409
    assert "has changed since its concordances were found" in answer.text
    assert str(tmp_path) not in answer.text


# -- deciding -------------------------------------------------------------------------------------------------------


def test_a_group_is_decided_and_the_next_one_comes(visitor: TestClient, settings: Settings) -> None:
    csrf = sign_in(visitor)
    sent = {"csrf": csrf, "group": "400-1.1.1", "verdict": "accept", "note": " same bass ", "library": "D-Dl"}
    answer = visitor.post("/concordances/decide", data=sent)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/concordances/groups/410-1.1.1?library=D-Dl&done=400-1.1.1"
    assert decisions(settings) == [
        (first, second, "accept", "same bass", "M. Weiss")
        for first, second in (
            ("400-1.1.1", "401-1.1.1"),
            ("400-1.1.1", "402-1.1.1"),
            ("401-1.1.1", "402-1.1.1"),
            ("402-1.1.1", "403-1.1.1"),
        )
    ]
    assert "accepted" in visitor.get(answer.headers["location"]).text
    last = visitor.post("/concordances/decide", data={**sent, "group": "430-1.1.1", "library": ""})
    assert last.headers["location"] == "/concordances"
    assert "M. Weiss: accepted, <q>same bass</q>" in " ".join(visitor.get(GROUP).text.split())


def test_the_next_open_group_comes_though_this_one_is_open_no_more(visitor: TestClient) -> None:
    csrf = sign_in(visitor)
    sent = {"csrf": csrf, "group": "410-1.1.1", "verdict": "reject", "state": "open"}
    location = visitor.post("/concordances/decide", data=sent).headers["location"]
    assert location == "/concordances/groups/420-1.1.1?state=open&done=410-1.1.1"


def test_a_pair_is_decided_alone(visitor: TestClient, settings: Settings) -> None:
    csrf = sign_in(visitor)
    sent = {"csrf": csrf, "group": "400-1.1.1", "first": "403-1.1.1", "second": "402-1.1.1", "verdict": "reject"}
    assert visitor.post("/concordances/decide", data=sent).headers["location"] == f"{GROUP}#pairs"
    assert decisions(settings) == [("402-1.1.1", "403-1.1.1", "reject", "", "M. Weiss")]
    assert "partly decided" in visitor.get("/concordances").text
    wrong = visitor.post("/concordances/decide", data={**sent, "second": "410-1.1.1"})
    assert (wrong.status_code, len(decisions(settings))) == (404, 1)


def test_pairs_of_copies_are_one_row_that_is_decided_at_once(visitor: TestClient, settings: Settings) -> None:
    csrf = sign_in(visitor)
    sent = {"csrf": csrf, "group": "400-1.1.1", "first": "400-1.1.1", "second": "402-1.1.1"}
    assert visitor.get(GROUP).text.count("2 pairs of sources") == 1
    visitor.post("/concordances/decide", data={**sent, "row": "yes", "verdict": "accept", "note": "bass"})
    both = ["400-1.1.1", "401-1.1.1"]
    assert decisions(settings) == [(first, "402-1.1.1", "accept", "bass", "M. Weiss") for first in both]
    page = " ".join(visitor.get(GROUP).text.split())
    assert page.count("M. Weiss: accepted, <q>bass</q>") == 1  # the row says once what is true of both
    visitor.post("/concordances/decide", data={**sent, "first": "401-1.1.1", "verdict": "reject"})
    assert [made[2] for made in decisions(settings)] == ["accept", "accept", "reject"]
    rows = re.findall(r'<th scope="row">A and B\b.*?<span class="state (\w+)">', visitor.get(GROUP).text, re.DOTALL)
    assert rows == ["mixed"]


@pytest.mark.long
def test_a_group_with_too_many_pairs_is_decided_row_by_row(tmp_path: Path) -> None:
    tunes = [load("'4CDEF/2.G")[0].with_metadata(id=str(place)) for place in range(202)]
    with Collection.build(tunes, tmp_path / "many.roslin") as built:
        first, second, _, _ = unfold(np.array([0]), np.array([0]), np.zeros(202, np.int64))
        none, copies = np.zeros(len(first)), np.ones(len(first), bool)
        found = FoundPairs(first, second, none, none, copies, 0.5, 0, 202)
        Concordances(built, found).write(tmp_path / "many.concordances")
    settings = Settings(str(tmp_path / "many.roslin"), log_requests=False)
    with TestClient(create_app(settings), follow_redirects=False) as client:
        csrf = sign_in(client)
        page = client.get("/concordances/groups/0").text
        assert "20,301 pairs of sources" in page
        assert "And 20,289 more" in page
        assert "The group has 20,301 pairs, too many to decide at once" in page
        assert 'action="/concordances/decide"' in page  # its pairs can be decided one by one
        assert not re.search(r'id="decide"|name="row"', page)
        sent = {"csrf": csrf, "group": "0", "verdict": "accept"}
        answer = client.post("/concordances/decide", data=sent)
        assert answer.status_code == 422
        assert "hese are 20,301 pairs; decide at most 20,000 at once" in answer.text
    assert decisions(settings) == []


@pytest.mark.parametrize(
    ("fields", "status"),
    [({"verdict": "perhaps"}, 422), ({"note": "x" * 10_001}, 422), ({"group": "nobody"}, 404), ({"kind": "no"}, 422)],
)
def test_a_decision_that_makes_no_sense_is_refused(
    visitor: TestClient, settings: Settings, fields: dict[str, str], status: int
) -> None:
    sent = {"csrf": sign_in(visitor), "group": "400-1.1.1", "verdict": "accept", **fields}
    assert visitor.post("/concordances/decide", data=sent).status_code == status
    assert decisions(settings) == []


# -- who may ---------------------------------------------------------------------------------------------------------


def test_nothing_is_written_without_a_name(visitor: TestClient, settings: Settings) -> None:
    csrf = token(visitor.get("/concordances").text)
    answer = visitor.post("/concordances/decide", data={"csrf": csrf, "group": "400-1.1.1", "verdict": "accept"})
    assert answer.status_code == 403
    assert "enter your name" in answer.text
    for name in ("", "x" * 101, "a\x00b"):
        sent = {"csrf": csrf, "name": name}
        assert visitor.post("/concordances/reviewer", data=sent).status_code == 422
    assert decisions(settings) == []


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}],
)
def test_what_another_site_sends_is_refused(visitor: TestClient, settings: Settings, headers: dict[str, str]) -> None:
    csrf = sign_in(visitor)
    sent = {"csrf": csrf, "group": "400-1.1.1", "verdict": "accept"}
    answer = visitor.post("/concordances/decide", data=sent, headers=headers)
    assert (answer.status_code, decisions(settings)) == (403, [])
    own = {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}
    assert visitor.post("/concordances/decide", data=sent, headers=own).status_code == 303


def test_a_form_belongs_to_its_session(visitor: TestClient, settings: Settings) -> None:
    csrf = sign_in(visitor)
    sent = {"group": "400-1.1.1", "verdict": "accept"}
    with TestClient(visitor.app, follow_redirects=False) as other:
        theirs = sign_in(other, "Somebody else")
        for wrong in ("", csrf[:-1], theirs, "é"):
            assert visitor.post("/concordances/decide", data={**sent, "csrf": wrong}).status_code == 403
    for session in ("", "x", visitor.cookies[COOKIE][:-1], visitor.cookies[COOKIE].replace("-", "-1", 1)):
        with TestClient(visitor.app, cookies={COOKIE: session}) as forger:
            assert forger.post("/concordances/decide", data={**sent, "csrf": csrf}).status_code == 403
    assert decisions(settings) == []


def test_who_leaves_is_forgotten(visitor: TestClient) -> None:
    csrf = sign_in(visitor)
    assert "You review as" in visitor.get(GROUP).text
    assert visitor.post("/concordances/leave", data={"csrf": csrf, "back": GROUP}).headers["location"] == GROUP
    assert "You review as" not in visitor.get(GROUP).text


@pytest.mark.parametrize(
    "back", ["https://evil.example/", "//evil.example", "/\\evil", "/about", "/concordances/groups/\r\nX: y"]
)
def test_nobody_is_sent_elsewhere(visitor: TestClient, back: str) -> None:
    csrf = token(visitor.get("/concordances").text)
    answer = visitor.post("/concordances/reviewer", data={"csrf": csrf, "name": "M. Weiss", "back": back})
    assert answer.headers["location"] == "/concordances"


def test_pages_that_are_open_to_others_are_for_reading(settings: Settings) -> None:
    with TestClient(create_app(replace(settings, is_open=True)), follow_redirects=False) as client:
        for address in ("/concordances", GROUP):
            page = client.get(address)
            assert "Read-only" in page.text
            assert "csrf" not in page.text
            assert "set-cookie" not in page.headers
        for address in ("/concordances/decide", "/concordances/reviewer", "/concordances/leave"):
            sent = {"group": "400-1.1.1", "verdict": "accept", "name": "M. Weiss", "csrf": "x"}
            answer = client.post(address, data=sent)
            assert answer.status_code == 403
            assert "read-only" in answer.text
    assert decisions(settings) == []


@pytest.mark.long
def test_a_password_lets_reviewers_in(settings: Settings) -> None:
    guarded = replace(settings, is_open=True, review_password=hashed("viola da gamba"), review_key="ab" * 32)
    with TestClient(create_app(guarded), follow_redirects=False) as client:
        csrf = token(client.get("/concordances").text)
        sent = {"csrf": csrf, "name": "M. Weiss", "password": "violone"}
        answer = client.post("/concordances/reviewer", data=sent)
        assert (answer.status_code, "not the password" in answer.text) == (403, True)
        csrf = sign_in(client, password="viola da gamba")
        session = client.cookies[COOKIE]
        sent = {"csrf": csrf, "group": "410-1.1.1", "verdict": "undecided"}
        assert client.post("/concordances/decide", data=sent).status_code == 303
        assert "viola da gamba" not in guarded.to_environment()
    # Another process with the same key knows the session; with another password nobody does.
    for password, status in ((guarded.review_password, 303), (hashed("viola da gamba"), 403)):
        with TestClient(create_app(replace(guarded, review_password=password)), follow_redirects=False) as other:
            other.cookies.set(COOKIE, session, path="/concordances")
            assert other.post("/concordances/decide", data=sent).status_code == status
    assert len(decisions(settings)) == 2


@pytest.mark.long
def test_passwords_are_not_guessed(settings: Settings) -> None:
    guarded = replace(settings, is_open=True, review_password=hashed("viola da gamba"))
    with TestClient(app := create_app(guarded), follow_redirects=False) as client:
        app.state.door.attempts = Attempts(seconds=3600)  # however slow the computer is
        csrf = token(client.get("/concordances").text)
        statuses = [
            client.post("/concordances/reviewer", data={"csrf": csrf, "name": "M.", "password": guess}).status_code
            for guess in (*"12345", "viola da gamba")
        ]
    assert statuses == [403] * 5 + [429]


def test_passwords_that_are_tried_at_the_same_moment_are_counted(settings: Settings) -> None:
    guarded = replace(settings, is_open=True, review_password=hashed("viola da gamba"))
    with TestClient(app := create_app(guarded), follow_redirects=False) as client:
        app.state.door.attempts = Attempts(seconds=3600)
        csrf = token(client.get("/concordances").text)

        def status(guess: str) -> int:
            sent = {"csrf": csrf, "name": "M.", "password": guess}
            return client.post("/concordances/reviewer", data=sent).status_code

        with ThreadPoolExecutor(10) as threads:
            statuses = sorted(threads.map(status, map(str, range(20))))
    assert statuses == [403] * 5 + [429] * 15


@pytest.mark.long
def test_a_right_password_does_not_count_as_an_attempt(settings: Settings) -> None:
    guarded = replace(settings, is_open=True, review_password=hashed("viola da gamba"))
    with TestClient(create_app(guarded), follow_redirects=False) as client:
        for _ in range(7):
            sign_in(client, password="viola da gamba")


def test_a_password_is_kept_as_a_hash() -> None:
    kept = hashed("viola da gamba")
    assert "viola" not in kept
    assert is_password("viola da gamba", kept)
    assert not is_password("viola", kept)
    assert hashed("viola da gamba") != kept


def test_the_cookie_stays_with_these_pages(visitor: TestClient) -> None:
    said = visitor.get("/concordances").headers["set-cookie"].lower()
    for word in ("httponly", "samesite=strict", "path=/concordances"):
        assert word in said
    assert visitor.get(GROUP).headers["cache-control"] == "no-store"


def test_pairs_that_lead_to_another_group_can_be_decided(tmp_path: Path) -> None:
    related(tmp_path)[0].close()
    settings = Settings(str(tmp_path / "related.roslin"), log_requests=False)
    with TestClient(create_app(settings), follow_redirects=False) as client:
        page = client.get(GROUP).text
        assert '<a href="/concordances/groups/410-1.1.1">Group 2</a>' in page
        assert re.search(r"[ABC] and one outside the group <code>402-1\.1\.1<br>410-1\.1\.1</code>", page)
        assert "distance 0.7<br>" in page
        form = sign_in(client)
        sent = {"csrf": form, "group": "400-1.1.1", "first": "410-1.1.1", "second": "402-1.1.1", "verdict": "reject"}
        assert client.post("/concordances/decide", data=sent).status_code == 303
        sent |= {"second": "400-1.1.1"}
        assert client.post("/concordances/decide", data=sent).status_code == 404
    assert decisions(settings) == [("402-1.1.1", "410-1.1.1", "reject", "", "M. Weiss")]
