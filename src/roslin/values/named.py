"""What everything with a name and parameters is: a frozen value whose `repr` is its name in tables, files, addresses.

A named value is a dataclass; its fields are its parameters, each declared with a rule (`parameters`):

    @dataclass(frozen=True, repr=False)
    class DP(Matcher):
        name = "dp"
        summary = "Counts the notes to insert, delete or change; ignores key and rhythm."
        reference = "Lemstrom & Ukkonen; MIREX 2005 entry L(DP)"

        place: str = choice("whole", "whole", "inside")

Its `repr` has the parameters that differ from their defaults, `dp(place='inside')`; what it is made of comes first,
`fuse(dp, emd)`, and a cutoff last, `nDCG@10`. `grammar` reads that text back.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, NoReturn

from roslin.errors import ArgumentError
from roslin.values.parameters import Members, check, rule_of


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
        """Refuse parameters that make no sense together; each alone has been checked."""

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
    """The parameter that holds the values that this kind is made of; empty where it is made of none."""
    return next((field.name for field in fields(kind) if isinstance(rule_of(field), Members)), "")
