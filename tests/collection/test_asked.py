"""Filters as people write them. The command line and studies ask for them in the same words."""

from __future__ import annotations

import pytest

from roslin.collection.filters import (
    ASKED,
    all_asked,
    contains,
    contour_distance,
    max_interval,
    metadata,
    metadata_of,
    note_count,
    one_of,
    pattern,
    pitch_range,
    repeats_motive,
    rhythm_distance,
    share_of_interval,
)
from roslin.errors import FilterError
from roslin.melody import Melody
from roslin.represent.edits import EditCosts

CONTOURS = [("URD", 2.0), ("UD", 1.0)]
QUERY = Melody.from_notes([0, 1, 2, 3], [1, 1, 2, 1], [60, 62, 62, 60])


@pytest.mark.parametrize(
    ("name", "texts", "made"),
    [
        ("pitch_range", ["octave..minor tenth"], [pitch_range(12, 15)]),
        ("max_interval", ["8..9"], [max_interval(8, 9)]),
        ("note_count", ["..20"], [note_count(high=20)]),
        ("contains", ["+5 -3", "third up"], [contains("+5 -3", "third up")]),
        ("contains_semitones", ["+7"], [contains("+7", kind="chromatic")]),
        ("share", ["third=0.5..", "2=..1"], [share_of_interval("third", 0.5), share_of_interval("2", high=1)]),
        ("pattern", ["+3", "^."], [pattern("+3"), pattern("^.")]),
        ("motive", ["unison"], [repeats_motive("unison", 3)]),
        ("contour", ["2", "UD=1"], [contour_distance(letters, cost, EditCosts(2)) for letters, cost in CONTOURS]),
        ("rhythm", ["LS==0.5"], [rhythm_distance("LS=", 0.5, EditCosts(2))]),
        ("where", ["title=b", "key=G"], [metadata("title", "b"), metadata("key", "G")]),
        ("only", ["key=G", "title=a=b", "key=d"], [one_of("key", "G", "d"), one_of("title", "a=b")]),
    ],
)  # fmt: skip
def test_what_is_asked_is_what_is_made(name: str, texts: list[str], made: list[object]) -> None:
    assert all_asked({name: texts}, times=3, query=QUERY, costs=EditCosts(2)) == made
    assert name in ASKED


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("pattern", "+3 fifth", "^--pattern, column 4: expected an interval such as .*; found 'fifth'"),
        ("share", "third", "^--share must be INTERVAL=RANGE; got 'third'$"),
        ("share", "=1..", "--share must be INTERVAL=RANGE"),
        ("where", "title=", "--where must be FIELD=TEXT; got 'title='"),
        ("only", "key", "--only must be FIELD=VALUE; got 'key'"),
        ("only", "century=many", "century must be a number from 11 to 21; got 'many'"),
        ("contour", "UD", "--contour must be COST or LETTERS=COST; got 'UD'"),
        ("rhythm", "2", "--rhythm without LETTERS= needs a query; got '2'"),
        ("pitch_range", "..", "range must be LOW..HIGH"),
    ],
)
def test_refusals(name: str, text: str, message: str) -> None:
    with pytest.raises(FilterError, match=message):
        all_asked({name: [text]}, label="--{}".format)


def test_a_name_is_said_where_no_label_is_given() -> None:
    with pytest.raises(FilterError, match=r"^share must be"):
        all_asked({"share": ["x"]})
    with pytest.raises(FilterError, match=r"^also must be FIELD=TEXT; got 'x'$"):
        metadata_of("x", "also")
