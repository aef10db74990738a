"""Groups of melodies that belong together: what chains of pairs link, how stable it is, where it hangs on one link.

A group is what pairs connect. Its stability is the share of its members' pairs that would still be in one group at a
level ten times as strict: 1 for a group that no doubt can split. A weak link is a pair that alone holds two parts of a
group together (a bridge of its graph), and that a level ten times as strict would not find.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["STRICTER", "TuneGroup", "WeakLink", "bridges", "connected", "groups_of"]

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

STRICTER = 10.0


@dataclass(frozen=True, slots=True)
class WeakLink:
    """A pair that alone holds a group together, and how many members are on each side of it."""

    pair: int  # its place among all pairs
    sides: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class TuneGroup:
    """Melodies that are one tune. `members` and `pairs` are in rising order; `expected` is the worst of its pairs."""

    members: Numbers
    pairs: Numbers  # their places among all pairs
    expected: float
    stability: float
    weak_links: tuple[WeakLink, ...]


def connected(melodies: Numbers, first: Numbers, second: Numbers) -> Numbers:
    """The part that each of the melodies belongs to, as the smallest of its members."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = np.searchsorted(melodies, first), np.searchsorted(melodies, second)
    links = coo_array((np.ones(len(first), np.int8), ends), shape=(len(melodies), len(melodies)))
    _, labels = connected_components(links, directed=False)
    smallest = np.full(labels.max(initial=-1) + 1, np.iinfo(np.int64).max)
    np.minimum.at(smallest, labels, melodies)
    return np.asarray(smallest[labels], dtype=np.int64)


def groups_of(
    first: Numbers, second: Numbers, expected: Floats, level: float, stricter: float = STRICTER
) -> list[TuneGroup]:
    """The groups that pairs make, by their smallest member.

    `expected`: of each pair, at most the level; or distances, and a radius that is halved (`stricter`).
    """
    if not len(first):
        return []
    melodies = np.unique(np.concatenate([first, second]))
    part = connected(melodies, first, second)
    strict = expected <= level / stricter
    strictly = connected(melodies, first[strict], second[strict])
    part_of_pair = part[np.searchsorted(melodies, first)]
    by_part, by_pair = np.argsort(part, kind="stable"), np.argsort(part_of_pair, kind="stable")
    starts = np.flatnonzero(np.diff(part[by_part], prepend=-1))
    found = []
    for members in np.split(by_part, starts[1:]):
        at = np.searchsorted(part_of_pair[by_pair], part[members[0]], side="left")
        until = np.searchsorted(part_of_pair[by_pair], part[members[0]], side="right")
        pairs = np.sort(by_pair[at:until])
        found.append(_group(melodies[members], pairs, (first, second), expected, strictly[members], strict))
    return found


def _group(
    members: Numbers,
    pairs: Numbers,
    ends: tuple[Numbers, Numbers],
    expected: Floats,
    strictly: Numbers,
    strict: npt.NDArray[np.bool_],
) -> TuneGroup:
    size = len(members)
    _, sizes = np.unique(strictly, return_counts=True)
    together = int((sizes * (sizes - 1)).sum()) / max(size * (size - 1), 1)
    weak = tuple(
        WeakLink(int(pairs[link]), sides)
        for link, sides in bridges(members, ends[0][pairs], ends[1][pairs])
        if not strict[pairs[link]]
    )
    return TuneGroup(members, pairs, float(expected[pairs].max()), together, weak)


def bridges(members: Numbers, first: Numbers, second: Numbers) -> Iterator[tuple[int, tuple[int, int]]]:
    """The links without which a connected graph falls apart, and the sizes of its two parts (Tarjan 1974).

    Without recursion: a group may have thousands of members.
    """
    place = {int(member): k for k, member in enumerate(members)}
    beside: list[list[tuple[int, int]]] = [[] for _ in members]
    for link, (one, two) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        beside[place[one]].append((place[two], link))
        beside[place[two]].append((place[one], link))
    seen, lowest, size = [-1] * len(members), [0] * len(members), [1] * len(members)
    seen[0], count = 0, 1
    path: list[tuple[int, int, int]] = [(0, -1, 0)]  # (member, the link that led there, its next neighbour)
    while path:
        member, came_by, following = path.pop()
        if following < len(beside[member]):
            path.append((member, came_by, following + 1))
            other, link = beside[member][following]
            if seen[other] < 0:
                seen[other] = lowest[other] = count
                count += 1
                path.append((other, link, 0))
            elif link != came_by:
                lowest[member] = min(lowest[member], seen[other])
        elif path:
            before = path[-1][0]
            lowest[before] = min(lowest[before], lowest[member])
            size[before] += size[member]
            if lowest[member] > seen[before]:
                yield came_by, (size[member], len(members) - size[member])
