"""The finished pieces of a long comparison, in a folder: a comparison that is stopped at any moment can be resumed.

    about.json         what is compared: the work of any other comparison is refused
    pairs-000012.bin   the result of one piece of work, complete or absent

Pieces do not depend on each other, so any order and any number of interruptions give the same result. Only the process
that asked for the work writes; threads and other processes that do the pieces read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from roslin.collection.arrays import ArrayFile, Arrays
from roslin.collection.files import write_text
from roslin.deadline import Work
from roslin.errors import ArgumentError


class Stage(NamedTuple):
    """A part of the work: the arrays of its results, what it does, and the share of all work done before and after."""

    name: str
    arrays: Mapping[str, npt.DTypeLike]
    what: str = ""
    begin: float = 0.0
    end: float = 1.0


class Journal:
    """The folder of one comparison. `about` describes the comparison, with the version of its files."""

    def __init__(self, folder: str | Path, about: Mapping[str, Any]):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        path, wanted = self.folder / "about.json", json.loads(json.dumps(dict(about)))
        if not path.exists():
            write_text(path, json.dumps(wanted, indent=1, sort_keys=True))
            return
        try:
            known = json.loads(path.read_text("utf-8"))
        except ValueError:
            known = None
        if known == wanted:
            return
        if isinstance(known, dict) and known | {"version": wanted["version"]} == wanted:
            raise ArgumentError(
                f"{self.folder}: another version of Roslin began this comparison, and this one cannot resume it; "
                "delete the folder to begin again"
            )
        raise ArgumentError(
            f"{self.folder} contains the work of another comparison (see its about.json); "
            "name another folder, or delete this one"
        )

    def do(self, work: Work, stage: Stage, task: Callable[[int], Arrays], count: int) -> None:
        unfinished = self.unfinished(stage, count)
        done = count - len(unfinished)
        for number, result in zip(unfinished, work.map(task, unfinished), strict=True):
            self._file(stage, number).write(result)
            done += 1
            work.report(stage.begin + (stage.end - stage.begin) * done / count, stage.what)

    def unfinished(self, stage: Stage, count: int) -> list[int]:
        """The pieces that are still to be done. A damaged result counts as none."""
        return [number for number in range(count) if self._file(stage, number).read() is None]

    def results(self, stage: Stage, count: int) -> Iterator[Arrays]:
        for number in range(count):
            result = self._file(stage, number).read()
            if result is None:
                path = self._file(stage, number).path
                raise ArgumentError(f"{path} is missing; run the same command again to make it")
            yield result

    def columns(self, stage: Stage, count: int) -> Arrays:
        results = list(self.results(stage, count))
        return {
            name: np.concatenate([np.empty(0, dtype), *(each[name] for each in results)])
            for name, dtype in stage.arrays.items()
        }

    def forget(self, stage: Stage, count: int) -> None:
        for number in range(count):
            self._file(stage, number).path.unlink(missing_ok=True)

    def _file(self, stage: Stage, number: int) -> ArrayFile:
        return ArrayFile(self.folder / f"{stage.name}-{number:06}.bin", f"{stage.name} of a piece", stage.arrays)
