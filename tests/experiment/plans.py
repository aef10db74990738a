"""Small plans for tests of what lies beneath a study: no melodies, no folder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from roslin.experiment.events import Decision, TrialState
from roslin.experiment.plan import Item, Practice, Question, StudyPlan, StudyRules, Task
from roslin.experiment.store import EventStore


def ranking_plan(queries: int = 3, candidates: int = 4, **rules: Any) -> StudyPlan:
    """A plan whose queries hide among their own candidates: q1 with q1, q1-1, q1-2 ..."""
    tasks = [
        Task(Item(f"q{n}"), (Item(f"q{n}"), *(Item(f"q{n}-{k}") for k in range(1, candidates))))
        for n in range(1, queries + 1)
    ]
    years = Question("years", "number", {"en": "Years of experience"}, required=True, least=0)
    words = Question("remarks", "text", {"en": "Anything else?"})
    return StudyPlan(
        name="small",
        title={"en": "A small study"},
        languages=("en",),
        consent={"en": "I agree."},
        instructions={"en": "Please rank."},
        thanks={"en": "Thank you."},
        contact="somebody@example.org",
        questions=(years, words),
        practice=Practice(Task(Item("p"), (Item("p-1"), Item("p-2"))), {"p-1": "resembles", "p-2": "no"}),
        tasks=tuple(tasks),
        rules=replace(StudyRules(quota=2, queries_per_expert=queries), **rules),
        seed=5,
    )


def ranked(store: EventStore, name: str, order: list[str] | None = None, key: str = "") -> str:
    """Rank a whole trial: these candidates in this order, the others do not resemble. The query that was judged."""
    trial = store.begin(name)
    assert trial
    from roslin.experiment.events import trial_state

    state: TrialState = trial_state(store.events(name, trial))
    wanted = list(state.shown) if order is None else [each for each in order if each in state.shown]
    decisions = []
    for number, document in enumerate(state.shown):
        verdict = "resembles" if document in wanted else "no"
        decisions.append(Decision("sorted", {"document": document, "verdict": verdict}, f"{key}s{trial}-{number}"))
    before = None
    for number, document in enumerate(wanted):
        payload = {"document": document, "after": before, "tied": False}
        decisions.append(Decision("placed", payload, f"{key}p{trial}-{number}"))
        before = document
    store.decide(name, trial, decisions, "desktop mouse")
    store.finish(name, trial, f"{key}f{trial}", "desktop mouse")
    return state.query


def judge_all(store: EventStore, name: str, years: int = 7) -> str:
    """Everything that an expert does, the query first and its candidates by number; gives the receipt."""
    store.consent(name)
    store.add(name, "answered", {"answers": {"years": years, "remarks": 'fine, "really"'}})
    store.read_again(name)
    while store.begin(name):
        ranked(store, name, sorted(f"q{n}{end}" for n in range(1, 10) for end in ("", "-1", "-2")))
    return store.complete(name)
