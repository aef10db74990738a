"""The plan of a study file: its material, every query with its candidates, and the practice."""

from __future__ import annotations

import csv
import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from roslin.api import Collection, Selection
from roslin.collection.filters import ASKED, NEAR, Filter, FilterReport, all_asked, metadata_of
from roslin.display.text import counted
from roslin.errors import ExperimentError, Problem, UnknownNameError
from roslin.evaluate.tables import rank_spread
from roslin.experiment.plan import SIZES, Item, Practice, StudyPlan, StudyRules, Task, most_comparisons
from roslin.experiment.study_toml import TEXTS, PoolTable, QueryWish, StudyDraft
from roslin.matchers import DEFAULT_MATCHER
from roslin.matchers import matcher as matcher_of
from roslin.melody import Melody
from roslin.notation import pae
from roslin.notation.query import read_query
from roslin.represent.edits import EditCosts, parse_costs
from roslin.represent.strings import strings_of
from roslin.types import Progress
from roslin.values.toml_file import TomlPlace

POOL_COLUMNS = ("query", "document", "title", "composer", "why")

PoolRow = Mapping[str, str]
"""The reason for a candidate, by `POOL_COLUMNS`."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A complete plan, remarks about it, the reasons for pooled candidates, and the text of the file."""

    plan: StudyPlan
    notes: tuple[str, ...]
    pool: tuple[PoolRow, ...]
    source: str


def planned(
    draft: StudyDraft, material: Material, kept: Mapping[str, Sequence[PoolRow]], progress: Progress
) -> Planned:
    """The plan of a file. `kept`: pools that stay unchanged, by query."""
    tasks: list[Task] = []
    notes: list[str] = []
    rows: list[PoolRow] = []
    hides_query = draft.file.design.query_among_candidates
    for place, wish in enumerate(draft.queries):
        progress(place / len(draft.queries), f"candidates of {wish.id}")
        query = _query_item(wish, material)
        ids, said = wish.candidates, ""
        if wish.pool is not None and isinstance(material, MelodyMaterial):
            if wish.id in kept:
                found = list(kept[wish.id])
                said = f"the pool stays as it is: {counted(len(found), 'candidate')}."
            else:
                melodies, melody, at = material.collection, material.melodies[wish.id], wish.place.below("pool")
                pool = pooled(melodies, melody, wish.pool, at, hides_query=hides_query)
                found, said = [_row(wish.id, melodies[id], why) for id, why in pool.why.items()], pool.sentence
            ids = tuple(row["document"] for row in found)
            rows += found
        candidates = [material.item(id, wish.place, "candidates") for id in ids if id != query.id]
        if hides_query or query.id in ids:
            candidates.insert(0, query)
        at_once = SIZES.get(draft.plan.rules.design, 2)
        if len(candidates) < at_once:
            raise wish.place.error("", "too few candidates to compare", f"{at_once} or more", len(candidates))
        tasks.append(Task(query, tuple(candidates)))
        notes.append(f"{query.id}: {said or _by_name(tasks[-1])}{_possible(draft.plan.rules, len(candidates))}")
    plan = replace(draft.plan, tasks=tuple(tasks), practice=_practice(draft, material))
    if plan.rules.keeps_participant:
        notes.append("The ids that participants bring along are kept: the consent must say so.")
    ships_texts = any(getattr(draft.file.study, name) is None for name in TEXTS)
    if ships_texts and not isinstance(material, MelodyMaterial):
        notes.append("The texts that come with Roslin speak of melodies: write your own.")
    return Planned(plan, tuple(notes), tuple(rows), draft.place.source)


def _row(query: str, melody: Melody, reasons: Sequence[str]) -> PoolRow:
    values = (query, melody.id, melody.title, melody.composer, " ".join(reasons))
    return {name: value or "" for name, value in zip(POOL_COLUMNS, values, strict=True)}


def _by_name(task: Task) -> str:
    others = sum(item != task.query for item in task.candidates)
    itself = ", and the query itself" if task.query in task.candidates else ""
    return f"{counted(others, 'candidate')} by name{itself}."


