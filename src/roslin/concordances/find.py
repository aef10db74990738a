"""Find the concordances of a collection, or go on finding them, and keep them in a folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import numpy.typing as npt

from roslin.collection.store import Store
from roslin.concordances.concordance import Concordances
from roslin.concordances.pairs import find_pairs
from roslin.errors import ArgumentError
from roslin.run.meaning import MEANINGS
from roslin.search.work import Work

__all__ = ["LEVELS", "concordances_folder", "find_concordances", "level_of"]

_WORK = "work"
# The words beside hits, without spaces: the most chance matches that each allows.
LEVELS = {word.partition(" ")[0]: most for most, word in MEANINGS}


def level_of(text: str) -> float:
    """A level of certainty: a word, or a number of chance matches.

    >>> level_of("same"), level_of("0.05")
    (0.001, 0.05)
    """
    if text in LEVELS:
        return LEVELS[text]
    try:
        level = float(text)
    except ValueError:
        level = 0.0
    if not 0 < level < float("inf"):
        words = ", ".join(LEVELS)
        raise ArgumentError(f"the level must be one of {words}, or a number of chance matches above 0; got {text!r}")
    return level


def concordances_folder(collection: str | Path) -> Path:
    """Where the concordances of a collection are kept: beside it, so that a new build leaves them alone."""
    path = Path(collection)
    return path.with_name(f"{path.name.removesuffix('.roslin')}.concordances")


def find_concordances(
    store: Store,
    level: float,
    work: Work,
    folder: str | Path,
    *,
    exact: bool = True,
    new: npt.NDArray[np.int64] | None = None,
) -> Concordances:
    """The concordances at a level. What is finished lies in the folder, so a comparison that was stopped goes on."""
    unfinished = Path(folder) / _WORK
    found = Concordances(store, find_pairs(store, level, work, folder=unfinished, new=new, exact=exact))
    found.write(folder)
    shutil.rmtree(unfinished)
    return found
