"""Tasks: a collection, queries, and which melodies of the collection belong to each query.

    starter    tunes of the starter collection and their variants
    typed      the first notes of a melody as people type them: the melody should come first
    sung       the same, as people sing them
    rism       the same work in different sources of RISM
    books      the same title in different tune books, which music21 carries
    chant      the same chant in different manuscripts, which pycantus carries
    own        a ground truth and melodies of yours, such as MIREX 2005 with its incipits of RISM

A task has one or more columns, each a form of the queries: whole melodies, their first notes, notes from within.
The other melodies of a column are drawn from the rest of the catalogue.

`roslin` was trained with works and titles of RISM and the tune books. Only those that had no part in it are queries:
the checksum of a composer or title decides (`share_of`).
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from roslin.benchmark.queries import SUNG, TYPED, Edit, cut
from roslin.errors import ArgumentError
from roslin.matchers import matcher
from roslin.melody import Melody
from roslin.notation import records
from roslin.represent.line import melodic_line
from roslin.search.program import checksum
from roslin.starter import tunes_path
from roslin.truth.model import Truth
from roslin.truth.qrel import read_truth

NOTES, LEAST = 12, 16  # of a piece, and of a melody that one is taken from
LEAST_NOTES, MOST_NOTES = 8, 400  # of tunes and chants
STRANGERS = 2000  # melodies without relatives among the queries
AMONG = 4000  # melodies among which a typed one is looked for
SHARES = ("fit", "fit", "choose", "report")
# Few composers have most of RISM's pairs. Of the numbers from 0 to 39, this one brings the shares of all lists nearest
# to a half, a quarter and a quarter.
SALT = 19
_SEED = 7


@dataclass(frozen=True)
class QuerySet:
    """One list of queries with their answers among the documents."""

    task: str
    form: str
    documents: list[Melody]
    queries: list[Melody]
    truth: Truth

    @property
    def name(self) -> str:
        return f"{self.task}, {self.form}"

    @property
    def sha256(self) -> str:
        """Of everything that a result depends on."""
        notes = [each.notes.tobytes().hex() + str(each.id) for each in (*self.documents, *self.queries)]
        return checksum(*notes, json.dumps(list(self.truth.items())))


@dataclass(frozen=True)
class Sources:
    """The places of the music, and the largest number of queries of a column."""

    folder: Path | None = None  # with rism/incipits.jsonl.gz and rism/same_work_*.qrel
    incipits: Path | None = None
    truth: Path | None = None
    queries: int = 60


@dataclass(frozen=True)
class BenchmarkTask:
    """A task. `missing` describes the music that it lacks, and is empty if it lacks none."""

    title: str
    columns: Callable[[Sources], Iterator[QuerySet]]
    missing: Callable[[Sources], str] = field(default=lambda _: "")


# -- columns ----------------------------------------------------------------------------------------------------------


def of_relatives(
    task: str, melodies: Sequence[Melody], relatives: Mapping[int, Sequence[int]], asked: Iterable[int], most: int
) -> Iterator[QuerySet]:
    """Whole melodies, their first notes, and notes from within. Their relatives should come first.

    `relatives` has those of a melody by number, and `asked` the melodies that may be queries.
    """
    rng = np.random.default_rng(_SEED)
    queries = sorted(asked)
    if len(queries) > most:
        queries = sorted(rng.choice(queries, most, replace=False).tolist())
    strangers = rng.choice(len(melodies), min(STRANGERS, len(melodies)), replace=False).tolist()
    among = sorted({*queries, *strangers, *(other for query in queries for other in relatives[query])})
    documents = [melodies[number] for number in among]
    forms: dict[str, list[Melody]] = {"whole": [], f"first {NOTES}": [], f"{NOTES} from within": []}
    for number in queries:
        melody, length = melodies[number], len(melodic_line(melodies[number]))
        forms["whole"].append(melody)
        if length >= LEAST:
            start = int(rng.integers(2, length - NOTES - 1))
            forms[f"first {NOTES}"].append(cut(melody, 0, NOTES).with_metadata(id=melody.id))
            forms[f"{NOTES} from within"].append(cut(melody, start, start + NOTES).with_metadata(id=melody.id))
    answers = {melodies[query].id: [[str(melodies[other].id) for other in relatives[query]]] for query in queries}
    for form, found in forms.items():
        if found:
            yield QuerySet(task, form, documents, found, Truth({str(each.id): answers[each.id] for each in found}))


def of_forms(task: str, melodies: Sequence[Melody], forms: Mapping[str, Edit], most: int) -> Iterator[QuerySet]:
    """The first notes of melodies, changed. The melody, or one with its intervals, should come first."""
    drawn = np.random.default_rng(_SEED).permutation(len(melodies))[:AMONG]
    documents = [melodies[number] for number in sorted(drawn.tolist())]
    same: dict[bytes, list[str]] = defaultdict(list)
    for melody in documents:
        same[intervals(melody)].append(str(melody.id))
    for form, edit in forms.items():
        queries = []
        for number in drawn.tolist():
            melody = melodies[number]
            if len(melodic_line(melody)) >= NOTES:
                changed = edit(cut(melody, 0, NOTES), np.random.default_rng(number))
                if changed is not None:
                    queries.append((changed.with_metadata(id=f"{melody.id}/{form}"), same[intervals(melody)]))
            if len(queries) == most:
                break
        if queries:
            truth = Truth({str(query.id): [answers] for query, answers in queries})
            yield QuerySet(task, form, documents, [query for query, _ in queries], truth)


def intervals(melody: Melody) -> bytes:
    """The intervals of the line, to compare melodies by."""
    return np.diff(melodic_line(melody)["pitch_midi"].astype(np.int64)).tobytes()


def _read(path: Path) -> list[Melody]:
    found = (record.melody for record in records(path, strict=False))
    return [melody for melody in found if melody is not None and len(melodic_line(melody))]


# -- what was trained on ----------------------------------------------------------------------------------------------


def share_of(group: str) -> str:
    """Where a composer or title belongs.

    >>> share_of("roslin castle") in SHARES
    True
    """
    return SHARES[hashlib.sha256(f"{SALT} {group}".encode()).digest()[0] % len(SHARES)]


def title_key(title: str) -> str:
    """The title in small letters, without accents, articles, signs and the dance that follows a dash.

    >>> title_key("MONEY MUSK -- STRATHSPEY") == title_key("Money Musk, The")
    True
    """
    plain = unicodedata.normalize("NFKD", title.partition("--")[0]).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9 ]", "", re.sub(r"\(.*?\)", "", plain)).split()
    return " ".join(word for word in words if word not in ("a", "an", "the"))


# -- the tasks --------------------------------------------------------------------------------------------------------


def _starter(sources: Sources) -> Iterator[QuerySet]:
    melodies = _read(tunes_path())
    family = defaultdict(list)
    for number, melody in enumerate(melodies):
        family[melody.extra["family"]].append(number)
    return of_relatives("starter", melodies, *_within(family.values()), sources.queries)


def _within(groups: Iterable[Sequence[int]]) -> tuple[dict[int, list[int]], list[int]]:
    """For each melody the others of its group, and the melodies that have any."""
    found = {number: [other for other in group if other != number] for group in groups for number in group}
    relatives = {number: others for number, others in found.items() if others}
    return relatives, list(relatives)


def _changed(task: str, forms: Mapping[str, Edit]) -> Callable[[Sources], Iterator[QuerySet]]:
    """Melodies of RISM, or else of the starter collection, in these forms."""
    return lambda sources: of_forms(
        task, _read(sources.incipits or _rism_file(sources) or tunes_path()), forms, sources.queries
    )


def _rism_file(sources: Sources) -> Path | None:
    path = sources.folder / "rism" / "incipits.jsonl.gz" if sources.folder else None
    return path if path and path.is_file() else None


def same_work(folder: Path, kind: str) -> tuple[list[Melody], dict[int, list[int]]]:
    """RISM's incipits, and which have the same work: `strict` or `hard`."""
    melodies = _read(folder / "rism" / "incipits.jsonl.gz")
    number = {melody.id: place for place, melody in enumerate(melodies)}
    truth = read_truth(folder / "rism" / f"same_work_{kind}_dev.qrel")
    found = {
        number[query]: [number[id] for group in groups for id in group if id in number]
        for query, groups in truth.items()
        if query in number
    }
    return melodies, {query: others for query, others in found.items() if others}


