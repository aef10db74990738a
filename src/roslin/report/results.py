"""The ranked list of a search as one page, with notation that plays."""

from __future__ import annotations

from collections.abc import Sequence

from roslin.melody import Melody
from roslin.report.document import document
from roslin.run import Run
from roslin.run.meaning import CHANCE_LINE, by_chance


def results_page(query: Melody, run: Run, melodies: Sequence[Melody], note: str) -> str:
    """The whole page; `melodies` are those of the run, in its order, and `note` describes how it was made."""
    return document(
        "results.html",
        heading=f"Melodies like {query.title or query.id or 'the query'}",
        query=query,
        run=run,
        results=list(zip(run.hits, melodies, strict=True)),
        by_chance=by_chance,
        chance_line=CHANCE_LINE,
        note=note,
    )
