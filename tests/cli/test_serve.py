"""roslin serve: what it refuses, and what it asks of the server. tests/web and tests/browser run real ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from roslin.cli import app, main
from roslin.web.settings import Settings


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr("roslin.web.server.serve", lambda *arguments: calls.append(arguments))
    return calls


def served(started: list[tuple[Any, ...]], *options: str) -> tuple[Settings, str, int, int]:
    result = CliRunner().invoke(app, ["serve", "mine.roslin", *options])
    assert result.exit_code == 0, result.output
    ((settings, host, port, workers),) = started
    return settings, host, port, workers


def test_only_this_computer_unless_asked(started: list[tuple[Any, ...]]) -> None:
    settings, host, port, workers = served(started)
    assert (host, port, workers) == ("127.0.0.1", 8000, 1)
    assert settings.collection == str(Path("mine.roslin").resolve())
    assert not settings.is_open
    assert (settings.search_seconds, settings.requests_per_minute) == (60, 0)
    assert settings.hosts == ("127.0.0.1", "localhost", "::1")


def test_open_to_others_has_limits(started: list[tuple[Any, ...]]) -> None:
    settings, host, _, workers = served(started, "--host", "0.0.0.0", "--workers", "2")
    assert (host, workers, settings.is_open, settings.hosts) == ("0.0.0.0", 2, True, ())
    assert (settings.search_seconds, settings.requests_per_minute, settings.query_notes) == (20, 150, 100)


def test_limits_can_be_set(started: list[tuple[Any, ...]]) -> None:
    settings, *_ = served(started, "--host", "0.0.0.0", "--rate", "60", "--seconds", "5")
    assert (settings.search_seconds, settings.requests_per_minute) == (5, 60)


def test_nobody_is_believed_who_is_not_named(started: list[tuple[Any, ...]]) -> None:
    assert served(started)[0].proxies == ()


def test_behind_a_proxy_it_is_open_to_others(started: list[tuple[Any, ...]]) -> None:
    settings, host, *_ = served(started, "--proxy", "127.0.0.1", "--proxy", "10.1.2.0/24")
    assert (host, settings.proxies) == ("127.0.0.1", ("127.0.0.1", "10.1.2.0/24"))
    assert (settings.is_open, settings.hosts, settings.requests_per_minute) == (True, (), 300)


def test_a_file_describes_the_site(started: list[tuple[Any, ...]], tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text('name = "A library"\nlink = "https://a.example/{id}"\niiif = "https://a.example/{id}/manifest"')
    settings, *_ = served(started, "--site", str(file), "--root-path", "/tunes/")
    assert (settings.title, settings.link, settings.site) == ("mine", "https://a.example/{id}", str(file))
    assert (settings.iiif, settings.root_path) == ("https://a.example/{id}/manifest", "/tunes")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["mine.roslin", "--proxy", "proxy.example.org"], "a proxy must be given as an address or a network"),
        (["mine.roslin", "--root-path", "tunes"], "a root path must be like /tunes"),
        (["nothing.roslin"], "nothing.roslin: there is no such folder"),
        (["nothing.roslin", "--link", "ftp://{id}"], "the link must start with https:// or http://"),
    ],
)
def test_refusals(
    options: list[str], words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["roslin", "serve", *options])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert words in capsys.readouterr().err


def test_a_missing_extra_prints_its_pip_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "roslin.web.server", raising=False)
    monkeypatch.setattr(sys, "argv", ["roslin", "serve", "mine.roslin"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert capsys.readouterr().err == (
        "roslin: roslin serve needs uvicorn, which is not installed; install it with: "
        'pip install "roslin[web]" (in a clone: tools/environment.sh web)\n'
    )


def test_a_password_for_reviewers_travels_as_a_hash(
    started: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from roslin.passwords import is_password

    monkeypatch.setenv("ROSLIN_REVIEW_PASSWORD", "viola da gamba")
    settings, *_ = served(started, "--host", "0.0.0.0")
    assert "viola" not in settings.to_environment()
    assert is_password("viola da gamba", settings.review_password)
    assert len(bytes.fromhex(settings.review_key)) == 32


def test_without_a_password_none_is_kept(started: list[tuple[Any, ...]]) -> None:
    assert served(started)[0].review_password == ""
