"""The command line as Markdown: what each command does, how it is called, its options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any


def commands() -> str:
    """Every command, from the same declarations as `--help`."""
    import typer

    from roslin.cli import app

    return "\n\n".join(_of(typer.main.get_command(app), "roslin"))


def _of(command: Any, path: str) -> Iterator[str]:
    below = getattr(command, "commands", {})
    if path != "roslin":
        yield f"({path.replace(' ', '-')})=\n{'##' if path.count(' ') == 1 else '###'} `{path}`"
        yield from _text(command.help or "")
    if not below:
        yield f"```text\n{_usage(command, path)}\n```"
        yield _table(command)
    for name, each in below.items():
        if not each.hidden:
            yield from _of(each, f"{path} {name}")


def _text(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", text):
        words = " ".join(paragraph.split())
        example = re.match(r"(Examples?): (.*)", words)
        yield f"```\n{example[2]}\n```" if example else re.sub(r"([*_<])", r"\\\1", words)


def _usage(command: Any, path: str) -> str:
    arguments = [_name(each) for each in command.params if each.param_type_name == "argument"]
    return " ".join([path, *arguments, "[OPTIONS]"])


def _name(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper().strip("[]. ")
    name += "..." if argument.nargs == -1 else ""
    return name if argument.required else f"[{name}]"


def _table(command: Any) -> str:
    rows = ["| | meaning | default |", "|---|---|---|"]
    for each in command.params:
        if getattr(each, "hidden", False) or each.name == "help":
            continue
        names = _name(each) if each.param_type_name == "argument" else ", ".join((*each.opts, *each.secondary_opts))
        about = (getattr(each, "help", None) or "").replace("|", "\\|")
        if isinstance(each.default, Enum):
            about += f" One of {', '.join(f'`{choice.value}`' for choice in type(each.default))}."
        rows.append(f"| `{names}` | {about} | {_default(each)} |")
    return "\n".join(rows)


def _default(parameter: Any) -> str:
    default = parameter.default
    if parameter.required or default is None or default is False or default in ((), []) or callable(default):
        return ""
    return f"`{default.value if isinstance(default, Enum) else default}`"
