"""Named values, and the rules for their parameters.

A named value is a frozen dataclass whose `repr` is its name in tables, files and addresses. Its fields are its
parameters, each declared with a rule:

    @dataclass(frozen=True, repr=False)
    class DP(Matcher):
        name = "dp"
        summary = "Counts the notes to insert, delete or change; ignores key and rhythm."
        reference = "Lemström & Ukkonen; MIREX 2005 entry L(DP)"

        place: str = choice("whole", "whole", "inside")
        share: float = real(0.8, above=0, below=1)
        tempos: tuple[float, ...] = reals((1.0,), above=0)

The `repr` has the parameters that differ from their defaults, `dp(place='inside')`. Its members come first,
`fuse(dp, emd)`, and a cutoff last, `nDCG@10`. `registry` reads that text back.

A rule checks a value and brings it into one form, so that equal values have equal names: 3 becomes 3.0 where a number
may have a fraction, a list becomes a tuple, a number alone becomes a tuple of one where several may be given, a numpy
number becomes a Python one, and the choice 2004 becomes the text '2004'.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from numbers import Real
from typing import Any, ClassVar, NoReturn

from roslin.errors import ArgumentError, UnknownNameError

# Beyond any list, and few enough that an array of them fits into memory.
MOST_RANKS = 1_000_000
_RULE = "rule"
_LONGEST_SHOWN = 80


class WrongValueError(Exception):
    """A value that a rule refuses. `check` turns it into an error with the parameter and its owner."""


@dataclass(frozen=True)
class Rule:
    """A rule for one parameter: `expected` fits after "must be", `read` raises `WrongValueError`."""

    expected: str
    read: Callable[[Any], Any]
    known: tuple[str, ...] = ()  # the names to choose from; the error for another one lists them
    is_for_members: bool = False


# -- declarations -----------------------------------------------------------------------------------------------------


def whole(default: int | None, *, least: int = 1, most: int = MOST_RANKS, optional: bool | None = None) -> Any:
    """A whole number, both ends included. None is allowed if it is the default, or with `optional`."""
    return _field(default, _whole(least, most), optional)


def real(
    default: float | None,
    *,
    above: float = -math.inf,
    below: float = math.inf,
    least: float = -math.inf,
    most: float = math.inf,
    optional: bool | None = None,
) -> Any:
    """A finite number; `above` and `below` are excluded, `least` and `most` are not. None is allowed as for `whole`."""
    return _field(default, _real(above, below, least, most), optional)


def wholes(default: tuple[int, ...], *, least: int = 1, most: int = MOST_RANKS) -> Any:
    """One or more whole numbers."""
    return _field(default, _several(_whole(least, most), 1))


def reals(
    default: tuple[float, ...],
    *,
    above: float = -math.inf,
    below: float = math.inf,
    least: float = -math.inf,
    most: float = math.inf,
    at_least: int = 1,
) -> Any:
    """Several finite numbers, at least `at_least` of them."""
    return _field(default, _several(_real(above, below, least, most), at_least))


def choice(default: str, *known: str) -> Any:
    """One of several names. A name made of digits may be given as a number."""

    def read(value: Any) -> str:
        if not isinstance(value, (str, int)) or str(value) not in known:
            raise WrongValueError
        return str(value)

    return _field(default, Rule(f"one of {', '.join(known)}", read, known))


def flag(default: bool) -> Any:
    """True or False."""

    def read(value: Any) -> bool:
        if not _is_bool(value):
            raise WrongValueError
        return bool(value)

    return _field(default, Rule("True or False", read))


def text(default: str | None = "", *, optional: bool | None = None) -> Any:
    """Any text. None is allowed as for `whole`."""

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise WrongValueError
        return str(value)

    return _field(default, Rule("a text", read), optional)


def members(kind: type, parse: Callable[[str], Any], example: str) -> Any:
    """The values that a value is made of, at least one. They are written first; `parse` reads a text as one of them."""

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (tuple, list)) or not value:
            raise WrongValueError
        found = tuple(parse(one) if isinstance(one, str) else one for one in value)
        if not all(isinstance(one, kind) for one in found):
            raise WrongValueError
        return found

    return _field((), Rule(f"one or more {kind.__name__.lower()}s, as in {example}", read, is_for_members=True))


def _whole(least: int, most: int) -> Rule:
    def read(value: Any) -> int:
        try:
            number = operator.index(value)
        except TypeError:
            raise WrongValueError from None
        if _is_bool(value) or not least <= number <= most:
            raise WrongValueError
        return number

    return Rule(f"a whole number from {least} to {most}", read)


def _real(above: float, below: float, least: float, most: float) -> Rule:
    def read(value: Any) -> float:
        if not isinstance(value, Real) or _is_bool(value):
            raise WrongValueError
        try:
            number = float(value) + 0.0  # never minus zero
        except OverflowError:
            raise WrongValueError from None
        if not (above < number < below and least <= number <= most and math.isfinite(number)):
            raise WrongValueError
        return number

    if above > -math.inf and below < math.inf:
        return Rule(f"a number between {above:g} and {below:g}", read)
    if least > -math.inf and most < math.inf:
        return Rule(f"a number from {least:g} to {most:g}", read)
    low = f"above {above:g}" if above > -math.inf else f"at least {least:g}" if least > -math.inf else ""
    high = f"below {below:g}" if below < math.inf else f"at most {most:g}" if most < math.inf else ""
    limits = " and ".join(limit for limit in (low, high) if limit)
    return Rule(f"a number{',' if limits.startswith('at') else ''} {limits}".rstrip(), read)


def _several(each: Rule, least: int) -> Rule:
    """A tuple of values for which `each` is the rule. One number alone is a tuple of one."""

    def read(value: Any) -> tuple[Any, ...]:
        plain = value.tolist() if hasattr(value, "tolist") else value  # an array
        values = tuple(plain) if isinstance(plain, (tuple, list, range)) else (plain,)
        if len(values) < least:
            raise WrongValueError
        return tuple(each.read(one) for one in values)

    plural = each.expected.removeprefix("a ").replace("number", "numbers", 1)
    return Rule(f"{'one or more ' if least else ''}{plural}", read)


def _field(default: Any, rule: Rule, optional: bool | None = None) -> Any:
    if default is None if optional is None else optional:
        read = rule.read
        rule = Rule(f"{rule.expected}, or None", lambda value: None if value is None else read(value), rule.known)
    return field(default=default, metadata={_RULE: rule})


def _is_bool(value: object) -> bool:
    return isinstance(value, bool) or type(value).__name__ == "bool"  # numpy's own


# -- checking ---------------------------------------------------------------------------------------------------------


def rule_of(parameter: Field[Any]) -> Rule | None:
    """The rule of a dataclass field; None if it was not declared with one."""
    rule: Rule | None = parameter.metadata.get(_RULE)
    return rule


def check(value: Any, parameter: Field[Any], owner: str) -> Any:
    """A value for a parameter in its one form. A wrong one is refused. Without a rule it stays unchanged."""
    rule = rule_of(parameter)
    if rule is None:
        return value
    try:
        return rule.read(value)
    except WrongValueError:
        if rule.known:
            name = value[:_LONGEST_SHOWN] if isinstance(value, str) else shown(value)
            raise UnknownNameError(f"{parameter.name} of {owner}", name, rule.known) from None
        raise ArgumentError(f"{owner}: {parameter.name} must be {rule.expected}; got {shown(value)}") from None


def shown(value: Any) -> str:
    """A value as an error shows it: on one line, and not longer than a line."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # a number with thousands of digits
        text = f"a very long {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]} ..."


