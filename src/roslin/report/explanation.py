"""An explanation as one page: both melodies to be seen and heard, the picture, and a table that adds up."""

from __future__ import annotations

from roslin.matchers import Explanation
from roslin.report.document import document
from roslin.report.flow import flow_svg, name_of


def explanation_page(explanation: Explanation, note: str) -> str:
    """The whole page; `note` says how it was made."""
    query, candidate = name_of(explanation.query, "the query"), name_of(explanation.candidate, "the candidate")
    return document(
        "explanation.html",
        heading=f"From {query} to {candidate}",
        explanation=explanation,
        names={"Query": name_of(explanation.query, ""), "Candidate": name_of(explanation.candidate, "")},
        drawing=flow_svg(explanation),
        note=note,
    )
