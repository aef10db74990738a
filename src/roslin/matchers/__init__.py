"""One published system per file, behind one protocol (`base.Matcher`) and one registry.

`roslin.matchers` is both this package and the function that lists the names: the package answers when it is called.
"""

from __future__ import annotations

import sys
from types import ModuleType

from roslin.matchers.base import MATCHERS, Matcher, matcher, matchers
from roslin.matchers.dp import DP
from roslin.matchers.emd import EMD
from roslin.matchers.fusion import Fusion, fuse
from roslin.matchers.twv import TWV

__all__ = ["DP", "EMD", "MATCHERS", "TWV", "Fusion", "Matcher", "fuse", "matcher", "matchers"]


class _CallablePackage(ModuleType):
    def __call__(self) -> list[str]:
        return matchers()


sys.modules[__name__].__class__ = _CallablePackage
