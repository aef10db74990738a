"""The drawings of paper 002's tables and of its Figure 7, as SVG: plain text, no library.

A box-and-whisker plot as section 3.3.2 describes it: the box extends from the first to the third quartile, the whiskers
mark the bottom and top 10 percent, every rank is a little dot, the median a fat dot, the mean a vertical line, and a
dashed horizontal line marks one standard deviation on either side of the mean. Below it a bar of squares, one for each
earlier candidate: the dark upper part is the p-value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from roslin.truth.rankings import Floats

__all__ = [
    "PLOT_HEIGHT",
    "PLOT_STYLE",
    "SQUARE",
    "SQUARES_ACROSS",
    "Scale",
    "box_plot",
    "mean_and_deviation",
    "p_squares",
    "plot_of_experience",
    "scale_axis",
    "scale_of",
]

PLOT_STYLE = """
.rt-grid { stroke: var(--rt-line, #d9dee3); stroke-width: 1; }
.rt-box { fill: var(--rt-box, #dbe8f1); stroke: var(--rt-ink, #1d2329); stroke-width: 1; }
.rt-whisker, .rt-mean { stroke: var(--rt-ink, #1d2329); stroke-width: 1.2; }
.rt-mean { stroke: var(--rt-accent, #b3401f); stroke-width: 1.8; }
.rt-spread { stroke: var(--rt-accent, #b3401f); stroke-width: 1.2; stroke-dasharray: 4 3; }
.rt-dot { fill: var(--rt-ink, #1d2329); opacity: .55; }
.rt-median { fill: var(--rt-ink, #1d2329); }
.rt-light { fill: var(--rt-light, #e4e2da); }
.rt-dark { fill: var(--rt-ink, #1d2329); }
.rt-text { fill: var(--rt-ink, #1d2329); font: 11px system-ui, sans-serif; }
.rt-soft { fill: var(--rt-soft, #5b6570); font: 11px system-ui, sans-serif; }
.rt-rule { stroke: var(--rt-ink, #1d2329); stroke-width: 1.6; }
"""
PLOT_HEIGHT = 44
SQUARE = 11
SQUARES_ACROSS = 28
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


def box_plot(sample: Floats, scale: Scale) -> str:
    """The plot of one sample, as the inside of an SVG of the scale's width and PLOT_HEIGHT. Nothing for no values."""
    if not len(sample):
        return ""
    low, first, middle, third, high = (scale.at(v) for v in np.quantile(sample, [0.1, 0.25, 0.5, 0.75, 0.9]))
    mean, spread = mean_and_deviation(sample)
    top, centre, bottom = 8, 18, 28
    left, right = scale.at(mean - spread), scale.at(mean + spread)
    parts = [
        *(_line("rt-grid", scale.at(tick), 2, scale.at(tick), PLOT_HEIGHT - 2) for tick in scale.ticks),
        _line("rt-whisker", low, centre, first, centre),
        _line("rt-whisker", third, centre, high, centre),
        _line("rt-whisker", low, top + 4, low, bottom - 4),
        _line("rt-whisker", high, top + 4, high, bottom - 4),
        f'<rect class="rt-box" x="{first}" y="{top}" width="{max(third - first, 1):.2f}" height="{bottom - top}"/>',
        _line("rt-spread", left, bottom - 4, right, bottom - 4),
        _line("rt-mean", scale.at(mean), top - 3, scale.at(mean), bottom + 3),
        *_dots(sample, scale),
        f'<circle class="rt-median" cx="{middle}" cy="{centre}" r="4.5"/>',
    ]
    return "".join(parts)


def _dots(sample: Floats, scale: Scale) -> list[str]:
    """A little dot for every value, below the box; equal values stand in a column, closer where they are many."""
    found = []
    values, counts = np.unique(sample, return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        step = min(3.0, 11.0 / count)
        for number in range(count):
            found.append(f'<circle class="rt-dot" cx="{scale.at(value)}" cy="{32 + step * number:.2f}" r="1.4"/>')
    return found


def p_squares(pvalues: Sequence[float], names: Sequence[str], across: int = SQUARES_ACROSS) -> str:
    """One square for each earlier candidate, in rows of `across`; the dark upper part is the p-value."""
    parts = []
    for number, (p, name) in enumerate(zip(pvalues, names, strict=True)):
        row, column = divmod(number, across)
        x, y = column * (SQUARE + _GAP), row * (SQUARE + _GAP)
        parts.append(
            f"<g><title>p = {p:.4g} against {escape(name)}</title>"
            f'<rect class="rt-light" x="{x}" y="{y}" width="{SQUARE}" height="{SQUARE}"/>'
            f'<rect class="rt-dark" x="{x}" y="{y}" width="{SQUARE}" height="{SQUARE * min(p, 1):.2f}"/></g>'
        )
    return "".join(parts)


def scale_axis(scale: Scale) -> str:
    """The numbers of a scale, 14 pixels high."""
    return "".join(
        f'<text class="rt-soft" text-anchor="middle" x="{scale.at(tick)}" y="11">{tick}</text>' for tick in scale.ticks
    )


def plot_of_experience(years: Sequence[float], label: str = "years of experience") -> str:
    """Paper 002, Figure 7: the experience of the experts in years, as a drawing of its own."""
    values = np.array(years, dtype=np.float64)
    scale = scale_of([values], least=0, width=480)
    height = PLOT_HEIGHT + 32
    name = f"{len(values)} experts: median {np.median(values):g}, mean {values.mean():.1f} {label}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(name)}" viewBox="0 0 480 {height}" '
        f'width="480" height="{height}">{box_plot(values, scale)}'
        f'<g transform="translate(0 {PLOT_HEIGHT})">{scale_axis(scale)}</g>'
        f'<text class="rt-soft" text-anchor="middle" x="240" y="{height - 5}">{escape(label)}</text></svg>'
    )


def _line(name: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{name}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>'
