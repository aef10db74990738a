"""The tables of Typke et al. (2007): every element of a plot stands where its number says."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from roslin.melody import Melody
from roslin.notation import load
from roslin.report.plots import SQUARE, Scale, box_plot, experience_plot, p_squares, scale_of
from roslin.report.svg import SvgElement, svg
from roslin.report.truth import latex_box_plot, latex_squares, truth_csv, truth_latex, truth_page, truth_svg
from roslin.starter import tunes_path
from roslin.truth import Method, Study, Truth, group_rankings, read_truth, study_rankings
from roslin.truth.rankings import as_rankings
from roslin.truth.simulate import simulate_rankings


@pytest.fixture(scope="module")
def found() -> Study:
    rankings = simulate_rankings([5, 9], 20, noise=0.6, dropout=0.2, seed=4)
    return study_rankings(rankings, Method(), shuffles=50)


def elements(found: list[SvgElement], kind: str) -> list[dict[str, float]]:
    """The numbers of all elements of a class."""
    numbers = [
        {name: value for name, value in each.attributes.items() if name != "class"}
        for each in found
        if each.attributes.get("class") == kind
    ]
    inside = [each for one in found for each in elements(list(one.inside), kind)]
    return numbers + inside


def test_the_plot_is_what_section_3_3_2_says() -> None:
    sample = np.array([1.0, 2, 2, 3, 4, 4, 5, 7, 9, 10, 20])
    scale = Scale(0, 20, width=216, margin=8)  # ten pixels a rank
    plot = box_plot(sample, scale)

    def value(pixel: float) -> float:
        return (pixel - 8) / 10

    ((box,), (mean,), (spread,), (median,)) = (
        elements(plot, f"plot-{kind}") for kind in ("box", "mean", "spread", "median")
    )
    first, third = np.quantile(sample, [0.25, 0.75])
    assert value(box["x"]) == pytest.approx(first)
    assert box["width"] / 10 == pytest.approx(third - first)
    assert value(mean["x1"]) == value(mean["x2"]) == pytest.approx(sample.mean(), abs=1e-3)
    assert value(spread["x1"]) == pytest.approx(sample.mean() - sample.std(ddof=1), abs=1e-3)
    assert value(spread["x2"]) == pytest.approx(sample.mean() + sample.std(ddof=1), abs=1e-3)
    assert value(median["cx"]) == 4
    ends = [value(whisker[end]) for whisker in elements(plot, "plot-line") for end in ("x1", "x2")]
    assert min(ends) == pytest.approx(2)  # the bottom 10 percent of eleven: the second
    assert max(ends) == pytest.approx(10)  # the top 10 percent
    assert sorted(value(dot["cx"]) for dot in elements(plot, "plot-dot")) == sample.tolist()
    assert box_plot(np.array([]), scale) == []


def test_a_deviation_has_its_place_beyond_the_first_and_last_rank() -> None:
    """Nine firsts and a tenth place: one deviation below the mean lies before rank 1, where no number stands."""
    sample = np.array([1.0] * 9 + [10.0])
    scale = scale_of([sample, np.array([])], least=1)
    assert scale.low == pytest.approx(sample.mean() - sample.std(ddof=1))
    assert scale.ticks[0] == 1
    high = scale_of([np.array([1.0, 9, 9, 9, 9])], least=1)
    assert high.high == pytest.approx(7.4 + np.std([1, 9, 9, 9, 9], ddof=1))
    (spread,) = elements(box_plot(sample, scale), "plot-spread")
    assert spread["x1"] == scale.at(scale.low) == scale.margin
    assert spread["x2"] - scale.at(1.9) == pytest.approx(scale.at(1.9) - spread["x1"], abs=0.02)
    assert scale_of([], least=1).ticks == [1, 2]


def test_the_dark_part_is_the_p_value() -> None:
    squares = p_squares([0.0, 0.25, 1.0], ["a", "b & c", "d"])
    dark = [square["height"] for square in elements(squares, "plot-dark")]
    assert dark == pytest.approx([0, 0.25 * SQUARE, SQUARE])
    assert "<title>p = 0.25 against b &amp; c</title>" in svg(squares, 100, 20, "p-values")
    assert p_squares([], []) == []


def test_figure_7() -> None:
    plot = experience_plot([3, 9, 12, 20, 35])
    ElementTree.fromstring(plot)
    assert plot.count("plot-dot") == 5
    assert "median 12, mean 15.8 years of experience" in plot
    assert scale_of([np.array([0.0, 0, 0, 40])], least=0).ticks[0] == 0


def test_the_page_has_a_row_for_every_candidate_and_a_line_for_every_group(found: Study) -> None:
    page = truth_page(found, experience=[1, 2, 3], sources=["from here"])
    assert re.search(
        r"<summary>\d pairs? of neighbours not yet apart</summary>\s*"
        r"<ul>\s*<li>[^<]*: p = 0\.\d+, about \d+ more participants",
        page,
    )
    groups = [len(each.grouped.starts) for each in found.queries.values()]
    assert max(groups) > 1
    assert page.count('<tr class="begins">') == sum(groups) - len(groups)
    assert page.count('class="median"') == 14
    assert len(re.findall(r"plot-dark", page.split("</style>")[1])) == 4 * 5 // 2 + 8 * 9 // 2
    assert "shuffled rankings give" in page
    assert "from here" in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")


def test_names_are_escaped() -> None:
    said = as_rankings([("<q>", "<e>", "<d&1>", 1), ("<q>", "<f>", "<d&1>", 1), ("<q>", "<f>", "x", 2)])
    page = truth_page(study_rankings(said, Method(), shuffles=0))
    for text in ("<q>", "<e>", "<d&1>"):
        assert text not in page
    ElementTree.fromstring(truth_svg(study_rankings(said, Method(), shuffles=0)))


def test_melodies_are_drawn() -> None:
    tunes: dict[str, Melody] = {tune.id or "": tune for tune in load(tunes_path())}
    ids = ["roslin-castle", "roslin-castle-2", "greensleeves"]
    rows = [("roslin-castle", f"e{n}", id, rank) for n in range(6) for rank, id in enumerate(ids, start=1)]
    drawn = study_rankings(as_rankings(rows), Method(), shuffles=0)
    page = truth_page(drawn, {id: tunes[id] for id in ids})
    assert page.count('class="notation"') == 3
    assert "Query roslin-castle: Roslin Castle" in page
    used = re.findall(r' id="([^"]+)"', page)
    assert len(used) == len(set(used))
    drawing = truth_svg(drawn, {id: tunes[id] for id in ids})
    ElementTree.fromstring(drawing)
    assert drawing.count('class="notation"') == 3
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
    assert "a\\_b \\& c" in truth_latex(study_rankings(as_rankings([("q", "e", "a_b & c", 1)]), Method(), shuffles=0))


def test_the_plot_in_latex_is_that_of_the_page() -> None:
    sample = np.array([1.0, 2, 2, 3, 4, 4, 5, 7, 9, 10, 20])
    scale = Scale(0, 20, width=216, margin=8)
    text = latex_box_plot(sample, scale)
    box = re.search(r"\\put\(([\d.]+),[\d.]+\)\{\\framebox\(([\d.]+),", text)
    assert box is not None
    (drawn,) = elements(box_plot(sample, scale), "plot-box")
    assert [float(box[1]), float(box[2])] == pytest.approx([drawn["x"], drawn["width"]])
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
    path.write_text(truth_csv(study_rankings(said, Method(), shuffles=0)), encoding="utf-8")
    assert read_truth(path) == group_rankings(said)


def test_what_a_correction_leaves_out_is_said() -> None:
    said = simulate_rankings(12, 15, noise=0.85, seed=3)
    page = truth_page(study_rankings(said, Method(correction="holm"), shuffles=0))
    assert "pairs of neighbours not yet apart, even uncorrected" in page


def test_nobody_ranked_anything() -> None:
    empty = study_rankings(as_rankings([("q", "ann", "a", None)]), Method(), shuffles=3)
    assert "0 groups" in truth_page(empty)
    assert "Left out, with too few votes: a." in truth_page(empty)
    ElementTree.fromstring(truth_svg(empty))


@pytest.fixture(scope="module")
def doubted() -> Study:
    """Two groups that are real, cut further by an eager function, and a candidate with a single vote at the head."""
    truth = Truth({"q": [[f"a{k}" for k in range(5)], [f"b{k}" for k in range(7)]]})
    said = simulate_rankings(experts=30, model="plackett-luce", noise=0.05, truth=truth, seed=3)
    rows = [(q, expert, id, (rank or 0) + (expert == "expert-01")) for q, expert, id, rank in said.rows()]
    return study_rankings([*rows, ("q", "expert-01", "odd", 1)], Method("any", 1), shuffles=200)


def test_a_page_names_doubtful_lines_and_few_votes(doubted: Study) -> None:
    each = doubted.queries["q"]
    page = truth_page(doubted)
    doubtful = [line for line in each.boundaries if line.is_doubtful]
    assert 0 < len(doubtful) < len(each.boundaries)
    assert page.count('class="begins doubtful"') == len(doubtful)
    assert page.count('class="begins"') == len(each.boundaries) - len(doubtful)
    assert page.count("may be spurious</span>") == len(doubtful)
    assert f"About {each.spurious:.1f} of {len(each.boundaries)} lines may be spurious" in page
    assert '<span class="few">few votes: 1, later candidates up to 30</span>' in page
    assert "High by few votes: odd (1); later candidates have up to 30 (" in page


def test_drawings_name_doubtful_lines_and_few_votes(doubted: Study) -> None:
    each = doubted.queries["q"]
    doubtful = sum(line.is_doubtful for line in each.boundaries)
    drawn = truth_svg(doubted)
    assert drawn.count('class="plot-doubtful"') == doubtful
    assert drawn.count('class="plot-rule"') == len(each.boundaries) - doubtful + 1  # the first line is the list's head
    assert drawn.count("%, may be spurious<") == doubtful
    assert drawn.count("few votes: 1, later") == 1
    latex = truth_latex(doubted)
    assert latex.count("\\%, may be spurious)") == doubtful
    assert latex.count("(few votes: 1, later candidates up to 30)") == 1


def test_nothing_is_said_of_lines_where_nothing_was_shuffled(doubted: Study) -> None:
    silent = study_rankings(doubted.rankings, doubted.method, shuffles=0, power=False)
    assert silent.queries["q"].spurious is None
    assert "line: " not in truth_page(silent).split("<body")[1]
    assert "plot-doubtful" not in truth_svg(silent).split("</style>")[1]
