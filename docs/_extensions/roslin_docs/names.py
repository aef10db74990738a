"""The public names of a module, for autodoc: every name in its `__all__`, under the part of Roslin that it belongs to.

Where a docstring has no example, one comes from docs/_examples, where the tests run it: a file for each module, a
heading for each name.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import roslin

EXAMPLES = Path(__file__).parents[2] / "_examples"

# The parts in the order of the page. A module without a title here comes last, under its own name.
TITLES = {
    "roslin.melody": "Melodies",
    "roslin.notation": "Reading notation",
    "roslin.api": "Collections",
    "roslin.collection.report": "Collections",
    "roslin.search": "Matchers and explanations",
    "roslin.matchers": "Matchers and explanations",
    "roslin.run": "Ranked lists",
    "roslin.values": "Plug-ins",
    "roslin.transport.emd": "Transportation distances",
    "roslin.transport.align": "Transportation distances",
    "roslin.campaign": "Campaigns",
    "roslin.truth": "Ground truths",
    "roslin.evaluate.evaluation": "Whole runs",
    "roslin.evaluate.significance": "Intervals and comparisons",
    "roslin.evaluate.exchanges": "Intervals and comparisons",
    "roslin.truth.ranktests": "Intervals and comparisons",
    "roslin.evaluate.measures.base": "Metrics as values",
    "roslin.evaluate.measures.adr": "Average Dynamic Recall",
    "roslin.evaluate.measures.counts": "Counting",
    "roslin.evaluate.measures.precision": "Precision and recall",
    "roslin.evaluate.measures.preference": "Binary preference",
    "roslin.evaluate.measures.gain": "Graded gain",
    "roslin.evaluate.measures.overlap": "Overlap",
    "roslin.evaluate.curves": "Curves",
    "roslin.evaluate.tables": "Ties, and correlation of matchers",
    "roslin.truth.grouping": "Groups from rankings",
    "roslin.truth.consistency": "Consistency",
    "roslin.truth.study": "Studies",
    "roslin.truth.rankings": "Rankings",
    "roslin.truth.model": "Truths",
    "roslin.truth.qrel": "Truths",
    "roslin.truth.tables": "Truths",
    "roslin.truth.simulate": "Simulated participants",
    "roslin.collection.filters": "By fields",
    "roslin.collection.filters.notes": "By notes",
    "roslin.collection.filters.chain": "Chains of filters and near-duplicates",
    "roslin.represent.edits": "Edit costs",
    "roslin.errors": "Errors",
}
# Names made by a class of another package.
_BY_NAME = {
    "roslin.evaluate.MEASURES": "Metrics as values",
    "roslin.evaluate.measures": "Metrics as values",
    "roslin.collection.filters.FILTERS": "By name",
}
_ORDER = list(dict.fromkeys(TITLES.values()))


def names(module_name: str) -> str:
    """A reference of the module in Markdown, in parts."""
    module = import_module(module_name)
    parts: dict[str, list[str]] = {}
    for name in module.__all__:
        parts.setdefault(title(module, name), []).append(name)
    shared, examples = read_examples(module_name)
    lines = [shared]
    for each, members in sorted(parts.items(), key=lambda part: _ORDER.index(part[0]) if part[0] in _ORDER else 999):
        lines += [f"## {each}", *(entry(module, name, examples.get(name, "")) for name in members)]
    return "\n\n".join(lines)


def title(module: ModuleType, name: str) -> str:
    """The part of the page for a name: that of the module that defines it, or of the closest package with a title."""
    if found := _BY_NAME.get(f"{module.__name__}.{name}"):
        return found
    thing = getattr(module, name)
    home = thing.__name__ if inspect.ismodule(thing) else getattr(thing, "__module__", None) or ""
    if not home.startswith("roslin"):  # a number or a dict knows no module
        home = _definer(module, name)
    while home not in TITLES and home.count(".") > max(1, module.__name__.count(".") + 1):
        home = home.rpartition(".")[0]
    return TITLES.get(home, home.rpartition(".")[2].replace("_", " ").capitalize())


def entry(module: ModuleType, name: str, example: str) -> str:
    """What autodoc shows of one name, and the example that its docstring lacks."""
    thing = getattr(module, name)
    path = f"{module.__name__}.{name}"
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        directive = f".. autoexception:: {path}\n   :show-inheritance:"
    elif inspect.isclass(thing):
        directive = f".. autoclass:: {path}\n   :members:"
    elif inspect.isroutine(thing):
        directive = f".. autofunction:: {path}"
    elif inspect.ismodule(thing):  # a package that is also a function
        directive = f".. autofunction:: {path}.base.{name}"
    else:
        directive = f".. py:data:: {path}\n   :type: {type(thing).__name__}"
    if getattr(roslin, name, None) is thing and module is not roslin:  # links lead to the entry of `roslin`
        directive += "\n   :no-index:"
    return f"```{{eval-rst}}\n{directive}\n```\n\n{example}".rstrip()


def read_examples(module_name: str) -> tuple[str, dict[str, str]]:
    """The examples kept for a module: what all of them share, and the text below the heading of each name."""
    path = EXAMPLES / f"{module_name}.md"
    if not path.exists():
        return "", {}
    shared, *parts = re.split(r"^## (.+)\n", path.read_text("utf-8"), flags=re.MULTILINE)
    texts = {name.strip("`"): text.strip() for name, text in zip(parts[::2], parts[1::2], strict=True)}
    return shared.partition("\n")[2].strip(), texts


def type_aliases() -> set[str]:
    """The names that the source gives to types: `Ranking = Sequence[Hashable] | ...` at the top of a module."""
    found = set()
    for path in Path(roslin.__file__).parent.rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Subscript, ast.BinOp)):
                found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name for name in found if name[0].isupper() and not name.isupper()}


def has_example(thing: Any) -> bool:
    """Whether the docstring shows the thing at work."""
    has_own = inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing)
    return has_own and ">>>" in (inspect.getdoc(thing) or "")


def _definer(module: ModuleType, name: str) -> str:
    """The module below this one whose source assigns the name, for a thing that knows no module itself."""
    below = (other for other in list(sys.modules) if other.startswith(f"{module.__name__}."))
    return next((other for other in below if name in _assigned(other)), module.__name__)


def _assigned(module_name: str) -> set[str]:
    """The names that a module assigns."""
    tree = ast.parse(inspect.getsource(sys.modules[module_name]))
    targets = [each for node in tree.body if isinstance(node, ast.Assign) for each in node.targets]
    targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    return {each.id for each in targets if isinstance(each, ast.Name)}
