"""Roslin finds melodies that resemble each other, and measures how well anything finds them.

Names are loaded when they are first used, so that `import roslin` and `roslin --help` stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roslin.api import Collection, Selection
    from roslin.campaign import Campaign, make_queries, run_campaign
    from roslin.collection.report import BuildReport
    from roslin.errors import (
        ArgumentError,
        CollectionError,
        DamagedError,
        FilterError,
        FormatError,
        MelodyError,
        NotationError,
        PlaceError,
        PluginError,
        RoslinError,
        SandboxError,
        TimeLimitError,
        UnknownNameError,
    )
    from roslin.evaluate import Evaluation, register_measure
    from roslin.matchers import Explanation, Matcher, explain, matcher, matchers, register_matcher
    from roslin.melody import TICKS_PER_QUARTER, Melody, MelodyNote
    from roslin.notation import load, records, register_format
    from roslin.run import Hit, Ranking, Run, read_run
    from roslin.transport.align import align
    from roslin.transport.emd import emd, emd_flow, emd_many, ptd, ptd_flow
    from roslin.truth import Truth, group_rankings, list_consistency, read_truth
    from roslin.values import load_plugin

__all__ = [
    "TICKS_PER_QUARTER",
    "ArgumentError",
    "BuildReport",
    "Campaign",
    "Collection",
    "CollectionError",
    "DamagedError",
    "Evaluation",
    "Explanation",
    "FilterError",
    "FormatError",
    "Hit",
    "Matcher",
    "Melody",
    "MelodyError",
    "MelodyNote",
    "NotationError",
    "PlaceError",
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
    "read_truth",
    "records",
    "register_format",
    "register_matcher",
    "register_measure",
    "run_campaign",
]

_HOME = {
    **dict.fromkeys(("Collection", "Selection"), "roslin.api"),
    **dict.fromkeys((name for name in __all__ if name.endswith("Error")), "roslin.errors"),
    **dict.fromkeys(
        ("Explanation", "Matcher", "explain", "matcher", "matchers", "register_matcher"), "roslin.matchers"
    ),
    **dict.fromkeys(("Campaign", "make_queries", "run_campaign"), "roslin.campaign"),
    **dict.fromkeys(("TICKS_PER_QUARTER", "Melody", "MelodyNote"), "roslin.melody"),
    **dict.fromkeys(("load", "records", "register_format"), "roslin.notation"),
    **dict.fromkeys(("emd", "emd_flow", "emd_many", "ptd", "ptd_flow"), "roslin.transport.emd"),
    "align": "roslin.transport.align",
    **dict.fromkeys(("Hit", "Ranking", "Run", "read_run"), "roslin.run"),
    **dict.fromkeys(("Truth", "group_rankings", "list_consistency", "read_truth"), "roslin.truth"),
    **dict.fromkeys(("Evaluation", "register_measure"), "roslin.evaluate"),
    "BuildReport": "roslin.collection.report",
    "load_plugin": "roslin.values",
}

# Rooms of their own, with many names.
_ROOMS = {"evaluate": "roslin.evaluate", "filters": "roslin.collection.filters"}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(_ROOMS[name])
    if name == "__version__":
        return import_module("importlib.metadata").version("roslin")
    if name not in _HOME:
        raise AttributeError(f"module 'roslin' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS, "__version__"]
