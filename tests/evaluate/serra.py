"""Table 2 of Serrà (2007), computed again: every row, with the definition that gives it.

    python -m tests.evaluate.serra

The stars of the paper's Table 1 were lost with its layout. Their positions were recovered by trying all possible ones
against the printed values; they are unique. Printed values may be rounded or cut off. Three of them are given by no
definition that was tried, and are marked with an exclamation mark.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from roslin.display.table import Table
from roslin.evaluate.measures.base import measure
from roslin.tolerances import RECOMPUTED

DOCUMENTS = 2054
LENGTH = 14
STARS: dict[str, tuple[int, ...]] = {
    "A1": (4,),
    "A2": (1, 2, 3, 5),
    "A3": (6, 7, 8, 10),
    "A4": (2, 4, 6, 8),
    "A5": (1, 8, 9, 10),
    "A6": (),
}
RELEVANT = {"A1": 1, "A2": 7, "A3": 7, "A4": 14, "A5": 14, "A6": 4}

# Row of the paper, measure that gives it, printed values of A1 ... A6.
ROWS: tuple[tuple[str, str, str], ...] = (
    ("TP", "TP", "1 4 4 4 4 0"),
    ("FP", "FP", "13 10 10 10 10 14"),
    ("FN", "FN", "0 3 3 10 10 14"),
    ("TN", f"TN(size={DOCUMENTS})", "2040 2037 2037 2030 2030 2036"),
    ("Accuracy", f"Accuracy(size={DOCUMENTS})", "0.994 0.994 0.994 0.990 0.990 0.991"),
    ("Sensitivity", "Sensitivity", "1.000 0.571 0.571 0.285 0.285 0.000"),
    ("Specificity", f"Specificity(size={DOCUMENTS}, variant='serra')", "1.000 0.998 0.998 0.995 0.995 0.998"),
    ("Fallout rate", f"Fallout(size={DOCUMENTS})", "0.006 0.005 0.005 0.005 0.005 0.007"),
    ("Precision", "P", "0.071 0.286 0.286 0.286 0.286 0.000"),
    ("Recall", "R", "1.000 0.571 0.571 0.286 0.286 0.000"),
    ("Break-even point", "BreakEven(variant='serra')", "0.3 0.7 0.3 0.5 0.4 0.1"),
    ("AP", "AP(variant='serra')", "0.250 0.950 0.307 0.500 0.496 0.000"),
    ("F-measure", "F", "0.133 0.381 0.381 0.286 0.286 0.000"),
    ("RR", "RR(variant='serra')", "0.018 0.145 0.038 0.074 0.095 0.000"),
    ("DCG", "DCG(gain='binary', discount='serra')", "0.721 3.974 1.987 3.203 2.371 0.000"),
    ("bpref", "bpref(variant='serra')", "-2.000 0.550 0.143 0.235 0.194 0.000"),
    ("bpref-10", "bpref_10", "0.727 0.563 0.395 0.256 0.232 0.000"),
    ("bpref*", "bpref_star", "0.800 0.564 0.428 0.260 0.239 0.000"),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of the table beside the printed one."""

    row: str
    measure: str
    answer: str
    value: float
    printed: str

    @property
    def agrees(self) -> bool:
        """Whether the printed value is the computed one, rounded or cut off at its last place."""
        places = len(self.printed.partition(".")[2])
        unit = 10.0**-places
        near = abs(self.value - float(self.printed))
        cut = math.trunc(self.value / unit + RECOMPUTED)
        return near <= unit / 2 + RECOMPUTED or cut == round(float(self.printed) / unit)


def answer_set(name: str) -> tuple[list[list[str]], list[str]]:
    """Truth and ranking of one answer set: fourteen documents, those with a star relevant, the rest of R not found."""
    found = [f"a{rank}" for rank in STARS[name]]
    missing = [f"not-found-{k}" for k in range(1, RELEVANT[name] - len(found) + 1)]
    return [found + missing], [f"a{rank}" for rank in range(1, LENGTH + 1)]


def table() -> Iterator[Cell]:
    """All cells, row by row."""
    for row, name, printed in ROWS:
        for answer, text in zip(STARS, printed.split(), strict=True):
            yield Cell(row, name, answer, measure(name)(*answer_set(answer)), text)


def main() -> None:
    """Print the table; where it differs from the paper, with an exclamation mark and the printed value."""
    cells: dict[str, list[Cell]] = {}
    for cell in table():
        cells.setdefault(cell.row, []).append(cell)
    rows = []
    for row, values in cells.items():
        shown = {c.answer: f"{c.value:.6g}" if c.agrees else f"{c.value:.6g} ! ({c.printed})" for c in values}
        rows.append({"Measure": row, **shown, "definition": values[0].measure})
    differ = sum(not cell.agrees for row in cells.values() for cell in row)
    said = (
        f"{differ} of {sum(map(len, cells.values()))} printed values (in brackets) differ from every definition tried"
    )
    sys.stdout.write(f"{Table(('Measure', *STARS, 'definition'), tuple(rows))}\n{said}\n")


if __name__ == "__main__":
    import roslin.evaluate  # noqa: F401  # registers the measures

    main()
