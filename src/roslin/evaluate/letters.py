"""A small table for a paper: a row a system, a column a measure, and letters for what is shown to be worse.

Every system has a letter. The letters at a value name the systems that are worse than it in this measure by a
difference that holds among all pairs (`Comparison.is_shown`); the best value of a column is bold. Measures for which an
empty list would do best have no letters, because there is nothing to be better at.
"""

from __future__ import annotations

import math

from roslin.display.latex import latex_text
from roslin.evaluate.evaluation import Evaluation
from roslin.evaluate.measures.base import Measure
from roslin.evaluate.significance import compare

__all__ = ["letter", "lettered_latex", "worse_than"]


def letter(place: int) -> str:
    """The letter of a system, by its place from 0.

    >>> [letter(place) for place in (0, 25, 26, 53)]
    ['a', 'z', 'aa', 'bb']
    """
    sign = chr(ord("a") + place % 26)
    before = place // 26
    return sign if not before else chr(ord("a") + before - 1) + sign


def worse_than(evaluation: Evaluation, measure: Measure, level: float = 0.95) -> dict[str, list[str]]:
    """For each system, those that are shown to be worse than it."""
    worse: dict[str, list[str]] = {system: [] for system in evaluation.systems}
    if len(evaluation.systems) < 2 or measure.rewards_silence:
        return worse
    for each in compare(evaluation, measure, level):
        if each.is_shown:
            first_is_better = (each.difference > 0) == measure.larger_is_better
            better, other = (each.system, each.other) if first_is_better else (each.other, each.system)
            worse[better].append(other)
    return worse


def lettered_latex(evaluation: Evaluation, level: float = 0.95) -> str:
    """The table; it needs the package booktabs."""
    signs = {system: letter(place) for place, system in enumerate(evaluation.systems)}
    cells: dict[str, list[str]] = {system: [] for system in evaluation.systems}
    for m, measure in enumerate(evaluation.measures):
        means = evaluation.means[:, m].tolist()
        known = [mean for mean in means if not math.isnan(mean)]
        best = (max if measure.larger_is_better else min)(known, default=math.nan)
        worse = worse_than(evaluation, measure, level)
        for system, mean in zip(evaluation.systems, means, strict=True):
            is_best = f"{mean:.3f}" == f"{best:.3f}" and not measure.rewards_silence
            letters = [signs[other] for other in evaluation.systems if other in worse[system]]
            cells[system].append(_cell(mean, letters, is_best=is_best))
    rows = [f"{signs[system]} & {latex_text(system)} & {' & '.join(row)} \\\\" for system, row in cells.items()]
    names = " & ".join(latex_text(repr(measure)) for measure in evaluation.measures)
    count, chance = evaluation.counted.shape[2], f"{100 * (1 - level):.3g} %"
    return "\n".join(
        [
            f"% Means over {count} queries; a letter: better than that system at {chance}, all pairs",
            f"\\begin{{tabular}}{{ll{'l' * len(evaluation.measures)}}}",
            "\\toprule",
            f" & system & {names} \\\\",
            "\\midrule",
            *rows,
            "\\bottomrule",
            "\\end{tabular}",
            "",
        ]
    )


def _cell(mean: float, letters: list[str], *, is_best: bool) -> str:
    if math.isnan(mean):
        return "--"
    number = f"{mean:.3f}".removeprefix("0") if abs(mean) < 1 else f"{mean:.3f}"
    shown = f"\\textbf{{{number}}}" if is_best else number
    separator = "," if any(len(each) > 1 for each in letters) else ""
    return f"{shown}$^{{{separator.join(letters)}}}$" if letters else shown
