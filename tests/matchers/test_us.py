"""`us`: runs of directed intervals modulo 12 in common."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.matchers.melodies import TUNES, moved

from roslin import Collection, Melody, matcher
from roslin.errors import ArgumentError, UnknownNameError
from roslin.matchers import US
from roslin.represent.line import GramIndex
from roslin.represent.packed import Packed, pack

# Few intervals, some beyond the octave, so that runs are often shared.
pitches = st.lists(st.sampled_from([40, 60, 62, 64, 76, 88]), min_size=1, max_size=16)


def melody(values: list[int]) -> Melody:
    return Melody.from_notes(range(len(values)), [1] * len(values), values)


def distance(query: list[int], candidate: list[int], **parameters: str | int) -> float:
    return float(US(**parameters).distances(melody(query), [melody(candidate)])[0])  # type: ignore[arg-type]


def literal(query: list[int], candidate: list[int], n: int, divide: str) -> float:
    def runs(values: list[int]) -> set[tuple[int, ...]]:
        codes = []
        for before, after in pairwise(values):
            interval = after - before
            size = 0 if interval == 0 else 1 + (abs(interval) - 1) % 12
            codes.append(size if interval > 0 else -size)
        return {tuple(codes[k : k + n]) for k in range(len(codes) - n + 1)}

    mine, theirs = runs(query), runs(candidate)
    if not mine:
        return 1.0
    if divide == "query":
        return 1 - len(mine & theirs) / len(mine)
    return 1 - 2 * len(mine & theirs) / (len(mine) + len(theirs))


@pytest.mark.long
@given(pitches, pitches, st.integers(1, 8), st.sampled_from(["query", "both"]))
@settings(max_examples=300)
def test_it_is_the_count_of_runs(query: list[int], candidate: list[int], n: int, divide: str) -> None:
    expected = literal(query, candidate, n, divide)
    assert distance(query, candidate, n=n, divide=divide) == pytest.approx(expected, abs=1e-15)


def test_by_hand() -> None:
    query = [60, 62, 64, 65, 67, 65, 64]
    assert distance(query, [67, 69, 71, 72, 74, 76]) == 1
    assert distance(query, [60, 62, 64, 65, 67, 65]) == 1 / 2
    assert distance(query, [60, 62, 64, 65, 67, 65], divide="both") == pytest.approx(1 / 3)
    assert distance([*query, *query], query) == pytest.approx(5 / 7)  # of its nine runs, two come twice


def test_octaves_fold_but_keep_their_direction() -> None:
    assert distance([60, 61, 60, 61, 60, 61], [60, 73, 60, 73, 60, 73]) == 0  # a minor ninth is a minor second
    assert distance([60, 72] * 3, [60, 60] * 3) == 1  # an octave is not a unison
    assert distance([60, 61] * 3, [61, 60] * 3) == 1


def test_short_melodies_match_nothing() -> None:
    short = [60, 62, 64, 65, 67]
    assert distance(short, short) == distance(short, [*short, 69]) == distance([*short, 69], short) == 1
    assert distance(short, short, divide="both") == 1
    assert distance(short, short, n=4) == 0


def test_degenerate_melodies() -> None:
    same = Melody.from_notes(range(2, 9), [1] * 7, [60] * 7)  # rests before
    chord = Melody.from_notes([0] * 7, [1] * 7, [60 + k for k in range(7)])
    assert US().distances(same, [same, chord, melody([50] * 20)]).tolist() == [0, 1, 0]
    assert US().distances(chord, [same, chord]).tolist() == [1, 1]


def test_key_and_rhythm_do_not_matter_and_polyphony_is_reduced() -> None:
    expected = US().distances(TUNES[0], TUNES).tolist()
    assert (
        US().distances(moved(TUNES[0], up=5, slower=3.0), [moved(tune, up=-2) for tune in TUNES]).tolist() == expected
    )
    line = [60, 62, 64, 65, 67, 65, 64]
    below = Melody.from_notes([*range(7), *range(7)], [1] * 14, [*line, *([40] * 7)])
    assert US().distances(melody(line), [below])[0] == 0


def test_the_index_is_made_once_for_each_length_and_goes_with_the_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    make = US._index

    def counted(self: US, packed: Packed) -> GramIndex:
        made.append(self.n)
        return make(self, packed)

    monkeypatch.setattr(US, "_index", counted)
    packed = pack(TUNES)
    first = US().distances(TUNES[0], packed)
    assert US().distances(TUNES[0], packed).tolist() == first.tolist()
    US(divide="both").distances(TUNES[1], packed)
    assert made == [5]
    US(n=4).distances(TUNES[0], packed)
    US().distances(TUNES[0], packed.part(0, 3))
    assert made == [5, 4, 5]


def test_a_collection_that_is_open_keeps_its_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collection.build(TUNES[:20], tmp_path / "x.roslin") as collection:
        first = collection.search(TUNES[0], "us")
        monkeypatch.setattr(US, "_index", lambda *_: pytest.fail("it is there already"))
        assert collection.search(TUNES[0], "us") == first
        assert len(collection.search(TUNES[0], "us", within=np.array([3, 5]))) == 2


def test_parameters() -> None:
    assert repr(matcher("us(divide='both', n=4)")) == "us(n=4, divide='both')"
    for value in ("0", "9", "2.5", "True", "'5'"):
        with pytest.raises(ArgumentError, match="n must be a whole number from 1 to 8; got"):
            matcher(f"us(n={value})")
    with pytest.raises(UnknownNameError, match="unknown divide of us 'candidate'; known: both, query"):
        matcher("us(divide='candidate')")
