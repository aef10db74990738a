"""What the parameters of a measure may be: said once, beside the default, and checked in one place for all measures.

    p: float = real(0.8, above=0, below=1)
    k: int | None = whole(None)

A value is also brought into one form, so that equal measures have equal names: `base=3` becomes 3.0, a numpy number a
Python one, and the variant 2004 the text '2004'.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import field
from numbers import Real
from typing import Any

from roslin.errors import ArgumentError, UnknownNameError

__all__ = ["MOST_RANKS", "check", "choice", "flag", "real", "whole"]

# Beyond any list, and few enough that an array of them fits into memory.
MOST_RANKS = 1_000_000

# Gets (value, parameter, measure) and gives the value in its one form, or raises.
Rule = Callable[[Any, str, str], Any]


def whole(default: int | None, *, least: int = 1, most: int = MOST_RANKS, optional: bool | None = None) -> Any:
    """A whole number. It may be None where the default is, or where it is `optional`."""
    expected = f"a whole number from {least} to {most}"

    def rule(value: Any, parameter: str, owner: str) -> int:
        try:
            number = operator.index(value)
        except TypeError:
            number = least - 1
        if isinstance(value, bool) or not least <= number <= most:
            raise _refused(value, parameter, owner, expected)
        return number

    return _field(default, rule, optional)


def real(default: float | None, *, above: float, below: float = math.inf) -> Any:
    """A finite number between two ends, which are excluded. It may be None where the default is."""
    expected = f"a number above {above:g}" if below == math.inf else f"a number between {above:g} and {below:g}"

    def rule(value: Any, parameter: str, owner: str) -> float:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
        if not above < number < below:
            raise _refused(value, parameter, owner, expected)
        return number

    return _field(default, rule)


def choice(default: str, *known: str) -> Any:
    """One of several names; a name made of digits may be given as a number."""

    def rule(value: Any, parameter: str, owner: str) -> str:
        if str(value) not in known:
            raise UnknownNameError(f"{parameter} of {owner}", str(value), known)
        return str(value)

    return _field(default, rule)


def flag(default: bool) -> Any:
    """True or False."""

    def rule(value: Any, parameter: str, owner: str) -> bool:
        if not isinstance(value, bool):
            raise _refused(value, parameter, owner, "True or False")
        return value

    return _field(default, rule)


def check(measure: Any, parameter: Any) -> Any:
    """The value of a parameter (a dataclass field made here) in its one form; a wrong one is refused."""
    value = getattr(measure, parameter.name)
    if value is None and parameter.metadata["optional"]:
        return None
    return parameter.metadata["rule"](value, parameter.name, measure.name)


def _field(default: Any, rule: Rule, optional: bool | None = None) -> Any:
    may_be_none = default is None if optional is None else optional
    return field(default=default, metadata={"rule": rule, "optional": may_be_none})


def _refused(value: Any, parameter: str, owner: str, expected: str) -> ArgumentError:
    return ArgumentError(f"{owner}: {parameter} must be {expected}; got {value!r}")
