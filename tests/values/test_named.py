"""Named values: repr, parameters, and rules that concern several parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from roslin import matcher
from roslin.errors import ArgumentError
from roslin.evaluate import measure
from roslin.evaluate.measures.precision import Success
from roslin.matchers import EMD, TWV
from roslin.matchers.base import Matcher
from roslin.transport import Setting
from roslin.values import Named, whole


@dataclass(frozen=True, repr=False)
class Range(Named):
    name = "range"
    summary = "For tests."
    reference = "none"
    cutoff = "top"

    low: int = whole(1)
    high: int = whole(9)
    top: int | None = whole(5, optional=True)

    def _check(self) -> None:
        if self.low > self.high:
            self._refuse(f"low must not be above high, {self.high}; got {self.low}")


def test_repr_has_what_differs_and_the_cutoff_last() -> None:
    assert repr(Range()) == "range@5"
    assert repr(Range(low=2, top=3)) == "range(low=2)@3"
    assert repr(Range(top=None)) == "range(top=None)"
    assert Range(low=2).parameters == {"low": 2, "high": 9, "top": 5}


def test_a_rule_for_several_parameters() -> None:
    with pytest.raises(ArgumentError, match=r"^range: low must not be above high, 9; got 10$"):
        Range(low=10)
    with pytest.raises(ArgumentError, match=r"^range: low must not be above high, 1; got 2$"):
        replace(Range(low=1, high=1), low=2)


def test_a_cutoff_that_is_none_can_be_read_back() -> None:
    assert repr(Success()) == "Success@1"
    assert repr(Success(k=None)) == "Success(k=None)"
    assert measure("Success(k=None)") == Success(k=None)


def test_the_matchers_by_transport_are_settings() -> None:
    chosen = matcher("twv(tempos=(0.5, 1), missing=None)")
    assert isinstance(chosen, TWV)
    assert isinstance(chosen, Setting)
    assert isinstance(chosen, Matcher)
    assert chosen.tempos == (0.5, 1.0)
    assert list(EMD().parameters) == list(Setting().parameters) == list(TWV().parameters)[:8]
    assert repr(Setting(ground="tonal")) == "setting(ground='tonal')"
    assert repr(EMD(ground="tonal")) == "emd(ground='tonal')"
    for kind, name in ((EMD, "emd"), (TWV, "twv"), (Setting, "setting")):
        with pytest.raises(ArgumentError, match=f"^{name}: the tonal ground distance needs pitch 'semitone'; got 'fif"):
            kind(ground="tonal", pitch="fifths")
