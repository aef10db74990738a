"""The base of all matchers: a frozen value that turns a query and candidates into distances.

A matcher is a named value (`roslin.values`): a dataclass whose fields are its parameters, and whose `repr` is its name
in tables, files and addresses: `dp`, `dp(place='inside')`; `matcher()` reads that text back. A new one is a class with
a name, a summary, a reference and `_distances`, or a plain function.

Its table `modes` lists the modes that it supports, with the parameters for each; an empty mapping changes nothing.

    compare   both: melody and rhythm; melody: no change of rhythm counts; rhythm: no change of pitch counts; contour:
              of pitch only whether it rises, stays or falls
    place     anywhere: the query may be any passage of a melody; start: both begin together, and the melody may
              continue; whole: anything that only one of them has counts
    key       any: a transposed melody is the same; written: it is another

A mode that is not asked for is left as it is. A matcher made of others supports the modes that all of them support.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, TypeVar, overload

import numpy as np

from roslin.display.words import N_
from roslin.errors import ArgumentError, MelodyError, UnknownNameError
from roslin.matchers.explanation import Explanation, Step, in_words
from roslin.matchers.roslin.scores import COMPARED, KEYS, PLACES
from roslin.melody import Melody
from roslin.represent.packed import Candidates, Packed, SupportsPacked, melody_of, pack, pieces
from roslin.types import Distances
from roslin.values.parameters import Named, members_of
from roslin.values.plugins import OfFunction, guarded, is_own, one_number_each
from roslin.values.registry import NamedRegistry

Given = TypeVar("Given")
Tell = Callable[[float], None]
# By mode and value, the parameters that make it so.
Modes = Mapping[str, Mapping[str, Mapping[str, Any]]]
# A plain function as a matcher: the query, melodies; one distance for each.
Compare = Callable[[Melody, list[Melody]], Any]

# Also the largest number of melodies.
COMPARED_AT_ONCE = 4096
# Differences that only rounding explains are none: a melody is at 0 from itself, and equal matches are equal.
_DECIMALS = 12


@dataclass(frozen=True, repr=False)
class Matcher(Named, ABC):
    """Smaller is more similar. Distances of one matcher can be compared with each other, not with those of another."""

    engine: ClassVar[str] = ""  # of its searches, for this class alone (roslin.search.engines)
    estimates_chance: ClassVar[bool] = False  # whether its results have a number of expected chance matches
    kind: ClassVar[str] = "likeness"  # how its distances are taken apart (explanation.py); likeness: they are not
    modes: ClassVar[Modes] = {}  # those that it supports, with their parameters
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
        found = guarded(self, "matcher", lambda: self._distances(query, packed))
        if is_own(type(self)):
            return found
        expected = f"the matcher {self!r} must give {len(packed)} distances, one for each candidate"
        return one_number_each(found, len(packed), expected)

    def distances_told(self, query: Melody, candidates: Packed, tell: Tell) -> Distances:
        """The distances. `tell` is called regularly with the share that is done, and may raise an error."""
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
        """The explanation of the distance to one of the candidates, which may depend on the others.

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
        """Whether a candidate's distance is independent of the other candidates."""
        return True

    @property
    def is_indexed(self) -> bool:
        """Whether it makes an index of all candidates. One call for all is then faster than many for parts."""
        return False

    @abstractmethod
    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        """One distance for each of the melodies, which lie end to end in one table (represent/packed.py)."""

    def _explain_told(self, query: Melody, candidates: Packed, number: int, tell: Tell) -> Explanation:
        found = self._explain(query, candidates, number)  # one comparison is quick and needs no progress
        if found is not None:
            return found
        from roslin.matchers.edit.dp import likeness  # made with a matcher, so it cannot come first

        among, place = (candidates.part(number, number + 1), 0) if self.is_independent else (candidates, number)
        return likeness(self, query, among, place, float(self.distances_told(query, among, tell)[place]))

    def _explain(self, query: Melody, candidates: Packed, number: int) -> Explanation | None:
        """The explanation of a candidate with notes, or None if there are no rules for it."""
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
        """The explanation of one candidate from these steps, with the `tempo` if the matcher knows it."""
        candidate, listed, about = candidates.melody(number), tuple(steps), tuple[Any, ...]()
        leading = next((step.within for step in listed if step.kind == "measure" and step.within is not None), None)
        if leading is None:
            about = in_words(self, query, candidate, listed, tempo)
        else:
            about = leading.counting_most, leading.transformation, leading.transposition, leading.tempo, leading.place
        return Explanation(self, self.kind, query, candidate, start, listed, *about)


def check_query(query: Melody) -> None:
    """Refuse what no matcher can look for."""
    if not isinstance(query, Melody):
        raise ArgumentError(f"the query must be a Melody; got {type(query).__name__}; read text with roslin.load")
    if not np.any(~query.notes["is_grace"]):
        raise MelodyError("the query has no notes; expected at least one that is not a grace note")


def rounded(distances: Distances) -> Distances:
    """Distances without the traces of rounding."""
    return np.round(distances, _DECIMALS)


# -- plain functions ---------------------------------------------------------------------------------------------------
#
# The melodies that a function receives have their notes and bar lines. Ids, titles and all other metadata are left out,
# so that only the music is compared. All candidates come in one call, so a function may compare them with each other. A
# function with an attribute `is_independent = True` looks at each candidate alone: a search hands it pieces of the
# collection, in several threads where they are asked for, and can be stopped between them.


