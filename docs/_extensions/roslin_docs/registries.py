"""The registries as Markdown: a heading for each entry, what it is, where it comes from, its parameters."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from dataclasses import MISSING, fields
from typing import Any

from roslin_docs.docstrings import as_markdown


def matchers() -> str:
    """Every matcher by name: the text of its module says how it works."""
    from roslin.matchers.base import COMPOUND, MATCHERS

    known = {**MATCHERS, **COMPOUND}
    parts = [_overview((name, known[name].summary) for name in sorted(known))]
    for name in sorted(known):
        kind = known[name]
        parts += [_heading(name), kind.summary, f"After: {kind.reference}", _parameters(kind), _of_module(kind)]
    return "\n\n".join(parts)


def measures() -> str:
    """Every metric by name."""
    from roslin.evaluate import MEASURES

    names = sorted(MEASURES, key=str.lower)
    parts = [_overview((name, MEASURES[name].summary) for name in names)]
    for name in names:
        kind = MEASURES[name]
        also = f"Also called {', '.join(f'`{each}`' for each in kind.also)}." if kind.also else ""
        best = "" if kind.larger_is_better else "Smaller is better."
        parts += [_heading(name), kind.summary, f"After: {kind.reference}", f"{also} {best}".strip(), _parameters(kind)]
    return "\n\n".join(part for part in parts if part)


def formats() -> str:
    """Every notation that can be read."""
    from roslin.notation import FORMATS

    rows = [
        (f"`{each.name}`", _plain(each.description), _codes(each.suffixes), _codes(each.options))
        for each in FORMATS.values()
    ]
    return _table(("name", "notation", "files", "options for reading"), rows)


def study() -> str:
    """Every key of study.toml, a table for each of its tables."""
    from roslin_docs.study_keys import FROZEN_KEYS, KEYS, TABLES

    parts = []
    for table, keys in KEYS.items():
        rows = [
            (f"`{name}`", info.form, info.otherwise or "must be given", info.meaning) for name, info in keys.items()
        ]
        parts += [f"## {table.capitalize()}", TABLES[table], _table(("key", "form", "default", "meaning"), rows)]
    frozen = "\n".join(f"- {each}" for each in FROZEN_KEYS.values())
    parts += ["## What cannot change once a participant has begun", frozen]
    return "\n\n".join(parts)


def _heading(name: str) -> str:
    return f"({name})=\n## `{name}`"


def _overview(entries: Iterable[tuple[str, str]]) -> str:
    return _table(("name", "summary"), [(f"[`{name}`](#{name})", _plain(summary)) for name, summary in entries])


def _parameters(kind: type[Any]) -> str:
    """The parameters of a named value: the fields of its class, each with the rule that it was declared with."""
    rows: list[tuple[str, ...]] = []
    for each in fields(kind):
        default = "" if each.default in (MISSING, ()) else f"`{each.default!r}`"
        rows.append((f"`{each.name}`", default, _plain(getattr(each.metadata.get("rule"), "expected", ""))))
    columns: tuple[str, ...] = ("parameter", "default", "must be")
    if not any(row[2] for row in rows):
        rows, columns = [row[:2] for row in rows], columns[:2]
    return _table(columns, rows) if rows else "No parameters."


def _of_module(kind: type[Any]) -> str:
    """The docstring of the module and of the class, folded: they are long, and the overview is for choosing."""
    text, own = sys.modules[kind.__module__].__doc__ or "", inspect.getdoc(kind) or ""
    if "\n" in own:
        text += f"\n\n{own}"
    return f"::::{{dropdown}} How it works\n{as_markdown(text)}\n::::"


def _codes(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [columns, tuple("---" for _ in columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
