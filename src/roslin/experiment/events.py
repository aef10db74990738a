"""The events of a participant, and the state that follows from them. Pure: no database, no clock.

Every event has a sequence number (1, 2, ... for each participant) and a key that its maker chose: events with the same
key are the same event, however often they arrive. Trials count from 1; trial 0 is the practice.

    consented  sha256, version, language            answered    answers: {question: value}
    read       the instructions                     practised   the end of the practice
    began      query, shown: the order shown        finished    the trial counts from now on
    sorted     document, verdict                    placed      document, after: a document or None, tied: bool
    offered    documents, to compare                chose       documents, best: one of them or None (no difference)
    heard      document, duration_ms: it ended      undone      undoes: the key of a decision
    compared   documents: their differences         completed   receipt: everything is done
    turned_away  receipt: nothing to judge now      resumed     after `completed` there was more to judge

A consent names its text by checksum, number among all texts of the study, and language. In `heard` and `compared` None
is the query. Older pages recorded no duration.

Decisions name documents, never positions: they keep their meaning whatever another tab did in between, and none is
refused for being late. `placed` moves the document behind another one (None: to the top), alone or tied with it; behind
a document that is no longer in the list means to its end. A document sorted as "no" leaves the list. An undone decision
has no effect; if a choice is undone, the same documents are offered again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from roslin.errors import DecisionError
from roslin.experiment.plan import SIZES, StudyPlan, checksum, most_comparisons

VERDICTS = ("resembles", "perhaps", "no")
# Events that a page sends; the server makes all others.
DECISIONS = ("sorted", "placed", "chose", "heard", "compared", "undone")
USES = ("heard", "compared")  # without an effect on the state
DECIDED = ("sorted", "placed", "chose")  # judgements, which can be undone
HOUR_MS = 3_600_000
_PRACTICE_COMPARISONS = 5

Stage = Literal["consent", "questions", "instructions", "practice", "trial", "done"]


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `made_ms` is the time of the browser, `time_ms` that of the server."""

    sequence: int
    kind: str
    trial: int
    payload: dict[str, Any]
    key: str
    time_ms: int
    made_ms: int = 0
    device: str = ""


@dataclass(frozen=True, slots=True)
class ExpertChoice:
    """One comparison: the documents, and the most similar one; None: no difference."""

    documents: tuple[str, ...]
    best: str | None


@dataclass(frozen=True, slots=True)
class TrialState:
    """The state of a trial. `groups` is the list so far, the most similar first, tied documents together."""

    query: str
    shown: tuple[str, ...]
    verdicts: dict[str, str] = field(default_factory=dict)
    groups: tuple[tuple[str, ...], ...] = ()
    choices: tuple[ExpertChoice, ...] = ()
    offered: tuple[str, ...] = ()  # the open comparison
    undoable: str = ""  # the key of the last decision that can be undone
    is_finished: bool = False

    @property
    def placed(self) -> set[str]:
        return {document for group in self.groups for document in group}


def trial_state(events: Iterable[Event]) -> TrialState:
    """The state after the events of one trial, in order. A trial that was begun again starts there."""
    told = list(events)
    start = max(place for place, event in enumerate(told) if event.kind == "began")
    began, told = told[start], told[start:]
    undone = {event.payload["undoes"] for event in told if event.kind == "undone"}
    compared = {event.key: tuple(event.payload["documents"]) for event in told if event.kind == "chose"}
    verdicts: dict[str, str] = {}
    groups: list[list[str]] = []
    choices: list[ExpertChoice] = []
    offered: tuple[str, ...] = ()
    undoable, is_finished = "", False
    for event in told:
        if event.kind in DECIDED:
            if event.key in undone:
                continue
            undoable = event.key
        match event.kind:
            case "sorted":
                document, verdict = event.payload["document"], event.payload["verdict"]
                verdicts[document] = verdict
                if verdict == "no":
                    groups = _without(groups, document)
            case "placed":
                document = event.payload["document"]
                verdicts.setdefault(document, "resembles")
                if verdicts[document] == "no":
                    verdicts[document] = "resembles"
                groups = _placed(groups, document, event.payload["after"], event.payload.get("tied", False))
            case "offered":
                offered = tuple(event.payload["documents"])
            case "chose":
                choices.append(ExpertChoice(tuple(event.payload["documents"]), event.payload["best"]))
                offered = ()
            case "undone":
                offered = compared.get(event.payload["undoes"], offered)
            case "finished":
                is_finished = True
    return TrialState(
        query=began.payload["query"],
        shown=tuple(began.payload["shown"]),
        verdicts=verdicts,
        groups=tuple(map(tuple, groups)),
        choices=tuple(choices),
        offered=offered,
        undoable=undoable,
        is_finished=is_finished,
    )


