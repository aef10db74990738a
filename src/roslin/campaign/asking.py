"""Queries put to matchers: what is asked, how a list of k documents is made of the answer, and lists kept on disk.

Documents at the same distance are in the list all or not at all, because only their ids could put them in order. So
a list whose k-th document is tied continues to the end of the tie. A tie that would make it more than `LONGEST` times
as long is left out as a whole, and `is_cut_in_a_tie` is set.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from types import FunctionType, ModuleType
from typing import Any, Self

import numpy as np

from roslin.collection.store import Store, opened
from roslin.deadline import Work
from roslin.errors import ArgumentError, CollectionError, MelodyError, UnknownNameError
from roslin.matchers import Matcher
from roslin.matchers.base import FunctionMatcher, check_query
from roslin.melody import Melody
from roslin.notation import records
from roslin.represent.line import melodic_line
from roslin.run import Ranking
from roslin.search import Request, search
from roslin.search.program import checksum
from roslin.truth.model import Truth
from roslin.truth.qrel import read_truth
from roslin.types import Progress

LONGEST = 10
Share = tuple[float, float]  # where a question begins and ends in all the work, from 0 to 1


@dataclass(frozen=True, slots=True)
class CampaignQuery:
    """A matcher, and a query with its id. `is_left_out`: the query itself is omitted from its list."""

    matcher: Matcher
    id: str
    query: Melody
    is_left_out: bool


def ask(question: CampaignQuery, collection: Store, k: int, work: Work | None = None) -> Ranking:
    """The list of a matcher with the time for the first k results, or the reason why it refuses the query."""
    itself = frozenset([question.id] if question.is_left_out else [])

    def first(wanted: int) -> tuple[Sequence[str], Sequence[float]]:
        run = search(Request(question.query, question.matcher, wanted, exclude=itself), collection, work)
        values = run.values(run.query) or ()
        # The runs of a campaign have distances: of evidence, what is the most is the nearest.
        return run.ids, values if run.kind == "distance" else [-value for value in values]

    began = time.perf_counter()
    try:
        # One more than is kept, to see whether the end of the list falls into a tie.
        ids, distances = first(k + 1)
    except MelodyError as error:
        return Ranking(question.id, (), (), time.perf_counter() - began, str(error))
    seconds = time.perf_counter() - began
    if len(ids) > k and distances[k] == distances[k - 1]:
        ids, distances = first(LONGEST * k + 1)
    length, is_cut = length_of_list(distances, k)
    return Ranking(question.id, tuple(ids[:length]), tuple(distances[:length]), seconds, is_cut_in_a_tie=is_cut)


def length_of_list(distances: Sequence[float], k: int) -> tuple[int, bool]:
    """How many of the nearest documents are in a list of k, and whether a tie was too large for it.

    `distances` must hold LONGEST * k + 1 of them, or all that there are.

    >>> length_of_list([1.0, 2.0, 2.0, 3.0], 1), length_of_list([1.0, 2.0, 2.0, 3.0], 2), length_of_list([1.0] * 99, 2)
    ((1, False), (3, False), (0, True))
    """
    if len(distances) <= k:
        return len(distances), False
    last = distances[k - 1]
    length = sum(each <= last for each in distances)
    return (length, False) if length <= LONGEST * k else (sum(each < last for each in distances), True)


def answers_here(
    collection: Store,
    k: int,
    threads: int,
    progress: Progress,
    questions: Sequence[CampaignQuery],
    shares: Sequence[Share],
) -> Iterator[Ranking]:
    """The lists for questions, in order, by searches in this process. `shares`: where each is in all the work."""
    warm = set[str]()
    for each, share in zip(questions, shares, strict=True):
        told = _within(progress, share, f"{each.matcher!r}, {each.id}")
        if repr(each.matcher) not in warm:  # the first search of a matcher may make an index: no query's own time
            ask(each, collection, k, Work(threads, progress=told))
            warm.add(repr(each.matcher))
        yield ask(each, collection, k, Work(threads, progress=told))
    progress(1.0, "evaluating")


def _within(progress: Progress, share: Share, name: str) -> Progress:
    begin, end = share
    return lambda done, _: progress(begin + done * (end - begin), name)


def answers_elsewhere(
    collection: Store, k: int, work: Work, questions: Sequence[CampaignQuery], shares: Sequence[Share]
) -> Iterator[Ranking]:
    """The answers of processes that see the collection. Each process opens it once."""
    asking = partial(_ask_there, str(collection.path.resolve()), collection.about["token"], k)
    for each, (_, end), ranking in zip(questions, shares, work.map(asking, questions), strict=True):
        work.report(end, f"{each.matcher!r}, {each.id}")
        yield ranking
    work.report(1.0, "evaluating")


def _ask_there(path: str, token: str, k: int, question: CampaignQuery) -> Ranking:
    """The list for one question, from the collection at a path in the state with a token."""
    collection = opened(path, token)
    key = (path, token, repr(question.matcher))
    with _LOCK:
        is_warm = key in _WARM
        _WARM.add(key)
    if not is_warm:
        ask(question, collection, k)
    return ask(question, collection, k)


_WARM: set[tuple[str, str, str]] = set()
_LOCK = Lock()


# -- questions ---------------------------------------------------------------------------------------------------------
#
# Truths and queries are checked before the first search, because a campaign may take a night.


def chosen_truths(truths: Any) -> list[tuple[Truth, dict[str, Any]]]:
    """Each truth with its entry in the provenance."""
    given = list(truths) if isinstance(truths, (list, tuple)) else [truths]
    if not given:
        raise ArgumentError("a campaign needs at least one truth")
    found = []
    for source in given:
        truth = read_truth(source)
        if not truth:
            raise ArgumentError(f"{source}: the truth has no queries")
        about: dict[str, Any] = {"name": truth.name, "queries": len(truth)}
        if isinstance(source, (str, Path)):
            about |= {"file": Path(source).name, "sha256": hashlib.sha256(Path(source).read_bytes()).hexdigest()}
        else:
            judged = [(query, groups, truth.nonrelevant(query)) for query, groups in truth.items()]
            about["sha256"] = checksum(json.dumps(judged, ensure_ascii=False))
        found.append((truth, about))
    for name, count in Counter(truth.name for truth, _ in found).items():
        if name and count > 1:
            raise ArgumentError(f"two truths are called {name!r}; give each truth a different name")
    return found


def chosen_queries(
    collection: Store, truths: Sequence[Truth], source: str | Path | Iterable[Melody] | None
) -> tuple[dict[str, Melody], list[str]]:
    """The queries of all truths in their order, and what was odd about them."""
    wanted = list(dict.fromkeys(query for truth in truths for query in truth))
    if source is None:
        for query in wanted:
            if query not in collection:
                raise ArgumentError(
                    f"query {query!r} of the truth is no melody of {collection.path.name}; "
                    "give the queries in a file whose ids are those of the truth"
                )
        found = {query: collection[query] for query in wanted}
        remarks: list[str] = []
    else:
        offered, where = _offered(source)
        for query in wanted:
            if query not in offered:
                raise UnknownNameError(f"query of the truth in {where}", query, _some(offered))
        found = {query: offered[query] for query in wanted}
        others = len(offered) - len(found)
        remarks = [f"{others} of {len(offered)} queries of {where} are in no truth: not asked"] if others else []
    for query, melody in found.items():
        try:
            check_query(melody)
        except MelodyError as error:
            raise MelodyError(f"query {query!r}: {error}") from None
    return found, remarks


def documents_asked(collection: Store, queries: Mapping[str, Melody]) -> frozenset[str]:
    """The queries that are melodies of the collection, or pieces of them, by their ids and notes."""
    return frozenset(
        id
        for id, query in queries.items()
        if id in collection and (np.array_equal(collection[id].notes, query.notes) or is_piece(query, collection[id]))
    )


def is_piece(query: Melody, melody: Melody) -> bool:
    """Whether a query has successive notes of the line of a melody, at their pitches and times.

    >>> from roslin import load
    >>> melody, query, other = load("'4CDEF\\n'4DE\\n'4CE")
    >>> is_piece(query, melody), is_piece(other, melody)
    (True, False)
    """
    notes, line = melodic_line(query), melodic_line(melody)
    count = len(notes)
    for start in np.flatnonzero(
        line["pitch_midi"][: max(len(line) - count + 1, 0)] == notes["pitch_midi"][:1]
    ).tolist():
        piece = line[start : start + count]
        times = piece["onset_ticks"] - piece["onset_ticks"][0], notes["onset_ticks"] - notes["onset_ticks"][0]
        if np.array_equal(piece["pitch_midi"], notes["pitch_midi"]) and np.array_equal(*times):
            return True
    return False


def _offered(source: str | Path | Iterable[Melody]) -> tuple[dict[str, Melody], str]:
    where = str(source) if isinstance(source, (str, Path)) else "the queries"
    melodies = (
        (record.melody_or_raise() for record in records(Path(source), strict=True))
        if isinstance(source, (str, Path))
        else source
    )
    offered: dict[str, Melody] = {}
    for number, melody in enumerate(melodies, start=1):
        if not melody.id:
            raise ArgumentError(f"{where}: melody {number} has no id; expected that of a query of the truth")
        if melody.id in offered:
            raise ArgumentError(
                f"{where}: melody {number} has the id {melody.id!r}, which another has; expected a new one"
            )
        offered[melody.id] = melody
    return offered, where


def _some(names: Iterable[str], most: int = 5) -> list[str]:
    first = list(names)
    return first[:most] + ["..."] * (len(first) > most)


def missing_documents(collection: Store, truths: Sequence[Truth]) -> list[str]:
    """A remark for each truth with documents that the collection lacks. One that has none of them is refused."""
    there = set(collection.ids())
    remarks = []
    for place, truth in enumerate(truths, start=1):
        documents = {id for groups in truth.values() for group in groups for id in group}
        missing = documents - there
        name = truth.name or f"truth {place}"
        if documents and missing == documents:
            raise ArgumentError(
                f"{name}: no document of the truth is in {collection.path.name}; are the ids the same? "
                f"The truth has {min(documents)!r}, the collection {min(there, default='nothing')!r}"
            )
        if missing:
            remarks.append(
                f"{name}: {len(missing)} of {len(documents)} documents are not in {collection.path.name}, "
                f"so that nobody can find them ({', '.join(_some(sorted(missing), 3))})"
            )
    return remarks


# -- finished lists ----------------------------------------------------------------------------------------------------
#
# One row for each matcher and query, in a SQLite file. A row is written in one transaction when its list is complete: a
# killed process loses no finished list. Its key is the checksum of everything that the list depends on.


_TABLE = """CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, system TEXT NOT NULL, query TEXT NOT NULL,
    ids TEXT NOT NULL, distances TEXT NOT NULL, is_cut_in_a_tie INTEGER NOT NULL, refusal TEXT NOT NULL,
    seconds REAL NOT NULL
)"""


class Finished:
    """Finished lists by key. Use as a context manager."""

    def __init__(self, path: Path):
        self.path = path
        try:
            self._connection = sqlite3.connect(path)
            # A commit needs no waiting for the disk: a power cut may cost the last answers, never the file.
            self._connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")
            self._connection.execute(_TABLE)
        except sqlite3.Error as error:
            raise CollectionError(f"{path}: cannot be used ({error}); remove it to begin the campaign again") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, key: str, query: str) -> Ranking | None:
        row = self._connection.execute(
            "SELECT ids, distances, is_cut_in_a_tie, seconds, refusal FROM answers WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return None
        ids, distances, is_cut, seconds, refusal = row
        return Ranking(query, tuple(json.loads(ids)), tuple(json.loads(distances)), seconds, refusal, bool(is_cut))

    def put(self, key: str, system: str, ranking: Ranking) -> None:
        """Keep a list. System and query are for people who look into the file."""
        with self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    key,
                    system,
                    ranking.query,
                    json.dumps(ranking.ids, ensure_ascii=False),
                    json.dumps(ranking.values),
                    ranking.is_cut_in_a_tie,
                    ranking.refusal,
                    ranking.seconds,
                ),
            )


# -- the code of a matcher ---------------------------------------------------------------------------------------------
#
# A finished list must not be taken for that of a matcher that has changed since. Roslin's own code is in the checksum
# of the program. The checksum of other code is that of the class or function, of the files of its modules, and of all
# modules that these import from the same package or folder. Code without source (of a session, or made by `exec`), and
# code that holds a state, as the method of an object does, may change unseen: it has no checksum.


_PLAIN = (bool, int, float, complex, str, bytes, type(None))
# Wrappers that add no behaviour: caches and compilers.
_TRANSPARENT = ("functools", "numba")
_INSTALLED = ("site-packages", "dist-packages")


class _UnseenCodeError(Exception):
    """Something that a distance may depend on has no source."""


def code_checksum(matcher: Matcher) -> str | None:
    """The checksum of the code of a matcher and its members that is not Roslin's own. None if it is not known."""
    try:
        return checksum(*_of_matcher(matcher))
    except _UnseenCodeError:
        return None