def _rism(sources: Sources) -> Iterator[QuerySet]:
    assert sources.folder is not None
    for kind in ("strict", "hard"):
        melodies, relatives = same_work(sources.folder, kind)
        same: dict[bytes, list[int]] = defaultdict(list)
        for number, melody in enumerate(melodies):
            same[intervals(melody)].append(number)
        asked = [
            query for query in relatives if share_of(melodies[query].composer or melodies[query].id or "") == "report"
        ]
        # An unjudged copy is neither a relative nor a stranger.
        unjudged = {
            other
            for query in asked
            for other in same[intervals(melodies[query])]
            if other != query and other not in relatives[query]
        } - {other for query in asked for other in (query, *relatives[query])}
        kept = [number for number in range(len(melodies)) if number not in unjudged]
        place = {number: at for at, number in enumerate(kept)}
        among = {place[query]: [place[other] for other in relatives[query]] for query in asked}
        yield from of_relatives(f"rism {kind}", [melodies[number] for number in kept], among, among, sources.queries)


BOOKS = {"airdsAirs": "aird", "oneills1850": "oneill", "ryansMammoth": "ryan", "miscFolk": "misc"}
# Titles are weak evidence: "Lied" or "Jig" names many tunes. A pair of the same title belongs together if any of three
# matchers that have no part in `roslin` puts it among this share of the nearest strangers.
NEAREST_STRANGERS = 0.012
WITNESSES = ("dp", "time", "us")


