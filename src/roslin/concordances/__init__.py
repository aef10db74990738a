"""Which melodies of a collection are the same tune: all pairs, the groups they make, and the decisions about them.

pairs        pairs as values: found, of duplicates, and from an earlier comparison
certainty    the matches expected by chance, the probability that a pair is the same tune, and its words
join         all pairs that are the same tune, as by comparing every two
blocking     only the pairs of melodies that share something rare
radius_join  all pairs that any matcher puts within a radius
resume       the finished pieces of a long comparison, so that it can be interrupted
groups       melodies that belong together, the stability of each group, and its weak links
concordance  groups with what the catalogue says of their sources, in a folder and as tables
review       decisions about pairs, the file that stores them, and merging several
exchange     tables, a graph and a truth for other programs
marc         accepted pairs as fields 787 of MARC 21
identify     the composer of a source, in words and tables
"""

from __future__ import annotations

from roslin.concordances.groups import TuneGroup, groups_of
from roslin.concordances.join import find_pairs
from roslin.concordances.pairs import FoundPairs

__all__ = ["FoundPairs", "TuneGroup", "find_pairs", "groups_of"]
