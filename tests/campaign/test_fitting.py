"""Fitted members and weights: average precision by hand, what is found, and that nothing leaks between folds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection
from roslin.campaign.fitting import (
    QueryScores,
    average_precisions,
    cross_validated,
    fit_weights,
    fitted_folds,
    member_scores,
)
from roslin.errors import ArgumentError
from roslin.matchers import matcher
from roslin.starter import tunes_path
from roslin.truth import Truth


def made(query: str, scores: list[list[float]], relevant: list[int]) -> QueryScores:
    flags = np.zeros(len(scores[0]), dtype=bool)
    flags[relevant] = True
    documents = tuple(f"d{number}" for number in range(len(flags)))
    return QueryScores(query, documents, np.array(scores, dtype=np.float32), flags)


def noisy(count: int, seed: int) -> list[QueryScores]:
    """The first member knows the answer roughly, the second knows nothing."""
    random = np.random.default_rng(seed)
    queries = []
    for number in range(count):
        scores = random.normal(size=(2, 60))
        scores[0, :3] += 2.5
        queries.append(made(f"q{number}", scores.tolist(), [0, 1, 2]))
    return queries


def test_average_precision_by_hand() -> None:
    one = made("q", [[5, 4, 3, 2, 1]], [0, 2])
    assert average_precisions([one], [1]).tolist() == [(1 / 1 + 2 / 3) / 2]
    tied = made("q", [[5, 5, 1]], [0])
    assert average_precisions([tied], [1]).tolist() == [1 / 2]
    assert average_precisions([one], [-1]).tolist() == [(1 / 3 + 2 / 5) / 2]


def test_a_member_that_knows_nothing_gets_hardly_any_weight() -> None:
    weights = fit_weights(noisy(60, 1))
    assert weights[1] <= weights[0] / 10
    assert average_precisions(noisy(60, 2), weights).mean() > average_precisions(noisy(60, 2), [1, 1]).mean() + 0.05


def test_weights_that_gain_nothing_stay_equal() -> None:
    same = [[3.0, 2.0, 1.0], [3.0, 2.0, 1.0]]
    assert fit_weights([made("q", same, [0])]) == (1.0, 1.0)


def test_no_query_is_scored_by_weights_that_saw_its_group() -> None:
    scores = noisy(12, 3)
    groups = {each.query: "abcd"[place % 4] for place, each in enumerate(scores)}
    fitted: list[set[str]] = []

    def spied(some: Sequence[QueryScores]) -> tuple[float, ...]:
        fitted.append({each.query for each in some})
        return fit_weights(some)

    values = cross_validated(scores, groups, folds=2, fit=spied)
    assert len(fitted) == 2
    assert all(not {groups[q] for q in one} & {groups[q] for q in set(groups) - one} for one in fitted)
    assert values.shape == (12,)
    assert ((values > 0) & (values <= 1)).all()
    folds = fitted_folds(scores, groups, folds=2)
    assert sorted(place for inside, _ in folds for place in inside) == list(range(12))
    again = [average_precisions([scores[place]], weights)[0] for inside, weights in folds for place in sorted(inside)]
    assert sorted(again) == sorted(values)


def test_folds_need_groups() -> None:
    scores = noisy(4, 1)
    with pytest.raises(ArgumentError, match="from 2 to the number of groups, 1"):
        cross_validated(scores, {each.query: "one" for each in scores})
    with pytest.raises(ArgumentError, match="no query of the truth"):
        fit_weights([])


@pytest.fixture
def tunes(tmp_path: Path) -> Iterator[Collection]:
    with Collection.build([tunes_path()], tmp_path / "tunes.roslin") as collection:
        yield collection


def test_scores_of_a_collection(tunes: Collection) -> None:
    truth = Truth({"roslin-castle": [["roslin-castle-2", "roslin-castle"], ["not-there"]], "unknown": [["x"]]})
    told: list[float] = []
    (found,) = member_scores(tunes, ["dp", "emd"], truth, lambda share, _: told.append(share))
    assert found.query == "roslin-castle"
    assert found.scores.shape == (2, len(tunes) - 1)
    assert found.documents == tuple(id for id in tunes.ids() if id != "roslin-castle")
    assert found.is_relevant.sum() == 1
    assert told == [1.0]
    distances = matcher("dp").distances(tunes["roslin-castle"], tunes.packed())
    ids = found.documents
    order = np.argsort(-found.scores[0], kind="stable")
    assert ids[order[0]] == min(ids, key=lambda id: (distances[tunes.ids().index(id)], ids.index(id)))
    with pytest.raises(ArgumentError, match="no matcher is given to fit"):
        member_scores(tunes, [], truth)
