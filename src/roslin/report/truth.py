"""A ground truth as one page: the tables of Typke et al. (2007), section 3.3.2, and what they leave out.

For every candidate the median rank, its notation where it is a melody at hand, id and title, a box-and-whisker plot,
and the p-values against all earlier candidates. A line above every candidate that begins a group, with its confidence,
dashed where it is more likely spurious than real. The same lists can be written as CSV, as one drawing and as LaTeX.

The plots in LaTeX use its own `picture`, in points with y upwards, so that only the package longtable is needed: a list
may be longer than a page. They have no notation, because LaTeX cannot read the drawings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from roslin.display.table import latex_text
from roslin.display.text import counted
from roslin.melody import Melody
from roslin.report.document import document, said_of_file, versions
from roslin.report.player import drawing
from roslin.report.plots import (
    PLOT_HEIGHT,
    Scale,
    bar_height,
    box_plot,
    experience_plot,
    mean_and_deviation,
    p_squares,
    scale_axis,
    scale_of,
)
from roslin.report.svg import SvgElement, group, line, own_file, placed, svg, text
from roslin.truth.consistency import Boundary
from roslin.truth.study import QueryStudy, Study
from roslin.truth.tables import MOST_EXPERTS
from roslin.types import Floats

Melodies = Mapping[str, Melody]


def truth_page(
    found: Study, melodies: Melodies | None = None, experience: Sequence[float] = (), sources: Sequence[str] = ()
) -> str:
    """The whole page. `melodies` by id; `experience` of the experts in years; `sources`: where it comes from."""
    known = melodies or {}
    return document(
        "truth.html",
        heading=_heading_of(found),
        method=_method(found),
        summary=found.summary,
        experience_plot=experience_plot(experience) if len(experience) else "",
        experts_asked=len(experience),
        queries=[_query(found, query, known, f"q{number}-") for number, query in enumerate(found.queries)],
        people=found.experts,
        sources=sources,
    )


def truth_csv(found: Study, melodies: Melodies | None = None) -> str:
    """The lists as CSV, a row for each candidate. It can be read as a truth: those left out are in group 0."""
    lists = found.lists({id: title_of(melody) for id, melody in (melodies or {}).items()})
    left_out = [
        {"query": query, "group": 0, "document": id}
        for query, each in found.queries.items()
        for id in each.grouped.arranged.left_out
    ]
    return replace(lists, rows=(*lists.rows, *left_out)).to_csv()


def rankings_provenance(path: Path, seed: int) -> list[str]:
    """The provenance of a report: program, versions, and the rankings with their checksum."""
    return [
        versions("numpy", "scipy"),
        said_of_file("rankings", path),
        f"what was drawn at random has the seed {seed}",
    ]


def _heading_of(found: Study) -> str:
    return f"Ground truth of {counted(len(found.queries), 'query', 'queries')}"


def _method(found: Study) -> str:
    method = found.method
    corrected = f", corrected by {method.correction}" if method.correction else ""
    share = method.min_votes < 1
    needed = f"{method.min_votes:.0%} of the experts" if share else counted(int(method.min_votes), "expert")
    left_out = f" Experts who failed the check of attention, and do not count: {', '.join(found.left_out)}."
    return (
        f"Grouped by {method.name} (scope: {method.scope}), {method.test} test, p < {method.alpha:g}{corrected}; "
        f"unranked candidates: {method.unranked}; ranked by {needed} or more.{left_out if found.left_out else ''}"
    )


def _query(found: Study, query: str, melodies: Melodies, prefix: str) -> dict[str, Any]:
    each = found.queries[query]
    return {
        "id": query,
        "title": melodies[query].title if query in melodies else "",
        "sentence": each.sentence,
        "doubts": each.doubts,
        **list_of(each, melodies.get, prefix),
        "details": list(_details(each, ", even uncorrected" if found.method.correction else "")),
    }


def list_of(
    each: QueryStudy, melody_of: Callable[[str], Melody | None], prefix: str, width: float = 380.0
) -> dict[str, Any]:
    """The candidates of a query for a page, the most similar first: `rows`, the `axis` below them, those `left_out`."""
    scale, arranged = common_scale(each, width), each.grouped.arranged
    rows = [_row(each, k, scale, melody_of(id), f"{prefix}{k}-") for k, id in enumerate(arranged.documents)]
    return {"rows": rows, "axis": svg(scale_axis(scale), scale.width, 14, ""), "left_out": arranged.left_out}


def _row(each: QueryStudy, k: int, scale: Scale, melody: Melody | None, prefix: str) -> dict[str, Any]:
    arranged, starts = each.grouped.arranged, each.grouped.starts
    sample = arranged.sample(k)
    name = f"{arranged.documents[k]}: median {arranged.medians[k]:g}, mean {arranged.means[k]:.2f}, {len(sample)} ranks"
    line = each.line_at.get(k)
    squares = p_squares(each.grouped.pvalues[:k, k].tolist(), arranged.documents[:k])
    return {
        "group": sum(start <= k for start in starts),
        "begins": k > 0 and k in starts,
        "doubtful": line is not None and line.is_doubtful,
        "confidence": _confidence_text(line),
        "votes": arranged.votes[k],
        "few_votes": _few_votes_text(each, k),
        "median": arranged.medians[k],
        "notation": "" if melody is None else drawing(melody).in_page(prefix),
        "title": title_of(melody),
        "document": arranged.documents[k],
        "plot": svg(box_plot(sample, scale), scale.width, PLOT_HEIGHT, name),
        "squares": svg(squares, scale.width, bar_height(k), "p-values") if k else "",
    }


def _details(each: QueryStudy, uncorrected: str) -> Iterable[tuple[str, list[str]]]:
    listed = each.consistency
    kinds = (
        ("one group, but different", listed.intra),
        ("two groups, but not different", listed.inter),
        ("wrong order", listed.misplaced),
    )
    pairs = [f"{kind}: {' / '.join(pair)}" for kind, found in kinds for pair in found]
    close = [
        f"{pair.first} / {pair.second}: p = {pair.p:.3g}, "
        + (
            f"about {pair.more} more participants"
            if pair.more
            else f"not even with {MOST_EXPERTS} participants like these"
        )
        for pair in each.neighbours
        if pair.more != 0
    ]
    if pairs:
        yield counted(len(pairs), "inconsistent pair"), pairs
    if close:
        yield f"{counted(len(close), 'pair')} of neighbours not yet apart{uncorrected}", close


def common_scale(each: QueryStudy, width: float = 380.0) -> Scale:
    """One scale for all plots of a list, from rank 1."""
    arranged = each.grouped.arranged
    return scale_of(map(arranged.sample, range(len(arranged.documents))), least=1, width=width)


def _confidence_text(line: Boundary | None) -> str:
    if line is None:
        return ""
    return f"line: {100 * line.confidence:.0f}%{', may be spurious' if line.is_doubtful else ''}"


def _few_votes_text(each: QueryStudy, k: int) -> str:
    arranged = each.grouped.arranged
    if k not in arranged.thin:
        return ""
    return f"few votes: {arranged.votes[k]}, later candidates up to {arranged.votes[k:].max()}"


def title_of(melody: Melody | None) -> str:
    """Composer and title of a melody, for lists."""
    return "" if melody is None else ": ".join(part for part in (melody.composer, melody.title) if part)


# -- all lists as one drawing, for a slide or a paper -----------------------------------------------------------------


_DRAWING_WIDTH = 840
_DRAWING_ROW = 80
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
        for k, id in enumerate(each.grouped.arranged.documents):
            if k in each.grouped.starts:
                drawn = lines.get(k)
                doubtful = drawn is not None and drawn.is_doubtful
                parts.append(line("plot-doubtful" if doubtful else "plot-rule", 10, y, _DRAWING_WIDTH - 10, y))
            parts.append(group(_drawn_row(each, k, known.get(id), f"s{number}-{k}-", scale), 0, y + 4))
            y += max(_DRAWING_ROW, PLOT_HEIGHT + 8 + bar_height(k))
        parts.append(group(scale_axis(scale), _PLOT_AT, y))
        y += 40
    return svg(parts, _DRAWING_WIDTH, y, _heading_of(found), style=own_file("templates/plots.css")) + "\n"


def _drawn_row(each: QueryStudy, k: int, melody: Melody | None, prefix: str, scale: Scale) -> Iterable[SvgElement]:
    arranged = each.grouped.arranged
    id = arranged.documents[k]
    yield text("plot-text", 44, 20, f"{arranged.medians[k]:g}", "end")
    yield text("plot-text", 60, 20 if melody is None else 62, f"{title_of(melody)} {id}".strip())
    if melody is not None:
        yield placed(drawing(melody).in_page(prefix), 60, 0, *_NOTATION)
    confidence = _confidence_text(each.line_at.get(k))
    if confidence:
        yield text("plot-soft", _PLOT_AT - 20, 20 if melody is None else 62, confidence, "end")
    few_votes = _few_votes_text(each, k)
    if few_votes:
        yield text("plot-warn", 60, 38 if melody is None else 76, few_votes)
    yield group(box_plot(arranged.sample(k), scale), _PLOT_AT, 0)
    squares = p_squares(each.grouped.pvalues[:k, k].tolist(), arranged.documents[:k])
    yield group(squares, _PLOT_AT, PLOT_HEIGHT + 2)


# -- LaTeX ------------------------------------------------------------------------------------------------------------


_LATEX_WIDTH = 200.0
_LATEX_HEIGHT = 26.0
_LATEX_AXIS = 10.0
_LATEX_SQUARE = 6.0
_LATEX_ACROSS = 25


def truth_latex(found: Study, melodies: Melodies | None = None, experience: Sequence[float] = ()) -> str:
    """All lists, a table for each, with a line above every group and what noise would give in its head."""
    parts = ["% \\usepackage{longtable}\n"]
    if len(experience):
        years = np.array(experience, dtype=np.float64)
        scale = scale_of([years], least=0, width=_LATEX_WIDTH)
        parts.append(
            f"\\noindent The experience of {counted(len(years), 'expert')}, in years:\\\\\n"
            f"{latex_box_plot(years, scale)}\\\\\n{_latex_axis(scale)}\n"
        )
    known = melodies or {}
    return "\n".join([*parts, *(_latex_list(query, each, known) for query, each in found.queries.items())])


def _latex_list(query: str, each: QueryStudy, melodies: Melodies) -> str:
    arranged = each.grouped.arranged
    scale = common_scale(each, _LATEX_WIDTH)
    head = [f"Query {latex_text(query)}", latex_text(each.sentence), *map(latex_text, each.doubts)]
    drawn = each.line_at
    lines = ["\\begin{longtable}{rp{0.24\\textwidth}l}"]
    lines += [f"\\multicolumn{{3}}{{l}}{{\\small {line}}}\\\\" for line in head] + ["\\endhead"]
    for k, id in enumerate(arranged.documents):
        if k in each.grouped.starts:
            lines.append("\\hline")
        name = " ".join(latex_text(part) for part in (title_of(melodies.get(id)), id) if part)
        said = [part for part in (_confidence_text(drawn.get(k)), _few_votes_text(each, k)) if part]
        name += "".join(f" {{\\small ({latex_text(part)})}}" for part in said)
        plot = latex_box_plot(arranged.sample(k), scale)
        lines.append(f"{arranged.medians[k]:g} & {name} & {plot}\\\\")
        if k:
            lines.append(f" & & {latex_squares(each.grouped.pvalues[:k, k].tolist())}\\\\")
    return "\n".join([*lines, "\\hline", f" & & {_latex_axis(scale)}\\\\", "\\end{longtable}\n"])


def latex_box_plot(sample: Floats, scale: Scale) -> str:
    """The plot of one sample: as `plots.box_plot`."""
    if not len(sample):
        return ""
    low, first, middle, third, high = (scale.at(v) for v in np.quantile(sample, [0.1, 0.25, 0.5, 0.75, 0.9]))
    mean, spread = mean_and_deviation(sample)
    left, right = scale.at(mean - spread), scale.at(mean + spread)
    top, centre, bottom = 24.0, 18.0, 12.0
    parts = [
        _across(low, centre, first),
        _across(third, centre, high),
        _up(low, bottom + 3, top - 3),
        _up(high, bottom + 3, top - 3),
        f"\\put({first:g},{bottom:g}){{\\framebox({third - first:.2f},{top - bottom:g}){{}}}}",
        _dashes(left, bottom + 2, right),
        f"\\put({scale.at(mean) - 0.4:.2f},{bottom - 2:g}){{\\rule{{0.8pt}}{{{top - bottom + 4:g}pt}}}}",
        *_latex_dots(sample, scale),
        f"\\put({middle:g},{centre:g}){{\\circle*{{4}}}}",
    ]
    return _picture(_LATEX_HEIGHT, parts)


def _latex_dots(sample: Floats, scale: Scale) -> list[str]:
    found = []
    values, counts = np.unique(sample, return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        step = min(2.0, 8.0 / count)
        found.append(f"\\multiput({scale.at(value):g},9)(0,{-step:.2f}){{{count}}}{{\\circle*{{1}}}}")
    return found


def _dashes(left: float, y: float, right: float) -> str:
    count = max(1, round((right - left) / 4))
    step = (right - left) / count
    return f"\\multiput({left:g},{y:g})({step:.3f},0){{{count}}}{{\\line(1,0){{{step / 2:.3f}}}}}"


def latex_squares(pvalues: Sequence[float]) -> str:
    """One square for each earlier candidate. The dark upper part is the p-value."""
    rows = -(-len(pvalues) // _LATEX_ACROSS)
    parts = []
    for number, p in enumerate(pvalues):
        row, column = divmod(number, _LATEX_ACROSS)
        x, y, dark = column * (_LATEX_SQUARE + 2), (rows - 1 - row) * (_LATEX_SQUARE + 2), _LATEX_SQUARE * min(p, 1)
        parts.append(f"\\put({x:g},{y:g}){{\\framebox({_LATEX_SQUARE:g},{_LATEX_SQUARE:g}){{}}}}")
        parts.append(f"\\put({x:g},{y + _LATEX_SQUARE - dark:.2f}){{\\rule{{{_LATEX_SQUARE:g}pt}}{{{dark:.2f}pt}}}}")
    return _picture(rows * (_LATEX_SQUARE + 2), parts)


def _latex_axis(scale: Scale) -> str:
    return _picture(
        _LATEX_AXIS, [f"\\put({scale.at(tick):g},2){{\\makebox(0,0)[b]{{\\tiny {tick}}}}}" for tick in scale.ticks]
    )


def _picture(height: float, parts: Sequence[str]) -> str:
    return f"\\begin{{picture}}({_LATEX_WIDTH:g},{height:g}){''.join(parts)}\\end{{picture}}"


def _across(left: float, y: float, right: float) -> str:
    return f"\\put({left:g},{y:g}){{\\line(1,0){{{right - left:.2f}}}}}"


def _up(x: float, bottom: float, top: float) -> str:
    return f"\\put({x:g},{bottom:g}){{\\line(0,1){{{top - bottom:.2f}}}}}"
