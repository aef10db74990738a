"""The nearest melodies are those of brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.matchers.roslin.made import aligned, all_tables, made_melodies, variants

from roslin.deadline import Work
from roslin.errors import TimeLimitError
from roslin.matchers.roslin.scores import Encoded
from roslin.matchers.roslin.table import MelodyTable, one, table_of
from roslin.native import kernels
from roslin.search.engines import roslin as module
from roslin.search.engines.roslin import ByAlignment, KeyOf
from roslin.search.refine import refine

MODES = dict(all_tables())


def distances(size: int, table: MelodyTable) -> KeyOf:
    """As the measure does it: by the lengths, and by a number of each melody."""

    def distance_of(scores: npt.NDArray[np.int32], numbers: npt.NDArray[np.int64] | slice) -> npt.NDArray[np.float64]:
        sizes = table.sizes[numbers].astype(np.float64)
        shorter, longer = np.minimum(sizes, size), np.maximum(sizes, size)
        scale = 32 * np.sqrt(np.maximum(shorter * np.minimum(longer, 2 * shorter), 1))
        return np.asarray(np.maximum(6 - scores / scale, 0))

    return distance_of


def brute(query: Encoded, melodies: Encoded, table: MelodyTable, mode: str, k: int, allowed: Any, radius: float) -> Any:
    numbers = np.flatnonzero(allowed)
    scores = np.empty(len(numbers), np.int32)
    kernels.align_all(query, melodies, MODES[mode], numbers, scores)
    found = distances(len(query.pitches), table)(scores, numbers)
    order = np.lexsort((numbers, found))
    limit = min(radius, found[order][k - 1] if len(order) >= k else np.inf)
    order = order[found[order] <= limit]
    return numbers[order].tolist(), found[order].tolist()


def engine(query: Encoded, table: MelodyTable, mode: str, allowed: Any, work: Work, key_of: KeyOf) -> ByAlignment:
    return ByAlignment(aligned(query, table, MODES[mode]), key_of, np.flatnonzero(allowed), work)


@pytest.fixture
def small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a small collection goes through every stage."""
    monkeypatch.setattr(module, "FIRST", 8)
    monkeypatch.setattr(module, "GROWTH", 2)
    monkeypatch.setattr(module, "PIECE", 128)
    monkeypatch.setattr(module, "MELODIES", 64)


@pytest.mark.long
@pytest.mark.usefixtures("small_rounds")
@pytest.mark.parametrize("mode", MODES)
def test_nearest_is_brute_force(mode: str) -> None:
    for seed in range(60):
        random = np.random.default_rng(seed)
        count = int(random.choice([1, 20, 100, 300]))
        pitches, values = int(random.choice([1, 4, 12])), int(random.choice([1, 5, 17]))
        sizes = random.integers(0, int(random.choice([2, 12, 40])), size=count).tolist()
        melodies = variants(
            random, made_melodies(random, [int(random.integers(1, 30)), *sizes], pitches, values), 0, 0.1
        )
        table = table_of(melodies, MODES[mode])
        query = one(melodies, 0) if seed % 3 else made_melodies(random, [int(random.integers(1, 30))])
        allowed = random.random(len(table)) < random.choice([0.05, 0.5, 1.0])
        k, radius = int(random.choice([1, 3, 10, 500])), float(random.choice([np.inf, np.inf, 4.0, 1.0, 0.0]))
        distance_of = distances(len(query.pitches), table)
        found, _ = refine(engine(query, table, mode, allowed, Work(), distance_of), k, radius)
        expected = brute(query, melodies, table, mode, k, allowed, radius)
        assert (found.numbers.tolist(), found.keys.tolist()) == expected, seed
        with Work(threads=3) as work:
            again, _ = refine(engine(query, table, mode, allowed, work, distance_of), k, radius)
        assert again.numbers.tobytes() == found.numbers.tobytes()
        assert again.keys.tobytes() == found.keys.tobytes()


def test_few_are_scored() -> None:
    """Relatives have high scores; hardly anything else has to be scored."""
    random = np.random.default_rng(3)
    melodies = variants(random, made_melodies(random, [14] * 5000), 7, 0.004)
    table = table_of(melodies, MODES["plain"])
    query, allowed = one(melodies, 7), np.ones(5000, bool)
    searching = engine(query, table, "plain", allowed, Work(), distances(14, table))
    found, _ = refine(searching, 10, np.inf)
    assert found.numbers[0] == 7 or found.keys[0] == found.keys[found.numbers == 7]
    assert searching.compared < 1000
    assert brute(query, melodies, table, "plain", 10, allowed, np.inf)[0] == found.numbers.tolist()


def test_infinite_distances_are_listed_where_nothing_else_is() -> None:
    random = np.random.default_rng(4)
    melodies = made_melodies(random, [5] * 400)
    table = table_of(melodies, MODES["plain"])

    def distance_of(scores: Any, numbers: Any) -> Any:
        return np.where(np.arange(400)[numbers] % 2, np.inf, -scores / 32)

    searching = engine(one(melodies, 0), table, "plain", np.ones(400, bool), Work(), distance_of)
    found, _ = refine(searching, 390, np.inf)
    assert len(found.numbers) == 400
    assert np.isinf(found.keys).sum() == 200


def test_a_search_stops_in_time() -> None:
    random = np.random.default_rng(5)
    table = table_of(made_melodies(random, [9] * 400), MODES["plain"])
    query = made_melodies(random, [9])
    with pytest.raises(TimeLimitError, match="the search was stopped after"):
        refine(engine(query, table, "plain", np.ones(400, bool), Work(seconds=1e-9), distances(9, table)), 5, np.inf)
