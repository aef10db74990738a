"""Decisions about pairs, the review file that stores them, and merging the files of several people.

The review file of a collection is `review.jsonl` in its folder, which a new build leaves unchanged. Each decision is
one line of JSON, and lines are only ever added:

    {"id": "9f...", "time": "2026-11-16T10:30:00.000000Z", "author": "M. Weiss", "first": "400006537-1.1.1",
     "second": "450012345-1.1.1", "verdict": "accept", "note": "", "first_digest": "5a...", "second_digest": "c1..."}

Melodies are named by their ids, so a line means the same after a new build and in another collection with the same
sources. `id` is random: files of several people are merged by taking every decision once, in any order. Decisions are
written under a lock, and are on disk when `decide` returns. An incomplete line, left by a computer that stopped, is
left out and listed in `Review.notes`. The next decision begins a new line.

The state of a pair follows from its decisions:

- of each author, the latest counts (by time, then by id);
- accept against reject is "disputed", until one of the two decides again;
- in all other cases the latest decision is the state; a pair without decisions is "open".

A decision contains a digest of both melodies' notes. Where these have changed since, it is one "of an earlier version":
it still counts, marked so, unless there is a decision about the present notes.

A decision about a group is the same decision about each of its pairs. The state of a group is that of its pairs where
they agree, "disputed" where one of them is, and "mixed" in all other cases.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import secrets
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from roslin.collection.files import DATABASE, REVIEW, locked, sync
from roslin.collection.store import Store
from roslin.display.table import Table
from roslin.errors import ArgumentError, CollectionError
from roslin.melody import Melody

VERDICTS = ("accept", "reject", "undecided")
MAX_NOTE = 10_000
MAX_AUTHOR = 200

_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
_TIME_FORM = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_LAST_YEAR = 9000  # a clock beyond this would leave no later time to others
_WAIT_S = 10.0  # for another process that is writing a decision

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PairDecision:
    """One person's decision about two melodies, by their ids in alphabetical order."""

    time: str
    id: str
    author: str
    first: str
    second: str
    verdict: str
    note: str = ""
    first_digest: str = ""
    second_digest: str = ""

    @property
    def pair(self) -> Pair:
        return self.first, self.second

    def line(self) -> str:
        return json.dumps(dict(zip(_FIELDS, _in_time_order(self), strict=True)), ensure_ascii=False) + "\n"

    @classmethod
    def from_line(cls, line: bytes) -> PairDecision | None:
        """The decision of a line; None if it is not a whole one."""
        try:
            value = json.loads(line)
            made = cls(**{name: value[name] for name in _FIELDS if name in value or name in _NEEDED})
            check(made)
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        return made


_FIELDS = tuple(field.name for field in fields(PairDecision))
_NEEDED = frozenset({"time", "id", "author", "first", "second", "verdict"})
_in_time_order = attrgetter(*_FIELDS)  # decisions are sorted by time, then by id


def check(made: PairDecision) -> None:
    """Refuse an impossible decision. An ArgumentError is a ValueError."""
    texts = _in_time_order(made)
    if not all(isinstance(text, str) for text in texts):
        raise ArgumentError("a decision consists of texts")
    if made.verdict not in VERDICTS:
        raise ArgumentError(f"a verdict must be one of {', '.join(VERDICTS)}; got {made.verdict!r}")
    if not (made.first and made.first < made.second):
        raise ArgumentError(f"a decision is about two melodies; got {made.first!r} and {made.second!r}")
    if not made.author.strip() or len(made.author) > MAX_AUTHOR or "\n" in made.author:
        raise ArgumentError(f"the author must be a name of at most {MAX_AUTHOR} characters; got {made.author[:40]!r}")
    if len(made.note) > MAX_NOTE:
        raise ArgumentError(f"a note must have at most {MAX_NOTE} characters; got {len(made.note)}")
    if not made.id or not _TIME_FORM.fullmatch(made.time) or datetime.fromisoformat(made.time).year > _LAST_YEAR:
        raise ArgumentError(f"the time must have the form 2026-11-16T10:30:00.000000Z; got {made.time!r}")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise ArgumentError("a decision contains invalid Unicode (an unpaired surrogate)") from None


@dataclass(frozen=True, slots=True)
class PairState:
    """The decisions about a pair and their state."""

    verdict: str = "open"  # or accept, reject, undecided, disputed
    decisions: tuple[PairDecision, ...] = ()  # those that count, one of each author, the latest first
    is_earlier_version: bool = False  # they are about notes that have changed since

    @property
    def latest(self) -> PairDecision | None:
        return self.decisions[0] if self.decisions else None


