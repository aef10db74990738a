"""Notes without a partner: known cases."""

from __future__ import annotations

import pytest

from roslin.notation import pae
from roslin.web.experiment.study import differing_notes

TUNE = "'4CDEF/GABG/4FEDC/2G4CC"


@pytest.mark.parametrize(
    ("first", "second", "marked"),
    [
        (TUNE, TUNE, ([], [])),
        (TUNE, "''4CDEF/GABG/4FEDC/2G4CC", ([], [])),
        (TUNE, "'4CDEF/GA''D'G/4FEDC/2G4CC", ([6], [6])),
        (TUNE, "'4CDEF/GAB8AG/4FEDC/2G4CC", ([], [7])),
        ("'4CDgDEF/GABG", "'4CDgDEF/GABG", ([], [])),
        ("'4CDgDEF/GABG", "'4CDEF/GABG", ([2], [])),
        ("'4CDgDEF/GABG", "'4CDgFEF/GABG", ([2], [2])),
    ],
)
def test_marked_notes(first: str, second: str, marked: tuple[list[int], list[int]]) -> None:
    assert differing_notes(pae.read(first), pae.read(second)) == marked
