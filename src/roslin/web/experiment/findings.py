"""The list of a query as it stands, for the experimenter: groups, ranks and tests, drawn by the report layer."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from roslin.experiment.folder import StudyFolder
from roslin.report.player import drawing
from roslin.report.rank_plots import PLOT_HEIGHT, bar_height, box_plot, p_squares, scale_axis
from roslin.report.svg import svg
from roslin.report.truth import common_scale, title_of
from roslin.truth.study import Study


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
    rows, group = [], 0
    for k, document in enumerate(arranged.documents):
        group += k in each.grouped.starts
        sample = arranged.sample(k)
        melody = folder.melody(document) if items[document].is_melody else None
        said = f"{document}: median {arranged.medians[k]:g}, {len(sample)} ranks"
        squares = p_squares(each.grouped.pvalues[:k, k].tolist(), arranged.documents[:k])
        rows.append(
            FindingRow(
                group,
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
