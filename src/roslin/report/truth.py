"""A ground truth as one page: the tables of paper 002, section 3.3.2, and what they leave out.

For every candidate the median rank, its notation where it is a melody at hand, id and title, a box-and-whisker plot,
and the p-values against all earlier candidates; a line above every candidate that begins a group, with its confidence,
dashed where it is more likely spurious than real.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from roslin.display.text import counted
from roslin.melody import Melody
from roslin.report.document import document, said_of_file, versions
from roslin.report.player import drawing
from roslin.report.rank_plots import (
    PLOT_HEIGHT,
    Scale,
    bar_height,
    box_plot,
    experience_plot,
    p_squares,
    scale_axis,
    scale_of,
)
from roslin.report.svg import svg
from roslin.truth.consistency import Boundary
from roslin.truth.study import QueryStudy, Study
from roslin.truth.tables import MOST_EXPERTS

Melodies = Mapping[str, Melody]


def truth_page(
    found: Study, melodies: Melodies | None = None, experience: Sequence[float] = (), sources: Sequence[str] = ()
) -> str:
    """The whole page. `melodies` by id; `experience` of the experts in years; `sources`: where it comes from."""
    known = melodies or {}
    return document(
        "truth.html",
        heading=heading_of(found),
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
    """What made a report: program, versions, and the rankings with their checksum."""
    return [
        versions("numpy", "scipy"),
        said_of_file("rankings", path),
        f"what was drawn at random has the seed {seed}",
    ]


def heading_of(found: Study) -> str:
    """What a report is called."""
    count = len(found.queries)
    return f"Ground truth of {count} quer{'y' if count == 1 else 'ies'}"


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
    arranged = each.grouped.arranged
    scale = common_scale(each)
    return {
        "id": query,
        "title": melodies[query].title if query in melodies else "",
        "sentence": each.sentence,
        "doubts": each.doubts,
        "left_out": arranged.left_out,
        "rows": [_row(each, k, scale, melodies.get(id), f"{prefix}{k}-") for k, id in enumerate(arranged.documents)],
        "axis": svg(scale_axis(scale), scale.width, 14, ""),
        "details": list(_details(each, ", even uncorrected" if found.method.correction else "")),
    }


def _row(each: QueryStudy, k: int, scale: Scale, melody: Melody | None, prefix: str) -> dict[str, Any]:
    """One candidate; `prefix` must be another for each drawing of a page."""
    arranged = each.grouped.arranged
    sample = arranged.sample(k)
    name = f"{arranged.documents[k]}: median {arranged.medians[k]:g}, mean {arranged.means[k]:.2f}, {len(sample)} ranks"
    line = each.line_at.get(k)
    squares = p_squares(each.grouped.pvalues[:k, k].tolist(), arranged.documents[:k])
    return {
        "begins": k > 0 and k in each.grouped.starts,
        "doubtful": line is not None and line.is_doubtful,
        "confidence": confidence_text(line),
        "few_votes": few_votes_text(each, k),
        "median": arranged.medians[k],
        "notation": "" if melody is None else drawing(melody).in_page(prefix),
        "title": title_of(melody),
        "document": arranged.documents[k],
        "plot": svg(box_plot(sample, scale), scale.width, PLOT_HEIGHT, name),
        "squares": svg(squares, scale.width, bar_height(k), "p-values") if k else "",
    }


def _details(each: QueryStudy, uncorrected: str) -> Iterable[tuple[str, list[str]]]:
    """What spoils the list, and how many more experts would help: a title and lines."""
    listed = each.consistency
    kinds = (
        ("one group, but different", listed.intra),
        ("two groups, but not different", listed.inter),
        ("wrong order", listed.misplaced),
    )
    pairs = [f"{kind}: {' / '.join(pair)}" for kind, found in kinds for pair in found]
    close = [
        f"{pair.first} / {pair.second}: p = {pair.p:.3g}, "
        + (f"about {pair.more} more experts" if pair.more else f"not even with {MOST_EXPERTS} experts like these")
        for pair in each.neighbours
        if pair.more != 0
    ]
    if pairs:
        yield f"{len(pairs)} inconsistent pair{'' if len(pairs) == 1 else 's'}", pairs
    if close:
        yield f"{len(close)} pair{'' if len(close) == 1 else 's'} of neighbours not yet apart{uncorrected}", close


def common_scale(each: QueryStudy, width: float = 380.0) -> Scale:
    """One scale for all plots of a list, from rank 1."""
    arranged = each.grouped.arranged
    return scale_of(map(arranged.sample, range(len(arranged.documents))), least=1, width=width)


def confidence_text(line: Boundary | None) -> str:
    """What stands beside a line; nothing where nothing was shuffled."""
    if line is None:
        return ""
    return f"line: {100 * line.confidence:.0f} %{', may be spurious' if line.is_doubtful else ''}"


def few_votes_text(each: QueryStudy, k: int) -> str:
    """What stands beside a candidate that is high in the list by few votes; nothing for others."""
    arranged = each.grouped.arranged
    if k not in arranged.thin:
        return ""
    return f"few votes: {arranged.votes[k]}, later candidates up to {arranged.votes[k:].max()}"


def title_of(melody: Melody | None) -> str:
    """What a list calls a melody beside its id: composer and title."""
    return "" if melody is None else ": ".join(part for part in (melody.composer, melody.title) if part)
