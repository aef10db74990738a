"""Named values: frozen, with checked parameters, one way to write them, registries and plug-ins."""

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
