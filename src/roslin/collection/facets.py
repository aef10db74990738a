"""Facets: what the melodies of a list are by, in which key, for whom, where and from when, with how many have it.

A field's values are those that filters compare (folding.py): without accents, in one case, keys by their names. A date
counts by its century; of chant, mode, genre and feast. A value is shown as most melodies write it.

All is read once for a state of a collection: for every field a small number for each melody. Counting a list, and
narrowing it, are then a look at these numbers, so both are cheap however long the list is.

A count is the number of melodies that a choice would leave: it counts the melodies that pass the choices in all other
fields. So a second value of the same field, which would add to the list, keeps its count.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from roslin.collection.filters import CENTURY
from roslin.collection.folding import century_number, century_of, folded_field
from roslin.collection.store import Store
from roslin.errors import UnknownNameError
from roslin.represent.keys import key_name
from roslin.types import Flags, Ints, Numbers

Chosen = Mapping[str, Sequence[str]]

_UNKNOWN = -1
# The SQL for each field: a column, or an entry of `Melody.extra`.
_WRITTEN = {
    "composer": "melodies.composer",
    "key": "melodies.key",
    "metre": "melodies.metre",
    "voice": "melodies.voice",
    "scoring": "melodies.extra ->> '$.scoring'",
    "library": "coalesce(melodies.extra ->> '$.siglum', melodies.extra ->> '$.library', melodies.source)",
}
_OF_CHANT = ("mode", "genre", "feast")  # in `Melody.extra`
FACETS = (*_WRITTEN, CENTURY, *_OF_CHANT)


@dataclass(frozen=True, slots=True)
class FacetValue:
    """One value of a field: as filters know it, as it is written, and how many of the list have it."""

    value: str
    label: str
    count: int
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """A field, its values, the most frequent first, and the number of melodies without a value."""

    field: str
    values: tuple[FacetValue, ...]
    unknown: int

    @property
    def is_chosen(self) -> bool:
        return any(value.is_chosen for value in self.values)


@dataclass(frozen=True, slots=True)
class _FacetField:
    codes: Ints  # by melody; `_UNKNOWN` where nothing is said
    values: list[str]
    labels: list[str]


@dataclass(frozen=True, slots=True)
class FacetTable:
    """The facets of a collection."""

    fields: Mapping[str, _FacetField]

    def narrowed(self, numbers: Numbers, chosen: Chosen) -> Numbers:
        """Those of these melodies that have what is chosen, in their order."""
        return numbers[_all(self._passes(numbers, chosen).values(), len(numbers))]

    def count(self, numbers: Numbers, chosen: Chosen) -> list[Facet]:
        """Every field in which these melodies have a value, and the chosen values even if none of them has these."""
        passes = self._passes(numbers, chosen)
        found = []
        for name, field in self.fields.items():
            others = [flags for other, flags in passes.items() if other != name]
            codes = field.codes[numbers[_all(others, len(numbers))]]
            values = self._values(name, field, codes, chosen.get(name, ()))
            if values:
                found.append(Facet(name, values, int((codes == _UNKNOWN).sum())))
        return found

    def _values(self, name: str, field: _FacetField, codes: Ints, chosen: Sequence[str]) -> tuple[FacetValue, ...]:
        counts = np.bincount(codes[codes != _UNKNOWN], minlength=len(field.values))
        wanted = set(_folded(name, chosen))
        listed = [
            FacetValue(field.values[code], field.labels[code], int(counts[code]), field.values[code] in wanted)
            for code in np.flatnonzero(counts).tolist()
        ]
        known = {each.value for each in listed}
        listed += [FacetValue(value, _label(name, value), 0, True) for value in wanted - known]
        return tuple(sorted(listed, key=lambda each: (-each.count, each.value)))

    def _passes(self, numbers: Numbers, chosen: Chosen) -> dict[str, Flags]:
        """By field that something is chosen in: which melodies have one of the values."""
        passes = {}
        for name, wanted in chosen.items():
            if name not in self.fields:
                raise UnknownNameError("facet", name, FACETS)
            codes, values = self.fields[name].codes, self.fields[name].values
            places = [values.index(value) for value in _folded(name, wanted) if value in values]
            passes[name] = np.isin(codes[numbers], places)
        return passes


def facets_of(store: Store) -> FacetTable:
    """The facets of a collection, read when they are first asked for."""
    return store.packed().keep("facets", lambda _: _read(store))


def _read(store: Store) -> FacetTable:
    fields = {name: _read_field(store, name, written) for name, written in _WRITTEN.items()}
    return FacetTable({**fields, CENTURY: _read_centuries(store), **_read_chant(store)})


def _read_field(store: Store, name: str, written: str) -> _FacetField:
    codes, values = _encoded(store, name)
    # The most frequent spelling comes last, and stays; of two, that with accents and small letters.
    rows = store.connection.execute(
        f"SELECT folded.{name}, {written} FROM folded JOIN melodies USING (number) "  # noqa: S608 - our own names
        f"WHERE folded.{name} IS NOT NULL GROUP BY 1, 2 ORDER BY count(*), 2"
    )
    spelt: dict[str, str] = dict(rows)
    return _FacetField(codes, values, [_label(name, spelt[value]) for value in values])


def _read_centuries(store: Store) -> _FacetField:
    codes, years = _encoded(store, "date")
    of_year = [century_of(int(year)) for year in years]
    centuries = sorted(set(of_year))
    to_century = np.array([centuries.index(century) for century in of_year] + [_UNKNOWN], dtype=np.int32)
    labels = [str(century) for century in centuries]
    return _FacetField(to_century[codes], labels, labels)


def _read_chant(store: Store) -> dict[str, _FacetField]:
    written = ", ".join(f"extra ->> '$.{name}'" for name in _OF_CHANT)
    rows = store.connection.execute(
        f"SELECT number, {written} FROM melodies WHERE coalesce({written}) IS NOT NULL"  # noqa: S608 - our own names
    ).fetchall()
    found = {}
    for place, name in enumerate(_OF_CHANT, start=1):
        spelt: dict[str, Counter[str]] = defaultdict(Counter)
        codes = np.full(len(store), _UNKNOWN, dtype=np.int32)
        known: dict[str, int] = {}
        for row in rows:
            if row[place] is not None and (value := folded_field(name, str(row[place]))):
                codes[row[0]] = known.setdefault(value, len(known))
                spelt[value][" ".join(str(row[place]).split())] += 1
        labels = [max(sorted(spelt[value]), key=spelt[value].__getitem__) for value in known]
        found[name] = _FacetField(codes, list(known), labels)
    return found


def _encoded(store: Store, name: str) -> tuple[Ints, list[str]]:
    """(the code of each melody, the value of each code) in a field."""
    known: dict[str, int] = {}
    rows = store.connection.execute(f"SELECT {name} FROM folded ORDER BY number")  # noqa: S608 - our own names
    codes = (_UNKNOWN if value is None else known.setdefault(value, len(known)) for (value,) in rows)
    return np.fromiter(codes, np.int32, len(store)), list(known)


def _folded(name: str, values: Sequence[str]) -> list[str]:
    if name == CENTURY:
        return [str(century_number(value)) for value in values]
    return [folded_field(name, value) for value in values]


def _label(name: str, written: str) -> str:
    """A key has one name; everything else is shown as it is written."""
    return (key_name(written) if name == "key" else None) or " ".join(written.split())


def _all(flags: Iterable[Flags], length: int) -> Flags:
    return np.asarray(np.logical_and.reduce([np.ones(length, dtype=np.bool_), *flags]))
