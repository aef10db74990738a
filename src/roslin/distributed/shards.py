"""A collection divided into shards, each an ordinary collection: every worker searches one, and all at the same time.

    shards.json       the divided collection, its shards, and how fast its chance matches become rare
    shard-001.roslin  melodies in the order of the collection
    sample.roslin     melodies of the whole collection, with which every query is compared to estimate chance

A search returns the list of the whole collection, with the same numbers of chance matches: ties are broken by id, and
the background (`roslin.search.chance`) is that of the whole. A matcher whose distances depend on all candidates at once
is refused.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection as Container
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from roslin.collection.files import SHARDS, write_text
from roslin.collection.store import Store, opened
from roslin.deadline import Work
from roslin.display.text import counted
from roslin.errors import ArgumentError, CollectionError, DamagedError, UnknownNameError
from roslin.matchers import DEFAULT_MATCHER, Matcher, Roslin, matcher
from roslin.matchers.roslin.scores import fitted
from roslin.melody import Melody
from roslin.run import Ranking, Run
from roslin.search import Request, for_collections, search
from roslin.search.agreement import can_ask, has_certain
from roslin.search.chance import Background, Tail, WholeCollection, default_tails, mode_of, sample_of, tails_of
from roslin.search.request import without_rhythm
from roslin.types import Numbers

_Name = tuple[str, str]  # of a collection: its path and token
_Piece = tuple[str, Sequence[int]]  # a shard: its path, and the numbers of its melodies

_VERSION = 2
_SAMPLE = "sample.roslin"
_OURS = re.compile(rf"shard-\d+\.roslin|{re.escape(_SAMPLE)}|{re.escape(SHARDS)}")


def write_shards(store: Store, folder: str | Path, parts: int, work: Work) -> None:
    """Divide a collection. `work` writes the shards; `shards.json` comes last, so that there are all or none."""
    if not 1 <= parts <= max(len(store), 1):
        raise ArgumentError(
            f"a collection of {counted(len(store), 'melody', 'melodies')} has between 1 and that many shards; "
            f"got {parts}"
        )
    target = Path(folder).resolve()
    if target.exists() and not all(_OURS.fullmatch(path.name) for path in target.iterdir()):
        raise CollectionError(f"{folder}: the folder holds other files; expected shards, or a name that is free")
    target.mkdir(parents=True, exist_ok=True)
    (target / SHARDS).unlink(missing_ok=True)
    bounds = np.linspace(0, len(store), parts + 1).astype(int).tolist()
    names = [f"shard-{number:03}.roslin" for number in range(1, parts + 1)]
    pieces: list[_Piece] = [
        (str(target / name), range(first, last))
        for name, first, last in zip(names, bounds[:-1], bounds[1:], strict=True)
    ]
    pieces.append((str(target / _SAMPLE), tuple(sample_of(store).tolist())))
    tokens = []
    for done, token in enumerate(work.map(partial(_write_shard, _named(store)), pieces), start=1):
        tokens.append(token)
        work.report(done / len(pieces), "writing shards")
    about = {
        "version": _VERSION,
        "collection": {name: store.about[name] for name in ("melodies", "notes", "arrays_sha256", "roslin")},
        "name": store.path.name,
        "shards": dict(zip(names, tokens, strict=False)),
        "sample": tokens[-1],
        "tails": {
            mode: {
                "fitted": _fitted(mode),
                "tails": {str(length): asdict(tail) for length, tail in tails_of(store, mode).items()},
            }
            for mode in default_tails()
        },
    }
    write_text(target / SHARDS, json.dumps(about, indent=1) + "\n")
    for path in target.iterdir():  # what an earlier division has left
        if path.name not in (SHARDS, _SAMPLE, *names):
            shutil.rmtree(path)


def _fitted(mode: str) -> str:
    """The fitted numbers with which the tails of a mode were estimated."""
    return repr(fitted(mode.split("/")[0]))


def _write_shard(collection: _Name, piece: _Piece) -> str:
    """Write a shard; returns its token."""
    from roslin.collection.write import build  # not needed for a search

    path, numbers = piece
    build(opened(*collection).melodies(numbers), path)
    with Store(path) as written:
        return str(written.about["token"])


class Shards(AbstractContextManager["Shards"]):
    """A divided collection, opened for searching."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.about = _read(self.path)
        tokens: Mapping[str, str] = self.about["shards"]
        self.stores = [self._open(name, token) for name, token in tokens.items()]
        self.sample = self._open(_SAMPLE, self.about["sample"])
        self.begins = np.concatenate([[0], np.cumsum([len(store) for store in self.stores])])

    def _open(self, name: str, token: str) -> Store:
        store = Store(self.path / name)
        if store.about["token"] != token:
            store.close()
            raise CollectionError(f"{store.path}: has changed since the collection was divided; divide it again")
        return store

    def search(
        self,
        query: Melody,
        matcher_name: str | Matcher = DEFAULT_MATCHER,
        k: int = 10,
        *,
        exclude: Container[str] = (),
        radius: float | None = None,
        work: Work | None = None,
    ) -> Run:
        """The k melodies of all shards that are most similar to the query. `work` must have been entered."""
        chosen = matcher(matcher_name)
        if not chosen.is_independent:
            raise ArgumentError(
                f"{chosen.name} compares a query with all melodies at once, so shards cannot be searched with it; "
                "search the collection that they were made of, or choose another matcher"
            )
        if work is None:
            with Work() as alone:
                return self.search(query, chosen, k, exclude=exclude, radius=radius, work=alone)
        named, chosen = chosen, for_collections(chosen, query, self.stores)
        tails = self._tails(mode_of(chosen, query)) if isinstance(chosen, Roslin) else {}
        reach = np.inf if radius is None else radius
        request = Request(query, chosen, k, exclude=frozenset(exclude), radius=reach)
        shards = [_named(store) for store in self.stores]

        def answered(coinciding: bool) -> Run:
            asking = partial(_search_shard, request, _named(self.sample), tails, len(self), coinciding)
            answers = []
            for done, answer in enumerate(work.map(asking, shards), start=1):
                answers.append(answer)
                work.report(done / len(shards), "searching")
            return self._merged(query, k, answers)

        run = answered(coinciding=False)
        run = answered(coinciding=True) if can_ask(query, chosen) and not has_certain(run) else run
        return run if chosen == named else run.with_remarks([without_rhythm()])

    def _merged(self, query: Melody, k: int, answers: Sequence[Run]) -> Run:
        found = [hit for answer in answers for hit in answer]
        sign = 1.0 if answers[0].kind == "distance" else -1.0
        best = sorted(found, key=lambda hit: (sign * (hit.value or 0.0), hit.id))[:k]
        has_evidence = answers[0].kind == "score"
        (first,) = answers[0].rankings.values()
        ranking = Ranking(
            query.id or "query",
            tuple(hit.id for hit in best),
            tuple(hit.value or 0.0 for hit in best),
            expected=tuple(hit.expected or 0.0 for hit in best) if has_evidence else None,
            distances=tuple(hit.distance for hit in best) if has_evidence else None,
            same=tuple(hit.same for hit in best) if any(hit.same for hit in best) else None,
            coincides=tuple(hit.coincides for hit in best) if any(hit.coincides for hit in best) else None,
            remarks=tuple(filter(None, (first.unfinished, *first.remarks))),
            agreeing=sum(ranking.agreeing for answer in answers for ranking in answer.rankings.values()),
        )

        def titles(ids: Sequence[str]) -> list[str | None]:
            return [melody.title for melody in self.melodies(self.numbers(ids))]

        return Run([ranking], name=answers[0].name, kind=answers[0].kind, titles=titles)

    def _tails(self, mode: str) -> dict[int, Tail]:
        kept = self.about["tails"][mode]
        if kept["fitted"] != _fitted(mode):
            raise CollectionError(
                f"{self.path}: made by an incompatible version of Roslin; divide the collection again"
            )
        return {int(length): Tail(**tail) for length, tail in kept["tails"].items()}

    def __len__(self) -> int:
        return int(self.begins[-1])

    def __getitem__(self, id: str) -> Melody:
        return next(self.melodies(self.numbers([id])))

    def numbers(self, ids: Sequence[str]) -> Numbers:
        """The numbers of these ids in the whole collection. An unknown one is an error."""
        found = []
        for id in ids:
            of = next((number for number, store in enumerate(self.stores) if id in store), None)
            if of is None:
                raise UnknownNameError("melody", id, [*self.sample.ids(range(min(3, len(self.sample)))), "..."])
            found.append(int(self.begins[of]) + int(self.stores[of].numbers([id])[0]))
        return np.array(found, dtype=np.int64)

    def melodies(self, numbers: Sequence[int] | Numbers) -> Iterator[Melody]:
        """The melodies with these numbers, in that order."""
        for number in numbers:
            of = int(np.searchsorted(self.begins, number, side="right")) - 1
            yield self.stores[of][int(number - self.begins[of])]

    def __exit__(self, *_: object) -> None:
        for store in (*self.stores, self.sample):
            store.close()


def _search_shard(
    request: Request, sample: _Name, tails: dict[int, Tail], searched: int, coinciding: bool, shard: _Name
) -> Run:
    """Search one shard. The sample and the number of melodies searched give the chance matches of all shards."""
    packed = opened(*sample).packed()
    background = Background.among(packed, np.arange(len(packed)), lambda _chosen, _query: tails)
    whole = WholeCollection(background, searched, coinciding)
    found = search(replace(request, whole=whole), opened(*shard))
    return Run(found.rankings, name=found.name, kind=found.kind)


def _named(store: Store) -> _Name:
    return str(store.path.resolve()), store.about["token"]


def _read(folder: Path) -> dict[str, Any]:
    try:
        about = json.loads((folder / SHARDS).read_text("utf-8"))
        version = about["version"]
    except FileNotFoundError:
        hint = f"make some with: roslin collection shard NAME.roslin -o {folder}"
        raise CollectionError(f"{folder}: there are no shards; {hint}") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DamagedError(f"{folder}: damaged: {SHARDS} cannot be read ({error})") from None
    if version != _VERSION:
        raise CollectionError(
            f"{folder}: shards of version {version}; expected {_VERSION}: divide the collection again"
        )
    return dict(about)
