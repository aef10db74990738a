"""The starter collection: public-domain tunes that Roslin's authors set down, many in several variants.

`tunes.jsonl` holds the tunes (`family` and `variant` show which belong together), `truth.qrel` has for each family the
variants that are most like its base tune: the data of the demo and the tutorial. The tunes are versions from memory,
made for trying Roslin out. They are not editions.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from roslin.melody import Melody
from roslin.notation import pae

__all__ = ["demo_query", "truth_path", "tunes_path"]

_FOLDER = Path(str(files("roslin.starter")))


def tunes_path() -> Path:
    """The tunes, a file for `Collection.build`."""
    return _FOLDER / "tunes.jsonl"


def truth_path() -> Path:
    """A line `list query document group`, with group 1 the most similar."""
    return _FOLDER / "truth.qrel"


def demo_query() -> Melody:
    """ "Roslin Castle" in another key, in notes twice as long, ornamented."""
    query = pae.read("%G-2@4/2$bBEA '2G/''2.C4D2E4DC/2G8{GAGxF}2G4nFE/2.D4E2Ft4ED/'1nB2G//")
    return query.with_metadata(id="demo-query", title="Roslin Castle, disguised")
