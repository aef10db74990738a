"""Drawings of the dashboard: opinions against the quota, trials per day, times of trials, and the list of one query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from roslin.experiment.folder import StudyFolder
from roslin.experiment.overview import QueryProgress
from roslin.report.player import drawing
from roslin.report.plots import PLOT_HEIGHT, bar_height, box_plot, p_squares, scale_axis, scale_of
from roslin.report.svg import SvgElement, group, line, rect, svg, text
from roslin.report.truth import common_scale, title_of
from roslin.truth.study import Study

_WIDTH, _NAMES, _NUMBERS = 900.0, 200.0, 80.0
_ROW = 24.0
_DAYS, _BARS_HEIGHT = 60, 90.0
_LONGEST_NAME = 28


def quota_plot(queries: Sequence[QueryProgress]) -> str:
    """A bar for each query: opinions given, and paler those being given; the line is the quota."""
    left = _NAMES + _NUMBERS  # names and numbers first: a phone shows those without moving sideways
    room = _WIDTH - left - 4
    most = max((max(each.finished + each.running, each.quota) for each in queries), default=1)
    parts: list[SvgElement] = []
    for row, each in enumerate(queries):
        y = row * _ROW
        done, doing = (room * count / most for count in (each.finished, each.running))
        end = left + room * each.quota / most
        parts += [
            text("plot-text", _NAMES - 8, y + 16, _short(each.query), "end"),
            text("plot-soft", left - 12, y + 16, f"{each.finished} of {each.quota}", "end"),
            rect("plot-track", left, y + 4, room * each.quota / most, _ROW - 9),
            rect("plot-shade", left, y + 4, done, _ROW - 9),
            rect("plot-running", left + done, y + 4, doing, _ROW - 9),
            line("plot-rule", end, y + 2, end, y + _ROW - 3),
        ]
    total, wanted = (sum(getattr(each, name) for each in queries) for name in ("finished", "quota"))
    return svg(parts, _WIDTH, max(_ROW * len(queries), 1), f"Opinions of each query: {total} of {wanted} in all")


def day_plot(days: Sequence[tuple[str, int]]) -> str:
    """A bar for each day on which trials were finished; the last sixty."""
    shown = days[-_DAYS:]
    most = max((count for _, count in shown), default=1)
    step = min(_WIDTH / max(len(shown), 1), 40.0)
    parts: list[SvgElement] = []
    for place, (day, count) in enumerate(shown):
        height = _BARS_HEIGHT * count / most
        bar = (place * step + 2, _BARS_HEIGHT - height + 16, max(step - 4, 1), height)
        parts.append(rect("plot-shade", *bar, said=f"{day}: {count}"))
        if len(shown) <= 16:
            parts.append(text("plot-soft", place * step + step / 2, _BARS_HEIGHT - height + 12, str(count), "middle"))
    floor = _BARS_HEIGHT + 16
    parts.append(line("plot-line", 0, floor, step * max(len(shown), 1), floor))
    if shown:
        parts.append(text("plot-soft", 0, floor + 16, shown[0][0]))
    if len(shown) > 5:
        parts.append(text("plot-soft", step * len(shown), floor + 16, shown[-1][0], "end"))
    return svg(parts, _WIDTH, floor + 22, f"Trials finished on {len(shown)} days")


def time_plot(queries: Sequence[QueryProgress]) -> str:
    """A box-and-whisker plot for each query: minutes that its trials took, pauses left out."""
    room = _WIDTH - _NAMES
    samples = [np.array(each.seconds, dtype=np.float64) / 60 for each in queries]
    scale = scale_of(samples, least=0, width=room)
    parts: list[SvgElement] = []
    for row, (each, sample) in enumerate(zip(queries, samples, strict=True)):
        y = row * PLOT_HEIGHT
        parts.append(text("plot-text", _NAMES - 8, y + 22, _short(each.query), "end"))
        parts.append(group(box_plot(sample, scale), _NAMES, y))
    parts.append(group(scale_axis(scale), _NAMES, len(queries) * PLOT_HEIGHT))
    return svg(parts, _WIDTH, len(queries) * PLOT_HEIGHT + 18, "Minutes that trials took, for each query")


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


# -- the list of a query -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One candidate; `group` counts from 1."""

    group: int
    begins: bool
    median: float
    votes: int
    document: str
    title: str
    notation: Markup
    plot: Markup
    squares: Markup


@dataclass(frozen=True, slots=True)
class FindingRows:
    """All candidates in order, the scale below their plots, and those that nobody ranked."""

    rows: tuple[FindingRow, ...]
    axis: Markup
    left_out: tuple[str, ...]


def finding_rows(folder: StudyFolder, found: Study, query: str) -> FindingRows:
    """The list of one query, the most similar first."""
    each = found.queries[query]
    arranged = each.grouped.arranged
    scale = common_scale(each, 320.0)
    items = {item.id: item for item in folder.plan.task(query).candidates}
    rows, number = [], 0
    for k, document in enumerate(arranged.documents):
        number += k in each.grouped.starts
        sample = arranged.sample(k)
        melody = folder.melody(document) if items[document].is_melody else None
        said = f"{document}: median {arranged.medians[k]:g}, {len(sample)} ranks"
        squares = p_squares(each.grouped.pvalues[:k, k].tolist(), arranged.documents[:k])
        rows.append(
            FindingRow(
                number,
                k > 0 and k in each.grouped.starts,
                float(arranged.medians[k]),
                int(arranged.votes[k]),
                document,
                title_of(melody),
                _safe("" if melody is None else drawing(melody).in_page(f"c{k}-")),
                _safe(svg(box_plot(sample, scale), scale.width, PLOT_HEIGHT, said)),
                _safe(svg(squares, scale.width, bar_height(k), "p-values against those above") if k else ""),
            )
        )
    axis = _safe(svg(scale_axis(scale), scale.width, 14, ""))
    return FindingRows(tuple(rows), axis, tuple(arranged.left_out))


def _safe(drawn: str) -> Markup:
    return Markup(drawn)  # noqa: S704 - made from templates, which escape
