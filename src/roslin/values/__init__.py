"""Named values: frozen, with checked parameters, one way to write them, registries and plug-ins.

parameters   rules for parameters, declared beside the defaults; the base of matchers, metrics and settings
registry     which names exist, and one reader for all of them: `nDCG(base=3)@10`, `fuse(dp, emd, weights=(2, 1))`
plugins      code of others: by entry point, from a file, or a plain function
"""

from roslin.values.parameters import Named, choice, flag, members, real, reals, text, whole, wholes
from roslin.values.plugins import PluginWarning, load_plugin
from roslin.values.registry import NamedRegistry, Registry

__all__ = [
    "Named",
    "NamedRegistry",
    "PluginWarning",
    "Registry",
    "choice",
    "flag",
    "load_plugin",
    "members",
    "real",
    "reals",
    "text",
    "whole",
    "wholes",
]
