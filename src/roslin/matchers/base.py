"""What every matcher is: a frozen value that turns a query and candidates into distances.

A matcher is a named value (`roslin.values`): a dataclass whose fields are its parameters, and whose `repr` is its name
in tables, files and addresses: `dp`, `dp(place='inside')`; `matcher()` reads that text back. A new one is a class with
a name, a summary, a reference and `_distances`, or a plain function (below).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, overload

import numpy as np

from roslin.display.words import N_
from roslin.errors import ArgumentError, MelodyError, PluginError, RoslinError
from roslin.matchers.explanation import Explanation, Step
from roslin.melody import Melody
from roslin.represent.packed import Candidates, Packed, SupportsPacked, melody_of, pack, pieces
from roslin.types import Distances
from roslin.values.parameters import Named
from roslin.values.plugins import class_of_function, failure, is_function, is_own, one_number_each
from roslin.values.registry import NamedRegistry

Given = TypeVar("Given")
Tell = Callable[[float], None]
# By mode and value (`roslin.matchers.modes`), the parameters that make it so.
Modes = Mapping[str, Mapping[str, Mapping[str, Any]]]
# A plain function as a matcher: the query, melodies; one distance for each.
Compare = Callable[[Melody, list[Melody]], Any]

# At most so many melodies too.
COMPARED_AT_ONCE = 4096
# Differences that only rounding explains are none: a melody is at 0 from itself, and equal matches are equal.
_DECIMALS = 12


@dataclass(frozen=True, repr=False)
class Matcher(Named, ABC):
    """Smaller is more similar. Distances of one matcher can be compared with each other, not with those of another."""

    engine: ClassVar[str] = ""  # of its searches, for this class alone (roslin.search.engines)
    estimates_chance: ClassVar[bool] = False  # whether its results have a number of expected chance matches
    kind: ClassVar[str] = "likeness"  # how its distances are taken apart (explanation.py); likeness: they are not
    modes: ClassVar[Modes] = {}  # what it can do of what people ask for (modes.py)
    pairs_at_once: ClassVar[int] = 2_000_000  # of notes, compared without a look at the clock: a second or two
    pairs_explained: ClassVar[int] = 250_000  # of notes; beyond that, more memory than an explanation is worth

    @property
    def things(self) -> str:
        """The properties that an alignment compares."""
        return N_("notes")

    @property
    def hears_pitch(self) -> bool:
        """Whether it distinguishes pitches."""
        return True

    def distances(self, query: Melody, candidates: Candidates) -> Distances:
        """The distance from the query to each candidate: a list of melodies, or a collection.

        Infinity means that the two cannot be compared. A search omits such a candidate.
        """
        check_query(query)
        packed = pack(candidates)
        if is_own(type(self)):
            return self._distances(query, packed)
        try:
            found = self._distances(query, packed)
        except RoslinError:
            raise
        except Exception as error:
            raise PluginError(f"the matcher {self!r} fails: {failure(error)}") from error
        expected = f"the matcher {self!r} must give {len(packed)} distances, one for each candidate"
        return one_number_each(found, len(packed), expected)

    def distances_told(self, query: Melody, candidates: Packed, tell: Tell) -> Distances:
        """The distances. `tell` regularly receives the share that is known, and may raise an error."""
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
        """The number of notes of candidates that are compared before the time limit is checked again."""
        return self.pairs_at_once // max(len(query), 1)

    def longest(self, query: Melody) -> int:
        """The largest number of notes of a candidate that is compared with the query within a second or two."""
        return self.notes_at_once(query)

    def explain(
        self, query: Melody, candidates: Candidates, number: int = 0, tell: Tell = lambda _: None
    ) -> Explanation:
        """The explanation of the distance to one of the candidates. The distance may depend on the others.

        `tell` receives the share that is done if all candidates have to be compared.
        """
        check_query(query)
        known = candidates if isinstance(candidates, (Packed, SupportsPacked)) else list(candidates)
        packed = pack(known)
        if not 0 <= number < len(packed):
            raise ArgumentError(f"number must be that of one of {len(packed)} candidates, from 0; got {number}")
        candidate = melody_of(known, number)
        if candidate.notes["is_grace"].all():
            distance = float(self.distances_told(query, packed, tell)[number])
            return Explanation(self, self.kind, query, candidate, distance, (), "The melody has no notes.")
        return self._explain_told(query, packed, number, tell).about(query, candidate)

    def remarks(self, query: Melody) -> tuple[str, ...]:
        """Remarks for the user on how this query was compared."""
        del query
        return ()

    @property
    def leading(self) -> Matcher:
        """The matcher with the largest weight: itself, unless it combines others."""
        return self

    @property
    def is_independent(self) -> bool:
        """Whether a candidate's distance is the same whatever the other candidates are."""
        return True

    @property
    def is_indexed(self) -> bool:
        """Whether it makes an index of all candidates. One call for all is then faster than many for parts."""
        return False

    @abstractmethod
    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        """One distance for each of the melodies, which lie end to end in one table (represent/packed.py)."""

    def _explain_told(self, query: Melody, candidates: Packed, number: int, tell: Tell) -> Explanation:
        found = self._explain(query, candidates, number)  # one comparison is quick: there is nothing to tell
        if found is not None:
            return found
        from roslin.matchers.edit.dp import likeness  # made with a matcher, so it cannot come first

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


