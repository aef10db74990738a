"""The tables of paper 002: every element of a plot stands where its number says."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from roslin.melody import Melody
from roslin.notation import load
from roslin.report.truth import truth_page
from roslin.report.truth_export import truth_csv, truth_latex, truth_svg
from roslin.report.truth_plots import SQUARE, Scale, box_plot, p_squares, plot_of_experience
from roslin.report.truth_tables import Study, people, study, summary
from roslin.starter import tunes_path
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


def test_the_page_has_a_row_for_every_candidate_and_a_line_for_every_group(found: Study) -> None:
    page = truth_page(found, experience=[1, 2, 3], sources=["from here"])
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


def test_latex_has_a_rule_above_every_group(found: Study) -> None:
    text = truth_latex(found)
    groups = sum(len(each.grouped.starts) for each in found.queries.values())
    assert text.count("\\midrule") == groups  # the first stands below the head
    assert text.count("\\begin{tabular}") == 2


def test_csv_has_all_numbers(found: Study) -> None:
    head, *rows = truth_csv(found).splitlines()
    assert head.startswith("query,group,document,title,median,mean,deviation")
    assert len(rows) == 14
    assert rows[0].endswith(",")  # the first has none before it


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
    with pytest.raises(Exception, match="unknown query of the other truth 'q'; known: r"):
        compare_truths(truth, Truth({"r": [["a"]]}))
