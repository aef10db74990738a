"""A trial in numbers, as its page knows it: candidates are 0, 1, ... in the order shown, and have no other names.

What is written here is one call of the store each; what is answered is made from the state that follows.
"""

from __future__ import annotations

from typing import Any

from roslin.errors import DecisionError
from roslin.experiment.events import DECISIONS, TrialState, missing
from roslin.experiment.store import Decision
from roslin.web.experiment.errors import UnfinishedError
from roslin.web.experiment.schemas import DecisionsBody, FinishBody
from roslin.web.experiment.study import OpenStudy
from roslin.web.experiment.visitor import Visitor

__all__ = ["decided", "ended", "state_in_numbers"]


def state_in_numbers(study: OpenStudy, who: Visitor, trial: int) -> dict[str, Any]:
    """A trial as it stands."""
    state = _with_offer(study, who.name, trial, study.state(who.name, trial))
    rules, number = study.plan.rules, _numbers(state.shown)
    return {
        "trial": trial,
        "of": min(rules.queries_per_expert, len(study.plan.tasks)),
        "design": rules.design,
        "ties": rules.ties,
        "count": len(state.shown),
        "sequence": study.store.expert(who.name).sequence,
        "verdicts": {str(number[document]): verdict for document, verdict in state.verdicts.items()},
        "groups": [[number[document] for document in group] for group in state.groups],
        "undoable": state.undoable,
        "offered": [number[document] for document in state.offered],
        "choices": len(state.choices),
        "comparisons": rules.comparisons,
        "is_finished": state.is_finished,
        "log": _log(study, who.name, trial, number),
        "queue": study.signatures.of("queue", f"{who.name} {trial}"),
        "csrf": who.form,
    }


def decided(study: OpenStudy, who: Visitor, trial: int, sent: DecisionsBody) -> dict[str, Any]:
    """Keep decisions, and say which are kept."""
    shown = study.shown(who.name, trial).shown
    try:
        made = [Decision(each.kind, each.payload(shown), each.key, each.made_ms) for each in sent.decisions]
    except IndexError:
        raise DecisionError(f"a decision names a candidate that was not shown; there are {len(shown)}") from None
    receipt = study.store.decide(who.name, trial, made, sent.device)
    answer: dict[str, Any] = {"keys": receipt.keys, "sequence": receipt.sequence, "offered": []}
    if study.plan.rules.design != "ranking":
        number = _numbers(shown)
        state = _with_offer(study, who.name, trial, study.state(who.name, trial))
        answer["offered"] = [number[document] for document in state.offered]
    return answer


def ended(study: OpenStudy, who: Visitor, trial: int, sent: FinishBody) -> dict[str, Any]:
    """Finish a trial; of the practice, say what others would have answered."""
    state = study.state(who.name, trial)
    left = missing(state, study.plan)
    if left and not state.is_finished:
        number = _numbers(state.shown)
        numbers = [number[document] for document in left if document]
        raise UnfinishedError(f"{len(left)} judgements are still to be made", numbers)
    if trial == 0:
        return {"feedback": _feedback(study, state), "next": "/practice"}
    receipt = study.store.finish(who.name, trial, sent.key, sent.device)
    return {"next": "/continue", "sequence": receipt.sequence}


def _numbers(shown: tuple[str, ...]) -> dict[str, int]:
    return {document: number for number, document in enumerate(shown)}


def _log(study: OpenStudy, name: str, trial: int, number: dict[str, int]) -> list[dict[str, Any]]:
    """What the state follows from, with which the page undoes and goes on without a connection."""
    events = study.store.events(name, trial)
    start = max(place for place, event in enumerate(events) if event.kind == "began")
    told = [event for event in events[start:] if event.kind in (*DECISIONS, "offered") and event.kind != "heard"]
    return [{"kind": event.kind, "key": event.key, **_in_numbers(event.payload, number)} for event in told]


def _in_numbers(payload: dict[str, Any], number: dict[str, int]) -> dict[str, Any]:
    def numbered(name: str, value: Any) -> Any:
        if name == "documents":
            return [number[each] for each in value]
        return number[value] if name in ("document", "after", "best") and value is not None else value

    return {name: numbered(name, value) for name, value in payload.items()}


def _feedback(study: OpenStudy, state: TrialState) -> list[dict[str, Any]]:
    assert study.plan.practice is not None, "trial 0 is the practice"
    expected = study.plan.practice.expected
    return [
        {
            "document": number,
            "said": state.verdicts.get(document, ""),
            "expected": expected[document],
            "is_right": state.verdicts.get(document) == expected[document],
        }
        for number, document in enumerate(state.shown)
        if document in expected
    ]


def _with_offer(study: OpenStudy, name: str, trial: int, state: TrialState) -> TrialState:
    """The state with a comparison that waits for an answer, where the study is one of comparisons."""
    return state
