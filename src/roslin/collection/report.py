"""The report of a build or an add: melodies taken from each file, refusals, and their reasons.

The report is kept in the collection, as JSON in its database, so that it belongs to the same state: it is there when
the collection is opened again, and a writer that is killed leaves the old report with the old melodies. Removing
melodies leaves it as it is. `rejects.tsv` lists every refusal with its place, `warnings.tsv` every remark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from roslin.collection.files import REJECTS, WARNINGS
from roslin.display.table import Table
from roslin.errors import DamagedError

_FILES_SHOWN = 20
_LATER = ("skipped", "replaced", "unchanged")  # only where there are any: an older Roslin does not know them
COUNTS = ("taken", "with_warnings", "refused", *_LATER)


@dataclass(slots=True)
class FileCount:
    """The outcome of one file."""

    taken: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class BuildReport:
    """The outcome of a build or an addition. `refusals` and `warnings` count the melodies for each reason.

    `skipped` counts entries without music. When corrected melodies are added, `replaced` counts replaced melodies, and
    `unchanged` those that the collection had already.

    >>> print(BuildReport(Path("x.roslin"), 3, 1, 0, 3, {}, {"no clef": 1}, {"tunes.abc": FileCount(3, 0)}))
    3 melodies taken, 1 of them with warnings; 0 refused; see x.roslin/warnings.tsv
    """

    path: Path
    taken: int
    with_warnings: int
    refused: int
    total: int
    refusals: Mapping[str, int]
    warnings: Mapping[str, int]
    by_file: Mapping[str, FileCount]
    skipped: int = 0
    replaced: int = 0
    unchanged: int = 0

    @property
    def remarks(self) -> Path:
        """The file that lists every warning and every skipped entry with its place."""
        return self.path / WARNINGS

    @property
    def rejects(self) -> Path:
        """The file that lists every refusal with its place."""
        return self.path / REJECTS

    def to_table(self) -> Table:
        rows = [(file, count.taken, count.refused) for file, count in self.by_file.items()]
        return Table.of(("file", "taken", "refused"), rows, str(self))

    def reasons(self) -> Table:
        rows = [
            (count, outcome, reason)
            for outcome, reasons in (("refused", self.refusals), ("taken with a warning", self.warnings))
            for reason, count in reasons.items()
        ]
        return Table.of(("melodies", "outcome", "reason"), rows)

    def to_json(self) -> str:
        """All data except the path of the collection, which can move."""
        value: dict[str, Any] = {name: getattr(self, name) for name in ("taken", "with_warnings", "refused", "total")}
        value |= {"refusals": dict(self.refusals), "warnings": dict(self.warnings)}
        value["by_file"] = {file: [count.taken, count.refused] for file, count in self.by_file.items()}
        value |= {name: count for name in _LATER if (count := getattr(self, name))}
        return json.dumps(value)  # ASCII: names of files need not be proper text

    @classmethod
    def from_json(cls, path: Path, text: str) -> BuildReport:
        try:
            value: dict[str, Any] = json.loads(text)
            by_file = {file: FileCount(*counts) for file, counts in value.pop("by_file").items()}
            return cls(path, by_file=by_file, **value)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DamagedError(f"{path}: damaged: the report of its making cannot be read ({error})") from error

    def __repr__(self) -> str:
        return f"BuildReport({self.path.name!r}, {self.taken} taken, {self.refused} refused)"

    def __str__(self) -> str:
        warned = f", {self.with_warnings} of them with warnings" if self.with_warnings else ""
        parts = [f"{self.taken} {'melody' if self.taken == 1 else 'melodies'} taken{warned}"]
        if self.replaced or self.unchanged:
            parts += [f"{self.replaced} replaced", f"{self.unchanged} unchanged"]
        parts.append(f"{self.refused} refused")
        if self.skipped:
            parts.append(f"{self.skipped} {'incipit' if self.skipped == 1 else 'incipits'} without music skipped")
        named = (self.rejects,) * bool(self.refused) + (self.remarks,) * bool(self.with_warnings or self.skipped)
        if named:
            parts.append(f"see {' and '.join(map(str, named))}")
        return "; ".join(parts)

    def _repr_html_(self) -> str:
        files, reasons = self.to_table(), self.reasons()
        if len(files.rows) > _FILES_SHOWN:
            title = f"{files.title}; the first {_FILES_SHOWN} of {len(files.rows)} files"
            files = replace(files.first(_FILES_SHOWN), title=title)
        return files.to_html() + (reasons.to_html() if reasons.rows else "")
