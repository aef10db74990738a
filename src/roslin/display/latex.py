"""Texts and tables for LaTeX."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roslin.display.text import rounded

if TYPE_CHECKING:
    from roslin.display.table import Table

_SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    }
)


def latex_table(table: Table) -> str:
    """A `tabular` with rules of booktabs; columns of numbers stand on the right."""
    lines = [
        f"% {' '.join(table.title.split())}",
        f"\\begin{{tabular}}{{{''.join('r' if right else 'l' for right in table.numeric)}}}",
        "\\toprule",
        " & ".join(map(latex_text, table.columns)) + r" \\",
        "\\midrule",
        *(" & ".join(latex_text(row.get(name), name) for name in table.columns) + r" \\" for row in table.rows),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def latex_text(value: Any, name: str = "") -> str:
    """A value for LaTeX, of the column `name`: signs that mean something there are written out.

    >>> latex_text("50 % of a_b"), latex_text(0.5), latex_text(None)
    ('50 \\\\% of a\\\\_b', '0.5000', '--')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "--"
    if isinstance(value, float):
        return rounded(value, 4, name) if math.isfinite(value) else f"${'-' * (value < 0)}\\infty$"
    return str(value).translate(_SPECIAL)
