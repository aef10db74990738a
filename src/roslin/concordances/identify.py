"""Whose music a source is, by what other sources of the same tune say: for a cataloguer, before a record is published.

A source has one incipit or several. Each is searched for by itself, and brings its own number of chance matches (E,
`roslin.search.chance`). Expectations add up, whatever depends on what: m incipits bring m times as many chance matches
as one. So a source that one of m incipits finds has m times the E of that match (Bonferroni), and is kept where this is
at most 1, or where it has exactly the notes of the incipit. Incipits that agree are counted and told, but their E are
not multiplied: incipits of one source are too much alike for that.

Sources are catalogue records: several incipits of one record count once. The record that is asked about is left out, if
the collection has it: all melodies with its number. What is found goes into an `Identification` (`attribution`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from roslin.collection.store import Store
from roslin.concordances.attribution import Identification, SourceMatch, attributed
from roslin.concordances.concordance import SourceRecord
from roslin.errors import MelodyError, NotationError, UnknownRecordError
from roslin.melody import Melody
from roslin.notation.record import record_of
from roslin.represent.line import melodic_line
from roslin.run import Hit, Run
from roslin.run.meaning import BY_CHANCE
from roslin.search import Request, search
from roslin.search.work import Work
from roslin.types import Numbers

_DEPTH = 200  # of each search; a list is far shorter where chance begins
_DEEPEST = 2000
_NUMBER = re.compile(r"[\d.~-]+|[\w.:~-]*\d{4}[\w.:~-]*")  # such a text is music only where nothing in it is a fault


def identify(
    melodies: Sequence[Melody],
    store: Store,
    *,
    within: Numbers | None = None,
    work: Work | None = None,
) -> Identification:
    """Who the sources in a collection say that a source is by, which has these melodies.

    Only the melodies `within` are searched (all by default), without those of the source itself. `work` has threads, a
    limit of time for all searches together, and somebody to tell about progress.
    """
    tried = _distinct(melodies)
    if not tried:
        raise MelodyError("the source has no incipit with notes; expected at least one note that is not a grace note")
    itself = {id for melody in melodies if melody.id for id in _ids_of(store, record_of(melody))}
    found: list[tuple[int, Hit]] = []
    remarks: dict[str, None] = {}
    for place, run in _runs(tried, store, within, itself, work or Work()):
        remarks |= dict.fromkeys(run.remarks if len(tried) == 1 else ())
        identical = _identical(tried[place], run, store)
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
    """The source that a text names in a collection, by the number of its record; otherwise what `read` makes of it.

    A number of no record is an error of its own: as music it would only be unreadable.
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
    """The ids of the melodies of a record, if the collection has it."""
    try:
        return store.ids_of_record(record)
    except UnknownRecordError:
        return []


def _runs(
    tried: dict[int, Melody], store: Store, within: Numbers | None, itself: set[str], work: Work
) -> Iterator[tuple[int, Run]]:
    """What is found for each incipit, by its place."""
    finished = 0

    def report(done: float, what: str) -> None:
        if work.progress is not None:
            work.progress((finished + done) / len(tried), what)

    whole = Work(work.threads, work.seconds, report, partial=False)  # one limit of time for all
    for place, melody in tried.items():
        request = Request(melody, k=_DEPTH, within=within, exclude=frozenset(itself))
        run = search(request, store, whole)
        if len(run.matches) > _DEPTH // 2:
            run = search(replace(request, k=_DEEPEST), store, whole)
        finished += 1
        yield place, run


def _identical(asked: Melody, run: Run, store: Store) -> set[str]:
    """The melodies of a list with exactly the notes that were asked for."""
    size, notes = len(melodic_line(asked)), _notes_of(asked)
    agreeing = store.numbers([hit.id for hit in run if hit.same == size])
    return {str(melody.id) for melody in store.melodies(agreeing) if _notes_of(melody) == notes}


def _corrected(hit: Hit, tried: int) -> float:
    return np.inf if hit.expected is None else hit.expected * tried


def _sources(found: list[tuple[int, Hit]], tried: dict[int, Melody], store: Store) -> list[SourceMatch]:
    """What was found, by record: the surest melody of each. The surest record comes first."""
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
        listed.append(
            SourceMatch(
                about=SourceRecord.of(melody),
                expected=_corrected(hit, len(tried)),
                distance=hit.distance,
                incipit=place,
                incipits=tuple(sorted(places[record])),
                version=versions.setdefault(_notes_of(melody), max(versions.values()) + 1),
            )
        )
    return listed
