"""What is odd about a run that was read: counted, with an example, and said to whoever reads it.

Nothing of this is an error: lists with copies, infinite scores or useless ranks can be judged. But each of them is a
sign that a file is not what its reader thinks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from roslin.display.text import counted
from roslin.errors import shortened

if TYPE_CHECKING:
    from roslin.run.run import Run

_TAGS_NAMED = 3


def oddities(run: Run) -> Iterator[str]:
    """Copies, infinite values and empty lists of a run, a sentence for each kind.

    >>> from roslin.run import Run
    >>> list(oddities(Run({"q": ["a", "b", "a"]}, name="mine")))
    ['mine: 1 document comes again in a list (a in that of q): a wasted rank, only the first counts']
    """
    copies = infinite = 0
    first_copy = first_infinite = ""
    empty = [query for query, ranking in run.rankings.items() if not ranking.ids and not ranking.refusal]
    for query, ranking in run.rankings.items():
        again = len(ranking.ids) - len(set(ranking.ids))
        if again:
            first_copy = first_copy or f"{_first_copy(ranking.ids)} in that of {shortened(query)}"
            copies += again
        values = ranking.values
        if values and (math.isinf(values[0]) or math.isinf(values[-1])):  # they are in order
            first_infinite = first_infinite or shortened(query)
            infinite += sum(map(math.isinf, values))
    if copies:
        what = "1 document comes" if copies == 1 else f"{copies:,} documents come"
        yield f"{run.name}: {what} again in a list ({first_copy}): a wasted rank, only the first counts"
    if infinite:
        what = counted(infinite, f"{run.kind} is", f"{run.kind}s are")
        yield f"{run.name}: {what} infinite (first for {first_infinite})"
    if empty:
        what = counted(len(empty), "query has", "queries have")
        yield f"{run.name}: {what} an empty list (first {shortened(empty[0])})"


def _first_copy(ids: Iterable[str]) -> str:
    seen: set[str] = set()
    for id in ids:
        if id in seen:
            break
        seen.add(id)
    return shortened(id)


def contradiction(
    rows: Iterable[tuple[str, str, float, float]], name: str, queries: int, *, rising: bool = False
) -> Iterator[str]:
    """Whether ranks contradict scores: a document with a better score stands below one with a worse.

    Rows are (query, document, score, rank) in the order of their ranks, of those of the `queries` whose order changes
    when they are sorted by score; `rising` where the smallest is the best.
    """
    sign = -1.0 if rising else 1.0
    # For each query: the rank before, the worst score at that rank, and the worst above it.
    state: dict[str, list[float]] = {}
    wrong: dict[str, int] = {}
    first = ""
    for query, document, score, rank in rows:
        value = sign * score
        at = state.get(query)
        if at is None:
            state[query] = [rank, value, math.inf]
            continue
        if rank > at[0]:
            at[0], at[2], at[1] = rank, min(at[1], at[2]), value
        elif value < at[1]:
            at[1] = value
        if value > at[2]:
            wrong[query] = wrong.get(query, 0) + 1
            first = first or f"{shortened(document)} for {shortened(query)}"
    if wrong:
        lines = counted(sum(wrong.values()), "rank contradicts its", "ranks contradict their")
        kind = "distance" if rising else "score"
        where = f"in {len(wrong):,} of {counted(queries, 'query', 'queries')} (first {first})"
        hint = "" if rising or len(wrong) < queries else "; are they distances? Then name the column distance, in CSV"
        yield f"{name}: {lines} {kind} {where}: the {kind}s decide{hint}"


def several_tags(tags: Iterable[str], name: str) -> Iterator[str]:
    """Whether the lines of a TREC file name several systems; each tag is given once."""
    found = list(tags)
    if len(found) > 1:
        named = ", ".join(map(shortened, found[:_TAGS_NAMED])) + (" ..." if len(found) > _TAGS_NAMED else "")
        yield f"{name}: its lines have {len(found)} tags ({named}): taken as one run"