@dataclass(frozen=True, slots=True)
class GroupState:
    """The state of a group: the verdict that all its pairs share, disputed or mixed; pairs per verdict."""

    verdict: str
    pairs: dict[str, int]
    earlier_versions: int


def state_of(decisions: Sequence[PairDecision], is_earlier: Callable[[PairDecision], bool]) -> PairState:
    """The state of a pair by its decisions in the order of their times; which of them are about earlier notes?"""
    if not decisions:
        return PairState()
    present = [each for each in decisions if not is_earlier(each)]
    of_author = {each.author: each for each in present or decisions}  # a later one replaces an earlier one
    counting = sorted(of_author.values(), key=_in_time_order, reverse=True)
    said = {each.verdict for each in counting}
    verdict = "disputed" if {"accept", "reject"} <= said else counting[0].verdict
    return PairState(verdict, tuple(counting), is_earlier_version=not present)


def state_of_group(states: Sequence[PairState]) -> GroupState:
    """The state of a group by those of its pairs."""
    counts = Counter(state.verdict for state in states)
    verdict = next(iter(counts)) if len(counts) == 1 else "disputed" if counts["disputed"] else "mixed"
    return GroupState(verdict if states else "open", dict(counts), sum(state.is_earlier_version for state in states))


def pair_of(first_id: str, second_id: str) -> Pair:
    """Two ids in alphabetical order."""
    if not (first_id and second_id) or first_id == second_id:
        raise ArgumentError(f"a decision is about two melodies; got {first_id!r} and {second_id!r}")
    return (first_id, second_id) if first_id < second_id else (second_id, first_id)


def notes_digest(melody: Melody) -> str:
    """A digest of what sounds: pitches, onsets, durations, ornaments and voices, not how the source writes them."""
    digest = hashlib.blake2b(digest_size=16)
    for name in ("onset_ticks", "duration_ticks", "pitch_midi", "pitch_base40", "is_grace", "voice"):
        digest.update(np.ascontiguousarray(melody.notes[name].astype("<i8")).tobytes())
    return digest.hexdigest()


# -- the file of decisions --------------------------------------------------------------------------------------------


