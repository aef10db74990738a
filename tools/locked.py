"""Print the part of requirements.lock that an installation needs, for pip and uv to install with --require-hashes.

    python tools/locked.py web             the packages of Roslin itself, of the extra `web`, and those that build it
    python tools/locked.py test docs       the same for two extras
    python tools/locked.py web compiler    the same with a C compiler

A hash-checked installation installs everything in its file, so the lock as a whole would bring every tool for tests and
benchmarks to every user. Each package in the lock names the packages that need it (`# via`), and this script follows
them. It runs with Python's standard library alone, because it comes before any installation.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"^(?P<name>[\w.-]+)==.*?\n    # via (?P<parents>[^\n]+)\n", re.MULTILINE | re.DOTALL)


def locked(extras: list[str], project: dict[str, Any], lock: str) -> str:
    """The blocks of the lock for a project with these extras."""
    groups = project["project"]["optional-dependencies"] | project["dependency-groups"]
    if missing := set(extras) - set(groups):
        sys.exit(f"pyproject.toml: no extra {', '.join(sorted(missing))}; expected some of {', '.join(groups)}")
    needed = [each for extra in extras for each in _needed(extra, groups)]
    needed += [*project["project"]["dependencies"], *project["dependency-groups"]["build"]]
    wanted = {_name(each) for each in needed}
    blocks = [(_name(found["name"]), found["parents"].split(", "), found[0]) for found in _BLOCK.finditer(lock)]
    if missing := wanted - {name for name, _, _ in blocks}:
        sys.exit(f"requirements.lock: no {', '.join(sorted(missing))}; run `make lock` and commit the result")
    before = set[str]()
    while before != wanted:
        before = wanted
        wanted = wanted | {name for name, parents, _ in blocks if not wanted.isdisjoint(map(_name, parents))}
    return "".join(text for name, _, text in blocks if name in wanted)


def _needed(extra: str, groups: dict[str, list[str]]) -> list[str]:
    """The requirements of an extra, and of those it includes, as in `roslin[web]`."""
    found = []
    for each in groups[extra]:
        if included := re.match(r"roslin\[([^]]+)\]", each):
            found += [inner for name in included[1].split(",") for inner in _needed(name, groups)]
        else:
            found.append(each)
    return found


def _name(requirement: str) -> str:
    """The name of what is required, as lock files spell it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]).lower()


if __name__ == "__main__":
    declared = tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))
    print(locked(sys.argv[1:], declared, (_ROOT / "requirements.lock").read_text("utf-8")), end="")
