"""The results of a study so far: a record of each trial from the log, and tables of all.

Participants appear under their numbers. Unfinished trials are omitted by default. No table contains receipts, keys or
the names in links.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib.resources import files
from itertools import pairwise
from statistics import median
from typing import Any

from roslin.display.table import Table
from roslin.experiment.comparisons import as_votes
from roslin.experiment.events import DECIDED, USES, Event, TrialState, is_complete, ranks_of, trial_state
from roslin.experiment.plan import StudyPlan, Words, checksum
from roslin.experiment.study_store import StudyExpert
from roslin.truth.choice_models import Vote

# A participant with all their events, as `EventStore.histories` returns it.
History = tuple[StudyExpert, Sequence[Event]]

_PAUSE_MS = 5 * 60_000  # longer than any decision takes
_DRIFT_MS = 1000  # by which a clock that is right may differ from ours in one trial
_SERVERS_OWN = ("offered",)


@dataclass(frozen=True)
class TrialRecord:
    """A trial of a participant: its state, and all events since it was last begun."""

    expert: StudyExpert
    trial: int
    state: TrialState
    events: tuple[Event, ...]  # of all trials of the participant meanwhile
    restarts: int

    @property
    def began_ms(self) -> int:
        return self.events[0].time_ms

    @property
    def finished_ms(self) -> int | None:
        return self.events[-1].time_ms if self.state.is_finished else None

    @property
    def own(self) -> list[Event]:
        return [event for event in self.events if event.trial == self.trial]

    def count(self, kind: str) -> int:
        return sum(event.kind == kind for event in self.own)

    @property
    def active_seconds(self) -> float:
        """Time without long pauses."""
        gaps = (after.time_ms - before.time_ms for before, after in pairwise(self.events))
        return sum(gap for gap in gaps if 0 <= gap <= _PAUSE_MS) / 1000

    @cached_property
    def latencies(self) -> dict[int, float]:
        """The seconds of each decision, by its number, where the clocks agree.

        A decision that takes longer than the trial has lasted on the server was timed by a wrong clock.
        """
        found = {}
        told = [event for event in self.own if event.kind not in _SERVERS_OWN]
        for before, event in pairwise(told):
            by_browser = before.made_ms > 0 and event.made_ms > 0
            gap = event.made_ms - before.made_ms if by_browser else event.time_ms - before.time_ms
            longest = event.time_ms - self.began_ms + _DRIFT_MS
            if event.kind in (*DECIDED, "undone", *USES) and 0 <= gap <= longest:
                found[event.sequence] = gap / 1000
        return found

    @property
    def median_latency(self) -> float | None:
        """Half of the decisions took longer, in seconds."""
        decided = {event.sequence for event in self.own if event.kind in DECIDED}
        known = [seconds for sequence, seconds in self.latencies.items() if sequence in decided]
        return median(known) if known else None

    @property
    def attention(self) -> bool | None:
        """Whether the query was ranked first or won its comparisons; None if it was not among the candidates."""
        if self.state.query not in self.state.shown or not self.state.is_finished:
            return None
        if self.state.choices:
            best = [choice.best for choice in self.state.choices if self.state.query in choice.documents]
            return all(each == self.state.query for each in best) if best else None
        return bool(self.state.groups) and self.state.query in self.state.groups[0]

    @property
    def device(self) -> str:
        return ", ".join(dict.fromkeys(event.device for event in self.own if event.device))


def trial_records(histories: Iterable[History], *, unfinished: bool = False) -> Iterator[TrialRecord]:
    """Every finished trial of each participant in turn, and the open ones if wanted."""
    for expert, told in histories:
        for trial in sorted({event.trial for event in told if event.kind == "began" and event.trial > 0}):
            own = [event for event in told if event.trial == trial]
            state = trial_state(own)
            if not state.is_finished and not unfinished:
                continue
            starts = [event for event in own if event.kind == "began"]
            # In the log nothing of a trial comes after its end.
            last = own[-1].sequence if state.is_finished else told[-1].sequence
            during = tuple(event for event in told if starts[-1].sequence <= event.sequence <= last)
            yield TrialRecord(expert, trial, state, during, len(starts) - 1)


def rank_rows(records: Iterable[TrialRecord]) -> list[tuple[str, str, str, float | None]]:
    """(query, expert, document, rank) of every candidate, in the form of `roslin.truth.as_rankings`."""
    return [
        (record.state.query, record.expert.label, document, rank)
        for record in records
        for document, rank in ranks_of(record.state).items()
    ]


def votes_of(records: Iterable[TrialRecord]) -> list[Vote]:
    """Every vote for one of two candidates. The last vote of a participant about a pair counts."""
    votes: dict[tuple[str, str, frozenset[str]], Vote] = {}
    for record in records:
        for vote in as_votes(record.state.query, record.expert.label, record.state.choices):
            votes[vote.query, vote.expert, frozenset((vote.first, vote.second))] = vote
    return list(votes.values())


def study_tables(
    plan: StudyPlan,
    histories: Sequence[History],
    consents: Sequence[Words] = (),
    *,
    unfinished: bool = False,
    participants: bool = False,
) -> dict[str, Table]:
    """All tables of a study, in the order of `TABLES`. `consents`: as `EventStore.consents` returns them."""
    records = list(trial_records(histories, unfinished=unfinished))
    if plan.rules.design == "ranking":
        ranks = ((*named, _short(rank)) for *named, rank in rank_rows(records))
        found = {"rankings": Table.of(_RANKINGS, ranks)}
    else:
        found = {
            "votes": Table.of(_VOTES, map(astuple, votes_of(records))),
            "choice-rankings": Table.of(_RANKINGS, _choice_ranks(records)),
            "choices": Table.of(_CHOICES, _choices(records)),
        }
    identified = ("participant",) if participants else ()
    people = [_person(plan, *each, participants=participants) for each in histories]
    counted = {(record.expert.name, record.trial) for record in records}
    return {
        **found,
        "trials": Table.of(tuple(_TRIALS), ([of(record) for of in _TRIALS.values()] for record in records)),
        "shown": Table.of(_SHOWN, (row for record in records for row in _shown(record))),
        "experts": Table.of((*_EXPERTS, *identified, *answer_columns(plan).values()), people),
        "consents": Table.of(_CONSENTS, _consents(histories)),
        "consent-texts": Table.of(_CONSENT_TEXTS, _consent_texts(consents)),
        "events": Table.of((*_LOGGED, *_EVENTS, "undoes"), _events(histories, records, counted)),
    }


_RANKINGS = ("query", "expert", "document", "rank")
_VOTES = ("query", "expert", "first", "second", "answer")
_CHOICES = ("query", "expert", "trial", "comparison", "documents", "best")
_EXPERTS = ("expert", "source", "language", "trials_begun", "trials_finished", "is_complete")
_CONSENTS = ("expert", "time", "version", "language", "sha256")
_CONSENT_TEXTS = ("version", "language", "sha256", "text")
_SHOWN = ("expert", "trial", "query", "position", "document", "verdict", "rank")
_TRIALS: dict[str, Callable[[TrialRecord], Any]] = {
    "expert": lambda record: record.expert.label,
    "trial": lambda record: record.trial,
    "query": lambda record: record.state.query,
    "began": lambda record: _iso(record.began_ms),
    "finished": lambda record: _iso(record.finished_ms),
    "elapsed_seconds": lambda record: (
        None if record.finished_ms is None else (record.finished_ms - record.began_ms) / 1000
    ),
    "active_seconds": lambda record: record.active_seconds,
    "decisions": lambda record: sum(event.kind in DECIDED for event in record.own),
    "undone": lambda record: record.count("undone"),
    "heard": lambda record: record.count("heard"),
    "heard_seconds": lambda record: sum(event.payload.get("duration_ms", 0) for event in record.own) / 1000,
    "compared": lambda record: record.count("compared"),
    "restarts": lambda record: record.restarts,
    "median_latency_seconds": lambda record: record.median_latency,
    "attention": lambda record: {None: None, True: "passed", False: "failed"}[record.attention],
    "device": lambda record: record.device,
}
_LOGGED = ("expert", "sequence", "trial", "kind", "time", "latency_seconds", "device")
_EVENTS: dict[str, Callable[[dict[str, Any]], Any]] = {  # what the payload of an event holds
    "query": lambda payload: payload.get("query"),
    "document": lambda payload: payload.get("document"),
    "verdict": lambda payload: payload.get("verdict"),
    "after": lambda payload: payload.get("after"),
    "tied": lambda payload: _yes(payload["tied"]) if "tied" in payload else None,
    "documents": lambda payload: _listed(payload["documents"]) if "documents" in payload else None,
    "best": lambda payload: payload.get("best"),
    "duration_seconds": lambda payload: payload["duration_ms"] / 1000 if "duration_ms" in payload else None,
}


def _short(rank: float | None) -> float | int | None:
    """A whole rank as an integer."""
    return rank if rank is None or not math.isclose(rank, round(rank)) else round(rank)


def _iso(time_ms: int | None) -> str | None:
    if time_ms is None:
        return None
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _listed(documents: Sequence[str]) -> str:
    return json.dumps(list(documents), ensure_ascii=False)


def _yes(flag: bool) -> str:
    return "yes" if flag else "no"


def _choice_ranks(records: Iterable[TrialRecord]) -> Iterator[tuple[Any, ...]]:
    """Each comparison as a ranking: the best before all others, which share their places."""
    for record in records:
        for number, choice in enumerate(record.state.choices, start=1):
            size, expert = len(choice.documents), f"{record.expert.label}-{record.trial}-{number}"
            for document in choice.documents:
                rank = (size + 1) / 2 if choice.best is None else 1.0 if document == choice.best else (size + 2) / 2
                yield record.state.query, expert, document, _short(rank)


def _choices(records: Iterable[TrialRecord]) -> Iterator[tuple[Any, ...]]:
    for record in records:
        for number, choice in enumerate(record.state.choices, start=1):
            named = record.state.query, record.expert.label, record.trial
            yield *named, number, _listed(choice.documents), choice.best


def _shown(record: TrialRecord) -> Iterator[tuple[Any, ...]]:
    named, ranks = (record.expert.label, record.trial, record.state.query), ranks_of(record.state)
    for position, document in enumerate(record.state.shown, start=1):
        yield *named, position, document, record.state.verdicts.get(document), _short(ranks[document])


def _person(plan: StudyPlan, expert: StudyExpert, told: Sequence[Event], *, participants: bool) -> list[Any]:
    answers: dict[str, Any] = {}
    for event in told:
        if event.kind == "answered":
            answers = event.payload.get("answers", {})
    return [
        expert.label,
        expert.source,
        expert.language,
        len({event.trial for event in told if event.kind == "began" and event.trial > 0}),
        sum(event.kind == "finished" and event.trial > 0 for event in told),
        _yes(is_complete(told)),
        *([expert.participant] if participants else []),
        *(_answer(answers.get(name)) for name in answer_columns(plan)),
    ]


def _consents(histories: Iterable[History]) -> Iterator[tuple[Any, ...]]:
    for expert, told in histories:
        for event in told:
            if event.kind == "consented":
                yield expert.label, _iso(event.time_ms), *(event.payload.get(name) for name in _CONSENTS[2:])


def _consent_texts(consents: Iterable[Words]) -> Iterator[tuple[Any, ...]]:
    for version, words in enumerate(consents, start=1):
        for language, text in words.items():
            yield version, language, checksum(text), text


def _answer(value: Any) -> Any:
    return "; ".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def _events(
    histories: Iterable[History], records: Iterable[TrialRecord], counted: set[tuple[str, int]]
) -> Iterator[tuple[Any, ...]]:
    """The events outside trials and in counted trials, including those before a trial was begun again."""
    latencies = {
        (record.expert.name, sequence): seconds for record in records for sequence, seconds in record.latencies.items()
    }
    for expert, told in histories:
        numbers = {event.key: event.sequence for event in told}
        for event in told:
            if event.trial > 0 and (expert.name, event.trial) not in counted:
                continue
            latency = latencies.get((expert.name, event.sequence))
            logged = expert.label, event.sequence, event.trial, event.kind, _iso(event.time_ms), latency, event.device
            said = (of(event.payload) for of in _EVENTS.values())
            yield *logged, *said, numbers.get(event.payload.get("undoes", ""))


# -- variables ---------------------------------------------------------------------------------------------------------
#
# The data dictionary, `variables.toml`. A column has the same meaning in every table.


@dataclass(frozen=True, slots=True)
class Variable:
    """The meaning of a column, and its unit."""

    description: str
    unit: str = ""


_DICTIONARY = tomllib.loads((files("roslin.experiment") / "variables.toml").read_text("utf-8"))
# The tables with the meaning of a row, and the columns that identify a row.
TABLES: dict[str, str] = {name: each["row"] for name, each in _DICTIONARY["tables"].items()}
KEYS: dict[str, tuple[str, ...]] = {name: tuple(each["key"]) for name, each in _DICTIONARY["tables"].items()}
VARIABLES = {name: Variable(**each) for name, each in _DICTIONARY["variables"].items()}


def answer_columns(plan: StudyPlan) -> dict[str, str]:
    """The column of each question. A question that is called like another column is given a longer name."""
    return {
        question.name: f"answer_{question.name}" if question.name in VARIABLES else question.name
        for question in plan.questions
    }


def variables_of(plan: StudyPlan) -> dict[str, Variable]:
    """Every column that an export of this study can have."""
    columns = answer_columns(plan)
    asked = {
        columns[question.name]: Variable(f"Answer to: {plan.text(question.label, plan.languages[0])}")
        for question in plan.questions
    }
    return VARIABLES | asked
