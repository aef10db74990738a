"""The music that `roslin` is fitted on, chosen on and reported on: three catalogues with melodies that belong together.

    rism        incipits, the same work in different sources by its metadata: a strict and a hard list (composers)
    books       whole tunes of four printed tune books, the same title in different books (titles)
    essen       songs of the Essen collection that share a title (titles); fitted on, never shipped

A melody's share (`fit`, `choose`, `report`) is decided by the SHA-256 of its composer or title (with `SALT`), so that
all relatives fall into one share, here and everywhere: two quarters to fit, one to choose, one to report.

Titles are weak evidence: "Lied" or "Jig" names many tunes. `Material.relatives` of `books` and `essen` are therefore
cleaned (`cleaned`): a pair of the same title stays if it is nearer than nearly all pairs of strangers by any of three
systems that have no part in `roslin` (`dp`, `time`, `us`).
"""

from __future__ import annotations

import pickle
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import numpy as np

from real_data import DATA
from roslin import Melody, matcher, records
from roslin.melody import NoteTable
from roslin.represent.line import melodic_line
from roslin.truth.qrel import read_truth

BOOKS = {
    "airdsAirs": "aird",
    "oneills1850": "oneill",
    "ryansMammoth": "ryan",
    "miscFolk": "misc",
}
SHARES = ("fit", "fit", "choose", "report")
# Few composers have most of RISM's pairs. Of the numbers from 0 to 39, this one brings the shares of all lists nearest
# to a half, a quarter and a quarter.
SALT = 19
LEAST_NOTES, MOST_NOTES = 8, 400
# A pair of the same title belongs together if it is among this share of the nearest strangers.
NEAREST_STRANGERS = 0.012
WITNESSES = ("dp", "time", "us")


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
            for other in range(len(self.melodies)):
                self._alike[self._intervals(other)].append(other)
        judged = {number, *self.relatives.get(number, ())}
        return [other for other in self._alike[self._intervals(number)] if other not in judged]

    def _intervals(self, number: int) -> bytes:
        return np.diff(self.line(number)["pitch_midi"].astype(np.int64)).tobytes()

    def queries(self, share: str) -> list[int]:
        """The queries of one share."""
        return [query for query in sorted(self.relatives) if self.share[query] == share]


def cut(melody: Melody, first: int, last: int) -> Melody:
    """Some notes of the line of a melody, from the first of them on."""
    notes = melodic_line(melody)[first:last].copy()
    notes["onset_ticks"] -= notes["onset_ticks"][0]
    return Melody(notes)


def share_of(group: str) -> str:
    """Where a composer or title belongs.

    >>> share_of("roslin castle") in SHARES
    True
    """
    return SHARES[sha256(f"{SALT} {group}".encode()).digest()[0] % len(SHARES)]


def title_key(title: str) -> str:
    """The title in small letters, without accents, articles, signs and the dance that follows a dash.

    >>> title_key("MONEY MUSK -- STRATHSPEY") == title_key("Money Musk, The")
    True
    """
    plain = unicodedata.normalize("NFKD", title.partition("--")[0]).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9 ]", "", re.sub(r"\(.*?\)", "", plain)).split()
    return " ".join(word for word in words if word not in ("a", "an", "the"))


def rism(truth: str) -> Material:
    """All incipits, with one of the two lists (`strict`, `hard`)."""
    read = records(DATA / "rism" / "incipits.jsonl.gz", strict=False)
    melodies = [record.melody for record in read if record.melody is not None and len(melodic_line(record.melody))]
    number = {melody.id: place for place, melody in enumerate(melodies)}
    groups = read_truth(DATA / "rism" / f"same_work_{truth}_dev.qrel")
    relatives = {
        number[query]: [number[id] for group in groups[query] for id in group if id in number]
        for query in groups
        if query in number
    }
    return Material(
        f"rism {truth}",
        melodies,
        {query: found for query, found in relatives.items() if found},
        [share_of(melody.composer or melody.id or "") for melody in melodies],
    )


def books() -> Material:
    """Whole tunes of the printed books, one of each title and book."""
    corpus, found = _corpus(), []
    for folder, book in BOOKS.items():
        seen = set()
        for melody in _tunes(sorted((corpus / folder).rglob("*.abc"))):
            key = title_key(melody.title or "")
            if key and key not in seen:
                seen.add(key)
                found.append((key, book, melody))
    return _by_title("books", found)


def essen() -> Material:
    """Songs of the Essen collection that have a title."""
    found = [(title_key(melody.title or ""), "essen", melody) for melody in songs()]
    return _by_title("essen", [each for each in found if each[0]])


def songs() -> list[Melody]:
    """All songs of the Essen collection."""
    return list(_tunes(sorted((_corpus() / "essenFolksong").glob("*.abc"))))


def _corpus() -> Path:
    return Path(str(import_module("music21").__file__)).parent / "corpus"


def _tunes(paths: Iterable[Path]) -> Iterable[Melody]:
    for path in paths:
        for record in records(path, strict=False):
            if record.melody is not None and LEAST_NOTES <= len(melodic_line(record.melody)) <= MOST_NOTES:
                yield record.melody


def _by_title(name: str, found: list[tuple[str, str, Melody]]) -> Material:
    by_title = defaultdict(list)
    for place, (title, _, _) in enumerate(found):
        by_title[title].append(place)
    relatives = {
        place: [other for other in places if other != place]
        for places in by_title.values()
        if 1 < len(places) <= 20
        for place in places
    }
    melodies = [melody for _, _, melody in found]
    return Material(name, melodies, cleaned(melodies, relatives), [share_of(title) for title, _, _ in found])


def cleaned(melodies: list[Melody], relatives: dict[int, list[int]]) -> dict[int, list[int]]:
    """Relatives that any of the witnesses puts among the nearest."""
    witnesses = [matcher(name) for name in WITNESSES]
    strangers = [melodies[place] for place in np.random.default_rng(1).choice(len(melodies), 500, replace=False)]
    kept = {}
    for query, others in relatives.items():
        near = np.zeros(len(others), dtype=bool)
        for witness in witnesses:
            limit = np.quantile(witness.distances(melodies[query], strangers), NEAREST_STRANGERS)
            near |= witness.distances(melodies[query], [melodies[other] for other in others]) < limit
        if near.any():
            kept[query] = [other for other, is_near in zip(others, near, strict=True) if is_near]
    return kept


def material(cache: Path) -> list[Material]:
    """All of it; `cache` is a file that keeps it from one run to the next."""
    if not cache.exists():
        cache.write_bytes(pickle.dumps([rism("strict"), rism("hard"), books(), essen()]))
    made: list[Material] = pickle.loads(cache.read_bytes())  # our own file
    return made
