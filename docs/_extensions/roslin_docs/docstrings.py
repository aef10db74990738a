"""Docstrings as Sphinx or MyST wants them.

A docstring is plain text: paragraphs, `code` in single backticks, examples with >>>, lists with a hyphen, and columns
or formulas, which are indented or aligned by several spaces. Everything else in it means itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import dedent, indent

_SET_OUT = re.compile(r"\S {3,}\S|\n ")  # columns, or lines further in than the first
_CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)


def as_rst(text: str) -> str:
    """The docstring in reStructuredText."""
    parts = []
    for kind, block in blocks(text):
        if kind == "text":
            parts.append(_escaped(block, r"([\\*_|])", "``{}``"))
        elif kind == "list":
            parts.append("\n".join(_escaped(item, r"([\\*_|])", "``{}``") for item in block.splitlines()))
        elif kind == "example":
            parts.append(block)
        else:
            parts.append("::\n\n" + indent(block, "    "))
    return "\n\n".join(parts) + "\n"


def as_markdown(text: str) -> str:
    """The docstring in Markdown."""
    parts = []
    for kind, block in blocks(text):
        if kind in ("text", "list"):
            parts.append(_escaped(block, r"([\\*_|<\[\]])", "`{}`"))
        else:
            parts.append(f"```{'python' if kind == 'example' else 'text'}\n{block}\n```")
    return "\n\n".join(parts) + "\n"


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """The parts of a docstring: text, list, example or literal."""
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        before, sign, example = block.partition(">>> ")
        if sign and before.strip():
            yield from blocks(before)
        if sign:
            yield "example", dedent(sign + example)
        elif re.match(r"[-*] ", block):
            yield "list", block
        elif block.startswith(" ") or _SET_OUT.search(block):
            yield "literal", dedent(block)
        elif block.strip():
            yield "text", block


def _escaped(text: str, special: str, code: str) -> str:
    """The text with its signs escaped, except in code."""
    parts, end = [], 0
    for match in _CODE.finditer(text):
        parts += [re.sub(special, r"\\\1", text[end : match.start()]), code.format(match[2])]
        end = match.end()
    return "".join([*parts, re.sub(special, r"\\\1", text[end:])])
