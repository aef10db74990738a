"""Which melodies of a collection are the same tune: all pairs, the groups they make, and what people say of them.

copies       melodies that the measure cannot tell apart
levels       what chance gives for every melody, and the score that a pair must reach
probability  how probable it is that a pair is the same tune; `certainty` says it in words
join         all pairs that reach a score, as by comparing every two; `blocking`: only those that share what is rare
prepared     what a join needs, in a folder; `journal`: what is finished, so that it goes on after an interruption
pairs        the whole of it, from a collection to its pairs; `radius`: by the distance of any matcher
earlier      pairs that were found before: only what is new is compared
groups       what belongs together, how stable that is, and where it hangs on one link
concordance  groups with what the catalogue says of their sources; `tables`: as tables
decisions    what somebody says about a pair; `review`: the file that keeps it, and merging several
marc         accepted pairs as fields 787; `export`: tables, a graph and a truth for other programs
identify     whose music a source is; `attribution`: the answer, in words and tables
"""

from __future__ import annotations

from roslin.concordances.groups import TuneGroup, groups_of
from roslin.concordances.pairs import FoundPairs, find_pairs

__all__ = ["FoundPairs", "TuneGroup", "find_pairs", "groups_of"]
