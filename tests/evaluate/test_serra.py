"""Paper 003: Table 2 row by row, the small cases of bpref, and the normalised lift curve."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from roslin.evaluate import (
    average_precision,
    bpref,
    bpref_10,
    bpref_star,
    lift_area,
    mean_lift_curve,
    measure,
    normalised_lift_curve,
)
from roslin.evaluate.serra import ROWS, STARS, answer_set, table

EXACT = {
    "Accuracy": [2041 / 2054] * 3 + [2034 / 2054] * 2 + [2036 / 2054],
    "Sensitivity": [1, 4 / 7, 4 / 7, 2 / 7, 2 / 7, 0],
    "Specificity": [1, 2037 / 2040, 2037 / 2040, 2030 / 2040, 2030 / 2040, 2036 / 2040],
    "AP": [1 / 4, 19 / 20, 0.306845, 1 / 2, 0.495833, 0],
    "RR": [0.017857, 0.145238, 0.038180, 0.074405, 0.095437, 0],
    "DCG": [0.721348, 3.974269, 1.987202, 3.203052, 2.370312, 0],
    "bpref": [-2, 27 / 49, 1 / 7, 0.234694, 0.193878, 0],
    "bpref-10": [0.727273, 0.563025, 0.394958, 0.255952, 0.232143, 0],
    "bpref*": [0.8, 0.564626, 0.428571, 0.260204, 0.239796, 0],
    "Break-even point": [0.3, 0.7, 0.3, 0.5, 0.4, 0.1],
    "FN": [0, 3, 3, 10, 10, 4],
}


def of_all(name: str) -> list[float]:
    return [measure(name)(*answer_set(answer)) for answer in STARS]


def test_every_printed_value_but_three() -> None:
    differ = {(cell.row, cell.answer): cell.printed for cell in table() if not cell.agrees}
    assert differ == {("FN", "A6"): "14", ("DCG", "A5"): "2.371", ("bpref", "A2"): "0.550"}
    assert len(list(table())) == len(ROWS) * 6 == 108


@pytest.mark.parametrize("row", EXACT)
def test_exact_values(row: str) -> None:
    name = next(name for title, name, _ in ROWS if title == row)
    assert of_all(name) == pytest.approx(EXACT[row], abs=6e-7)


def test_the_textbook_beside_it() -> None:
    assert of_all("AP") == pytest.approx([0.25, 0.542857, 0.175340, 0.142857, 0.141667, 0], abs=6e-7)
    textbook = [0.9937, 0.9951, 0.9951, 0.9951, 0.9951, 0.9932]
    assert of_all("Specificity(size=2054)") == pytest.approx(textbook, abs=6e-5)
    assert of_all("RR") == pytest.approx([1 / 4, 1, 1 / 6, 1 / 2, 1, 0])
    assert of_all("BreakEven") == of_all("PND")
    assert of_all("bpref(variant='2004')") == of_all("bpref") == pytest.approx([0, *of_all("bpref(variant=serra)")[1:]])
    assert of_all("bpref(variant='old')")[3:5] == pytest.approx([0.214286, 0.157143], abs=6e-7)


def test_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "roslin.evaluate.serra"], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.count(" ! ") == 3
    assert "4 ! (14)" in done.stdout
    assert done.stdout.endswith("3 of 108 printed values (in brackets) differ from every definition tried\n")


# list, relevant in all, judged not relevant in all; uncapped, 2004, trec, 2004-10, trec-10, star
SMALL = [
    ("rnrn", 2, 2, "3/4 3/4 3/4 23/24 3/4 11/12"),
    ("nrr", 2, 1, "1/2 1/2 0 11/12 0 4/5"),
    ("r", 2, 0, "1/2 1/2 1/2 1/2 1/2 1/2"),
    ("rr", 2, 0, "1 1 1 1 1 1"),
    ("nnnr", 1, 3, "-2 0 0 8/11 0 2/5"),
]


@pytest.mark.parametrize(("pattern", "relevant", "judged", "expected"), SMALL)
def test_small_cases_of_bpref(pattern: str, relevant: int, judged: int, expected: str) -> None:
    ranking = [f"{kind}{pattern[:place].count(kind)}" for place, kind in enumerate(pattern)]
    groups = [[f"r{k}" for k in range(relevant)]]
    bad = [f"n{k}" for k in range(judged)]
    values = [
        bpref(groups, ranking, nonrelevant=bad, variant="serra"),
        bpref(groups, ranking, nonrelevant=bad, variant="2004"),
        bpref(groups, ranking, nonrelevant=bad),
        bpref_10(groups, ranking, nonrelevant=bad),
        bpref_10(groups, ranking, nonrelevant=bad, variant="trec"),
        bpref_star(groups, ranking, nonrelevant=bad),
    ]
    assert values == pytest.approx([float(Fraction(value)) for value in expected.split()], abs=1e-12)
    with_strangers = [id for pair in zip(ranking, ("u1", "u2", "u3", "u4"), strict=False) for id in pair]
    assert bpref(groups, with_strangers, nonrelevant=bad) == values[2]


def test_length_of_the_answer_set() -> None:
    groups, ranking = [["r"]], ["n", "r"]
    assert bpref_star(groups, ranking) == pytest.approx(1 - 1 / 3)
    assert bpref_star(groups, ranking, length=14) == pytest.approx(1 - 1 / 15)


def test_normalised_lift_curves() -> None:
    expected: dict[str, list[float]] = {
        "A1": [0.0] * 3 + [1.0] * 11,
        "A2": [1 / 7, 2 / 7, 3 / 7, 3 / 7] + [4 / 7] * 10,
        "A3": [0] * 5 + [1 / 7, 2 / 7, 3 / 7, 3 / 7] + [4 / 7] * 5,
        "A4": [0, 1 / 14, 1 / 14, 1 / 7, 1 / 7, 3 / 14, 3 / 14] + [2 / 7] * 7,
        "A5": [1 / 14] * 7 + [1 / 7, 3 / 14] + [2 / 7] * 5,
        "A6": [0.0] * 14,
    }
    curves = {name: normalised_lift_curve(*answer_set(name)) for name in STARS}
    for name, (x, y) in curves.items():
        assert x.tolist() == pytest.approx([i / 14 for i in range(15)])
        assert y.tolist() == pytest.approx([0, *expected[name]])
    x, mean = mean_lift_curve(list(curves.values()), points=15)
    printed = [0.0357, 0.0714, 0.0952, 0.2738, 0.2976, 0.3333, 0.3571, 0.4048, 0.4167, 0.4524]
    assert mean[1:11].tolist() == pytest.approx(printed, abs=6e-5)
    assert mean[11:].tolist() == pytest.approx([0.4524] * 4, abs=6e-5)


def test_areas_under_the_lift_curves() -> None:
    areas = [3 / 4, 47 / 98, 27 / 98, 19 / 98, 15 / 98, 0]
    assert of_all("LiftArea") == pytest.approx(areas, abs=1e-12)
    assert of_all("LiftArea(rule='step')") == pytest.approx([11 / 14, 1 / 2, 29 / 98, 10 / 49, 8 / 49, 0], abs=1e-12)
    for name, area in zip(STARS, areas, strict=True):
        x, y = normalised_lift_curve(*answer_set(name))
        assert np.trapezoid(y, x) == pytest.approx(area)
        assert lift_area(*answer_set(name)) == pytest.approx(area)


def test_average_precision_of_the_paper_ignores_what_was_missed() -> None:
    assert average_precision([["a", "b"]], ["a"], variant="serra") == 1.0
    assert average_precision([["a", "b"]], ["a"]) == 0.5
