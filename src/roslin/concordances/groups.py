"""Groups of melodies that belong together, how stable they are, and where they hang on one link.

One pair by chance would make one group of two tunes, and in a large catalogue a chain of such pairs leads from anything
to anything. So pairs are taken in the order of their doubts, and two parts become one group if at least half of the
pairs between them were found. Pairs that lead from one group to another remain (`TuneGroup.outside`). Copies of a
melody count once: their pairs repeat what one comparison found.

The stability of a group is the share of its members' pairs that would still be in one group at a level ten times as
strict: 1 for a group that no doubt can split. A weak link is a pair that alone (or with its copies) holds two parts of
its group together (a bridge of its graph), and that a level ten times as strict would not find.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from roslin.types import Flags, Floats, Numbers

STRICTER = 10.0
_MET = 0.5  # the share of the pairs between two parts without which they stay apart


@dataclass(frozen=True, slots=True)
class WeakLink:
    """A pair that alone holds a group together, and how many members are on each side of it."""

    pair: int  # its place among all pairs
    sides: tuple[int, int]
    copies: tuple[int, ...] = ()  # places of the pairs that repeat it, between copies of the two


@dataclass(frozen=True, slots=True, eq=False)
class TuneGroup:
    """Melodies that are one tune. `members` and `pairs` are in rising order. `doubt` is that of its weakest pair."""

    members: Numbers
    pairs: Numbers  # their places among all pairs
    outside: Numbers  # places of the pairs that lead to other groups
    doubt: float
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
    first: Numbers,
    second: Numbers,
    doubts: Floats,
    level: float,
    stricter: float = STRICTER,
    is_copy: Flags | None = None,
) -> list[TuneGroup]:
    """The groups that pairs make, by their smallest member.

    `doubts`: of each pair, at most the level (`certainty`). `is_copy`: of each pair, whether its melodies are copies of
    each other.
    """
    if not len(first):
        return []
    melodies = np.unique(np.concatenate([first, second]))
    copies = np.zeros(len(first), dtype=bool) if is_copy is None else is_copy
    kind = connected(melodies, first[copies], second[copies])  # copies are one
    kinds = kind[np.searchsorted(melodies, first)], kind[np.searchsorted(melodies, second)]
    part = grown(kind, *kinds, doubts)
    strict = doubts <= level / stricter
    strictly = connected(melodies, first[strict], second[strict])
    parts = part[np.searchsorted(melodies, first)], part[np.searchsorted(melodies, second)]
    within, leaving = parts[0] == parts[1], np.flatnonzero(parts[0] != parts[1])
    pairs_of = _by_part(np.flatnonzero(within), parts[0][within])
    outside = _by_part(np.concatenate([leaving, leaving]), np.concatenate([each[leaving] for each in parts]))
    found = []
    for smallest, members in _by_part(np.arange(len(melodies)), part).items():
        if smallest not in pairs_of:  # what stayed alone is no group
            continue
        pairs = pairs_of[smallest]
        _, sizes = np.unique(strictly[members], return_counts=True)
        found.append(
            TuneGroup(
                melodies[members],
                pairs,
                outside.get(smallest, np.empty(0, np.int64)),
                doubt=float(doubts[pairs].max()),
                stability=int((sizes * (sizes - 1)).sum()) / max(len(members) * (len(members) - 1), 1),
                weak_links=tuple(_weak_links(pairs, kind[members], kinds, strict)),
            )
        )
    return found


def grown(kind: Numbers, first: Numbers, second: Numbers, doubts: Floats) -> Numbers:
    """The group of each melody, as the smallest of its members. Its own number where it stays alone.

    `kind`: of each melody, the smallest of its copies. Pairs are those of kinds, and may be repeated.
    """
    order = np.lexsort((np.maximum(first, second), np.minimum(first, second), doubts))
    order = order[first[order] != second[order]]
    ends = np.minimum(first, second)[order], np.maximum(first, second)[order]
    links = list(dict.fromkeys(zip(ends[0].tolist(), ends[1].tolist(), strict=True)))
    head = {int(each): int(each) for each in np.unique(kind)}
    inside = {each: [each] for each in head}
    met: dict[int, Counter[int]] = {each: Counter() for each in head}
    for one, two in links:
        met[one][two] += 1
        met[two][one] += 1
    is_growing = True
    while is_growing:  # what was too little for two parts may be enough for what they have become
        is_growing = False
        for one, two in links:
            kept, gone = head[one], head[two]
            if kept == gone or met[kept][gone] < _MET * len(inside[kept]) * len(inside[gone]):
                continue
            if len(inside[kept]) < len(inside[gone]):
                kept, gone = gone, kept
            for each in inside[gone]:
                head[each] = kept
            inside[kept] += inside.pop(gone)
            for other, count in met.pop(gone).items():
                met[other][kept] += count
                met[kept][other] += count
                del met[other][gone]
            del met[kept][kept]
            is_growing = True
    smallest = {each: min(members) for members in inside.values() for each in members}
    return np.array([smallest[each] for each in kind.tolist()], dtype=np.int64)


def _by_part(places: Numbers, parts: Numbers) -> dict[int, Numbers]:
    order = np.lexsort((places, parts))
    starts = np.flatnonzero(np.diff(parts[order], prepend=-1))
    return {int(parts[each[0]]): places[each] for each in np.split(order, starts[1:]) if len(each)}


def _weak_links(pairs: Numbers, kind: Numbers, ends: tuple[Numbers, Numbers], strict: Flags) -> Iterator[WeakLink]:
    if len(kind) == 2:  # a pair, perhaps of copies
        yield from () if strict[pairs[0]] else (WeakLink(int(pairs[0]), (1, 1)),)
        return
    kinds, sizes = np.unique(kind, return_counts=True)
    repeated: dict[tuple[int, int], list[int]] = {}
    for pair, one, two in zip(pairs.tolist(), ends[0][pairs].tolist(), ends[1][pairs].tolist(), strict=True):
        if one != two:
            repeated.setdefault((min(one, two), max(one, two)), []).append(pair)
    links, linked = list(repeated.values()), np.array(list(repeated), np.int64).reshape(-1, 2)
    for link, sides in bridges(kinds, linked[:, 0], linked[:, 1], sizes):
        pair, *copies = links[link]
        if not strict[pair]:
            yield WeakLink(pair, sides, tuple(copies))


def bridges(
    members: Numbers, first: Numbers, second: Numbers, sizes: Numbers | None = None
) -> Iterator[tuple[int, tuple[int, int]]]:
    """The links without which a connected graph falls apart, and the sizes of its two parts (Tarjan 1974).

    `sizes`: what each member counts. Without recursion: a group may have thousands of members.
    """
    place = {int(member): k for k, member in enumerate(members)}
    beside: list[list[tuple[int, int]]] = [[] for _ in members]
    for link, (one, two) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        beside[place[one]].append((place[two], link))
        beside[place[two]].append((place[one], link))
    seen, lowest = [-1] * len(members), [0] * len(members)
    size = [1] * len(members) if sizes is None else sizes.tolist()
    total = sum(size)
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
                yield came_by, (size[member], total - size[member])
