"""Pages below a path of another site: every address on them begins with the path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from fastapi.testclient import TestClient
from tests.web.conftest import QUIET
from tests.web.running import running

from roslin.errors import ArgumentError
from roslin.web.app import create_app
from roslin.web.settings import Settings

SITE, PATH = "http://testserver", "/tunes"
STATIC = Path(__file__).parents[2] / "src/roslin/web/static"
_ADDRESS = re.compile(r'\b(?:href|src|action|formaction|content|poster|data-root)="(/[^"]*|http://testserver[^"]*)"')
_PAGES = 3  # of one route with different parameters


@pytest.fixture(scope="module")
def below(starter: Path) -> Iterator[TestClient]:
    with TestClient(create_app(Settings(str(starter), root_path=PATH, **QUIET)), follow_redirects=False) as opened:
        yield opened


def route_of(address: str) -> str:
    """The page that an address means, whatever melody it shows."""
    parts = urlsplit(address)
    path = re.sub(r"^(/tunes/(?:api/)?melodies/).*", r"\1", parts.path)
    return f"{path} {parts.query.partition('=')[0]}"


@pytest.mark.long
def test_no_address_leaves_the_path(below: TestClient) -> None:
    begun = [f"{PATH}/", f"{PATH}/?q=ccggaag", f"{PATH}/explain?q=ccggaag&candidate=greensleeves", f"{PATH}/nothing"]
    begun += [f"{PATH}/identify?q=ccggaag", f"{PATH}/list?id=greensleeves&id=la-folia", f"{PATH}/?q=ccggaag&lang=de"]
    begun += [f"{PATH}/list/melodies?id=greensleeves", f"{PATH}/results?q=ccggaag", f"{PATH}/robots.txt"]
    begun += [
        f"{PATH}/sitemap.xml",
        f"{PATH}/sitemap-1.xml",
        f"{PATH}/reconcile",
        f"{PATH}/reconcile/preview?id=la-folia",
    ]
    waiting, seen, asked = begun, dict[str, int](), 0
    while waiting:
        address = waiting.pop(0)
        route = route_of(address)
        seen[route] = seen.get(route, 0) + 1
        if seen[route] > _PAGES:
            continue
        answer = below.get(address)
        asked += 1
        assert answer.status_code in (200, 303, 422) or "/nothing" in address, address
        found = [answer.headers["location"]] if "location" in answer.headers else []
        found += re.findall(rf"{SITE}[^\s\"<]*", answer.text)
        if answer.headers["content-type"].startswith("text/html"):
            found += map(unescape, _ADDRESS.findall(answer.text))
        assert all(f"{each.removeprefix(SITE)}/".startswith(f"{PATH}/") for each in found), (address, found)
        waiting += [each.removeprefix(SITE) for each in found if "{" not in each]
    assert asked > 40
    assert {"/tunes/about ", "/tunes/side-by-side q", "/tunes/api/melodies/ format"} <= set(seen)


def test_scripts_know_the_path() -> None:
    for script in STATIC.glob("*.js"):
        text = script.read_text("utf-8")
        assert not re.search(r"""(?:fetch|call|assign|open|replace|pushState|import)\([^)]*["'`]/\w""", text), script


@pytest.mark.parametrize("address", ["/tunes", "/tunes/", "/"])
def test_a_proxy_may_remove_the_path_or_leave_it(below: TestClient, address: str) -> None:
    page = below.get(address).text
    assert '<form id="search" action="/tunes/"' in page
    assert 'data-root="/tunes/"' in page
    assert '<link rel="stylesheet" href="/tunes/static/style.css?v=' in page


def test_another_path_is_not_ours(below: TestClient) -> None:
    assert below.get("/tunesmith").status_code == 404


def test_what_a_client_writes_stays(below: TestClient) -> None:
    """A query that looks like an attribute is text."""
    assert " href=&#34;/x&#34;" in below.get("/tunes/", params={"q": 'c " href="/x"', "notation": "names"}).text


def test_redirects_and_cookies(below: TestClient) -> None:
    answer = below.get("/tunes/about?lang=de")
    assert "; Path=/tunes/;" in answer.headers["set-cookie"]
    moved = below.get("/tunes/search?mode=incipits&n=ccggaag")
    assert moved.headers["location"].startswith("/tunes/?q=")
    assert below.get("/tunes/about/").headers["location"] == "/tunes/about"


def test_linked_data_and_crawlers(below: TestClient) -> None:
    known = below.get("/tunes/melodies/greensleeves", headers={"Accept": "application/ld+json"}).json()
    assert known["@id"] == f"{SITE}/tunes/melodies/greensleeves"
    assert known["image"] == f"{SITE}/tunes/api/melodies/greensleeves?format=svg"
    robots = below.get("/tunes/robots.txt").text
    assert "Disallow: /tunes/results" in robots
    assert f"Sitemap: {SITE}/tunes/sitemap.xml" in robots
    manifest = below.get("/tunes/reconcile").json()
    assert manifest["view"] == {"url": f"{SITE}/tunes/melodies/{{{{id}}}}"}
    assert manifest["extend"]["propose_properties"]["service_url"] == f"{SITE}/tunes"


@pytest.mark.parametrize("path", ["tunes", "/a b", "//tunes", "/..", '/"', "/a?b"])
def test_a_path_is_refused(path: str) -> None:
    with pytest.raises(ArgumentError, match="a root path must be like /tunes, of letters, digits and - _"):
        Settings("x", root_path=path)


@pytest.mark.long
@pytest.mark.parametrize(("options", "root"), [(("--proxy", "127.0.0.1"), "/melodies/all/"), ((), "/")])
def test_only_a_proxy_names_the_path(starter: Path, tmp_path: Path, options: tuple[str, ...], root: str) -> None:
    with running(starter, tmp_path, *options) as server:
        asked = Request(f"{server.address}/about", headers={"X-Forwarded-Prefix": "/melodies/all/"})
        with urlopen(asked) as answer:
            assert f'data-root="{root}"' in answer.read().decode()
        unread = Request(f"{server.address}/about", headers={"X-Forwarded-Prefix": '/"><script>'})
        with urlopen(unread) as answer:
            assert 'data-root="/"' in answer.read().decode()
