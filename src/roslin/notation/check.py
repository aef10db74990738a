"""The problems of records before they are published, each with its severity, as a linter has them.

error     an incipit or a file that cannot be read
warning   a sign that is read differently from how it is written
note      an incipit without music, or an id that occurs again
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from roslin.display.text import deviations, problem_words, translated
from roslin.errors import Problem
from roslin.notation.record import Record

SEVERITIES = ("error", "warning", "note")


def checked(found: Iterable[Record]) -> Iterator[tuple[str, Problem]]:
    """The severity of each problem, and the problem with the id of its record."""
    seen: Counter[str] = Counter()
    for record in found:
        name = (record.melody.id if record.melody is not None else "") or ""
        severity = "note" if record.is_skipped else "error" if record.melody is None else "warning"
        for problem in record.problems:
            yield severity, problem if problem.record else replace(problem, record=name)
        if record.melody is not None:
            seen[name] += 1
            if seen[name] == 2:
                yield "note", Problem("this id occurs more than once", record=name)


def words_of(problem: Problem) -> str:
    """The problem without its place, in the words in use."""
    what = Problem(problem.reason, problem.expected, problem.found, taken=problem.taken)
    return f"{translated(what).reason}: {deviations([what])[0]}" if what.taken else problem_words(what)
