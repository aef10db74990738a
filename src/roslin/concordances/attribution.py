"""Whose music a source is: the sources of its tune, the composers that they name, and the answer in words and tables.

Attributions are the composers that sources name, spelt in any way; what names nobody is together under "Anonymus". They
are ranked by how sure the best of their sources is, in words (`roslin.run.meaning`), then by the number of sources for
which the same word holds, then by E. Among equally sure ones a name comes before none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from roslin.concordances.concordance import SourceRecord
from roslin.concordances.names import ANONYMUS, folded_name, is_nobody, plain_name, surname
from roslin.display.table import Table
from roslin.display.words import _, ngettext
from roslin.run.meaning import CLOSE, MEANINGS, SAME_NOTES, expected_words, meaning_of

COMMON = 5  # composers; what so many have is rather a scale or a signal than somebody's tune


@dataclass(frozen=True, slots=True)
class SourceMatch:
    """A source of the collection that has one of the incipits: the melody in it that is nearest, and how sure it is.

    `expected` counts all incipits that were tried. `incipit` is the one that found it, `incipits` are all that did, by
    their places from 1. Sources with one `version` have the same notes; those of version 0 have the notes asked for.
    """

    about: SourceRecord
    expected: float
    distance: float
    incipit: int
    incipits: tuple[int, ...]
    version: int

    @property
    def id(self) -> str:
        """The melody that is nearest."""
        return self.about.id

    @property
    def record(self) -> str:
        """The record to which it belongs."""
        return self.about.record

    @property
    def meaning(self) -> str:
        """How sure it is, in words; that it has the notes asked for is a fact, whatever chance gives."""
        return SAME_NOTES if self.is_identical else meaning_of(self.expected)

    @property
    def is_close(self) -> bool:
        """Whether chance hardly explains it, or it has exactly the notes that were asked for."""
        return self.expected <= CLOSE or self.is_identical

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        found = {**asdict(self), "incipits": list(self.incipits), "meaning": self.meaning}
        return {**found.pop("about"), "record": self.record, **found}

    @property
    def is_identical(self) -> bool:
        """Whether it has the notes that were asked for, in any key."""
        return self.version == 0


@dataclass(frozen=True, slots=True)
class Attribution:
    """A composer that sources of the tune name, and these sources, the surest first."""

    name: str
    is_anonymous: bool
    sources: tuple[SourceMatch, ...]

    @property
    def expected(self) -> float:
        """The number of chance matches of its surest source."""
        return self.sources[0].expected

    @property
    def meaning(self) -> str:
        """How sure the surest source is, in words."""
        return self.sources[0].meaning

    @property
    def close(self) -> int:
        """The number of sources that chance hardly explains."""
        return sum(source.is_close for source in self.sources)

    @property
    def identical(self) -> int:
        """The number of sources with the notes that were asked for."""
        return sum(source.is_identical for source in self.sources)

    @property
    def close_incipits(self) -> set[int]:
        """The incipits that found one of its close sources, by their places from 1."""
        return {place for source in self.sources if source.is_close for place in source.incipits}

    @property
    def incipits(self) -> tuple[int, ...]:
        """The incipits that found one of its sources, by their places from 1."""
        return tuple(sorted({place for source in self.sources for place in source.incipits}))


@dataclass(frozen=True)
class Identification:
    """Who the sources of a tune say it is by. `tried` are the incipits that were searched for, by their places from 1.

    `searched` is the number of melodies in which each was, `claimed` the composer that the source itself names.
    """

    attributions: tuple[Attribution, ...]
    tried: tuple[int, ...]
    searched: int
    claimed: str | None = None
    searching: tuple[str, ...] = ()  # what the searches remarked

    @property
    def is_close(self) -> bool:
        """Whether anything was found that chance hardly explains."""
        return any(each.close for each in self.attributions)

    @property
    def is_disputed(self) -> bool:
        """Whether close sources of one incipit name different composers."""
        places = Counter(place for each in self._named for place in each.close_incipits)
        return any(count > 1 for count in places.values())

    @property
    def _named(self) -> list[Attribution]:
        """The composers that close sources name."""
        return [each for each in self.attributions if each.close and not each.is_anonymous]

    @cached_property
    def sentence(self) -> str:
        """The answer in a sentence."""
        if not self.attributions:
            return _("Nothing close was found.")
        best = expected_words(self.attributions[0].expected)
        few = _("fewer than {number} matches this good expected by chance.")
        chance = few if best.startswith("<") else _("{number} matches this good expected by chance.")
        chance = chance.format(number=best.removeprefix("< "))
        if self.is_close:
            named = [_in_sources(each.name, each.close) for each in self.attributions if each.close]
            return f"{_listed(named)}; {chance}"
        named = [_in_sources(each.name, len(each.sources)) for each in self.attributions]
        return _("Nothing close was found. Perhaps {names}; {chance}").format(names=_listed(named), chance=chance)

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What else a cataloguer must know."""
        return (*self.searching, *self._remarks())

    def _remarks(self) -> Iterator[str]:
        close = [each for each in self.attributions if each.close]
        if self.is_disputed and len(self._named) >= COMMON:
            said = _("The sources name {count} composers: it may be a common figure rather than one tune.")
            yield said.format(count=len(self._named))
        elif self.is_disputed:
            yield _("The sources name different composers.")
        elif len(self._named) > 1:
            yield _("Different incipits lead to different composers: the source may hold several works.")
        for one, two in _namesakes([each.name for each in self._named]):
            yield _("{one} and {two} may be one person.").format(one=one, two=two)
        if close and not self._named:
            yield _("No close source names a composer.")
        if close and len(self.tried) > 1:
            said = _("{count} of {total} incipits were found there.")
            yield said.format(count=len(close[0].incipits), total=len(self.tried))
        if close and self.claimed and not is_nobody(self.claimed):
            same = [each for each in close if folded_name(each.name) == folded_name(self.claimed)]
            if same:
                agree = ngettext(
                    "The record itself names {name}, as 1 source does.",
                    "The record itself names {name}, as {count} sources do.",
                    same[0].close,
                )
                yield agree.format(name=self.claimed, count=same[0].close)
            elif self._named:
                yield _("The record itself names {name}; no close source does.").format(name=self.claimed)

    def to_table(self) -> Table:
        """A row for each attribution."""
        columns = ("rank", "attribution", "sources", "perhaps", "identical", "incipits", "expected", "meaning")
        rows = tuple(
            {
                "rank": rank,
                "attribution": each.name,
                "sources": each.close,
                "perhaps": len(each.sources) - each.close,
                "identical": each.identical,
                "incipits": len(each.incipits),
                "expected": each.expected,
                "chance": expected_words(each.expected),
                "meaning": each.meaning,
            }
            for rank, each in enumerate(self.attributions, start=1)
        )
        return Table(columns, rows, self.sentence, key="attributions")

    def sources_table(self) -> Table:
        """A row for each source, with the attribution to which it belongs."""
        columns = (
            "attribution", "record", "expected", "meaning", "incipit", "version", "id", "title", "catalogue", "library",
            "shelfmark",
        )  # fmt: skip
        rows = tuple(
            {
                "attribution": each.name,
                "chance": expected_words(source.expected),
                "notes": "the same" if source.is_identical else f"version {source.version}",
                **source.to_dict(),
            }
            for each in self.attributions
            for source in each.sources
        )
        return Table(columns, rows, "Sources", key="sources")

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "sentence": self.sentence,
            "remarks": list(self.remarks),
            "is_close": self.is_close,
            "is_disputed": self.is_disputed,
            "claimed": self.claimed,
            "incipits_tried": list(self.tried),
            "searched": self.searched,
            "attributions": [
                {
                    "name": each.name,
                    "is_anonymous": each.is_anonymous,
                    "close": each.close,
                    "identical": each.identical,
                    "incipits": list(each.incipits),
                    "expected": each.expected,
                    "meaning": each.meaning,
                    "sources": [source.to_dict() for source in each.sources],
                }
                for each in self.attributions
            ],
        }

    def __str__(self) -> str:
        return " ".join((self.sentence, *self.remarks))


