"""Plots of systems: curves, means with their intervals, and every query of every system. `svg` draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from roslin.report.svg import SvgElement, circle, line, path, rect, svg, text
from roslin.types import Floats

# (x, y) of the points of a curve.
Curve = tuple[Floats, Floats]

# Okabe and Ito's colours, which people who confuse red and green tell apart; dashes tell them apart in print.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f")
_DASHES = ("none", "7 3", "7 3 2 3", "2 3")
_CURVES_WIDTH, _CURVES_HEIGHT = 400.0, 260.0
_LEFT, _TOP, _AXES = 52.0, 12.0, 48.0
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
_HIGHEST = 1.02  # so that a line at 1 can be seen

_ROW, _RIGHT = 20.0, 60.0
_PLOT = 620.0
_MOST_COLUMNS = 300  # more would be thinner than a pixel
_LETTER = 6.8  # a wide guess at the mean width of a letter
_LEAST_NAME, _LONGEST_NAME = 24, 60


def curve_plot(curves: Mapping[str, Curve], x: str, y: str, title: str) -> str:
    """One line a system, both axes from 0 to 1, and a legend; a curve without a number has no line."""
    bottom = _TOP + _CURVES_HEIGHT

    def right(value: float) -> float:
        return _LEFT + _CURVES_WIDTH * value

    def up(value: float) -> float:
        return bottom - _CURVES_HEIGHT * value / _HIGHEST

    parts = [line("plot-grid", right(tick), _TOP, right(tick), bottom) for tick in _TICKS]
    parts += [line("plot-grid", _LEFT, up(tick), right(1), up(tick)) for tick in _TICKS]
    parts += [line("plot-line", _LEFT, _TOP, _LEFT, bottom), line("plot-line", _LEFT, bottom, right(1), bottom)]
    parts += [text("plot-soft", right(tick), bottom + 16, f"{tick:.1f}", "middle") for tick in _TICKS]
    parts.append(text("plot-text", right(0.5), bottom + 36, x, "middle"))
    parts += [text("plot-soft", _LEFT - 6, up(tick) + 4, f"{tick:.1f}", "end") for tick in _TICKS]
    turned = f"rotate(-90 14 {up(0.5):.1f})"
    parts.append(text("plot-text", 14, up(0.5), y, "middle", transform=turned))
    for number, (name, (at, values)) in enumerate(curves.items()):
        look = {
            "stroke": _COLOURS[number % len(_COLOURS)],
            "stroke-dasharray": _DASHES[number // len(_COLOURS) % len(_DASHES)],
        }
        points = [(right(a), up(b)) for a, b in zip(at.tolist(), values.tolist(), strict=True) if b == b]
        legend = bottom + _AXES + _ROW * (number + 0.5)
        parts += [
            path("plot-curve", points, **look),
            path("plot-curve", [(_LEFT, legend), (_LEFT + 30, legend)], **look),
            text("plot-text", _LEFT + 38, legend + 4, name),
        ]
    height = bottom + _AXES + _ROW * len(curves)
    return svg(parts, right(1) + 16, height, f"{title}: {y} against {x}")


def interval_plot(names: Sequence[str], means: Floats, intervals: Floats, title: str) -> str:
    """A dot for each mean and a line for its interval, from 0 to 1 (or to the largest value, where that is above 1)."""
    top = max(1.0, float(np.nanmax(np.concatenate([means.ravel(), intervals.ravel()]), initial=1.0)))
    left = _room_for(names)
    height = _ROW * len(names) + 26
    parts: list[SvgElement] = []
    for tick in np.linspace(0, top, 6):
        x = left + _PLOT * tick / top
        parts += [line("plot-grid", x, 0, x, height - 22), text("plot-soft", x, height - 8, f"{tick:g}", "middle")]
    for row, (name, mean, (low, high)) in enumerate(zip(names, means, intervals, strict=True)):
        y = _ROW * (row + 0.5)
        parts.append(text("plot-text", left - 8, y + 4, _short(name), "end"))
        if low == low:
            parts.append(line("plot-interval", left + _PLOT * low / top, y, left + _PLOT * high / top, y))
        if mean == mean:
            parts.append(circle("plot-shade", left + _PLOT * mean / top, y, 4))
            parts.append(text("plot-text", left + _PLOT + 10, y + 4, f"{mean:.3f}"))
    return svg(parts, left + _PLOT + _RIGHT, height, title)


def heat_map(names: Sequence[str], queries: Sequence[str], values: Floats, title: str) -> str:
    """(systems, queries) A field for each system and query, the darker the larger; queries from hard to easy.

    Beyond 300 queries a field is the mean of several neighbours.
    """
    order = np.argsort(np.nan_to_num(values.mean(axis=0)), kind="stable")
    columns = np.array_split(order, min(len(order), _MOST_COLUMNS)) if len(order) else []
    top = max(1.0, float(np.nanmax(values, initial=1.0)))
    width = _PLOT / max(1, len(columns))
    left = _room_for(names)
    height = _ROW * len(names) + 22
    parts: list[SvgElement] = []
    for row, name in enumerate(names):
        y = _ROW * row
        parts.append(text("plot-text", left - 8, y + _ROW / 2 + 4, _short(name), "end"))
        for place, members in enumerate(columns):
            value = float(values[row, members].mean())
            of = f"{len(members)} queries" if len(members) > 1 else queries[int(members[0])]
            field = (left + place * width, y + 1, max(width - 0.6, 0.6), _ROW - 2)
            shade: dict[str, Any] = {"fill-opacity": f"{0.06 + 0.94 * value / top:.3f}"}
            parts.append(rect("plot-shade", *field, said=f"{name}, {of}: {value:.3f}", **shade))
    parts.append(text("plot-soft", left, height - 6, "hard queries"))
    parts.append(text("plot-soft", left + _PLOT, height - 6, "easy queries", "end"))
    return svg(parts, left + _PLOT + _RIGHT, height, title)


def _room_for(names: Sequence[str]) -> float:
    """The width of the column of names."""
    longest = max((len(_short(name)) for name in names), default=0)
    return 16.0 + _LETTER * max(longest, _LEAST_NAME)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
