"""What an explanation says in words."""

from __future__ import annotations

import pytest

from roslin import Melody, load, matcher
from roslin.matchers import DP, explain
from roslin.matchers.explanation import transformation_words


def tune(pitches: list[int]) -> Melody:
    return Melody.from_notes(range(len(pitches)), [1] * len(pitches), pitches)


def test_what_was_done_to_the_query() -> None:
    barred = Melody.from_notes(range(12), [1] * 12, [60] * 12, barlines=[4, 8, 12])
    assert transformation_words(5, 1.5, 8, barred) == (
        "transposed up a perfect fourth, 1.5 times slower, starting at bar 3"
    )
    assert transformation_words(None, None, 8, barred) == "in another rhythm, starting at bar 3"
    assert transformation_words(2, 1, 0, barred, "fifths") == (
        "transposed up by 2 on the line of fifths, at the same tempo, starting at bar 1"
    )


def test_an_alignment() -> None:
    found = explain(load("'4CDEF")[0], load("'2GAB''C/'G")[0], DP(place="inside"))
    assert found.sentence == (
        "Notes side by side: 4 agree; transposed up a perfect fifth, 2 times slower, starting at bar 1."
    )
    assert found.candidate_notes == (0, 1, 2, 3)
    assert (found.transposition, found.tempo, found.place) == (7.0, 2.0, 0.0)


def test_where_the_incipit_ends_nothing_is_left_out() -> None:
    query, incipit = load("'4CDEF8GABG4E")[0], load("'4GAB''C")[0]
    for name in ("roslin", "dp"):
        said = explain(query, incipit, name).sentence
        assert said.startswith("All 4 notes of the incipit agree; transposed up a perfect fifth"), name
    said = explain(query, load("'4GAB''D")[0], "roslin").sentence
    assert said.startswith("Notes side by side: ")
    assert explain(incipit, query, "roslin").sentence.startswith("Notes side by side: 4 agree")


def test_another_rhythm_and_nothing() -> None:
    found = explain(load("'4CDEFG")[0], load("'4GA2B8''CD")[0], "lcts")
    assert "transposed up a perfect fifth, in another rhythm, starting" in found.sentence
    assert found.tempo is None
    none = explain(tune([60, 61, 62, 63, 64, 65]), tune([60, 60, 60, 60, 60, 60]), "us")
    assert none.sentence == "0 runs in common."
    assert (none.transposition, none.tempo, none.place) == (None, None, None)


def test_one_note_has_no_rhythm() -> None:
    found = explain(tune([60]), tune([60, 62]), "dp(place='inside')")
    assert found.sentence == "Notes side by side: 1 agree; not transposed, starting after 0 quarters."


def test_notes_that_coincide() -> None:
    query = tune([60, 62, 64])
    assert explain(query, tune([55, 60, 62, 64]), "p2").sentence == (
        "3 notes coincide; not transposed, at the same tempo, starting after 1 quarter."
    )
    slow = Melody.from_notes([0, 2, 4], [2, 2, 2], [60, 62, 64])
    found = explain(query, slow, "p2(tempos=(1.0, 2.0))")
    assert "2 times slower" in found.sentence
    assert found.tempo == 2.0


def test_ornaments_and_chords_keep_their_rows() -> None:
    found = explain(load("'4CDE")[0], load("'gB4C^4E'4DE")[0], DP(place="inside"))
    assert found.query_notes == (0, 2)  # the highest note of the chord is not a second below the next
    assert found.candidate_notes == (1, 4)  # 0 is the grace note, 2 the lower note of the chord


def test_a_sum_is_told_by_what_counts_most_in_it() -> None:
    assert explain(tune([60, 62, 64, 65, 67]), tune([50, 52, 54, 55, 57]), "fm").sentence == (
        "By ngrukkon, which counts most: 2 runs in common; transposed down a minor seventh, at the same tempo, "
        "starting after 0 quarters."
    )


@pytest.mark.parametrize(("name", "things"), [("time", "four notes"), ("shapetime(k=1)", "three notes")])
def test_what_stands_side_by_side_has_a_name(name: str, things: str) -> None:
    query = tune([60, 62, 64, 65, 67, 69])
    found = matcher(name).explain(query, [query, tune([60, 61, 60, 61, 60, 61])], 1)
    assert found.sentence.startswith(f"Groups of {things} side by side: ")
