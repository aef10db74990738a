"""From what a file asks for to the plan: every query with its candidates, and the practice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from roslin.api import Collection, Selection
from roslin.collection.asked import ASKED, NEAR, asked_filters, metadata_of
from roslin.collection.filters import Filter, FilterReport
from roslin.display.text import counted
from roslin.evaluate.disagreement import rank_spread
from roslin.experiment.material import Material, MelodyMaterial
from roslin.experiment.plan import SIZES, Item, Practice, StudyPlan, StudyRules, Task, most_comparisons
from roslin.experiment.reading import QueryWish, StudyDraft
from roslin.experiment.toml_table import TomlTable
from roslin.matchers import DEFAULT_MATCHER
from roslin.matchers import matcher as matcher_of
from roslin.melody import Melody
from roslin.notation import pae
from roslin.represent.edits import EditCosts, parse_costs
from roslin.represent.strings import chromatic_string, rhythm_string
from roslin.types import Progress

POOL_COLUMNS = ("query", "document", "title", "composer", "why")

PoolRow = Mapping[str, str]
"""Why a candidate is there, by `POOL_COLUMNS`."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A whole plan, what to say about it, why each pooled candidate is there, and the text that asked for all that."""

    plan: StudyPlan
    notes: tuple[str, ...]
    pool: tuple[PoolRow, ...]
    source: str


def planned(
    draft: StudyDraft,
    material: Material,
    kept: Mapping[str, Sequence[PoolRow]],
    progress: Progress,
) -> Planned:
    """The plan of a file. `kept` are pools that stay as they are, by query."""
    tasks: list[Task] = []
    notes: list[str] = []
    rows: list[PoolRow] = []
    for place, wish in enumerate(draft.queries):
        progress(place / len(draft.queries), f"candidates of {wish.id}")
        query = _query_item(wish, material)
        ids, said = wish.candidates, ""
        if wish.pool is not None and isinstance(material, MelodyMaterial):
            if wish.id in kept:
                found, said = (
                    list(kept[wish.id]),
                    f"the pool stays as it is: {counted(len(kept[wish.id]), 'candidate')}.",
                )
            else:
                found, said = _pooled(wish, material, hides_query=draft.hides_query)
            ids = tuple(row["document"] for row in found)
            rows += found
        candidates = [material.item(id, wish.table, "candidates") for id in ids if id != query.id]
        if draft.hides_query or query.id in ids:
            candidates.insert(0, query)
        at_once = SIZES.get(draft.plan.rules.design, 2)
        if len(candidates) < at_once:
            raise wish.table.error("", "too few candidates to compare", f"{at_once} or more", len(candidates))
        tasks.append(Task(query, tuple(candidates)))
        notes.append(f"{query.id}: {said or _by_name(tasks[-1])}{_possible(draft.plan.rules, len(candidates))}")
    plan = replace(draft.plan, tasks=tuple(tasks), practice=_practice(draft, material))
    if plan.rules.keeps_participant:
        notes.append("The ids that participants bring along are kept: the consent must say so.")
    if draft.ships_texts and not isinstance(material, MelodyMaterial):
        notes.append("The texts that come with Roslin speak of melodies: write your own.")
    return Planned(plan, tuple(notes), tuple(rows), draft.material.source)


def _pooled(wish: QueryWish, material: MelodyMaterial, *, hides_query: bool) -> tuple[list[PoolRow], str]:
    assert wish.pool is not None
    melody = material.melodies[wish.id]
    pool = pooled(material.collection, melody, read_pool(wish.pool, melody), wish.pool, hides_query=hides_query)
    return [_row(wish.id, material.collection[id], reasons) for id, reasons in pool.why.items()], pool.sentence


def _row(query: str, melody: Melody, reasons: Sequence[str]) -> PoolRow:
    values = (query, melody.id, melody.title, melody.composer, " ".join(reasons))
    return {name: value or "" for name, value in zip(POOL_COLUMNS, values, strict=True)}


def _by_name(task: Task) -> str:
    others = sum(item != task.query for item in task.candidates)
    itself = ", and the query itself" if task.query in task.candidates else ""
    return f"{counted(others, 'candidate')} by name{itself}."


