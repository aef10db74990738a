"""The concordances of a collection: its groups, with what the catalogue has about their sources, stored in a folder.

    NAME.concordances/
      about.json       the level, the state of the collection, versions; names the file that belongs to it
      pairs-TOKEN.bin  the pairs (`pairs.FoundPairs`), and by number a digest of each melody, which shows a later
                       comparison what is new (`pairs.EarlierPairs`)
      work/ and others   what an unfinished comparison has done (`resume`)

Groups follow from the pairs. The kind of a group is what a cataloguer looks for first:

    attribution   its sources name different composers
    anonymous     some name one, others none: a name for an anonymous source
    libraries     sources of different libraries agree
    same          sources of one library, or incipits of one record
"""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np

from roslin.collection.arrays import ArrayFile
from roslin.collection.files import new_token, remove_scratch, write_text
from roslin.collection.folding import fold
from roslin.collection.store import Store
from roslin.concordances.certainty import Certainty
from roslin.concordances.groups import TuneGroup, groups_of
from roslin.concordances.join import find_pairs
from roslin.concordances.pairs import PAIR_COLUMNS, EarlierPairs, FoundPairs, digests_of, digests_of_notes, firsts_of
from roslin.concordances.radius_join import find_within
from roslin.deadline import Work
from roslin.display.table import Table
from roslin.display.words import N_
from roslin.errors import ArgumentError, CollectionError
from roslin.melody import Melody
from roslin.notation.record import record_of
from roslin.search.engines.roslin import open_table
from roslin.types import Floats, Numbers, Words

GroupKind = Literal["attribution", "anonymous", "libraries", "same"]
KINDS: tuple[GroupKind, ...] = ("attribution", "anonymous", "libraries", "same")
KIND_WORDS: dict[GroupKind, str] = {
    "attribution": N_("Attributions disagree"),
    "anonymous": N_("A name for an anonymous source"),
    "libraries": N_("Different libraries"),
    "same": N_("Others"),
}
# Pairs are kept up to this doubt: another level, and what is new later, need no comparison of the rest.
FARTHEST_DOUBT = 0.9
# Of the groups' columns, those for a person at a terminal, and in which form.
PEOPLE_READ = (
    "group", "kind", "records", "libraries", "composers", "title", "certainty", "probable", "stable", "first",
)  # fmt: skip
_WORK = ("work", "work-only", "work-since")  # a comparison that was stopped may continue with another value
_ABOUT = "about.json"
_ABOUT_PAIRS = ("compared", "melodies", "matcher", "folded", "left_copies")
_FORM = 3  # of the files; in the first one, pairs of copies were those of the first of them only

ANONYMUS = "Anonymus"
_NOBODY = frozenset(
    {"", "anon", "anonym", "anonyme", "anonymer", "anonimo", "anonymous", "anonymus", "s.n", "unbekannt", "unknown"}
)
_DOUBT = re.compile(r"[\[\]()?]*\?[\[\]()?]*|[\[\]]")  # a name in brackets, or with a mark of doubt, is the same name


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """The catalogue's entry for one melody's source; fields without a value are empty."""

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
        return is_nobody(self.composer)

    @classmethod
    def of(cls, melody: Melody) -> SourceRecord:
        known: Mapping[str, str] = melody.extra
        own = {name: getattr(melody, name) or "" for name in ("id", "composer", "title", "key", "text")}
        extra = {name: known.get(name, "") for name in ("shelfmark", "movement", "catalogue", "work")}
        library, scoring = known.get("siglum", ""), known.get("scoring", "") or melody.voice or ""
        return cls(record=record_of(melody), library=library, scoring=scoring, **own, **extra)


