"""Editing distance between strings with adjustable costs (Typke et al. 2007, section 3.1).

The sum of the costs of the cheapest insertions, deletions and replacements that turn one string into the other. The
paper does not print the costs that it takes from Prechelt and Typke (2001): here every operation costs 1 by default.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from roslin.display.words import _
from roslin.errors import FilterError
from roslin.native import kernels

_OPERATIONS = ("insertion", "deletion", "replacement")
_ALPHABETS = ("UDR", "LS=")  # of gross contours, of rhythms


@dataclass(frozen=True, slots=True)
class EditCosts:
    """The cost of each operation, for one letter.

    `pairs` are the costs of replacing one letter by another that differ from `replacement`: ("UD", 2.0) makes a D for a
    U cost 2. The other direction is a separate pair.
    """

    insertion: float = 1.0
    deletion: float = 1.0
    replacement: float = 1.0
    pairs: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        for name in _OPERATIONS:
            object.__setattr__(self, name, _cost(f"the cost of {name}", getattr(self, name)))
        for letters, _cost_of in self.pairs:
            if len(letters) != 2 or not letters.isascii() or letters[0] == letters[1]:
                raise FilterError(f"pairs must name two different letters, such as 'UD'; got {letters!r}")
        pairs = tuple((letters, _cost(f"the cost of {letters}", cost)) for letters, cost in self.pairs)
        object.__setattr__(self, "pairs", pairs)

    def __str__(self) -> str:
        named = (_("insertion"), self.insertion), (_("deletion"), self.deletion), (_("replacement"), self.replacement)
        pair = _("{letter} by {other}")
        pairs = [(pair.format(letter=letters[0], other=letters[1]), cost) for letters, cost in self.pairs]
        return ", ".join(f"{name} {cost:g}" for name, cost in (*named, *pairs))


def parse_costs(text: str) -> EditCosts:
    """Costs as people type them: what is not said costs 1.

    >>> parse_costs("insertion=0.5, UD=2 L==3")
    EditCosts(insertion=0.5, deletion=1.0, replacement=1.0, pairs=(('UD', 2.0), ('L=', 3.0)))
    """
    operations, pairs = dict[str, float](), list[tuple[str, float]]()
    for part in text.replace(",", " ").split():
        name, _sign, number = part.rpartition("=")
        try:
            cost = float(number)
        except ValueError:
            raise FilterError(f"costs must be NAME=NUMBER, such as insertion=0.5 or UD=2; got {part!r}") from None
        if name in _OPERATIONS:
            operations[name] = cost
        elif len(name) == 2 and any(set(name) <= set(letters) for letters in _ALPHABETS):
            pairs.append((name, cost))
        else:
            known = f"{', '.join(_OPERATIONS)}, two of U, D, R or two of L, S, ="
            raise FilterError(f"costs must be those of {known}; got {name!r}")
    return EditCosts(**operations, pairs=tuple(pairs))


def _cost(what: str, value: float) -> float:
    if isinstance(value, (int, float)) and math.isfinite(value) and value >= 0:
        return float(value)
    raise FilterError(f"{what} must be a finite number, at least 0; got {value!r}")


def edit_distance(query: str, candidate: str, costs: EditCosts | None = None) -> float:
    """The cost of turning `query` into `candidate`.

    >>> edit_distance("UUDR", "UDDR"), edit_distance("UU", "UUDD", EditCosts(insertion=0.5))
    (1.0, 1.0)
    """
    return edit_distance_from(query, costs)(candidate)


def edit_distance_from(query: str, costs: EditCosts | None = None) -> Callable[[str], float]:
    """The distance of one query to any number of candidates; the query is prepared once."""
    costs = costs or EditCosts()
    letters, table = _codes(query), _replacement_table(costs)

    def distance(candidate: str) -> float:
        codes = _codes(candidate)
        row = np.empty(len(codes) + 1)
        found = kernels.weighted_edit_distance(letters, codes, costs.insertion, costs.deletion, table, row)
        return float(found)

    return distance


def _codes(text: str) -> Any:
    try:
        return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
    except UnicodeEncodeError:
        raise FilterError(f"editing distances need strings of ASCII letters; got {text!r}") from None


@lru_cache(maxsize=32)
def _replacement_table(costs: EditCosts) -> Any:
    table = np.full((128, 128), costs.replacement)
    np.fill_diagonal(table, 0.0)
    for letters, cost in costs.pairs:
        table[ord(letters[0]), ord(letters[1])] = cost
    table.flags.writeable = False
    return table
