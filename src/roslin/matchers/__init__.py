"""One published system per file, behind one protocol (`base.Matcher`) and one registry.

`roslin.matchers` is both this package and the function that lists the names: the package answers when it is called.
"""

from __future__ import annotations

import sys
from types import ModuleType

from roslin.matchers.alignment import Alignment
from roslin.matchers.base import MATCHERS, Matcher, matcher, matchers
from roslin.matchers.dp import DP
from roslin.matchers.emd import EMD
from roslin.matchers.fm import FM
from roslin.matchers.fm_parts import DiffEd, HarmCore, NGrSumCo, NgrUkkon, RawEd, RhytFuzz
from roslin.matchers.fusion import Fusion, fuse
from roslin.matchers.gam import GAM
from roslin.matchers.lcts import LCTS
from roslin.matchers.mongeau_sankoff import MongeauSankoff
from roslin.matchers.orio import Orio
from roslin.matchers.p1 import P1
from roslin.matchers.p2 import P2
from roslin.matchers.p3 import P3
from roslin.matchers.rismonline import RISMOnline
from roslin.matchers.roslin import Roslin
from roslin.matchers.shapeh import ShapeH
from roslin.matchers.shapetime import ShapeTime
from roslin.matchers.time import Time
from roslin.matchers.twv import TWV
from roslin.matchers.us import US

__all__ = [
    "DP",
    "EMD",
    "FM",
    "GAM",
    "LCTS",
    "MATCHERS",
    "P1",
    "P2",
    "P3",
    "TWV",
    "US",
    "Alignment",
    "DiffEd",
    "Fusion",
    "HarmCore",
    "Matcher",
    "MongeauSankoff",
    "NGrSumCo",
    "NgrUkkon",
    "Orio",
    "RISMOnline",
    "RawEd",
    "RhytFuzz",
    "Roslin",
    "ShapeH",
    "ShapeTime",
    "Time",
    "fuse",
    "matcher",
    "matchers",
]


class _CallablePackage(ModuleType):
    def __call__(self) -> list[str]:
        return matchers()


sys.modules[__name__].__class__ = _CallablePackage
