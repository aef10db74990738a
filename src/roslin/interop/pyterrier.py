"""Matchers as transformers of PyTerrier, and the starter collection as one of its data sets.

    import pyterrier as pt
    from roslin.interop.pyterrier import MatcherTransformer

    starter = pt.get_dataset("roslin:starter")
    systems = [MatcherTransformer(collection, name) for name in ("dp", "emd")]
    pt.Experiment(systems, starter.get_topics(), starter.get_qrels(), ["map", "ndcg"])

A query is notation as text. Given queries, a transformer retrieves; given queries with documents (a column `docno`), it
puts these in order. Scores are distances below 0, so that the nearest has the largest; ranks count from 0, as there.
Nothing of this starts Java.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from roslin.api import Collection
from roslin.errors import ArgumentError, MissingExtraError
from roslin.matchers import DEFAULT_MATCHER, Matcher
from roslin.matchers import matcher as matcher_of
from roslin.melody import Melody
from roslin.notation.query import read_query

try:
    import pandas as pd
    import pyterrier as pt
except ImportError as error:
    raise MissingExtraError("the transformer", str(error.name), "pyterrier") from None

if TYPE_CHECKING:
    from roslin.run import Run

_FOUND = ("docno", "score", "rank")


class MatcherTransformer(pt.Transformer):  # type: ignore[misc]  # their classes have no types
    """A matcher over a collection. A query that is itself a melody of the collection (id and notes) is not found."""

    def __init__(self, collection: Collection, matcher: str | Matcher = DEFAULT_MATCHER, k: int = 1000):
        super().__init__()
        if k < 1:
            raise ArgumentError(f"k must be 1 or more; got {k}")
        self.collection, self.matcher, self.k = collection, matcher_of(matcher), k

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """The documents found for each query, with its other columns."""
        for column in ("qid", "query"):
            if column not in inp.columns:
                raise ArgumentError(f"the frame must have the columns qid and query; got {', '.join(inp.columns)}")
        kept = [name for name in inp.columns if name not in _FOUND]
        rows = []
        for qid, asked in inp.groupby("qid", sort=False):
            first = asked.iloc[0]
            given = [str(id) for id in asked["docno"]] if "docno" in asked.columns else None
            about = [first[name] for name in kept]
            found = self._search(str(qid), str(first["query"]), given)
            rows += [[*about, hit.id, 0.0 - hit.distance, hit.rank - 1] for hit in found]
        return pd.DataFrame(rows, columns=[*kept, *_FOUND])

    def _search(self, qid: str, notation: str, given: list[str] | None) -> Run:
        query = read_query(notation).with_metadata(id=qid)
        within = None if given is None else np.unique(self.collection.numbers(given))
        exclude = (qid,) if qid in self.collection and _is_same(self.collection[qid], query) else ()
        return self.collection.search(query, self.matcher, self.k, within=within, exclude=exclude)

    def __repr__(self) -> str:
        return f"MatcherTransformer({self.collection.path.name}, {self.matcher!r})"


def _is_same(document: Melody, query: Melody) -> bool:
    """Whether two melodies have the same notes, at any place in their source."""
    names = [name for name in document.notes.dtype.names or () if name != "source_column"]
    return all(np.array_equal(document.notes[name], query.notes[name]) for name in names)


class StarterProvider(pt.datasets.DatasetProvider):  # type: ignore[misc]  # their classes have no types
    """What `pt.get_dataset("roslin:starter")` asks; the entry point `pyterrier.dataset_provider` names it."""

    def get_dataset(self, name: str) -> Any:
        from roslin.interop.datasets import STARTER

        if name not in self.list_dataset_names():
            raise KeyError(f"{name!r} is not a data set of Roslin; available: {', '.join(self.list_dataset_names())}")
        return pt.get_dataset(f"irds:{STARTER}")

    def list_dataset_names(self) -> Iterable[str]:
        return ["starter"]
