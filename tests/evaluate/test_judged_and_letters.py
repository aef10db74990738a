"""How much of a list was judged, and the small table with letters."""

from __future__ import annotations

import pytest

from roslin.errors import ArgumentError
from roslin.evaluate import evaluate, measure
from roslin.evaluate.significance import letter, lettered_latex, worse_than
from roslin.evaluate.tables import judged_at, judged_table
from roslin.truth import Truth

RELEVANCE = {"q": {"a": 2, "b": 1, "n": 0}, "r": {"c": 1}}
RUNS = {"mine": {"q": ["a", "x", "n", "y"], "r": ["c"]}, "theirs": {"q": ["x", "y", "b"], "r": ["z", "y"]}}


def test_judged_by_hand_and_by_ir_measures() -> None:
    import ir_measures

    result = evaluate(Truth.from_relevance(RELEVANCE), RUNS, "P@2")
    table = judged_table(result, 3)
    assert [row["judged@3"] for row in table.rows] == pytest.approx([(2 / 3 + 1) / 2, (1 / 3 + 0) / 2])
    assert [(row["least"], row["query"]) for row in table.rows] == [(pytest.approx(2 / 3), "q"), (0.0, "r")]
    assert table.note == ""
    theirs = ir_measures.parse_measure("Judged@3")
    for row, lists in zip(table.rows, RUNS.values(), strict=True):
        scores = {query: {id: -float(rank) for rank, id in enumerate(ids)} for query, ids in lists.items()}
        assert row["judged@3"] == pytest.approx(ir_measures.calc_aggregate([theirs], RELEVANCE, scores)[theirs])
    assert judged_at({"a"}, [], 5) == 0
    with pytest.raises(ArgumentError, match="k must be 1 or more; got 0"):
        judged_at({"a"}, ["a"], 0)


def test_a_truth_that_does_not_say_what_is_not_relevant() -> None:
    table = judged_table(evaluate({"q": [["a"]]}, {"mine": {"q": ["a", "b"]}}, "P@2"), 2)
    assert table.rows[0]["judged@2"] == 0.5
    assert table.note.startswith("for 1 query the truth does not say what was judged and found not relevant")


def test_letters() -> None:
    queries = [f"q{k}" for k in range(30)]
    truth = {query: [["a"]] for query in queries}
    good = {query: ["a"] if k else ["x", "a"] for k, query in enumerate(queries)}
    poor = {query: ["x", "y", "z", "a"] if k % 3 else ["x", "a"] for k, query in enumerate(queries)}
    result = evaluate(truth, {"good_1": good, "same": good, "poor": poor}, ["RR", "FP"])
    assert worse_than(result, measure("RR")) == {"good_1": ["poor"], "same": ["poor"], "poor": []}
    assert worse_than(result, measure("FP")) == {"good_1": [], "same": [], "poor": []}
    table = lettered_latex(result)
    assert r"a & good\_1 & \textbf{.983}$^{c}$ & .033 \\" in table
    assert r"c & poor & .333 & 2.333 \\" in table
    assert table.count("tabular") == 2
    assert "% Means over 30 queries; a letter: better than that run at 5%, all pairs" in table
    alone = lettered_latex(evaluate(truth, {"only": good}, "Inversions"))
    assert r"a & only & .000 \\" in alone
    assert [letter(place) for place in (0, 25, 26, 53)] == ["a", "z", "aa", "bb"]


def test_many_systems_have_letters_with_commas() -> None:
    truth = {f"q{k}": [["a"]] for k in range(40)}
    best = {query: ["a"] for query in truth}
    runs = {"best": best} | {f"s{k}": {query: ["x", "a"] for query in truth} for k in range(27)}
    table = lettered_latex(evaluate(truth, runs, "RR"))
    assert r"\textbf{1.000}$^{b,c,d," in table
