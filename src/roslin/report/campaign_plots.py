"""Drawings of a campaign as SVG: means with their intervals, and every query of every system.

Ink is `currentColor`, shades are the page's colour of notes: readable on light and dark ground, and in print.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from roslin.evaluate.hits import Floats

__all__ = ["heat_map", "interval_plot"]

_ROW, _RIGHT = 20.0, 60.0
_PLOT = 620.0
_MOST_COLUMNS = 300  # more would be thinner than a pixel
_LETTER = 6.8  # a wide guess at the mean width of a letter
_LEAST_NAME, _LONGEST_NAME = 24, 60


def interval_plot(names: Sequence[str], means: Floats, intervals: Floats, title: str) -> str:
    """A dot for each mean and a line for its interval, from 0 to 1 (or to the largest value, where that is above 1)."""
    top = max(1.0, float(np.nanmax(np.concatenate([means.ravel(), intervals.ravel()]), initial=1.0)))
    left = _room_for(names)
    height = _ROW * len(names) + 26
    parts = []
    for tick in np.linspace(0, top, 6):
        x = left + _PLOT * tick / top
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - 22:.0f}" stroke-opacity="0.15"/>')
        parts.append(_text(x, height - 8, f"{tick:g}", "middle"))
    for row, (name, mean, (low, high)) in enumerate(zip(names, means, intervals, strict=True)):
        y = _ROW * (row + 0.5)
        parts.append(_text(left - 8, y + 4, _short(name), "end"))
        if low == low:
            ends = (left + _PLOT * low / top, left + _PLOT * high / top)
            parts.append(f'<line x1="{ends[0]:.1f}" x2="{ends[1]:.1f}" y1="{y}" y2="{y}" stroke-width="2"/>')
        if mean == mean:
            x = left + _PLOT * mean / top
            parts.append(f'<circle cx="{x:.1f}" cy="{y}" r="4" class="shade" stroke="none"/>')
            parts.append(_text(left + _PLOT + 10, y + 4, f"{mean:.3f}", "start"))
    return _svg(left, height, title, parts)


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
    parts = []
    for row, name in enumerate(names):
        parts.append(_text(left - 8, _ROW * (row + 0.5) + 4, _short(name), "end"))
        for place, members in enumerate(columns):
            value = float(values[row, members].mean())
            said = f"{len(members)} queries" if len(members) > 1 else queries[int(members[0])]
            parts.append(
                f'<rect x="{left + place * width:.2f}" y="{_ROW * row + 1:g}" width="{max(width - 0.6, 0.6):.2f}" '
                f'height="{_ROW - 2:g}" class="shade" stroke="none" fill-opacity="{0.06 + 0.94 * value / top:.3f}">'
                f"<title>{escape(f'{name}, {said}: {value:.3f}')}</title></rect>"
            )
    parts.append(_text(left, height - 6, "hard queries", "start"))
    parts.append(_text(left + _PLOT, height - 6, "easy queries", "end"))
    return _svg(left, height, title, parts)


def _svg(left: float, height: float, title: str, parts: Sequence[str]) -> str:
    width = left + _PLOT + _RIGHT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" fill="currentColor" '
        f'stroke="currentColor" font-size="12">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" stroke="none">{escape(text)}</text>'


def _room_for(names: Sequence[str]) -> float:
    """The width of the column of names."""
    longest = max((len(_short(name)) for name in names), default=0)
    return 16.0 + _LETTER * max(longest, _LEAST_NAME)


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