def music21_corpus() -> Path | None:
    """The folder of tunes that music21 carries."""
    spec = find_spec("music21")
    return Path(str(spec.origin)).parent / "corpus" if spec and spec.origin else None


def tunes_in(paths: Iterable[Path]) -> Iterator[Melody]:
    """Tunes that are neither very short nor very long."""
    for path in paths:
        for melody in _read(path):
            if LEAST_NOTES <= len(melodic_line(melody)) <= MOST_NOTES:
                yield melody


def of_one_title(titles: Sequence[str], melodies: Sequence[Melody]) -> dict[int, list[int]]:
    """Melodies with the same title that any of the witnesses puts among the nearest."""
    by_title = defaultdict(list)
    for place, title in enumerate(titles):
        by_title[title].append(place)
    witnesses = [matcher(name) for name in WITNESSES]
    strangers = [melodies[place] for place in np.random.default_rng(1).choice(len(melodies), 500, replace=False)]
    kept = {}
    for places in (each for each in by_title.values() if 1 < len(each) <= 20):
        for query in places:
            others = [other for other in places if other != query]
            near = np.zeros(len(others), dtype=bool)
            for witness in witnesses:
                limit = np.quantile(witness.distances(melodies[query], strangers), NEAREST_STRANGERS)
                near |= witness.distances(melodies[query], [melodies[other] for other in others]) < limit
            if near.any():
                kept[query] = [other for other, is_near in zip(others, near, strict=True) if is_near]
    return dict(sorted(kept.items()))


def tune_books(corpus: Path) -> tuple[list[str], list[Melody], dict[int, list[int]]]:
    """Titles and tunes of the printed books, one of each title and book, and which belong together."""
    found = []
    for folder, book in BOOKS.items():
        seen = set()
        for number, melody in enumerate(tunes_in(sorted((corpus / folder).rglob("*.abc")))):
            key = title_key(melody.title or "")
            if key and key not in seen:
                seen.add(key)
                found.append((key, melody.with_metadata(id=f"{book}-{number}")))
    titles, melodies = [title for title, _ in found], [melody for _, melody in found]
    return titles, melodies, of_one_title(titles, melodies)


