"""The lists of a ground truth as one drawing, as LaTeX, or as CSV: what a report can be besides a page."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from html import escape

from roslin.report.evaluation_tables import Section, latex
from roslin.report.player import drawing
from roslin.report.truth import Melodies, bar_height, common_scale
from roslin.report.truth_plots import PLOT_HEIGHT, PLOT_STYLE, Scale, box_plot, p_squares, scale_axis
from roslin.report.truth_tables import QueryStudy, Study, candidates

__all__ = ["WRITERS", "truth_csv", "truth_latex", "truth_svg"]

_ROW = 76
_PLOT_AT = 440


def truth_svg(found: Study, melodies: Melodies | None = None) -> str:
    """All lists as one drawing."""
    known = melodies or {}
    parts, y = [], 10
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
    title = "" if melody is None else ": ".join(part for part in (melody.composer, melody.title) if part)
    label = f"{title} {document}".strip()
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


def truth_latex(found: Study, melodies: Melodies | None = None) -> str:
    """The lists as LaTeX tables with booktabs, a rule above every group."""
    texts = []
    section = candidates(found, _titles(melodies))
    columns = ("median", "mean", "deviation", "votes", "document", "title", "largest_p")
    for query in found.queries:
        rows = [row for row in section.rows if row["query"] == query]
        lines = latex(Section(query, f"Query {query}", columns, rows)).splitlines()
        first = lines.index("\\midrule") + 1
        begins = [k for k in range(1, len(rows)) if rows[k]["group"] != rows[k - 1]["group"]]
        for k in reversed(begins):
            lines.insert(first + k, "\\midrule")
        texts.append("\n".join(lines) + "\n")
    return "\n".join(texts)


def truth_csv(found: Study, melodies: Melodies | None = None) -> str:
    """The lists as CSV, a row for each candidate."""
    section = candidates(found, _titles(melodies))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, section.columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: "" if value is None else value for name, value in row.items()} for row in section.rows)
    return stream.getvalue()


def _titles(melodies: Melodies | None) -> dict[str, str]:
    return {id: melody.title or "" for id, melody in (melodies or {}).items()}


# What lists can be written as, by the end of the file's name.
WRITERS: dict[str, Callable[[Study, Melodies | None], str]] = {
    ".svg": truth_svg,
    ".tex": truth_latex,
    ".csv": truth_csv,
}
