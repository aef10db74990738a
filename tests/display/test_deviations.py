"""What was read otherwise than it was written, in lines."""

from __future__ import annotations

import pytest

from roslin.display.text import deviations
from roslin.errors import Problem


def sharp(column: int, line: int = 0) -> Problem:
    return Problem("sharp", "x", "'X'", column, line, taken="x")


@pytest.mark.parametrize(
    ("problems", "lines"),
    [
        ([], []),
        ([sharp(3)], ["read 'X' as x at column 3"]),
        ([sharp(3), sharp(3)], ["read 'X' as x at column 3"]),
        ([sharp(3), sharp(9)], ["read 'X' as x at columns 3 and 9"]),
        ([sharp(n) for n in (3, 5, 7, 9)], ["read 'X' as x at columns 3, 5, 7 and 9"]),
        ([sharp(n) for n in range(1, 11)], ["read 'X' as x at columns 1, 2, 3 and 7 more"]),
        ([sharp(3, 1), sharp(3, 2)], ["read 'X' as x at line 1, column 3", "read 'X' as x at line 2, column 3"]),
        ([Problem("a clef", "", "'G2'", taken="G-2")], ["read 'G2' as G-2"]),
        ([Problem("a clef", "", "'G2'", line=4, taken="G-2")], ["read 'G2' as G-2 at line 4"]),
        (
            [Problem("doubt", "", "'?'", 2, taken="nothing"), sharp(1)],
            ["left out '?' at column 2", "read 'X' as x at column 1"],
        ),
        ([Problem("beam without an end", "}", "the end", 6)], ["beam without an end at column 6"]),
    ],
)
def test_a_line_for_each_kind_and_line(problems: list[Problem], lines: list[str]) -> None:
    assert deviations(problems) == lines
