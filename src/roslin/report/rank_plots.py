"""The drawings of paper 002's tables and of its Figure 7. `svg` draws them.

A box-and-whisker plot as section 3.3.2 describes it: the box extends from the first to the third quartile, the whiskers
mark the bottom and top 10 percent, every rank is a little dot, the median a fat dot, the mean a vertical line, and a
dashed horizontal line marks one standard deviation on either side of the mean. Below it a bar of squares, one for each
earlier candidate: the dark upper part is the p-value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from roslin.display.text import counted
from roslin.report.svg import SvgElement, circle, group, line, rect, svg, text
from roslin.types import Floats

PLOT_HEIGHT = 44
SQUARE = 11
_SQUARES_ACROSS = 28
_GAP = 2
_TICKS = 8


@dataclass(frozen=True)
class Scale:
    """From values to pixels. `low` and `high` are the values at the ends; `margin` pixels are left on either side.

    Numbers stand from `least` on, the smallest value that can occur: a deviation may reach further.
    """

    low: float
    high: float
    width: float = 380.0
    margin: float = 8.0
    least: float = 0.0

    def at(self, value: float) -> float:
        """The pixel of a value."""
        span = max(self.high - self.low, 1e-9)
        return round(self.margin + (value - self.low) / span * (self.width - 2 * self.margin), 2)

    @property
    def ticks(self) -> list[int]:
        """Round values between the ends, about eight."""
        span = max(self.high - self.low, 1.0)
        step = next(s for k in range(9) for s in (10**k, 2 * 10**k, 5 * 10**k) if span / s <= _TICKS)
        first = int(np.ceil(self.least / step) * step)
        inner = [tick for tick in range(first, int(self.high) + 1, step) if tick > self.least]
        return [int(np.ceil(self.least)), *inner]


def scale_of(samples: Iterable[Floats], least: float, width: float = 380.0) -> Scale:
    """One scale for all samples: every value, and a standard deviation on either side of every mean, has its place."""
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
    """A little dot for every value, below the box; equal values stand in a column, closer where they are many."""
    values, counts = np.unique(sample, return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        step = min(3.0, 11.0 / count)
        for number in range(count):
            yield circle("plot-dot", scale.at(value), 32 + step * number, 1.4)


def p_squares(pvalues: Sequence[float], names: Sequence[str]) -> list[SvgElement]:
    """One square for each earlier candidate, in rows of 28; the dark upper part is the p-value."""
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
    """How high the squares of so many earlier candidates are."""
    return -(-earlier // _SQUARES_ACROSS) * (SQUARE + _GAP)


def scale_axis(scale: Scale) -> list[SvgElement]:
    """The numbers of a scale, 14 pixels high."""
    return [text("plot-soft", scale.at(tick), 11, str(tick), "middle") for tick in scale.ticks]


def experience_plot(years: Sequence[float], label: str = "years of experience") -> str:
    """Paper 002, Figure 7: the experience of the experts in years, as a drawing of its own."""
    values = np.array(years, dtype=np.float64)
    scale = scale_of([values], least=0, width=480)
    height = PLOT_HEIGHT + 32
    name = f"{counted(len(values), 'expert')}: median {np.median(values):g}, mean {values.mean():.1f} {label}"
    parts = [
        *box_plot(values, scale),
        group(scale_axis(scale), y=PLOT_HEIGHT),
        text("plot-soft", 240, height - 5, label, "middle"),
    ]
    return svg(parts, 480, height, name)
