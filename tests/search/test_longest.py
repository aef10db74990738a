"""A query that is absurdly long is refused before anything is compared, by every way of searching."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from roslin import Collection, Melody
from roslin.errors import ArgumentError
from roslin.matchers import matcher
from roslin.search import Request
from roslin.search.request import longest_query
from roslin.starter import tunes_path


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection.build(tunes_path(), tmp_path_factory.mktemp("starter") / "starter.roslin") as collection:
        yield collection


def walk(notes: int) -> Melody:
    """So many quarters, up and down."""
    return Melody.from_notes(range(notes), [1] * notes, [60 + k % 7 for k in range(notes)])


@pytest.mark.parametrize(("name", "most"), [("emd", 447), ("twv", 3162), ("dp", 4472), ("fuse(dp, emd)", 447)])
def test_the_slowest_part_of_a_matcher_decides(name: str, most: int) -> None:
    chosen = matcher(name)
    assert longest_query(chosen) == most
    Request(walk(most), chosen)
    with pytest.raises(ArgumentError, match=rf"the query has {most + 1} notes; \w+ searches for at most {most}: "):
        Request(walk(most + 1), chosen)


@pytest.mark.parametrize("name", ["emd", "twv", "dp", "us", "fuse(dp, us)"])
def test_a_symphony_is_refused_with_what_to_do(name: str, starter: Collection) -> None:
    with pytest.raises(ArgumentError, match=r"search for a part of it, such as its first 40 notes \(.* query\[:40\]\)"):
        starter.search(walk(20_000), name)
    with pytest.raises(ArgumentError, match="the query has 20000 notes"):
        Request(walk(20_000), matcher(name), is_cut=True)
