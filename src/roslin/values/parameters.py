"""What a parameter may be: said once, beside its default, and checked in one place for everything that has a name.

    p: float = real(0.8, above=0, below=1)
    k: int | None = whole(None)
    tempos: tuple[float, ...] = reals((1.0,), above=0)

A value is also brought into one form, so that equal values have equal names: 3 becomes 3.0 where a number may have a
fraction, a list becomes a tuple, a number alone becomes a tuple of one where several may be given, a numpy number
becomes a Python one, and the choice 2004 becomes the text '2004'.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import Field, dataclass, field
from numbers import Real as RealNumber
from typing import Any

from roslin.errors import ArgumentError, RoslinError, UnknownNameError

# Beyond any list, and few enough that an array of them fits into memory.
MOST_RANKS = 1_000_000
_RULE = "rule"
_LONGEST_SHOWN = 80


class WrongValueError(Exception):
    """A value that a rule does not take. Nobody sees it: `check` says which parameter of whom it was."""


class Rule(ABC):
    """What one parameter may be."""

    @property
    @abstractmethod
    def expected(self) -> str:
        """What it must be, in words that fit after "must be"."""

    @abstractmethod
    def read(self, value: Any) -> Any:
        """The value in its one form, or `WrongValueError`."""

    def refusal(self, value: Any, parameter: str, owner: str) -> RoslinError:
        """The error for a value that is not taken."""
        return ArgumentError(f"{owner}: {parameter} must be {self.expected}; got {shown(value)}")


@dataclass(frozen=True)
class Whole(Rule):
    """A whole number, both ends included."""

    least: int = 1
    most: int = MOST_RANKS

    @property
    def expected(self) -> str:
        """From where to where."""
        return f"a {self.words}"

    @property
    def words(self) -> str:
        """The same without an article."""
        return f"whole number from {self.least} to {self.most}"

    def read(self, value: Any) -> int:
        """A Python int."""
        try:
            number = operator.index(value)
        except TypeError:
            raise WrongValueError from None
        if _is_bool(value) or not self.least <= number <= self.most:
            raise WrongValueError
        return number


@dataclass(frozen=True)
class Real(Rule):
    """A finite number. `above` and `below` are excluded, `least` and `most` are not."""

    above: float = -math.inf
    below: float = math.inf
    least: float = -math.inf
    most: float = math.inf

    @property
    def expected(self) -> str:
        """From where to where."""
        return f"a {self.words}"

    @property
    def words(self) -> str:
        """The same without an article."""
        low = f"above {self.above:g}" if self.above > -math.inf else ""
        low = low or (f"at least {self.least:g}" if self.least > -math.inf else "")
        high = f"below {self.below:g}" if self.below < math.inf else ""
        high = high or (f"at most {self.most:g}" if self.most < math.inf else "")
        if self.above > -math.inf and self.below < math.inf:
            return f"number between {self.above:g} and {self.below:g}"
        if self.least > -math.inf and self.most < math.inf:
            return f"number from {self.least:g} to {self.most:g}"
        limits = " and ".join(limit for limit in (low, high) if limit)
        return f"number{',' if limits.startswith('at') else ''} {limits}".rstrip()

    def read(self, value: Any) -> float:
        """A Python float, and never minus zero."""
        if not isinstance(value, RealNumber) or _is_bool(value):
            raise WrongValueError
        try:
            number = float(value) + 0.0
        except OverflowError:
            raise WrongValueError from None
        is_inside = self.above < number < self.below and self.least <= number <= self.most
        if not (is_inside and math.isfinite(number)):
            raise WrongValueError
        return number


@dataclass(frozen=True)
class Choice(Rule):
    """One of several names; a name made of digits may be given as a number."""

    known: tuple[str, ...]

    @property
    def expected(self) -> str:
        """The names."""
        return f"one of {', '.join(self.known)}"

    def read(self, value: Any) -> str:
        """The name, as a text."""
        if not isinstance(value, (str, int)) or str(value) not in self.known:
            raise WrongValueError
        return str(value)

    def refusal(self, value: Any, parameter: str, owner: str) -> RoslinError:
        """An unknown name: the error lists the known ones."""
        name = value[:_LONGEST_SHOWN] if isinstance(value, str) else shown(value)
        return UnknownNameError(f"{parameter} of {owner}", name, self.known)


@dataclass(frozen=True)
class Flag(Rule):
    """True or False."""

    @property
    def expected(self) -> str:
        """The two."""
        return "True or False"

    def read(self, value: Any) -> bool:
        """A Python bool."""
        if not _is_bool(value):
            raise WrongValueError
        return bool(value)


@dataclass(frozen=True)
class Text(Rule):
    """Any text."""

    @property
    def expected(self) -> str:
        """What it is."""
        return "a text"

    def read(self, value: Any) -> str:
        """The text itself."""
        if not isinstance(value, str):
            raise WrongValueError
        return str(value)


@dataclass(frozen=True)
class Several(Rule):
    """Several numbers, at least so many; one number alone is a tuple of one."""

    each: Whole | Real
    least: int = 1

    @property
    def expected(self) -> str:
        """What each of them is."""
        noun, limits = self.each.words.split("number", 1)
        return f"{'one or more ' if self.least else ''}{noun}numbers{limits}"

    def read(self, value: Any) -> tuple[Any, ...]:
        """A tuple."""
        plain = value.tolist() if hasattr(value, "tolist") else value  # an array
        values = tuple(plain) if isinstance(plain, (tuple, list, range)) else (plain,)
        if len(values) < self.least:
            raise WrongValueError
        return tuple(self.each.read(one) for one in values)


@dataclass(frozen=True)
class Members(Rule):
    """Other named values that this one is made of, at least one; a text is read as the name of one."""

    kind: type
    parse: Callable[[str], Any]
    example: str

    @property
    def expected(self) -> str:
        """What each of them is."""
        return f"one or more {self.kind.__name__.lower()}s, as in {self.example}"

    def read(self, value: Any) -> tuple[Any, ...]:
        """A tuple of values."""
        if not isinstance(value, (tuple, list)) or not value:
            raise WrongValueError
        found = tuple(self.parse(one) if isinstance(one, str) else one for one in value)
        if not all(isinstance(one, self.kind) for one in found):
            raise WrongValueError
        return found


@dataclass(frozen=True)
class OrNone(Rule):
    """What another rule takes, or None."""

    rule: Rule

    @property
    def expected(self) -> str:
        """What the other expects, or None."""
        return f"{self.rule.expected}, or None"

    def read(self, value: Any) -> Any:
        """None, or what the other makes of it."""
        return None if value is None else self.rule.read(value)


# -- declarations: what stands in a class -----------------------------------------------------------------------------


def whole(default: int | None, *, least: int = 1, most: int = MOST_RANKS, optional: bool | None = None) -> Any:
    """A whole number. It may be None where the default is, or where it is `optional`."""
    return _field(default, Whole(least, most), optional)


def real(
    default: float | None,
    *,
    above: float = -math.inf,
    below: float = math.inf,
    least: float = -math.inf,
    most: float = math.inf,
    optional: bool | None = None,
) -> Any:
    """A finite number; `above` and `below` are excluded, `least` and `most` are not. None as for `whole`."""
    return _field(default, Real(above, below, least, most), optional)


def wholes(default: tuple[int, ...], *, least: int = 1, most: int = MOST_RANKS, at_least: int = 1) -> Any:
    """Several whole numbers, at least so many."""
    return _field(default, Several(Whole(least, most), at_least))


def reals(
    default: tuple[float, ...],
    *,
    above: float = -math.inf,
    below: float = math.inf,
    least: float = -math.inf,
    most: float = math.inf,
    at_least: int = 1,
) -> Any:
    """Several finite numbers, at least so many."""
    return _field(default, Several(Real(above, below, least, most), at_least))


def choice(default: str, *known: str) -> Any:
    """One of several names."""
    return _field(default, Choice(known))


def flag(default: bool) -> Any:
    """True or False."""
    return _field(default, Flag())


def text(default: str | None = "", *, optional: bool | None = None) -> Any:
    """Any text. None as for `whole`."""
    return _field(default, Text(), optional)


def members(kind: type, parse: Callable[[str], Any], example: str) -> Any:
    """The values that a value is made of. They must be given, and are written first and without a name."""
    return _field((), Members(kind, parse, example))


# -- checking ---------------------------------------------------------------------------------------------------------


def rule_of(parameter: Field[Any]) -> Rule | None:
    """The rule of a dataclass field; None if it was not declared with one."""
    rule: Rule | None = parameter.metadata.get(_RULE)
    return rule


def check(value: Any, parameter: Field[Any], owner: str) -> Any:
    """A value for a parameter in its one form; a wrong one is refused. Without a rule it is taken as it is."""
    rule = rule_of(parameter)
    if rule is None:
        return value
    try:
        return rule.read(value)
    except WrongValueError:
        raise rule.refusal(value, parameter.name, owner) from None


def shown(value: Any) -> str:
    """A value as an error shows it: on one line, and not longer than a line."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # a number with thousands of digits
        text = f"a very long {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]} ..."


def _field(default: Any, rule: Rule, optional: bool | None = None) -> Any:
    may_be_none = default is None if optional is None else optional
    return field(default=default, metadata={_RULE: OrNone(rule) if may_be_none else rule})


def _is_bool(value: object) -> bool:
    return isinstance(value, bool) or type(value).__name__ == "bool"  # numpy's own
