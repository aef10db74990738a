r"""The lists of a ground truth for a paper in LaTeX: median, id and title, plot and p-values, as paper 002 prints them.

Plots are drawn with LaTeX's own `picture`, so that only the package longtable is needed, which comes with every LaTeX:
a list may be longer than a page. Notation is not there: LaTeX cannot read the drawings. One unit is one point, and y
goes up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from roslin.display.table import latex_text
from roslin.display.text import counted
from roslin.report.rank_plots import Scale, mean_and_deviation, scale_of
from roslin.report.truth import Melodies, common_scale, confidence_text, few_votes_text, title_of
from roslin.truth.study import QueryStudy, Study
from roslin.types import Floats

_WIDTH = 200.0
_HEIGHT = 26.0
_AXIS = 10.0
_SQUARE = 6.0
_ACROSS = 25


def truth_latex(found: Study, melodies: Melodies | None = None, experience: Sequence[float] = ()) -> str:
    """All lists, a table for each, with a line above every group and what noise would give in its head."""
    parts = ["% \\usepackage{longtable}\n"]
    if len(experience):
        years = np.array(experience, dtype=np.float64)
        scale = scale_of([years], least=0, width=_WIDTH)
        parts.append(
            f"\\noindent The experience of {counted(len(years), 'expert')}, in years:\\\\\n"
            f"{latex_box_plot(years, scale)}\\\\\n{_axis(scale)}\n"
        )
    known = melodies or {}
    return "\n".join([*parts, *(_table(query, each, known) for query, each in found.queries.items())])


def _table(query: str, each: QueryStudy, melodies: Melodies) -> str:
    arranged = each.grouped.arranged
    scale = common_scale(each, _WIDTH)
    head = [f"Query {latex_text(query)}", latex_text(each.sentence), *map(latex_text, each.doubts)]
    drawn = each.line_at
    lines = ["\\begin{longtable}{rp{0.24\\textwidth}l}"]
    lines += [f"\\multicolumn{{3}}{{l}}{{\\small {line}}}\\\\" for line in head] + ["\\endhead"]
    for k, document in enumerate(arranged.documents):
        if k in each.grouped.starts:
            lines.append("\\hline")
        name = " ".join(latex_text(part) for part in (title_of(melodies.get(document)), document) if part)
        said = [part for part in (confidence_text(drawn.get(k)), few_votes_text(each, k)) if part]
        name += "".join(f" {{\\small ({latex_text(part)})}}" for part in said)
        plot = latex_box_plot(arranged.sample(k), scale)
        lines.append(f"{arranged.medians[k]:g} & {name} & {plot}\\\\")
        if k:
            lines.append(f" & & {latex_squares(each.grouped.pvalues[:k, k].tolist())}\\\\")
    return "\n".join([*lines, "\\hline", f" & & {_axis(scale)}\\\\", "\\end{longtable}\n"])


def latex_box_plot(sample: Floats, scale: Scale) -> str:
    """The plot of one sample: as `rank_plots.box_plot`."""
    if not len(sample):
        return ""
    low, first, middle, third, high = (scale.at(v) for v in np.quantile(sample, [0.1, 0.25, 0.5, 0.75, 0.9]))
    mean, spread = mean_and_deviation(sample)
    left, right = scale.at(mean - spread), scale.at(mean + spread)
    top, centre, bottom = 24.0, 18.0, 12.0
    parts = [
        _across(low, centre, first),
        _across(third, centre, high),
        _up(low, bottom + 3, top - 3),
        _up(high, bottom + 3, top - 3),
        f"\\put({first:g},{bottom:g}){{\\framebox({third - first:.2f},{top - bottom:g}){{}}}}",
        _dashes(left, bottom + 2, right),
        f"\\put({scale.at(mean) - 0.4:.2f},{bottom - 2:g}){{\\rule{{0.8pt}}{{{top - bottom + 4:g}pt}}}}",
        *_dots(sample, scale),
        f"\\put({middle:g},{centre:g}){{\\circle*{{4}}}}",
    ]
    return _picture(_HEIGHT, parts)


def _dots(sample: Floats, scale: Scale) -> list[str]:
    """A little dot for every value, below the box; equal values stand in a column."""
    found = []
    values, counts = np.unique(sample, return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        step = min(2.0, 8.0 / count)
        found.append(f"\\multiput({scale.at(value):g},9)(0,{-step:.2f}){{{count}}}{{\\circle*{{1}}}}")
    return found


def _dashes(left: float, y: float, right: float) -> str:
    count = max(1, round((right - left) / 4))
    step = (right - left) / count
    return f"\\multiput({left:g},{y:g})({step:.3f},0){{{count}}}{{\\line(1,0){{{step / 2:.3f}}}}}"


def latex_squares(pvalues: Sequence[float]) -> str:
    """One square for each earlier candidate; the dark upper part is the p-value."""
    rows = -(-len(pvalues) // _ACROSS)
    parts = []
    for number, p in enumerate(pvalues):
        row, column = divmod(number, _ACROSS)
        x, y, dark = column * (_SQUARE + 2), (rows - 1 - row) * (_SQUARE + 2), _SQUARE * min(p, 1)
        parts.append(f"\\put({x:g},{y:g}){{\\framebox({_SQUARE:g},{_SQUARE:g}){{}}}}")
        parts.append(f"\\put({x:g},{y + _SQUARE - dark:.2f}){{\\rule{{{_SQUARE:g}pt}}{{{dark:.2f}pt}}}}")
    return _picture(rows * (_SQUARE + 2), parts)


def _axis(scale: Scale) -> str:
    return _picture(
        _AXIS, [f"\\put({scale.at(tick):g},2){{\\makebox(0,0)[b]{{\\tiny {tick}}}}}" for tick in scale.ticks]
    )


def _picture(height: float, parts: Sequence[str]) -> str:
    return f"\\begin{{picture}}({_WIDTH:g},{height:g}){''.join(parts)}\\end{{picture}}"


def _across(left: float, y: float, right: float) -> str:
    return f"\\put({left:g},{y:g}){{\\line(1,0){{{right - left:.2f}}}}}"


def _up(x: float, bottom: float, top: float) -> str:
    return f"\\put({x:g},{bottom:g}){{\\line(0,1){{{top - bottom:.2f}}}}}"
