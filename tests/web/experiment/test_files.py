"""Pictures and sounds in place of melodies: served to whoever sees them, under numbers that say nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.web.experiment.browsers import Browser, settings_for

from roslin.experiment.folder import create_study
from roslin.web.experiment.app import create_app
from roslin.web.experiment.study import OpenStudy

PICTURE = b"\x89PNG\r\n\x1a\n" + b"picture of "
SOUND = b"RIFF0000WAVEfmt "


@pytest.fixture
def expert(tmp_path: Path) -> Browser:
    (tmp_path / "material").mkdir()
    rows = ["id,picture,sound"]
    for name in ("secret-query", "secret-one", "secret-two"):
        (tmp_path / "material" / f"{name}.png").write_bytes(PICTURE + name.encode())
        (tmp_path / "material" / f"{name}.wav").write_bytes(SOUND + name.encode())
        rows.append(f"{name},{name}.png,{'' if name == 'secret-two' else f'{name}.wav'}")
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "study.toml").write_text(
        '[study]\nname = "pictures"\ntitle = { en = "Pictures" }\nlanguages = ["en"]\ncontact = "me@example.org"\n'
        "[design]\ndifferences = true\nquery_among_candidates = false\n"
        '[material]\nfolder = "material"\ntable = "table.csv"\n'
        '[[queries]]\nid = "secret-query"\ncandidates = ["secret-one", "secret-two"]\n'
    )
    with create_study(tmp_path / "study.toml").folder as folder:
        app = create_app(settings_for(folder.path))
    study: OpenStudy = app.state.study
    browser = Browser(TestClient(app), study, study.store.invite()[0].name)
    browser.client.get(browser.link, follow_redirects=False)
    study.store.consent(browser.name)
    study.store.add(browser.name, "answered")
    study.store.read_again(browser.name)
    return browser


def test_files_are_what_was_shown(expert: Browser) -> None:
    page = expert.get("/continue")
    assert page.url.path == "/trial"
    assert page.text.count("<img ") == 3
    assert page.text.count("<audio ") == 2
    shown = expert.study.shown(expert.name, 1).shown
    for place, name in [("query", "secret-query"), *((str(number), name) for number, name in enumerate(shown))]:
        picture = expert.get(f"/trials/1/{place}/picture")
        assert picture.content == PICTURE + name.encode()
        assert picture.headers["content-type"] == "image/png"
        assert picture.headers["cache-control"].startswith("private")
        sound = expert.get(f"/trials/1/{place}/sound")
        assert sound.status_code == (404 if name == "secret-two" else 200)
        assert all("secret" not in str(each.headers) for each in (picture, sound))
    assert "secret" not in page.text


def test_nobody_else_sees_them(expert: Browser) -> None:
    expert.get("/continue")
    assert TestClient(expert.client.app).get("/trials/1/0/picture").status_code == 401
    other = Browser(TestClient(expert.client.app), expert.study, expert.study.store.invite()[0].name)
    other.follow()
    assert other.get("/trials/1/0/picture").status_code == 404, "not before their trial begins"
    for path in ("/trials/1/2/picture", "/trials/1/query/key", "/trials/2/0/picture", "/trials/0/0/picture"):
        assert expert.get(path).status_code in (404, 422), path


def test_there_are_no_differences_to_mark(expert: Browser) -> None:
    expert.get("/continue")
    assert expert.get("/api/trials/1/differences?first=query&second=0").status_code == 404
