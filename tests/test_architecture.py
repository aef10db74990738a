"""The folder tree is the architecture: a module imports only from rooms above its own."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

import roslin

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from draw_rooms import TARGET, draw
from room_graph import (
    BY_NAME,
    FORBIDDEN,
    ROOMS,
    SOURCE,
    direct_imports,
    imported_modules,
    imported_rooms,
    modules,
    named_rooms,
    reduced,
    room,
)

MODULES = modules()


def test_the_source_is_the_one_under_test() -> None:
    assert Path(roslin.__file__).parent.resolve() == SOURCE


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_upwards(path: Path) -> None:
    own = room(path)
    assert own in ROOMS, f"{own} is not a room of the house: add it to ROOMS in tools/room_graph.py"
    for other in imported_rooms(path):
        assert ROOMS.index(other) <= ROOMS.index(own), f"{own} imports from {other}, which lies below it"
        assert (own, other) not in FORBIDDEN


def test_only_melodies_name_rooms_below_them() -> None:
    for path in MODULES:
        below = {other for other in named_rooms(path) if ROOMS.index(other) > ROOMS.index(room(path))}
        assert below == (named_rooms(BY_NAME) if path == BY_NAME else set()), path


def test_only_the_door_to_the_kernels_calls_c() -> None:
    others = {SOURCE / "native" / "kernels.py", SOURCE / "web" / "server.py"}  # the server sets how memory is freed
    for path in set(MODULES) - others:
        assert not imported_modules(path) & {"ctypes", "cffi", "numba"}, path


# A function that takes more wants a value. Commands are exempt: their parameters are the options that people type.
MOST_PARAMETERS = 10


def long_functions(path: Path) -> Iterator[str]:
    """Functions with too many parameters; a method's own object is none."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            if len([name for name in names if name not in ("self", "cls")]) > MOST_PARAMETERS:
                yield node.name


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_function_takes_more_than_ten_parameters(path: Path) -> None:
    assert room(path) == "cli" or not list(long_functions(path))


def test_no_two_classes_have_one_name() -> None:
    owners = defaultdict(set)
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                owners[node.name].add(path.relative_to(SOURCE).as_posix())
    assert {name: sorted(paths) for name, paths in owners.items() if len(paths) > 1} == {}


def test_the_check_sees_long_functions(tmp_path: Path) -> None:
    long = tmp_path / "long.py"
    names = ", ".join("abcdefghij")
    long.write_text(f"class A:\n    def f(self, {names}): ...\n\ndef g(k, {names}): ...\n")
    assert list(long_functions(long)) == ["g"]


def test_the_check_sees_a_wrong_arrow(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f():\n    from roslin.cli import main\n")
    assert imported_rooms(wrong) == {"cli"}
    wrong.write_text("import importlib\nx = 'roslin.web.app:make'\ny = importlib.import_module('roslin.cli')\n")
    assert named_rooms(wrong) == {"web", "cli"}
    assert named_rooms(BY_NAME) == {"notation", "playback", "report"}


def drawn(svg: str) -> set[tuple[str, str]]:
    return set(re.findall(r'data-from="(\w+)" data-to="(\w+)"', svg))


def test_the_drawing_is_up_to_date() -> None:
    wanted = reduced(direct_imports())
    shown = drawn(TARGET.read_text("utf-8"))
    assert shown == wanted, "the imports between rooms changed: run python tools/draw_rooms.py"


def test_a_drawing_shows_its_rooms_and_arrows() -> None:
    edges = {("cli", "api"), ("api", "search"), ("cli", "data"), ("search", "errors"), ("data", "errors")}
    svg = draw(edges)
    assert drawn(svg) == edges
    tops = {name: float(y) for name, y in re.findall(r'data-room="(\w+)">.*?<rect x="[\d.]+" y="([\d.]+)"', svg)}
    assert set(tops) == {"cli", "api", "search", "data", "errors"}
    assert all(tops[lower] > tops[upper] for lower, upper in edges)


def test_an_arrow_that_a_longer_way_implies_is_left_out() -> None:
    assert reduced({("cli", "api"), ("api", "errors"), ("cli", "errors")}) == {("cli", "api"), ("api", "errors")}


@pytest.mark.parametrize("name", [m.name for m in pkgutil.walk_packages([str(SOURCE)], "roslin.")])
def test_all_is_true(name: str) -> None:
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", [])
    assert len(exported) == len(set(exported))
    for public in exported:
        assert hasattr(module, public), f"{name}.__all__ names {public}"


@pytest.mark.parametrize("name", [m.name for m in pkgutil.walk_packages([str(SOURCE)], "roslin.")])
def test_a_module_is_found_under_its_name(name: str) -> None:
    """No package binds the name of one of its modules to something else."""
    importlib.import_module(name)
    package, _, own = name.rpartition(".")
    assert getattr(importlib.import_module(package), own) is sys.modules[name]


def test_public_names() -> None:
    for name in roslin.__all__:
        assert getattr(roslin, name) is not None
    assert set(roslin.__all__) <= set(dir(roslin))
    assert roslin.filters.pitch_range(1, 2).name == "pitch_range(1, 2)"
    assert roslin.__version__ == version("roslin")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        roslin.nothing  # noqa: B018


def test_the_first_import_is_light() -> None:
    heavy = ("scipy", "pandas", "polars", "matplotlib", "jinja2", "IPython")
    program = (
        "import sys, roslin\n"
        "roslin.Melody, roslin.Truth, roslin.Collection, roslin.load\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_only_packages_list_their_names() -> None:
    """A module's names without an underscore are its public ones."""
    for path in MODULES:
        assert path.name == "__init__.py" or "\n__all__ = " not in path.read_text("utf-8"), path


def test_types_of_arrays_are_named_in_one_module() -> None:
    for path in set(MODULES) - {SOURCE / "types.py"}:
        aliases = re.findall(r"^\w+(?:: TypeAlias)? = (?:npt\.)?NDArray\[np\.(?!void)", path.read_text("utf-8"), re.M)
        assert not aliases, path
