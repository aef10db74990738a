"""The public face: a collection that can be filtered and searched, in one object.

The rooms behind it do not know each other's doors; this is where they meet.
"""

from __future__ import annotations

from collections.abc import Collection as Container
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from roslin.collection import write
from roslin.collection.filters import Filter, FilterReport, NearDuplicate, apply_filters, remove_near_duplicates
from roslin.collection.store import Store
from roslin.matchers import Matcher
from roslin.melody import Melody
from roslin.run import Run
from roslin.search import search
from roslin.search.engine import DEFAULT_MATCHER
from roslin.search.work import Progress

__all__ = ["Collection", "Selection"]


class Collection(Store):
    """Many melodies on disk.

    Collection.build(["incipits.jsonl.gz"], "incipits.roslin")
    with Collection("incipits.roslin") as collection:
        run = collection.search(roslin.load("'4CDEC")[0], k=5)
    """

    @classmethod
    def build(
        cls,
        sources: write.Sources,
        path: str | Path,
        *,
        strict: bool = False,
        progress: write.Progress | None = None,
    ) -> Collection:
        """Make a collection from files, folders and melodies, and open it."""
        write.build(sources, path, strict=strict, progress=progress)
        return cls(path)

    def filter(self, *filters: Filter) -> Selection:
        """What passes all filters, one after the other (roslin.collection.filters has them)."""
        return Selection(self, apply_filters(self.connection, filters, len(self)))

    def search(
        self,
        query: Melody,
        matcher: str | Matcher = DEFAULT_MATCHER,
        k: int = 10,
        *,
        within: Selection | npt.NDArray[np.int64] | None = None,
        exclude: Container[str] = (),
        radius: float | None = None,
        threads: int = 1,
        seconds: float | None = None,
        progress: Progress | None = None,
    ) -> Run:
        """The k melodies most similar to the query, none beyond the radius; `roslin.search` says the rest."""
        numbers = within.numbers if isinstance(within, Selection) else within
        return search(
            query, self, matcher, k, within=numbers, exclude=exclude, radius=radius, threads=threads, seconds=seconds,
            progress=progress,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Selection:
    """The melodies that passed a chain of filters, and what each step did."""

    collection: Collection
    report: FilterReport
    near_duplicates: tuple[NearDuplicate, ...] = ()

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """Their numbers in the collection, ascending."""
        left_out = [duplicate.number for duplicate in self.near_duplicates]
        return np.setdiff1d(self.report.numbers, left_out, assume_unique=True).astype(np.int64)

    @property
    def ids(self) -> list[str]:
        """Their ids, in the order of the collection."""
        return self.collection.ids(self.numbers)

    def without_near_duplicates(self) -> Selection:
        """Without melodies that are identical with another of the selection, or part of it (paper 002, section 3.1)."""
        _, removed = remove_near_duplicates(self.collection.connection, self.report.numbers)
        return replace(self, near_duplicates=tuple(removed))

    def __len__(self) -> int:
        return len(self.report.numbers) - len(self.near_duplicates)
