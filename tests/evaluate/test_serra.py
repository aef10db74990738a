"""Serrà (2007): Table 2 row by row, as printed and letter by letter (tests/test_golden.py has the recovered values)."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.evaluate.serra import RELEVANT, ROWS, STARS, answer_set, table

from roslin.evaluate import average_precision, bpref_star, lift_area, measure, normalised_lift_curve

ROOT = Path(__file__).parents[2]
Row = Callable[[Sequence[int], int], float]


def sum_of(term: Callable[[int, int], float]) -> Row:
    """The sum over the hits, of the j-th at a rank, divided by R."""
    return lambda ranks, relevant: sum(term(j, rank) for j, rank in enumerate(ranks, start=1)) / relevant


def preference(added: float) -> Row:
    """bpref with R + added below the line: rank - j documents before the j-th hit are not relevant."""
    return lambda ranks, relevant: sum_of(lambda j, rank: 1 - (rank - j) / (relevant + added))(ranks, relevant)


# The rows of Table 2 letter by letter, from the ranks of the stars and R.
LITERAL: dict[str, Row] = {
    "TP": lambda ranks, relevant: len(ranks),
    "FP": lambda ranks, relevant: 14 - len(ranks),
    "FN": lambda ranks, relevant: relevant - len(ranks),
    "TN": lambda ranks, relevant: 2054 - 14 - relevant + len(ranks),
    "Accuracy": lambda ranks, relevant: (2054 - 14 - relevant + 2 * len(ranks)) / 2054,
    "Sensitivity": lambda ranks, relevant: len(ranks) / relevant,
    "Specificity": lambda ranks, relevant: (2040 - relevant + len(ranks)) / 2040,
    "Fallout rate": lambda ranks, relevant: (14 - len(ranks)) / (2054 - relevant),
    "Precision": lambda ranks, relevant: len(ranks) / 14,
    "Recall": lambda ranks, relevant: len(ranks) / relevant,
    "AP": lambda ranks, relevant: sum_of(lambda j, rank: j / rank)(ranks, max(len(ranks), 1)),
    "F-measure": lambda ranks, relevant: 2 * len(ranks) / (14 + relevant),
    "RR": lambda ranks, relevant: sum(1 / rank for rank in ranks) / 14,
    "DCG": lambda ranks, relevant: sum(1 if rank == 1 else 1 / math.log(rank) for rank in ranks),
    "bpref": preference(0),
    "bpref-10": preference(10),
    "bpref*": preference(14),
}


def of_all(name: str) -> list[float]:
    return [measure(name)(*answer_set(answer)) for answer in STARS]


def test_every_printed_value_but_three() -> None:
    differ = {(cell.row, cell.answer): cell.printed for cell in table() if not cell.agrees}
    assert differ == {("FN", "A6"): "14", ("DCG", "A5"): "2.371", ("bpref", "A2"): "0.550"}
    assert len(list(table())) == len(ROWS) * 6 == 108


@pytest.mark.parametrize(("row", "name"), [(row, name) for row, name, _ in ROWS if row != "Break-even point"])
def test_every_row_letter_by_letter(row: str, name: str) -> None:
    expected = [LITERAL[row](ranks, RELEVANT[answer]) for answer, ranks in STARS.items()]
    assert of_all(name) == pytest.approx(expected, abs=1e-12)


def test_the_textbook_beside_it() -> None:
    expected = [sum_of(lambda j, rank: j / rank)(ranks, RELEVANT[answer]) for answer, ranks in STARS.items()]
    assert of_all("AP") == pytest.approx(expected, abs=1e-12)
    assert of_all("RR") == pytest.approx([1 / 4, 1, 1 / 6, 1 / 2, 1, 0], abs=1e-12)
    assert of_all("BreakEven") == of_all("PND")
    assert of_all("bpref(variant='2004')") == of_all("bpref") == pytest.approx([0, *of_all("bpref(variant=serra)")[1:]])


@pytest.mark.long
def test_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.evaluate.serra"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stderr == ""
    assert done.stdout.count(" ! ") == 3
    assert "4 ! (14)" in done.stdout
    assert done.stdout.endswith("3 of 108 printed values (in brackets) differ from every definition tried\n")


def test_length_of_the_answer_set() -> None:
    groups, ranking = [["r"]], ["n", "r"]
    assert bpref_star(groups, ranking) == pytest.approx(1 - 1 / 3, abs=1e-12)
    assert bpref_star(groups, ranking, length=14) == pytest.approx(1 - 1 / 15, abs=1e-12)


def test_areas_under_the_lift_curves() -> None:
    for name in STARS:
        x, y = normalised_lift_curve(*answer_set(name))
        assert np.trapezoid(y, x) == pytest.approx(lift_area(*answer_set(name)), abs=1e-12)
        assert y[1:].mean() == pytest.approx(lift_area(*answer_set(name), rule="step"), abs=1e-12)


def test_average_precision_of_the_paper_ignores_what_was_missed() -> None:
    assert average_precision([["a", "b"]], ["a"], variant="serra") == 1.0
    assert average_precision([["a", "b"]], ["a"]) == 0.5
