"""Curves of an evaluation as SVG, to stand inside a page: one line a system, mean over queries.

Text and axes take the colour of the page around them, so that they can be read on a dark one too.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from roslin.errors import RoslinError
from roslin.evaluate import Evaluation, dynamic_recall, mean_lift_curve, normalised_lift_curve
from roslin.evaluate.hits import Floats

__all__ = ["dynamic_recall_plot", "lift_plot"]

Curve = tuple[Floats, Floats]

_INK = "#010203"  # replaced by the colour of the page
# Okabe and Ito's colours, which people who confuse red and green tell apart; line styles tell them apart in print.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
_STYLES = ("-", "--", "-.", ":")


def dynamic_recall_plot(evaluation: Evaluation) -> str:
    """Dynamic recall along the truth: x is the share i / n of the ranks that ADR looks at."""

    def curve(system: int, query: str) -> Curve:
        recall = dynamic_recall(evaluation.truth[query], evaluation.runs[system].ranking(query), query=query)
        return np.arange(1, len(recall) + 1) / len(recall), recall

    return _plot(evaluation, curve, "rank / size of the truth", "dynamic recall", "Mean dynamic recall of each system")


def lift_plot(evaluation: Evaluation) -> str:
    """Normalised lift curves: share of the list against share of the relevant documents."""

    def curve(system: int, query: str) -> Curve:
        ranking = evaluation.runs[system].ranking(query)
        if not ranking:
            return np.array([0.0, 1.0]), np.zeros(2)
        return normalised_lift_curve(evaluation.truth[query], ranking, query=query)

    return _plot(evaluation, curve, "share of the list", "recall", "Mean normalised lift curve of each system")


def _plot(evaluation: Evaluation, curve: Callable[[int, str], Curve], x: str, y: str, title: str) -> str:
    try:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError:
        raise RoslinError("the page needs matplotlib; pip install 'roslin[report]'") from None
    queries = [query for query in evaluation.queries if evaluation.truth[query]]
    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "roslin",
        "font.size": 11,
        "axes.edgecolor": _INK,
        "axes.labelcolor": _INK,
        "text.color": _INK,
        "xtick.color": _INK,
        "ytick.color": _INK,
    }
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        figure.patch.set_alpha(0)
        axes = figure.add_subplot()
        axes.patch.set_alpha(0)
        for number in range(len(evaluation.runs)):
            at, mean = mean_lift_curve([curve(number, query) for query in queries]) if queries else _nothing()
            style = _STYLES[number // len(_COLOURS) % len(_STYLES)]
            axes.plot(at, mean, style, color=_COLOURS[number % len(_COLOURS)], label=f"system {number}", linewidth=1.8)
        axes.set(xlabel=x, ylabel=y, xlim=(0, 1), ylim=(0, 1.02))
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        # Names are put in afterwards: matplotlib leaves out a label that begins with _, and reads $...$ as a formula.
        for text, system in zip(axes.legend(frameon=False).get_texts(), evaluation.systems, strict=True):
            text.set_parse_math(False)
            text.set_text(system)
        stream = io.StringIO()
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(stream, metadata={"Date": None, "Creator": None})
    return _inline(stream.getvalue(), title, [axes.get_xlabel(), axes.get_ylabel()])


def _nothing() -> Curve:
    return np.array([0.0, 1.0]), np.full(2, np.nan)


def _inline(svg: str, title: str, labels: Sequence[str]) -> str:
    """The drawing without its XML head, named for those who cannot see it."""
    body = svg[svg.index("<svg") :].replace(_INK, "currentColor")
    name = f"{title}: {labels[1]} against {labels[0]}"
    return body.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1)