def check_query(query: Melody) -> None:
    """Refuse what no matcher can look for."""
    if not isinstance(query, Melody):
        raise ArgumentError(f"the query must be a Melody; got {type(query).__name__}; read text with roslin.load")
    if not np.any(~query.notes["is_grace"]):
        raise MelodyError("the query has no notes; expected at least one that is not a grace note")


def rounded(distances: Distances) -> Distances:
    """Distances without the traces of rounding."""
    return np.round(distances, _DECIMALS)


def _adapted(thing: Any, name: str) -> Any:
    """A plain function becomes a matcher; anything else is left to the registry."""
    return function_matcher(thing, name) if is_function(thing, Matcher) else thing


def _code_of(kind: Any) -> Any:
    function = getattr(kind, "function", None)
    return function if callable(function) else kind


MATCHERS: NamedRegistry[Matcher] = NamedRegistry(
    "matcher", Matcher, "roslin.matchers", example="dp", adapt=_adapted, code_of=_code_of
)
# Those that are made of other matchers, which must be named.
COMPOUND = MATCHERS.compound

register = MATCHERS.register


def matchers() -> list[str]:
    """The names of all matchers that can be used by their name alone."""
    return MATCHERS.names()


def matcher(text: str | Matcher | Compare, *, name: str = "") -> Matcher:
    """A matcher from its name, with any parameters, or from a function.

    >>> matcher("dp(place='inside')")
    dp(place='inside')

    A function gets the query and a list of melodies, and returns one distance for each. `name` is the name of the
    matcher, by default that of the function.

    >>> matcher(lambda query, candidates: [abs(len(query) - len(each)) for each in candidates], name="lengths")
    lengths
    """
    if not is_function(text, Matcher):
        return MATCHERS.parse(text)  # type: ignore[arg-type]  # which refuses what is neither
    kind: type[Matcher] = _adapted(text, name)
    MATCHERS.check_free(kind)
    return kind()


@overload
def register_matcher(thing: Given, *, name: str = "", summary: str = "", reference: str = "") -> Given: ...


@overload
def register_matcher(*, name: str = "", summary: str = "", reference: str = "") -> Callable[[Given], Given]: ...


def register_matcher(thing: Any = None, *, name: str = "", summary: str = "", reference: str = "") -> Any:
    """Register a matcher under its name: a subclass of `Matcher`, or a function. Also works as a decorator.

    By default, a function keeps its Python name and is described by the first line of its docstring.
    """
    if thing is None:
        return lambda given: register_matcher(given, name=name, summary=summary, reference=reference)
    if not is_function(thing, Matcher):
        if name or summary or reference:
            raise ArgumentError("name, summary and reference can be given for a function, but not for a class")
        return register(thing)
    register(function_matcher(thing, name, summary, reference))
    return thing


# -- plain functions ---------------------------------------------------------------------------------------------------
#
#     def lengths(query, candidates):
#         return [abs(len(query) - len(each)) for each in candidates]
#
#     collection.search(query, roslin.matcher(lengths))
#     roslin.register_matcher(lengths)          # now `roslin search --matcher lengths` knows it, from a plug-in
#
# The function gets the query and a list of `Melody` objects, and gives one number for each, smaller for more similar
# ones; infinity for what cannot be compared. The melodies have their notes and bar lines; ids, titles and all other
# metadata are left out, whether they come from a list or from a collection: nothing but the music is compared.
#
# All candidates come in one call: a function may compare them with each other. One that looks at each candidate alone
# may say so with an attribute, `lengths.is_independent = True`; then a search hands it pieces of the collection, in
# several threads where they are asked for, and can be stopped between them.


@dataclass(frozen=True, repr=False)
class FunctionMatcher(Matcher):
    """A matcher that calls a function."""

    function: ClassVar[Compare]

    @property
    def is_independent(self) -> bool:
        """Only if the function says so."""
        return bool(getattr(type(self).function, "is_independent", False))

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        found: Distances = type(self).function(query, candidates.melodies())  # whatever it is; checked by the caller
        return found

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _remade, (type(self).function, self.name, self.summary, self.reference)


def function_matcher(
    function: Compare, name: str = "", summary: str = "", reference: str = ""
) -> type[FunctionMatcher]:
    """The class whose values call this function; what is not said is taken from the function itself."""
    expected = "a query and a list of candidates to be a matcher"
    return class_of_function(FunctionMatcher, (function, name, summary, reference), expected)


def _remade(*described: Any) -> FunctionMatcher:
    return function_matcher(*described)()
