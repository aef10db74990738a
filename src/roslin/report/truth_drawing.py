"""All lists of a ground truth as one drawing: what the page shows, for a slide or a paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from roslin.melody import Melody
from roslin.report.player import drawing
from roslin.report.rank_plots import (
    PLOT_HEIGHT,
    Scale,
    bar_height,
    box_plot,
    experience_plot,
    p_squares,
    scale_axis,
)
from roslin.report.svg import SvgElement, group, line, placed, plot_style, svg, text
from roslin.report.truth import Melodies, common_scale, confidence_text, few_votes_text, heading_of, title_of
from roslin.truth.study import QueryStudy, Study

_WIDTH = 840
_ROW = 80
_PLOT_AT = 440
_NOTATION = (360, 48)


def truth_svg(found: Study, melodies: Melodies | None = None, experience: Sequence[float] = ()) -> str:
    """All lists; above them the experience of the experts in years, where it is known."""
    known = melodies or {}
    parts: list[SvgElement] = []
    y = 10
    if len(experience):
        parts.append(placed(experience_plot(experience), 10, y, 480, PLOT_HEIGHT + 32))
        y += PLOT_HEIGHT + 52
    for number, (query, each) in enumerate(found.queries.items()):
        parts.append(text("plot-text", 10, y + 14, f"Query {query}: {each.sentence}"))
        y += 26
        for doubt in each.doubts:
            parts.append(text("plot-soft", 10, y + 10, doubt))
            y += 18
        scale, lines = common_scale(each), each.line_at
        for k, document in enumerate(each.grouped.arranged.documents):
            if k in each.grouped.starts:
                drawn = lines.get(k)
                doubtful = drawn is not None and drawn.is_doubtful
                parts.append(line("plot-doubtful" if doubtful else "plot-rule", 10, y, _WIDTH - 10, y))
            parts.append(group(_row(each, k, known.get(document), f"s{number}-{k}-", scale), 0, y + 4))
            y += max(_ROW, PLOT_HEIGHT + 8 + bar_height(k))
        parts.append(group(scale_axis(scale), _PLOT_AT, y))
        y += 40
    return svg(parts, _WIDTH, y, heading_of(found), style=plot_style()) + "\n"


def _row(each: QueryStudy, k: int, melody: Melody | None, prefix: str, scale: Scale) -> Iterable[SvgElement]:
    """One candidate: median, name, notation where it is at hand, and its plots."""
    arranged = each.grouped.arranged
    document = arranged.documents[k]
    yield text("plot-text", 44, 20, f"{arranged.medians[k]:g}", "end")
    yield text("plot-text", 60, 20 if melody is None else 62, f"{title_of(melody)} {document}".strip())
    if melody is not None:
        yield placed(drawing(melody).in_page(prefix), 60, 0, *_NOTATION)
    confidence = confidence_text(each.line_at.get(k))
    if confidence:
        yield text("plot-soft", _PLOT_AT - 20, 20 if melody is None else 62, confidence, "end")
    few_votes = few_votes_text(each, k)
    if few_votes:
        yield text("plot-warn", 60, 38 if melody is None else 76, few_votes)
    yield group(box_plot(arranged.sample(k), scale), _PLOT_AT, 0)
    squares = p_squares(each.grouped.pvalues[:k, k].tolist(), arranged.documents[:k])
    yield group(squares, _PLOT_AT, PLOT_HEIGHT + 2)
