"""Plots of runs and of ranks. `svg` draws them.

Runs have curves, means with their intervals, and a map of every query. Ranks have the drawings
of the tables and Figure 7 in Typke et al. (2007). In a box-and-whisker plot the box extends from the first to the
third quartile, the whiskers mark the bottom and top 10 percent, every rank is a little dot, the median a fat dot, the
mean a vertical line, and a dashed horizontal line marks one standard deviation on either side of the mean. Below it is
a bar of squares, one for each earlier candidate: the dark upper part is the p-value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from roslin.display.text import counted
from roslin.report.svg import SvgElement, circle, group, line, path, rect, svg, text
from roslin.types import Floats

# (x, y) of the points of a curve.
Curve = tuple[Floats, Floats]

# Okabe and Ito's colours, which colour-blind readers can distinguish; dashes distinguish them in print.
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
    """One line for each run, both axes from 0 to 1, and a legend. A curve without a number has no line."""
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
        parts.append(text("plot-text", left - 8, y + 4, shortened(name), "end"))
        if low == low:
            parts.append(line("plot-interval", left + _PLOT * low / top, y, left + _PLOT * high / top, y))
        if mean == mean:
            parts.append(circle("plot-shade", left + _PLOT * mean / top, y, 4))
            parts.append(text("plot-text", left + _PLOT + 10, y + 4, f"{mean:.3f}"))
    return svg(parts, left + _PLOT + _RIGHT, height, title)


def heat_map(names: Sequence[str], queries: Sequence[str], values: Floats, title: str) -> str:
    """(runs, queries) A field for each run and query, the darker the larger; queries from hard to easy.

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
        parts.append(text("plot-text", left - 8, y + _ROW / 2 + 4, shortened(name), "end"))
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
    longest = max((len(shortened(name)) for name in names), default=0)
    return 16.0 + _LETTER * max(longest, _LEAST_NAME)


def shortened(name: str, most: int = _LONGEST_NAME) -> str:
    """A name that fits: a longer one is cut."""
    return name if len(name) <= most else f"{name[: most - 1]}…"


# -- ranks: one scale for many samples, box plots and p-values --------------------------------------------------------


PLOT_HEIGHT = 44
SQUARE = 11
_SQUARES_ACROSS = 28
_GAP = 2
_MOST_TICKS = 8


@dataclass(frozen=True)
class Scale:
    """From values to pixels. `low` and `high` are the values at the ends; `margin` pixels are left on either side.

    Numbers start at `least`, the smallest value that can occur: a deviation may reach further.
    """

    low: float
    high: float
    width: float = 380.0
    margin: float = 8.0
    least: float = 0.0

    def at(self, value: float) -> float:
        span = max(self.high - self.low, 1e-9)
        return round(self.margin + (value - self.low) / span * (self.width - 2 * self.margin), 2)

    @property
    def ticks(self) -> list[int]:
        """Round values between the ends, about eight."""
        span = max(self.high - self.low, 1.0)
        step = next(s for k in range(9) for s in (10**k, 2 * 10**k, 5 * 10**k) if span / s <= _MOST_TICKS)
        first = int(np.ceil(self.least / step) * step)
        inner = [tick for tick in range(first, int(self.high) + 1, step) if tick > self.least]
        return [int(np.ceil(self.least)), *inner]


def scale_of(samples: Iterable[Floats], least: float, width: float = 380.0) -> Scale:
    """One scale for all samples: it covers every value, and a standard deviation on either side of every mean."""
    ends = [least, least + 1]
    for sample in samples:
        if len(sample):
            mean, spread = mean_and_deviation(sample)
            ends += [float(sample.max()), mean - spread, mean + spread]
    return Scale(min(ends), max(ends), width, least=least)


def mean_and_deviation(sample: Floats) -> tuple[float, float]:
    """The mean, and the standard deviation of the sample (0 for one value)."""
    return float(np.mean(sample)), float(np.std(sample, ddof=1)) if len(sample) > 1 else 0.0


def box_plot(sample: Floats, scale: Scale) -> list[SvgElement]:
    """The plot of one sample, as wide as the scale and PLOT_HEIGHT high. Nothing for no values."""
    if not len(sample):
        return []
    low, first, middle, third, high = (scale.at(v) for v in np.quantile(sample, [0.1, 0.25, 0.5, 0.75, 0.9]))
    mean, spread = mean_and_deviation(sample)
    top, centre, bottom = 8, 18, 28
    left, right = scale.at(mean - spread), scale.at(mean + spread)
    return [
        *(line("plot-grid", scale.at(tick), 2, scale.at(tick), PLOT_HEIGHT - 2) for tick in scale.ticks),
        line("plot-line", low, centre, first, centre),
        line("plot-line", third, centre, high, centre),
        line("plot-line", low, top + 4, low, bottom - 4),
        line("plot-line", high, top + 4, high, bottom - 4),
        rect("plot-box", first, top, max(third - first, 1), bottom - top),
        line("plot-spread", left, bottom - 4, right, bottom - 4),
        line("plot-mean", scale.at(mean), top - 3, scale.at(mean), bottom + 3),
        *_dots(sample, scale),
        circle("plot-median", middle, centre, 4.5),
    ]


def _dots(sample: Floats, scale: Scale) -> Iterable[SvgElement]:
    values, counts = np.unique(sample, return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        step = min(3.0, 11.0 / count)
        for number in range(count):
            yield circle("plot-dot", scale.at(value), 32 + step * number, 1.4)


def p_squares(pvalues: Sequence[float], names: Sequence[str]) -> list[SvgElement]:
    """One square for each earlier candidate, in rows of 28. The dark upper part is the p-value."""
    parts = []
    for number, (p, name) in enumerate(zip(pvalues, names, strict=True)):
        row, column = divmod(number, _SQUARES_ACROSS)
        x, y = column * (SQUARE + _GAP), row * (SQUARE + _GAP)
        square = (
            rect("plot-light", x, y, SQUARE, SQUARE),
            rect("plot-dark", x, y, SQUARE, SQUARE * min(p, 1)),
        )
        parts.append(group(square, said=f"p = {p:.4g} against {name}"))
    return parts


def bar_height(earlier: int) -> int:
    """The height of the squares of `earlier` candidates."""
    return -(-earlier // _SQUARES_ACROSS) * (SQUARE + _GAP)


def scale_axis(scale: Scale) -> list[SvgElement]:
    """The numbers of a scale, 14 pixels high."""
    return [text("plot-soft", scale.at(tick), 11, str(tick), "middle") for tick in scale.ticks]


def experience_plot(years: Sequence[float]) -> str:
    """Typke et al. (2007), Figure 7: the experience of the experts in years, as a separate drawing."""
    values = np.array(years, dtype=np.float64)
    scale = scale_of([values], least=0, width=480)
    height = PLOT_HEIGHT + 32
    name = (
        f"{counted(len(values), 'expert')}: median {np.median(values):g}, mean {values.mean():.1f} years of experience"
    )
    parts = [
        *box_plot(values, scale),
        group(scale_axis(scale), y=PLOT_HEIGHT),
        text("plot-soft", 240, height - 5, "years of experience", "middle"),
    ]
    return svg(parts, 480, height, name)