def _of_matcher(matcher: Matcher) -> Iterator[str]:
    if isinstance(matcher, FunctionMatcher):
        yield from _of_function(type(matcher).function, ())
    else:
        for kind in type(matcher).__mro__:
            yield from _of_class(kind)
    for value in matcher.parameters.values():
        for member in value if isinstance(value, tuple) else (value,):
            if isinstance(member, Matcher):
                yield from _of_matcher(member)


def _of_class(kind: type) -> Iterator[str]:
    if _is_settled(kind.__module__):
        return
    try:
        yield inspect.getsource(kind)
    except (OSError, TypeError):
        raise _UnseenCodeError from None
    yield from _of_module(kind.__module__)


def _of_function(function: Any, within: tuple[Any, ...]) -> Iterator[str]:
    """A function, all that it wraps, and the values that it was made with; `within` are those it was reached from."""
    if any(function is outer for outer in within):
        return
    inner = (*within, function)
    if isinstance(function, functools.partial):
        yield from _of_function(function.func, inner)
        yield from _of_values([*function.args, *sorted(function.keywords.items())], inner)
    elif isinstance(function, FunctionType):
        module = str(function.__globals__.get("__name__", ""))
        if _is_settled(module):
            return
        if not Path(function.__code__.co_filename).is_file():
            raise _UnseenCodeError
        try:
            source, held = inspect.getsource(function.__code__), inspect.getclosurevars(function).nonlocals
        except (OSError, ValueError):  # the file has changed beyond recognition; a value is not there yet
            raise _UnseenCodeError from None
        yield source
        yield from _of_module(module)
        yield from _of_values(held.values(), inner)
        yield from _of_values([*(function.__defaults__ or ()), *sorted((function.__kwdefaults__ or {}).items())], inner)
    elif hasattr(function, "__wrapped__") and type(function).__module__.partition(".")[0] in _TRANSPARENT:
        yield from _of_function(function.__wrapped__, inner)
    else:
        raise _UnseenCodeError


