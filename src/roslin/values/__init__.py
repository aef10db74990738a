"""What a named thing is: a frozen value with checked parameters, one way to write it, one register, plug-ins.

parameters   what a parameter may be, said once beside its default
named        the base of matchers, measures and settings
grammar      `nDCG(base=3)@10`, `fuse(dp, emd, weights=(2, 1))`: one reader for all names
registry     which names there are, and who owns them
plugins      things that others add: by entry point, or from a file
"""

from roslin.values.named import Named
from roslin.values.parameters import choice, flag, members, real, reals, text, whole, wholes
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
