"""Tunes to begin with, for a page that nobody has asked anything yet: beginnings from the starter collection."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from roslin.starter import tunes_path

_CHOSEN = ("roslin-castle", "greensleeves", "auld-lang-syne", "ode-to-joy", "la-folia", "frere-jacques")
_BARS = 4


@dataclass(frozen=True, slots=True)
class Example:
    """A name that people know, and how the tune begins, in Plaine & Easie."""

    name: str
    q: str


@cache
def examples() -> tuple[Example, ...]:
    """A few well-known tunes, in this order."""
    with tunes_path().open(encoding="utf-8") as lines:
        tunes = {tune["id"]: tune for tune in map(json.loads, lines)}
    return tuple(_beginning(tunes[id]) for id in _CHOSEN)


def _beginning(tune: dict[str, str | None]) -> Example:
    bars = (tune["pae"] or "").split("/")[:_BARS]
    key = f"${tune['keysig']}" if tune["keysig"] else ""
    name = (tune["title"] or "").partition(" (")[0]
    return Example(name, f"%{tune['clef']}@{tune['timesig']}{key} {'/'.join(bars)}/")
