"""Who judges which query next, and in which order candidates are shown. Pure and seeded.

A query is chosen when it is begun, not when an expert joins: whoever never finishes then takes no place away from
others. The query that lacks most opinions comes next, trials that are being worked on counted as if they were finished;
among equals chance decides, from the seed of the study and the name of the expert. A trial without any decision is
counted for this choice alone: nobody is turned away because others have opened a page. More opinions than wanted come
only from people who begin the last places at the same moment, and from trials that were no longer counted on. Which
candidates are compared is in `comparisons`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from roslin.experiment.plan import StudyPlan, Task

__all__ = ["Load", "chance_of", "next_query", "shown_order"]


@dataclass(frozen=True, slots=True)
class Load:
    """Opinions of one query: given, being given, and of people who have begun it lately and decided nothing yet."""

    finished: int = 0
    running: int = 0
    begun: int = 0


def next_query(plan: StudyPlan, loads: Mapping[str, Load], done: Collection[str], expert: str) -> str | None:
    """The query that an expert judges next, not one of those they have done; None where enough is known of all."""
    lacking = {
        query: plan.rules.quota - load.finished - load.running for query, load in loads.items() if query not in done
    }
    free = {query: lack - loads[query].begun for query, lack in lacking.items() if lack > 0}
    if not free:
        return None
    most = max(free.values())
    wanted = sorted(query for query, lack in free.items() if lack == most)
    return wanted[int(chance_of(plan.seed, expert, len(done)).integers(len(wanted)))]


def shown_order(plan: StudyPlan, task: Task, expert: str) -> tuple[str, ...]:
    """The candidates in the order in which this expert sees them."""
    ids = np.array(task.ids, dtype=object)
    return tuple(chance_of(plan.seed, expert, task.query.id).permutation(ids).tolist())


def chance_of(*parts: object) -> np.random.Generator:
    """A source of chance of its own for these parts, the same on every computer and in every process."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))
