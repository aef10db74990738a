"""The folder tree is the architecture: a module imports only from rooms above its own."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from pathlib import Path

import pytest

import roslin

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from draw_rooms import TARGET, draw
from room_graph import FORBIDDEN, ROOMS, SOURCE, direct_imports, imported_rooms, modules, reduced, room

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


def test_the_check_sees_a_wrong_arrow(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f():\n    from roslin.cli import main\n")
    assert imported_rooms(wrong) == {"cli"}


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


def test_public_names() -> None:
    for name in roslin.__all__:
        assert getattr(roslin, name) is not None
    assert set(roslin.__all__) <= set(dir(roslin))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        roslin.nothing  # noqa: B018
