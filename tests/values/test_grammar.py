"""One way to write named values, and to read them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roslin import matcher
from roslin.errors import ArgumentError, UnknownNameError
from roslin.evaluate import MEASURES, measure
from roslin.matchers import MATCHERS
from roslin.values.grammar import Written, read
from roslin.values.parameters import Choice, Flag, Members, OrNone, Real, Rule, Several, Text, Whole, rule_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dp", Written("dp")),
        (" dp ( ) ", Written("dp")),
        ("dp(place=inside)", Written("dp", (), {"place": "inside"})),
        ("dp(place='inside')", Written("dp", (), {"place": "inside"})),
        ('dp(place="inside",)', Written("dp", (), {"place": "inside"})),
        ("fuse(dp, emd, weights=(2, 1))", Written("fuse", (Written("dp"), Written("emd")), {"weights": (2, 1)})),
        ("fuse(dp(place=inside), 'emd')", Written("fuse", (Written("dp", (), {"place": "inside"}), "emd"))),
        ("nDCG(base=3)@10", Written("nDCG", (), {"base": 3}, 10)),
        ("bpref*", Written("bpref*")),
        ("bpref-10@5", Written("bpref-10", (), {}, 5)),
        ("twv(tempos=[0.5, 1])", Written("twv", (), {"tempos": (0.5, 1)})),
        ("x(a=(), b=(1), c=(1,), d=[1], e=[])", Written("x", (), {"a": (), "b": 1, "c": (1,), "d": (1,), "e": ()})),
        ("x(a=-1, b=+.5, c=1e-3, d=2.)", Written("x", (), {"a": -1, "b": 0.5, "c": 0.001, "d": 2.0})),
        ("x(a=True, b=False, c=None, d=none)", Written("x", (), {"a": True, "b": False, "c": None, "d": "none"})),
        ("x(a='it\\'s', b=\"\\\\ \\n \\x41 \\u00e9\")", Written("x", (), {"a": "it's", "b": "\\ \n A é"})),
        ("größe(maß=weiß)", Written("größe", (), {"maß": "weiß"})),
    ],
)
def test_forms(text: str, expected: Written) -> None:
    found = read(text, "thing")
    assert found == expected
    assert repr(found) == repr(expected)  # 1 and 1.0 are not the same here


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "column 1: expected a name; found the end"),
        ("3", "column 1: expected a name; found '3'"),
        ("dp(", r"column 4: expected a parameter, such as name=value; found the end"),
        ("dp(=3)", "column 4: expected a parameter, such as name=value; found '='"),
        ("dp(a=)", r"column 6: expected a value; found '\)'"),
        ("dp(a=1", r"column 7: expected ',' or '\)'; found the end"),
        ("dp(a=(1", r"column 8: expected ',' or '\)'; found the end"),
        ("dp(a=[1)", r"column 8: expected ',' or '\]'; found '\)'"),
        ("dp)", r"column 3: expected the end; found '\)'"),
        ("import os", "column 8: expected the end; found 'os'"),
        ("1 + 1", r"column 3: expected a name, a value or one of .*; found '\+'"),
        ("dp(a='x)", 'column 6: expected a name, a value or one of .*; found "\'"'),
        ("dp(a=__import__('os'))", r"column 16: expected ',' or '\)'; found '\('"),
        ("dp(a=1, a=2)", "the parameter a is given twice"),
        ("dp(a={1: 2})", "column 6: expected a name, a value or one of .*; found '{'"),
        ("dp@", "column 4: expected a whole number after '@'; found the end"),
        ("dp@x", "column 4: expected a whole number after '@'; found 'x'"),
        ("dp@-1", "column 4: expected a whole number after '@'; found '-1'"),
        ("dp@1.5", "column 4: expected a whole number after '@'; found '1.5'"),
        ("dp(a=" + "9" * 101 + ")", "column 6: expected a number of at most 100 digits; found '9999"),
        ("f(" * 30, "brackets are nested more than 20 deep"),
        ("f(a=" + "(" * 30, "brackets are nested more than 20 deep"),
        ("f(a=" + "x" * 20_000, "it has 20004 characters; at most 10000 are read"),
    ],
)
def test_what_is_of_another_form_is_refused_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(ArgumentError, match=f"^cannot read the thing '?.*: {reason}"):
        read(text, "thing")


@pytest.mark.parametrize(
    "text",
    [
        "(" * 9_999,
        "f(" * 4_000,
        "f(a=" + "[" * 9_000,
        "f(a=" + "9" * 9_000 + ")",
        "'" * 9_999,
        "\\" * 9_999,
        "@" * 9_999,
    ],
)
def test_hostile_text_is_refused_in_one_short_line(text: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        matcher(text)
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    refusal = ""
    try:
        assert read(text, "thing").name in text
    except ArgumentError as error:
        refusal = str(error)
    assert refusal.startswith("cannot read the thing") or not refusal


def test_names_parameters_and_cutoffs_that_are_not_there() -> None:
    with pytest.raises(UnknownNameError, match=r"^unknown matcher 'nothing'; known: alignment, "):
        matcher("nothing(n=3)")
    with pytest.raises(UnknownNameError, match=r"^unknown matcher 'nothing'; known: alignment, "):
        matcher("fuse(dp, nothing)")
    with pytest.raises(UnknownNameError, match=r"^unknown parameter of dp 'size'; known: place$"):
        matcher("dp(size=3)")
    with pytest.raises(ArgumentError, match=r"^the parameters of roslin need their names: compare, place, key$"):
        matcher("roslin(3)")
    with pytest.raises(ArgumentError, match=r"^the parameters of rawed need their names: it has none$"):
        matcher("rawed(3)")
    with pytest.raises(ArgumentError, match=r"^shapetime has no cutoff; got @3$"):
        matcher("shapetime@3")
    with pytest.raises(UnknownNameError, match=r"^unknown parameter of NRGB 'k'; known: $"):
        measure("NRGB@3")
    with pytest.raises(ArgumentError, match=r"^AP: k is given twice, once as @3$"):
        measure("AP(k=3)@3")
    with pytest.raises(ArgumentError, match=r"^twv: segment must be a whole number from 1 to 1000000; got 'x'$"):
        matcher("twv(segment=x)")


# -- every registered thing, with any legal parameters ----------------------------------------------------------------


def legal(rule: Rule | None) -> st.SearchStrategy[Any]:
    match rule:
        case Whole():
            return st.integers(rule.least, rule.most)
        case Real():
            numbers = st.floats(max(rule.above, rule.least, -1e300), min(rule.below, rule.most, 1e300))
            return numbers.filter(lambda number: rule.above < number < rule.below)
        case Choice():
            return st.sampled_from(rule.known)
        case Flag():
            return st.booleans()
        case Text():
            return st.text()
        case Several():
            return st.lists(legal(rule.each), min_size=max(rule.least, 0), max_size=4)
        case OrNone():
            return st.none() | legal(rule.rule)
        case Members():
            return st.lists(st.sampled_from(["dp", "emd(tempos=2)", "fuse(lcts, us)"]), min_size=1, max_size=3)
    raise AssertionError(f"no values for {rule}")


KINDS = [*MATCHERS.values(), *MATCHERS.compound.values(), *MEASURES.values()]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@settings(max_examples=25)
@given(data=st.data())
def test_what_is_written_is_read_back(kind: type[Any], data: st.DataObject) -> None:
    chosen = {field.name: data.draw(legal(rule_of(field)), field.name) for field in fields(kind)}
    try:
        value = kind(**chosen)
    except ArgumentError:  # parameters that make no sense together
        assert kind.name in ("alignment", "emd", "twv", "twv_covered", "fuse", "orio")
        return
    registry: Any = MATCHERS if kind.name in MATCHERS or kind.name in MATCHERS.compound else MEASURES
    again = registry.parse(repr(value))
    assert again == value
    assert repr(again) == repr(value)
    assert hash(again) == hash(value)
