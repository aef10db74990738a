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
from roslin.values.parameters import Rule, WrongValueError, rule_of
from roslin.values.registry import Written, read


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
        ("dp(", r"column 3: '\(' was never closed"),
        ("dp(=3)", r"column 4: expected a form such as .*; found '='"),
        ("dp(a=)", r"column 6: expected a form such as .*; found '\)'"),
        ("dp(a=1", r"column 3: '\(' was never closed"),
        ("dp(a=(1", r"column 6: '\(' was never closed"),
        ("dp(a=[1)", r"column 8: closing parenthesis '\)' does not match opening parenthesis '\['"),
        ("dp)", r"column 3: unmatched '\)'"),
        ("import os", r"column 8: expected a form such as .*; found 'os'"),
        ("1 + 1", r"column 3: expected a name, a value or one of .*; found '\+'"),
        ("dp(a='x)", 'column 6: expected a name, a value or one of .*; found "\'"'),
        ("dp(a=__import__('os'))", "column 6: expected a number, a text or a word; found '__import__'"),
        ("dp(a=1, a=2)", "the parameter a is given twice"),
        ("dp(a={1: 2})", "column 6: expected a name, a value or one of .*; found '{'"),
        ("dp@", r"column 4: expected a form such as .*; found the end"),
        ("dp@x", "column 4: expected a whole number after '@'; found 'x'"),
        ("dp@-1", "column 4: expected a whole number after '@'; found '-1'"),
        ("dp@1.5", "column 4: expected a whole number after '@'; found '1.5'"),
        ("dp(a=" + "9" * 101 + ")", "column 6: expected a number of at most 100 digits; found '9999"),
        ("dp(a=1, b)", "column 10: positional argument follows keyword argument"),
        ("dp(1=2)", "column 4: expected the name of a parameter; found '1'"),
        ("dp(a)(b)", "column 1: expected a name; found 'dp'"),
        ("dp(1-2)", "column 5: expected ',' or the end; found '-2'"),
        ("dp(a='\\x4')", "column 6: expected a text with complete escapes; found "),
        ("f(" * 30, r"column 60: '\(' was never closed"),
        ("f(" * 30 + ")" * 30, "brackets are nested more than 20 deep"),
        ("f(a=" + "(" * 30 + "1" + ",)" * 30 + ")", "brackets are nested more than 20 deep"),
        ("a" + "@a" * 4000, "(column 8000: expected a whole number|brackets are nested more)"),
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


WHOLE = [*range(-20, 200), 9_999, 1_000_000]
PARTS = [part / 7 for part in range(-70, 70)]
REAL = [*WHOLE, *PARTS, 0.1, 0.30000000000000004, 1e-300, 1e300, -1e300]
NUMBERS: dict[str, list[Any]] = {"int": WHOLE, "float": REAL}


def is_legal(rule: Rule, value: Any) -> bool:
    try:
        rule.read(value)
    except WrongValueError:
        return False
    return True


def legal(rule: Rule | None, kind: str) -> st.SearchStrategy[Any]:
    """Values that the rule of a field of this type takes."""
    assert rule
    if kind.endswith(" | None"):
        return st.none() | legal(rule, kind.removesuffix(" | None"))
    if rule.is_for_members:
        return st.lists(st.sampled_from(["dp", "emd(tempos=2)", "fuse(lcts, us)"]), min_size=1, max_size=3)
    if rule.known:
        return st.sampled_from(rule.known)
    if kind.startswith("tuple["):
        numbers = NUMBERS[kind.removeprefix("tuple[").removesuffix(", ...]")]
        one = st.sampled_from([number for number in numbers if is_legal(rule, [number])])
        return st.lists(one, min_size=0 if is_legal(rule, ()) else 1, max_size=4)
    if kind in NUMBERS:
        return st.sampled_from([number for number in NUMBERS[kind] if is_legal(rule, number)])
    return {"bool": st.booleans(), "str": st.text()}[kind]


KINDS = [*MATCHERS.values(), *MATCHERS.compound.values(), *MEASURES.values()]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@settings(max_examples=25)
@given(data=st.data())
def test_what_is_written_is_read_back(kind: type[Any], data: st.DataObject) -> None:
    chosen = {field.name: data.draw(legal(rule_of(field), str(field.type)), field.name) for field in fields(kind)}
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
