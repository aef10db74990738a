"""Malformed everything, made from the OpenAPI document: no request is answered with an internal error."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import response_schema_conformance

from roslin.web.app import create_app
from roslin.web.settings import Settings


@pytest.fixture(scope="module")
def schema(starter: Any) -> Any:
    return schemathesis.openapi.from_asgi("/api/openapi.json", create_app(Settings(str(starter), log_requests=False)))


OPERATIONS = [
    ("GET", "/api/search"),
    ("GET", "/api/read"),
    ("POST", "/api/read"),
    ("GET", "/api/melodies"),
    ("GET", "/api/melodies/{id}"),
    ("GET", "/api/list"),
    ("GET", "/api/explain"),
    ("GET", "/api/identify"),
    ("POST", "/api/identify"),
    ("GET", "/api/matchers"),
    ("GET", "/api/collection"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
]


@pytest.mark.long
def test_all_operations_are_tried(schema: Any) -> None:
    found = {(made.ok().method.upper(), made.ok().path) for made in schema.get_all_operations()}
    assert found == set(OPERATIONS)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["positive", "negative"])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_no_internal_error(schema: Any, method: str, path: str, mode: str) -> None:
    operation = schema[path][method]
    if mode == "negative" and not (operation.query or operation.path_parameters or operation.body):
        return  # nothing of it can be wrong

    @given(operation.as_strategy(generation_mode=GenerationMode(mode)))
    @settings(
        max_examples=8,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def attempt(case: Any) -> None:
        case.call_and_validate(checks=[schemathesis.checks.not_a_server_error, response_schema_conformance])

    attempt()


@pytest.mark.long
@pytest.mark.parametrize(
    "query",
    ["q=%00", "q=%ff%fe", "q=%F0%9F%8E%B5", "q=" + "%28" * 500, "q='4C&k=1e9", "q='4C&page=-1", "q='4C&q='4D", "=&&;"],
)
@pytest.mark.parametrize("path", ["/", "/results", "/api/search", "/api/read", "/explain", "/api/explain"])
def test_odd_queries(client: TestClient, path: str, query: str) -> None:
    assert client.get(f"{path}?{query}").status_code < 500
