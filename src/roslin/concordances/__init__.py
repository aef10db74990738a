"""Which melodies of a collection are the same tune: all pairs, the groups they make, and what people say of them.

copies    melodies that the measure cannot tell apart
levels    what chance gives for every melody, and the score that a pair must reach
join      all pairs that reach it, the same as comparing every two
journal   what is finished, so that a long comparison goes on after an interruption
pairs     the whole of it, from a collection to its pairs
groups    what pairs link, how stable that is, and where it hangs on one link
decisions what somebody says about a pair, and the state of a pair by all of it
review    the file that keeps decisions, and merging several
marc      accepted pairs as fields 787
export    tables, a graph and a truth for other programs
"""

from __future__ import annotations

from roslin.concordances.groups import TuneGroup, groups_of
from roslin.concordances.pairs import FoundPairs, find_pairs

__all__ = ["FoundPairs", "TuneGroup", "find_pairs", "groups_of"]
