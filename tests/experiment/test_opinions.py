"""What simulated experts think: the truth's levels with errors, the same whenever asked, and dependent on context."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.experiment.test_design import a_plan
from tests.experiment.visits import is_better

from roslin.errors import ArgumentError, UnknownNameError
from roslin.experiment.bots import BOT_MODELS, Opinion, Population, levels_of
from roslin.experiment.plan import Item, Task

TASK = Task(Item("q"), tuple(map(Item, ["c", "q", "a", "b", "x", "y"])))
GROUPS = (("a",), ("b", "c"))


def test_levels_follow_the_truth_and_the_query_is_above_all() -> None:
    assert levels_of(TASK, GROUPS) == ({"q": 0, "a": 1, "b": 2, "c": 2, "x": 3, "y": 3}, 3)
    without = Task(Item("q"), tuple(map(Item, "ax")))
    assert levels_of(without, GROUPS) == ({"a": 0, "x": 2}, 2)


def test_without_a_truth_the_order_of_the_plan_is_true_and_its_first_half_resembles() -> None:
    assert levels_of(TASK, None) == ({"q": 0, "c": 1, "a": 2, "b": 3, "x": 4, "y": 5}, 3)


@pytest.mark.parametrize("model", BOT_MODELS)
def test_without_noise_everybody_says_the_truth(model: str) -> None:
    population = Population(a_plan(), {"q": GROUPS}, model, noise=0.0)
    for expert in range(20):
        opinion = population.opinion(expert, TASK)
        assert opinion.best(["c", "q", "a"]) == "q"
        assert is_better(opinion, "a", "x")
        assert opinion.verdicts["q"] == "resembles"
        assert sum(verdict == "resembles" for verdict in opinion.verdicts.values()) <= 4
        assert sum(verdict == "perhaps" for verdict in opinion.verdicts.values()) == 2
    # In a group nobody prefers anything.
    firsts = Counter(is_better(population.opinion(expert, TASK), "b", "c") for expert in range(200))
    assert 60 < firsts[True] < 140


def test_the_same_expert_thinks_the_same_and_another_one_differs() -> None:
    population = Population(a_plan(), {"q": GROUPS}, noise=0.9)
    assert population.opinion("ada", TASK) == population.opinion("ada", TASK)
    assert len({tuple(population.opinion(expert, TASK).merits) for expert in range(50)}) > 20


def test_a_careless_expert_says_anything() -> None:
    population = Population(a_plan(), {"q": GROUPS}, noise=0.0)
    found = Counter(population.opinion(expert, TASK, is_careless=True).best(TASK.ids) for expert in range(300))
    assert set(found) == set(TASK.ids)
    assert max(found.values()) < 90


def test_rank_depends_on_which_others_are_there() -> None:
    """b is a little better than x; beside c, which is like b, it seems less special."""
    opinion = Opinion({"b": 3.0, "c": 1.0, "x": 2.0}, {"b": 2, "c": 2, "x": 9}, {}, crowding=4.0)
    assert opinion.best(["b", "x"]) == "b"
    assert opinion.best(["b", "x", "c"]) == "x"
    assert is_better(opinion, "b", "x")
    assert not is_better(opinion, "b", "x", ["c"])


def test_who_does_not_exist() -> None:
    with pytest.raises(UnknownNameError, match="unknown model 'mallow'; known: mallows, plackett-luce, context"):
        Population(a_plan(), model="mallow")
    with pytest.raises(ArgumentError, match="noise must be between 0 and 1; got 2"):
        Population(a_plan(), noise=2)
