"""What a simulated expert thinks of the candidates of a query: the models of `truth.simulate`, and one with context.

  mallows, plackett-luce   an order of all candidates, drawn once for each expert and query
  context                  plackett-luce, but a candidate seems less special where others of about its level are
                           present: its rank depends on what it is compared with, which no model of strengths allows

A truth gives the level of each candidate, the most similar group first; candidates that it does not name are on the
level below the last, and do not resemble the query. Without a truth, candidates stand in the plan by falling
similarity, and the first half resembles the query. A query among its own candidates is above all others. Of their own
order an expert ranks about as many as resemble the query. A careless one says anything.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from roslin.errors import ArgumentError, UnknownNameError
from roslin.experiment.design import chance_of
from roslin.experiment.plan import StudyPlan, Task
from roslin.truth.model import Groups
from roslin.truth.simulate import MODELS

__all__ = ["BOT_MODELS", "Opinion", "Population", "levels_of"]

BOT_MODELS = (*MODELS, "context")
_CROWDING = 4.0  # places that a candidate loses where all others are of about its level
_SURE = 0.95  # of those that resemble the query by their level, the share that an expert takes for such


def levels_of(task: Task, groups: Groups | None) -> tuple[dict[str, int], int]:
    """The level of every candidate, 0 for the most similar, and the first level that does not resemble the query."""
    own = [task.query.id] if task.query.id in task.ids else []
    others = [id for id in task.ids if id not in own]
    if groups is None:
        levels = {id: level for level, id in enumerate([*own, *others])}
        return levels, -(-len(levels) // 2)
    ranked = [own, *groups] if own else list(groups)
    known = {id: level for level, group in reversed(list(enumerate(ranked))) for id in group}
    return {id: known.get(id, len(ranked)) for id in [*own, *others]}, len(ranked)


@dataclass(frozen=True, slots=True)
class Opinion:
    """Of one expert about the candidates of one query. `merits`: larger is more similar."""

    merits: Mapping[str, float]
    levels: Mapping[str, int]
    verdicts: Mapping[str, str]
    crowding: float = 0.0

    def merit(self, document: str, present: Collection[str]) -> float:
        """How similar a candidate seems beside others."""
        others = [id for id in present if id != document]
        near = sum(abs(self.levels[id] - self.levels[document]) <= 1 for id in others)
        return self.merits[document] - self.crowding * near / max(len(others), 1)

    def is_better(self, first: str, second: str, present: Collection[str] = ()) -> bool:
        """Whether one candidate seems more similar than another."""
        seen = {first, second, *present}
        return self.merit(first, seen) > self.merit(second, seen)

    def best(self, documents: Sequence[str]) -> str:
        """The most similar one of those shown."""
        return max(documents, key=lambda id: self.merit(id, documents))


@dataclass(frozen=True, slots=True)
class Population:
    """Experts of one kind. `noise` as in `truth.simulate`: 0, all are right; 1, anything goes."""

    plan: StudyPlan
    truth: Mapping[str, Groups] | None = None
    model: str = "mallows"
    noise: float = 0.5
    seed: int = 2005

    def __post_init__(self) -> None:
        if self.model not in BOT_MODELS:
            raise UnknownNameError("model", self.model, BOT_MODELS)
        if not 0 <= self.noise <= 1:
            raise ArgumentError(f"noise must lie between 0 and 1; got {self.noise!r}")

    def opinion(self, expert: object, task: Task, is_careless: bool = False) -> Opinion:
        """What an expert thinks; the same one thinks the same of a query whenever asked."""
        chance = chance_of(self.seed, expert, task.query.id)
        levels, end = levels_of(task, None if self.truth is None else self.truth.get(task.query.id, ()))
        ids, found = list(levels), np.array(list(levels.values()), dtype=np.int64)
        size, resembling = len(ids), int(np.count_nonzero(found < end))
        model = MODELS["plackett-luce" if self.model == "context" else self.model]
        order = chance.permutation(size) if is_careless else model(chance, 1, found, self.noise)[0]
        merits = {ids[k]: float(size - place) for place, k in enumerate(order)}
        if is_careless:
            ranked = int(chance.integers(size + 1))
        else:
            ranked = max(int(chance.binomial(resembling, _SURE)), min(1, size))
        verdicts = {ids[k]: "resembles" if place < ranked else "no" for place, k in enumerate(order)}
        for k in order[ranked : ranked + 2]:  # what comes next may be, but is not worth a place
            verdicts[ids[k]] = "perhaps"
        return Opinion(merits, levels, verdicts, _CROWDING if self.model == "context" else 0.0)
