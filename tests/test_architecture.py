"""The folder tree is the architecture: a module imports only from rooms above its own (DESIGN.md, section 2)."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from importlib.metadata import version
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
# The one place where a room names rooms below it and looks them up when it is asked: a melody writes and draws itself.
BY_NAME = SOURCE / "melody" / "writing.py"
_NAMED = re.compile(r"roslin\.(\w+)[\w.]*(:\w+)?")

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


def named_rooms(path: Path) -> set[str]:
    """Rooms that are named to be imported later: "roslin.room.module:function", or the text given to import_module."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = _NAMED.fullmatch(node.value)
            found |= {named[1]} if named and named[2] else set()
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
            found |= {named[1] for text in texts if (named := _NAMED.fullmatch(str(text)))}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_upwards(path: Path) -> None:
    own = room(path)
    assert own in ROOMS, f"{own} is not a room of the house: add it to ROOMS"
    for other in imported_rooms(path):
        assert ROOMS.index(other) <= ROOMS.index(own), f"{own} imports from {other}, which lies below it"
        assert (own, other) not in FORBIDDEN


def test_only_melodies_name_rooms_below_them() -> None:
    for path in MODULES:
        below = {other for other in named_rooms(path) if ROOMS.index(other) > ROOMS.index(room(path))}
        assert below == (named_rooms(BY_NAME) if path == BY_NAME else set()), path


def test_the_check_sees_a_wrong_arrow(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f():\n    from roslin.cli import main\n")
    assert imported_rooms(wrong) == {"cli"}
    wrong.write_text("import importlib\nx = 'roslin.web.app:make'\ny = importlib.import_module('roslin.cli')\n")
    assert named_rooms(wrong) == {"web", "cli"}
    assert named_rooms(BY_NAME) == {"notation", "playback", "report"}


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
    assert roslin.filters.pitch_range(1, 2).name == "pitch_range(1, 2)"
    assert roslin.__version__ == version("roslin")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        roslin.nothing  # noqa: B018


def test_the_first_import_is_light() -> None:
    heavy = ("numba", "scipy", "pandas", "polars", "matplotlib", "jinja2", "IPython")
    program = (
        "import sys, roslin\n"
        "roslin.Melody, roslin.Truth, roslin.Collection, roslin.load\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
