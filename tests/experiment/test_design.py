"""Who judges which query: towards the quota, also where experts stop; in orders that are all equally likely."""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from tests.experiment.studies import small_study

from roslin.experiment.events import Decision, trial_state
from roslin.experiment.plan import Item, Load, StudyPlan, StudyRules, Task, next_query, shown_order
from roslin.experiment.store import EventStore


def a_plan(queries: int = 11, quota: int = 30, candidates: int = 4) -> StudyPlan:
    tasks = tuple(
        Task(Item(f"q{query:02}"), tuple(Item(f"q{query:02}-{k}") for k in range(candidates)))
        for query in range(queries)
    )
    words = {"en": ""}
    return StudyPlan(
        name="design",
        title=words,
        languages=("en",),
        consent=words,
        instructions=words,
        thanks=words,
        contact="",
        questions=(),
        practice=None,
        tasks=tasks,
        rules=StudyRules(quota=quota, queries_per_expert=queries),
        seed=2005,
    )


def judged(
    plan: StudyPlan, willing: list[int], together: int = 1
) -> tuple[dict[str, Counter[str]], dict[str, list[str]]]:
    """What comes of experts of whom each finishes so many trials and leaves the next one open, `together` at a time.

    Trials left open count as running until everybody of the same batch is done, and are abandoned then.
    """
    counts: dict[str, Counter[str]] = {"finished": Counter(), "running": Counter()}
    orders: dict[str, list[str]] = {f"expert {k}": [] for k in range(len(willing))}
    for start in range(0, len(willing), together):
        batch = list(range(start, min(start + together, len(willing))))
        left = {k: willing[k] for k in batch}
        while left:
            for k in list(left):
                loads = {
                    task.query.id: Load(counts["finished"][task.query.id], counts["running"][task.query.id])
                    for task in plan.tasks
                }
                before = dict(loads)
                query = next_query(plan, loads, orders[f"expert {k}"], f"expert {k}")
                assert loads == before
                if query is None:
                    del left[k]
                    continue
                orders[f"expert {k}"].append(query)
                counts["running"][query] += 1
            for k in list(left):
                if left[k] == 0:
                    del left[k]
                    continue
                left[k] -= 1
                counts["running"][orders[f"expert {k}"][-1]] -= 1
                counts["finished"][orders[f"expert {k}"][-1]] += 1
                if len(orders[f"expert {k}"]) == plan.rules.queries_per_expert:
                    del left[k]
        counts["running"].clear()
    return counts, orders


def test_thirty_seven_experts_give_thirty_opinions_of_each_of_eleven_queries() -> None:
    """The paper: 30 opinions of each query, 37 experts in all."""
    counts, orders = judged(a_plan(), [11] * 37)
    assert set(counts["finished"].values()) == {30}
    assert sum(len(order) for order in orders.values()) == 330
    # The first thirty judge all; then nothing is left to ask.
    assert sum(not order for order in orders.values()) == 7


def test_who_stops_takes_no_place_away_from_others() -> None:
    chance = np.random.default_rng(3)
    willing = [int(chance.integers(11)) if chance.random() < 0.25 else 11 for _ in range(37)]
    assert sum(count < 11 for count in willing) == 9
    counts, _ = judged(a_plan(), willing, together=5)
    # 28 who do everything, and nine who do some: every query has its thirty.
    assert set(counts["finished"].values()) == {30}


def test_too_few_experts_are_spread_evenly() -> None:
    counts, _ = judged(a_plan(), [3] * 25, together=5)
    found = [counts["finished"][task.query.id] for task in a_plan().tasks]
    assert sum(found) == 75
    assert max(found) - min(found) <= 1


@settings(max_examples=40)
@given(
    st.integers(1, 6),
    st.integers(1, 8),
    st.lists(st.integers(0, 6), min_size=1, max_size=15),
    st.integers(1, 4),
)
def test_nobody_judges_twice_and_no_query_gets_more_than_wanted(
    queries: int, quota: int, willing: list[int], together: int
) -> None:
    plan = a_plan(queries, quota)
    counts, orders = judged(plan, willing, together)
    assert all(len(set(order)) == len(order) <= queries for order in orders.values())
    assert all(count <= quota for count in counts["finished"].values())
    if sum(count >= queries for count in willing) >= quota and together == 1:
        assert all(counts["finished"][task.query.id] == quota for task in plan.tasks)


def test_the_same_seed_gives_the_same_queries_and_another_expert_others() -> None:
    plan = a_plan()
    loads = {task.query.id: Load() for task in plan.tasks}
    assert next_query(plan, loads, (), "ada") == next_query(plan, dict(reversed(loads.items())), (), "ada")
    assert len({next_query(plan, loads, (), f"expert {k}") for k in range(60)}) == 11


def test_nothing_is_asked_where_enough_is_known() -> None:
    plan = a_plan(queries=2, quota=3)
    assert next_query(plan, {"q00": Load(3), "q01": Load(2, 1)}, (), "ada") is None
    assert next_query(plan, {"q00": Load(3), "q01": Load(2)}, (), "ada") == "q01"
    assert next_query(plan, {"q00": Load(3), "q01": Load(2)}, {"q01"}, "ada") is None
    assert next_query(plan, {"q00": Load(5), "q01": Load(4)}, (), "ada") is None
    assert next_query(plan, {}, (), "ada") is None


def test_every_order_of_candidates_is_equally_likely() -> None:
    plan = a_plan(candidates=4)
    found = Counter(shown_order(plan, plan.tasks[0], f"expert {k}") for k in range(4800))
    orders = list(permutations(plan.tasks[0].ids))
    assert set(found) == set(orders)
    assert chisquare([found[order] for order in orders]).pvalue > 0.01


def test_the_order_of_queries_is_equally_likely_too() -> None:
    """When nobody has judged anything yet, each expert for himself."""
    plan = a_plan(queries=3)
    found: Counter[tuple[str, ...]] = Counter()
    for k in range(1200):
        order: list[str] = []
        for _ in range(3):
            loads = {task.query.id: Load() for task in plan.tasks}
            order.append(str(next_query(plan, loads, order, f"expert {k}")))
        found[tuple(order)] += 1
    assert len(found) == 6
    assert chisquare(list(found.values())).pvalue > 0.01


def test_orders_differ_between_queries_and_between_experts() -> None:
    plan = a_plan(candidates=30)
    first, second = plan.tasks[:2]
    assert shown_order(plan, first, "ada") == shown_order(plan, first, "ada")
    shown = [(first, "ada"), (second, "ada"), (first, "ben")]
    places = [[task.ids.index(id) for id in shown_order(plan, task, who)] for task, who in shown]
    assert places[0] != places[1]
    assert places[0] != places[2]


def test_the_order_that_is_stored_is_the_one_of_the_design(tmp_path: Path) -> None:
    with small_study(tmp_path) as folder:
        store = EventStore(folder.database, folder.plan)
        name = store.invite()[0].name
        for number in (1, 2, 3):
            assert store.begin(name) == number
            state = trial_state(store.events(name, number))
            assert state.shown == shown_order(folder.plan, folder.plan.task(state.query), name)
            payloads = [{"document": id, "verdict": "no"} for id in state.shown]
            store.decide(name, number, [Decision("sorted", each, f"{number} {each['document']}") for each in payloads])
            store.finish(name, number, f"end {number}")
        store.close()
