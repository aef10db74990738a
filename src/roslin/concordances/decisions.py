"""What somebody decides about a pair, and what the state of a pair or a group is by all decisions: no file, no clock.

The state of a pair follows from its decisions:

- of each author, the latest counts (by time, then by id);
- accept against reject is "disputed", until one of the two decides anew;
- otherwise the latest decision of all is the state; a pair that nobody has decided about is "open".

A decision keeps a digest of both melodies' notes. Where these have changed since, it is one "of an earlier version": it
still counts, marked so, unless somebody has decided about the present notes.

A decision about a group is the same decision about each of its pairs. The state of a group is that of its pairs where
they agree, "disputed" where one of them is, and "mixed" otherwise.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from operator import attrgetter

import numpy as np

from roslin.errors import ArgumentError
from roslin.melody import Melody

VERDICTS = ("accept", "reject", "undecided")
MAX_NOTE = 10_000
MAX_AUTHOR = 200

TIME = "%Y-%m-%dT%H:%M:%S.%fZ"
_TIME_FORM = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)
_LAST_YEAR = 9000  # a clock that says more leaves no later time to others

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
        """The ids of the two melodies."""
        return self.first, self.second

    def line(self) -> str:
        """The line of the review file, with its end."""
        return json.dumps(dict(zip(_FIELDS, in_time_order(self), strict=True)), ensure_ascii=False) + "\n"

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
in_time_order = attrgetter(*_FIELDS)  # decisions are sorted by time, then by id


def check(made: PairDecision) -> None:
    """Refuse what nobody can have decided; an ArgumentError is a ValueError."""
    texts = in_time_order(made)
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
    if not made.id or not _TIME_FORM.fullmatch(made.time) or read_time(made.time).year > _LAST_YEAR:
        raise ArgumentError(f"the time must be like 2026-11-16T10:30:00.000000Z; got {made.time!r}")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise ArgumentError("the texts of a decision must be Unicode; got half a character") from None


def read_time(text: str) -> datetime:
    """The time of a decision."""
    return datetime.fromisoformat(text)


@dataclass(frozen=True, slots=True)
class PairState:
    """What people say about a pair. `verdict`: accept, reject, undecided, disputed or open.

    `decisions` are those that count, one of each author, the latest first. `is_earlier_version`: they are about notes
    that have changed since.
    """

    verdict: str = "open"
    decisions: tuple[PairDecision, ...] = ()
    is_earlier_version: bool = False

    @property
    def latest(self) -> PairDecision | None:
        """The decision that was made last."""
        return self.decisions[0] if self.decisions else None


@dataclass(frozen=True, slots=True)
class GroupState:
    """What people say about the pairs of a group: the verdict that all share, disputed or mixed; pairs per verdict."""

    verdict: str
    pairs: dict[str, int]
    earlier_versions: int


def state_of(decisions: Sequence[PairDecision], is_earlier: Callable[[PairDecision], bool]) -> PairState:
    """The state of a pair by its decisions in the order of their times; which of them are about earlier notes?"""
    if not decisions:
        return PairState()
    present = [each for each in decisions if not is_earlier(each)]
    of_author = {each.author: each for each in present or decisions}  # a later one replaces an earlier one
    counting = sorted(of_author.values(), key=in_time_order, reverse=True)
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
