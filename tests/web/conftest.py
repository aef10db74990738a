"""What the tests of the web page share: the starter collection, an application for it, and a client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.web.catalogue import catalogue

from roslin import Collection
from roslin.starter import tunes_path
from roslin.web.app import create_app
from roslin.web.settings import Settings

# Plug-ins for servers that tests start. Whoever looks for doctests in them would register them for all tests.
collect_ignore = ["hostile_format.py", "slow_matchers.py"]

QUIET: Any = {"log_requests": False, "search_seconds": 600, "reading_seconds": 600}


@pytest.fixture(scope="session")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("web") / "starter.roslin"
    Collection.build(tunes_path(), path).close()
    return path


@pytest.fixture(scope="module")
def settings(starter: Path) -> Settings:
    return Settings(str(starter), link="https://example.org/{id}", **QUIET)


@pytest.fixture(scope="session")
def catalogue_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Those of a server of a few records, in place of the starter tunes."""
    path = catalogue(tmp_path_factory.mktemp("catalogue"))
    return Settings(str(path), link="https://example.org/{record}", **QUIET)


@pytest.fixture(scope="module")
def client(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings)) as opened:
        yield opened
