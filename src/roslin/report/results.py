"""The ranked list of a search as one page, with notation that plays."""

from __future__ import annotations

from collections.abc import Sequence

from roslin.melody import Melody
from roslin.report.document import document
from roslin.run import Run
from roslin.run.meaning import expected_words

__all__ = ["by_chance", "results_page"]


def by_chance(expected: float) -> str:
    """What a number of chance matches says, in plain words.

    >>> by_chance(0.003), by_chance(1e-9)
    ('0.003 such matches expected by chance', 'fewer than 0.0001 such matches expected by chance')
    """
    number = expected_words(expected).replace("<", "fewer than")
    return f"{number} such matches expected by chance"


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
