"""A study: groups, and beside them what noise gives, how consistent they are, and who agrees."""

from __future__ import annotations

import numpy as np
import pytest

from roslin.errors import ArgumentError, UnknownNameError
from roslin.truth import (
    Method,
    Study,
    group_rankings,
    list_consistency,
    simulate_rankings,
    study_rankings,
    study_strengths,
    study_votes,
)
from roslin.truth.choice_models import Vote, group_votes, plackett_luce, segment_votes, strength_groups
from roslin.truth.rankings import as_rankings
from roslin.truth.study import null_groups, null_strengths


@pytest.fixture(scope="module")
def found() -> Study:
    return study_rankings(simulate_rankings([5, 9], 20, noise=0.6, dropout=0.2, seed=4), shuffles=50)


def test_a_study_has_what_its_parts_say(found: Study) -> None:
    """By the other way: each part called by itself."""
    said = found.rankings
    assert dict(found.truth) == dict(group_rankings(said))
    consistency = list_consistency(group_rankings(said), said)
    for query, each in found.queries.items():
        assert each.null is not None
        assert each.null.shuffled.tolist() == null_groups(said[query], Method(), 50).shuffled.tolist()
        assert each.consistency.value == consistency[query]
        assert len(each.neighbours) == len(each.grouped.arranged.documents) - 1
        assert each.sentence == each.null.sentence()


def test_rows_will_do_and_parts_can_be_left_out() -> None:
    rows = [("q", f"e{n}", id, rank) for n in range(9) for rank, id in enumerate("abc", start=1)]
    found = study_rankings([*rows, ("q", "e0", "left out", None)], shuffles=0, power=False)
    (each,) = found.queries.values()
    assert (each.null, each.neighbours, each.sentence) == (None, [], "3 groups")
    assert found.truth.nonrelevant("q") == ("left out",)
    assert found.summary.rows[0]["noise"] is None
    assert [row["document"] for row in found.lists().rows] == ["a", "b", "c"]


def test_tables(found: Study) -> None:
    rows = found.summary.rows
    assert [row["candidates"] for row in rows] == [5, 9]
    assert all(row["noise"] < row["groups"] for row in rows)
    assert {row["attention"][1:] for row in found.experts.rows} == {" of 2"}
    lists = found.lists({"q1-1": "A title"})
    assert len(lists.rows) == 14
    for query, each in found.queries.items():
        groups = [row["group"] for row in lists.rows if row["query"] == query]
        assert len(set(groups)) == len(each.grouped.starts)
        assert groups == sorted(groups)
        assert each.null is not None
        assert {row["noise_groups"] for row in lists.rows if row["query"] == query} == {each.null.mean}


def test_numbers_of_a_list_by_hand() -> None:
    ranks = {"a": [1, 1, 2, 1], "b": [2, 2, 1, 3]}
    rows = [("q", f"e{n}", id, rank) for id, given in ranks.items() for n, rank in enumerate(given)]
    first, second = study_rankings(rows, shuffles=0).lists().rows
    assert (first["document"], first["median"], first["mean"], first["votes"]) == ("a", 1, 1.25, 4)
    assert first["deviation"] == pytest.approx(0.5)
    assert first["largest_p"] is None
    assert (first["quartile_1"], first["quartile_3"]) == (1, 1.25)
    assert (second["median"], second["mean"]) == (2, 2)
    assert 0 < second["largest_p"] < 1


def test_a_study_shows_itself(found: Study) -> None:
    text = str(found)
    assert text.startswith("Queries, grouped by All-2\n\nquery  experts  candidates  groups   noise")
    assert "\n\nLists\n\nquery  group  document" in text
    page = found._repr_html_()
    assert page.count("<table") == 2
    assert page.count("<tr") == 2 + 2 + 14
    frame = found.to_frame()
    assert list(frame["document"]) == [row["document"] for row in found.lists().rows]
    assert found.to_frame("polars").shape == (14, 17)


