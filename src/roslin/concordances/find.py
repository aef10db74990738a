"""Find the concordances of a collection, or go on finding them, and keep them in a folder."""

from __future__ import annotations

import shutil
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt

from roslin.collection.store import Store
from roslin.concordances.certainty import Certainty
from roslin.concordances.concordance import Concordances, choose_level, kept_state
from roslin.concordances.copies import digests_of
from roslin.concordances.earlier import EarlierPairs
from roslin.concordances.pairs import find_pairs
from roslin.concordances.radius import digests_of_notes, find_within
from roslin.errors import ArgumentError
from roslin.search.engines.roslin import open_table
from roslin.search.work import Work

_WORK = ("work", "work-only", "work-since")  # whoever stops the one may go on with another
# Pairs are kept up to this doubt: another level, and what is new later, need no comparison of the rest.
REACH = 0.9


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
    unfinished = Path(folder) / _WORK[1 if new is not None else 2 if earlier is not None else 0]
    if wanted.matcher:
        if not exact:
            raise ArgumentError("by a radius every two are compared: --fast goes with --level only")
        pairs = find_within(store, wanted.matcher, wanted.level, work, folder=unfinished, new=new, earlier=earlier)
        digests = digests_of_notes(store.packed())
    else:
        reach = max(wanted.level, REACH)
        pairs = find_pairs(store, reach, work, folder=unfinished, new=new, exact=exact, earlier=earlier)
        digests = digests_of(open_table(store))
    found = Concordances(store, pairs.narrowed(wanted.level))
    found.write(folder, digests, pairs)
    for name in _WORK:
        shutil.rmtree(Path(folder) / name, ignore_errors=True)
    return found


def kept_concordances(store: Store, wanted: Certainty, folder: str | Path, *, exact: bool) -> Concordances | None:
    """What is asked for, if the folder has it: found in this state of the collection, by this version of Roslin.

    From now on the folder is at this level.
    """
    about = kept_state(folder) or {}
    asked = {"roslin": version("roslin"), "token": store.about["token"], "matcher": wanted.matcher, "all": True}
    reaches = about.get("reach", -1.0) >= wanted.level
    if not (asked.items() <= about.items() and reaches and (about.get("exact") or not exact)):
        return None
    choose_level(folder, wanted.level)
    return Concordances.read(folder, store)
