"""A pool: what several systems rank first, to be judged by people (K. Sparck Jones and C. J. van Rijsbergen, 1975).

For every query it is the union of the first `depth` documents of each run. Its order is that of ids: whoever judges
must not see who found what, or how early.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from roslin.display.table import Table
from roslin.display.text import counted
from roslin.errors import ArgumentError
from roslin.run.run import Run


@dataclass(frozen=True, slots=True)
class RunPool:
    """For every query the documents to judge, each with the number of runs that have it and its best rank."""

    found: dict[str, dict[str, tuple[int, int]]]
    depth: int
    judged: int  # how many documents were left out because they are judged already

    @property
    def ids(self) -> dict[str, tuple[str, ...]]:
        """The documents of each query, in the order of their ids."""
        return {query: tuple(found) for query, found in self.found.items()}

    def to_table(self) -> Table:
        """query, document, the number of runs that have it, its best rank."""
        rows = [
            {"query": query, "document": id, "runs": runs, "best": best}
            for query, found in self.found.items()
            for id, (runs, best) in found.items()
        ]
        documents = counted(len(rows), "document")
        title = f"Pool of depth {self.depth}: {counted(len(self.found), 'query', 'queries')}, {documents} to judge"
        return Table(("query", "document", "runs", "best"), tuple(rows), title, key="pool")


def pool_runs(runs: Sequence[Run], depth: int = 10, judged: Mapping[str, Container[str]] | None = None) -> RunPool:
    """The pool of several runs; what is `judged` already for a query is left out.

    >>> pool_runs([Run({"q": ["a", "b", "c"]}), Run({"q": ["d", "a", "e"]})], depth=2).ids
    {'q': ('a', 'b', 'd')}
    """
    if not runs:
        raise ArgumentError("a pool needs at least one run")
    if depth < 1:
        raise ArgumentError(f"the depth of a pool must be 1 or more; got {depth}")
    known, left_out = judged or {}, 0
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for query in dict.fromkeys(query for run in runs for query in run.queries):
        ranks: dict[str, list[int]] = {}
        for run in runs:
            for rank, id in enumerate(list(dict.fromkeys(run.ranking(query)))[:depth], start=1):
                ranks.setdefault(id, []).append(rank)
        new = [id for id in sorted(ranks) if id not in known.get(query, ())]
        left_out += len(ranks) - len(new)
        found[query] = {id: (len(ranks[id]), min(ranks[id])) for id in new}
    return RunPool(found, depth, left_out)