def _possible(rules: StudyRules, candidates: int) -> str:
    """What to say where fewer comparisons can be made than were asked for."""
    possible = most_comparisons(candidates, SIZES.get(rules.design, 2))
    if rules.design == "ranking" or possible >= rules.comparisons:
        return ""
    return f" Of the {rules.comparisons} comparisons only {possible} can be made: nobody compares two candidates twice."


def _query_item(wish: QueryWish, material: Material) -> Item:
    if not isinstance(material, MelodyMaterial):
        if wish.notation:
            raise wish.table.error("notation", "is for melodies", "an id of the table")
        if wish.pool is not None:
            raise wish.table.error("pool", "is for melodies", "candidates = [...]")
        return material.item(wish.id, wish.table, "id")
    if wish.notation:
        return material.written(wish.id, wish.notation, wish.table)
    return material.item(wish.id, wish.table, "id")


def _practice(draft: StudyDraft, material: Material) -> Practice | None:
    table = draft.practice
    if table.yes("skip", otherwise=False):
        return None
    if "query" in table:
        expected = {str(id): str(verdict) for id, verdict in table.values["expected"].items()}
        query = material.item(table.text("query"), table, "query")
        candidates = [material.item(id, table, "expected") for id in expected]
        return Practice(Task(query, tuple(candidates)), expected)
    if not isinstance(material, MelodyMaterial):
        return None
    melodies, expected = usual_practice()
    for id in melodies:
        if id in material.melodies:
            raise draft.practice.error("", "an id of the practice is one of the study", "another id", id)
    items = {id: material.take(id, melody) for id, melody in melodies.items()}
    return Practice(Task(items.pop(PRACTICE_QUERY), tuple(items.values())), expected)


# -- practice ----------------------------------------------------------------------------------------------------------
#
# The practice that comes with Roslin: a nursery tune in our own setting, in disguises, among tunes that are others.


PRACTICE_QUERY = "practice-query"
# "Hänschen klein" (traditional); among the others "Der Winter ist vergangen" (traditional).
_QUERY = "%G-2@c '4GE2E/4FD2D/4CDEF/4GG2G//"
_CANDIDATES = {
    "practice-higher": ("resembles", "%G-2$xFC@c '4AF2F/4GE2E/4DEFG/4AA2A//"),
    "practice-decorated": ("resembles", "%G-2@c '8GFEFE2E/8FEDED2D/8CEDFEGFA/4GG2G//"),
    "practice-longer": ("resembles", "%G-2@c '4.G8E2E/4.F8D2D/4.C8DEDEF/4GG2G//"),
    "practice-call": ("no", "%G-2@6/8 '8C/4E8G4''C'8G/4E8G4.E/4D8F4A8F/4.D4D//"),
    "practice-winter": ("no", "%G-2$bB@3/4 '4C/FFG/A2F/4AB''C/'2A4A//"),
    "practice-scale": ("no", "%G-2@3/4 ''4C'BA/GFE/2D4G/2.C//"),
}


def usual_practice() -> tuple[dict[str, Melody], dict[str, str]]:
    """The melodies of the practice, the query first, and what most people would say of each candidate."""
    query = {PRACTICE_QUERY: _QUERY} | {id: text for id, (_, text) in _CANDIDATES.items()}
    melodies = {id: pae.read(text).with_metadata(id=id) for id, text in query.items()}
    return melodies, {id: expected for id, (expected, _) in _CANDIDATES.items()}


# -- pool --------------------------------------------------------------------------------------------------------------
#
# Candidates for a query, found as the authors of paper 002 found theirs (section 3.1), without a hand at the end.
#
# 1. Filters leave what may resemble the query (its eight features, `collection/asked.py`). 2. Whatever other ways find
# is added, filtered out or not: words in a title, the first of several systems. 3. What is identical with another
# candidate, or part of it, goes: nobody is asked the same question twice. 4. The authors then took out by hand what was
# very different, until about fifty were left. Here the systems take turns:
#    each in its turn keeps the nearest that is not kept yet. What was found by words, what is named in the file, and
#    where the systems disagree most is kept before.
#
# Where systems disagree most there is most to learn from people; `disagreement` says how many of these are kept.


