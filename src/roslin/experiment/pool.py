"""Candidates for a query, found as the authors of paper 002 found theirs (section 3.1), without a hand at the end.

1. Filters leave what may resemble the query (its eight features, `collection/asked.py`).
2. Whatever other ways find is added, filtered out or not: words in a title, the first of several systems.
3. What is identical with another candidate, or part of it, goes: nobody is asked the same question twice.
4. The authors then took out by hand what was very different, until about fifty were left. Here the systems take turns:
   each in its turn keeps the nearest that is not kept yet. What was found by words, what is named in the file, and
   where the systems disagree most is kept before.

Where systems disagree most there is most to learn from people; `disagreement` says how many of these are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from roslin.api import Collection, Selection
from roslin.collection.asked import ASKED, NEAR, asked_filters, metadata_of
from roslin.collection.filters import Filter, FilterReport
from roslin.display.text import counted
from roslin.evaluate.disagreement import rank_spread
from roslin.experiment.toml_table import TomlTable
from roslin.matchers import DEFAULT_MATCHER
from roslin.matchers import matcher as matcher_of
from roslin.melody import Melody
from roslin.represent.edits import EditCosts, parse_costs
from roslin.represent.strings import chromatic_string, rhythm_string

__all__ = ["Pool", "PoolWish", "pooled", "read_pool"]

_FIRST = 10  # of a system whose number is not given
_MOST = 50
_TOO_MANY = 5_000  # the authors filtered until fewer than 300 were left

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class PoolWish:
    """How the candidates of one query are found."""

    filters: tuple[Filter, ...]
    words: tuple[Filter, ...]
    matchers: dict[str, int]  # how many of the first of each
    disagreement: int
    add: tuple[str, ...]
    leave_out: tuple[str, ...]
    unique: str  # "yes", "exactly" or "no"
    most: int


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of a query by id, why each is there, and how they came about in a few sentences."""

    why: dict[str, tuple[str, ...]]
    sentence: str


def read_pool(table: TomlTable, query: Melody) -> PoolWish:
    """The wish that a table of the file is."""
    filters = tuple(_filters(table, query))
    words = tuple(_words(table))
    matchers = _matchers(table)
    disagreement = table.whole("disagreement", 0, least=0)
    if disagreement and len(matchers) < 2:
        raise table.error("disagreement", "needs systems that disagree", "at least two matchers", len(matchers))
    unique = table.values.get("unique", True)
    if unique not in (True, False, "exactly"):
        raise table.error("unique", "unknown value", 'true, false or "exactly"', unique)
    wish = PoolWish(
        filters,
        words,
        matchers,
        disagreement,
        table.texts("add", ()),
        table.texts("leave_out", ()),
        unique if isinstance(unique, str) else "yes" if unique else "no",
        table.whole("most", _MOST, least=2),
    )
    if not (wish.filters or wish.words or wish.matchers or wish.add):
        raise table.error("", "nothing says where candidates come from", "a filter, also, matchers or add")
    return wish


def pooled(collection: Collection, query: Melody, wish: PoolWish, table: TomlTable, *, hides_query: bool) -> Pool:
    """The candidates of a query, none of them the query. Where it hides among them, none is identical with it.

    `table` is where the wish stands, to say what is wrong with it.
    """
    why: dict[str, list[str]] = {}
    story: list[str] = [f"{len(collection):,} melodies."]
    found = _filtered(collection, wish, table, story)
    for id in found.ids:
        why.setdefault(id, []).append("Passed the filters.")
    chosen = _by_words(collection, wish, table, why, story)
    lists = _lists(collection, query, wish, table)
    _by_systems(wish, lists, why, story)
    chosen |= _by_disagreement(wish, lists, why, story)
    for id in wish.add:
        _check_known(collection, table, "add", id)
        why.setdefault(id, []).append("Named in the file.")
    why.pop(str(query.id), None)
    kept = _without_duplicates(collection, query, wish, [*why], story, hides_query=hides_query)
    for id in wish.leave_out:
        _check_known(collection, table, "leave_out", id)
    left_out = [id for id in kept if id in wish.leave_out]
    kept = [id for id in kept if id not in wish.leave_out]
    if left_out:
        story.append(f"Left out by name: {len(left_out)}.")
    kept = _cut(collection, query, wish, kept, chosen | set(wish.add), story)
    if len(kept) < 2:
        raise table.error("", f"the pool has {counted(len(kept), 'candidate')}", "at least 2", " ".join(story))
    story.append(f"{counted(len(kept), 'candidate')}.")
    return Pool({id: tuple(why[id]) for id in kept}, " ".join(story))


# -- reading --------------------------------------------------------------------------------------------------------


def _filters(table: TomlTable, query: Melody) -> Iterator[Filter]:
    costs: EditCosts | None = None
    if "costs" in table:
        if not any(name in table for name in NEAR):
            raise table.error("costs", "is for contour and rhythm", "contour = ... or rhythm = ...")
        with table.blaming("costs"):
            costs = parse_costs(table.text("costs"))
    if "times" in table and "motive" not in table:
        raise table.error("times", "says in how many places a motive must be", "motive = ...")
    times = table.whole("times", 2, least=2)
    for name in ASKED:
        if name in table:
            value = table.values[name]
            texts = [str(value)] if isinstance(value, (int, float)) else table.texts(name)
            with table.blaming(name):
                yield from asked_filters(name, texts, times=times, query=query, costs=costs)


def _words(table: TomlTable) -> Iterator[Filter]:
    for text in table.texts("also", ()):
        with table.blaming("also"):
            yield metadata_of(text, "also")


