"""Rules: what they take, into which form they bring it, and how they refuse."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from roslin.errors import ArgumentError, RoslinError, UnknownNameError
from roslin.values import Named, choice, flag, members, real, reals, text, whole, wholes
from roslin.values.parameters import shown


@dataclass(frozen=True, repr=False)
class Thing(Named):
    name = "thing"
    summary = "For tests."
    reference = "none"

    n: int = whole(3, most=8)
    k: int | None = whole(None)
    share: float = real(0.5, above=0, below=1)
    part: float = real(0.0, least=0, most=1)
    above: float = real(1.0, above=0)
    least: float = real(1.0, least=0)
    most: float = real(0.0, most=2)
    below: float = real(0.0, least=-1, below=2)
    any: float = real(0.0)
    cost: float | None = real(2.0, least=0, optional=True)
    place: str = choice("whole", "inside", "whole", "2004")
    both: bool = flag(False)
    sizes: tuple[int, ...] = wholes((4,), most=6)
    tempos: tuple[float, ...] = reals((1.0,), above=0)
    weights: tuple[float, ...] = reals((), least=0, at_least=0)
    words: str = text("")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("n", np.int16(5), 5),
        ("k", 7, 7),
        ("share", Fraction(1, 4), 0.25),
        ("part", 1, 1.0),
        ("above", 3, 3.0),
        ("above", np.float32(0.5), 0.5),
        ("least", -0.0, 0.0),
        ("most", 2, 2.0),
        ("below", -1, -1.0),
        ("any", -1e9, -1e9),
        ("cost", None, None),
        ("place", 2004, "2004"),
        ("place", np.str_("inside"), "inside"),
        ("both", np.True_, True),
        ("sizes", 3, (3,)),
        ("sizes", [3, np.int64(4)], (3, 4)),
        ("sizes", range(1, 4), (1, 2, 3)),
        ("tempos", np.array([1, 2]), (1.0, 2.0)),
        ("tempos", 2, (2.0,)),
        ("weights", [], ()),
        ("words", "a 'b'", "a 'b'"),
    ],
)
def test_a_value_is_brought_into_one_form(name: str, value: Any, expected: Any) -> None:
    found = getattr(Thing(**{name: value}), name)
    assert found == expected
    assert repr(found) == repr(expected)  # 1.0 and not 1, 0.0 and not -0.0, no number of numpy
    assert Thing(**{name: value}) == Thing(**{name: expected})
    assert hash(Thing(**{name: value})) == hash(Thing(**{name: expected}))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n", 0, "thing: n must be a whole number from 1 to 8; got 0"),
        ("n", 9, "thing: n must be a whole number from 1 to 8; got 9"),
        ("n", True, "thing: n must be a whole number from 1 to 8; got True"),
        ("n", 2.0, "thing: n must be a whole number from 1 to 8; got 2.0"),
        ("n", None, "thing: n must be a whole number from 1 to 8; got None"),
        ("k", 0, "thing: k must be a whole number from 1 to 1000000, or None; got 0"),
        ("share", 0, "thing: share must be a number between 0 and 1; got 0"),
        ("share", "x", "thing: share must be a number between 0 and 1; got 'x'"),
        ("part", 1.1, "thing: part must be a number from 0 to 1; got 1.1"),
        ("above", 0, "thing: above must be a number above 0; got 0"),
        ("above", math.inf, "thing: above must be a number above 0; got inf"),
        ("least", -1, "thing: least must be a number, at least 0; got -1"),
        ("least", math.nan, "thing: least must be a number, at least 0; got nan"),
        ("most", 3, "thing: most must be a number, at most 2; got 3"),
        ("below", 2, "thing: below must be a number, at least -1 and below 2; got 2"),
        ("any", math.inf, "thing: any must be a number; got inf"),
        ("cost", -1, "thing: cost must be a number, at least 0, or None; got -1"),
        ("both", 1, "thing: both must be True or False; got 1"),
        ("sizes", (), r"thing: sizes must be one or more whole numbers from 1 to 6; got \(\)"),
        ("sizes", (3, 7), r"thing: sizes must be one or more whole numbers from 1 to 6; got \(3, 7\)"),
        ("sizes", "4", "thing: sizes must be one or more whole numbers from 1 to 6; got '4'"),
        ("sizes", [[3]], "thing: sizes must be one or more whole numbers from 1 to 6; got"),
        ("tempos", (0.0,), r"thing: tempos must be one or more numbers above 0; got \(0\.0,\)"),
        ("weights", (-1,), r"thing: weights must be numbers, at least 0; got \(-1,\)"),
        ("words", 3, "thing: words must be a text; got 3"),
    ],
)
def test_a_wrong_value_is_refused_in_the_name_of_its_owner(name: str, value: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=f"^{message}"):
        Thing(**{name: value})


def test_a_number_beyond_all_bounds_is_refused_without_writing_it_out() -> None:
    with pytest.raises(ArgumentError, match=r"^thing: n must be a whole number from 1 to 8; got a very long int$"):
        Thing(n=10**5000)
    with pytest.raises(ArgumentError, match=r"^thing: above must be a number above 0; got 10{79} \.\.\.$"):
        Thing(above=10**400)


@pytest.mark.parametrize("value", ["middle", 2005, None, True, ["whole"], {}])
def test_an_unknown_word_of_a_choice_lists_the_known_ones(value: Any) -> None:
    with pytest.raises(UnknownNameError, match=r"^unknown place of thing .*; known: inside, whole, 2004$"):
        Thing(place=value)


@pytest.mark.parametrize("value", ["abc", -2, math.nan, math.inf, [object()], {}, b"x", object()])
def test_no_rule_takes_nonsense(value: Any) -> None:
    for field in fields(Thing):
        if field.name not in ("words", "any", "most") or not isinstance(value, (str, int)):
            with pytest.raises(RoslinError, match="thing"):
                Thing(**{field.name: value})


def test_members() -> None:
    @dataclass(frozen=True, repr=False)
    class Sum(Named):
        name = "sum"
        summary = "For tests."
        reference = "none"

        parts: tuple[Thing, ...] = members(Thing, lambda written: Thing(words=written), "sum(thing)")

    assert Sum([Thing(), "x"]).parts == (Thing(), Thing(words="x"))  # type: ignore[arg-type]
    assert repr(Sum((Thing(), Thing(n=2)))) == "sum(thing, thing(n=2))"
    for wrong in ((), (3,), Thing(), "thing"):
        with pytest.raises(ArgumentError, match=r"sum: parts must be one or more things, as in sum\(thing\); got"):
            Sum(wrong)  # type: ignore[arg-type]


def test_without_a_rule_anything_goes() -> None:
    @dataclass(frozen=True, repr=False)
    class Free(Named):
        name = "free"

        value: Any = None

    assert repr(Free(value={1: 2})) == "free(value={1: 2})"


def test_what_an_error_shows_is_one_line() -> None:
    assert shown("a\nb") == r"'a\nb'"
    assert shown(np.zeros((3, 3))) == "array([[0., 0., 0.], [0., 0., 0.], [0., 0., 0.]])"
    assert len(shown("x" * 1000)) < 100