def _without(groups: Sequence[Sequence[str]], document: str) -> list[list[str]]:
    left = [[each for each in group if each != document] for group in groups]
    return [group for group in left if group]


def _placed(groups: Sequence[Sequence[str]], document: str, after: str | None, tied: bool) -> list[list[str]]:
    if after == document and any(document in group for group in groups):
        return [list(group) for group in groups]
    others = _without(groups, document)
    if after is None:
        return [[document], *others]
    place = next((k for k, group in enumerate(others) if after in group), None)
    if place is None:
        return [*others, [document]]
    if tied:
        return [*others[:place], [*others[place], document], *others[place + 1 :]]
    return [*others[: place + 1], [document], *others[place + 1 :]]


def comparisons_wanted(plan: StudyPlan, trial: int, documents: int) -> int:
    """The number of comparisons in a trial with this number of documents. A practice has a few."""
    wanted = plan.rules.comparisons if trial > 0 else min(plan.rules.comparisons, _PRACTICE_COMPARISONS)
    return min(wanted, most_comparisons(documents, SIZES.get(plan.rules.design, 2)))


def missing(state: TrialState, plan: StudyPlan, trial: int = 1) -> list[str]:
    """The documents that are still to be sorted or placed. For comparisons, an empty name for each missing one."""
    if plan.rules.design != "ranking":
        return [""] * max(comparisons_wanted(plan, trial, len(state.shown)) - len(state.choices), 0)
    placed = state.placed
    return [
        document
        for document in state.shown
        if document not in state.verdicts or (state.verdicts[document] == "resembles" and document not in placed)
    ]


def ranks_of(state: TrialState) -> dict[str, float | None]:
    """The rank of every document; tied documents share the mean of their places, None is unranked."""
    ranks: dict[str, float | None] = dict.fromkeys(state.shown)
    before = 0
    for group in state.groups:
        for document in group:
            ranks[document] = before + (len(group) + 1) / 2
        before += len(group)
    return ranks


@dataclass(frozen=True, slots=True)
class Position:
    """The next page of a participant. `trial` is the open trial (`is_open`) or the next one."""

    stage: Stage
    trial: int
    is_open: bool
    finished: int
    sequence: int
    receipt: str = ""


def receipt_of(events: Iterable[Event]) -> str:
    """The receipt of a participant; empty if none was given."""
    return next((str(event.payload["receipt"]) for event in events if "receipt" in event.payload), "")


def is_complete(events: Sequence[Event]) -> bool:
    """Whether a participant has completed the study and not resumed it."""
    kinds = [event.kind for event in events if event.kind in ("completed", "resumed")]
    return kinds[-1:] == ["completed"]


