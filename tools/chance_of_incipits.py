"""Chance matches of whole melodies of a collection, expected and seen, with and without the rules for odd ones.

    .venv/bin/python tools/chance_of_incipits.py rism.roslin

1,500 melodies on which the two numbers of `search.chance` for odd melodies and figures were chosen, and 1,500 others,
are searched for among all melodies of other records with their pitches in reverse order: whatever is found there is
found by chance. Printed for each level of E: how many are expected for all queries together, and how many there are.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from roslin import Collection
from roslin.concordances.names import record_of
from roslin.display.table import Table
from roslin.matchers.roslin.notes import backwards
from roslin.matchers.roslin.roslin import Roslin
from roslin.matchers.roslin.scoring import scorer
from roslin.matchers.roslin.table import MelodyTable, table_of
from roslin.search.chance import Null, between, sample_of, tails_of
from roslin.search.roslin_table import open_table

LEVELS = (0.001, 0.01, 0.02, 0.1, 1.0)
QUERIES = 1500
SEEDS = {"chosen on": 5, "counted on": 6}
BOTH = Roslin(compare="both")

Counts = npt.NDArray[np.int64]


def main(path: Path) -> int:
    """Print the table."""
    with Collection(path) as collection:
        seen: dict[str, Counts] = {}
        for name, seed in SEEDS.items():
            with_rules, without = counts(collection, seed)
            if name == "chosen on":
                seen["without the two rules"] = without
            seen[name] = with_rules
    rows = [
        {"E": level, "expected": QUERIES * level, **{name: int(each[at]) for name, each in seen.items()}}
        for at, level in enumerate(LEVELS)
    ]
    print(Table(tuple(rows[0]), tuple(rows), "chance matches"))
    return 0


def counts(collection: Collection, seed: int) -> tuple[Counts, Counts]:
    """How many melodies have at most the chance matches of each level, with the two rules and without."""
    packed = collection.packed()
    tables = BOTH.tables(packed.melody(0), int(np.diff(packed.offsets).max()))
    forwards = open_table(collection, tables)
    turned: MelodyTable = table_of(backwards(forwards.take(np.arange(len(forwards)))), tables)
    records = np.array([record_of(id) for id in collection.ids()])
    tails, sample = tails_of(collection, "both"), sample_of(len(collection))
    chosen = np.sort(np.random.default_rng(seed).choice(len(collection), QUERIES, replace=False))
    found = [np.zeros(len(LEVELS), np.int64), np.zeros(len(LEVELS), np.int64)]
    for number in chosen.tolist():
        query = forwards.take(np.array([number]))
        worth, tail = max(int(forwards.own_scores[number]), 1), between(tails, int(forwards.sizes[number]))
        known = np.clip(1 - scorer(query, forwards, tables)(sample) / worth, 0, 1)
        others = np.flatnonzero(records != records[number])
        missing = np.clip(1 - scorer(query, turned, tables)(others) / worth, 0, 1)
        nulls = (
            Null.of(known, tail, BOTH.missing_backwards(packed.melody(number))),
            Null.of(known, replace(tail, spread=0.0)),
        )
        for each, null in zip(found, nulls, strict=True):
            expected = null.expected(missing, len(collection))
            each += [int((expected <= level).sum()) for level in LEVELS]
    return found[0], found[1]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