def _possible(rules: StudyRules, candidates: int) -> str:
    """A remark if fewer comparisons are possible than were wanted."""
    possible = most_comparisons(candidates, SIZES.get(rules.design, 2))
    if rules.design == "ranking" or possible >= rules.comparisons:
        return ""
    return f" Of the {rules.comparisons} comparisons only {possible} can be made: nobody compares two candidates twice."


def _query_item(wish: QueryWish, material: Material) -> Item:
    if isinstance(material, MelodyMaterial) and wish.notation:
        return material.written(wish.id, wish.notation, wish.place)
    if isinstance(material, FileMaterial) and wish.notation:
        raise wish.place.error("notation", "is for melodies", "an id of the table")
    if isinstance(material, FileMaterial) and wish.pool is not None:
        raise wish.place.error("pool", "is for melodies", "candidates = [...]")
    return material.item(wish.id, wish.place, "id")


def _practice(draft: StudyDraft, material: Material) -> Practice | None:
    asked, place = draft.file.practice, draft.place.below("practice")
    if asked.skip:
        return None
    if asked.query:
        query = material.item(asked.query, place, "query")
        candidates = [material.item(id, place, "expected") for id in asked.expected]
        return Practice(Task(query, tuple(candidates)), dict(asked.expected))
    if not isinstance(material, MelodyMaterial):
        return None
    melodies, expected = usual_practice()
    for id in melodies:
        if id in material.melodies:
            raise place.error("", "an id of the practice is one of the study", "another id", id)
    items = {id: material.take(id, melody) for id, melody in melodies.items()}
    return Practice(Task(items.pop(PRACTICE_QUERY), tuple(items.values())), expected)


# -- material ----------------------------------------------------------------------------------------------------------
#
# Melodies of a collection, or pictures and sounds of a folder, each under an id. Files are copied under names made from
# their content and the key of the study: the same file always has the same name, and the name does not reveal anything.
# The type of a file follows from its first bytes. Its ending must agree. SVG is refused, because it can have scripts.


_COLUMNS = ("id", "picture", "sound")
_LARGEST_FILE = 20 * 1024 * 1024
_PICTURES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".webp": "webp"}
_SOUNDS = {".mp3": "mp3", ".ogg": "ogg", ".wav": "wav", ".flac": "flac"}
_FIRST_BYTES = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"OggS": "ogg", b"fLaC": "flac", b"ID3": "mp3"}


@dataclass
class MelodyMaterial:
    """Melodies of a collection. Requested melodies are remembered for the study."""

    collection: Collection
    melodies: dict[str, Melody] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)

    def item(self, id: str, place: TomlPlace, key: str) -> Item:
        try:
            return self.take(id, self.collection[id])
        except UnknownNameError as error:
            some = ", ".join(error.known)
            raise place.error(key, f"no melody of {self.collection.path.name}", f"an id such as {some}", id) from None

    def written(self, id: str, notation: str, place: TomlPlace) -> Item:
        if id in self.collection:
            raise place.error("id", "a melody of the collection has this id", "another id, or no notation", id)
        with place.blaming("notation"):
            melody = read_query(notation)
        return self.take(id, melody.with_metadata(id=id))

    def take(self, id: str, melody: Melody) -> Item:
        """Use a melody in the study. Its content is everything that is drawn and played."""
        self.melodies[id] = melody
        drawn = (melody.clef, melody.key_signature, melody.metre, *map(repr, melody.changes))
        digest = hashlib.blake2b("\0".join(map(str, drawn)).encode(), digest_size=8)
        digest.update(melody.notes.tobytes())
        digest.update(melody.barlines_ticks.tobytes())
        return Item(str(melody.id), content=digest.hexdigest())


