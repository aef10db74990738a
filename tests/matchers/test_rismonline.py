"""`rismonline`: the query as a phrase."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.matchers.melodies import TUNES, moved

from roslin import Melody, matcher
from roslin.errors import UnknownNameError
from roslin.matchers import RISMOnline
from roslin.represent.line import melodic_line

pitches = st.lists(st.sampled_from([60, 61, 62, 65]), min_size=1, max_size=10)
fields = st.sampled_from(["intervals", "pitches", "contour"])


def melody(values: list[int]) -> Melody:
    return Melody.from_notes(range(len(values)), [1] * len(values), values)


def distance(query: list[int], candidate: list[int], field: str = "intervals", match: str = "phrase") -> float:
    return float(RISMOnline(field, match).distances(melody(query), [melody(candidate)])[0])


def string(values: list[int], field: str) -> list[str]:
    if field == "pitches":
        return [str(pitch) for pitch in melodic_line(melody(values))["pitch_base40"]]
    steps = [after - before for before, after in pairwise(values)]
    if field == "intervals":
        return [str(step) for step in steps]
    return [
        "s" if not step else ("U" if step > 2 else "u") if step > 0 else ("D" if step < -2 else "d") for step in steps
    ]


def literal(query: list[int], candidate: list[int], field: str, match: str) -> float:
    mine, theirs = string(query, field), string(candidate, field)
    if match == "phrase":
        found = mine and f" {' '.join(mine)} " in f" {' '.join(theirs)} "
        score = len(mine) if found else 0
        q, d = len(mine), len(theirs)
    else:
        score = sum((Counter(pairwise(mine)) & Counter(pairwise(theirs))).values())
        q, d = max(len(mine) - 1, 0), max(len(theirs) - 1, 0)
    return 1 - score / (d + q - score) if score else 1.0


@pytest.mark.long
@given(pitches, pitches, fields, st.sampled_from(["phrase", "bigrams"]))
@settings(max_examples=400)
def test_it_is_the_formula(query: list[int], candidate: list[int], field: str, match: str) -> None:
    for document in (candidate, [*candidate, *query], [*query, *candidate]):
        expected = literal(query, document, field, match)
        assert distance(query, document, field, match) == pytest.approx(expected, abs=1e-15)


def test_by_hand() -> None:
    assert distance([60, 62, 64], [60, 62, 64, 65, 67]) == 1 / 2
    assert distance([60, 62, 64], [60, 62, 64, 65, 67], match="bigrams") == pytest.approx(2 / 3)
    assert distance([60, 62, 64], [60, 62, 63, 65, 66]) == 1
    assert distance([60, 62, 64], [60, 61, 62, 65], field="contour") == 1 / 3
    assert distance([60, 62], [62, 64, 66], field="pitches") == 1


def test_spelling_counts_only_for_pitches() -> None:
    sharp, flat = (Melody.from_notes(range(3), [1] * 3, [60, 61, 62], base40=[162, x, 168]) for x in (163, 167))
    assert RISMOnline().distances(sharp, [flat])[0] == 0
    assert RISMOnline(field="pitches").distances(sharp, [flat])[0] == 1


def test_key_and_rhythm_do_not_matter() -> None:
    for match in ("phrase", "bigrams"):
        expected = RISMOnline(match=match).distances(TUNES[0], TUNES).tolist()
        changed = moved(TUNES[0], up=5, slower=3.0)
        assert RISMOnline(match=match).distances(changed, TUNES).tolist() == expected
        assert expected[0] == 0
    assert RISMOnline(field="pitches").distances(moved(TUNES[0], up=5), TUNES[:1])[0] == 1


def test_degenerate_melodies() -> None:
    same = Melody.from_notes(range(2, 7), [1] * 5, [60] * 5)
    chord = Melody.from_notes([0] * 3, [1] * 3, [60, 64, 67])
    nothing = Melody.from_notes([0], [0], [60], graces=[True])
    for match in ("phrase", "bigrams"):
        assert RISMOnline(match=match).distances(same, [same, chord, nothing]).tolist() == [0, 1, 1]
        assert RISMOnline(match=match).distances(chord, [same, chord]).tolist() == [1, 1]
    assert RISMOnline(field="pitches").distances(chord, [chord, same]).tolist() == [0, 1]


def test_parameters() -> None:
    assert repr(matcher("rismonline(match='bigrams')")) == "rismonline(match='bigrams')"
    with pytest.raises(UnknownNameError, match="field of rismonline 'rhythm'; known: contour, intervals, pitches"):
        matcher("rismonline(field='rhythm')")
    with pytest.raises(UnknownNameError, match="unknown match of rismonline 'word'; known: bigrams, phrase"):
        matcher("rismonline(match='word')")
