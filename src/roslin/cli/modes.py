"""The options that say what is compared, where and in which key; `roslin.matchers.modes` says what they mean."""

from __future__ import annotations

from typing import Annotated

import typer

CompareOption = Annotated[
    str | None,
    typer.Option("--compare", metavar="both|melody|rhythm|contour", help="Melody and rhythm, or only one of them."),
]
PlaceOption = Annotated[
    str | None,
    typer.Option("--place", metavar="anywhere|start|end|whole", help="Where in a melody the query may be."),
]
KeyOption = Annotated[
    str | None, typer.Option("--key", metavar="any|written", help="In any key, or only in that of the query.")
]
