"""How far a study is, and what is known by now: numbers for the experimenter, without any page around them.

`overview_of` counts people, trials, times and failed checks. `findings_of` asks the truth layer for groups, how sure
they are, and what more experts would bring. Both are pure. `LiveOverview` keeps the newest of each for a study that
runs: it is made again in the background when anything has happened, so that whoever asks is answered at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from roslin.display.table import Table
from roslin.errors import ArgumentError, RoslinError
from roslin.experiment.events import Event, Position, position_of
from roslin.experiment.plan import Plan
from roslin.experiment.results import History, TrialRecord, rank_rows, trial_records, votes_of
from roslin.experiment.store import EventStore, StudyExpert, now_ms
from roslin.truth.model import Groups
from roslin.truth.model_study import study_votes
from roslin.truth.power import Neighbours
from roslin.truth.study import Study, study_rankings

__all__ = [
    "MORE_EXPERTS",
    "Findings",
    "LiveOverview",
    "PersonProgress",
    "QueryFinding",
    "QueryProgress",
    "Seen",
    "StudyOverview",
    "findings_of",
    "overview_of",
]

_HOUR_MS = 3_600_000
_STUCK_MS = 3 * _HOUR_MS  # who began and is silent for so long
_SHUFFLES = 200
MORE_EXPERTS = (0, 5, 10, 20, 50)  # for how many the separated neighbours are counted
_LOG = logging.getLogger("roslin.experiment")


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
                "silent_hours": None if each.silent_ms is None else each.silent_ms / _HOUR_MS,
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


def overview_of(plan: Plan, histories: Sequence[History], withdrawn: int = 0, now: int | None = None) -> StudyOverview:
    """Count everything, as of now (milliseconds since 1970)."""
    at = now_ms() if now is None else now
    records = list(trial_records(histories, unfinished=True))
    of_query: dict[str, list[TrialRecord]] = {task.query.id: [] for task in plan.tasks}
    of_expert: dict[str, list[TrialRecord]] = {expert.name: [] for expert, _ in histories}
    for record in records:
        of_query[record.state.query].append(record)
        of_expert[record.expert.name].append(record)
    abandoned = at - plan.rules.abandoned_hours * _HOUR_MS
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


def _query(query: str, plan: Plan, records: Sequence[TrialRecord], abandoned: float) -> QueryProgress:
    finished = [each for each in records if each.state.is_finished]
    running = [each for each in records if not each.state.is_finished and each.own[-1].time_ms >= abandoned]
    checks = [each.attention for each in finished if each.attention is not None]
    seconds = tuple(each.active_seconds for each in finished)
    return QueryProgress(
        query, len(finished), len(running), plan.rules.quota, seconds, len(checks), checks.count(False)
    )


def _person(
    plan: Plan, expert: StudyExpert, told: Sequence[Event], records: Sequence[TrialRecord], at: int
) -> PersonProgress:
    position = position_of(told, plan, told[-1].time_ms if told else at)
    silent = at - told[-1].time_ms if told else None
    checks = [each.attention for each in records if each.attention is not None]
    return PersonProgress(
        expert,
        position,
        min(plan.rules.queries_per_expert, len(plan.tasks)),
        silent,
        silent is not None and silent > _STUCK_MS and position.stage != "done",
        len(checks),
        checks.count(False),
        sum(each.active_seconds for each in records),
    )


def _funnel(plan: Plan, histories: Iterable[History]) -> Iterable[tuple[str, int]]:
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
        counts.update({event.kind for event in told if event.kind not in ("began", "finished") or event.trial > 0})
    yield "invited", people
    for words, kind in steps:
        yield words, counts[kind]


# -- what is known by now ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueryFinding:
    """What the truth layer says of one query by now."""

    query: str
    groups: Groups
    sentence: str
    agreement: str
    consistency: float | None
    apart: tuple[tuple[int, int], ...]  # (more experts, neighbours that these would tell apart)
    neighbours: int

    @property
    def outlook(self) -> str:
        """What more experts would bring, in words."""
        if not self.apart:
            return ""
        (_, now), *later = self.apart
        gains = [f"{more} more experts would tell about {count} apart" for more, count in later if count > now]
        told = f"{now} of {self.neighbours} pairs of neighbours are told apart"
        if now == self.neighbours:
            return told
        return (
            f"{told}; {'; '.join(gains[:2])}"
            if gains
            else f"{told}; even {MORE_EXPERTS[-1]} more experts like these would add none"
        )


@dataclass(frozen=True, slots=True)
class Findings:
    """By query; `study` has everything behind it where experts rank. `problem`: why there is nothing."""

    queries: dict[str, QueryFinding]
    study: Study | None = None
    problem: str = ""


def findings_of(plan: Plan, records: Sequence[TrialRecord], shuffles: int = _SHUFFLES) -> Findings:
    """Groups by the truth layer's usual methods: of ranks as in the paper, of votes by Bradley-Terry."""
    finished = [each for each in records if each.state.is_finished]
    if not finished:
        return Findings({}, problem="nobody has finished a query yet")
    if plan.rules.design != "ranking":
        return _of_votes(finished, shuffles)
    study = study_rankings(rank_rows(finished), shuffles=shuffles)
    found = {
        query: QueryFinding(
            query,
            study.truth[query],
            each.sentence,
            each.agreement,
            each.consistency.value,
            tuple(_apart(each.neighbours)),
            len(each.neighbours),
        )
        for query, each in study.queries.items()
    }
    return Findings({task.query.id: found[task.query.id] for task in plan.tasks if task.query.id in found}, study)


