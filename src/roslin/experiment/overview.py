"""How far a study is: people, trials, times and failed checks, counted. No page around it, and no database."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from roslin.display.table import Table
from roslin.experiment import clock
from roslin.experiment.events import DECIDED, HOUR_MS, Event, Position, is_complete, position_of
from roslin.experiment.experts import StudyExpert
from roslin.experiment.plan import StudyPlan
from roslin.experiment.results import History, TrialRecord, trial_records

__all__ = ["PersonProgress", "QueryProgress", "StudyOverview", "overview_of"]

_STUCK_MS = 3 * HOUR_MS  # who began and is silent for so long


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """One query: opinions given, being given and wanted; the times of its trials; checks shown and failed."""

    query: str
    finished: int
    running: int
    quota: int
    seconds: tuple[float, ...]
    checks: int
    failed: int

    @property
    def median_seconds(self) -> float | None:
        """Half of the trials took longer, pauses left out."""
        return median(self.seconds) if self.seconds else None


@dataclass(frozen=True, slots=True)
class PersonProgress:
    """One expert. `silent_ms`: since their last event; None: they never came."""

    expert: StudyExpert
    position: Position
    of: int
    silent_ms: int | None
    is_turned_away: bool
    is_stuck: bool
    checks: int
    failed: int
    seconds: float

    @property
    def words(self) -> str:
        """Where they stand."""
        if self.silent_ms is None:
            return "has not come yet"
        if self.position.stage == "done":
            return "done"
        if self.is_turned_away:
            return "turned away"
        return {
            "consent": "before the consent",
            "questions": "at the questions",
            "instructions": "at the instructions",
            "practice": "in the practice",
        }.get(self.position.stage, f"trial {self.position.trial} of {self.of}")


@dataclass(frozen=True, slots=True)
class StudyOverview:
    """The study as a whole."""

    queries: tuple[QueryProgress, ...]
    people: tuple[PersonProgress, ...]
    funnel: tuple[tuple[str, int], ...]
    days: tuple[tuple[str, int], ...]  # trials finished on each day with any, in UTC
    withdrawn: int
    made_ms: int

    @property
    def finished(self) -> int:
        """Trials that count."""
        return sum(each.finished for each in self.queries)

    @property
    def wanted(self) -> int:
        """Trials that the quota asks for."""
        return sum(each.quota for each in self.queries)

    @property
    def median_seconds(self) -> float | None:
        """Half of all trials took longer, pauses left out."""
        times = [seconds for each in self.queries for seconds in each.seconds]
        return median(times) if times else None

    @property
    def stuck(self) -> tuple[PersonProgress, ...]:
        """Who began and is silent, the longest first."""
        found = [person for person in self.people if person.is_stuck]
        return tuple(sorted(found, key=lambda person: -(person.silent_ms or 0)))

    @property
    def on_the_way(self) -> int:
        """How many have begun and not judged everything that there was for them."""
        return sum(each.position.stage != "done" and each.position.sequence > 0 for each in self.people)

    @property
    def table(self) -> Table:
        """A row for each query."""
        rows = [
            {
                "query": each.query,
                "finished": each.finished,
                "running": each.running,
                "quota": each.quota,
                "median_seconds": each.median_seconds,
                "checks": each.checks,
                "failed": each.failed,
            }
            for each in self.queries
        ]
        columns = ("query", "finished", "running", "quota", "median_seconds", "checks", "failed")
        return Table(columns, tuple(rows), "Queries", key="queries")

    @property
    def funnel_table(self) -> Table:
        """A row for each step on the way."""
        rows = tuple({"step": words, "experts": count} for words, count in self.funnel)
        return Table(("step", "experts"), rows, "How far people come", key="funnel")

    @property
    def people_table(self) -> Table:
        """A row for each expert."""
        rows = [
            {
                "expert": each.expert.label,
                "source": each.expert.source,
                "where": each.words,
                "finished": each.position.finished,
                "seconds": each.seconds,
                "silent_hours": None if each.silent_ms is None else each.silent_ms / HOUR_MS,
                "stuck": "yes" if each.is_stuck else "no",
                "checks": each.checks,
                "failed": each.failed,
            }
            for each in self.people
        ]
        columns = ("expert", "source", "where", "finished", "seconds", "silent_hours", "stuck", "checks", "failed")
        return Table(columns, tuple(rows), "People", key="people")

    @property
    def careless(self) -> tuple[PersonProgress, ...]:
        """Who mostly did not put the query first."""
        return tuple(person for person in self.people if person.checks and 2 * person.failed > person.checks)


def overview_of(
    plan: StudyPlan, histories: Sequence[History], withdrawn: int = 0, now: int | None = None
) -> StudyOverview:
    """Count everything, as of now (milliseconds since 1970)."""
    at = clock.now_ms() if now is None else now
    records = list(trial_records(histories, unfinished=True))
    of_query: dict[str, list[TrialRecord]] = {task.query.id: [] for task in plan.tasks}
    of_expert: dict[str, list[TrialRecord]] = {expert.name: [] for expert, _ in histories}
    for record in records:
        of_query[record.state.query].append(record)
        of_expert[record.expert.name].append(record)
    abandoned = at - plan.rules.abandoned_hours * HOUR_MS
    days = Counter(
        time.strftime("%Y-%m-%d", time.gmtime(record.finished_ms / 1000))
        for record in records
        if record.finished_ms is not None
    )
    return StudyOverview(
        tuple(_query(query, plan, own, abandoned) for query, own in of_query.items()),
        tuple(_person(plan, expert, told, of_expert[expert.name], at) for expert, told in histories),
        tuple(_funnel(plan, histories)),
        tuple(sorted(days.items())),
        withdrawn,
        at,
    )


def _query(query: str, plan: StudyPlan, records: Sequence[TrialRecord], abandoned: float) -> QueryProgress:
    finished = [each for each in records if each.state.is_finished]
    running = [
        each
        for each in records
        if not each.state.is_finished
        and each.own[-1].time_ms >= abandoned
        and any(event.kind in DECIDED for event in each.own)
    ]
    checks = [each.attention for each in finished if each.attention is not None]
    seconds = tuple(each.active_seconds for each in finished)
    return QueryProgress(
        query, len(finished), len(running), plan.rules.quota, seconds, len(checks), checks.count(False)
    )


def _person(
    plan: StudyPlan, expert: StudyExpert, told: Sequence[Event], records: Sequence[TrialRecord], at: int
) -> PersonProgress:
    position = position_of(told, plan, told[-1].time_ms if told else at)
    silent = at - told[-1].time_ms if told else None
    is_turned_away = bool(told) and told[-1].kind == "turned_away"
    checks = [each.attention for each in records if each.attention is not None]
    return PersonProgress(
        expert,
        position,
        min(plan.rules.queries_per_expert, len(plan.tasks)),
        silent,
        is_turned_away,
        silent is not None and silent > _STUCK_MS and position.stage != "done" and not is_turned_away,
        len(checks),
        checks.count(False),
        sum(each.active_seconds for each in records),
    )


def _funnel(plan: StudyPlan, histories: Iterable[History]) -> Iterable[tuple[str, int]]:
    """How many came how far."""
    steps: list[tuple[str, str]] = [("agreed", "consented")]
    steps += [("answered the questions", "answered")] if plan.questions else []
    steps += [("read the instructions", "read")]
    steps += [("finished the practice", "practised")] if plan.practice else []
    steps += [("began a query", "began"), ("finished a query", "finished"), ("did everything", "completed")]
    counts: Counter[str] = Counter()
    people = 0
    for _expert, told in histories:
        people += 1
        kinds = {event.kind for event in told if event.kind not in ("began", "finished") or event.trial > 0}
        counts.update(kinds if is_complete(told) else kinds - {"completed"})
    yield "invited", people
    for words, kind in steps:
        yield words, counts[kind]
