"""What other experts do to a score: by hand, then on simulated panels."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from roslin.errors import ArgumentError
from roslin.evaluate import Evaluation, evaluate
from roslin.evaluate.evaluation import Judges, with_judges
from roslin.evaluate.exchanges import mean_intervals
from roslin.evaluate.tables import means, means_by_measure, remarks
from roslin.report.evaluation import evaluation_page
from roslin.truth import Method, Rankings, simulate_rankings
from roslin.truth.grouping import grouped_truth, panel_truths
from roslin.truth.rankings import as_rankings

AGREED = as_rankings(
    [("q1", f"e{n}", id, rank) for n in range(6) for rank, id in enumerate("abc", start=1)]
    + [("q2", f"e{n}", id, rank) for n in range(6) for rank, id in enumerate("xyz", start=1)]
)


def judged(rankings: Rankings, panels: int = 20, seed: int = 2005) -> tuple[Evaluation, Evaluation]:
    runs = {
        "forward": {query: list(each.documents) for query, each in rankings.items()},
        "backward": {query: list(each.documents)[::-1] for query, each in rankings.items()},
    }
    plain = evaluate(grouped_truth(rankings, Method()), runs, ["ADR", "AP"])
    return plain, with_judges(plain, rankings, Method(), panels, seed)


def test_deviations_by_hand() -> None:
    # Three panels, one run, one measure, two queries: once they move together, once against each other.
    together, apart = (np.array(rows)[:, None, None, :] for rows in ([[0, 0], [0.5, 0.5], [1, 1]], [[0, 1], [1, 0]]))
    found = Judges(together, 5)
    assert found.means[:, 0, 0].tolist() == [0, 0.5, 1]
    assert found.deviations.item() == pytest.approx(0.5)
    # Var(query) = 0.25 each; alone they would give (0.25 + 0.25) / 4, and 0.25 - 0.125 is shared.
    assert found.shared.item() == pytest.approx(np.sqrt(0.125))
    assert Judges(apart, 5).shared.item() == 0


def test_intervals_are_widened_by_what_queries_share() -> None:
    found = Judges(np.array([[0, 0], [0.5, 0.5], [1, 1]])[:, None, None, :] * 0.1, 5)
    mean, interval = np.array([[0.5]]), np.array([[[0.4, 0.7]]])
    reach = NormalDist().inv_cdf(0.95) * 0.1 * np.sqrt(0.125)
    low, high = found.widened(mean, interval, 0.9, np.array([1.0]))[0, 0]
    assert low == pytest.approx(0.5 - np.hypot(0.1, reach))
    assert high == pytest.approx(0.5 + np.hypot(0.2, reach))
    wide = Judges(found.values * 100, 5).widened(mean, interval, 0.9, np.array([1.0]))
    assert wide[0, 0].tolist() == [0, 1]


def test_a_panel_without_a_value_is_left_out() -> None:
    values = np.array([[0.0, np.nan], [1.0, 1.0], [0.5, 0.5]])[:, None, None, :]
    found = Judges(values, 3)
    assert found.means[:, 0, 0].tolist() == [0, 1, 0.5]
    assert np.isfinite(found.shared).all()


def test_experts_who_agree_change_nothing() -> None:
    plain, found = judged(AGREED)
    assert found.judges is not None
    assert found.judges.values.shape == (20, 2, 2, 2)
    assert found.judges.deviations.tolist() == [[0, 0], [0, 0]]
    without, columns = means(found).without("judges"), means(plain).columns
    assert [{name: row[name] for name in columns} for row in without.rows] == [dict(row) for row in means(plain).rows]


def test_tables_and_pages_say_what_is_covered() -> None:
    plain, found = judged(simulate_rankings([8, 12, 10], 8, noise=0.9, seed=3))
    table = means(found)
    assert table.columns == (*means(plain).columns, "judges")
    assert table.title.endswith("that cover queries and judges")
    for wide, narrow in zip(table.rows, means(plain).rows, strict=True):
        assert wide["mean"] == narrow["mean"]
        assert wide["low"] <= narrow["low"]
        assert wide["high"] >= narrow["high"]
    assert any(row["judges"] > 0 for row in table.rows)
    said = "judges: how far a mean moves with other experts (standard deviation over 20 panels of 8"
    assert any(each.startswith(said) for each in remarks([found]))
    assert said in evaluation_page([found])
    assert not any("judges" in each for each in remarks([plain]))
    assert means_by_measure(found).columns == ("system", "ADR", "AP")


def test_the_same_seed_gives_the_same_intervals() -> None:
    said = simulate_rankings([8, 12], 8, noise=0.9)
    first, second, third = (judged(said, 5, seed)[1].judges for seed in (1, 1, 2))
    assert first is not None
    assert second is not None
    assert third is not None
    assert first.values.tolist() == second.values.tolist()
    assert first.values.tolist() != third.values.tolist()


def test_a_panel_is_drawn_for_all_queries_at_once() -> None:
    """Experts of two schools: under every panel both queries have the order of the school that has more of it."""
    orders = {"pitch": ("abcd", "wxyz"), "rhythm": ("dcba", "zyxw")}
    rows = [
        (query, f"{school} {n}", id, rank)
        for school, both in orders.items()
        for n in range(5)
        for query, order in zip(("q1", "q2"), both, strict=True)
        for rank, id in enumerate(order, start=1)
    ]
    firsts = {
        (truth["q1"][0][0], truth["q2"][0][0])
        for truth in panel_truths(as_rankings(rows), Method(), 60)
        if len(truth["q1"]) == 4
    }
    assert firsts == {("a", "w"), ("d", "z")}
    _, found = judged(as_rankings(rows), 60)
    assert found.judges is not None
    # All of the variance but the part that single queries would have is shared: with two alike queries, half of it.
    assert found.judges.shared[0, 0] ** 2 == pytest.approx(found.judges.deviations[0, 0] ** 2 / 2)


def test_a_query_that_no_drawn_expert_judged() -> None:
    rows = [("q1", f"e{n}", id, rank) for n in range(5) for rank, id in enumerate("ab", start=1)]
    rows += [("q2", "e0", "x", 1), ("q2", "e0", "y", 2)]
    truths = list(panel_truths(as_rankings(rows), Method(), 30))
    assert {0, 1} <= {len(truth["q2"]) for truth in truths}
    _, found = judged(as_rankings(rows), 30)
    assert found.judges is not None
    assert np.isnan(found.judges.values).any()
    assert np.isfinite(found.judges.deviations).all()


def test_fewer_than_two_panels_or_experts_are_refused() -> None:
    with pytest.raises(ArgumentError, match="panels must be at least 2; got 1"):
        next(panel_truths(AGREED, Method(), 1))
    alone = as_rankings([("q", "ann", "a", 1), ("q", "ann", "b", 2)])
    with pytest.raises(ArgumentError, match="other panels can be drawn from two experts or more; got 1"):
        next(panel_truths(alone, Method()))


def test_intervals_without_judges_are_those_over_queries() -> None:
    plain, _ = judged(AGREED, 2)
    row = means(plain).rows[0]
    expected = mean_intervals(plain.counted)[0, 0]
    assert (row["low"], row["high"]) == tuple(expected.tolist())