_FIRST = 10  # of a system whose number is not given
_MOST = 50
_DEPTH = 2  # lists are so many times longer than the pool: copies take places, and a list may miss what others find
_TOO_MANY = 5_000  # the authors filtered until fewer than 300 were left


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
    pooling = _Pooling(collection, query, wish, table, hides_query)
    pooling.filter()
    pooling.add_by_words()
    pooling.add_by_systems()
    pooling.add_by_name()
    kept = pooling.cut(pooling.left_in(pooling.distinct()))
    story = pooling.story
    if len(kept) < 2:
        raise table.error("", f"the pool has {counted(len(kept), 'candidate')}", "at least 2", " ".join(story))
    itself = ", and the query itself" if hides_query else ""
    story.append(f"{counted(len(kept), 'candidate')}{itself}.")
    return Pool({id: tuple(pooling.why[id]) for id in kept}, " ".join(story))


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


# -- pooling --------------------------------------------------------------------------------------------------------


class _Pooling:
    """A pool in the making: why each candidate is in it, in the order in which they came, and the story so far."""

    def __init__(self, collection: Collection, query: Melody, wish: PoolWish, table: TomlTable, hides_query: bool):
        self.collection, self.query, self.wish, self.table = collection, query, wish, table
        self.why: dict[str, list[str]] = {}
        self.chosen: set[str] = set(wish.add)  # what is not cut away at the end
        self.story = [f"{counted(len(collection), 'melody', 'melodies')}."]
        self.hidden = _letters(query) if hides_query else []
        self.parts_of_query: dict[str, bool] = {}

    def filter(self) -> None:
        """What the filters leave."""
        if not self.wish.filters:
            return
        found = self.collection.filter(*self.wish.filters)
        self.story += [f"{step.sentence} {step.left:,} left." for step in found.report.steps]
        if len(found) > _TOO_MANY:
            raise self.table.error("", "the filters leave too many", f"{_TOO_MANY:,} at most, better 300", len(found))
        self._add(found.ids, "Passed the filters.")

    def add_by_words(self) -> None:
        """What has certain words."""
        for way in self.wish.words:
            ids = self.collection.filter(way).ids
            if len(ids) > _TOO_MANY:
                raise self.table.error("also", "too many have these words", f"{_TOO_MANY:,} at most", len(ids))
            self.story.append(f"{self._add(ids, way.sentence)} added: {way.sentence}")
            self.chosen |= set(ids)

    def add_by_systems(self) -> None:
        """What each system finds first in the whole collection, and where they disagree most."""
        lists = {name: self._found_by(name, first) for name, first in self.wish.matchers.items()}
        for name, first in self.wish.matchers.items():
            ids = self._first(lists[name], first)
            added = sum(self._add([id], f"Rank {rank} of {name}.") for rank, id in enumerate(ids, start=1))
            self.story.append(f"{added} added by {name}, of its first {len(ids)}.")
        if not self.wish.disagreement:
            return
        ranks = _ranks(lists)
        missing = 1 + max(map(len, lists.values()))
        apart = sorted(ranks, key=lambda id: (-round(rank_spread(ranks[id].values(), missing), 9), id))
        most = self._first(apart, self.wish.disagreement)
        added = 0
        for id in most:
            said = ", ".join(f"{name} {rank or '-'}" for name, rank in ranks[id].items())
            added += self._add([id], f"The systems disagree: {said}.")
        new = f"; {added} of them new" if added else ""
        self.story.append(f"The {len(most)} about which {', '.join(lists)} disagree most stay in any case{new}.")
        self.chosen |= set(most)

    def add_by_name(self) -> None:
        """What is named in the file."""
        for id in self.wish.add:
            self._check_known("add", id)
            if id == self.query.id:
                expected = "query_among_candidates = true, if it is to be there"
                raise self.table.error("add", "this is the query", expected, id)
        self._add(self.wish.add, "Named in the file.")

    def distinct(self) -> list[str]:
        """Without what is identical with another, or part of it. What is named in the file stays."""
        left = set(self._distinct(list(self.why)))
        kept = [id for id in self.why if id in left or id in self.wish.add]
        if self.wish.unique != "no":
            self.story.append(f"{len(self.why) - len(kept)} removed: identical with another, or part of it.")
        return kept

    def left_in(self, ids: Sequence[str]) -> list[str]:
        """Without what the file leaves out."""
        for id in self.wish.leave_out:
            self._check_known("leave_out", id)
        kept = [id for id in ids if id not in self.wish.leave_out]
        if self.wish.leave_out:
            self.story.append(f"{len(ids) - len(kept)} left out by name.")
        return kept

    def cut(self, ids: Sequence[str]) -> list[str]:
        """At most so many: those that were chosen, then each system in turn its nearest."""
        if len(ids) <= self.wish.most:
            return list(ids)
        kept = dict.fromkeys(id for id in ids if id in self.chosen)
        if len(kept) > self.wish.most:
            reason = "more than that were found by words, by name or by disagreement"
            raise self.table.error("most", reason, f"{len(kept)} or more", self.wish.most)
        numbers = np.sort(self.collection.numbers(ids))
        systems = list(self.wish.matchers) or [DEFAULT_MATCHER]
        lists = [self.collection.search(self.query, name, len(ids), within=numbers).ids for name in systems]
        in_turn = [id for places in zip_longest(*lists) for id in places if id is not None]
        for id in in_turn:
            if len(kept) >= self.wish.most:
                break
            kept.setdefault(id)
        names = ", ".join(systems) + " in turn" * (len(systems) > 1)
        self.story.append(f"{len(ids) - len(kept)} removed: the furthest from the query by {names}.")
        return list(kept)

    def _add(self, ids: Iterable[str], reason: str) -> int:
        """Note a reason for each; how many were not in the pool before."""
        before = len(self.why)
        for id in ids:
            if id != self.query.id:
                self.why.setdefault(id, []).append(reason)
        return len(self.why) - before

    def _found_by(self, name: str, first: int) -> list[str]:
        depth = _DEPTH * max(first, self.wish.most)
        with self.table.blaming("matchers"):
            return self.collection.search(self.query, name, depth, exclude=(str(self.query.id),)).ids

    def _first(self, ids: Sequence[str], wanted: int) -> list[str]:
        """The beginning of a list that has so many different melodies: copies of one take no places of others."""
        length = wanted
        while length < len(ids) and (lacking := wanted - len(self._distinct(ids[:length]))) > 0:
            length += lacking
        return list(ids[:length])

    def _distinct(self, ids: Sequence[str]) -> list[str]:
        if self.wish.unique == "no":
            return list(ids)
        all_of_them = FilterReport(len(self.collection), (), np.sort(self.collection.numbers(ids)))
        selection = Selection(self.collection, all_of_them, self.collection.about["token"])
        left = selection.without_near_duplicates(exact_rhythm=self.wish.unique == "exactly").ids
        return [id for id in left if not self._is_part_of_query(id)]

    def _is_part_of_query(self, id: str) -> bool:
        """Whether an expert who finds the query among the candidates would be asked about it again."""
        if id not in self.parts_of_query:
            part = _letters(self.collection[id]) if self.hidden else []
            starts = range(len(self.hidden) - len(part) + 1) if part else range(0)
            self.parts_of_query[id] = any(self.hidden[start : start + len(part)] == part for start in starts)
        return self.parts_of_query[id]

    def _check_known(self, key: str, id: str) -> None:
        if id not in self.collection:
            raise self.table.error(key, f"no melody of {self.collection.path.name}", "the id of one", id)


def _ranks(lists: Mapping[str, Sequence[str]]) -> dict[str, dict[str, int | None]]:
    """The rank of every document in each list, None where a list lacks it."""
    places = {name: {id: rank for rank, id in enumerate(ids, start=1)} for name, ids in lists.items()}
    documents = dict.fromkeys(id for ids in lists.values() for id in ids)
    return {id: {name: place.get(id) for name, place in places.items()} for id in documents}


def _letters(melody: Melody) -> list[str]:
    """Interval and rhythm of each pair of notes, which is what decides whether two melodies are the same."""
    return [*map("".join, zip(chromatic_string(melody), rhythm_string(melody), strict=True))]
