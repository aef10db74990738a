"""A truth in another form of file, and what that form cannot hold, found by reading back what was written.

Groups and their order are in every form. A grouped qrel and CSV have no gains, TREC qrels and CSV no name for the list,
and none of these a query without any judgement, or the statement that nothing was judged not relevant. JSON has all.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from roslin.display.text import counted
from roslin.truth.model import Truth
from roslin.truth.qrel import read_truth, write_truth

__all__ = ["convert_truth", "losses"]


def convert_truth(truth: Truth, output: str | Path, format: str | None = None) -> list[str]:
    """Write a truth in the form that the name of the file says, or in a `format` of `WRITERS`; says what is lost."""
    write_truth(truth, output, format)
    if not any(True for _ in truth.judgements()) and Path(output).suffix.lower() != ".json":
        return [f"no query has a judgement: {Path(output).name} is empty"]
    return losses(truth, read_truth(output))


def losses(truth: Truth, written: Truth) -> list[str]:
    """What the second truth, read from a file that the first was written to, does not have or has otherwise.

    >>> losses(Truth({"q": [["a"]], "r": []}, name="mine"), Truth({"q": [["a"]]}, name="mine"))
    ['query r is lost: it has no judgement']
    """
    kept = [query for query in truth if query in written]
    lost = [query for query in truth if query not in written]
    said = []
    if lost:
        said.append(f"{_queries(lost)} {'is' if len(lost) == 1 else 'are'} lost: {_it(lost)} no judgement")
    gains = [query for query in kept if truth.gains(query) != written.gains(query)]
    if gains:
        said.append(f"gains are lost for {_queries(gains)}: only the order of the groups is kept")
    judged = [query for query in kept if truth.nonrelevant(query) is not None and written.nonrelevant(query) is None]
    if judged:
        said.append(f"that nothing was judged not relevant is lost for {_queries(judged)}")
    unjudged = [query for query in kept if truth.nonrelevant(query) is None and written.nonrelevant(query) is not None]
    if unjudged:
        said.append(f"{_queries(unjudged)} will be read as if all judged documents were known: bpref counts only these")
    if truth.name and truth.name != written.name:
        said.append(f"the name {truth.name!r} is lost: it will be read as {written.name!r}")
    return said


def _it(queries: Sequence[str]) -> str:
    return "it has" if len(queries) == 1 else "they have"


def _queries(queries: Sequence[str], most: int = 5) -> str:
    if len(queries) == 1:
        return f"query {queries[0]}"
    more = f" and {len(queries) - most} more" if len(queries) > most else ""
    return f"{counted(len(queries), 'query', 'queries')} ({', '.join(queries[:most])}{more})"
