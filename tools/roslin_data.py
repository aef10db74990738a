"""The music that `roslin` is fitted on, chosen on and reported on: three catalogues with melodies that belong together.

    rism        incipits, the same work in different sources by its metadata: a strict and a hard list (composers)
    books       whole tunes of four printed tune books, the same title in different books (titles)
    essen       songs of the Essen collection that share a title (titles); fitted on, never shipped

A melody's share (`fit`, `choose`, `report`) is decided by the SHA-256 of its composer or title (`share_of`), so that
all relatives fall into one share, here and everywhere: two quarters to fit, one to choose, one to report.

Titles are weak evidence: "Lied" or "Jig" names many tunes. `Material.relatives` of `books` and `essen` are therefore
cleaned (`of_one_title`): a pair of the same title stays if it is nearer than nearly all pairs of strangers by any of
three systems that have no part in `roslin` (`dp`, `time`, `us`).
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from real_data import DATA
from roslin import Melody
from roslin.benchmark.tasks import (
    intervals,
    music21_corpus,
    of_one_title,
    same_work,
    share_of,
    title_key,
    tune_books,
    tunes_in,
)
from roslin.melody import NoteTable
from roslin.represent.line import melodic_line


@dataclass(frozen=True)
class Material:
    """Melodies, and for each query (by number) the numbers of its relatives; `share` is that of each melody."""

    name: str
    melodies: list[Melody]
    relatives: dict[int, list[int]]
    share: list[str]
    _alike: dict[bytes, list[int]] = field(default_factory=lambda: defaultdict(list), repr=False)

    @property
    def checksum(self) -> str:
        """Of all notes, in order."""
        total = sha256()
        for melody in self.melodies:
            total.update(melody.notes[["onset_ticks", "duration_ticks", "pitch_midi"]].tobytes())
        return total.hexdigest()

    def line(self, number: int) -> NoteTable:
        """The line of a melody."""
        return melodic_line(self.melodies[number])

    def copies(self, number: int) -> list[int]:
        """Melodies that have the intervals of this one and that nobody judged: neither relatives nor strangers."""
        if not self.name.startswith("rism"):
            return []
        if not self._alike:
            for other, melody in enumerate(self.melodies):
                self._alike[intervals(melody)].append(other)
        judged = {number, *self.relatives.get(number, ())}
        return [other for other in self._alike[intervals(self.melodies[number])] if other not in judged]

    def queries(self, share: str) -> list[int]:
        """The queries of one share."""
        return [query for query in sorted(self.relatives) if self.share[query] == share]


def rism(truth: str) -> Material:
    """All incipits, with one of the two lists (`strict`, `hard`)."""
    melodies, relatives = same_work(DATA, truth)
    shares = [share_of(melody.composer or melody.id or "") for melody in melodies]
    return Material(f"rism {truth}", melodies, relatives, shares)


def books() -> Material:
    """Whole tunes of the printed books, one of each title and book."""
    titles, melodies, relatives = tune_books(_corpus())
    return Material("books", melodies, relatives, [share_of(title) for title in titles])


def essen() -> Material:
    """Songs of the Essen collection that have a title."""
    found = [melody for melody in songs() if title_key(melody.title or "")]
    titles = [title_key(melody.title or "") for melody in found]
    return Material("essen", found, of_one_title(titles, found), [share_of(title) for title in titles])


def songs() -> list[Melody]:
    """All songs of the Essen collection."""
    return list(tunes_in(sorted((_corpus() / "essenFolksong").glob("*.abc"))))


def _corpus() -> Path:
    corpus = music21_corpus()
    assert corpus is not None, "needs the package music21"
    return corpus


def material(cache: Path) -> list[Material]:
    """All of it; `cache` is a file that keeps it from one run to the next."""
    if not cache.exists():
        cache.write_bytes(pickle.dumps([rism("strict"), rism("hard"), books(), essen()]))
    made: list[Material] = pickle.loads(cache.read_bytes())  # our own file
    return made
