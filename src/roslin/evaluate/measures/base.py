"""What every measure is: a frozen value that turns hits into one number a query.

A measure is a dataclass whose fields are its parameters. Its `repr` is its name in tables and files, with the
parameters that differ from their defaults, and the cutoff last: `ADR`, `ADR@10`, `AP(variant='serra')`,
`nDCG(gain='exp')@5`. `measure()` reads that text back. Values are larger for better rankings unless `larger_is_better`
says otherwise.

An empty truth has no value: NaN and a warning, and means leave it out. A ranking that finds nothing is worth what the
formula gives, which is 0 for nearly all. For those that count mistakes 0 is the best: `rewards_silence` says so.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar, TypeVar

import numpy as np

from roslin.errors import ArgumentError, UnknownNameError
from roslin.evaluate.hits import Floats, Hits, collect, judged
from roslin.evaluate.parameters import check
from roslin.evaluate.rankings import RankedIds, places
from roslin.truth.qrel import check_groups

__all__ = ["MEASURES", "EmptyTruthWarning", "Measure", "hits_of_one", "measure", "measures", "register"]


class EmptyTruthWarning(UserWarning):
    """A query without relevant documents: no measure has a value for it."""


@dataclass(frozen=True, repr=False)
class Measure(ABC):
    """One measure with its parameters; `k` is the cutoff of those that have one."""

    name: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]
    larger_is_better: ClassVar[bool] = True
    also: ClassVar[tuple[str, ...]] = ()  # other names that `measure` understands

    @property
    def rewards_silence(self) -> bool:
        """Whether no list has a better value than the empty one: then the value says nothing alone."""
        return False

    @property
    def monotone(self) -> bool:
        """Whether moving a more similar document up never makes the value worse.

        Then the best and the worst order of tied scores are known without trying them all.
        """
        return True

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, check(self, field))

    def values(self, hits: Hits) -> Floats:
        """(Q,) One value a query; NaN where the truth is empty."""
        result = self._values(hits).astype(np.float64)
        empty = hits.relevant == 0
        if empty.any():
            warnings.warn(
                f"{int(empty.sum())} of {len(hits)} queries have no relevant document; their {self!r} is NaN",
                EmptyTruthWarning,
                stacklevel=2,
            )
            result[empty] = np.nan
        return result

    def __call__(
        self,
        groups: Sequence[Sequence[Hashable]],
        ranking: RankedIds,
        *,
        query: Hashable | None = None,
        gains: Sequence[float] | None = None,
        nonrelevant: Iterable[Hashable] | None = None,
    ) -> float:
        """The value for one query. See `hits_of_one` for the arguments."""
        hits = hits_of_one(groups, ranking, query=query, gains=gains, nonrelevant=nonrelevant)
        return float(self.values(hits)[0])

    @abstractmethod
    def _values(self, hits: Hits) -> Floats: ...

    def __repr__(self) -> str:
        changed = [
            f"{f.name}={getattr(self, f.name)!r}"
            for f in fields(self)
            if f.name != "k" and getattr(self, f.name) != f.default
        ]
        cutoff = getattr(self, "k", None)
        return self.name + (f"({', '.join(changed)})" if changed else "") + (f"@{cutoff}" if cutoff is not None else "")


def hits_of_one(
    groups: Sequence[Sequence[Hashable]],
    ranking: RankedIds,
    *,
    query: Hashable | None = None,
    gains: Sequence[float] | None = None,
    nonrelevant: Iterable[Hashable] | None = None,
) -> Hits:
    """The hits of one query.

    groups: ids, most similar group first; ranking: ids, best first, or {id: score}; query: its id, to be taken out of
    the ranking unless it is in a group; gains: what a document of each group is worth; nonrelevant: the documents
    judged not relevant (None: all that are in no group).
    """
    checked = check_groups(groups)  # type: ignore[arg-type]  # ids of one query may be any values that can be compared
    if gains is not None and len(gains) != len(checked):
        raise ArgumentError(f"{len(gains)} gains for {len(checked)} groups")
    if gains is not None and any(not isinstance(gain, Real) or not 0 < gain < math.inf for gain in gains):
        raise ArgumentError(f"every gain must be a number above 0; got {list(gains)}")
    if gains is not None and list(gains) != sorted(gains, reverse=True):
        raise ArgumentError(f"gains must not rise from group to group; got {list(gains)}")
    truth = judged(checked, gains, nonrelevant, query)
    return collect([truth], [places(truth, ranking, query)])


def count(value: float) -> float:
    """What a measure that counts gives for one query, as a whole number; NaN, for an empty truth, stays NaN."""
    return int(value) if value == value else value


MEASURES: dict[str, type[Measure]] = {}
_BY_ANY_NAME: dict[str, type[Measure]] = {}

AnyMeasure = TypeVar("AnyMeasure", bound=type[Measure])


def register(cls: AnyMeasure) -> AnyMeasure:
    """Make a measure known under its name."""
    MEASURES[cls.name] = cls
    for name in (cls.name, *cls.also):
        assert _BY_ANY_NAME.setdefault(name.lower(), cls) is cls, f"two measures are called {name}"
    return cls


def measures() -> list[str]:
    """The names of all measures."""
    return sorted(MEASURES, key=str.lower)


_NAME = re.compile(r"(?P<name>[^(@]+)(?P<parameters>\(.*\))?(?:@(?P<k>\d{1,99}))?", re.DOTALL)


def measure(text: str | Measure) -> Measure:
    """A measure from its name, with parameters where they are not the defaults, and @k for a cutoff.

    Small and capital letters are the same, and some measures have a second name, such as MAP for AP.

    >>> measure("nDCG(base=3)@10"), measure("map")
    (nDCG(base=3.0)@10, AP)
    """
    if isinstance(text, Measure):
        return text
    if not isinstance(text, str):
        raise ArgumentError(f"a measure must be a name, such as 'ADR'; got {text!r}")
    match = _NAME.fullmatch(text.strip())
    if match is None or match["name"].lower() not in _BY_ANY_NAME:
        raise UnknownNameError("measure", match["name"] if match else text, measures())
    cls = _BY_ANY_NAME[match["name"].lower()]
    parameters = _parameters(match["parameters"] or "()", cls)
    if match["k"]:
        parameters["k"] = int(match["k"])
    known = [field.name for field in fields(cls)]
    for parameter in parameters:
        if parameter not in known:
            raise UnknownNameError(f"parameter of {cls.name}", parameter, sorted(known))
    return cls(**parameters)


def _parameters(text: str, cls: type[Measure]) -> dict[str, Any]:
    """Keyword arguments; a bare word is a text, so that a shell needs no second pair of quotes."""
    try:
        call = ast.parse(f"f{text}", mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args:
            return {
                str(k.arg): k.value.id if isinstance(k.value, ast.Name) else ast.literal_eval(k.value)
                for k in call.keywords
            }
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        pass
    raise ArgumentError(f"cannot read the parameters {text} of {cls.name}; expected (name=value, ...)")
