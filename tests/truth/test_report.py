"""The tables of paper 002: every element of a plot stands where its number says."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from roslin.errors import ArgumentError, UnknownNameError
from roslin.melody import Melody
from roslin.notation import load
from roslin.report.truth import truth_page
from roslin.report.truth_export import truth_csv, truth_svg
from roslin.report.truth_latex import latex_box_plot, latex_squares, truth_latex
from roslin.report.truth_plots import SQUARE, Scale, box_plot, p_squares, plot_of_experience, scale_of
from roslin.report.truth_tables import Study, people, study, summary
from roslin.starter import tunes_path
from roslin.truth import group_rankings, list_consistency, read_truth
from roslin.truth.compare import compare_truths
from roslin.truth.grouping import Method
from roslin.truth.model import Truth
from roslin.truth.rankings import as_rankings
from roslin.truth.simulate import simulate_rankings


@pytest.fixture(scope="module")
def found() -> Study:
    rankings = simulate_rankings([5, 9], 20, noise=0.6, dropout=0.2, seed=4)
    return study(rankings, Method(), shuffles=50)


def element(svg: str, name: str) -> dict[str, str]:
    tag = re.search(rf'<\w+ class="{name}"([^>]*)/>', svg)
    assert tag is not None, name
    return dict(re.findall(r'([\w-]+)="([^"]*)"', tag[1]))


def test_the_plot_is_what_section_3_3_2_says() -> None:
    sample = np.array([1.0, 2, 2, 3, 4, 4, 5, 7, 9, 10, 20])
    scale = Scale(0, 20, width=216, margin=8)  # ten pixels a rank
    svg = box_plot(sample, scale)

    def value(pixel: str) -> float:
        return (float(pixel) - 8) / 10

    box, mean, spread, median = (element(svg, f"rt-{name}") for name in ("box", "mean", "spread", "median"))
    first, third = np.quantile(sample, [0.25, 0.75])
    assert value(box["x"]) == pytest.approx(first)
    assert float(box["width"]) / 10 == pytest.approx(third - first)
    assert value(mean["x1"]) == value(mean["x2"]) == pytest.approx(sample.mean(), abs=1e-3)
    assert value(spread["x1"]) == pytest.approx(sample.mean() - sample.std(ddof=1), abs=1e-3)
    assert value(spread["x2"]) == pytest.approx(sample.mean() + sample.std(ddof=1), abs=1e-3)
    assert value(median["cx"]) == 4
    whiskers = re.findall(r'class="rt-whisker" x1="([\d.]+)" y1="[\d.]+" x2="([\d.]+)"', svg)
    ends = [value(pixel) for pair in whiskers for pixel in pair]
    assert min(ends) == pytest.approx(2)  # the bottom 10 percent of eleven: the second
    assert max(ends) == pytest.approx(10)  # the top 10 percent
    dots = [value(pixel) for pixel in re.findall(r'class="rt-dot" cx="([\d.]+)"', svg)]
    assert sorted(dots) == sample.tolist()
    assert box_plot(np.array([]), scale) == ""


def test_a_deviation_has_its_place_beyond_the_first_and_last_rank() -> None:
    """Nine firsts and a tenth place: one deviation below the mean lies before rank 1, where no number stands."""
    sample = np.array([1.0] * 9 + [10.0])
    scale = scale_of([sample, np.array([])], least=1)
    assert scale.low == pytest.approx(sample.mean() - sample.std(ddof=1))
    assert scale.ticks[0] == 1
    high = scale_of([np.array([1.0, 9, 9, 9, 9])], least=1)
    assert high.high == pytest.approx(7.4 + np.std([1, 9, 9, 9, 9], ddof=1))
    spread = element(box_plot(sample, scale), "rt-spread")
    assert float(spread["x1"]) == scale.at(scale.low) == scale.margin
    assert float(spread["x2"]) - scale.at(1.9) == pytest.approx(scale.at(1.9) - float(spread["x1"]), abs=0.02)
    assert scale_of([], least=1).ticks == [1, 2]


def test_the_dark_part_is_the_p_value() -> None:
    svg = p_squares([0.0, 0.25, 1.0], ["a", "b & c", "d"])
    dark = [float(height) for height in re.findall(r'class="rt-dark"[^>]*height="([\d.]+)"', svg)]
    assert dark == pytest.approx([0, 0.25 * SQUARE, SQUARE])
    assert "p = 0.25 against b &amp; c" in svg
    assert p_squares([], []) == ""


def test_figure_7() -> None:
    svg = plot_of_experience([3, 9, 12, 20, 35])
    ElementTree.fromstring(svg)
    assert svg.count("rt-dot") == 5
    assert "median 12, mean 15.8 years of experience" in svg
    assert scale_of([np.array([0.0, 0, 0, 40])], least=0).ticks[0] == 0


def test_the_page_has_a_row_for_every_candidate_and_a_line_for_every_group(found: Study) -> None:
    page = truth_page(found, experience=[1, 2, 3], sources=["from here"])
    assert re.search(
        r"<summary>\d pairs? of neighbours not yet apart</summary><ul><li>[^<]*: p = 0\.\d+, about \d+ more experts",
        page,
    )
    groups = [len(each.grouped.starts) for each in found.queries.values()]
    assert max(groups) > 1
    assert page.count("<tr class=begins>") == sum(groups) - len(groups)
    assert page.count('class="median"') == 14
    assert len(re.findall(r"rt-dark", page.split("</style>")[1])) == 4 * 5 // 2 + 8 * 9 // 2
    assert "shuffled rankings give" in page
    assert "from here" in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_names_are_escaped() -> None:
    said = as_rankings([("<q>", "<e>", "<d&1>", 1), ("<q>", "<f>", "<d&1>", 1), ("<q>", "<f>", "x", 2)])
    page = truth_page(study(said, Method(), shuffles=0))
    for text in ("<q>", "<e>", "<d&1>"):
        assert text not in page
    ElementTree.fromstring(truth_svg(study(said, Method(), shuffles=0)))


def test_melodies_are_drawn() -> None:
    tunes: dict[str, Melody] = {tune.id or "": tune for tune in load(tunes_path())}
    ids = ["roslin-castle", "roslin-castle-2", "greensleeves"]
    rows = [("roslin-castle", f"e{n}", id, rank) for n in range(6) for rank, id in enumerate(ids, start=1)]
    drawn = study(as_rankings(rows), Method(), shuffles=0)
    page = truth_page(drawn, {id: tunes[id] for id in ids})
    assert page.count('class="notation"') == 3
    assert "Query roslin-castle: Roslin Castle" in page
    used = re.findall(r' id="([^"]+)"', page)
    assert len(used) == len(set(used))
    svg = truth_svg(drawn, {id: tunes[id] for id in ids})
    ElementTree.fromstring(svg)
    assert svg.count('class="notation"') == 3
    assert "Greensleeves" in truth_csv(drawn, tunes)


def test_latex_has_a_line_above_every_group_and_a_plot_for_every_candidate(found: Study) -> None:
    text = truth_latex(found, experience=[1, 2, 3])
    groups = sum(len(each.grouped.starts) for each in found.queries.values())
    assert text.count("\\hline") == groups + 2  # and one below each list
    assert text.count("\\begin{longtable}") == text.count("\\end{longtable}") == 2
    assert text.count("\\begin{picture}") == text.count("\\end{picture}") == 14 + 12 + 2 + 2
    assert "\\small 3 groups; shuffled rankings give" in text
    assert "The experience of 3 experts, in years" in text
    assert text.count("{") == text.count("}")
    assert "longtable" in text.splitlines()[0]
    assert "a\\_b \\& c" in truth_latex(study(as_rankings([("q", "e", "a_b & c", 1)]), Method(), shuffles=0))


def test_the_plot_in_latex_is_that_of_the_page() -> None:
    sample = np.array([1.0, 2, 2, 3, 4, 4, 5, 7, 9, 10, 20])
    scale = Scale(0, 20, width=216, margin=8)
    text = latex_box_plot(sample, scale)
    box = re.search(r"\\put\(([\d.]+),[\d.]+\)\{\\framebox\(([\d.]+),", text)
    assert box is not None
    svg = element(box_plot(sample, scale), "rt-box")
    assert [float(box[1]), float(box[2])] == pytest.approx([float(svg["x"]), float(svg["width"])])
    dots = re.findall(r"\\multiput\(([\d.]+),9\)\(0,[-\d.]+\)\{(\d+)\}\{\\circle\*\{1\}\}", text)
    assert [(float(x) - 8) / 10 for x, count in dots for _ in range(int(count))] == sample.tolist()
    assert re.search(r"\\put\(48,18\)\{\\circle\*\{4\}\}", text)  # the median, 4
    dark = [float(height) for height in re.findall(r"\\rule\{6pt\}\{([\d.]+)pt\}", latex_squares([0.0, 0.25, 1.0]))]
    assert dark == [0, 1.5, 6]
    assert latex_box_plot(np.array([]), scale) == ""


def test_csv_has_all_numbers(found: Study) -> None:
    head, *rows = truth_csv(found).splitlines()
    assert head.startswith("query,group,document,title,median,mean,deviation")
    assert len(rows) == 14
    assert rows[0].split(",")[12] == ""  # the first has none before it
    assert [row.split(",")[13] for row in rows] == [
        repr(each.null.mean) for each in found.queries.values() if each.null for _ in each.grouped.arranged.documents
    ]


def test_csv_is_read_as_a_truth(tmp_path: Path) -> None:
    rows = [("q", f"e{n}", id, rank) for n in range(9) for rank, id in enumerate("abc", start=1)]
    said = as_rankings([*rows, ("q", "e0", "left out", None)])
    path = tmp_path / "report.csv"
    path.write_text(truth_csv(study(said, Method(), shuffles=0)), encoding="utf-8")
    assert read_truth(path) == group_rankings(said)


def test_a_correction_is_in_the_consistency_of_a_report() -> None:
    said = simulate_rankings(12, 15, noise=0.85, seed=3)
    plain, holm = (study(said, Method(correction=each), shuffles=0, power=False) for each in (None, "holm"))
    for each in (plain, holm):
        truth = group_rankings(said, correction=each.method.correction)
        expected = list_consistency(truth, said, correction=each.method.correction)
        assert summary(each).rows[0]["ADR-1"] == expected["q1"]
    assert len(holm.queries["q1"].consistency.intra) < len(plain.queries["q1"].consistency.intra)
    assert "pairs of neighbours not yet apart, even uncorrected" in truth_page(
        study(said, Method(correction="holm"), shuffles=0)
    )


def test_tables(found: Study) -> None:
    rows = summary(found).rows
    assert [row["candidates"] for row in rows] == [5, 9]
    assert all(row["noise"] < row["groups"] for row in rows)
    assert {row["attention"][1:] for row in people(found.rankings).rows} == {" of 2"}


def test_nobody_ranked_anything() -> None:
    empty = study(as_rankings([("q", "ann", "a", None)]), Method(), shuffles=3)
    assert "0 groups" in truth_page(empty)
    assert "Left out, with too few votes: a." in truth_page(empty)
    ElementTree.fromstring(truth_svg(empty))


def test_truths_compared_by_pairs() -> None:
    truth = Truth({"q": [["a"], ["b", "c"], ["d"]]})
    (same,) = compare_truths(truth, Truth({"q": [["a"], ["c", "b"], ["d"]]}))
    assert same.identical
    assert (same.agree, same.looser, same.reversed) == (1, 0, 0)
    (other,) = compare_truths(truth, Truth({"q": [["b"], ["a"], ["c"], ["d"]]}))
    assert not other.identical
    assert other.agree == pytest.approx(4 / 6)
    assert other.looser == pytest.approx(1 / 6)  # b and c
    assert other.reversed == pytest.approx(1 / 6)  # a and b
    with pytest.raises(UnknownNameError, match="unknown query of the other truth 'q'; known: r"):
        compare_truths(truth, Truth({"r": [["a"]]}))
    with pytest.raises(ArgumentError, match="no document in common; are the ids the same"):
        compare_truths(truth, Truth({"q": [["x", "y"]]}))
    (one,) = compare_truths(truth, Truth({"q": [["x"], ["a"]]}))
    assert one.documents == 1
    assert np.isnan([one.agree, one.looser, one.reversed]).all()  # one document makes no pair
