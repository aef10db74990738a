"""The folder tree is the architecture: a module imports only from rooms above its own."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from collections import Counter, defaultdict
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
    parsed,
    reduced,
    room,
)

MODULES = modules()
NAMES = [found.name for found in pkgutil.walk_packages([str(SOURCE)], "roslin.")]


def test_the_source_is_the_one_under_test() -> None:
    assert Path(roslin.__file__).parent.resolve() == SOURCE


def test_every_module_is_in_a_known_room() -> None:
    unknown = {room(path) for path in MODULES} - set(ROOMS)
    assert not unknown, "add them to ROOMS in tools/room_graph.py"


def test_imports_point_upwards() -> None:
    wrong = [
        f"{path.relative_to(SOURCE)} imports from {other}"
        for path in MODULES
        for other in imported_rooms(path)
        if ROOMS.index(other) > ROOMS.index(room(path)) or (room(path), other) in FORBIDDEN
    ]
    assert wrong == []


def test_only_melodies_name_rooms_below_them() -> None:
    naming = {
        path: below
        for path in MODULES
        if (below := {other for other in named_rooms(path) if ROOMS.index(other) > ROOMS.index(room(path))})
    }
    assert naming == {BY_NAME: named_rooms(BY_NAME)}


def test_only_the_door_to_the_kernels_calls_c() -> None:
    others = {SOURCE / "native" / "kernels.py", SOURCE / "web" / "server.py"}  # the server sets how memory is freed
    wrong = [path for path in set(MODULES) - others if imported_modules(path) & {"ctypes", "cffi", "numba"}]
    assert wrong == []


# A function that takes more wants a value. Commands are exempt: their parameters are the options that people type.
MOST_PARAMETERS = 10


def long_functions(path: Path) -> Iterator[str]:
    """Functions with too many parameters; a method's own object is none."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names = [each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            if len([name for name in names if name not in ("self", "cls")]) > MOST_PARAMETERS:
                yield node.name


def test_no_function_takes_more_than_ten_parameters() -> None:
    long = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in MODULES
        if room(path) != "cli"
        for name in long_functions(path)
    ]
    assert long == []


def test_no_two_classes_have_one_name() -> None:
    owners = defaultdict(set)
    for path in MODULES:
        for node in ast.walk(parsed(path)):
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
    late = tmp_path / "late.py"
    late.write_text("import importlib\nx = 'roslin.web.app:make'\ny = importlib.import_module('roslin.cli')\n")
    assert named_rooms(late) == {"web", "cli"}
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


def test_all_names_exist_once() -> None:
    wrong = []
    for name in NAMES:
        module = importlib.import_module(name)
        exported = getattr(module, "__all__", [])
        wrong += [f"{name}: {public} is listed twice" for public, count in Counter(exported).items() if count > 1]
        wrong += [f"{name}: {public} does not exist" for public in exported if not hasattr(module, public)]
    assert wrong == []


def test_a_module_is_found_under_its_name() -> None:
    """No package binds the name of one of its modules to something else."""
    wrong = []
    for name in NAMES:
        importlib.import_module(name)
        package, _, own = name.rpartition(".")
        if getattr(importlib.import_module(package), own) is not sys.modules[name]:
            wrong.append(name)
    assert wrong == []


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


PAGE = (SOURCE.parents[1] / "dev" / "architecture.md").read_text("utf-8")

# What a newcomer asks, and where the answer is. The page names the room of each, and its folder where it has one.
QUESTIONS = {
    "Where is the clef of a Plaine & Easie incipit read?": ("notation/pae/incipit.py", "read_clef"),
    "Where does a search decide which melodies to compare exactly?": ("search/refine.py", "refine"),
    "Where are the parameters of a search checked?": ("search/request.py", "Request"),
    "Where is E computed?": ("search/chance.py", "Null"),
    "Where is a damaged file of a collection noticed?": ("collection/arrays.py", "damaged_files"),
    "Which module calls C?": ("native/kernels.py", "available"),
    "Where is the metric ADR defined?": ("evaluate/measures/adr.py", "average_dynamic_recall"),
    "Where do rankings of experts become groups?": ("truth/grouping.py", "group_rankings"),
    "Where are the options of `roslin search` declared?": ("cli/search.py", "search_command"),
    "Where are melodies put into groups of the same tune?": ("concordances/groups.py", "groups_of"),
}


def test_the_page_leads_to_ten_answers() -> None:
    assert len(PAGE.split()) <= 700
    missing = []
    for path, name in QUESTIONS.values():
        tree = parsed(SOURCE / path)
        defined = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        *folders, _module = path.split("/")
        missing += [f"{path}: {name}"] * (name not in defined)
        missing += [
            f"{folder} on the page" for folder in folders if f"`{folder}`" not in PAGE and f"{folder}/" not in PAGE
        ]
    assert missing == []


def test_the_page_names_every_room() -> None:
    named = set(re.findall(r"`(\w+)/?`", PAGE))
    assert set(ROOMS) - named <= {"interop", "rows", "starter", "__main__"}


def test_only_packages_list_their_names() -> None:
    """A module's names without an underscore are its public ones."""
    own = [path for path in MODULES if path.name != "__init__.py"]
    assert [path for path in own if "\n__all__ = " in path.read_text("utf-8")] == []


def private_constants(path: Path) -> Iterator[str]:
    """The constants with an underscore that a test patches or reads, each with its module."""
    modules = dict[str, str]()
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            modules |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setattr"):
            named = ast.unparse(node.args[0]).strip("'")
            if isinstance(node.args[1], ast.Constant) and not isinstance(node.args[0], ast.Constant):
                named = f"{modules.get(named, named)}.{node.args[1].value!r}".replace("'", "")
        elif isinstance(node, ast.Attribute):
            named = f"{modules.get(ast.unparse(node.value), '')}.{node.attr}"
        elif isinstance(node, ast.alias):
            named = modules.get(node.asname or node.name, "")
        else:
            continue
        if re.fullmatch(r"roslin\.[\w.]+\._[A-Z][A-Z_0-9]*", named):
            yield named


def test_tests_use_private_constants_only_of_their_own_room() -> None:
    tests = Path(__file__).parent
    wrong = [
        f"{path.relative_to(tests)}: {named}"
        for path in sorted(tests.glob("*/**/test_*.py"))
        for named in private_constants(path)
        if named.split(".")[1] != path.relative_to(tests).parts[0]
    ]
    assert wrong == []


def test_the_check_sees_private_constants(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from roslin.run import run as module\nfrom roslin.web.app import _LIMIT\n"
        "def test(monkeypatch):\n    monkeypatch.setattr(module, '_MOST', 1)\n"
        "    monkeypatch.setattr('roslin.api._FEW', 2)\n    assert module._ONE\n"
    )
    assert sorted(private_constants(wrong)) == [
        "roslin.api._FEW",
        "roslin.run.run._MOST",
        "roslin.run.run._ONE",
        "roslin.web.app._LIMIT",
    ]


def test_types_of_arrays_are_named_in_one_module() -> None:
    alias = re.compile(r"^\w+(?:: TypeAlias)? = (?:npt\.)?NDArray\[np\.(?!void)", re.M)
    others = set(MODULES) - {SOURCE / "types.py"}
    assert [path for path in others if alias.search(path.read_text("utf-8"))] == []