@dataclass(frozen=True, eq=False)
class Concordances:
    """All pairs of a collection at a level, and the groups that they make."""

    store: Store
    pairs: FoundPairs

    @property
    def certainty(self) -> Certainty:
        return Certainty(self.pairs.level, self.pairs.matcher)

    @cached_property
    def doubts(self) -> Floats:
        return self.pairs.doubts

    @cached_property
    def groups(self) -> list[TuneGroup]:
        """The groups: disagreements in attribution first, then names for anonymous sources, then the others.

        Of each kind, the surest first: chains that hang on weak links come last.
        """
        pairs, stricter = self.pairs, self.certainty.stricter
        found = groups_of(pairs.first, pairs.second, self.doubts, pairs.level, stricter, pairs.is_copy)

        def order(group: TuneGroup) -> tuple[int, bool, float, int]:
            return KINDS.index(self.kind(group)), bool(group.weak_links), group.doubt, -len(group.members)

        return sorted(found, key=order)

    @cached_property
    def _sources(self) -> dict[int, SourceRecord]:
        numbers = np.unique(np.concatenate([self.pairs.first, self.pairs.second]))
        melodies = self.store.melodies(numbers)
        return {number: SourceRecord.of(each) for number, each in zip(numbers.tolist(), melodies, strict=True)}

    def source(self, number: int) -> SourceRecord:
        return self._sources[number]

    def kind(self, group: TuneGroup) -> GroupKind:
        sources = [self.source(number) for number in group.members.tolist()]
        names = {surname(each.composer) for each in sources if not each.is_anonymous}
        if len(names) > 1:
            return "attribution"
        if names and any(each.is_anonymous for each in sources):
            return "anonymous"
        return "libraries" if len({each.library for each in sources} - {""}) > 1 else "same"

    # -- files ------------------------------------------------------------------------------------------------------

    def write(self, folder: str | Path, digests: Words | None = None, beyond: FoundPairs | None = None) -> None:
        """Save them in a folder, or change nothing. The digests of all melodies allow a later comparison to continue.

        `beyond`: the same pairs and others beyond the level, for another level and for a later comparison.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        pairs, name = self.pairs if beyond is None else beyond, f"pairs-{new_token()}.bin"
        remove_scratch(folder)
        digests = np.empty(0, np.uint64) if digests is None else digests.reshape(-1)
        _pairs_file(folder / name).write({each: getattr(pairs, each) for each in PAIR_COLUMNS} | {"digests": digests})
        about = {
            "form": _FORM,
            "roslin": version("roslin"),
            "token": self.store.about["token"],
            "level": self.pairs.level,
            "reach": pairs.level,
            "exact": pairs.is_exact,
            "all": pairs.is_all,
            "pairs": name,
        } | {each: getattr(pairs, each) for each in _ABOUT_PAIRS}
        write_text(folder / _ABOUT, json.dumps(about, indent=1))
        for left in (*folder.glob("pairs-*"), *folder.glob("digests-*")):
            if left.name != name:
                left.unlink()

    @classmethod
    def read(cls, folder: str | Path, store: Store) -> Concordances:
        """Those that `write` saved. Refused when the collection has changed since: numbers mean other melodies then."""
        folder = Path(folder)
        about, pairs, _ = _read(folder)
        if about["token"] != store.about["token"]:
            raise CollectionError(
                f"{folder}: the collection has changed since these concordances were found; find them again with "
                f"roslin concordances {store.path} --since {folder}"
            )
        return cls(store, pairs.narrowed(about["level"]))


# -- finding and reading ----------------------------------------------------------------------------------------------


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
    new: Numbers | None = None,
    earlier: EarlierPairs | None = None,
) -> Concordances:
    """The concordances at a level, by their probability or by a radius. Finished pieces in the folder are reused.

    `new`: only pairs with one of these melodies. `earlier`: only what is new since is compared with all.
    """
    if earlier is not None:
        if new is not None:
            raise ArgumentError("--only and --since cannot be combined; give one of them")
        earlier.check(wanted)
    unfinished = Path(folder) / _WORK[1 if new is not None else 2 if earlier is not None else 0]
    if wanted.matcher:
        if not exact:
            raise ArgumentError("--fast cannot be used with --radius; use it with --level")
        pairs = find_within(store, wanted.matcher, wanted.level, work, folder=unfinished, new=new, earlier=earlier)
        digests = digests_of_notes(store.packed())
    else:
        reach = max(wanted.level, FARTHEST_DOUBT)
        pairs = find_pairs(store, reach, work, folder=unfinished, new=new, exact=exact, earlier=earlier)
        digests = digests_of(open_table(store))
    found = Concordances(store, pairs.narrowed(wanted.level))
    found.write(folder, digests, pairs)
    for name in _WORK:
        shutil.rmtree(Path(folder) / name, ignore_errors=True)
    return found


def kept_concordances(store: Store, wanted: Certainty, folder: str | Path, *, exact: bool) -> Concordances | None:
    """The wanted concordances if the folder has them, from this state of the collection and this version of Roslin.

    From now on the folder is at this level.
    """
    about = kept_state(folder) or {}
    asked = {"roslin": version("roslin"), "token": store.about["token"], "matcher": wanted.matcher, "all": True}
    reaches = about.get("reach", -1.0) >= wanted.level
    if not (asked.items() <= about.items() and reaches and (about.get("exact") or not exact)):
        return None
    write_text(Path(folder) / _ABOUT, json.dumps(about | {"level": wanted.level}, indent=1))
    return Concordances.read(folder, store)


def earlier_pairs(folder: str | Path) -> EarlierPairs:
    """The concordances in a folder as the beginning of others, whatever has become of the collection."""
    folder = Path(folder)
    about, pairs, digests = _read(folder)
    if not (pairs.is_all and len(digests) and about["roslin"] == version("roslin")):
        raise ArgumentError(
            f"{folder}: --since needs concordances of a whole collection, found by this version of Roslin; "
            "compare everything again"
        )
    if len(digests) != pairs.melodies:
        raise CollectionError(f"{folder}: damaged: {len(digests)} digests of {pairs.melodies} melodies")
    firsts = firsts_of(digests)
    own = (firsts[pairs.first] == pairs.first) & (firsts[pairs.second] == pairs.second)
    ends = pairs.first[own], pairs.second[own], pairs.distances[own]
    return EarlierPairs(folder, digests, *ends, Certainty(pairs.level, pairs.matcher), pairs.is_exact)


def kept_state(folder: str | Path) -> dict[str, Any] | None:
    """The contents of `about.json` of a folder; None where there is none, or an earlier version wrote it."""
    try:
        about = json.loads((Path(folder) / _ABOUT).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return about if isinstance(about, dict) and about.get("form") == _FORM else None


def _read(folder: Path) -> tuple[dict[str, Any], FoundPairs, Words]:
    """The contents of `about.json`, the pairs, and the digests of all melodies (none if they were not saved)."""
    try:
        about: dict[str, Any] = json.loads((folder / _ABOUT).read_text("utf-8"))
        if about["form"] != _FORM:
            raise KeyError("form")
        path = folder / about["pairs"]
        arrays = _pairs_file(path).read()
        if arrays is None:
            raise ValueError(f"{path.name} is missing or damaged")
        digests = arrays.pop("digests").reshape(-1, 2)
        known: dict[str, Any] = arrays | {"is_exact": about["exact"], "is_all": about["all"], "level": about["reach"]}
        known |= {name: about[name] for name in _ABOUT_PAIRS}
        return about, FoundPairs(**known), digests
    except KeyError as error:
        raise CollectionError(
            f"{folder}: these concordances were found by an earlier version of Roslin; find them "
            "again with roslin concordances"
        ) from error
    except (OSError, ValueError, TypeError) as error:
        raise CollectionError(f"{folder}: no concordances that can be read ({error})") from error


def _pairs_file(path: Path) -> ArrayFile:
    return ArrayFile(path, "pairs 1", PAIR_COLUMNS | {"digests": np.uint64})


# -- composers --------------------------------------------------------------------------------------------------------


def plain_name(composer: str) -> str:
    """A composer's name without brackets and marks of doubt.

    >>> plain_name("[Pergolesi, Giovanni Battista (?)]")
    'Pergolesi, Giovanni Battista'
    """
    return _DOUBT.sub("", composer).strip()


def folded_name(composer: str) -> str:
    """A composer's name in one spelling.

    >>> folded_name("[Grétry, André-Ernest-Modeste?]") == folded_name("Gretry, André-Ernest-Modeste")
    True
    """
    return fold(plain_name(composer)).rstrip(" .,;")


def surname(composer: str) -> str:
    """The part before the comma, in one spelling.

    >>> surname("Händel, Georg Friedrich") == surname("Handel, George Frideric")
    True
    """
    return folded_name(composer).partition(",")[0]


def is_nobody(composer: str | None) -> bool:
    """Whether this names no composer.

    >>> is_nobody(None), is_nobody("[Anonymus]"), is_nobody("Anonymous"), is_nobody("Hasse, Johann Adolf")
    (True, True, True, False)
    """
    return folded_name(composer or "") in _NOBODY


# -- tables -----------------------------------------------------------------------------------------------------------


def groups_table(found: Concordances, most: int | None = None) -> Table:
    """A row for each group, in the order of `Concordances.groups`."""
    probability = () if found.certainty.matcher else ("probability",)
    columns = (
        "group", "kind", "melodies", "records", "libraries", "composers", "title", *probability, "certainty",
        "stability", "weak_links", "first",
    )  # fmt: skip
    rows = [_row(found, number, group) for number, group in enumerate(found.groups[:most], start=1)]
    return Table(columns, tuple(rows), "groups")


def _row(found: Concordances, number: int, group: TuneGroup) -> dict[str, object]:
    sources = [found.source(each) for each in group.members.tolist()]
    stable = f"{group.stability:.0%}" + (", depends on a weak link" if group.weak_links else "")
    composers = Counter("anonymous" if each.is_anonymous else each.composer for each in sources)
    return {
        "group": number,
        "kind": found.kind(group),
        "melodies": len(sources),
        "records": len({each.record for each in sources}),
        "libraries": len({each.library for each in sources} - {""}),
        "composers": "; ".join(f"{name} ({count})" for name, count in composers.most_common()),
        "title": next((each.title for each in sources if each.title), ""),
        "probability": 1 - group.doubt,
        "certainty": found.certainty.word(group.doubt),
        "probable": found.certainty.number(group.doubt),
        "stability": group.stability,
        "stable": stable if len(sources) > 2 else "",  # for a group of two, the pair decides
        "weak_links": len(group.weak_links),
        "first": sources[0].id,
    }


def kinds_table(found: Concordances) -> Table:
    """How many groups there are of each kind, and how many melodies they hold."""
    rows = []
    for kind in KINDS:
        sizes = [len(group.members) for group in found.groups if found.kind(group) == kind]
        rows.append((kind, KIND_WORDS[kind], len(sizes), sum(sizes)))
    return Table.of(("kind", "meaning", "groups", "melodies"), rows, "kinds")
