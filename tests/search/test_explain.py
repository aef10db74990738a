from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from tests.matchers.melodies import CASTLE, TUNES, moved

from roslin import Melody, load
from roslin.errors import ArgumentError, MelodyError
from roslin.search import explain

ORNAMENTED = next(tune for tune in TUNES if tune.id == "roslin-castle-4")


def test_the_paper_s_fragment() -> None:
    """Section 2.3: a quarter B that comes a sixteenth late, 1/16 x 0.25 = 1/64 with whole notes as the unit."""
    query = Melody.from_notes([0, 4], [4, 1], [67, 71])
    late = Melody.from_notes([0, 4.25], [4, 1], [67, 71])
    found = explain(query, late, "emd(unit='quarter')")
    assert [(move.query_note, move.candidate_note) for move in found.parts[0].moves] == [(0, 0), (1, 1)]
    b = found.parts[0].moves[1]
    assert (b.weight / 4) * (b.distance / 4) == pytest.approx(1 / 64)
    assert b.cost == pytest.approx(found.distance) == pytest.approx(b.weight * b.distance / 5)


@pytest.mark.parametrize(
    "how",
    [
        "emd",
        "emd(missing=None)",
        "emd(missing=0.5)",
        "emd(ground='cityblock')",
        "emd(ground='tonal')",
        "emd(tempos=(0.5, 1.0, 2.0), weight='sqrt')",
        "emd(pitch='fifths')",
        "twv(radius=0.5)",
        "twv(radius=0.8, ground='cityblock', score='mean')",
        "twv(radius=0.8, ground='tonal')",
        "twv(radius=0.8, agree=True, tempos=(0.5, 1.0, 2.0))",
    ],
)
def test_costs_add_up_to_the_distance(how: str) -> None:
    for query, candidate in ((CASTLE, ORNAMENTED), (ORNAMENTED, TUNES[30]), (CASTLE, TUNES[60])):
        found = explain(query, candidate, how)
        for part in found.parts:
            assert sum(move.cost for move in part.moves) == pytest.approx(part.alignment.distance, abs=1e-9)
        total = sum(part.alignment.distance for part in found.parts)
        if how.startswith("twv"):
            radius = 0.5 if "0.5)" in how else 0.8
            missing = found.expected - len(found.parts)
            if found.parts:
                total += missing * radius
                assert (total / found.expected if "mean" in how else total) == pytest.approx(found.distance, abs=1e-9)
        else:
            assert total == pytest.approx(found.distance, abs=1e-9)


def test_every_note_of_the_query_sends_its_weight() -> None:
    found = explain(CASTLE, ORNAMENTED)
    sent = dict.fromkeys(range(len(CASTLE)), 0.0)
    for move in found.parts[0].moves:
        sent[move.query_note] += move.weight
    assert list(sent.values()) == pytest.approx((CASTLE.notes["duration_ticks"] / 40320).tolist())


def test_what_finds_no_partner_is_listed_with_its_cost() -> None:
    query = Melody.from_notes([0, 1, 2], [1, 1, 1], [60, 62, 64])
    found = explain(query, Melody.from_notes([0, 1], [1, 1], [67, 69]))
    assert [(move.query_note, move.candidate_note, move.cost) for move in found.parts[0].moves] == [
        (0, 0, 0),
        (1, 1, 0),
        (2, None, pytest.approx(2 / 3)),
    ]
    free = explain(query, Melody.from_notes([0, 1], [1, 1], [67, 69]), "emd(missing=None)")
    assert [move.candidate_note for move in free.parts[0].moves] == [0, 1]


def test_words() -> None:
    slow = moved(CASTLE, slower=1.5, up=5, later=3)
    assert explain(CASTLE, slow, "emd(tempos=(1.0, 1.5))").words == (
        "The query is transposed up a perfect fourth, 1.5 times slower, starting after 3 quarters."
    )
    found = explain(CASTLE, slow, "twv(tempos=(1.0, 1.5))")
    assert found.words.startswith(
        "11 of 11 expected segments found; transposed up a perfect fourth, 1.5 times slower, "
    )
    assert [part.segment for part in found.parts] == list(range(1, 12))
    assert found.distance == 0
    nothing = explain(load("'8CxCDxDExF''CDE")[0], TUNES[60], "twv(radius=0.01)")
    assert nothing.words == f"0 of {nothing.expected} expected segments found: none is within the radius."


def test_refusals() -> None:
    with pytest.raises(ArgumentError, match="only emd and twv can be explained; got dp"):
        explain(CASTLE, ORNAMENTED, "dp")
    with pytest.raises(MelodyError, match="the candidate has no notes"):
        explain(CASTLE, Melody.from_notes([], [], []))
    with pytest.raises(FrozenInstanceError):
        explain(CASTLE, CASTLE).distance = 1.0  # type: ignore[misc]
