"""What every matcher is: a frozen value that turns a query and candidates into distances.

A matcher is a dataclass whose fields are its parameters. Its `repr` is its name in tables, files and addresses, with
the parameters that differ from their defaults: `dp`, `dp(place='inside')`; `matcher()` reads that text back.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from roslin.errors import ArgumentError, MelodyError, RoslinError, UnknownNameError
from roslin.matchers.explanation import Explanation, Step
from roslin.melody import Melody
from roslin.represent.packed import Candidates, Packed, SupportsPacked, melody_of, pack, pieces

__all__ = [
    "COMPARED_AT_ONCE",
    "COMPOUND",
    "MATCHERS",
    "Distances",
    "Matcher",
    "Tell",
    "check_query",
    "matcher",
    "matchers",
    "register",
    "rounded",
]

Distances = npt.NDArray[np.float64]
Tell = Callable[[float], None]

# At most so many melodies too.
COMPARED_AT_ONCE = 4096
# Differences that only rounding explains are none: a melody is at 0 from itself, and equal matches are equal.
_DECIMALS = 12


@dataclass(frozen=True, repr=False)
class Matcher(ABC):
    """Smaller is more similar. Distances of one matcher can be compared with each other, not with those of another."""

    name: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]
    kind: ClassVar[str] = "likeness"  # how its distances are taken apart (explanation.py); likeness: they are not
    things: ClassVar[str] = "notes"  # what an alignment puts side by side
    pairs_at_once: ClassVar[int] = 2_000_000  # of notes, compared without a look at the clock: a second or two
    pairs_explained: ClassVar[int] = 250_000  # of notes; beyond that, more memory than an explanation is worth

    def distances(self, query: Melody, candidates: Candidates) -> Distances:
        """The distance from the query to each candidate: a list of melodies, or a collection."""
        check_query(query)
        return self._distances(query, pack(candidates))

    def distances_told(self, query: Melody, candidates: Packed, tell: Tell) -> Distances:
        """The distances, telling now and then which share of them is known; whoever is told may raise an error."""
        if not self.is_independent or self.is_indexed:
            distances = self.distances(query, candidates)
            tell(1.0)
            return distances
        found = [np.empty(0)]
        for piece in pieces(np.diff(candidates.offsets), COMPARED_AT_ONCE, self.notes_at_once(query)):
            found.append(self.distances(query, candidates.part(piece.start, piece.stop)))
            tell(piece.stop / len(candidates))
        return np.concatenate(found)

    def notes_at_once(self, query: Melody) -> int:
        """How many notes of candidates are compared with a query without a look at the clock."""
        return self.pairs_at_once // max(len(query), 1)

    def longest(self, query: Melody) -> int:
        """How many notes a candidate may have so that it is compared with the query in a second or two."""
        return self.notes_at_once(query)

    def explain(
        self, query: Melody, candidates: Candidates, number: int = 0, tell: Tell = lambda _: None
    ) -> Explanation:
        """How the distance to one of the candidates comes about; the others are what it may depend on.

        `tell` is told the share that is done, where all candidates have to be compared.
        """
        check_query(query)
        known = candidates if isinstance(candidates, (Packed, SupportsPacked)) else list(candidates)
        packed = pack(known)
        if not 0 <= number < len(packed):
            raise ArgumentError(f"number must be that of one of {len(packed)} candidates, from 0; got {number}")
        candidate = melody_of(known, number)
        if candidate.notes["is_grace"].all():
            distance = float(self.alone.distances_told(query, packed, tell)[number])
            return Explanation(self, self.kind, query, candidate, distance, (), "The melody has no notes.")
        return self._explain_told(query, packed, number, tell).about(query, candidate)

    @property
    def leading(self) -> Matcher:
        """The matcher that decides most: itself, unless it is made of others."""
        return self

    @property
    def alone(self) -> Matcher:
        """The matcher whose distances are explained: itself, unless it would need all candidates only for that."""
        return self

    @property
    def is_independent(self) -> bool:
        """Whether a candidate's distance is the same whatever the other candidates are."""
        return True

    @property
    def is_indexed(self) -> bool:
        """Whether it makes an index of all candidates, so that one call for all is better than many for parts."""
        return False

    @abstractmethod
    def _distances(self, query: Melody, candidates: Packed) -> Distances: ...

    def _explain_told(self, query: Melody, candidates: Packed, number: int, tell: Tell) -> Explanation:
        found = self._explain(query, candidates, number)  # one comparison is quick: there is nothing to tell
        if found is not None:
            return found
        from roslin.matchers.likeness import likeness  # made with a matcher, so it cannot come first

        among, place = (candidates.part(number, number + 1), 0) if self.is_independent else (candidates, number)
        return likeness(self, query, among, place, float(self.distances_told(query, among, tell)[place]))

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation | None:
        """The explanation of a candidate with notes. None: there are no rules for it."""
        del query, candidates, number
        return None

    def _explanation(
        self,
        query: Melody,
        candidates: Packed,
        number: int,
        start: float,
        steps: Iterable[Step],
        tempo: float | None = None,
    ) -> Explanation:
        """What these steps say about one of the candidates."""
        return Explanation.of(self, query, candidates.melody(number), start, steps, tempo)

    def __repr__(self) -> str:
        changed = [f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if getattr(self, f.name) != f.default]
        return self.name + (f"({', '.join(changed)})" if changed else "")


