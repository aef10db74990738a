"""The account of a distance (`roslin.matchers.account`) as rows of a table, and as a page with both melodies."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from roslin.matchers import Matcher
from roslin.matchers.account import Account
from roslin.melody import Melody
from roslin.report.document import page
from roslin.report.flow import PAGE_STYLE, name_of
from roslin.report.player import melody_figure
from roslin.search.words import note_name

__all__ = ["COLUMNS", "account_page", "account_rows", "named_places"]

COLUMNS = ("deed", "query", "candidate", "words", "cost")


def named_places(melody: Melody, places: Sequence[Sequence[int]]) -> str:
    """The notes of each place by name.

    >>> named_places(Melody.from_notes([0, 1, 2], [1] * 3, [60, 62, 64]), [(0,), (2,)])
    'C4; E4'
    """
    spelling = melody.notes["pitch_base40"]
    return "; ".join("–".join(note_name(int(spelling[row])) for row in rows) for rows in places)


def account_rows(query: Melody, candidate: Melody, account: Account) -> list[dict[str, Any]]:
    """A row for what the distance starts from, if that is not 0, and one for each step."""
    start = {"deed": "start", "query": "", "candidate": "", "words": "", "cost": account.start}
    steps = [
        {
            "deed": step.deed,
            "query": named_places(query, step.query_places),
            "candidate": named_places(candidate, step.candidate_places),
            "words": step.words,
            "cost": step.cost,
        }
        for step in account.steps
    ]
    return [start, *steps] if account.start else steps


def account_page(query: Melody, candidate: Melody, matcher: Matcher, account: Account, note: str) -> str:
    """Both melodies, to be seen and heard, and the table; of a sum, that of what weighs most in it too."""
    asked, stored = name_of(query, "the query"), name_of(candidate, "the candidate")
    tables = [_table(query, candidate, matcher, account)]
    if account.within is not None:
        tables.append(_table(query, candidate, matcher.leading, account.within))
    body = f"""<style>{PAGE_STYLE}</style>
<section class="query" aria-label="Query"><h2>{escape(asked)}</h2>
{melody_figure(query, "the query", "query-")}</section>
<section class="query" aria-label="Candidate"><h2>{escape(stored)}</h2>
{melody_figure(candidate, "the candidate", "candidate-")}</section>
{"".join(tables)}
<footer><p>{escape(note)}</p></footer>"""
    return page(f"From {asked} to {stored}", body)


def _table(query: Melody, candidate: Melody, matcher: Matcher, account: Account) -> str:
    rows = [
        "<tr>"
        + "".join(f"<td>{escape(str(row[column]))}</td>" for column in COLUMNS[:-1])
        + f'<td class="number">{row["cost"]:.4f}</td></tr>'
        for row in account_rows(query, candidate, account)
    ]
    heads = "".join(f"<th>{column}</th>" for column in COLUMNS)
    return f"""<h2>{escape(repr(matcher))}</h2><p>{escape(matcher.summary)} Distance {account.distance:z.4f}.</p>
<div class="scroll"><table><thead><tr>{heads}</tr></thead>
<tbody>{"".join(rows)}</tbody></table></div>
"""
