"""One published system per file, behind one protocol (`base.Matcher`) and one registry.

`roslin.matchers` is both this package and the function that lists the names: the package answers when it is called.
"""

from __future__ import annotations

from roslin.errors import ArgumentError
from roslin.matchers.base import MATCHERS, Matcher, matcher, matchers, register_matcher
from roslin.matchers.base import matcher as _matcher
from roslin.matchers.edit.alignment import NoteAlignment
from roslin.matchers.edit.dp import DP, LCTS
from roslin.matchers.edit.gam import GAM
from roslin.matchers.edit.mongeau_sankoff import MongeauSankoff
from roslin.matchers.explanation import Explanation, Step
from roslin.matchers.fusion import Fusion, fuse
from roslin.matchers.geometric import P1, P2, P3
from roslin.matchers.grams.orio import Orio
from roslin.matchers.grams.us import US, RISMOnline
from roslin.matchers.opti3 import FM, DiffEd, HarmCore, NGrSumCo, NgrUkkon, RawEd, RhytFuzz
from roslin.matchers.roslin.roslin import Roslin
from roslin.matchers.shapes import ShapeH, ShapeTime, Time
from roslin.matchers.transport.emd import EMD
from roslin.matchers.transport.twv import TWV, TWVCovered
from roslin.melody import Melody
from roslin.values.registry import answer_calls

__all__ = [
    "DEFAULT_MATCHER", "DP", "EMD", "FM", "GAM", "LCTS", "MATCHERS", "P1", "P2", "P3", "TWV", "US", "DiffEd",
    "Explanation", "Fusion", "HarmCore", "Matcher", "MongeauSankoff", "NGrSumCo", "NgrUkkon", "NoteAlignment", "Orio",
    "RISMOnline", "RawEd", "RhytFuzz", "Roslin", "ShapeH", "ShapeTime", "Step", "TWVCovered", "Time", "explain", "fuse",
    "matcher", "matchers", "register_matcher",
]  # fmt: skip

DEFAULT_MATCHER = "roslin"  # of a search, and of an explanation


def explain(query: Melody, candidate: Melody, matcher: str | Matcher = DEFAULT_MATCHER) -> Explanation:
    """The explanation of the distance from a query to a candidate, as if there were no other candidates.

    >>> from roslin import load
    >>> explain(load("'4CDE")[0], load("4-'GAB2''C")[0], "emd").sentence
    'The query is transposed up a perfect fifth, at the same tempo, starting after 1 quarter.'
    """
    if not isinstance(candidate, Melody):
        got = type(candidate).__name__
        raise ArgumentError(f"the candidate must be a Melody; got {got}; read text with roslin.load")
    return _matcher(matcher).explain(query, [candidate])


answer_calls(__name__, matchers)
