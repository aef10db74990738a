"""A truth as a table, as a data frame and in a notebook."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roslin import Truth
from roslin.truth import read_truth

TRUTH = Truth({"q1": [["a", "b"], ["c"]], "q2": [["d"]], "q3": []}, nonrelevant={"q1": ["x", "y"]}, name="experts")


def test_a_row_for_each_query() -> None:
    assert str(TRUTH).splitlines() == [
        "query  groups  documents  not relevant",
        "q1          2          3  2",
        "q2          1          1",
        "q3          0          0",
    ]
    assert repr(TRUTH) == "Truth('experts', 3 queries, 4 documents)"
    assert "<caption>experts</caption>" in TRUTH._repr_html_()
    assert str(Truth({})) == "Truth('', 0 queries, 0 documents)"


def test_a_long_one_is_cut_in_a_notebook() -> None:
    page = Truth({f"q{k}": [["a"]] for k in range(30)}, name="many")._repr_html_()
    assert page.count("<tr>") == 1 + 20
    assert "many: the first 20 of 30 queries" in page
    assert "<caption>the first 20 of 30" in Truth({f"q{k}": [["a"]] for k in range(30)})._repr_html_()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_row_for_each_judgement(library: Literal["pandas", "polars"]) -> None:
    frame = TRUTH.to_frame(library)
    assert list(frame.columns) == ["query", "document", "group"]
    assert list(zip(*(frame[name] for name in frame.columns), strict=True)) == list(TRUTH.judgements())
    assert ("q1", "x", 0) in TRUTH.judgements()
    assert len(Truth({}).to_frame(library)) == 0


@given(st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=3), min_size=1, max_size=5))
def test_a_frame_reads_back(groups: list[list[int]]) -> None:
    seen: set[int] = set()
    truth = Truth({"q": [[f"d{id}" for id in group] for group in _apart(groups, seen)]})
    assert read_truth(truth.to_frame()) == truth


def _apart(groups: list[list[int]], seen: set[int]) -> list[list[int]]:
    """Groups with no document in two of them."""
    kept = []
    for group in groups:
        new = [id for id in dict.fromkeys(group) if id not in seen]
        seen.update(new)
        if new:
            kept.append(new)
    return kept
