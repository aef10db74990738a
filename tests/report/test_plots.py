"""Plots of runs, read back as XML: every mark stands where its number says."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from roslin.report.plots import curve_plot, heat_map, interval_plot
from roslin.report.svg import SvgElement, group, line, placed, rect, svg, text

SPACE = "{http://www.w3.org/2000/svg}"


def words(root: ElementTree.Element) -> list[str | None]:
    return [element.text for element in root.iter(f"{SPACE}text")]


def points(line: ElementTree.Element) -> list[tuple[float, float]]:
    pairs = (pair.split(",") for pair in line.attrib["points"].split())
    return [(float(x), float(y)) for x, y in pairs]


def test_curves_stand_where_their_numbers_are() -> None:
    curves = {
        "_hidden": (np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.5, 1.0])),
        "$x_1$ <b>": (np.array([0.0, 1.0]), np.array([1.0, 1.0])),
        "nothing": (np.zeros(0), np.zeros(0)),
    }
    root = ElementTree.fromstring(curve_plot(curves, "share", "recall", "A title"))
    assert root.attrib["aria-label"] == "A title: recall against share"
    said = words(root)
    assert [name for name in said if name in curves] == list(curves)
    assert {"share", "recall", "0.0", "0.2", "1.0"} <= set(said)
    diagonal, _, level, _, nothing, _ = root.iter(f"{SPACE}polyline")
    (x0, y0), (x1, y1), (x2, y2) = points(diagonal)
    assert (x1 - x0, y0 - y1) == pytest.approx((x2 - x1, y1 - y2), abs=0.02)  # straight
    assert [y for _, y in points(level)] == [y2, y2]
    assert [x for x, _ in points(level)] == [x0, x2]
    assert points(nothing) == []
    assert diagonal.attrib["stroke"] != level.attrib["stroke"]


def test_eight_curves_differ_in_colour_or_dashes() -> None:
    flat = (np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    root = ElementTree.fromstring(curve_plot({f"s{k}": flat for k in range(28)}, "x", "y", "t"))
    looks = {(each.attrib["stroke"], each.attrib["stroke-dasharray"]) for each in root.iter(f"{SPACE}polyline")}
    assert len(looks) == 28


def test_intervals_stand_where_their_numbers_are() -> None:
    means, intervals = np.array([0.5, np.nan]), np.array([[0.25, 1.0], [np.nan, np.nan]])
    root = ElementTree.fromstring(interval_plot(["one", "none"], means, intervals, "title"))
    (dot,) = root.iter(f"{SPACE}circle")
    (interval,) = (each for each in root.iter(f"{SPACE}line") if each.attrib["class"] == "plot-interval")
    left, right, at = (float(value) for value in (interval.attrib["x1"], interval.attrib["x2"], dot.attrib["cx"]))
    assert (at - left) / (right - left) == pytest.approx(0.25 / 0.75, abs=1e-3)
    assert "0.500" in words(root)
    assert "nan" not in words(root)


def test_the_page_of_many_queries_joins_neighbours() -> None:
    values = np.linspace(0, 1, 1000)[None, :]
    svg = heat_map(["one"], [f"q{k}" for k in range(1000)], values, "title")
    assert svg.count("<rect") == 300
    assert "one, 4 queries: 0.002" in svg


def test_plots_tell_names_apart_that_begin_alike() -> None:
    names = [f"alignment(metric=False, rhythm=0.75, {rest})" for rest in ("tempo='histogram'", "divide='mean'")]
    plots = [
        interval_plot(names, np.array([0.5, 0.6]), np.array([[0.4, 0.6], [0.5, 0.7]]), "title"),
        heat_map(names, ["q"], np.array([[0.5], [0.6]]), "title"),
    ]
    short = interval_plot(["dp"], np.array([0.5]), np.array([[0.4, 0.6]]), "title")
    for plot in plots:
        root = ElementTree.fromstring(plot)
        texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
        assert set(names) <= set(texts)
        assert float(root.attrib["width"]) > float(ElementTree.fromstring(short).attrib["width"])


def test_a_drawing_escapes_what_it_is_given() -> None:
    nasty = "<script>alert('1')</script> & \"quotes\""
    parts = [text("plot-text", 1, 2, nasty), rect("plot-box", 0, 0, 1, 1, said=nasty), group([line("x", 0, 0, 1, 1)])]
    drawing = svg(parts, 10, 10, nasty)
    root = ElementTree.fromstring(drawing)
    assert root.attrib["aria-label"] == nasty
    assert words(root) == [nasty]
    assert [title.text for title in root.iter(f"{SPACE}title")] == [nasty]
    assert "<script" not in drawing


def test_a_drawing_inside_another_keeps_its_shape() -> None:
    inner = svg([SvgElement("circle", {"r": 1})], 120, 30, "inner")
    root = ElementTree.fromstring(svg([placed(inner, 5, 6, 360, 48)], 400, 60, "outer"))
    (around,) = root
    assert (around.attrib["viewBox"], around.attrib["x"], around.attrib["width"]) == ("0 0 120 30", "5", "360")
    assert around.attrib["preserveAspectRatio"] == "xMinYMid meet"
    assert around[0].attrib["aria-label"] == "inner"