def position_of(events: Sequence[Event], plan: StudyPlan, now_ms: int) -> Position:
    """The position of a participant after these events and the pause since the last one.

    A changed consent is asked for again. After a long pause the instructions are shown again (`resume = "reread"`), and
    with "restart" the store begins the open trial again once they are read. An open page may have sent something
    meanwhile, so any long pause since the instructions were last read counts.
    """
    kinds = {event.kind for event in events}
    finished = sum(event.kind == "finished" and event.trial > 0 for event in events)
    begun = max((event.trial for event in events if event.kind == "began"), default=0)
    is_open = begun > 0 and not any(event.kind == "finished" and event.trial == begun for event in events)
    has_read = max((place for place, event in enumerate(events) if event.kind == "read"), default=0)
    times = [*(event.time_ms for event in events[has_read:]), now_ms]
    longest = max((after - before for before, after in pairwise(times)), default=0)
    was_away = plan.rules.resume != "continue" and longest > plan.rules.pause_hours * HOUR_MS
    stage: Stage
    agreed = {event.payload.get("sha256") for event in events if event.kind == "consented"}
    if is_complete(events):
        stage = "done"
    elif agreed.isdisjoint(map(checksum, plan.consent.values())):
        stage = "consent"
    elif plan.questions and "answered" not in kinds:
        stage = "questions"
    elif "read" not in kinds or was_away:
        stage = "instructions"
    elif plan.practice and "practised" not in kinds:
        stage = "practice"
    else:
        stage = "trial"
    number = begun if is_open else begun + 1
    return Position(stage, number, is_open, finished, events[-1].sequence if events else 0, receipt_of(events))


# -- decisions ---------------------------------------------------------------------------------------------------------
#
# Pages send decisions with their own keys. Invalid ones are refused here, because SQLite does not check lengths.


_LONGEST_MS = 86_400_000  # of one play: a day
_LATEST_MS = 2**53  # the largest whole number of JavaScript


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision from a page. `key` and `made_ms` come from the page."""

    kind: str
    payload: dict[str, Any]
    key: str
    made_ms: int = 0


def check_key(key: str) -> None:
    """Refuse an invalid key."""
    if not 1 <= len(key) <= 64 or not key.isascii() or not key.isprintable():
        raise DecisionError(f"a key must be 1 to 64 plain letters and digits; got {key[:80]!r}")


def check_decision(decision: Decision, trial: int, shown: set[str], plan: StudyPlan) -> None:
    """Refuse an invalid decision."""
    check_key(decision.key)
    payload, kind = decision.payload, decision.kind
    if kind not in DECISIONS:
        raise DecisionError(f"a decision must be one of {', '.join(DECISIONS)}; got {kind!r}")
    if not 0 <= decision.made_ms <= _LATEST_MS:
        raise DecisionError(f"the time of a decision must be milliseconds since 1970; got {decision.made_ms}")
    is_ranking = trial == 0 or plan.rules.design == "ranking"
    if (kind in ("sorted", "placed") and not is_ranking) or (kind == "chose" and plan.rules.design == "ranking"):
        raise DecisionError(f"{kind!r} is no decision of a study by {plan.rules.design}")
    named: list[Any] = []
    match kind:
        case "sorted":
            named = [payload.get("document")]
            if payload.get("verdict") not in VERDICTS:
                raise DecisionError(f"a verdict must be one of {', '.join(VERDICTS)}; got {payload.get('verdict')!r}")
        case "placed":
            after = payload.get("after")
            named = [payload.get("document"), *([] if after is None else [after])]
        case "chose":
            named = list(payload.get("documents", ()))
            if len(set(named)) != len(named) or len(named) != SIZES[plan.rules.design]:
                wanted = SIZES[plan.rules.design]
                raise DecisionError(f"a comparison must be of {wanted} different candidates; got {len(set(named))}")
            if payload.get("best") is not None and payload["best"] not in named:
                raise DecisionError("the best of a comparison must be one of those compared")
        case "heard":
            named = [each for each in (payload.get("document"),) if each is not None]  # None: the query
            duration = payload.get("duration_ms", 0)
            if type(duration) is not int or not 0 <= duration <= _LONGEST_MS:
                raise DecisionError(f"a melody must play for 0 to {_LONGEST_MS} milliseconds; got {duration!r}")
        case "compared":
            if not plan.rules.differences:
                raise DecisionError("this study shows no differences; set design.differences to allow them")
            documents = payload.get("documents")
            if not isinstance(documents, list) or len(documents) != 2:
                raise DecisionError("differences are those of two melodies")
            named = [each for each in documents if each is not None]
        case _:
            if not isinstance(payload.get("undoes"), str):
                raise DecisionError("what is undone must be the key of a decision")
    if not shown.issuperset(named):
        raise DecisionError("a decision names a candidate that was not shown")
    if payload.get("tied") and not plan.rules.ties:
        raise DecisionError("this study has no ties")
