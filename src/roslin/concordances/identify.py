"""The composer of a source, from other sources of the same tune: for a cataloguer, before a record is published.

A source has one incipit or several. Each is searched for by itself, and has its own number of chance matches (E,
`roslin.search.chance`). Expectations add up, however the incipits depend on each other: m incipits bring m times as
many chance matches as one. So a source that one of m incipits finds has m times the E of that match (Bonferroni). It is
kept where this is at most 1, or where it has exactly the notes of the incipit. Incipits that agree are counted and
listed, but their E are not multiplied: incipits of one source are too much alike for that.

Sources are catalogue records: several incipits of one record count once. The record that is asked about is left out, if
the collection has it: all melodies with its number.

Attributions are the composers that sources name, in any spelling; sources without a name are together under
"Anonymus". Attributions are ranked by the certainty of their best source, in words (`roslin.run.meaning`), then by the
number of sources for which the same word holds, then by E. Among equally certain ones a name comes before none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from roslin.collection.store import Store
from roslin.concordances.concordance import ANONYMUS, SourceRecord, folded_name, is_nobody, plain_name, surname
from roslin.deadline import Work
from roslin.display.table import Table
from roslin.display.words import _, ngettext
from roslin.errors import MelodyError, NotationError, UnknownRecordError
from roslin.melody import Melody
from roslin.notation.record import record_of
from roslin.represent.line import melodic_line
from roslin.run import Hit, Run
from roslin.run.meaning import BY_CHANCE, CLOSE, MEANINGS, SAME_NOTES, expected_words, meaning_of
from roslin.search import Request, search
from roslin.types import Numbers

COMMON = 5  # composers; a tune with more is probably a scale or a signal
_LISTED = 200  # of each search; a list is far shorter where chance begins
_MOST_LISTED = 2000
_IN_JSON = ("name", "is_anonymous", "close", "identical", "incipits", "expected", "meaning")  # of an attribution
_NUMBER = re.compile(r"[\d.~-]+|[\w.:~-]*\d{4}[\w.:~-]*")  # such a text is music only where nothing in it is a fault


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
        return self.about.id

    @property
    def record(self) -> str:
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
        found = {**asdict(self), "incipits": list(self.incipits), "meaning": self.meaning}
        return {**found.pop("about"), "record": self.record, **found}

    @property
    def is_identical(self) -> bool:
        return self.version == 0


@dataclass(frozen=True, slots=True)
class Attribution:
    """A composer that sources of the tune name, and these sources, the surest first."""

    name: str
    is_anonymous: bool
    sources: tuple[SourceMatch, ...]

    @property
    def expected(self) -> float:
        return self.sources[0].expected

    @property
    def meaning(self) -> str:
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
    def incipits(self) -> list[int]:
        """The incipits that found one of its sources, by their places from 1."""
        return sorted({place for source in self.sources for place in source.incipits})


@dataclass(frozen=True)
class Identification:
    """The composers that the sources of a tune name."""

    attributions: tuple[Attribution, ...]
    tried: tuple[int, ...]  # the incipits that were searched for, by their places from 1
    searched: int  # melodies in which each was searched for
    claimed: str | None = None  # the composer that the source itself names
    searching: tuple[str, ...] = ()  # what the searches remarked

    @property
    def is_close(self) -> bool:
        """Whether anything was found that chance hardly explains."""
        return any(each.close for each in self.attributions)

    @property
    def is_disputed(self) -> bool:
        """Whether close sources of one incipit name different composers."""
        close = ((source for source in each.sources if source.is_close) for each in self._named)
        places = Counter(place for sources in close for place in {place for each in sources for place in each.incipits})
        return any(count > 1 for count in places.values())

    @property
    def _named(self) -> list[Attribution]:
        return [each for each in self.attributions if each.close and not each.is_anonymous]

    @cached_property
    def sentence(self) -> str:
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
        """Further remarks for the cataloguer."""
        return (*self.searching, *self._remarks())

    def _remarks(self) -> Iterator[str]:
        close = [each for each in self.attributions if each.close]
        if self.is_disputed and len(self._named) >= COMMON:
            said = _("The sources name {count} composers: it may be a common figure rather than one tune.")
            yield said.format(count=len(self._named))
        elif self.is_disputed:
            yield _("The sources name different composers.")
        elif len(self._named) > 1:
            yield _("Different incipits lead to different composers: the source may contain several works.")
        for one, two in combinations([each.name for each in self._named], 2):
            if surname(one) == surname(two):
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
                yield _("The record itself names {name}, but no close source does.").format(name=self.claimed)

    def to_table(self) -> Table:
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
        return {
            "sentence": self.sentence,
            "remarks": list(self.remarks),
            "is_close": self.is_close,
            "is_disputed": self.is_disputed,
            "claimed": self.claimed,
            "incipits_tried": list(self.tried),
            "searched": self.searched,
            "attributions": [
                {name: getattr(each, name) for name in _IN_JSON}
                | {"sources": [source.to_dict() for source in each.sources]}
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
    found = []
    for name, group in groups.items():
        ((usual, _count),) = Counter(plain_name(source.about.composer) for source in group).most_common(1)
        found.append(Attribution(usual if name else ANONYMUS, not name, tuple(group)))
    return tuple(sorted(found, key=_rank))


def _rank(each: Attribution) -> tuple[int, bool, int, float]:
    places = [sum(source.expected > most for most, _word in MEANINGS) for source in each.sources]
    return places[0], each.is_anonymous, -places.count(places[0]), each.expected


def _in_sources(name: str, count: int) -> str:
    return ngettext("{name} in {count} source", "{name} in {count} sources", count).format(name=name, count=count)


def _listed(named: list[str], most: int = 4) -> str:
    more = len(named) - most
    return ", ".join([*named[:most], *([_("{count} others").format(count=more)] if more > 1 else named[most:])])


# -- searching --------------------------------------------------------------------------------------------------------


def identify(
    melodies: Sequence[Melody], store: Store, *, within: Numbers | None = None, work: Work | None = None
) -> Identification:
    """The composers that sources in a collection name for a source with these melodies.

    Only the melodies `within` are searched (all by default), without those of the source itself. The time limit of
    `work` is for all searches together.
    """
    tried = _distinct(melodies)
    if not tried:
        raise MelodyError("the source has no incipit with notes; expected at least one note that is not a grace note")
    itself = {id for melody in melodies if melody.id for id in _ids_of(store, record_of(melody))}
    found: list[tuple[int, Hit]] = []
    remarks: dict[str, None] = {}
    for place, run in _runs(tried, store, within, itself, work or Work()):
        remarks |= dict.fromkeys(run.remarks if len(tried) == 1 else ())
        size, notes = len(melodic_line(tried[place])), _notes_of(tried[place])
        agreeing = store.melodies(store.numbers([hit.id for hit in run if hit.same == size]))
        identical = {melody.id for melody in agreeing if _notes_of(melody) == notes}
        found += [(place, hit) for hit in run if _corrected(hit, len(tried)) <= BY_CHANCE or hit.id in identical]
    searched = len(store) if within is None else len(within)
    attributions = attributed(_sources(found, tried, store))
    claimed = next((melody.composer for melody in melodies if melody.composer), None)
    return Identification(attributions, tuple(tried), searched, claimed, tuple(remarks))


def by_source(melodies: Iterable[Melody]) -> dict[str, list[Melody]]:
    """The melodies of each source. Those of a catalogue record are together, and so are all that have no id.

    >>> from roslin import load
    >>> two = load("'4CDEC\\n'4CDEF")
    >>> {name: len(of) for name, of in by_source([two[0].with_metadata(id="990-1.1.1"), *two]).items()}
    {'990': 1, '': 2}
    """
    found: dict[str, list[Melody]] = {}
    for melody in melodies:
        found.setdefault(record_of(melody), []).append(melody)
    return found


def melodies_of(store: Store, record: str) -> list[Melody]:
    """The melodies of a record in a collection, by its number; or the one with this id. None where neither is known.

    Some catalogues have hyphens in their ids and no number for the record. The beginning of such an id, from its second
    part on, is that of a record too: UNAM-A0563 of UNAM-A0563-00-12-acomp.
    """
    if record in store and record_of(store[record]) != record:
        return [store[record]]
    ids = _ids_of(store, record)
    if not ids and "-" in record:
        bounds = (f"{record}-", f"{record}-\U0010ffff")
        rows = store.connection.execute("SELECT id FROM melodies WHERE id BETWEEN ? AND ? ORDER BY number", bounds)
        ids = [id for (id,) in rows]
    return list(store.melodies(store.numbers(ids)))


def source_named(store: Store, text: str, read: Callable[[], Iterable[Melody]]) -> dict[str, list[Melody]]:
    """The source that a text names in a collection, by the number of its record, or else the result of `read`.

    A number without a record raises a separate error, because as music it would only be unreadable.
    """
    known = melodies_of(store, text)
    if known:
        records = {record_of(melody) for melody in known}
        return {records.pop() if len(records) == 1 else text: known}
    is_number = _NUMBER.fullmatch(text) is not None
    try:
        found = list(read())
    except NotationError as error:
        if not is_number:
            raise
        raise UnknownRecordError("record", text, ()) from error
    if is_number and any(melody.problems for melody in found):
        raise UnknownRecordError("record", text, ())
    return by_source(found)


def _distinct(melodies: Sequence[Melody]) -> dict[int, Melody]:
    """The melodies with notes, by their places from 1; of those with the same notes only the first."""
    found: dict[bytes, int] = {}
    for place, melody in enumerate(melodies, start=1):
        if len(melodic_line(melody)):
            found.setdefault(_notes_of(melody), place)
    return {place: melodies[place - 1] for place in found.values()}


def _notes_of(melody: Melody) -> bytes:
    """The notes of a melody's line in any key and unit: the same for two that differ in nothing else."""
    line = melodic_line(melody)
    pitches, onsets = line["pitch_midi"].astype(np.int64), line["onset_ticks"].astype(np.int64)
    times = np.concatenate([onsets - onsets[:1], line["duration_ticks"].astype(np.int64)])
    return (pitches - pitches[:1]).tobytes() + (times // max(int(np.gcd.reduce(times)), 1)).tobytes()


def _ids_of(store: Store, record: str) -> list[str]:
    try:
        return store.ids_of_record(record)
    except UnknownRecordError:
        return []


def _runs(
    tried: dict[int, Melody], store: Store, within: Numbers | None, itself: set[str], work: Work
) -> Iterator[tuple[int, Run]]:
    finished, reached = 0, 0.0

    def report(done: float, what: str) -> None:
        nonlocal reached
        reached = max(reached, (finished + done) / len(tried))  # making what a search needs is reported from 0 to 1
        if work.progress is not None:
            work.progress(reached, what)

    whole = Work(work.threads, work.seconds, report, partial=False)  # one limit of time for all
    for place, melody in tried.items():
        request = Request(melody, k=_LISTED, within=within, exclude=frozenset(itself))
        run = search(request, store, whole)
        if len(run.matches) > _LISTED // 2:
            run = search(replace(request, k=_MOST_LISTED), store, whole)
        finished += 1
        yield place, run


def _corrected(hit: Hit, tried: int) -> float:
    return np.inf if hit.expected is None else hit.expected * tried


def _sources(found: list[tuple[int, Hit]], tried: dict[int, Melody], store: Store) -> list[SourceMatch]:
    """The matches by record, with the most certain melody of each. The surest record comes first."""
    best_first = sorted(found, key=lambda each: (_corrected(each[1], 1), each[1].distance, each[1].id, each[0]))
    numbers = store.numbers([*{hit.id for _, hit in found}])
    records = {melody.id: record_of(melody) for melody in store.melodies(numbers)}
    places: dict[str, set[int]] = {}
    best: dict[str, tuple[int, Hit]] = {}
    for place, hit in best_first:
        record = records[hit.id]
        places.setdefault(record, set()).add(place)
        best.setdefault(record, (place, hit))
    melodies = store.melodies(store.numbers([hit.id for _, hit in best.values()]))
    versions = dict.fromkeys(map(_notes_of, tried.values()), 0)
    listed = []
    for (record, (place, hit)), melody in zip(best.items(), melodies, strict=True):
        version = versions.setdefault(_notes_of(melody), max(versions.values()) + 1)
        by = place, tuple(sorted(places[record])), version
        listed.append(SourceMatch(SourceRecord.of(melody), _corrected(hit, len(tried)), hit.distance, *by))
    return listed