@dataclass
class FileMaterial:
    """Pictures and sounds from a table with the columns id, picture and sound. Requested files are remembered."""

    path: Path
    items: dict[str, Item]
    sources: dict[str, Path]  # by the name in the study's folder
    melodies: dict[str, Melody] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)

    def item(self, id: str, place: TomlPlace, key: str) -> Item:
        if id not in self.items:
            some = ", ".join([*sorted(self.items)[:3], "..."])
            raise place.error(key, f"no id of {self.path.name}", f"one such as {some}", id)
        item = self.items[id]
        self.files |= {name: self.sources[name] for name in (item.picture, item.sound) if name}
        return item


Material = MelodyMaterial | FileMaterial


@contextmanager
def open_material(draft: StudyDraft, key: bytes) -> Iterator[Material]:
    """The material of a study file."""
    material, place = draft.file.material, draft.place.below("material")
    if not material.collection:
        folder, table = draft.beside(material.folder), draft.beside(material.table)
        if not folder.is_dir():
            raise place.error("folder", "no such folder", "a folder beside this file", material.folder)
        if not table.is_file():
            raise place.error("table", "no such file", "a CSV file beside this file", material.table)
        try:
            listed = _read_table(table, folder, key)
        except (UnicodeDecodeError, csv.Error) as error:
            raise place.error("table", "cannot be read", "a CSV file in UTF-8", str(error)) from None
        yield listed
        return
    path = draft.beside(material.collection)
    if not path.exists():
        raise place.error("collection", "no such file", "a collection beside this file", material.collection)
    if path.suffix == ".roslin":
        with Collection(path) as collection:
            yield MelodyMaterial(collection)
        return
    with TemporaryDirectory() as made, Collection.build(path, Path(made) / f"{path.stem}.roslin") as collection:
        yield MelodyMaterial(collection)


def _read_table(path: Path, folder: Path, key: bytes) -> FileMaterial:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file)
        columns = list(rows.fieldnames or ())
        if "id" not in columns or not {"picture", "sound"} & set(columns):
            raise _refused(path, 1, "columns are missing", "id, and picture or sound or both", ", ".join(columns))
        items: dict[str, Item] = {}
        sources: dict[str, Path] = {}
        for row in rows:
            id, *named = ((row.get(column) or "").strip() for column in _COLUMNS)
            if not id or not any(named):
                raise _refused(path, rows.line_num, "a row is not complete", "an id, and a picture or a sound", id)
            if id in items:
                raise _refused(path, rows.line_num, "an id is there twice", "each once", id)
            names = ["", ""]
            for place, (name, known) in enumerate(zip(named, (_PICTURES, _SOUNDS), strict=True)):
                if name:
                    names[place] = _checked(path, rows.line_num, folder, name, known, key)
                    sources[names[place]] = folder / name
            items[id] = Item(id, *names)
    return FileMaterial(path, items, sources)