def _books(sources: Sources) -> Iterator[QuerySet]:
    corpus = music21_corpus()
    assert corpus is not None
    titles, melodies, relatives = tune_books(corpus)
    asked = [query for query in relatives if share_of(titles[query]) == "report"]
    return of_relatives("books", melodies, relatives, asked, sources.queries)


_SUNG_GENRES = {"A", "R", "H", "I", "In", "Gr", "Al", "Of", "Cm", "Tc", "Sq"}  # with melodies of their own
_MOST_OF_ONE_ID = 20


def cantus_corpus() -> Path | None:
    """The chants that pycantus carries. It has a sample of them as well."""
    spec = find_spec("pycantus")
    found = Path(str(spec.origin)).parent.rglob("chants.csv") if spec and spec.origin else ()
    return max(found, key=lambda path: path.stat().st_size, default=None)


def _chant(sources: Sources) -> Iterator[QuerySet]:
    """Chants with one Cantus id; formulas, to which any words are sung, are left out."""
    path = cantus_corpus()
    assert path is not None
    rows_of: dict[str, list[dict[str, str]]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if (row.get("volpiano") or row.get("melody")) and row["genre"] in _SUNG_GENRES:
                rows_of[row["cantus_id"]].append(row)
    ids = np.random.default_rng(_SEED).permutation(sorted(id for id, rows in rows_of.items() if id and len(rows) > 1))
    chosen = [row for id in ids.tolist() for row in rows_of[id][:_MOST_OF_ONE_ID]][:AMONG]
    with TemporaryDirectory() as folder:
        some = Path(folder) / "chants.csv"
        with some.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(chosen[0]))
            writer.writeheader()
            writer.writerows(chosen)
        melodies = [melody for melody in _read(some) if len(melody) >= NOTES]
    groups = defaultdict(list)
    for number, melody in enumerate(melodies):
        groups[melody.extra["cantus_id"]].append(number)
    return of_relatives("chant", melodies, *_within(groups.values()), sources.queries)


def _own(sources: Sources) -> Iterator[QuerySet]:
    assert sources.incipits is not None
    assert sources.truth is not None
    melodies = {str(melody.id): melody for melody in _read(sources.incipits)}
    truth = read_truth(sources.truth)
    asked = [query for query in truth if query in melodies][: sources.queries]
    if not asked:
        raise ArgumentError(f"{sources.truth}: no query of the truth is in {sources.incipits}; are the ids the same?")
    chosen = Truth({query: truth[query] for query in asked}, name=sources.truth.stem)
    yield QuerySet("own", sources.truth.stem, list(melodies.values()), [melodies[query] for query in asked], chosen)


def _without_rism(sources: Sources) -> str:
    return "" if _rism_file(sources) else "needs a folder with rism/incipits.jsonl.gz (--data, or ROSLIN_DATA)"


def _without_package(name: str, found: Callable[[], Path | None]) -> Callable[[Sources], str]:
    return lambda _: "" if found() else f"needs the package {name}: pip install {name}"


TASKS: dict[str, BenchmarkTask] = {
    "starter": BenchmarkTask("tunes of the starter collection and their variants", _starter),
    "typed": BenchmarkTask(f"the first {NOTES} notes of a melody, as people type them", _changed("typed", TYPED)),
    "sung": BenchmarkTask(f"the first {NOTES} notes of a melody, as people sing them", _changed("sung", SUNG)),
    "rism": BenchmarkTask("the same work in different sources of RISM", _rism, _without_rism),
    "books": BenchmarkTask(
        "the same title in different tune books", _books, _without_package("music21", music21_corpus)
    ),
    "chant": BenchmarkTask(
        "the same chant in different manuscripts", _chant, _without_package("pycantus", cantus_corpus)
    ),
    "own": BenchmarkTask(
        "a ground truth of yours",
        _own,
        lambda sources: "" if sources.truth and sources.incipits else "needs --incipits FILE and --truth FILE",
    ),
}
