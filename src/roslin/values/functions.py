"""A plain function as a named value: the class whose values call it, with name and description from the function."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

from roslin.errors import ArgumentError
from roslin.values.named import Named
from roslin.values.plugins import place_of

Value = TypeVar("Value", bound=Named)
Given = tuple[Callable[..., Any], str, str, str]
"""A function, and its name, summary and reference; empty: those of the function."""

_NOT_IN_A_NAME = re.compile(r"\W+")
# One class for one function, so that equal values are equal. A class keeps its function, so an id stays what it is.
_MADE: dict[tuple[type[Named], int, str, str, str], Any] = {}


def is_function(thing: Any, base: type) -> bool:
    """Whether it can be called and is neither a class nor already a value of this kind."""
    return callable(thing) and not isinstance(thing, (type, base))


def class_of_function(base: type[Value], given: Given, expected: str) -> type[Value]:
    """The class made from `base` whose `function` is this one; `expected` says in the error what it must be."""
    function, name, summary, reference = given
    own = getattr(function, "__name__", type(function).__name__)
    _check_arguments(function, own, expected)
    called = name or _NOT_IN_A_NAME.sub("", own)
    lines = (inspect.getdoc(function) or "").strip().splitlines() if hasattr(function, "__name__") else []
    module = str(getattr(function, "__module__", None) or type(function).__module__)
    where = place_of(module)
    described = summary or (lines[0] if lines else f"The function {own} of {where}.")
    origin = reference or f"the function {own} of {where}"
    key = base, id(function), called, described, origin
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
        _MADE[key] = type(called, (base,), members)
    made: type[Value] = _MADE[key]
    return made


def _check_arguments(function: Callable[..., Any], name: str, expected: str) -> None:
    try:
        signature = inspect.signature(function)
    except ValueError:  # compiled code may not say what it takes
        return
    try:
        signature.bind(None, None)
    except TypeError:
        raise ArgumentError(f"a function must take {expected}; got {name}{signature}") from None
