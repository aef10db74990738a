"""The plan: the same text for the same plan, and what may change once people have begun."""

from __future__ import annotations

from dataclasses import replace

import pytest

from roslin.experiment.plan import FROZEN, Item, Practice, Question, StudyPlan, StudyRules, Task

PLAN = StudyPlan(
    name="s",
    title={"en": "Tunes", "de": "Weisen"},
    languages=("en", "de"),
    consent={"en": "yes?"},
    instructions={"en": "do"},
    thanks={"en": "thanks"},
    contact="a@example.org",
    questions=(Question("age", "number", {"en": "Age?"}, least=1), Question("c", "choice", {}, {"x": {"en": "X"}})),
    practice=Practice(Task(Item("p"), (Item("p1"), Item("p2"))), {"p1": "no", "p2": "resembles"}),
    tasks=(Task(Item("q", content="1f"), (Item("a"), Item("b", picture="b.png", sound="b.mp3"))),),
    rules=StudyRules(ties=True),
    seed=7,
)


@pytest.mark.parametrize("plan", [PLAN, replace(PLAN, practice=None, questions=())])
def test_there_and_back(plan: StudyPlan) -> None:
    assert StudyPlan.from_json(plan.to_json()) == plan
    assert StudyPlan.from_json(plan.to_json()).fingerprint == plan.fingerprint


def test_texts_and_tasks() -> None:
    assert PLAN.text(PLAN.title, "de") == "Weisen"
    assert PLAN.text(PLAN.consent, "de") == "yes?"
    assert PLAN.task("q").ids == ("a", "b")
    assert PLAN.task("q").candidates[0].is_melody
    assert not PLAN.task("q").candidates[1].is_melody


@pytest.mark.parametrize(
    ("quota", "queries", "each", "people"), [(30, 11, 11, 30), (30, 22, 11, 60), (5, 3, 2, 8), (4, 2, 11, 4)]
)
def test_how_many_people_it_takes(quota: int, queries: int, each: int, people: int) -> None:
    tasks = tuple(Task(Item(str(number)), ()) for number in range(queries))
    plan = replace(PLAN, tasks=tasks, rules=StudyRules(quota=quota, queries_per_expert=each))
    assert plan.experts_needed == people


CHANGES = {
    "name": replace(PLAN, name="t"),
    "tasks": replace(PLAN, tasks=(Task(Item("q", content="2e"), PLAN.tasks[0].candidates),)),
    "seed": replace(PLAN, seed=8),
    "rules.design": replace(PLAN, rules=StudyRules("pairs", ties=True)),
    "rules.ties": replace(PLAN, rules=StudyRules(ties=False)),
    "rules.comparisons": replace(PLAN, rules=StudyRules(ties=True, comparisons=3)),
    "rules.differences": replace(PLAN, rules=StudyRules(ties=True, differences=True)),
    "rules.keeps_participant": replace(PLAN, rules=StudyRules(ties=True, keeps_participant=True)),
}


def test_what_is_frozen() -> None:
    assert set(CHANGES) == set(FROZEN)
    for name, changed in CHANGES.items():
        assert PLAN.frozen_changes(changed) == [name]
        assert changed.fingerprint != PLAN.fingerprint
    free = replace(PLAN, thanks={"en": "Thank you"}, rules=StudyRules(ties=True, quota=40), contact="b", questions=())
    assert PLAN.frozen_changes(free) == []
    assert free.fingerprint != PLAN.fingerprint