def _of_values(values: Iterable[Any], within: tuple[Any, ...]) -> Iterator[str]:
    for value in values:
        if isinstance(value, _PLAIN):
            yield repr(value)
        elif isinstance(value, (tuple, list)):
            yield from _of_values(value, within)
        elif isinstance(value, Matcher):
            yield repr(value)
            yield from _of_matcher(value)
        elif isinstance(value, ModuleType):
            yield from _of_module(value.__name__)
        elif isinstance(value, type):
            yield from _of_class(value)
        else:
            yield from _of_function(value, within)


def _of_module(name: str) -> Iterator[str]:
    """The checksums of the file of a module, and of those that lie beside it and that it uses."""
    module = sys.modules.get(name)
    if _is_settled(name):
        return
    if module is None or not _file(module):
        raise _UnseenCodeError
    found, waiting, root = {name: module}, [module], _root(module)
    while waiting:
        for other in _used(waiting.pop()):
            if other.__name__ not in found and root and _is_below(root, other):
                found[other.__name__] = other
                waiting.append(other)
    for _, each in sorted(found.items()):
        file = _file(each)
        yield hashlib.sha256(file.read_bytes() if file else b"").hexdigest()


def _is_settled(module: str) -> bool:
    """Whether the program's checksum or the version of Python identifies this module completely."""
    package = module.partition(".")[0]
    return package == "roslin" or (package in sys.stdlib_module_names and package != "__main__")


def _is_below(root: Path, module: ModuleType) -> bool:
    file = _file(module)
    if file is None or _is_settled(module.__name__) or not file.is_relative_to(root):
        return False
    return not set(_INSTALLED) & set(file.relative_to(root).parts)


def _file(module: ModuleType) -> Path | None:
    name = getattr(module, "__file__", None)
    return Path(name) if name and Path(name).is_file() else None


def _root(module: ModuleType) -> Path | None:
    """The folder of the package, or else of the module, unless many strangers live there."""
    package = sys.modules.get(module.__name__.partition(".")[0])
    file = _file(package) if package is not None and hasattr(package, "__path__") else None
    folder = (file or _file(module) or Path()).parent
    return None if folder.name in _INSTALLED else folder


def _used(module: ModuleType) -> Iterator[ModuleType]:
    """The modules whose names, functions or classes a module has."""
    for value in list(vars(module).values()):
        name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        other = sys.modules.get(name) if isinstance(name, str) else None
        if other is not None and other is not module:
            yield other
