"""The starter collection for ir_datasets: after this import it is known there as `roslin/starter`.

    import ir_datasets, roslin.interop.datasets
    ir_datasets.load("roslin/starter").docs_iter()

Documents and queries have their music in Plaine & Easie Code, which every reader of Roslin takes. A relevance is larger
for a more similar group of the truth.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from roslin.errors import MissingExtraError
from roslin.starter import truth_path, tunes_path
from roslin.truth.model import Truth
from roslin.truth.qrel import read_truth

try:
    import ir_datasets
    from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, GenericQuery
except ImportError:
    raise MissingExtraError("the data set", "ir_datasets", "pyterrier") from None

STARTER = "roslin/starter"


class MelodyDocument(NamedTuple):
    """A melody as a document."""

    doc_id: str
    title: str
    text: str

    def default_text(self) -> str:
        return self.text


class MelodyQrel(NamedTuple):
    """How similar a melody is to a query: the larger, the more."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class _Docs(BaseDocs):  # type: ignore[misc]  # their classes have no types
    def docs_iter(self) -> Iterator[MelodyDocument]:
        return iter(_documents().values())

    def docs_count(self) -> int:
        return len(_documents())

    def docs_cls(self) -> type[MelodyDocument]:
        return MelodyDocument

    def docs_store(self, *_: Any, **__: Any) -> _Docs:
        return self

    def get(self, doc_id: str, field: str | None = None) -> Any:
        """One document, or one of its fields; what ir_datasets expects of a store."""
        document = _documents()[doc_id]
        return document if field is None else getattr(document, field)

    def get_many_iter(self, doc_ids: Any) -> Iterator[MelodyDocument]:
        return (_documents()[id] for id in doc_ids if id in _documents())


class _Queries(BaseQueries):  # type: ignore[misc]  # their classes have no types
    def queries_iter(self) -> Iterator[GenericQuery]:
        return (GenericQuery(query, _documents()[query].text) for query in _truth())

    def queries_count(self) -> int:
        return len(_truth())


class _Qrels(BaseQrels):  # type: ignore[misc]  # their classes have no types
    def qrels_iter(self) -> Iterator[MelodyQrel]:
        for query, groups in _truth().items():
            for gain, group in zip(_truth().gains(query), groups, strict=True):
                yield from (MelodyQrel(query, id, int(gain)) for id in group)

    def qrels_defs(self) -> dict[int, str]:
        most = max(int(gain) for query in _truth() for gain in _truth().gains(query))
        return {k: "less similar" if k == 1 else f"more similar than {k - 1}" for k in range(1, most + 1)}

    def qrels_cls(self) -> type[MelodyQrel]:
        return MelodyQrel


@cache
def _documents() -> dict[str, MelodyDocument]:
    found = {}
    for line in tunes_path().read_text(encoding="utf-8").splitlines():
        tune = json.loads(line)
        signs = f"%{tune.get('clef') or 'G-2'}@{tune.get('timesig') or ''}${tune.get('keysig') or ''}"
        found[tune["id"]] = MelodyDocument(tune["id"], tune.get("title") or "", f"{signs} {tune['pae']}")
    return found


@cache
def _truth() -> Truth:
    return read_truth(truth_path())


if STARTER not in ir_datasets.registry:
    ir_datasets.registry.register(STARTER, ir_datasets.Dataset(_Docs(), _Queries(), _Qrels()))
