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

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from roslin.errors import ArgumentError
from roslin.matchers.base import Compare, Distances, Matcher
from roslin.melody import Melody
from roslin.represent.packed import Packed
from roslin.values.plugins import place_of

__all__ = ["FunctionMatcher", "function_matcher"]

_NOT_IN_A_NAME = re.compile(r"\W+")
# One class for one function, so that equal matchers are equal. A class keeps its function, so an id stays what it is.
_MADE: dict[tuple[int, str, str, str], type[FunctionMatcher]] = {}


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
    own = getattr(function, "__name__", type(function).__name__)
    _check_arguments(function, own)
    called = name or _NOT_IN_A_NAME.sub("", own)
    lines = (inspect.getdoc(function) or "").strip().splitlines() if hasattr(function, "__name__") else []
    module = str(getattr(function, "__module__", None) or type(function).__module__)
    where = place_of(module)
    described = summary or (lines[0] if lines else f"The function {own} of {where}.")
    origin = reference or f"the function {own} of {where}"
    key = id(function), called, described, origin
    if key not in _MADE:
        members = {
            "__module__": module,
            "__qualname__": called,
            "__doc__": described,
            "name": called,
            "summary": described,
            "reference": origin,
            "function": staticmethod(function),
        }
        _MADE[key] = type(called, (FunctionMatcher,), members)
    return _MADE[key]


def _remade(*described: Any) -> FunctionMatcher:
    return function_matcher(*described)()


def _check_arguments(function: Compare, name: str) -> None:
    try:
        signature = inspect.signature(function)
    except ValueError:  # compiled code may not say what it takes
        return
    try:
        signature.bind(None, None)
    except TypeError:
        raise ArgumentError(
            f"a function must take a query and a list of candidates to be a matcher; got {name}{signature}"
        ) from None
