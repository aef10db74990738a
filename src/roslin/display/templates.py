"""The one Jinja2 environment: every page and every piece of HTML is made from a template, and escaped by it.

Templates lie in the folder `templates` of the room that uses them and are named by room: `display/table.html`.
All of them know `_`, `ngettext`, `number` and `capital`, in the language in use (`words`), and `roslin_version`.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from roslin.display.words import _, capital, ngettext, number

if TYPE_CHECKING:
    from jinja2 import Environment

_ROOMS = ("display", "report", "web", "publish")


@cache
def environment() -> Environment:
    """The environment. Jinja2 loads only when something is shown."""
    from jinja2 import Environment, PackageLoader, PrefixLoader, StrictUndefined

    made = Environment(
        loader=PrefixLoader({room: PackageLoader(f"roslin.{room}") for room in _ROOMS}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"_": _, "ngettext": ngettext, "number": number, "capital": capital}
    made.globals["roslin_version"] = version("roslin")
    return made


def render(template: str, **values: Any) -> str:
    """The text that a template makes of these values."""
    return environment().get_template(template).render(**values)
