"""Visits of simulated experts: how they behave, what became of them, and whether everything acknowledged was kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from roslin.display.table import Table
from roslin.errors import ArgumentError, UnknownNameError
from roslin.experiment.plan import StudyPlan, Task, chance_of
from roslin.experiment.store import EventStore
from roslin.truth.model import Groups
from roslin.truth.simulate import MODELS

HABITS = ("careless", "quit", "double", "tabs", "offline")


@dataclass(frozen=True, slots=True)
class Habits:
    """The share of experts of each kind; one may be of several. `think_seconds`: the mean before each decision."""

    careless: float = 0.0
    quit: float = 0.0
    double: float = 0.0
    tabs: float = 0.0
    offline: float = 0.0
    think_seconds: float = 0.0
    arrive_seconds: float = 0.0  # in which all come, one after the other
    patience_seconds: float = 120.0  # for a server that does not answer

    def __post_init__(self) -> None:
        for name in HABITS:
            if not 0 <= getattr(self, name) <= 1:
                raise ArgumentError(f"the share {name} must lie between 0 and 1; got {getattr(self, name)!r}")


@dataclass(slots=True)
class Visit:
    """What became of one simulated expert. `seconds`: of every request that was answered with success."""

    name: str
    kinds: tuple[str, ...]
    end: str = ""  # finished, quit, nothing left or failed
    trials: int = 0
    decisions: int = 0
    comparisons: int = 0  # of two candidates, in mind or by answers
    repeated: int = 0  # decisions that were sent again
    lost: int = 0  # requests without an answer
    receipt: str = ""
    acknowledged: dict[str, int] = field(default_factory=dict)  # the trial of every key
    refused: Counter[int] = field(default_factory=Counter)  # by status
    seconds: list[float] = field(default_factory=list)  # of requests that keep decisions
    moments: list[float] = field(default_factory=list)  # when each of these was answered, by the monotonic clock
    page_seconds: list[float] = field(default_factory=list)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Audit:
    """What the database holds of what was acknowledged. All but `acknowledged` should be 0."""

    acknowledged: int = 0
    lost: int = 0  # acknowledged, and not there
    twice: int = 0  # there more than once
    misplaced: int = 0  # there, in another trial
    gaps: int = 0  # experts whose sequence is not 1, 2, ...

    @property
    def is_bad(self) -> bool:
        """Whether anything is not as it was acknowledged."""
        return any((self.lost, self.twice, self.misplaced, self.gaps))


def audit(store: EventStore, visits: Iterable[Visit]) -> Audit:
    """Compare what was acknowledged with the log."""
    told = {expert.name: events for expert, events in store.histories()}
    acknowledged = lost = twice = misplaced = gaps = 0
    for visit in visits:
        events = told.get(visit.name, [])
        kept = Counter(event.key for event in events)
        trials = {event.key: event.trial for event in events}
        acknowledged += len(visit.acknowledged)
        lost += sum(key not in kept for key in visit.acknowledged)
        twice += sum(count - 1 for count in kept.values())
        misplaced += sum(trials.get(key, trial) != trial for key, trial in visit.acknowledged.items())
        gaps += [event.sequence for event in events] != list(range(1, len(events) + 1))
    return Audit(acknowledged, lost, twice, misplaced, gaps)


def visits_table(visits: Sequence[Visit], found: Audit, seconds: float) -> Table:
    """What happened, one line for each thing. Times are those of requests that keep decisions."""
    ends = Counter(visit.end for visit in visits)
    times = 1000 * np.array([each for visit in visits for each in visit.seconds] or [np.nan])
    refused = sum((visit.refused for visit in visits), Counter())
    rows = {
        "simulated experts": len(visits),
        **{end: ends[end] for end in ("finished", "nothing left", "quit", "failed")},
        "trials finished": sum(visit.trials for visit in visits),
        "decisions": sum(visit.decisions for visit in visits),
        "acknowledged": found.acknowledged,
        "of these lost": found.lost,
        "kept twice": found.twice,
        "in the wrong trial": found.misplaced,
        "sequences with gaps": found.gaps,
        "sent again": sum(visit.repeated for visit in visits),
        "requests without an answer": sum(visit.lost for visit in visits),
        "refused for a moment": sum(refused.values()),
        "seconds": round(seconds, 1),
        "decisions a second": round(sum(visit.decisions for visit in visits) / max(seconds, 1e-9)),
        "p50 ms": round(float(np.quantile(times, 0.5)), 1),
        "p99 ms": round(float(np.quantile(times, 0.99)), 1),
    }
    return Table(("what", "number"), tuple({"what": what, "number": number} for what, number in rows.items()))


# -- opinions ----------------------------------------------------------------------------------------------------------
#
# What a simulated expert thinks of the candidates of a query: the models of `truth.simulate`, and one with context.
#
#   mallows, plackett-luce   an order of all candidates, drawn once for each expert and query
#   context                  plackett-luce, but a candidate seems less special where others of about its level are
#                            present: its rank depends on what it is compared with, which no model of strengths allows
#
# A truth gives the level of each candidate, the most similar group first; candidates that it does not name are on the
# level below the last, and do not resemble the query. Without a truth, candidates stand in the plan by falling
# similarity, and the first half resembles the query. A query among its own candidates is above all others. Of their own
# order an expert ranks about as many as resemble the query. A careless one says anything.


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