def _matchers(table: TomlTable) -> dict[str, int]:
    value = table.values.get("matchers", [])
    if isinstance(value, dict):
        counts = table.table("matchers", ())
        wanted = {name: counts.whole(name, None) for name in counts.values}
    else:
        wanted = dict.fromkeys(table.texts("matchers", ()), _FIRST)
    with table.blaming("matchers"):
        return {str(matcher_of(name)): first for name, first in wanted.items()}


def _check_known(collection: Collection, table: TomlTable, key: str, id: str) -> None:
    if id not in collection:
        raise table.error(key, f"no melody of {collection.path.name}", "the id of one", id)


# -- ways in --------------------------------------------------------------------------------------------------------


def _filtered(collection: Collection, wish: PoolWish, table: TomlTable, story: list[str]) -> Selection:
    if not wish.filters:
        nothing = FilterReport(len(collection), (), np.empty(0, dtype=np.int64))
        return Selection(collection, nothing, collection.about["token"])
    found = collection.filter(*wish.filters)
    story += [f"{step.sentence} {step.left:,} left." for step in found.report.steps]
    if len(found) > _TOO_MANY:
        raise table.error("", "the filters leave too many", f"{_TOO_MANY:,} at most, better 300", len(found))
    return found


def _by_words(
    collection: Collection, wish: PoolWish, table: TomlTable, why: dict[str, list[str]], story: list[str]
) -> set[str]:
    chosen: set[str] = set()
    for way in wish.words:
        ids = collection.filter(way).ids
        if len(ids) > _TOO_MANY:
            raise table.error("also", "too many have these words", f"{_TOO_MANY:,} at most", len(ids))
        story.append(f"{len(set(ids) - set(why))} added: {way.sentence}")
        for id in ids:
            why.setdefault(id, []).append(way.sentence)
        chosen |= set(ids)
    return chosen


def _lists(collection: Collection, query: Melody, wish: PoolWish, table: TomlTable) -> dict[str, list[str]]:
    """What each system finds in the whole collection."""
    found = {}
    for name, first in wish.matchers.items():
        depth = max(first, wish.most)
        with table.blaming("matchers"):
            found[name] = collection.search(query, name, depth, exclude=(str(query.id),), chance=False).ids
    return found


def _by_systems(wish: PoolWish, lists: dict[str, list[str]], why: dict[str, list[str]], story: list[str]) -> None:
    for name, first in wish.matchers.items():
        ids = lists[name][:first]
        story.append(f"{len(set(ids) - set(why))} added by {name}, of its first {len(ids)}.")
        for rank, id in enumerate(ids, start=1):
            why.setdefault(id, []).append(f"Rank {rank} of {name}.")


def _by_disagreement(
    wish: PoolWish, lists: dict[str, list[str]], why: dict[str, list[str]], story: list[str]
) -> set[str]:
    """The documents of all lists whose ranks lie furthest apart."""
    if not wish.disagreement:
        return set()
    places = [{id: rank for rank, id in enumerate(ids, start=1)} for ids in lists.values()]
    missing = 1 + max(map(len, places))
    ranks = {id: [place.get(id) for place in places] for id in {id for place in places for id in place}}
    apart = sorted(ranks, key=lambda id: (-round(rank_spread(ranks[id], missing), 9), id))[: wish.disagreement]
    story.append(
        f"{len(set(apart) - set(why))} added of the {len(apart)} about which {', '.join(lists)} disagree most."
    )
    for id in apart:
        said = ", ".join(f"{name} {rank or '-'}" for name, rank in zip(lists, ranks[id], strict=True))
        why.setdefault(id, []).append(f"The systems disagree: {said}.")
    return set(apart)


# -- ways out -------------------------------------------------------------------------------------------------------


def _without_duplicates(
    collection: Collection, query: Melody, wish: PoolWish, ids: Sequence[str], story: list[str], *, hides_query: bool
) -> list[str]:
    """Without what is identical with another, or part of it. What is named in the file stays."""
    if wish.unique == "no":
        return list(ids)
    all_of_them = FilterReport(len(collection), (), np.sort(collection.numbers(ids)))
    selection = Selection(collection, all_of_them, collection.about["token"])
    left = set(selection.without_near_duplicates(exact_rhythm=wish.unique == "exactly").ids)
    if hides_query:
        whole = _letters(query)
        left -= {id for id in left if _is_part(_letters(collection[id]), whole)}
    kept = [id for id in ids if id in left or id in wish.add]
    story.append(f"{len(ids) - len(kept)} removed: identical with another, or part of it.")
    return kept


def _letters(melody: Melody) -> list[str]:
    return [*map("".join, zip(chromatic_string(melody), rhythm_string(melody), strict=True))]


def _is_part(part: list[str], whole: list[str]) -> bool:
    return bool(part) and any(whole[start : start + len(part)] == part for start in range(len(whole)))


def _cut(
    collection: Collection, query: Melody, wish: PoolWish, ids: Sequence[str], chosen: set[str], story: list[str]
) -> list[str]:
    """At most so many: those that were chosen, then each system in turn its nearest."""
    if len(ids) <= wish.most:
        return list(ids)
    numbers = np.sort(collection.numbers(ids))
    systems = list(wish.matchers) or [DEFAULT_MATCHER]
    lists = [collection.search(query, name, len(ids), within=numbers, chance=False).ids for name in systems]
    in_turn = [id for places in zip_longest(*lists) for id in places if id is not None]
    kept = dict.fromkeys(id for id in ids if id in chosen)
    for id in in_turn:
        if len(kept) >= wish.most:
            break
        kept.setdefault(id)
    story.append(f"{len(ids) - len(kept)} removed: the furthest from the query by {', '.join(systems)} in turn.")
    return list(kept)
