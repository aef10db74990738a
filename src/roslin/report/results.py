"""The ranked list of a search as one page, with notation that plays."""

from __future__ import annotations

from collections.abc import Sequence

from roslin.melody import Melody
from roslin.report.document import document
from roslin.run import Run
from roslin.run.meaning import by_chance

__all__ = ["results_page"]


def results_page(query: Melody, run: Run, shown: Run, melodies: Sequence[Melody], note: str) -> str:
    """The whole page: `shown` is the part of the run that it lists, as `melodies`; `note` says how it was made."""
    return document(
        "results.html",
        heading=f"Melodies like {query.title or query.id or 'the query'}",
        query=query,
        run=run,
        results=list(zip(shown.hits, melodies, strict=True)),
        by_chance=by_chance,
        note=note,
    )