@dataclass(frozen=True, repr=False)
class FunctionMatcher(OfFunction, Matcher):
    """A matcher that calls a function."""

    takes = "a query and a list of candidates to be a matcher"

    @property
    def is_independent(self) -> bool:
        return bool(getattr(type(self).function, "is_independent", False))

    def _distances(self, query: Melody, candidates: Packed) -> Distances:
        found: Distances = type(self).function(query, candidates.melodies())  # whatever it is; checked by the caller
        return found


MATCHERS: NamedRegistry[Matcher] = NamedRegistry(
    "matcher", Matcher, "roslin.matchers", example="dp", of_functions=FunctionMatcher
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
    return MATCHERS.parse(text, name)


@overload
def register_matcher(thing: Given, *, name: str = "", summary: str = "", reference: str = "") -> Given: ...


@overload
def register_matcher(*, name: str = "", summary: str = "", reference: str = "") -> Callable[[Given], Given]: ...


def register_matcher(thing: Any = None, *, name: str = "", summary: str = "", reference: str = "") -> Any:
    """Register a matcher under its name: a subclass of `Matcher`, or a function. Also works as a decorator.

    By default, a function keeps its Python name and is described by the first line of its docstring.
    """
    return MATCHERS.register_described(thing, name=name, summary=summary, reference=reference)


# What can be chosen, and how people call it.
MODES: dict[str, tuple[str, ...]] = {"compare": COMPARED, "place": PLACES, "key": KEYS}
MODE_WORDS = {
    "compare": {
        "both": N_("melody and rhythm"),
        "melody": N_("melody only"),
        "rhythm": N_("rhythm only"),
        "contour": N_("contour"),
    },
    "place": {
        "anywhere": N_("anywhere"),
        "start": N_("at the start"),
        "end": N_("at the end"),
        "whole": N_("the whole melody"),
    },
    "key": {"any": N_("any key"), "written": N_("as written")},
}
_ABILITIES = {
    "compare": {
        "both": "compare melody and rhythm together",
        "melody": "compare the melody without its rhythm",
        "rhythm": "compare the rhythm without its melody",
        "contour": "compare contours",
    },
    "place": {
        "anywhere": "look for the query anywhere in a melody",
        "start": "compare beginnings",
        "end": "compare endings",
        "whole": "compare whole melodies",
    },
    "key": {"any": "find melodies in any key", "written": "tell one key from another"},
}


@dataclass(frozen=True, slots=True)
class Mode:
    """The modes that were asked for; None is the matcher's default.

    >>> from roslin import matcher
    >>> Mode(compare="melody", place="start").of(matcher("dp"))
    (dp, True)
    """

    compare: str | None = None
    place: str | None = None
    key: str | None = None

    def of(self, matcher: Matcher) -> tuple[Matcher, bool]:
        """The matcher in this mode, and whether melodies must be cut to their beginnings for it."""
        is_cut = self.place == "start" and not has_mode(matcher, "place", "start")
        place = None if is_cut else self.place
        return in_mode(matcher, compare=self.compare, place=place, key=self.key), is_cut


def in_mode(
    matcher: Matcher, *, compare: str | None = None, place: str | None = None, key: str | None = None
) -> Matcher:
    """The matcher with the parameters that make these modes. One that cannot do them is refused.

    >>> from roslin import matcher
    >>> in_mode(matcher("dp"), place="anywhere"), in_mode(matcher("time"), compare="melody", place="whole")
    (dp(place='inside'), time(aligner='global', rhythm=0.0))
    """
    for mode, value in (("compare", compare), ("place", place), ("key", key)):
        if value is not None:
            matcher = _in_one(matcher, mode, value)
    return matcher


def has_mode(matcher: Matcher, mode: str, value: str) -> bool:
    """Whether the matcher has its own way to do this."""
    if made_of := members_of(type(matcher)):
        return all(has_mode(member, mode, value) for member in getattr(matcher, made_of))
    return value in matcher.modes.get(mode, {})


def those_with(mode: str, value: str) -> list[str]:
    """The names of the matchers that can do this.

    >>> those_with("compare", "contour")
    ['roslin']
    """
    return [name for name in MATCHERS.names() if value in MATCHERS[name].modes.get(mode, {})]


def _in_one(matcher: Matcher, mode: str, value: str) -> Matcher:
    if value not in MODES[mode]:
        raise UnknownNameError(mode, value, MODES[mode])
    if made_of := members_of(type(matcher)):
        members = tuple(_in_one(member, mode, value) for member in getattr(matcher, made_of))
        return replace(matcher, **{made_of: members})
    known = matcher.modes.get(mode, {})
    if value not in known:
        can = ", ".join(those_with(mode, value))
        raise ArgumentError(f"{matcher.name} cannot {_ABILITIES[mode][value]} ({mode} {value!r}); these can: {can}")
    # Out of any other mode first: what made it so goes back to its default.
    usual = {field.name: field.default for field in fields(matcher)}
    changed: dict[str, Any] = {}
    for other, parameters in known.items():
        if other != value and parameters and all(getattr(matcher, name) == set_ for name, set_ in parameters.items()):
            changed |= {name: usual[name] for name in parameters}
    return replace(matcher, **(changed | dict(known[value])))