class Review:
    """All decisions of a file, or of several that were merged (then `path` is None). `notes` list the omissions.

    >>> import tempfile
    >>> review = Review.open(tempfile.mkdtemp() + "/mine.jsonl")
    >>> _ = review.decide("a", "b", "accept", "same bass, too", "M. Weiss")
    >>> review.state("b", "a").verdict
    'accept'
    """

    def __init__(
        self,
        path: Path | None = None,
        decisions: Iterable[PairDecision] = (),
        *,
        digest_of: Callable[[str], str | None] | None = None,
        notes: Iterable[str] = (),
    ):
        self.path = path
        self._digest_of = digest_of
        self._known_digests: dict[str, str] = {}
        self._of_pair: dict[Pair, set[PairDecision]] = defaultdict(set)
        self._merged_notes = list(notes)
        self._bad_lines: list[int] = []
        self._lines = self._bytes = 0  # of the file, as far as it was read
        self._torn = False
        self._reading = threading.RLock()
        self._take(decisions)

    @classmethod
    def open(cls, path: str | Path, *, digest_of: Callable[[str], str | None] | None = None) -> Review:
        """The review of a collection folder, or in a file; none at all is an empty one.

        `digest_of` gives the digest of a melody's notes by its id, or None for an id that is not known; see `of`.
        """
        review = cls(review_path(path), digest_of=digest_of)
        review.refresh()
        return review

    @classmethod
    def of(cls, store: Store) -> Review:
        """The review of an open collection, which knows whether notes have changed since a decision."""
        return cls.open(store.path, digest_of=lambda id: notes_digest(store[id]) if id in store else None)

    # -- reading ----------------------------------------------------------------------------------------------------

    @property
    def decisions(self) -> list[PairDecision]:
        with self._reading:
            return sorted(chain.from_iterable(self._of_pair.values()), key=_in_time_order)

    @property
    def notes(self) -> list[str]:
        with self._reading:
            notes = list(self._merged_notes)
            notes += [f"{self.path}: line {line} is no decision and was left out" for line in self._bad_lines]
            if self._torn:
                notes.append(f"{self.path}: the last line is incomplete and was left out")
            return notes

    def __len__(self) -> int:
        with self._reading:
            return sum(map(len, self._of_pair.values()))

    def pairs(self) -> list[Pair]:
        with self._reading:
            return sorted(self._of_pair)

    def history(self, first_id: str, second_id: str) -> list[PairDecision]:
        """All decisions about a pair, in the order of their times."""
        with self._reading:
            return sorted(self._of_pair.get(pair_of(first_id, second_id), ()), key=_in_time_order)

    def state(self, first_id: str, second_id: str) -> PairState:
        """The state of two melodies, in either order."""
        return state_of(self.history(first_id, second_id), self._is_earlier)

    def group_state(self, pairs: Iterable[Pair]) -> GroupState:
        return state_of_group([self.state(*pair) for pair in pairs])

    def to_table(self) -> Table:
        rows = []
        for pair in self.pairs():
            state = self.state(*pair)
            authors = "; ".join(f"{each.author}: {each.verdict}" for each in state.decisions)
            is_earlier = "yes" if state.is_earlier_version else ""
            rows.append((*pair, state.verdict, authors, state.decisions[0].time, is_earlier, state.decisions[0].note))
        columns = ("first", "second", "verdict", "authors", "time", "earlier_version", "note")
        return Table.of(columns, rows, "decisions")

    def refresh(self) -> None:
        """Read what others have added to the file since."""
        with self._reading:
            if self.path is None:
                return
            try:
                with self.path.open("rb") as file:
                    if file.seek(0, os.SEEK_END) < self._bytes:  # the file has been replaced
                        self._bytes = self._lines = 0
                        self._bad_lines = []
                    file.seek(self._bytes)
                    added = file.read()
            except FileNotFoundError:
                added = b""
            except OSError as error:
                raise CollectionError(f"{self.path}: the review cannot be read: {error}") from error
            self._read(added)

    def _read(self, added: bytes) -> None:
        *whole, last = added.split(b"\n")
        for line in whole:
            self._lines += 1
            self._bytes += len(line) + 1
            made = PairDecision.from_line(line)
            if made is not None:
                self._take([made])
            elif line.strip():
                self._bad_lines.append(self._lines)
        # The start of a line is never a decision, so one that lacks nothing but its end is whole.
        ended = PairDecision.from_line(last) if last else None
        self._torn = bool(last) and ended is None
        self._take([] if ended is None else [ended])

    def _take(self, decisions: Iterable[PairDecision]) -> None:
        for each in decisions:
            self._of_pair[each.pair].add(each)

    def _digest(self, id: str) -> str:
        if id not in self._known_digests:
            self._known_digests[id] = (self._digest_of(id) if self._digest_of else None) or ""
        return self._known_digests[id]

    def _is_earlier(self, made: PairDecision) -> bool:
        now = self._digest(made.first), self._digest(made.second)
        then = made.first_digest, made.second_digest
        return any(before and after and before != after for before, after in zip(then, now, strict=True))

    # -- writing ----------------------------------------------------------------------------------------------------

    def decide(self, first_id: str, second_id: str, verdict: str, note: str, author: str) -> PairDecision:
        """Write a decision to the file. When this returns, it is on disk."""
        return self.decide_all([(first_id, second_id)], verdict, note, author)[0]

    def decide_all(self, pairs: Sequence[Pair], verdict: str, note: str, author: str) -> list[PairDecision]:
        ordered = list(dict.fromkeys(pair_of(*pair) for pair in pairs))
        return self._append(lambda: self._made(ordered, verdict, note, author))

    def decide_listed(self, rows: Iterable[ListedDecision]) -> int:
        """Several decisions at once, without those that their author has made already; how many were written."""

        def made() -> list[PairDecision]:
            found = []
            for row in dict.fromkeys(rows):
                pair = pair_of(row.first, row.second)
                own = [each for each in self.history(*pair) if each.author == row.author]
                if not (own and (own[-1].verdict, own[-1].note) == (row.verdict, row.note)):
                    found += self._made([pair], row.verdict, row.note, row.author)
            return found

        return len(self._append(made))

    def add(self, decisions: Iterable[PairDecision]) -> int:
        """Write the decisions of others that are not in the file yet; how many these were."""
        others = set(decisions)
        return len(self._append(lambda: sorted(others.difference(self.decisions), key=_in_time_order)))

    def _made(self, pairs: Sequence[Pair], verdict: str, note: str, author: str) -> list[PairDecision]:
        known = [each.time for pair in pairs for each in self._of_pair.get(pair, ())]
        time = datetime.now(UTC)
        if known:  # a decision follows those that it could know of, whatever the clock shows
            time = max(time, datetime.fromisoformat(max(known)) + timedelta(microseconds=1))
        made = []
        for first, second in pairs:
            about = (first, second, verdict, note, self._digest(first), self._digest(second))
            made.append(PairDecision(time.strftime(_TIME), secrets.token_hex(16), author, *about))
            check(made[-1])
        return made

    def _append(self, make: Callable[[], list[PairDecision]]) -> list[PairDecision]:
        if self.path is None:
            raise ArgumentError("these are the decisions of several files; write them with merge_into first")
        with (
            self._reading,
            locked(self.path.with_name(f"{self.path.name}.lock"), _WAIT_S, f"{self.path}: another process is writing"),
        ):
            self.refresh()
            made = make()
            _append_bytes(self.path, "".join(each.line() for each in made).encode())
            self.refresh()
        return made


