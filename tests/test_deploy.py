"""The files for servers name commands, options and files that exist."""

from __future__ import annotations

import json
import re
import shlex
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml  # type: ignore[import-untyped]
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from roslin.cli import app
from roslin.web.settings import check_proxies

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
sys.path.insert(0, str(ROOT / "tools"))

from locked import locked  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
LOCK = (ROOT / "requirements.lock").read_text("utf-8")


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
    assert build["target"] == "study"
    assert services["roslin"]["volumes"] == [f"./study:{folder_of('study')}"]
    # Only the proxy can be reached from outside, and no password stands in a command.
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert not any("PASSWORD" in word for word in services["roslin"]["command"])


def test_what_compose_starts_for_a_search_page() -> None:
    found = yaml.safe_load((DEPLOY / "search" / "compose.yaml").read_text("utf-8"))
    server, proxy = found["services"]["roslin"], found["services"]["proxy"]
    assert server["command"][:2] == ["roslin", "serve"]
    assert {word for word in server["command"] if word.startswith("--")} <= options_of(["serve"])
    assert (DEPLOY / "search" / server["build"]["context"] / server["build"]["dockerfile"]).is_file()
    assert server["build"]["target"] == "search"
    assert server["volumes"] == [f"./library:{folder_of('search')}"]
    (subnet,) = (each["subnet"] for each in found["networks"]["default"]["ipam"]["config"])
    assert server["command"][server["command"].index("--proxy") + 1] == subnet
    assert "ports" not in server
    variables = re.findall(r"\{\$(\w+)", (DEPLOY / "search" / "Caddyfile").read_text("utf-8"))
    assert set(variables) == set(proxy["environment"])


def test_the_programs_of_the_database_are_as_new_as_the_database(compose: dict[str, Any]) -> None:
    server = compose["services"]["database"]["image"].partition(":")[2]
    client = re.search(r"postgresql-client-(\d+)", (DEPLOY / "Dockerfile").read_text("utf-8"))
    assert client
    assert int(client[1]) >= int(server)


def images() -> dict[str, str]:
    """The images of the Dockerfile: their steps by their names."""
    _, *parts = re.split(r"^FROM .* AS (\w+)$", (DEPLOY / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def folder_of(image: str) -> str:
    return str(re.findall(r"^WORKDIR (.*)$", images()[image], re.MULTILINE)[-1])


def test_the_images_have_what_a_search_page_and_a_study_need() -> None:
    extras = {image: re.findall(r"locked\.py ((?:\w+ )+)>", steps) for image, steps in images().items()}
    assert extras == {"search": ["web compiler "], "study": ["experiment postgresql parquet "]}
    for [needed] in extras.values():
        assert locked(needed.split(), PROJECT, LOCK)
    for steps in images().values():
        assert re.findall(r"^USER (.*)$", steps, re.MULTILINE)[-1] == "roslin"
        [command] = re.findall(r"^CMD (.*)$", steps, re.MULTILINE)
        assert options_of([word for word in json.loads(command) if word not in ("roslin", "--help")]) is not None
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").split()
    assert {"src", "tools", "README.md", "LICENSE", "pyproject.toml", "requirements.lock"}.isdisjoint(ignored)


# -- what is installed ----------------------------------------------------------------------------------------------


def packages(lock: str) -> dict[str, str]:
    """The versions of a lock on this platform, by their names."""
    found = (re.fullmatch(r"([\w.-]+)==([^ ;]+)(?: ; (.*))?", line.strip(" \\")) for line in lock.splitlines())
    return {each[1]: each[2] for each in found if each and (not each[3] or Marker(each[3]).evaluate())}


def test_every_package_of_the_lock_has_checksums() -> None:
    blocks = re.findall(r"^[\w.-]+==.*\n(?:    .*\n)+", LOCK, re.MULTILINE)
    assert len(blocks) == len(re.findall("^[^ #]", LOCK, re.MULTILINE))
    assert all(re.search("--hash=sha256:[0-9a-f]{64}", block) for block in blocks)


def test_the_lock_has_what_the_project_requires() -> None:
    declared, locked_ones = PROJECT["project"], packages(LOCK)
    required = [*declared["dependencies"], *PROJECT["dependency-groups"]["build"], *PROJECT["build-system"]["requires"]]
    for extra in declared["optional-dependencies"].values():
        required += extra
    for each in map(Requirement, required):
        if each.name == "roslin":  # an extra that includes others
            continue
        assert each.specifier.contains(locked_ones[canonicalize_name(each.name)]), each


@pytest.mark.parametrize("extra", ["web", "experiment", "test", "docs"])
def test_the_part_of_the_lock_for_an_extra_is_whole(extra: str) -> None:
    """By what the installed packages themselves say that they need."""
    part = packages(locked([extra], PROJECT, LOCK))
    looked = 0
    for name in part:
        try:
            needed = requires(name) or []
        except PackageNotFoundError:  # it is for building Roslin, which is done
            continue
        looked += 1
        for each in map(Requirement, needed):
            if each.marker is None or each.marker.evaluate({"extra": ""}):
                assert canonicalize_name(each.name) in part, f"{name} needs {each}"
    assert looked > 30


def test_where_there_is_no_compiler_one_is_installed() -> None:
    assert "ziglang" not in packages(locked(["web"], PROJECT, LOCK))
    assert "ziglang" in packages(locked(["web", "compiler"], PROJECT, LOCK))


def test_a_demonstration_installs_no_tools_for_tests() -> None:
    part = packages(locked(["web"], PROJECT, LOCK))
    assert {"fastapi", "numpy", "hatchling"} <= set(part)
    assert {"pytest", "music21", "sphinx", "mypy", "sqlalchemy"}.isdisjoint(part)


def test_an_extra_or_a_package_that_is_not_there_is_named() -> None:
    with pytest.raises(SystemExit, match=r"pyproject.toml: no extra webb; expected some of scores, .*web"):
        locked(["webb"], PROJECT, LOCK)
    with pytest.raises(SystemExit, match=r"requirements.lock: no uvicorn; run `make lock`"):
        locked(["web"], PROJECT, LOCK.replace("\nuvicorn==", "\nunicorn=="))


def test_a_release_publishes_both_images() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
    job = workflow["jobs"]["image"]
    assert {each["image"] for each in job["strategy"]["matrix"]["include"]} == set(images())
    for each in job["strategy"]["matrix"]["include"]:
        words = shlex.split(each["try"])
        assert words[0] == "roslin"
        assert options_of(words[1:-1] if words[-1].startswith("-") else words[1:])


@pytest.mark.parametrize("path", ["deploy/Dockerfile", "tools/environment.sh"])
def test_everything_that_is_downloaded_is_checked(path: str) -> None:
    commands = [line for line in (ROOT / path).read_text("utf-8").splitlines() if re.search(r"install\b.* --\w", line)]
    installing = [line for line in commands if "--requirement" in line or "--no-deps" in line]
    own = [line for line in installing if "--require-hashes" not in line]
    assert len(own) == 1
    assert "--no-deps --no-build-isolation" in own[0]


# -- what is served -------------------------------------------------------------------------------------------------


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