# -- named values -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Named:
    """A value with a name and checked parameters."""

    name: ClassVar[str]
    summary: ClassVar[str]  # one sentence for people who choose
    reference: ClassVar[str]  # where it was published
    also: ClassVar[tuple[str, ...]] = ()  # other names that it is known by
    cutoff: ClassVar[str] = ""  # the parameter that is written as @10, where there is one

    def __post_init__(self) -> None:
        for parameter in fields(self):
            value = check(getattr(self, parameter.name), parameter, self.name)
            object.__setattr__(self, parameter.name, value)
        self._check()

    def _check(self) -> None:
        """Refuse parameters that make no sense together. Each alone has been checked."""

    def _refuse(self, reason: str) -> NoReturn:
        raise ArgumentError(f"{self.name}: {reason}")

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters by name, defaults too."""
        return {parameter.name: getattr(self, parameter.name) for parameter in fields(self)}

    def __repr__(self) -> str:
        made_of, cutoff = members_of(type(self)), getattr(self, self.cutoff, None) if self.cutoff else None
        written = [repr(member) for member in getattr(self, made_of)] if made_of else []
        for parameter in fields(self):
            value = getattr(self, parameter.name)
            if parameter.name == made_of or (parameter.name == self.cutoff and value is not None):
                continue
            if value != parameter.default:
                written.append(f"{parameter.name}={value!r}")
        return self.name + (f"({', '.join(written)})" if written else "") + (f"@{cutoff}" if cutoff is not None else "")


def members_of(kind: type[Named]) -> str:
    """The name of the parameter that holds the members of this kind, or an empty text."""
    rules = {parameter.name: rule_of(parameter) for parameter in fields(kind)}
    return next((name for name, rule in rules.items() if rule and rule.is_for_members), "")
