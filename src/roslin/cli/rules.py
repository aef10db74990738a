"""Options about what the papers leave open: tied scores, and documents with the id of their query."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class TieRule(StrEnum):
    """What tied scores are worth: `roslin.evaluate.rankings.TIES`."""

    expected = "expected"
    given = "given"
    trec = "trec"


class SameId(StrEnum):
    """What becomes of a document with the id of its query: `roslin.evaluate.rankings.SAME_ID`."""

    keep = "keep"
    drop = "drop"


TiesOption = Annotated[
    TieRule,
    typer.Option(
        "--ties", help="Tied scores: the mean over all orders (expected), the order of the run, or that of trec_eval."
    ),
]