def _apart(neighbours: Sequence[Neighbours]) -> Iterable[tuple[int, int]]:
    for more in MORE_EXPERTS if neighbours else ():
        yield more, sum(pair.more is not None and pair.more <= more for pair in neighbours)


def _of_votes(records: Sequence[TrialRecord], shuffles: int) -> Findings:
    votes, found = votes_of(records), {}
    for query in dict.fromkeys(vote.query for vote in votes):
        own = [vote for vote in votes if vote.query == query]
        try:
            model = study_votes(own, "bradley-terry", shuffles=shuffles)
        except ArgumentError:  # no chain of comparisons links all candidates yet
            continue
        null = model.nulls.get(query)
        sentence = null.sentence("votes") if null else ""
        found[query] = QueryFinding(query, model.truth[query], sentence, f"{len(own)} votes", None, (), 0)
    return Findings(found, problem="" if found else "too few comparisons for a common scale yet")


# -- while the study runs ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Seen:
    """The newest that is known. `is_current`: nothing has happened since."""

    overview: StudyOverview | None
    findings: Findings | None
    is_current: bool


class LiveOverview:
    """The overview of a study that runs, made anew in the background when something has happened."""

    def __init__(self, store: EventStore, rest_seconds: float = 5.0):
        self._store, self._rest_seconds = store, rest_seconds
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._age: tuple[int, int, int] | None = None  # of what is known
        self._overview: StudyOverview | None = None
        self._findings: Findings | None = None
        self._worker: threading.Thread | None = None
        self._ready_at = 0.0

    def seen(self, wait_seconds: float = 1.5) -> Seen:
        """What is known; whoever asks first waits a moment for it."""
        age = self._store.age()
        limit = time.monotonic() + wait_seconds
        with self._changed:
            if self._age != age and self._worker is None and time.monotonic() >= self._ready_at:
                self._worker = threading.Thread(target=self._work, args=(age,), daemon=True)
                self._worker.start()
            while self._worker is not None and (left := limit - time.monotonic()) > 0:
                self._changed.wait(left)
            return Seen(self._overview, self._findings, self._age == age)

    def close(self) -> None:
        """Wait for what is being made."""
        worker = self._worker
        if worker is not None:
            worker.join()

    def _work(self, age: tuple[int, int, int]) -> None:
        began = time.monotonic()
        known: tuple[int, int, int] | None = None
        try:
            histories = list(self._store.histories())
            overview = overview_of(self._store.plan, histories, age[2])
            with self._changed:
                self._overview = overview
            findings = findings_of(self._store.plan, list(trial_records(histories)))
            with self._changed:
                self._findings = findings
            known = age
        except RoslinError as error:
            _LOG.error("the overview of the study could not be made: %s", error)
        finally:
            with self._changed:
                self._age, self._worker = known, None
                took = time.monotonic() - began
                self._ready_at = time.monotonic() + max(self._rest_seconds, 3 * took) if self._rest_seconds else 0.0
                self._changed.notify_all()
