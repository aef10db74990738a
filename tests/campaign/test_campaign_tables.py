"""A campaign as a table, as a data frame and in a notebook."""

from __future__ import annotations

from pathlib import Path

import pytest

from roslin import Campaign, Collection, Truth, load, run_campaign
from roslin.report.campaign import standings

FIRST = Truth({"melody-1": [["melody-2"], ["melody-3"]], "melody-2": [["melody-1"]]}, name="experts")


@pytest.fixture
def three(tmp_path: Path) -> Collection:
    return Collection.build(load("'4CDEC\n'4CDEF\n''4GFED"), tmp_path / "three.roslin")


def campaign(three: Collection, folder: Path, *others: Truth) -> Campaign:
    with three:
        return run_campaign(three, [FIRST, *others], ["dp", "p3"], folder, measures=["RR", "P@1"])


def test_the_means_of_one_truth(three: Collection, tmp_path: Path) -> None:
    result = campaign(three, tmp_path / "out")
    assert result.to_table().rows == result.evaluation.to_table().rows
    assert (str(result)[:7], str(result.evaluation)[:7]) == ("matcher", "run    ")
    assert repr(result) == "Campaign(2 matchers, 2 queries, 1 truth)"
    assert result._repr_html_() == result.evaluation._repr_html_().replace(">run<", ">matcher<")
    frame = result.to_frame()
    assert set(frame["truth"]) == {"experts"}
    assert frame.drop(columns="truth").equals(result.evaluation.to_frame())


def test_the_first_measure_under_other_truths(three: Collection, tmp_path: Path) -> None:
    known, nameless = Truth({"melody-3": [["melody-1"]]}, name="students"), Truth({"melody-3": [["melody-2"]]})
    result = campaign(three, tmp_path / "out", known, nameless)
    assert result.to_table().columns == ("system", "RR", "P@1", "RR (students)", "RR (truth 3)")
    for number, row in enumerate(result.to_table().rows):
        assert [row["RR"], row["P@1"]] == result.evaluations[0].means[number].tolist()
        assert row["RR (students)"] == result.evaluations[1].means[number, 0]
        assert row["RR (truth 3)"] == result.evaluations[2].means[number, 0]
    frame = result.to_frame("polars")
    assert frame.columns == ["truth", "system", "measure", "query", "value"]
    assert frame["truth"].unique(maintain_order=True).to_list() == ["experts", "students", "truth 3"]
    assert len(frame) == 2 * 2 * 2 + 2 + 2
    assert result.to_table().to_frame().shape == (2, 5)


def test_the_standings_say_what_is_published_and_what_is_ours(three: Collection, tmp_path: Path) -> None:
    systems = ["twv", "twv_covered", "twv(agree=True, score='mean')", "fuse(dp, us, scale='minmax')"]
    with three:
        rows = standings(run_campaign(three, [FIRST], systems, tmp_path / "out", measures=["RR"])).rows
    published = "Typke, Wiering & Veltkamp 2007, section 2, as published"
    assert {row["system"]: row["reference"] for row in rows} == {
        "twv": published,
        "twv_covered": "Roslin, after Typke, Wiering & Veltkamp 2007",
        "twv(score='mean', agree=True)": f"{published}; changed: score, agree",
        "fuse(dp, us, scale='minmax')": "Fox & Shaw 1994; Cormack, Clarke & Buettcher 2009; changed: scale",
    }
