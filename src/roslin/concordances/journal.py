"""What a long comparison has finished, in a folder: killed at any moment, it goes on from there.

    about.json       what is compared: a journal of anything else is refused
    part-00012.npz   the result of one piece of work, there whole or not at all

Pieces do not depend on each other, so any order and any number of interruptions give the same result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from roslin.collection.files import scratch_path, sync, write_text
from roslin.errors import ArgumentError

__all__ = ["Arrays", "Journal"]

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

    def result(self, kind: str, number: int, make: Callable[[], Arrays]) -> Arrays:
        """The result of a piece of work: read if it is there, otherwise made and kept."""
        path = self.folder / f"{kind}-{number:06}.npz"
        found = self._read(path)
        if found is None:
            found = make()
            prepared = scratch_path(self.folder)
            try:
                with prepared.open("wb") as file:
                    np.savez(file, allow_pickle=False, **found)
                sync(prepared)
                prepared.replace(path)
            finally:
                prepared.unlink(missing_ok=True)
        return found

    def finished(self, kind: str) -> Iterator[int]:
        """The numbers of the pieces that are there."""
        for path in sorted(self.folder.glob(f"{kind}-*.npz")):
            yield int(path.stem.rpartition("-")[2])

    def _read(self, path: Path) -> Arrays | None:
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
                return {name: kept[name] for name in kept.files}
        except (OSError, ValueError, EOFError, BadZipFile):  # none, or a disk has changed it: then it is made again
            return None
