"""Roslin finds melodies that resemble each other, and measures how well anything finds them.

Names are loaded when they are first used, so that `import roslin` and `roslin --help` stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roslin.api import Collection, Selection
    from roslin.campaign import Campaign, make_queries, run_campaign
    from roslin.errors import (
        ArgumentError,
        CollectionError,
        DamagedError,
        FilterError,
        FormatError,
        MelodyError,
        NotationError,
        PluginError,
        RoslinError,
        SandboxError,
        TimeLimitError,
        UnknownNameError,
    )
    from roslin.evaluate import register_measure
    from roslin.matchers import Matcher, matcher, matchers, register_matcher
    from roslin.melody import TICKS_PER_QUARTER, Melody
    from roslin.notation import load, records, register_format
    from roslin.run import Hit, Ranking, Run, read_run
    from roslin.search import Explanation, explain
    from roslin.transport import align, emd, emd_flow, emd_many, ptd, ptd_flow
    from roslin.truth import Truth, group_rankings, list_consistency
    from roslin.values import load_plugin

__all__ = [
    "TICKS_PER_QUARTER",
    "ArgumentError",
    "Campaign",
    "Collection",
    "CollectionError",
    "DamagedError",
    "Explanation",
    "FilterError",
    "FormatError",
    "Hit",
    "Matcher",
    "Melody",
    "MelodyError",
    "NotationError",
    "PluginError",
    "Ranking",
    "RoslinError",
    "Run",
    "SandboxError",
    "Selection",
    "TimeLimitError",
    "Truth",
    "UnknownNameError",
    "align",
    "emd",
    "emd_flow",
    "emd_many",
    "explain",
    "group_rankings",
    "list_consistency",
    "load",
    "load_plugin",
    "make_queries",
    "matcher",
    "matchers",
    "ptd",
    "ptd_flow",
    "read_run",
    "records",
    "register_format",
    "register_matcher",
    "register_measure",
    "run_campaign",
]

_HOME = {
    **dict.fromkeys(("Collection", "Selection"), "roslin.api"),
    **dict.fromkeys((name for name in __all__ if name.endswith("Error")), "roslin.errors"),
    **dict.fromkeys(("Matcher", "matcher", "matchers", "register_matcher"), "roslin.matchers"),
    **dict.fromkeys(("Campaign", "make_queries", "run_campaign"), "roslin.campaign"),
    **dict.fromkeys(("TICKS_PER_QUARTER", "Melody"), "roslin.melody"),
    **dict.fromkeys(("load", "records", "register_format"), "roslin.notation"),
    **dict.fromkeys(("align", "emd", "emd_flow", "emd_many", "ptd", "ptd_flow"), "roslin.transport"),
    **dict.fromkeys(("Hit", "Ranking", "Run", "read_run"), "roslin.run"),
    **dict.fromkeys(("Truth", "group_rankings", "list_consistency"), "roslin.truth"),
    "load_plugin": "roslin.values",
    "register_measure": "roslin.evaluate",
    **dict.fromkeys(("Explanation", "explain"), "roslin.search"),
}


def __getattr__(name: str) -> Any:
    if name == "evaluate":  # a room of its own, with many names
        return import_module("roslin.evaluate")
    if name not in _HOME:
        raise AttributeError(f"module 'roslin' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
