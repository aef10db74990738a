"""Answers that several requests share: kept ones, and one that is being made."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from roslin import Melody
from roslin.errors import TimeLimitError
from roslin.matchers import MATCHERS, Matcher
from roslin.represent.packed import Packed
from roslin.types import Distances
from roslin.web.library import GoneError, Library, Wait
from roslin.web.requests import SearchParams
from roslin.web.search import find
from roslin.web.settings import Settings

TOGETHER = 10


@pytest.fixture
def library(settings: Settings) -> Iterator[Library]:
    opened = Library(settings)
    yield opened
    opened.close()


class Made:
    """An answer that is not ready before all have asked for it; `called` counts how often it was made."""

    def __init__(self) -> None:
        self.called, self.asking, self.release = 0, threading.Semaphore(0), threading.Event()

    def make(self, outcome: Callable[[int], str]) -> str:
        self.called += 1
        number = self.called
        assert self.release.wait(600)
        return outcome(number)

    def all_at_once(self, library: Library, outcome: Callable[[int], str]) -> list[str]:
        """What each of ten requests gets: an answer, or the name of an error."""

        def ask(_: int) -> str:
            self.asking.release()
            try:
                return library.kept("key", lambda: self.make(outcome))
            except Exception as error:
                return type(error).__name__

        with ThreadPoolExecutor(TOGETHER) as pool:
            answers = pool.map(ask, range(TOGETHER))
            for _ in range(TOGETHER):
                assert self.asking.acquire(timeout=600)
            self.release.set()
            return list(answers)


def test_equal_requests_at_once_are_answered_by_one(library: Library) -> None:
    made = Made()
    assert made.all_at_once(library, lambda number: f"answer {number}") == ["answer 1"] * TOGETHER
    assert made.called == 1
    assert library.kept("key", lambda: "another") == "answer 1"
    assert library.kept("another key", lambda: "another") == "another"


def test_a_client_that_disconnects_takes_no_answer_from_others(library: Library) -> None:
    made = Made()

    def outcome(number: int) -> str:
        if number == 1:
            raise GoneError("nobody waits for it")
        return f"answer {number}"

    answers = made.all_at_once(library, outcome)
    assert sorted(answers) == ["GoneError"] + ["answer 2"] * (TOGETHER - 1)
    assert made.called == 2


def test_an_error_is_not_kept(library: Library) -> None:
    def outcome(_: int) -> str:
        raise TimeLimitError("too long")

    assert Made().all_at_once(library, outcome) == ["TimeLimitError"] * TOGETHER
    assert library.kept("key", lambda: "made again") == "made again"


def test_an_answer_that_is_not_complete_is_not_kept(library: Library) -> None:
    assert library.kept("key", lambda: "half", lambda _: False) == "half"
    assert library.kept("key", lambda: "whole") == "whole"


@dataclass(frozen=True, repr=False)
class Counted(Matcher):
    """Counts how often it is asked, and answers when all requests have come."""

    name = "counted"
    summary = "Counts."
    reference = "a test"
    asked: ClassVar[list[str]] = []
    release: ClassVar[threading.Event] = threading.Event()

    @property
    def is_independent(self) -> bool:
        return False

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        self.asked.append(str(query.id))
        assert self.release.wait(600)
        return np.arange(len(candidates), dtype=np.float64)


@pytest.mark.usefixtures("registries")
def test_ten_equal_searches_at_once_compare_once(library: Library) -> None:
    MATCHERS.register(Counted)
    asking = threading.Semaphore(0)

    def ask(_: int) -> list[str | None]:
        asking.release()
        asked = SearchParams(q="'4CDEC", matcher="counted")
        return [result.melody.id for result in find(library, asked, Wait()).answer.results]

    with ThreadPoolExecutor(TOGETHER) as pool:
        found = pool.map(ask, range(TOGETHER))
        for _ in range(TOGETHER):
            assert asking.acquire(timeout=600)
        Counted.release.set()
        lists = list(found)
    assert len(Counted.asked) == 1
    assert all(each == lists[0] for each in lists)
