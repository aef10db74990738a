"""What the tests of a study's pages share: a small study, its application, and experts with browsers of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.experiment.studies import small_study
from tests.web.experiment.browsers import Alone, Browser, Invited, settings_for

from roslin.web.experiment.app import create_app
from roslin.web.experiment.study import OpenStudy


@pytest.fixture(scope="session")
def study_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of three queries; tests of this folder share it, each with experts of their own."""
    with small_study(tmp_path_factory.mktemp("study"), quota=10_000, differences=True) as folder:
        return folder.path


@pytest.fixture(scope="session")
def served(study_folder: Path) -> Iterator[TestClient]:
    with TestClient(create_app(settings_for(study_folder))) as client:
        yield client


@pytest.fixture
def study(served: TestClient) -> OpenStudy:
    found: OpenStudy = served.app.state.study  # type: ignore[attr-defined]
    return found


@pytest.fixture
def invited(served: TestClient, study: OpenStudy) -> Iterator[Invited]:
    """Experts who have not done anything yet, each with a browser."""
    made: list[TestClient] = []

    def invite() -> Browser:
        client = TestClient(served.app)
        made.append(client)
        return Browser(client, study, study.store.invite()[0].name)

    yield invite
    for client in made:
        client.close()


@pytest.fixture
def expert(invited: Invited) -> Browser:
    return invited()


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Alone]:
    """An expert in a study of their own, with these rules."""

    made: list[Browser] = []

    def make(settings: dict[str, Any] | None = None, extra: str = "", **rules: Any) -> Browser:
        with small_study(tmp_path / f"own-{len(made)}", extra, **rules) as folder:
            app = create_app(settings_for(folder.path, **(settings or {})))
        opened: OpenStudy = app.state.study
        made.append(Browser(TestClient(app), opened, opened.store.invite()[0].name))
        return made[-1]

    yield make
    for browser in made:
        browser.client.close()
        browser.study.close()
