"""The rooms of the house, and which room imports from which: found by walking the imports of src/roslin.

A room is a module or a package directly below `roslin`. `ROOMS` has them from top to bottom; a room may import from the
rooms before it. The test (tests/test_architecture.py) and the drawing (tools/draw_rooms.py) both go by this.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "roslin"

# Top to bottom. A room may import from the rooms before it.
ROOMS = [
    "errors",
    "types",
    "tolerances",
    "values",
    "passwords",
    "display",
    "data",
    "sandbox",
    "native",
    "deadline",
    "melody",
    "rows",
    "harvest",
    "run",
    "notation",
    "represent",
    "transport",
    "matchers",
    "collection",
    "search",
    "concordances",
    "distributed",
    "truth",
    "evaluate",
    "campaign",
    "engrave",
    "playback",
    "starter",
    "report",
    "api",
    "benchmark",
    "interop",
    "experiment",
    "web",
    "publish",
    "cli",
    "__main__",
]
# Who judges must not know the judged.
JUDGES, JUDGED = ("truth", "evaluate"), ("matchers", "search")
FORBIDDEN = {(judge, judged) for judge in JUDGES for judged in JUDGED}

# The one place where a room names rooms below it and looks them up when it is asked: a melody writes and draws itself.
BY_NAME = SOURCE / "melody" / "melody.py"
_NAMED = re.compile(r"roslin\.(\w+)[\w.]*(:\w+)?")

Edges = set[tuple[str, str]]


def modules() -> list[Path]:
    """Every module but the front door, `roslin/__init__.py`."""
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def room(path: Path) -> str:
    """The room that a module is in."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_text("utf-8"))


def imported_modules(path: Path) -> set[str]:
    """The modules that a module imports, wherever in it the import stands."""
    found: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            is_top = node.module == "roslin"
            found |= {f"roslin.{alias.name}" for alias in node.names} if is_top else {node.module or ""}
    return found


def imported_rooms(path: Path) -> set[str]:
    """The rooms that a module imports from."""
    return {name.split(".")[1] for name in imported_modules(path) if name.startswith("roslin.")}


def named_rooms(path: Path) -> set[str]:
    """Rooms that are named to be imported later: "roslin.room.module:function", or the text given to import_module."""
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = _NAMED.fullmatch(node.value)
            found |= {named[1]} if named and named[2] else set()
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
            found |= {named[1] for text in texts if (named := _NAMED.fullmatch(str(text)))}
    return found


def direct_imports() -> Edges:
    """All pairs (room, room that it imports from)."""
    return {(room(path), other) for path in modules() for other in imported_rooms(path) if other != room(path)}


def reduced(edges: Edges) -> Edges:
    """The edges without those that a longer way leads to as well: as few as say the same (there are no circles)."""
    return {(start, end) for start, end in edges if not _reaches(edges - {(start, end)}, start, end)}


def _reaches(edges: Iterable[tuple[str, str]], start: str, end: str) -> bool:
    below: dict[str, set[str]] = {}
    for upper, lower in edges:
        below.setdefault(upper, set()).add(lower)
    seen, waiting = {start}, [start]
    while waiting:
        for each in below.get(waiting.pop(), set()) - seen:
            seen.add(each)
            waiting.append(each)
    return end in seen
