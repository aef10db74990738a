"""Several collections in one server: paths, the page to choose one, and the search of all."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from fastapi.testclient import TestClient
from tests.web.catalogue import FRERE, catalogue
from tests.web.conftest import QUIET
from tests.web.running import running

from roslin.errors import ArgumentError
from roslin.run.meaning import meaning_of
from roslin.web.app import create_app
from roslin.web.server import create_several
from roslin.web.settings import Settings


@pytest.fixture(scope="module")
def two(starter: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    other = catalogue(tmp_path_factory.mktemp("several"))
    parts = (
        Settings(str(starter), "Tunes", path="starter", **QUIET),
        Settings(str(other), "A catalogue", path="catalogue", **QUIET),
    )
    return Settings("", root_path="/all", parts=parts, **QUIET)


@pytest.fixture(scope="module")
def both(two: Settings) -> Iterator[TestClient]:
    with TestClient(create_several(two), follow_redirects=False) as client:
        yield client


def test_the_start_page_is_a_choice(both: TestClient) -> None:
    page = both.get("/all/").text
    assert '<a href="/all/starter/">Tunes</a> <span class="hint">243 melodies</span>' in page
    assert '<a href="/all/catalogue/">A catalogue</a> <span class="hint">6 melodies</span>' in page
    assert "249 melodies in Tunes, A catalogue." in page
    assert "/all/about" not in page
    assert "Alle Sammlungen durchsuchen" in both.get("/all/", headers={"Accept-Language": "de"}).text


def test_each_collection_has_its_own_pages(both: TestClient) -> None:
    page = both.get("/all/starter/melodies/greensleeves").text
    assert '<link rel="canonical" href="http://testserver/all/starter/melodies/greensleeves">' in page
    assert "<a href='/all/'>All collections</a>" in page
    assert '<a href="/all/starter/list" id="own-list">' in page
    assert both.get("/all/catalogue/melodies/greensleeves").status_code == 404
    assert both.get("/all/catalogue/melodies/100-1.1.1").status_code == 200
    assert "Path=/all/catalogue/;" in both.get("/all/catalogue/about?lang=de").headers["set-cookie"]
    both.cookies.clear()
    assert both.get("/all/nothing").status_code == 404
    assert both.get("/all/starter/reconcile").headers["access-control-allow-origin"] == "*"


@pytest.mark.long
def test_the_list_of_all_is_in_the_order_of_one_e(both: TestClient, two: Settings) -> None:
    """E is that of the own collection, times all melodies by its own; the lists themselves stay in their order."""
    found = both.get("/all/api/search", params={"q": FRERE, "notation": "pae", "k": 30}).json()
    assert found["searched"] == 249
    own: dict[str, list[str]] = {}
    for part in two.parts:
        with TestClient(create_app(replace(part, path=""))) as alone:
            asked: dict[str, Any] = {"q": FRERE, "notation": "pae", "k": 30, "copies": "together"}
            answer = alone.get("/api/search", params=asked).json()
        best_first = sorted(answer["results"], key=lambda each: each["meaning"] != "same notes")
        own[part.path] = [each["id"] for each in best_first]
        for each in answer["results"]:
            [merged] = [e for e in found["results"] if e["result"]["id"] == each["id"]] or [None]
            if merged:
                assert merged["expected"] == pytest.approx(each["expected"] * 249 / answer["searched"])
                assert merged["collection"] == part.title
                same = each["meaning"] == "same notes"
                assert merged["meaning"] == ("same notes" if same else meaning_of(merged["expected"]))
    order = [(each["meaning"] != "same notes", each["expected"]) for each in found["results"]]
    assert order == sorted(order)
    assert len(order) == 30
    for path, ids in own.items():
        listed = [each["result"]["id"] for each in found["results"] if each["path"] == path]
        assert listed == ids[: len(listed)]
        assert listed


@pytest.mark.long
def test_the_page_of_all_results(both: TestClient) -> None:
    page = both.get("/all/", params={"q": FRERE}).text
    assert "among 249 melodies" in page
    assert page.count('<li class="card">') == 20
    assert 'href="/all/catalogue/melodies/100-1.1.1"' in page
    assert re.search(r'href="/all/starter/explain\?q=[^"]*&amp;candidate=frere-jacques"', page)
    for address in re.findall(r'href="(/all/[^"]*explain[^"]*)"', page)[:2]:
        assert both.get(address.replace("&amp;", "&")).status_code == 200
    refused = both.get("/all/", params={"q": "%G-2 '4CZ", "notation": "pae", "strict": "true"})
    assert refused.status_code == 422
    assert 'role="alert"' in refused.text


def test_for_programs(both: TestClient) -> None:
    assert both.get("/all/healthz").json() == {"status": "ok", "melodies": 249, "searching": 0}
    assert both.get("/all/starter/healthz").json()["melodies"] == 243
    index = both.get("/all/sitemap.xml").text
    parts = re.findall("<loc>http://testserver(.*?)</loc>", index)
    assert parts == ["/all/starter/sitemap-1.xml", "/all/catalogue/sitemap-1.xml"]
    assert all(both.get(part).status_code == 200 for part in parts)
    robots = both.get("/all/robots.txt").text.splitlines()
    assert {"Disallow: /all/?", "Disallow: /all/starter/?", "Disallow: /all/catalogue/results"} <= set(robots)
    assert "Allow: /all/catalogue/api/melodies/" in robots
    assert robots[-1] == "Sitemap: http://testserver/all/sitemap.xml"


@pytest.mark.parametrize("path", ["starter", "static", "imprint"])
def test_a_path_belongs_to_one(two: Settings, path: str) -> None:
    first, second = two.parts
    with pytest.raises(ArgumentError, match=f"the path /{path} of a collection is taken; choose another path"):
        create_several(replace(two, parts=(first, replace(second, path=path))))


def test_settings_of_several_travel(two: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(Settings.variable, two.to_environment())
    assert Settings.from_environment() == two


@pytest.mark.long
def test_a_server_of_two(starter: Path, tmp_path: Path) -> None:
    other = catalogue(tmp_path)
    (tmp_path / "site.toml").write_text(
        'name = "A library"\n[[collections]]\nfolder = "starter"\npath = "tunes"\nname = "Well-known tunes"', "utf-8"
    )
    options = (str(other), "--site", str(tmp_path / "site.toml"), "--workers", "2")
    with running(starter, tmp_path, *options) as server:
        with urlopen(f"{server.address}/") as answer:
            page = answer.read().decode()
        assert '<a href="/tunes/">Well-known tunes</a>' in page
        assert '<a href="/catalogue/">catalogue</a>' in page
        with urlopen(f"{server.address}/tunes/melodies/greensleeves") as answer:
            assert "Well-known tunes" in answer.read().decode()
        with urlopen(f"{server.address}/api/search?q=ccggaag") as answer:
            assert json.load(answer)["searched"] == 249
        assert server.end() == 0
