"""The concordances of a collection: its groups, with what the catalogue says of their sources, in a folder.

    NAME.concordances/
      about.json         the level, the state of the collection, versions; names the files that belong to it
      pairs-TOKEN.npz    the pairs (`pairs.FoundPairs`)
      digests-TOKEN.bin  by number, a digest of each melody: tells a later comparison what is new (`earlier`)
      work/ and others   what an unfinished comparison has done (`journal`)

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
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from roslin.collection.files import new_token, remove_scratch, whole_file, write_text
from roslin.collection.store import Store
from roslin.concordances.certainty import Certainty
from roslin.concordances.copies import firsts_of
from roslin.concordances.earlier import EarlierPairs
from roslin.concordances.groups import TuneGroup, groups_of
from roslin.concordances.mapped import map_array, write_array
from roslin.concordances.names import is_nobody, surname
from roslin.concordances.pairs import PAIR_ARRAYS, FoundPairs
from roslin.display.words import N_
from roslin.errors import ArgumentError, CollectionError
from roslin.melody import Melody
from roslin.notation.record import record_of
from roslin.types import Words

GroupKind = Literal["attribution", "anonymous", "libraries", "same"]
KINDS: tuple[GroupKind, ...] = ("attribution", "anonymous", "libraries", "same")
KIND_WORDS: dict[GroupKind, str] = {
    "attribution": N_("Attributions disagree"),
    "anonymous": N_("A name for an anonymous source"),
    "libraries": N_("Different libraries"),
    "same": N_("Others"),
}
_ABOUT = "about.json"
_FORM = 2  # of the files; in the first one, pairs of copies were those of the first of them only


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
            record=record_of(melody),
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
    def certainty(self) -> Certainty:
        """The level, and how sure a pair is in words."""
        return Certainty(self.pairs.level, self.pairs.matcher)

    @cached_property
    def doubts(self) -> npt.NDArray[np.float64]:
        """What speaks against each pair (`certainty`)."""
        return self.pairs.doubts

    @cached_property
    def groups(self) -> list[TuneGroup]:
        """The groups: disagreements in attribution first, then names for anonymous sources, then the others.

        Of each kind, the surest first: chains that hang on weak links come last.
        """
        found = groups_of(
            self.pairs.first,
            self.pairs.second,
            self.doubts,
            self.pairs.level,
            self.certainty.stricter,
            self.pairs.is_copy,
        )

        def order(group: TuneGroup) -> tuple[int, bool, float, int]:
            return KINDS.index(self.kind(group)), bool(group.weak_links), group.doubt, -len(group.members)

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

    def write(self, folder: str | Path, digests: Words | None = None, beyond: FoundPairs | None = None) -> None:
        """Keep them in a folder, all or nothing. With the digests of all melodies a later comparison can go on.

        `beyond`: the same pairs and others beyond the level, for another level and for a later comparison.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        pairs, token = self.pairs if beyond is None else beyond, new_token()
        names = {"pairs": f"pairs-{token}.npz", "digests": f"digests-{token}.bin" if digests is not None else ""}
        remove_scratch(folder)
        with whole_file(folder / names["pairs"]) as scratch, scratch.open("wb") as file:
            np.savez(file, allow_pickle=False, **{name: getattr(pairs, name) for name in PAIR_ARRAYS})
        if digests is not None:
            write_array(folder / names["digests"], digests.reshape(-1))
        about = {
            "form": _FORM,
            "roslin": version("roslin"),
            "token": self.store.about["token"],
            "level": self.pairs.level,
            "reach": pairs.level,
            "matcher": pairs.matcher,
            "compared": pairs.compared,
            "melodies": pairs.melodies,
            "folded": pairs.folded,
            "left_copies": pairs.left_copies,
            "exact": pairs.is_exact,
            "all": pairs.is_all,
            **names,
        }
        write_text(folder / _ABOUT, json.dumps(about, indent=1))
        for left in {*folder.glob("pairs-*.npz"), *folder.glob("digests-*.bin")}:
            if left.name not in names.values():
                left.unlink()

    @classmethod
    def read(cls, folder: str | Path, store: Store) -> Concordances:
        """Those that `write` kept. Refused when the collection has changed since: numbers mean other melodies then."""
        folder = Path(folder)
        about, pairs = _read(folder)
        if about["token"] != store.about["token"]:
            raise CollectionError(
                f"{folder}: the collection has changed since these concordances were found; find them again with "
                f"roslin concordances {store.path} --since {folder}"
            )
        return cls(store, pairs.narrowed(about["level"]))


def choose_level(folder: str | Path, level: float) -> None:
    """Another level for the concordances in a folder, as far as the pairs in it reach."""
    path = Path(folder) / _ABOUT
    write_text(path, json.dumps(json.loads(path.read_text("utf-8")) | {"level": level}, indent=1))


def earlier_pairs(folder: str | Path) -> EarlierPairs:
    """The concordances in a folder as the beginning of others, whatever has become of the collection."""
    folder = Path(folder)
    about, pairs = _read(folder)
    if not (pairs.is_all and about["digests"] and about["roslin"] == version("roslin")):
        raise ArgumentError(
            f"{folder}: --since needs concordances of a whole collection, found by this version of Roslin; "
            "compare everything again"
        )
    try:
        digests = map_array(folder / about["digests"], np.uint64).reshape(-1, 2)
    except (OSError, ValueError) as error:
        raise CollectionError(f"{folder}: no concordances that can be read ({error})") from error
    if len(digests) != pairs.melodies:
        raise CollectionError(f"{folder}: damaged: {len(digests)} digests of {pairs.melodies} melodies")
    firsts = firsts_of(digests)
    own = (firsts[pairs.first] == pairs.first) & (firsts[pairs.second] == pairs.second)
    certainty = Certainty(pairs.level, pairs.matcher)
    ends = pairs.first[own], pairs.second[own], pairs.distances[own]
    return EarlierPairs(folder, digests, *ends, certainty, pairs.is_exact)


def kept_state(folder: str | Path) -> dict[str, Any] | None:
    """The contents of `about.json` of a folder; None where there is none, or an earlier version wrote it."""
    try:
        about = json.loads((Path(folder) / _ABOUT).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) and about.get("form") == _FORM else None


def _read(folder: Path) -> tuple[dict[str, Any], FoundPairs]:
    try:
        about: dict[str, Any] = json.loads((folder / _ABOUT).read_text("utf-8"))
        if about["form"] != _FORM:
            raise KeyError("form")
        with (folder / about["pairs"]).open("rb") as file, np.load(file, allow_pickle=False) as kept:
            columns = {name: kept[name] for name in PAIR_ARRAYS}
        said = {"is_exact": about["exact"], "is_all": about["all"], "level": about["reach"]}
        said |= {name: about[name] for name in ("compared", "melodies", "matcher", "folded", "left_copies")}
        return about, FoundPairs(**columns, **said)
    except KeyError as error:
        raise CollectionError(
            f"{folder}: these concordances were found by an earlier version of Roslin, which left out pairs of "
            "melodies with the same notes; find them again with roslin concordances"
        ) from error
    except (OSError, ValueError, TypeError, BadZipFile) as error:
        raise CollectionError(f"{folder}: no concordances that can be read ({error})") from error
