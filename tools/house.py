"""Print the size and shape of the package: one column for this checkout, one for each other checkout that is named.

    .venv/bin/python tools/house.py [OTHER ...]
    .venv/bin/python tools/house.py --list     the places behind the last five rows

A header is a module's docstring and its imports. A function's lines include its docstring. Two rooms are two modules or
packages directly below `roslin`. Values of constants are compared as they are written.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LONG = 60  # lines
Places = dict[str, set[str]]


class House:
    """The modules of a checkout, each with its syntax tree."""

    def __init__(self, root: Path) -> None:
        self.root, self.source = root, root / "src" / "roslin"
        self.trees: dict[str, ast.Module] = {}
        self.lines: dict[str, int] = {}
        for path in sorted(self.source.rglob("*.py")):
            text = path.read_text("utf-8")
            self.trees[self._name(path)] = ast.parse(text)
            self.lines[self._name(path)] = text.count("\n")
        self.packages = {self._name(path) for path in self.source.rglob("__init__.py")}

    def _name(self, path: Path) -> str:
        parts = path.relative_to(self.source.parent).with_suffix("").parts
        return ".".join(part for part in parts if part != "__init__")

    def lines_of(self, *folders: str) -> int:
        """Lines of Python in some folders beside `src`."""
        paths = [path for folder in folders for path in (self.root / folder).rglob("*.py")]
        return sum(path.read_text("utf-8").count("\n") for path in paths)

    def header_lines(self) -> int:
        """Lines of docstrings and imports at the top of modules."""
        return sum(
            (node.end_lineno or 0) - node.lineno + 1
            for tree in self.trees.values()
            for place, node in enumerate(tree.body)
            if isinstance(node, (ast.Import, ast.ImportFrom)) or (place == 0 and ast.get_docstring(tree))
        )

    def imports(self) -> Iterator[tuple[str, str, str]]:
        """(importing module, imported module, name) of every import from the package."""
        for module, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("roslin"):
                    for alias in node.names:
                        whole = f"{node.module}.{alias.name}"
                        yield module, whole if whole in self.trees else str(node.module), alias.name
                elif isinstance(node, ast.Import):
                    for alias in node.names:
                        if alias.name in self.trees:
                            yield module, alias.name, ""

    def with_one_importer(self) -> Places:
        """Modules, not packages, that exactly one other module imports."""
        importers = defaultdict(set)
        for importing, imported, _ in self.imports():
            importers[imported].add(importing)
        return {name: found for name, found in importers.items() if len(found) == 1 and name not in self.packages}

    def _assigned(self) -> Iterator[tuple[str, str, str]]:
        """(module, name, value as written) of every assignment at the top of a module."""
        for module, tree in self.trees.items():
            for node in tree.body:
                targets = node.targets if isinstance(node, ast.Assign) else []
                targets = [node.target] if isinstance(node, ast.AnnAssign) and node.value else targets
                for target in targets:
                    if isinstance(target, ast.Name):
                        yield module, target.id, ast.unparse(node.value)  # type: ignore[attr-defined]

    def aliases(self) -> Places:
        """Names of array types that more than one module defines."""
        found = defaultdict(set)
        for module, name, value in self._assigned():
            if re.match(r"(npt\.)?NDArray\[", value):
                found[name].add(module)
        return {name: modules for name, modules in found.items() if len(modules) > 1}

    def constants(self) -> Places:
        """Names of numbers that have different values in different modules."""
        found = defaultdict(set)
        for module, name, value in self._assigned():
            if re.fullmatch(r"_?[A-Z][A-Z0-9_]*", name) and re.fullmatch(r"[\d_.e+\-* ()]+", value):
                found[name].add((module, value))
        return {
            name: {f"{module} = {value}" for module, value in places}
            for name, places in found.items()
            if len({value for _, value in places}) > 1
        }

    def long_functions(self) -> Places:
        """Functions of more than `LONG` lines."""
        found = defaultdict(set)
        for module, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    lines = (node.end_lineno or 0) - node.lineno + 1
                    if lines > LONG:
                        found[f"{module}.{node.name}"].add(f"{lines} lines")
        return found

    def private_imports(self) -> Places:
        """Names with an underscore, or modules with one, that another room imports."""
        found = defaultdict(set)
        for importing, imported, name in self.imports():
            rooms = [each.split(".")[1] if "." in each else "" for each in (importing, imported)]
            parts = [*imported.split("."), name]
            if rooms[0] != rooms[1] and any(re.match(r"_(?!_|$)", part) for part in parts):
                found[f"{imported}: {name}"].add(importing)
        return found

    def repeated(self, length: int = 6) -> int:
        """Passages of six lines of code that stand in more than one place (overlaps count once per line)."""
        seen: Counter[tuple[str, ...]] = Counter()
        for path in self.source.rglob("*.py"):
            lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
            code = [line for line in lines if len(line) > 3 and not line.startswith(("#", "import ", "from "))]
            seen.update(tuple(code[place : place + length]) for place in range(len(code) - length + 1))
        return sum(count > 1 for count in seen.values())

    def places(self) -> dict[str, Places]:
        """The rows that have places."""
        return {
            "modules with one importer": self.with_one_importer(),
            "array aliases defined more than once": self.aliases(),
            "constants with different values": self.constants(),
            f"functions over {LONG} lines": self.long_functions(),
            "underscore names imported across rooms": self.private_imports(),
        }

    def rows(self) -> dict[str, str]:
        """Every row and its value."""
        lines = sum(self.lines.values())
        return {
            "lines in src": f"{lines:,}",
            "modules in src": f"{len(self.trees):,}",
            "share of header lines": f"{self.header_lines() / lines:.1%}",
            "lines of tools and benchmarks": f"{self.lines_of('tools', 'benchmarks'):,}",
            "lines of tests": f"{self.lines_of('tests'):,}",
            "passages of six lines that are repeated": f"{self.repeated():,}",
            **{name: str(len(places)) for name, places in self.places().items()},
        }


def main() -> None:
    """Print the table, or the places."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, nargs="*", help="other checkouts")
    parser.add_argument("--list", action="store_true", help="print the places instead of their numbers")
    options = parser.parse_args()
    if options.list:
        for title, places in House(ROOT).places().items():
            print(f"{title}:", *(f"    {name}: {', '.join(sorted(places[name]))}" for name in sorted(places)), sep="\n")
        return
    columns = [House(root).rows() for root in (ROOT, *options.other)]
    names = ["here", *(root.name for root in options.other)]
    print(f"{'':42}" + "".join(f"{name:>12}" for name in names))
    for title in columns[0]:
        print(f"{title:42}" + "".join(f"{column[title]:>12}" for column in columns))


if __name__ == "__main__":
    main()