def _checked(table: Path, line: int, folder: Path, name: str, known: dict[str, str], key: bytes) -> str:
    """The name of a file in the folder of the study."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        raise _refused(table, line, f"no such file in {folder.name}", "the name of a file", name)
    ending = path.suffix.lower()
    if ending not in known:
        raise _refused(table, line, "a file of another kind", f"one that ends with {', '.join(known)}", name)
    size = path.stat().st_size
    if size > _LARGEST_FILE:
        most = f"{_LARGEST_FILE // 1024**2} MiB at most"
        raise _refused(table, line, "a file is too large", most, f"{name}, {size:,} bytes")
    content = path.read_bytes()
    kind = _kind(content)
    if kind != known[ending]:
        reason = f"{name} is not of the kind that its ending names"
        raise _refused(table, line, reason, known[ending], kind or "something else")
    return hmac.new(key, content, hashlib.sha256).hexdigest()[:32] + ending


def _kind(content: bytes) -> str:
    """The type of a file by its first bytes."""
    head = content[:16]
    for start, kind in _FIRST_BYTES.items():
        if head.startswith(start):
            return kind
    if head[:4] == b"RIFF":
        return {b"WEBP": "webp", b"WAVE": "wav"}.get(head[8:12], "")
    is_frame = len(head) > 1 and head[0] == 0xFF and head[1] & 0xE6 == 0xE2  # the first frame of an MP3 without a tag
    return "mp3" if is_frame else ""


def _refused(path: Path, line: int, reason: str, expected: str, found: str) -> ExperimentError:
    return ExperimentError(str(Problem(reason, expected, repr(found), line=line, file=str(path))))


# -- practice ----------------------------------------------------------------------------------------------------------
#
# The usual practice: variants of a nursery tune among other tunes.


PRACTICE_QUERY = "practice-query"
# "Hänschen klein" (traditional); among the others "Der Winter ist vergangen" (traditional).
_QUERY = "%G-2@c '4GE2E/4FD2D/4CDEF/4GG2G//"
_CANDIDATES = {
    "practice-higher": ("resembles", "%G-2$xFC@c '4AF2F/4GE2E/4DEFG/4AA2A//"),
    "practice-decorated": ("resembles", "%G-2@c '8GFEFE2E/8FEDED2D/8CEDFEGFA/4GG2G//"),
    "practice-longer": ("resembles", "%G-2@c '4.G8E2E/4.F8D2D/4.C8DEDEF/4GG2G//"),
    "practice-call": ("no", "%G-2@6/8 '8C/4E8G4''C'8G/4E8G4.E/4D8F4A8F/4.D4D//"),
    "practice-winter": ("no", "%G-2$bB@3/4 '4C/FFG/A2F/4AB''C/'2A4A//"),
    "practice-scale": ("no", "%G-2@3/4 ''4C'BA/GFE/2D4G/2.C//"),
}


def usual_practice() -> tuple[dict[str, Melody], dict[str, str]]:
    """The melodies of the practice, the query first, and the expected answer for each candidate."""
    query = {PRACTICE_QUERY: _QUERY} | {id: text for id, (_, text) in _CANDIDATES.items()}
    melodies = {id: pae.read(text).with_metadata(id=id) for id, text in query.items()}
    return melodies, {id: expected for id, (expected, _) in _CANDIDATES.items()}


# -- pool --------------------------------------------------------------------------------------------------------------
#
# Candidates for a query, found as in Typke et al. (2007), section 3.1, but without a selection by hand at the end:
#
# 1. Filters select melodies that may resemble the query.
# 2. Words in metadata and the first results of several matchers add melodies, even those that the filters removed.
# 3. Candidates that are identical with another one or part of it are removed.
# 4. At most `most` are kept: those found by words, named in the file, or about which matchers disagree most (the most
#    informative ones), and then in turn the closest of each matcher. The authors chose about fifty by hand.


_LISTS_PER_POOL = 2  # length of a list in pools: duplicates take places, and a list may miss results of others
_TOO_MANY = 5_000  # the authors had fewer than 300 left


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of a query by id, the reasons for each, and a summary in a few sentences."""

    why: dict[str, tuple[str, ...]]
    sentence: str


def pooled(collection: Collection, query: Melody, asked: PoolTable, place: TomlPlace, *, hides_query: bool) -> Pool:
    """The candidates of a query without the query. If it hides among them, none is identical with it."""
    pooling = _Pooling(collection, query, asked, place, hides_query)
    pooling.filter()
    pooling.add_by_words()
    pooling.add_by_systems()
    pooling.add_by_name()
    kept = pooling.cut(pooling.left_in(pooling.distinct()))
    story = pooling.story
    if len(kept) < 2:
        raise place.error("", f"the pool has {counted(len(kept), 'candidate')}", "at least 2", " ".join(story))
    itself = ", and the query itself" if hides_query else ""
    story.append(f"{counted(len(kept), 'candidate')}{itself}.")
    return Pool({id: tuple(pooling.why[id]) for id in kept}, " ".join(story))


def _filters(asked: PoolTable, place: TomlPlace, query: Melody) -> Iterator[Filter]:
    costs: EditCosts | None = None
    if asked.costs:
        if not any(getattr(asked, name) for name in NEAR):
            raise place.error("costs", "is for contour and rhythm", "contour = ... or rhythm = ...")
        with place.blaming("costs"):
            costs = parse_costs(asked.costs)
    if "times" in asked.model_fields_set and not asked.motive:
        raise place.error("times", "needs a motive", "motive = ...")
    for name in ASKED:
        if texts := getattr(asked, name):
            with place.blaming(name):
                yield from all_asked({name: texts}, times=asked.times, query=query, costs=costs)