def check_query(query: Melody) -> None:
    """Refuse what no matcher can look for."""
    if not isinstance(query, Melody):
        raise ArgumentError(f"the query must be a Melody; got {type(query).__name__}; read text with roslin.load")
    if not np.any(~query.notes["is_grace"]):
        raise MelodyError("the query has no notes; expected at least one that is not a grace note")


def rounded(distances: Distances) -> Distances:
    """Distances without the traces of rounding."""
    return np.round(distances, _DECIMALS)


MATCHERS: dict[str, type[Matcher]] = {}
# Those that are made of other matchers, which must be named.
COMPOUND: dict[str, type[Matcher]] = {}

AnyMatcher = TypeVar("AnyMatcher", bound=type[Matcher])


def register(cls: AnyMatcher) -> AnyMatcher:
    """Make a matcher known under its name."""
    (COMPOUND if "members" in cls.__annotations__ else MATCHERS)[cls.name] = cls
    return cls


def matchers() -> list[str]:
    """The names of all matchers that can be used by their name alone."""
    return sorted(MATCHERS)


def matcher(text: str | Matcher) -> Matcher:
    """A matcher from its name, with parameters where they are not the defaults.

    >>> matcher("dp(place='inside')")
    dp(place='inside')
    """
    if isinstance(text, Matcher):
        return text
    try:
        return _built(ast.parse(text.strip(), mode="eval").body)
    except RoslinError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UnknownNameError("matcher", text, matchers()) from None


def _built(expression: ast.expr) -> Matcher:
    """A name, or a call with named parameters; what is not named is a matcher itself, as in `fuse(dp, emd)`."""
    call = expression if isinstance(expression, ast.Call) else ast.Call(expression, [], [])
    if not isinstance(call.func, ast.Name):
        raise ValueError("not a name")
    name = call.func.id
    kind = MATCHERS.get(name) or COMPOUND.get(name)
    if kind is None:
        raise UnknownNameError("matcher", name, matchers())
    known = [f.name for f in fields(kind)]
    parameters = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    for parameter in parameters:
        if parameter not in known:
            raise UnknownNameError(f"parameter of {name}", parameter, sorted(known))
    if call.args:
        if "members" not in known:
            raise ArgumentError(f"the parameters of {name} need their names: {', '.join(known) or 'it has none'}")
        parameters["members"] = tuple(_built(argument) for argument in call.args)
    return kind(**parameters)
