"""A study that has run for some days: experts who came and judged, by a clock of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from roslin.experiment import clock
from roslin.experiment.events import Decision, trial_state
from roslin.experiment.store import EventStore
from roslin.experiment.study_store import StudyExpert

_DAY_MS = 86_400_000


@contextmanager
def _clock(start_ms: int) -> Iterator[list[int]]:
    """The clock of the store shows what the list holds."""
    at = [start_ms]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "now_ms", lambda: at[0])
        yield at


def filled(store: EventStore, experts: int = 8, days: float = 6.0, seed: int = 3) -> list[StudyExpert]:
    """So many experts over so many days: the last stopped in a query, the one before is careless, two never came."""
    chance = np.random.default_rng(seed)
    now = clock.now_ms()
    with _clock(now - int((days + 1) * _DAY_MS)):
        everybody = store.invite(experts + 2)
    for number, expert in enumerate(everybody[:experts]):
        start = now - int(days * _DAY_MS * (1 - number / experts)) - 5 * 3_600_000
        is_careless, stops = number == experts - 2, number == experts - 1
        with _clock(start) as at:
            _go_through(store, expert, chance, at, is_careless=is_careless, stops=stops)
    return everybody


def _go_through(
    store: EventStore,
    expert: StudyExpert,
    chance: np.random.Generator,
    at: list[int],
    *,
    is_careless: bool,
    stops: bool,
) -> None:
    name = expert.name
    store.consent(name)
    store.add(name, "answered", {"answers": {"experience_years": int(chance.integers(1, 40))}})
    store.read_again(name)
    store.begin_practice(name)
    store.add(name, "practised")
    while trial := store.begin(name):
        state = trial_state(store.events(name, trial))
        plan_order = list(store.plan.task(state.query).ids)
        merit = {
            id: (-4.0 if id == state.query else plan_order.index(id)) + 1.4 * float(chance.standard_normal())
            for id in state.shown
        }
        if is_careless:
            merit = {id: float(chance.standard_normal()) for id in state.shown}
        ordered = sorted(state.shown, key=lambda id: merit[id])
        kept = ordered[: max(2, len(ordered) - 2)]
        made = [
            Decision("sorted", {"document": id, "verdict": "resembles" if id in kept else "no"}, f"{trial}-s-{id}")
            for id in state.shown
        ]
        made += [
            Decision("placed", {"document": id, "after": kept[k - 1] if k else None, "tied": False}, f"{trial}-p-{id}")
            for k, id in enumerate(kept)
        ]
        for number, decision in enumerate(made):
            at[0] += int(chance.gamma(3.0, 1500.0 if is_careless else 4500.0))
            store.decide(name, trial, [decision], "desktop mouse")
            if stops and trial == 2 and number == 4:
                return
        store.finish(name, trial, f"{trial}-end")
    store.complete(name)
