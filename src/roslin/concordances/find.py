"""Find the concordances of a collection, or go on finding them, and keep them in a folder."""

from __future__ import annotations

import shutil
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt

from roslin.collection.store import Store
from roslin.concordances.certainty import Certainty
from roslin.concordances.concordance import Concordances, kept_state
from roslin.concordances.copies import digests_of
from roslin.concordances.earlier import EarlierPairs
from roslin.concordances.pairs import find_pairs
from roslin.concordances.radius import digests_of_notes, find_within
from roslin.errors import ArgumentError
from roslin.matchers.roslin.scores import fitted, tables
from roslin.search.roslin_table import open_table
from roslin.search.work import Work

__all__ = ["concordances_folder", "find_concordances", "kept_concordances"]

_WORK = "work"


def concordances_folder(collection: str | Path) -> Path:
    """Where the concordances of a collection are kept: beside it, so that a new build leaves them alone."""
    path = Path(collection)
    return path.with_name(f"{path.name.removesuffix('.roslin')}.concordances")


def find_concordances(
    store: Store,
    wanted: Certainty,
    work: Work,
    folder: str | Path,
    *,
    exact: bool = True,
    new: npt.NDArray[np.int64] | None = None,
    earlier: EarlierPairs | None = None,
) -> Concordances:
    """The concordances at a level, by their probability or by a radius.

    What is finished lies in the folder, so a comparison that was stopped goes on. `new`: only pairs with one of these
    melodies. `earlier`: only what is new since is compared with all.
    """
    if earlier is not None:
        if new is not None:
            raise ArgumentError("pairs of some melodies are not the beginning of all: give either --only or --since")
        earlier.check(wanted)
    unfinished = Path(folder) / _WORK
    if wanted.matcher:
        if not exact:
            raise ArgumentError("by a radius every two are compared: --fast goes with --level only")
        pairs = find_within(store, wanted.matcher, wanted.level, work, folder=unfinished, new=new, earlier=earlier)
        digests = digests_of_notes(store.packed())
    else:
        pairs = find_pairs(store, wanted.level, work, folder=unfinished, new=new, exact=exact, earlier=earlier)
        digests = digests_of(open_table(store, tables(fitted("both"), 1)))
    found = Concordances(store, pairs)
    found.write(folder, digests)
    shutil.rmtree(unfinished, ignore_errors=True)
    return found


def kept_concordances(store: Store, wanted: Certainty, folder: str | Path, *, exact: bool) -> Concordances | None:
    """What is asked for, if the folder has it: found in this state of the collection, by this version of Roslin."""
    about = kept_state(folder)
    asked = {
        "roslin": version("roslin"),
        "token": store.about["token"],
        "level": wanted.level,
        "matcher": wanted.matcher,
        "exact": exact,
        "all": True,
    }
    is_same = about is not None and asked.items() <= about.items()
    return Concordances.read(folder, store) if is_same else None