class _Pooling:
    """A pool in progress: the reasons for each candidate, in order of arrival, and the summary so far."""

    def __init__(self, collection: Collection, query: Melody, asked: PoolTable, place: TomlPlace, hides_query: bool):
        self.collection, self.query, self.asked, self.place = collection, query, asked, place
        self.filters = tuple(_filters(asked, place, query))
        with place.blaming("also"):
            self.words = [metadata_of(text, "also") for text in asked.also]
        with place.blaming("matchers"):
            self.matchers = {str(matcher_of(name)): first for name, first in asked.matchers.items()}
        if asked.disagreement and len(self.matchers) < 2:
            count = len(self.matchers)
            raise place.error("disagreement", "needs matchers that disagree", "at least two matchers", count)
        if not (self.filters or self.words or self.matchers or asked.add):
            raise place.error("", "no source of candidates is given", "a filter, also, matchers or add")
        self.why: dict[str, list[str]] = {}
        self.chosen: set[str] = set(asked.add)  # kept at the end
        self.story = [f"{counted(len(collection), 'melody', 'melodies')}."]
        self.hidden = _letters(query) if hides_query else []
        self.parts_of_query: dict[str, bool] = {}

    def filter(self) -> None:
        if not self.filters:
            return
        found = self.collection.filter(*self.filters)
        self.story += [f"{step.sentence} {step.left:,} left." for step in found.report.steps]
        if len(found) > _TOO_MANY:
            raise self.place.error("", "the filters leave too many", f"{_TOO_MANY:,} at most, better 300", len(found))
        self._add(found.ids, "Passed the filters.")

    def add_by_words(self) -> None:
        for way in self.words:
            ids = self.collection.filter(way).ids
            if len(ids) > _TOO_MANY:
                raise self.place.error("also", "too many have these words", f"{_TOO_MANY:,} at most", len(ids))
            self.story.append(f"{self._add(ids, way.sentence)} added: {way.sentence}")
            self.chosen |= set(ids)

    def add_by_systems(self) -> None:
        """Add the first results of each matcher, and those about which the matchers disagree most."""
        lists: dict[str, list[str]] = {}
        for name, first in self.matchers.items():
            depth = _LISTS_PER_POOL * max(first, self.asked.most)
            with self.place.blaming("matchers"):
                lists[name] = self.collection.search(self.query, name, depth, exclude=(str(self.query.id),)).ids
        for name, first in self.matchers.items():
            ids = self._first(lists[name], first)
            added = sum(self._add([id], f"Rank {rank} of {name}.") for rank, id in enumerate(ids, start=1))
            self.story.append(f"{added} added by {name}, of its first {len(ids)}.")
        if not self.asked.disagreement:
            return
        ranks = _ranks(lists)
        missing = 1 + max(map(len, lists.values()))
        apart = sorted(ranks, key=lambda id: (-round(rank_spread(ranks[id].values(), missing), 9), id))
        most = self._first(apart, self.asked.disagreement)
        added = 0
        for id in most:
            said = ", ".join(f"{name} {rank or '-'}" for name, rank in ranks[id].items())
            added += self._add([id], f"The matchers disagree: {said}.")
        new = f"; {added} of them new" if added else ""
        self.story.append(f"The {len(most)} about which {', '.join(lists)} disagree most stay in any case{new}.")
        self.chosen |= set(most)

    def add_by_name(self) -> None:
        for id in self.asked.add:
            self._check_known("add", id)
            if id == self.query.id:
                expected = "query_among_candidates = true, if it is to be there"
                raise self.place.error("add", "this is the query", expected, id)
        self._add(self.asked.add, "Named in the file.")

    def distinct(self) -> list[str]:
        """The candidates without duplicates and parts of others; those named in the file stay."""
        left = set(self._distinct(list(self.why)))
        kept = [id for id in self.why if id in left or id in self.asked.add]
        if self.asked.unique:
            self.story.append(f"{len(self.why) - len(kept)} removed: identical with another, or part of it.")
        return kept

    def left_in(self, ids: Sequence[str]) -> list[str]:
        for id in self.asked.leave_out:
            self._check_known("leave_out", id)
        kept = [id for id in ids if id not in self.asked.leave_out]
        if self.asked.leave_out:
            self.story.append(f"{len(ids) - len(kept)} left out by name.")
        return kept

    def cut(self, ids: Sequence[str]) -> list[str]:
        """At most `most` candidates: the chosen ones, then the closest ones of each matcher in turn."""
        if len(ids) <= self.asked.most:
            return list(ids)
        kept = dict.fromkeys(id for id in ids if id in self.chosen)
        if len(kept) > self.asked.most:
            reason = "more than that were found by words, by name or by disagreement"
            raise self.place.error("most", reason, f"{len(kept)} or more", self.asked.most)
        numbers = np.sort(self.collection.numbers(ids))
        systems = list(self.matchers) or [DEFAULT_MATCHER]
        lists = [self.collection.search(self.query, name, len(ids), within=numbers).ids for name in systems]
        in_turn = [id for places in zip_longest(*lists) for id in places if id is not None]
        for id in in_turn:
            if len(kept) >= self.asked.most:
                break
            kept.setdefault(id)
        names = ", ".join(systems) + " in turn" * (len(systems) > 1)
        self.story.append(f"{len(ids) - len(kept)} removed: the furthest from the query by {names}.")
        return list(kept)

    def _add(self, ids: Iterable[str], reason: str) -> int:
        """Record a reason for each melody; returns how many were new."""
        before = len(self.why)
        for id in ids:
            if id != self.query.id:
                self.why.setdefault(id, []).append(reason)
        return len(self.why) - before

    def _first(self, ids: Sequence[str], wanted: int) -> list[str]:
        """The beginning of a list with this number of different melodies; duplicates do not count."""
        length = wanted
        while length < len(ids) and (lacking := wanted - len(self._distinct(ids[:length]))) > 0:
            length += lacking
        return list(ids[:length])

    def _distinct(self, ids: Sequence[str]) -> list[str]:
        if not self.asked.unique:
            return list(ids)
        all_of_them = FilterReport(len(self.collection), (), np.sort(self.collection.numbers(ids)))
        selection = Selection(self.collection, all_of_them, self.collection.about["token"])
        left = selection.without_near_duplicates(exact_rhythm=self.asked.unique == "exactly").ids
        return [id for id in left if not self._is_part_of_query(id)]

    def _is_part_of_query(self, id: str) -> bool:
        """Whether a melody is identical with the hidden query, or part of it."""
        if id not in self.parts_of_query:
            part = _letters(self.collection[id]) if self.hidden else []
            starts = range(len(self.hidden) - len(part) + 1) if part else range(0)
            self.parts_of_query[id] = any(self.hidden[start : start + len(part)] == part for start in starts)
        return self.parts_of_query[id]

    def _check_known(self, key: str, id: str) -> None:
        if id not in self.collection:
            raise self.place.error(key, f"no melody of {self.collection.path.name}", "the id of one", id)


def _ranks(lists: Mapping[str, Sequence[str]]) -> dict[str, dict[str, int | None]]:
    """The rank of every document in each list; None if it is not in the list."""
    places = {name: {id: rank for rank, id in enumerate(ids, start=1)} for name, ids in lists.items()}
    documents = dict.fromkeys(id for ids in lists.values() for id in ids)
    return {id: {name: place.get(id) for name, place in places.items()} for id in documents}


def _letters(melody: Melody) -> list[str]:
    """Interval and rhythm of each pair of notes, which decide whether two melodies are the same."""
    strings = strings_of(melody)
    return [*map("".join, zip(strings.chromatic, strings.rhythm, strict=True))]
