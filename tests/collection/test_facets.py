"""Facets against filters in SQL and plain counting: what is counted is what a choice leaves."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from roslin import Collection, Melody
from roslin.collection.facets import FACETS, Facet, facets_of
from roslin.collection.filters import all_asked
from roslin.collection.folding import folded_field, said_of
from roslin.errors import FilterError, UnknownNameError
from roslin.notation.jsonl import write_jsonl

COMPOSERS = ("Grétry, André", "GRETRY, Andre", "Grétry, André", "Händel", "Bach", "Bach, Johann", None)
KEYS = ("g", "G minor", "g-Moll", "G", "B|b", "Es-Dur", "2e mode", None)
DATES = ("ca. 1740", "[174-?]", "1805", "18.sc", "n.d.", None)
FEASTS = ("Nicolai", "NICOLAI", "Nicolai", "Dom. 1 Adventus", None)
LIBRARIES = ("D-Dl", "d-dl", "CZ-Bu", None)


def tunes(count: int, seed: int) -> Iterator[Melody]:
    dice = random.Random(seed)
    for number in range(count):
        said = {"scoring": dice.choice(("S, org", "s, ORG", None)), "siglum": dice.choice(LIBRARIES)}
        said["date"] = dice.choice(DATES)
        said |= {"mode": dice.choice(("1", "1T", None)), "genre": dice.choice("AR"), "feast": dice.choice(FEASTS)}
        yield Melody.from_notes(
            [0, 1, 2], [1, 1, 1], [60, 62, 60 + number % 12], f"tune-{number}",
            composer=dice.choice(COMPOSERS), key=dice.choice(KEYS), metre=dice.choice(("c", "3/4", None)),
            voice=dice.choice(("S", "vl 1")), source="a book",
            extra={name: text for name, text in said.items() if text},
        )  # fmt: skip


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    folder = tmp_path_factory.mktemp("facets")
    (folder / "tunes.jsonl").write_text("\n".join(map(write_jsonl, tunes(300, seed=3))), "utf-8")
    with Collection.build(folder / "tunes.jsonl", folder / "tunes.roslin") as opened:
        yield opened


def by_name(found: list[Facet]) -> dict[str, Facet]:
    return {facet.field: facet for facet in found}


def everything(collection: Collection) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.arange(len(collection))


def test_spellings_are_one_value_shown_as_most_write_it(collection: Collection) -> None:
    found = by_name(facets_of(collection).count(everything(collection), {}))
    assert set(found) == set(FACETS)
    labels = {facet.field: {value.label for value in facet.values} for facet in found.values()}
    assert (labels["mode"], labels["feast"]) == ({"1", "1T"}, {"Nicolai", "Dom. 1 Adventus"})
    assert labels["composer"] == {"Grétry, André", "Händel", "Bach", "Bach, Johann"}
    assert labels["key"] == {"G minor", "G major", "B flat major", "E flat major", "2e mode"}
    assert {label.lower() for label in labels["library"]} == {"d-dl", "cz-bu", "a book"}
    assert labels["century"] == {"18", "19"}


def test_counts_are_those_of_plain_counting(collection: Collection) -> None:
    numbers = np.random.default_rng(5).permutation(len(collection))[:120]
    melodies = list(collection.melodies(numbers))
    found = by_name(facets_of(collection).count(numbers, {}))
    for field in ("composer", "key", "metre", "voice", "scoring", "library"):
        said = [said_of(melody, field) for melody in melodies]
        expected = Counter(folded_field(field, text) for text in said if text)
        assert {value.value: value.count for value in found[field].values} == expected
        assert found[field].unknown == sum(not text for text in said)
        counts = [value.count for value in found[field].values]
        assert counts == sorted(counts, reverse=True)


CHOICES = [
    ["key=g"],
    ["key=G minor", "key=es-dur"],
    ["composer=bach"],
    ["century=18", "library=D-DL"],
    ["composer=gretry, andre", "key=g", "metre=3/4", "voice=s", "scoring=S, ORG"],
    ["century=15"],
]


@pytest.mark.parametrize("asked", CHOICES, ids=" ".join)
def test_a_list_is_narrowed_as_the_filter_does_it(collection: Collection, asked: list[str]) -> None:
    """And the count of each value, with those of other fields chosen, is what choosing it alone in its field leaves."""
    from roslin.collection.filters import chosen_values

    table, chosen = facets_of(collection), chosen_values(asked)
    left = collection.filter(*all_asked({"only": asked})).numbers
    order = np.random.default_rng(6).permutation(len(collection))
    assert sorted(table.narrowed(order, chosen)) == left.tolist()
    assert table.narrowed(order, chosen).tolist() == [number for number in order.tolist() if number in set(left)]
    for facet in table.count(everything(collection), chosen):
        for value in facet.values:
            alone = {**chosen, facet.field: [value.value]}
            assert value.count == len(table.narrowed(order, alone)), (facet.field, value)
            assert value.is_chosen == (value.value in [each.value for each in facet.values if each.is_chosen])


def test_what_is_chosen_is_listed_even_if_nobody_has_it(collection: Collection) -> None:
    found = by_name(facets_of(collection).count(everything(collection), {"century": ["15"], "key": ["fis"]}))
    assert [(value.value, value.count) for value in found["century"].values if value.is_chosen] == [("15", 0)]
    assert [(value.label, value.count) for value in found["key"].values if value.is_chosen] == [("F sharp minor", 0)]
    assert found["century"].is_chosen
    assert not by_name(facets_of(collection).count(everything(collection), {}))["century"].is_chosen


def test_nothing_has_no_facets(collection: Collection, tmp_path: Path) -> None:
    assert facets_of(collection).count(np.empty(0, np.int64), {}) == []
    (tmp_path / "none.jsonl").write_text('{"id": "a", "pae": "\'4C"}\n')
    with Collection.build(tmp_path / "none.jsonl", tmp_path / "none.roslin") as bare:
        assert {facet.field for facet in facets_of(bare).count(np.arange(1), {})} == {"library"}  # the file


def test_what_is_no_facet_is_refused(collection: Collection) -> None:
    with pytest.raises(UnknownNameError, match="facet 'colour'"):
        facets_of(collection).narrowed(everything(collection), {"colour": ["red"]})
    with pytest.raises(FilterError, match="century must be a number from 11 to 21; got 'soon'"):
        facets_of(collection).count(everything(collection), {"century": ["soon"]})
