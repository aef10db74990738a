"""The lists of a ground truth as one drawing, or as CSV: what a report can be besides a page and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from html import escape

from roslin.report.player import drawing
from roslin.report.truth import Melodies, bar_height, common_scale
from roslin.report.truth_plots import (
    PLOT_HEIGHT,
    PLOT_STYLE,
    Scale,
    box_plot,
    p_squares,
    plot_of_experience,
    scale_axis,
)
from roslin.report.truth_tables import QueryStudy, Study, candidates, title_of

__all__ = ["truth_csv", "truth_svg"]

_ROW = 76
_PLOT_AT = 440


def truth_svg(found: Study, melodies: Melodies | None = None, experience: Sequence[float] = ()) -> str:
    """All lists as one drawing; above them the experience of the experts in years, where it is known."""
    known = melodies or {}
    parts, y = [], 10
    if len(experience):
        parts.append(f'<g transform="translate(10 {y})">{plot_of_experience(experience)}</g>')
        y += PLOT_HEIGHT + 52
    for number, (query, each) in enumerate(found.queries.items()):
        parts.append(f'<text class="rt-text" x="10" y="{y + 14}">Query {escape(query)}: {escape(each.sentence)}</text>')
        y += 26
        scale = common_scale(each)
        for k, document in enumerate(each.grouped.arranged.documents):
            height = max(_ROW, PLOT_HEIGHT + 8 + bar_height(k))
            if k in each.grouped.starts:
                parts.append(f'<line class="rt-rule" x1="10" y1="{y}" x2="830" y2="{y}"/>')
            row = _svg_row(each, k, document, known, f"s{number}-{k}-", scale)
            parts.append(f'<g transform="translate(0 {y + 4})">{row}</g>')
            y += height
        parts.append(f'<g transform="translate({_PLOT_AT} {y})">{scale_axis(scale)}</g>')
        y += 40
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 840 {y}" width="840" height="{y}">'
        f"<style>{PLOT_STYLE}</style>{''.join(parts)}</svg>\n"
    )


def _svg_row(each: QueryStudy, k: int, document: str, melodies: Melodies, prefix: str, scale: Scale) -> str:
    arranged = each.grouped.arranged
    melody = melodies.get(document)
    label = f"{title_of(melody)} {document}".strip()
    notation = "" if melody is None else _placed(drawing(melody).in_page(prefix))
    squares = p_squares(each.grouped.pvalues[:k, k].tolist(), arranged.documents[:k])
    return (
        f'<text class="rt-text" text-anchor="end" x="44" y="20">{arranged.medians[k]:g}</text>'
        f'<text class="rt-text" x="60" y="{62 if notation else 20}">{escape(label)}</text>{notation}'
        f'<g transform="translate({_PLOT_AT} 0)">{box_plot(arranged.sample(k), scale)}</g>'
        f'<g transform="translate({_PLOT_AT} {PLOT_HEIGHT + 2})">{squares}</g>'
    )


def _placed(svg: str) -> str:
    """A drawing of notation in its place: nested, at most 360 by 48."""
    box = '<svg x="60" y="0" width="360" height="48" preserveAspectRatio="xMinYMid meet"'
    opened, rest = svg.split(">", 1)
    kept = " ".join(part for part in opened.split(" ")[1:] if not part.startswith(("width=", "height=")))
    return f'<g class="rt-text">{box} {kept}>{rest}</g>'


def truth_csv(found: Study, melodies: Melodies | None = None) -> str:
    """The lists as CSV, a row for each candidate. It can be read as a truth: those left out are in group 0."""
    section = candidates(found, melodies)
    rows = list(section.rows)
    for query, each in found.queries.items():
        rows += [{"query": query, "group": 0, "document": id} for id in each.grouped.arranged.left_out]
    stream = io.StringIO()
    writer = csv.DictWriter(stream, section.columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if value is None else value for name, value in row.items()} for row in rows)
    return stream.getvalue()
