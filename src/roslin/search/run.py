"""A run: the ranked list that one matcher gives for one query, and its TREC form.

The TREC form has six columns, `query Q0 document rank score tag`. A score there must fall from rank to rank, so it is
the distance with its sign turned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

__all__ = ["Hit", "Run"]

_NOT_IN_A_WORD = re.compile(r"[\s%]")


@dataclass(frozen=True, slots=True)
class Hit:
    """One line of a ranked list; ranks count from 1."""

    rank: int
    id: str
    distance: float


@dataclass(frozen=True, slots=True)
class Run:
    """Hits in order of distance; equal distances in order of id."""

    query: str
    matcher: str
    hits: tuple[Hit, ...]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @property
    def ids(self) -> list[str]:
        """The ids, best first: a ranking as `roslin.evaluate` takes it."""
        return [hit.id for hit in self.hits]

    def to_trec(self) -> str:
        """The six columns, one line a hit."""
        query, tag = _word(self.query), _word(self.matcher)
        return "".join(f"{query} Q0 {_word(hit.id)} {hit.rank} {0.0 - hit.distance!r} {tag}\n" for hit in self.hits)


def _word(text: str) -> str:
    """One word, as columns need it: white space and % are written as in web addresses, so ids stay different."""
    return _NOT_IN_A_WORD.sub(lambda match: quote(match[0]), text) or "-"
