"""A ground truth as one page: the tables of paper 002, section 3.3.2, and what they leave out.

For every candidate the median rank, its notation where it is a melody at hand, id and title, a box-and-whisker plot,
and the p-values against all earlier candidates; a line above every candidate that begins a group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from roslin.melody import Melody
from roslin.report.evaluation_tables import Section
from roslin.report.frame import framed
from roslin.report.player import drawing
from roslin.report.truth_plots import (
    PLOT_HEIGHT,
    PLOT_STYLE,
    SQUARE,
    SQUARES_ACROSS,
    Scale,
    box_plot,
    p_squares,
    plot_of_experience,
    scale_axis,
    scale_of,
)
from roslin.report.truth_tables import QueryStudy, Study, people, summary, title_of
from roslin.truth.power import MOST_EXPERTS

__all__ = ["Melodies", "bar_height", "common_scale", "truth_page"]

Melodies = Mapping[str, Melody]

_STYLE = """
:root { --width: 64rem; --rt-ink: #1d2329; --rt-soft: #5b6570; --rt-line: #e3e7ea; --rt-box: #dbe8f1;
  --rt-light: #e4e2da; --rt-accent: #b3401f; }
@media (prefers-color-scheme: dark) { :root { --rt-ink: #e6e8ea; --rt-soft: #a3adb7; --rt-line: #313940;
  --rt-box: #2b4254; --rt-light: #454d55; --rt-accent: #f0a06a; } }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .3rem; }
p, li, figcaption { color: var(--soft); margin: .3rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; background: var(--card); font-variant-numeric: tabular-nums; }
.numbers th, .numbers td { padding: .25rem .6rem; border: 1px solid var(--line); text-align: left; white-space: nowrap;
  font-size: .9rem; }
.numbers .number { text-align: right; }
.list { width: 100%; min-width: 44rem; border: 1px solid var(--line); }
.list th { text-align: left; font-weight: normal; color: var(--soft); font-size: .85rem; padding: .3rem .7rem; }
.list td { padding: .35rem .7rem; vertical-align: middle; border-top: 1px solid var(--line); }
.list tr.begins td { border-top: 2px solid var(--ink); }
.list .median { text-align: right; width: 4rem; }
.list .plot { width: 396px; }
.list svg { display: block; } .list .plot svg + svg { margin-top: 4px; }
.list .notation { max-width: 100%; max-height: 4.5rem; width: auto; height: auto; margin-bottom: .2rem; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; }
details { margin: .4rem 0; } summary { cursor: pointer; color: var(--soft); }
@media print { tr { break-inside: avoid; } }
"""
_LEGEND = (
    "Box: first to third quartile. Whiskers: bottom and top 10 %. Little dots: every rank. Fat dot: median. Vertical "
    "line: mean; dashed: one standard deviation on either side. Squares: one for each earlier candidate, the dark "
    "upper part is the p-value. A strong line begins a group."
)


def truth_page(
    found: Study, melodies: Melodies | None = None, experience: Sequence[float] = (), sources: Sequence[str] = ()
) -> str:
    """The whole page. `melodies` by id; `experience` of the experts in years; `sources`: where it comes from."""
    known = melodies or {}
    heading = f"Ground truth of {len(found.queries)} quer{'y' if len(found.queries) == 1 else 'ies'}"
    body = [
        f"<p>{escape(_method(found))}</p>",
        _numbers(summary(found)),
        "<p>noise: mean number of groups when every expert's ranks are shuffled; p: how often that gives at least as "
        "many groups as were found. W: Kendall's concordance; alpha: Krippendorff's (ordinal), not the level of the "
        "tests. ADR-1: consistency.</p>",
    ]
    if len(experience):
        caption = f"The experience of {len(experience)} experts (paper 002, Figure 7)."
        body.append(f"<figure>{plot_of_experience(experience)}<figcaption>{caption}</figcaption></figure>")
    for number, (query, each) in enumerate(found.queries.items()):
        body += _query(query, each, known, f"q{number}-", ", even uncorrected" if found.method.correction else "")
    body += ["<h2>Experts</h2>", _numbers(people(found.rankings))]
    body += ["<p>agreement: mean rank correlation with the order of the others; z: how far above chance.</p>"]
    if sources:
        body += ["<h2>Where this comes from</h2><ul>", *(f"<li>{escape(line)}</li>" for line in sources), "</ul>"]
    return framed(heading, "\n".join(body), _STYLE + PLOT_STYLE)


def _method(found: Study) -> str:
    method = found.method
    corrected = f", corrected by {method.correction}" if method.correction else ""
    return (
        f"Grouped by {method.name} (scope: {method.scope}), {method.test} test, p < {method.alpha:g}{corrected}; "
        f"unranked candidates: {method.unranked}."
    )


def _query(query: str, each: QueryStudy, melodies: Melodies, prefix: str, uncorrected: str) -> list[str]:
    arranged = each.grouped.arranged
    scale = common_scale(each)
    rows = [
        f"<tr{' class=begins' if k in each.grouped.starts and k else ''}>"
        f'<td class="median">{arranged.medians[k]:g}</td>'
        f"<td>{_document(document, melodies.get(document), f'{prefix}{k}-')}</td>"
        f'<td class="plot">{_plot(each, k, scale)}</td></tr>'
        for k, document in enumerate(arranged.documents)
    ]
    axis = f'<svg width="{scale.width:g}" height="14" aria-hidden="true">{scale_axis(scale)}</svg>'
    title = melodies[query].title if query in melodies else ""
    said = [
        f"<h2>Query {escape(query)}{escape(f': {title}' if title else '')}</h2>",
        f"<p>{escape(each.sentence)}.</p>",
    ]
    if arranged.left_out:
        said.append(f"<p>Left out, with too few votes: {escape(', '.join(arranged.left_out))}.</p>")
    said.append(
        '<div class="wide"><table class="list"><thead><tr><th>median</th><th>candidate</th><th>ranks, and p-values '
        f"against earlier candidates</th></tr></thead><tbody>{chr(10).join(rows)}</tbody>"
        f"<tfoot><tr><th></th><th></th><th>{axis}</th></tr></tfoot></table></div>"
    )
    said.append(f"<p>{escape(_LEGEND)}</p>" if prefix == "q0-" else "")
    return [*said, _details(each, uncorrected)]


def _details(each: QueryStudy, uncorrected: str) -> str:
    """What spoils the list, and how many more experts would help, behind a fold."""
    listed = each.consistency
    kinds = (("one group, but different", listed.intra), ("two groups, but not different", listed.inter))
    pairs = [
        f"{kind}: {' / '.join(pair)}" for kind, found in (*kinds, ("wrong order", listed.misplaced)) for pair in found
    ]
    close = [
        f"{pair.first} / {pair.second}: p = {pair.p:.3g}, "
        + (f"about {pair.more} more experts" if pair.more else f"not even with {MOST_EXPERTS} experts like these")
        for pair in each.neighbours
        if pair.more != 0
    ]
    parts = []
    for title, lines in (
        (f"{len(pairs)} inconsistent pair{'' if len(pairs) == 1 else 's'}", pairs),
        (f"{len(close)} pair{'' if len(close) == 1 else 's'} of neighbours not yet apart{uncorrected}", close),
    ):
        if lines:
            entries = "".join(f"<li>{escape(line)}</li>" for line in lines)
            parts.append(f"<details><summary>{title}</summary><ul>{entries}</ul></details>")
    return "".join(parts)


def common_scale(each: QueryStudy) -> Scale:
    """One scale for all plots of a list, from rank 1."""
    arranged = each.grouped.arranged
    return scale_of(map(arranged.sample, range(len(arranged.documents))), least=1)


def _document(document: str, melody: Melody | None, prefix: str) -> str:
    if melody is None:
        return f"<code>{escape(document)}</code>"
    about = title_of(melody)
    name = f"{escape(about)} " if about else ""
    return f"{drawing(melody).in_page(prefix)}{name}<code>{escape(document)}</code>"


def _plot(each: QueryStudy, k: int, scale: Scale) -> str:
    arranged = each.grouped.arranged
    sample = arranged.sample(k)
    name = f"{arranged.documents[k]}: median {arranged.medians[k]:g}, mean {arranged.means[k]:.2f}, {len(sample)} ranks"
    plot = (
        f'<svg role="img" aria-label="{escape(name)}" width="{scale.width:g}" height="{PLOT_HEIGHT}">'
        f"{box_plot(sample, scale)}</svg>"
    )
    if not k:
        return plot
    squares = p_squares(each.grouped.pvalues[:k, k].tolist(), arranged.documents[:k])
    height = bar_height(k)
    return f'{plot}<svg role="img" aria-label="p-values" width="{scale.width:g}" height="{height}">{squares}</svg>'


def bar_height(earlier: int) -> int:
    """How high the squares of so many earlier candidates are, in its rows."""
    return -(-earlier // SQUARES_ACROSS) * (SQUARE + 2)


def _numbers(section: Section) -> str:
    head = "".join(f'<th scope="col"{_side(section, name)}>{escape(name)}</th>' for name in section.columns)
    rows = "".join("<tr>" + "".join(_cell(row.get(name)) for name in section.columns) + "</tr>" for row in section.rows)
    return f'<div class="wide"><table class="numbers"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _side(section: Section, name: str) -> str:
    """A column of numbers stands on the right, its name too."""
    return "" if any(isinstance(row.get(name), str) for row in section.rows) else " class=number"


def _cell(value: object) -> str:
    if value is None or value != value:
        return '<td class="number">–</td>'
    if isinstance(value, float):
        return f'<td class="number">{value:.3f}</td>'
    return f"<td{' class=number' if isinstance(value, int) else ''}>{escape(str(value))}</td>"
