"""A trial in numbers, as its page knows it: candidates are 0, 1, ... in the order shown, and have no other names.

What is written here is one call of the store each; what is answered is made from the state that follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roslin.errors import DecisionError
from roslin.experiment.comparisons import is_check, next_comparison
from roslin.experiment.events import (
    DECISIONS,
    USES,
    VERDICTS,
    Decision,
    Event,
    ExpertChoice,
    TrialState,
    comparisons_wanted,
    missing,
    trial_state,
)
from roslin.experiment.plan import SIZES
from roslin.web.experiment.errors import UnfinishedError
from roslin.web.experiment.schemas import DecisionsBody, FinishBody
from roslin.web.experiment.study import OpenStudy
from roslin.web.experiment.visitor import Visitor


def state_in_numbers(study: OpenStudy, who: Visitor, trial: int) -> dict[str, Any]:
    """A trial as it stands."""
    events = _with_offer(study, who.name, trial)
    state = trial_state(events)
    rules, number = study.plan.rules, _numbers(state.shown)
    return {
        "trial": trial,
        "of": min(rules.queries_per_expert, len(study.plan.tasks)),
        "design": rules.design,
        "ties": rules.ties,
        "differences": rules.differences,
        "count": len(state.shown),
        "sequence": study.store.expert(who.name).sequence,
        "verdicts": {str(number[document]): verdict for document, verdict in state.verdicts.items()},
        "groups": [[number[document] for document in group] for group in state.groups],
        "undoable": state.undoable,
        "offered": [number[document] for document in state.offered],
        "choices": len(state.choices),
        "comparisons": comparisons_wanted(study.plan, trial, len(state.shown)),
        "is_finished": state.is_finished,
        "log": _log(events, number),
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
        state = trial_state(_with_offer(study, who.name, trial))
        answer["offered"] = [number[document] for document in state.offered]
        answer["sequence"] = study.store.expert(who.name).sequence
    return answer


def ended(study: OpenStudy, who: Visitor, trial: int, sent: FinishBody) -> dict[str, Any]:
    """Finish a trial; of the practice, say what others would have answered."""
    state = study.state(who.name, trial)
    left = missing(state, study.plan, trial)
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


def _log(events: Sequence[Event], number: Mapping[str, int]) -> list[dict[str, Any]]:
    """What the state follows from, with which the page undoes and goes on without a connection."""
    start = max(place for place, event in enumerate(events) if event.kind == "began")
    told = [event for event in events[start:] if event.kind in (*DECISIONS, "offered") and event.kind not in USES]
    return [{"kind": event.kind, "key": event.key, **_in_numbers(event.payload, number)} for event in told]


def _in_numbers(payload: dict[str, Any], number: Mapping[str, int]) -> dict[str, Any]:
    def numbered(name: str, value: Any) -> Any:
        if name == "documents":
            return [number[each] for each in value]
        return number[value] if name in ("document", "after", "best") and value is not None else value

    return {name: numbered(name, value) for name, value in payload.items()}


def _with_offer(study: OpenStudy, name: str, trial: int) -> list[Event]:
    """The events of a trial, in which something waits to be compared unless all is done."""
    events = study.trial_events(name, trial)
    while documents := _next_comparison(study, name, trial, trial_state(events)):
        study.store.offer(name, trial, documents, after=events[-1].sequence)
        events = study.trial_events(name, trial)
    return events


def _next_comparison(study: OpenStudy, name: str, trial: int, state: TrialState) -> tuple[str, ...]:
    """What is compared next; nothing where something waits to be compared, or all is done."""
    plan = study.plan
    is_over = state.is_finished or not missing(state, plan, trial)
    if plan.rules.design == "ranking" or is_over or state.offered:
        return ()
    others = study.choices(state.query) if trial else {}
    everybody = [choice for expert, choices in others.items() if expert != name for choice in choices]
    size, said = SIZES[plan.rules.design], [*everybody, *state.choices]
    wanted = comparisons_wanted(plan, trial, len(state.shown))
    is_checked = state.query in state.shown and is_check(len(state.choices), wanted, plan.seed, name, state.query)
    query = state.query if is_checked else ""
    return next_comparison(state.shown, said, state.choices, size, plan.seed, name, among=query)


def _feedback(study: OpenStudy, state: TrialState) -> list[dict[str, Any]]:
    """What others would say of each candidate of the practice, or of each comparison, beside what was said."""
    assert study.plan.practice is not None, "trial 0 is the practice"
    expected = study.plan.practice.expected
    if study.plan.rules.design != "ranking":
        return [_of_choice(choice, expected, _numbers(state.shown)) for choice in state.choices]
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


def _of_choice(choice: ExpertChoice, expected: Mapping[str, str], number: Mapping[str, int]) -> dict[str, Any]:
    """A comparison of the practice: right if nothing else in it was expected to resemble the query more."""
    levels = {document: VERDICTS.index(expected.get(document, "no")) for document in choice.documents}
    best = [document for document in choice.documents if levels[document] == min(levels.values())]
    return {
        "documents": [number[document] for document in choice.documents],
        "said": None if choice.best is None else number[choice.best],
        "expected": [number[document] for document in best],
        "is_right": len(best) > 1 if choice.best is None else choice.best in best,
    }
