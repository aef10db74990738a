"""The progress of a study: participants, trials, times and failed checks; and its results so far."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from statistics import median
from typing import Any

from roslin.display.table import Table
from roslin.errors import ArgumentError, RoslinError
from roslin.experiment import clock
from roslin.experiment.events import DECIDED, HOUR_MS, Event, Position, is_complete, position_of
from roslin.experiment.plan import StudyPlan
from roslin.experiment.results import History, TrialRecord, rank_rows, trial_records, votes_of
from roslin.experiment.store import EventStore
from roslin.experiment.study_store import StudyExpert
from roslin.truth.grouping import method_named
from roslin.truth.model import Groups
from roslin.truth.rankings import as_rankings
from roslin.truth.study import Study, study_rankings, study_votes

_STUCK_MS = 3 * HOUR_MS  # participants who began and were silent for this long


@dataclass(frozen=True, slots=True)
class QueryProgress:
    """One query: judgements finished, running and wanted; the times of its trials; checks shown and failed."""

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
    """One participant. `silent_ms`: since the last event; None without any event."""

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


_PERSON_COLUMNS: dict[str, Callable[[PersonProgress], Any]] = {
    "expert": lambda each: each.expert.label,
    "source": lambda each: each.expert.source,
    "where": lambda each: each.words,
    "finished": lambda each: each.position.finished,
    "seconds": lambda each: each.seconds,
    "silent_hours": lambda each: None if each.silent_ms is None else each.silent_ms / HOUR_MS,
    "stuck": lambda each: "yes" if each.is_stuck else "no",
    "checks": lambda each: each.checks,
    "failed": lambda each: each.failed,
}


@dataclass(frozen=True, slots=True)
class StudyOverview:
    """The study as a whole."""

    queries: tuple[QueryProgress, ...]
    people: tuple[PersonProgress, ...]
    funnel: tuple[tuple[str, int], ...]
    days: tuple[tuple[str, int], ...]  # finished trials by day, in UTC
    withdrawn: int
    made_ms: int

    @property
    def finished(self) -> int:
        return sum(each.finished for each in self.queries)

    @property
    def wanted(self) -> int:
        return sum(each.quota for each in self.queries)

    @property
    def median_seconds(self) -> float | None:
        """Half of all trials took longer, pauses left out."""
        times = [seconds for each in self.queries for seconds in each.seconds]
        return median(times) if times else None

    @property
    def stuck(self) -> tuple[PersonProgress, ...]:
        """Participants who began and are silent, the longest silence first."""
        found = [person for person in self.people if person.is_stuck]
        return tuple(sorted(found, key=lambda person: -(person.silent_ms or 0)))

    @property
    def on_the_way(self) -> int:
        """The number of participants who have begun and not completed the study."""
        return sum(each.position.stage != "done" and each.position.sequence > 0 for each in self.people)

    @property
    def table(self) -> Table:
        columns = ("query", "finished", "running", "quota", "median_seconds", "checks", "failed")
        return Table.of(columns, map(attrgetter(*columns), self.queries), "Queries", key="queries")

    @property
    def funnel_table(self) -> Table:
        return Table.of(("step", "experts"), self.funnel, "Progress of participants", key="funnel")

    @property
    def people_table(self) -> Table:
        rows = ([of(each) for of in _PERSON_COLUMNS.values()] for each in self.people)
        return Table.of(tuple(_PERSON_COLUMNS), rows, "People", key="people")

    @property
    def careless(self) -> tuple[PersonProgress, ...]:
        """Participants who failed most checks of attention."""
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
    steps: list[tuple[str, str]] = [("agreed", "consented")]
    steps += [("answered the questions", "answered")] if plan.questions else []
    steps += [("read the instructions", "read")]
    steps += [("finished the practice", "practised")] if plan.practice else []
    steps += [("began a query", "began"), ("finished a query", "finished"), ("finished everything", "completed")]
    counts: Counter[str] = Counter()
    people = 0
    for _expert, told in histories:
        people += 1
        kinds = {event.kind for event in told if event.kind not in ("began", "finished") or event.trial > 0}
        counts.update(kinds if is_complete(told) else kinds - {"completed"})
    yield "invited", people
    for words, kind in steps:
        yield words, counts[kind]


# -- findings ----------------------------------------------------------------------------------------------------------
#
# The results so far: the groups of each query, their certainty, and the effect of more participants. Pure. Results of
# unchanged trials are reused, so that a running study can be asked often.


_METHOD = method_named("roslin")  # as `roslin truth group` on the export
_SHUFFLES = 200
MORE_EXPERTS = (0, 5, 10, 20, 50)  # numbers for which the separated neighbours are counted
_FEWEST_EXPERTS = 5  # for an estimate of the effect of more


@dataclass(frozen=True, slots=True)
class QueryFinding:
    """The result of one query so far. `of` names the trials, and `study` has the details of a ranking study."""

    query: str
    of: tuple[tuple[str, int], ...]
    groups: Groups
    sentence: str
    agreement: str
    consistency: float | None = None
    apart: tuple[tuple[int, int], ...] = ()  # (more experts, neighbours that these would separate)
    neighbours: int = 0
    study: Study | None = None

    @property
    def outlook(self) -> str:
        if not self.apart:
            return ""
        (_, now), *later = self.apart
        gains = [f"{more} more participants would separate about {count}" for more, count in later if count > now]
        told = f"{now} of {self.neighbours} pairs of neighbours are separated"
        if now == self.neighbours:
            return told
        if len(self.of) < _FEWEST_EXPERTS:
            return f"{told}; from {_FEWEST_EXPERTS} participants on, the effect of more can be estimated"
        return (
            f"{told}; {'; '.join(gains[:2])}"
            if gains
            else f"{told}; even {MORE_EXPERTS[-1]} more participants like these would add none"
        )


@dataclass(frozen=True, slots=True)
class Findings:
    """Results by query. `problem`: the reason if there are none."""

    queries: dict[str, QueryFinding]
    problem: str = ""


def findings_in_turn(
    plan: StudyPlan, records: Iterable[TrialRecord], known: Findings | None = None, shuffles: int = _SHUFFLES
) -> Iterator[Findings]:
    """Groups from ranks, as `roslin truth group` makes them, or from votes by Bradley-Terry.

    Yields the findings after each query, and those of all at the end. `known` results of the same trials are reused.
    """
    of_query: dict[str, list[TrialRecord]] = {task.query.id: [] for task in plan.tasks}
    finished = [record for record in records if record.state.is_finished]
    if plan.rules.design == "ranking":
        counted = set(_METHOD.considered(as_rankings(rank_rows(finished))).experts)
        finished = [record for record in finished if record.expert.label in counted]
    for record in finished:
        of_query[record.state.query].append(record)
    before = known.queries if known else {}
    found = {query: before[query] for query, own in of_query.items() if own and query in before}
    for query, own in of_query.items():
        of = tuple((each.expert.label, each.trial) for each in own)
        if not own or (query in found and found[query].of == of):
            continue
        made = (
            _of_ranks(query, of, own, shuffles)
            if plan.rules.design == "ranking"
            else _of_votes(query, of, own, shuffles)
        )
        found.pop(query, None)
        if made is not None:
            found[query] = made
        yield _in_order(plan, found)
    problem = ""
    if not found:
        judged = any(of_query.values())
        problem = "too few comparisons for a common scale yet" if judged else "nobody has finished a query yet"
    yield _in_order(plan, found, problem)


def _in_order(plan: StudyPlan, found: Mapping[str, QueryFinding], problem: str = "") -> Findings:
    return Findings({task.query.id: found[task.query.id] for task in plan.tasks if task.query.id in found}, problem)


def _of_ranks(
    query: str, of: tuple[tuple[str, int], ...], records: Sequence[TrialRecord], shuffles: int
) -> QueryFinding:
    study = study_rankings(rank_rows(records), replace(_METHOD, attention=False), shuffles)
    each = study.queries[query]
    needed = [pair.more for pair in each.neighbours]
    apart = [(more, sum(least is not None and least <= more for least in needed)) for more in MORE_EXPERTS]
    said = study.truth[query], each.sentence, each.agreement, each.consistency.value
    return QueryFinding(query, of, *said, tuple(apart) if needed else (), len(needed), study)


def _of_votes(
    query: str, of: tuple[tuple[str, int], ...], records: Sequence[TrialRecord], shuffles: int
) -> QueryFinding | None:
    """None if no chain of comparisons links all candidates yet."""
    votes = votes_of(records)
    try:
        model = study_votes(votes, "bradley-terry", shuffles=shuffles)
    except ArgumentError:
        return None
    null = model.nulls.get(query)
    return QueryFinding(query, of, model.truth[query], null.sentence("votes") if null else "", f"{len(votes)} votes")


# -- live overview -----------------------------------------------------------------------------------------------------


_LOG = logging.getLogger("roslin.experiment")


@dataclass(frozen=True, slots=True)
class Seen:
    """The latest overview and results. `is_current`: there are no newer events."""

    overview: StudyOverview | None
    findings: Findings | None
    is_current: bool


class LiveOverview:
    """The overview of a running study, made in the background so that pages do not wait.

    It is renewed after new events, but never so often that this takes most of the time.
    """

    def __init__(self, store: EventStore, rest_seconds: float = 5.0):
        self._store, self._rest_seconds = store, rest_seconds
        self._lock = threading.Lock()  # while a worker is started
        self._worker: threading.Thread | None = None
        self._seen = Seen(None, None, is_current=False)
        self._age: tuple[int, int, int] | None = None  # of the latest overview
        self._ready_at = 0.0
        self._is_over = False

    def seen(self, wait_seconds: float = 1.5) -> Seen:
        """The latest overview and results. The first request waits a moment for them."""
        age = self._store.age()
        with self._lock:
            is_idle = self._worker is None or not self._worker.is_alive()
            if self._age != age and is_idle and time.monotonic() >= self._ready_at:
                self._worker = threading.Thread(target=self._work, args=(age,), daemon=True)
                self._worker.start()
            worker = self._worker
        if worker is not None:
            worker.join(wait_seconds)
        return replace(self._seen, is_current=self._age == age)

    def close(self) -> None:
        self._is_over = True
        if self._worker is not None:
            self._worker.join()

    def _work(self, age: tuple[int, int, int]) -> None:
        began, self._age = time.monotonic(), None
        try:
            histories = list(self._store.histories())
            self._seen = replace(self._seen, overview=overview_of(self._store.plan, histories, age[2]))
            for findings in findings_in_turn(self._store.plan, trial_records(histories), self._seen.findings):
                self._seen = replace(self._seen, findings=findings)
                if self._is_over:
                    return
            self._age = age
        except RoslinError as error:
            _LOG.error("the overview of the study could not be made: %s", error)
        finally:
            now = time.monotonic()
            self._ready_at = now + max(self._rest_seconds, 3 * (now - began)) if self._rest_seconds else 0.0
