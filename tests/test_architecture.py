"""The folder tree is the architecture: a module imports only from rooms above its own (DESIGN.md, section 2)."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from pathlib import Path

import pytest

import roslin

SOURCE = Path(roslin.__file__).parent

# Top to bottom. A room may import from the rooms before it.
ROOMS = [
    "errors",
    "values",
    "display",
    "data",
    "sandbox",
    "kernels",
    "melody",
    "rows",
    "run",
    "notation",
    "represent",
    "transport",
    "matchers",
    "collection",
    "search",
    "truth",
    "evaluate",
    "campaign",
    "experiment",
    "engrave",
    "playback",
    "starter",
    "report",
    "api",
    "web",
    "cli",
    "__main__",
]
# Who judges must not know the judged.
JUDGES, JUDGED = ("truth", "evaluate"), ("matchers", "search")
FORBIDDEN = {(judge, judged) for judge in JUDGES for judged in JUDGED}

MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [node.module or ""]
            if node.module == "roslin":
                names = [f"roslin.{alias.name}" for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("roslin.")}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_upwards(path: Path) -> None:
    own = room(path)
    assert own in ROOMS, f"{own} is not a room of the house: add it to ROOMS"
    for other in imported_rooms(path):
        assert ROOMS.index(other) <= ROOMS.index(own), f"{own} imports from {other}, which lies below it"
        assert (own, other) not in FORBIDDEN


KERNELS = [path for path in MODULES if path.name.startswith("_") and not path.name.startswith("__")]


def imported_modules(path: Path) -> set[str]:
    return {
        name
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
    }


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_kernels_take_nothing_from_elsewhere(path: Path) -> None:
    """What they are compiled from is what `roslin.kernels` stamps: modules with an underscore."""
    for name in imported_modules(path):
        is_ours = name.partition(".")[0] == "roslin"
        assert not is_ours or name == "roslin.kernels" or name.rpartition(".")[2].startswith("_"), name


def test_kernels_are_nowhere_else() -> None:
    for path in set(MODULES) - set(KERNELS) - {SOURCE / "kernels.py"}:
        names = imported_modules(path)
        assert not names & {"roslin.kernels", "numba"}, path


def test_the_check_sees_a_wrong_arrow(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f():\n    from roslin.cli import main\n")
    assert imported_rooms(wrong) == {"cli"}


@pytest.mark.parametrize("name", [m.name for m in pkgutil.walk_packages([str(SOURCE)], "roslin.")])
def test_all_is_true(name: str) -> None:
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", [])
    assert len(exported) == len(set(exported))
    for public in exported:
        assert hasattr(module, public), f"{name}.__all__ names {public}"


def test_public_names() -> None:
    for name in roslin.__all__:
        assert getattr(roslin, name) is not None
    assert set(roslin.__all__) <= set(dir(roslin))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        roslin.nothing  # noqa: B018
