"""A plain function as a matcher.

    def lengths(query, candidates):
        return [abs(len(query) - len(each)) for each in candidates]

    collection.search(query, roslin.matcher(lengths))
    roslin.register_matcher(lengths)          # now `roslin search --matcher lengths` knows it, from a plug-in

The function gets the query and a list of `Melody` objects, and gives one number for each, smaller for more similar
ones; infinity for what cannot be compared. The melodies have their notes and bar lines; ids, titles and all other
metadata are left out, whether they come from a list or from a collection: nothing but the music is compared.

All candidates come in one call: a function may compare them with each other. One that looks at each candidate alone may
say so with an attribute, `lengths.is_independent = True`; then a search hands it pieces of the collection, in several
threads where they are asked for, and can be stopped between them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from roslin.matchers.base import Compare, Matcher
from roslin.melody import Melody
from roslin.represent.packed import Packed
from roslin.types import Distances
from roslin.values.plugins import class_of_function


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
