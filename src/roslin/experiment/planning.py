"""From what a file asks for to the plan: every query with its candidates, and the practice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from roslin.display.text import counted
from roslin.experiment.material import Material, MelodyMaterial
from roslin.experiment.plan import SIZES, Item, Practice, StudyPlan, StudyRules, Task, most_comparisons
from roslin.experiment.pool import pooled, read_pool
from roslin.experiment.practice import PRACTICE_QUERY, usual_practice
from roslin.experiment.reading import QueryWish, StudyDraft
from roslin.melody import Melody
from roslin.search.work import Progress

__all__ = ["POOL_COLUMNS", "Planned", "PoolRow", "planned"]

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
