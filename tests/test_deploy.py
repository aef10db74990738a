"""The files for servers name commands, options and files that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml  # type: ignore[import-untyped]

from roslin.cli import app
from roslin.web.settings import check_proxies

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"


def options_of(words: list[str]) -> set[str]:
    """The options of a command, or a failure if there is no such command."""
    command: Any = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]
    return {option for parameter in command.params for option in parameter.opts}


def check(words: list[str]) -> None:
    assert words[:2] == ["roslin", "experiment"], words
    known = options_of(words[1:3])
    assert {word for word in words if word.startswith("--")} <= known, words


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    return found


def test_what_compose_starts(compose: dict[str, Any]) -> None:
    services = compose["services"]
    check(services["roslin"]["command"])
    for service in services.values():
        assert ("image" in service) != ("build" in service)
        assert set(service.get("depends_on", ())) <= set(services)
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            is_file = source.startswith("./") and source != "./study"
            assert not is_file or (DEPLOY / source).is_file(), source
            assert source.startswith("./") or source in compose["volumes"], source
    build = services["roslin"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).resolve() == DEPLOY / "Dockerfile"
    # Only the proxy can be reached from outside, and no password stands in a command.
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert not any("PASSWORD" in word for word in services["roslin"]["command"])


def test_the_programs_of_the_database_are_as_new_as_the_database(compose: dict[str, Any]) -> None:
    server = compose["services"]["database"]["image"].partition(":")[2]
    client = re.search(r"postgresql-client-(\d+)", (DEPLOY / "Dockerfile").read_text("utf-8"))
    assert client
    assert int(client[1]) >= int(server)


def test_the_image_has_what_a_study_needs() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    extras = re.search(r"roslin\[([\w,]+)\]", text)
    assert extras
    declared = (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(re.search(rf"^{extra} = \[", declared, re.MULTILINE) for extra in extras[1].split(","))
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").split()
    assert {"src", "README.md", "LICENSE", "pyproject.toml", "requirements.lock"}.isdisjoint(ignored)


def test_the_server_believes_its_proxy_and_nobody_else(compose: dict[str, Any]) -> None:
    service = compose["services"]["roslin"]
    (subnet,) = (each["subnet"] for each in compose["networks"]["default"]["ipam"]["config"])
    named = service["command"][service["command"].index("--proxy") + 1]
    assert named == subnet
    check_proxies((named,))
    assert "FORWARDED_ALLOW_IPS" not in service["environment"]
    assert " --proxy 127.0.0.1" in (DEPLOY / "roslin-study.service").read_text("utf-8")
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in (DEPLOY / "nginx.conf").read_text("utf-8")


def test_the_proxies_pass_on_what_the_server_listens_to(compose: dict[str, Any]) -> None:
    assert "reverse_proxy roslin:8000" in (DEPLOY / "Caddyfile").read_text("utf-8")
    nginx = (DEPLOY / "nginx.conf").read_text("utf-8")
    assert "access_log off;" in nginx
    assert nginx.count("{") == nginx.count("}")
    assert all(name in compose["services"]["proxy"]["environment"] for name in ("STUDY_ADDRESS",))


def test_the_unit_of_systemd() -> None:
    text = (DEPLOY / "roslin-study.service").read_text("utf-8")
    started = re.search(r"^ExecStart=/srv/roslin/venv/bin/(.*)$", text, re.MULTILINE)
    assert started
    check(shlex.split(started[1]))
