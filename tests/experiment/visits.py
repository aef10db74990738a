"""Visits of simulated participants under stress: their habits, the result of each, and an audit of the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from roslin.experiment.bots import Opinion
from roslin.experiment.store import EventStore

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


def is_better(opinion: Opinion, first: str, second: str, present: Collection[str] = ()) -> bool:
    """Whether one candidate seems more similar than another."""
    seen = {first, second, *present}
    return opinion.merit(first, seen) > opinion.merit(second, seen)
