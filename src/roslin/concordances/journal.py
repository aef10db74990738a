"""What a long comparison has finished, in a folder: killed at any moment, it goes on from there.

    about.json         what is compared: a journal of anything else is refused
    pairs-000012.npz   the result of one piece of work, there whole or not at all

Pieces do not depend on each other, so any order and any number of interruptions give the same result. Whoever asked for
the work writes all of it; those who do the pieces only read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from roslin.collection.files import whole_file, write_text
from roslin.errors import ArgumentError
from roslin.search.work import Work

Arrays = dict[str, npt.NDArray[Any]]
_ABOUT = "about.json"


class Journal:
    """The folder of one comparison."""

    def __init__(self, folder: str | Path, about: Mapping[str, Any]):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        written = self.folder / _ABOUT
        if not written.exists():
            write_text(written, json.dumps(dict(about), indent=1, sort_keys=True))
            return
        try:
            known = json.loads(written.read_text("utf-8"))
        except ValueError:
            known = None
        if known != json.loads(json.dumps(dict(about))):
            raise ArgumentError(
                f"{self.folder} holds the work of another comparison (about.json says of which); "
                "name another folder, or delete this one"
            )

    def keep(self, kind: str, number: int, result: Arrays) -> None:
        """Keep the result of a piece of work."""
        with whole_file(self._path(kind, number)) as scratch, scratch.open("wb") as file:
            np.savez(file, allow_pickle=False, **result)

    def result(self, kind: str, number: int) -> Arrays | None:
        """The result of a piece of work; None where it is not finished, or a disk has changed it."""
        try:
            with self._path(kind, number).open("rb") as file, np.load(file, allow_pickle=False) as kept:
                return {name: kept[name] for name in kept.files}
        except (OSError, ValueError, EOFError, BadZipFile):
            return None

    def unfinished(self, kind: str, count: int) -> list[int]:
        """Which of so many pieces are still to be done."""
        return [number for number in range(count) if self.result(kind, number) is None]

    def columns(self, kind: str, count: int, names: Sequence[str]) -> Arrays:
        """The results of all pieces end to end, in their order. All must be finished."""
        sizes = [{name: len(part) for name, part in each.items()} for each in self.results(kind, count)]
        ends = {name: np.cumsum([0, *(each[name] for each in sizes)]) for name in names}
        found: Arrays = {}
        for number, each in enumerate(self.results(kind, count)):
            for name in names:
                whole = found.setdefault(name, np.empty(ends[name][-1], each[name].dtype))
                whole[ends[name][number] : ends[name][number + 1]] = each[name]
        return found

    def results(self, kind: str, count: int) -> Iterator[Arrays]:
        """The results of so many pieces, one after the other. All must be finished."""
        for number in range(count):
            result = self.result(kind, number)
            if result is None:
                raise ArgumentError(f"{self._path(kind, number)} must be there; the same command makes it again")
            yield result

    def forget(self, kind: str, count: int) -> None:
        """Remove the results of pieces that nobody needs any more."""
        for number in range(count):
            self._path(kind, number).unlink(missing_ok=True)

    def _path(self, kind: str, number: int) -> Path:
        return self.folder / f"{kind}-{number:06}.npz"


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the work: what it does, and the share of all work that is done before and after it."""

    what: str
    begin: float
    end: float


def do_pieces(work: Work, journal: Journal, kind: str, task: Callable[[int], Arrays], count: int, stage: Stage) -> None:
    """Do those of so many pieces that are not finished, and keep their results."""
    unfinished = journal.unfinished(kind, count)
    done = count - len(unfinished)
    for number, result in zip(unfinished, work.map(task, unfinished), strict=True):
        journal.keep(kind, number, result)
        done += 1
        work.report(stage.begin + (stage.end - stage.begin) * done / count, stage.what)