def _append_bytes(path: Path, data: bytes) -> None:
    """Add lines to a file, all or none of them, and wait until they are on disk."""
    is_new = not path.exists()
    try:
        with path.open("ab+", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                data = data if file.read(1) == b"\n" else b"\n" + data  # leave what was cut off alone
            try:
                written = 0
                while written < len(data):
                    written += file.write(data[written:]) or 0
                os.fsync(file.fileno())
            except OSError:
                file.truncate(size)
                raise
        if is_new:
            sync(path.parent)
    except OSError as error:
        raise CollectionError(f"{path}: the decision was not saved: {error}") from error


def review_path(path: str | Path) -> Path:
    """The review file of a collection folder; any other path is that of the file itself."""
    path = Path(path)
    return path / REVIEW if path.is_dir() else path


def existing_review(path: str | Path) -> Path:
    """The review file of a collection folder, or the file itself, if it is there."""
    found = review_path(path)
    if not found.exists():
        raise CollectionError(
            f"{found}: no such review, because no pair has a decision yet; review pairs with: roslin serve"
        )
    return found


@contextmanager
def opened_review(path: str | Path) -> Iterator[Review]:
    """The review of a collection, with what has changed since, or one in a file."""
    if (Path(path) / DATABASE).is_file():
        with Store(path) as store:
            yield Review.of(store)
    else:
        yield Review.open(path)


# -- decisions in a table ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ListedDecision:
    """A row of a table of decisions; what it leaves empty is said elsewhere."""

    first: str
    second: str
    verdict: str = ""
    author: str = ""
    note: str = ""


def listed_decisions(path: str | Path) -> list[ListedDecision]:
    """The rows of a CSV file with the columns first and second, and perhaps verdict, author and note.

    An exported table of pairs has them. Rows without a decision (open, disputed or mixed) are left out. Commas,
    semicolons or tabs are between the columns.
    """
    path = Path(path)
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CollectionError(f"{path}: cannot be read as a table in UTF-8: {error}") from error
    head = text.partition("\n")[0]
    rows = csv.DictReader(io.StringIO(text), delimiter=max(",;\t", key=head.count))
    if not {"first", "second"} <= set(rows.fieldnames or ()):
        raise ArgumentError(f"{path}: a table of decisions needs the columns first and second; got {head.strip()!r}")
    found = []
    for row in rows:
        # An export has ' before a text that a spreadsheet would run as a formula.
        texts = {name: (row.get(name) or "").strip().removeprefix("'") for name in ListedDecision.__slots__}
        if texts["verdict"] in VERDICTS or (not texts["verdict"] and "verdict" not in (rows.fieldnames or ())):
            found.append(ListedDecision(**texts))
        elif texts["verdict"] not in ("", "open", "disputed", "mixed"):
            must = ", ".join(VERDICTS)
            raise ArgumentError(f"{path}:{rows.line_num}: a verdict must be one of {must}; got {texts['verdict']!r}")
    return found


# -- merging ----------------------------------------------------------------------------------------------------------


def merge_reviews(paths: Iterable[str | Path]) -> Review:
    """Every decision of several review files (or collections), once. The order of the files does not matter."""
    reviews = [Review.open(existing_review(path)) for path in paths]
    decisions = chain.from_iterable(review.decisions for review in reviews)
    return Review(None, decisions, notes=[note for review in reviews for note in review.notes])


@dataclass(frozen=True, slots=True)
class MergedReviews:
    """The outcome of a merge: decisions in the file now, new ones among them, pairs, and disputed pairs."""

    path: Path
    decisions: int
    added: int
    pairs: int
    disputed: tuple[Pair, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"path": str(self.path)}


def merge_into(paths: Iterable[str | Path], output: str | Path) -> MergedReviews:
    """Merge review files into one, which keeps whatever it already holds. The output may be one of them."""
    merged = merge_reviews(paths)
    with opened_review(output) as review:
        added = review.add(merged.decisions)
        disputed = tuple(pair for pair in review.pairs() if review.state(*pair).verdict == "disputed")
        notes = tuple(dict.fromkeys([*merged.notes, *review.notes]))
        return MergedReviews(review_path(output), len(review), added, len(review.pairs()), disputed, notes)
