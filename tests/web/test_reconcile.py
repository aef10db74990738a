"""The reconciliation service, asked as OpenRefine asks it, and pages that other sites show."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from roslin.errors import ArgumentError
from roslin.web.app import create_app
from roslin.web.reconcile import CERTAIN
from roslin.web.settings import Settings

JOY = "%G-2@4/4$xFC '4xFFGA/AGFE/DDEF/4.F8E2E/"


def asked(client: TestClient, **cells: Any) -> dict[str, Any]:
    answer = client.post("/reconcile", data={"queries": json.dumps(cells)})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_the_manifest_names_every_address(client: TestClient) -> None:
    manifest = client.get("/reconcile").json()
    assert manifest["versions"] == ["0.1", "0.2"]
    assert manifest["view"]["url"] == "http://testserver/melodies/{{id}}"
    preview = manifest["preview"]["url"].replace("{{id}}", "ode-to-joy")
    assert "Ludwig van Beethoven" in client.get(preview).text
    assert manifest["defaultTypes"] == [{"id": "melody", "name": "Melody"}]


def test_a_cell_is_answered_with_its_tune(client: TestClient) -> None:
    whole = client.get("/api/melodies/ode-to-joy").json()["written"]
    answer = asked(client, q0={"query": whole}, q1={"query": JOY, "limit": 1, "type": "melody"})
    first = answer["q0"]["result"][0]
    assert first["id"].startswith("ode-to-joy")
    assert first["match"]
    assert first["features"][0]["value"] <= CERTAIN
    assert [each["match"] for each in answer["q0"]["result"][1:]].count(True) == 0
    [short] = answer["q1"]["result"]
    assert short["id"].startswith("ode-to-joy")
    assert short["match"] == (short["features"][0]["value"] <= CERTAIN)
    scores = [each["score"] for each in answer["q0"]["result"]]
    assert scores == sorted(scores, reverse=True)


def test_what_chance_explains_is_no_candidate(client: TestClient) -> None:
    answer = asked(
        client, q0={"query": "'4C,xG''F,,A'D,,bB''C,xF"}, q1={"query": "no melody at all !"}, q2={"query": ""}
    )
    assert not any(each["match"] for each in answer["q0"]["result"])
    assert answer["q1"]["result"] == answer["q2"]["result"] == []
    assert answer["q1"]["error"]


def test_a_query_by_address_is_answered_as_a_form_is(client: TestClient) -> None:
    queries = json.dumps({"q0": {"query": JOY}})
    assert client.get("/reconcile", params={"queries": queries}).json() == asked(client, q0={"query": JOY})


def test_columns_are_extended_by_composers_and_titles(client: TestClient) -> None:
    proposed = client.get("/reconcile/properties", params={"type": "melody", "limit": 2}).json()["properties"]
    assert [each["id"] for each in proposed] == ["composer", "title"]
    wanted = {"ids": ["ode-to-joy", "unknown"], "properties": [{"id": "composer"}, {"id": "link"}, {"id": "date"}]}
    answer = client.post("/reconcile", data={"extend": json.dumps(wanted)}).json()
    assert answer["meta"][0] == {"id": "composer", "name": "Composer"}
    row = answer["rows"]["ode-to-joy"]
    assert row["composer"] == [{"str": "Ludwig van Beethoven"}]
    assert row["link"] == [{"str": "https://example.org/ode-to-joy"}]
    assert answer["rows"]["unknown"] == {"composer": [], "link": [], "date": []}


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"queries": "{"}, "queries: Invalid JSON"),
        ({"queries": '{"q0": {"limit": 1}}'}, "queries.q0.query: Field required"),
        ({"queries": json.dumps({f"q{k}": {"query": JOY} for k in range(101)})}, "queries has 101 cells; send at most"),
        ({"extend": '{"ids": [], "properties": [{"id": "colour"}]}'}, "unknown property 'colour'; expected one of"),
        ({"extend": "[]"}, "extend: "),
    ],
)
def test_bad_requests_are_named(client: TestClient, form: dict[str, str], message: str) -> None:
    answer = client.post("/reconcile", data=form)
    assert answer.status_code in (400, 422)
    assert message in answer.json()["error"]["message"]


def test_a_batch_has_the_time_of_one_search(settings: Settings) -> None:
    with TestClient(create_app(replace(settings, search_seconds=0.0))) as impatient:
        answer = impatient.post("/reconcile", data={"queries": json.dumps({"q0": {"query": JOY}})})
    assert answer.status_code == 503
    assert answer.headers["Retry-After"]


def test_every_site_may_reconcile(client: TestClient) -> None:
    answer = client.get("/reconcile", headers={"Origin": "http://127.0.0.1:3333"})
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    preview = client.get("/reconcile/preview?id=ode-to-joy")
    assert "frame-ancestors *" in preview.headers["Content-Security-Policy"]
    assert "X-Frame-Options" not in preview.headers


def test_named_sites_may_show_the_page_and_use_the_api(settings: Settings, client: TestClient) -> None:
    site = "https://library.example.org"
    with TestClient(create_app(replace(settings, embed=(site,)))) as embedded:
        answer = embedded.get("/api/matchers", headers={"Origin": site})
        assert answer.headers["Access-Control-Allow-Origin"] == site
        assert f"frame-ancestors 'self' {site}" in answer.headers["Content-Security-Policy"]
        assert "Access-Control-Allow-Origin" not in embedded.get("/", headers={"Origin": "https://other.org"}).headers
    closed = client.get("/", headers={"Origin": site})
    assert "frame-ancestors 'none'" in closed.headers["Content-Security-Policy"]
    assert "Access-Control-Allow-Origin" not in closed.headers


@pytest.mark.parametrize("origin", ["library.example.org", "https://library.example.org/search", "*", "https://a b"])
def test_an_origin_is_a_scheme_and_a_host(settings: Settings, origin: str) -> None:
    with pytest.raises(ArgumentError, match=r"an origin must be like https://library\.example\.org, without a path"):
        replace(settings, embed=(origin,))


def test_settings_survive_the_environment(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = replace(settings, embed=("http://localhost:8080",))
    monkeypatch.setenv("ROSLIN_WEB_SETTINGS", chosen.to_environment())
    assert Settings.from_environment() == chosen