def attributed(sources: list[SourceMatch]) -> tuple[Attribution, ...]:
    """The sources by composer, the first attribution first."""
    groups: dict[str, list[SourceMatch]] = {}
    for source in sources:
        name = "" if is_nobody(source.about.composer) else folded_name(source.about.composer)
        groups.setdefault(name, []).append(source)
    found = [
        Attribution(_usual_name(group) if name else ANONYMUS, not name, tuple(group)) for name, group in groups.items()
    ]
    return tuple(sorted(found, key=_rank))


def _usual_name(sources: list[SourceMatch]) -> str:
    """The spelling that most of them have; without brackets and marks of doubt."""
    ((name, _),) = Counter(plain_name(source.about.composer) for source in sources).most_common(1)
    return name


def _rank(each: Attribution) -> tuple[int, bool, int, float]:
    places = [_certainty(source.expected) for source in each.sources]
    return places[0], each.is_anonymous, -places.count(places[0]), each.expected


def _certainty(expected: float) -> int:
    """The place of a number of chance matches among the words."""
    return sum(expected > most for most, _ in MEANINGS)


def _namesakes(names: list[str]) -> Iterator[tuple[str, str]]:
    """Those with one surname, which catalogues write before the comma."""
    return ((one, two) for one, two in combinations(names, 2) if surname(one) == surname(two))


def _in_sources(name: str, count: int) -> str:
    return ngettext("{name} in {count} source", "{name} in {count} sources", count).format(name=name, count=count)


def _listed(named: list[str], most: int = 4) -> str:
    """The first of some, and how many there are besides."""
    more = len(named) - most
    return ", ".join([*named[:most], *([_("{count} others").format(count=more)] if more > 1 else named[most:])])