def test_a_correction_is_in_the_consistency_of_a_study() -> None:
    said = simulate_rankings(12, 15, noise=0.85, seed=3)
    plain, holm = (study_rankings(said, Method(correction=each), 0, power=False) for each in (None, "holm"))
    for each in (plain, holm):
        truth = group_rankings(said, correction=each.method.correction)
        expected = list_consistency(truth, said, correction=each.method.correction)
        assert each.summary.rows[0]["ADR-1"] == expected["q1"]
    assert len(holm.queries["q1"].consistency.intra) < len(plain.queries["q1"].consistency.intra)


def test_progress_is_told_before_each_query() -> None:
    told: list[tuple[float, str]] = []
    study_rankings(simulate_rankings([3, 3], 4), shuffles=2, progress=lambda done, query: told.append((done, query)))
    assert told == [(0, "q1"), (1, "q2")]


def test_nobody_ranked_anything() -> None:
    empty = study_rankings([("q", "ann", "a", None)], shuffles=3)
    assert empty.lists().rows == ()
    assert empty.summary.rows[0]["groups"] == 0
    assert str(study_rankings([])).startswith("Queries, grouped by All-2")


def test_bad_arguments() -> None:
    said = [("q", "ann", "a", 1), ("q", "ann", "b", 2)]
    with pytest.raises(ArgumentError, match="shuffles must be at least 1; got -1"):
        study_rankings(said, shuffles=-1)
    with pytest.raises(UnknownNameError, match="unknown model 'mean'; known: segments, bradley-terry"):
        study_votes([Vote("q", "", "a", "b", "a")], "mean")


# -- models -----------------------------------------------------------------------------------------------------------


def test_strengths_beside_what_noise_gives() -> None:
    said = simulate_rankings([6], 20, noise=0.5, seed=4)
    found = study_strengths(said, resamples=20, shuffles=5)
    method = Method(unranked="last")
    fitted = plackett_luce(said["q1"], "last", 20)
    assert dict(found.truth) == {"q1": strength_groups(fitted, method)}
    expected = null_strengths(said["q1"], plackett_luce(said["q1"], "last", 20), method, 5)
    assert found.sentences == [f"query q1: {expected.sentence()}"]
    assert [row["document"] for row in found.table.rows] == [id for group in found.truth["q1"] for id in group]
    assert str(found).splitlines()[0] == found.sentences[0]
    assert list(found.to_frame()["strength"]) == sorted(found.to_frame()["strength"], reverse=True)
    assert "<td>q1</td>" in found._repr_html_()


def test_votes_beside_what_noise_gives() -> None:
    votes = [Vote("q", "", *pair) for pair in [("a", "b", "a")] * 9 + [("b", "c", "s")] * 8 + [("a", "c", "a")] * 7]
    by_segments = study_votes(votes, shuffles=20)
    assert dict(by_segments.truth) == dict(segment_votes(votes))
    assert by_segments.sentences[0].startswith("query q: 2 groups; shuffled votes give ")
    by_strength = study_votes(votes, "bradley-terry", method=Method("any", 1, 0.1), shuffles=0)
    assert dict(by_strength.truth) == dict(group_votes(votes, "any", 1, 0.1))
    assert by_strength.sentences == []
    assert str(by_strength).splitlines()[0].split() == ["query", "group", "document"]
    assert {row["group"] for row in study_votes(votes, margin=10, shuffles=0).table.rows} == {1}


def test_noise_has_no_groups() -> None:
    """Experts who rank at random: the study must not find more groups than noise has."""
    chance = np.random.default_rng(5)
    rows = [("q", f"e{e}", f"d{d}", rank) for e in range(20) for d, rank in enumerate(chance.permutation(8) + 1)]
    null = study_rankings(as_rankings(rows), shuffles=200, power=False).queries["q"].null
    assert null is not None
    assert null.p > 0.05
