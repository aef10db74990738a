"""Parts of pages made from the program: the registries, the commands, the public names."""

from __future__ import annotations

import re
from collections.abc import Callable

from roslin_docs import commands, names, registries

PARTS: dict[str, Callable[..., str]] = {
    "matchers": registries.matchers,
    "measures": registries.measures,
    "formats": registries.formats,
    "study": registries.study,
    "commands": commands.commands,
    "names": names.names,
}

# A mark, and what stands in the page itself up to the end of the part, for those who read it in a clone.
MARK = re.compile(
    r"^<!-- generated: ([\w. ]+) -->$(?P<kept>\n(?:(?!<!-- ).*\n)*<!-- end of what is generated -->$)?", re.M
)


def generated(mark: re.Match[str]) -> str:
    """The part that a mark names."""
    name, *arguments = mark[1].split()
    return PARTS[name](*arguments)


def renewed(page: str) -> str:
    """A page with its kept parts as they are now."""

    def part(mark: re.Match[str]) -> str:
        if not mark["kept"]:
            return mark[0]
        return f"<!-- generated: {mark[1]} -->\n\n{generated(mark)}\n\n<!-- end of what is generated -->"

    return MARK.sub(part, page)
