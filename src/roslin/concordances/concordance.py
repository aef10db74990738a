"""The concordances of a collection: its groups, with what the catalogue says of their sources, in a folder.

    NAME.concordances/
      about.json      the level, the state of the collection, versions
      pairs.npz       the pairs (`pairs.FoundPairs`)
      work/           what an unfinished comparison has done (`journal`)

Groups follow from the pairs. The kind of a group is what a cataloguer looks for first:

    attribution   its sources name different composers
    anonymous     some name one, others none: a name for an anonymous source
    libraries     sources of different libraries agree
    same          sources of one library, or incipits of one record
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np

from roslin.collection.files import scratch_path, sync, write_text
from roslin.collection.store import Store
from roslin.concordances.groups import TuneGroup, groups_of
from roslin.concordances.names import is_nobody, record_of, surname
from roslin.concordances.pairs import FoundPairs
from roslin.errors import CollectionError
from roslin.melody import Melody

__all__ = ["KINDS", "KIND_WORDS", "Concordances", "GroupKind", "SourceRecord"]

GroupKind = Literal["attribution", "anonymous", "libraries", "same"]
KINDS: tuple[GroupKind, ...] = ("attribution", "anonymous", "libraries", "same")
KIND_WORDS: dict[GroupKind, str] = {
    "attribution": "Attributions disagree",
    "anonymous": "A name for an anonymous source",
    "libraries": "Different libraries",
    "same": "One library",
}
_PAIRS, _ABOUT = "pairs.npz", "about.json"


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """What the catalogue says of one melody's source; empty where it says nothing."""

    id: str
    record: str
    library: str
    shelfmark: str
    composer: str
    title: str
    movement: str
    key: str
    scoring: str
    catalogue: str
    work: str
    text: str

    @property
    def is_anonymous(self) -> bool:
        """Whether no composer is named."""
        return is_nobody(self.composer)

    @classmethod
    def of(cls, melody: Melody) -> SourceRecord:
        """From a melody as the collection holds it."""
        extra: Mapping[str, str] = melody.extra
        return cls(
            id=melody.id or "",
            record=record_of(melody.id or ""),
            library=extra.get("siglum", ""),
            shelfmark=extra.get("shelfmark", ""),
            composer=melody.composer or "",
            title=melody.title or "",
            movement=extra.get("movement", ""),
            key=melody.key or "",
            scoring=extra.get("scoring", "") or melody.voice or "",
            catalogue=extra.get("catalogue", ""),
            work=extra.get("work", ""),
            text=melody.text or "",
        )


@dataclass(frozen=True, eq=False)
class Concordances:
    """All pairs of a collection at a level, and the groups that they make."""

    store: Store
    pairs: FoundPairs

    @property
    def level(self) -> float:
        """Chance matches that a pair may have."""
        return self.pairs.level

    @cached_property
    def groups(self) -> list[TuneGroup]:
        """The groups: disagreements in attribution first, then names for anonymous sources, then the others.

        Of each kind, the surest first: chains that hang on weak links come last.
        """
        found = groups_of(self.pairs.first, self.pairs.second, self.pairs.expected, self.level)

        def order(group: TuneGroup) -> tuple[int, bool, float, int]:
            return KINDS.index(self.kind(group)), bool(group.weak_links), group.expected, -len(group.members)

        return sorted(found, key=order)

    @cached_property
    def _sources(self) -> dict[int, SourceRecord]:
        numbers = np.unique(np.concatenate([self.pairs.first, self.pairs.second]))
        melodies = self.store.melodies(numbers)
        return {number: SourceRecord.of(each) for number, each in zip(numbers.tolist(), melodies, strict=True)}

    def source(self, number: int) -> SourceRecord:
        """What the catalogue says of a member of a group."""
        return self._sources[number]

    def kind(self, group: TuneGroup) -> GroupKind:
        """What a group tells a cataloguer."""
        sources = [self.source(number) for number in group.members.tolist()]
        names = {surname(each.composer) for each in sources if not each.is_anonymous}
        if len(names) > 1:
            return "attribution"
        if names and any(each.is_anonymous for each in sources):
            return "anonymous"
        return "libraries" if len({each.library for each in sources} - {""}) > 1 else "same"

    # -- files ------------------------------------------------------------------------------------------------------

    def write(self, folder: str | Path) -> None:
        """Keep them in a folder."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        pairs = self.pairs
        prepared = scratch_path(folder)
        with prepared.open("wb") as file:
            np.savez(
                file,
                first=pairs.first,
                second=pairs.second,
                distances=pairs.distances,
                expected=pairs.expected,
                is_copy=pairs.is_copy,
            )
        sync(prepared)
        prepared.replace(folder / _PAIRS)
        about = {
            "roslin": version("roslin"),
            "token": self.store.about["token"],
            "level": pairs.level,
            "compared": pairs.compared,
            "melodies": pairs.melodies,
            "exact": pairs.is_exact,
            "all": pairs.is_all,
        }
        write_text(folder / _ABOUT, json.dumps(about, indent=1))

    @classmethod
    def read(cls, folder: str | Path, store: Store) -> Concordances:
        """Those that `write` kept. Refused when the collection has changed since: numbers mean other melodies then."""
        folder = Path(folder)
        try:
            about: dict[str, Any] = json.loads((folder / _ABOUT).read_text("utf-8"))
            with (folder / _PAIRS).open("rb") as file, np.load(file, allow_pickle=False) as kept:
                columns = {name: kept[name] for name in ("first", "second", "distances", "expected", "is_copy")}
            said: dict[str, Any] = {"is_exact": about["exact"], "is_all": about["all"]}
        except (OSError, ValueError, KeyError) as error:
            raise CollectionError(f"{folder}: no concordances that can be read ({error})") from error
        if about["token"] != store.about["token"]:
            raise CollectionError(
                f"{folder}: the collection has changed since these concordances were found; find them again with "
                f"roslin concordances {store.path}"
            )
        counts = {name: about[name] for name in ("level", "compared", "melodies")}
        return cls(store, FoundPairs(**columns, **counts, **said))
